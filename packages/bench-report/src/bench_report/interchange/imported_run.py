"""From another tool's trials to a run folder."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from bench_core.errors import InputError, RefusedFileError
from bench_core.files import read_inside
from bench_core.records import RunInfo, Step, Task, TrialResult
from bench_core.records.codec import decode_json
from bench_core.redaction import Redactor
from bench_core.run_folder import RunFolder, describe_run


class ImportedTrial(NamedTuple):
    """A trial with its trajectory."""

    task: Task
    result: TrialResult
    steps: Sequence[Step]


class ImportedRun(NamedTuple):
    """The contents of another tool's files; `tasks` and `info` if a run of Proctor was exported to them."""

    benchmark: str
    version: str | None
    agent: str
    model: str | None
    source: str
    trials: Sequence[ImportedTrial]
    tasks: Sequence[Task] = ()
    info: RunInfo | None = None


def write_run(found: ImportedRun, out: Path) -> Path:
    """Write a run folder and return it.

    Raises:
        InputError: Trials are missing, or two have one name.
        RunFolderError: `out` is a run folder already.
    """
    if not found.trials:
        raise InputError(f"{found.source} contains no trial that could be imported")
    tasks = {task.task_id: task for task in found.tasks}
    tasks |= {trial.task.task_id: trial.task for trial in found.trials}
    keys = [trial.result.key for trial in found.trials]
    if len(set(keys)) < len(keys):
        twice = next(key for key in keys if keys.count(key) > 1)
        raise InputError(
            f"{found.source} contains trial {twice.trial} of task {twice.task_id!r} twice: import one "
            "configuration at a time"
        )
    info = found.info or describe_run(
        benchmark=found.benchmark,
        benchmark_version=found.version,
        agent=found.agent,
        model=found.model,
        tasks=tuple(tasks.values()),
        trials=max(key.trial for key in keys),
        seed=0,  # like the world below: the log does not state it, and a run has to
        config={"imported_from": found.source},
        world="real",
    )
    with RunFolder.create(out, info, tuple(tasks.values()), redactor=Redactor()) as run:
        for trial in found.trials:
            if trial.steps:
                lines = "".join(step.model_dump_json() + "\n" for step in trial.steps)
                path = run.trial_folder(trial.result.key) / "trajectory.jsonl"
                path.write_text(lines, encoding="utf-8")
            run.append(trial.result)
        run.finish("finished")
    return out


def read_json(path: Path) -> dict[str, Any]:
    """Return the JSON object in a file.

    Raises:
        InputError: It cannot be read, is not a plain file, is too large or contains something else.
    """
    try:
        found = decode_json(read_inside(path.parent, path.name))
    except RefusedFileError:
        raise
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror or error}") from None
    except ValueError:
        raise InputError(f"{path} is not JSON: is it what that harness wrote, and whole?") from None
    if not isinstance(found, dict):
        raise InputError(f"{path} contains {type(found).__name__}, not a JSON object")
    return found
