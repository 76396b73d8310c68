"""Import of openadapt-evals' results into a run folder: `metadata.json` and `tasks/*/execution.json`.

Its own contract defines outcomes: a result with the `error_type` `infrastructure` or `evaluation` is not one,
whatever number comes with it, and one of `agent` is the agent's failure. There is nothing to score a trial from
again, so the reported score is kept and marked. Links are not followed, and no file above a limit is read.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bench_core.errors import InputError, RefusedFileError, UnknownTaskError
from bench_core.files import read_inside
from bench_core.records import (
    ErrorInfo,
    Record,
    Status,
    Step,
    Task,
    TrialKey,
    TrialResult,
    as_score,
)
from bench_core.records.codec import decode_json
from bench_core.redaction import Redactor
from bench_core.run_folder import (
    REPORTED_ONLY,
    RunFolder,
    TrialArtifacts,
    describe_artifacts,
    describe_run,
)
from waa_client.tasks import BENCHMARK, resolve_task_id

_METADATA = "metadata.json"
_TASKS = "tasks"
_MOST_TASKS = 20_000
_MOST_DOCUMENT = 64 << 20
_MOST_PICTURE = 32 << 20
_SHOWN = 400
_WITHOUT_SCORE = {
    "infrastructure": Status.ENVIRONMENT_ERROR,
    "evaluation": Status.EVALUATION_ERROR,
}


class ImportedExecutions(Record):
    """The outcome of an import.

    Attributes:
        results: Trials with the score that openadapt-evals reports.
        without_score: Trials without, and why, by task.
        missing: Tasks that have no folder.
        unknown: Folders of no known task.
    """

    folder: str
    results: int
    succeeded: int
    without_score: dict[str, str]
    missing: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """The outcome as text."""
        lines = [
            f"openadapt-evals -> {self.folder}",
            f"{self.results} trials with a reported score, {self.succeeded} succeeded",
            f"{len(self.missing)} tasks never started",
        ]
        lines += [f"no score: {name}: {why}" for name, why in self.without_score.items()]
        if self.unknown:
            lines.append(f"of no known task: {', '.join(self.unknown[:5])}")
        return "\n".join(lines)


def is_openadapt(folder: Path) -> bool:
    """Return whether a folder is a run of openadapt-evals."""
    return (folder / _METADATA).is_file() and (folder / _TASKS).is_dir()


def import_executions(
    results: Path,
    out: Path,
    tasks: Sequence[Task],
    *,
    agent: str = "openadapt-evals",
    model: str | None = None,
    benchmark: str = BENCHMARK,
) -> ImportedExecutions:
    """Read a run of openadapt-evals into the new run folder `out`.

    Args:
        results: Its folder, with `metadata.json`.
        out: The run folder to make.
        tasks: The planned tasks; if empty, the tasks found, with the goals recorded there.
        agent: Name of the agent.
        model: Name of its model; None takes the run's `model_id`.
        benchmark: The benchmark of the tasks.

    Raises:
        InputError: There is nothing to import, or it has too many tasks.
        RunFolderError: `out` exists.
    """
    metadata = _document(results, _METADATA)
    names = _folders(results)
    found = [(name, _definition(results, name)) for name in names]
    if not tasks:
        tasks = [_found_task(benchmark, name, recorded) for name, recorded in found]
    by_id = {task.task_id: task for task in tasks}
    known = {
        name: task
        for name, recorded in found
        if (task := _known(name, recorded, by_id)) is not None
    }
    if not known:
        raise InputError(f"{results} has no results of a known task in {_TASKS}/")
    taken = {task.task_id for task in known.values()}
    if len(taken) < len(known) or len(by_id) < len(tasks):
        raise InputError(f"{results} has two folders of one task: import its runs one by one")
    info = describe_run(
        benchmark=benchmark,
        agent=agent,
        model=model or _text(metadata.get("model_id")),
        tasks=tasks,
        trials=1,
        timing="vanilla",
        config={"imported_from": "openadapt-evals", "run": _text(metadata.get("run_name"))},
    )
    redactor = Redactor.from_environment()
    with RunFolder.create(out, info, tasks, redactor=redactor) as run:
        for name, task in known.items():
            key = TrialKey(task_id=task.task_id, trial=1)
            trial = _TaskFolder(results, name, task, key, info.agent, info.model)
            run.append(trial.result(TrialArtifacts(run.new_attempt(key), redactor)))
        run.finish("finished")
        every = list(run.results().values())
    return ImportedExecutions(
        folder=str(out),
        results=sum(each.score is not None for each in every),
        succeeded=sum(bool(each.success) for each in every),
        without_score={
            each.task_id: each.error.message if each.error else each.status.value
            for each in every
            if each.score is None
        },
        missing=tuple(each for each in by_id if each not in taken),
        unknown=tuple(name for name in names if name not in known),
    )


class _TaskFolder:
    """The folder of one task, and its trial."""

    def __init__(
        self, results: Path, name: str, task: Task, key: TrialKey, agent: str, model: str | None
    ) -> None:
        self._results = results
        self._name = name
        self._base: dict[str, Any] = {
            "benchmark": task.benchmark,
            "task_id": key.task_id,
            "trial": key.trial,
            "agent": agent,
            "model": model,
            "timing": "vanilla",
            "flags": ("imported", REPORTED_ONLY),
        }

    def result(self, artifacts: TrialArtifacts) -> TrialResult:
        """Write its steps and return its record."""
        try:
            recorded = _document(self._results, f"{_TASKS}/{self._name}/execution.json")
        except RefusedFileError as error:
            return self._unscored(Status.EVALUATION_ERROR, str(error))
        except (OSError, InputError) as error:
            # a task that was started and never finished has no execution file
            missing = isinstance(error, FileNotFoundError)
            why = "it left no execution.json" if missing else str(error)
            status = Status.ENVIRONMENT_ERROR if missing else Status.EVALUATION_ERROR
            return self._unscored(status, why)
        steps = [each for each in _listed(recorded.get("steps")) if isinstance(each, dict)]
        for number, step in enumerate(steps, 1):
            artifacts.append_step(self._step(number, step, artifacts))
        seconds = as_score(recorded.get("total_time_seconds"))
        self._base |= {
            "steps": len(steps),
            "artifacts": describe_artifacts(artifacts.folder),
            "timings_s": {} if seconds is None or seconds < 0 else {"total": seconds},
            "details": {
                "openadapt": {name: recorded.get(name) for name in _KEPT if name in recorded}
            },
        }
        why_not = _why_unscored(recorded)
        if why_not is not None:
            return self._unscored(*why_not)
        last = steps[-1].get("action") if steps else None
        ended = isinstance(last, dict) and last.get("type") in {"done", "error"}
        status = Status.COMPLETED if ended else Status.STEP_LIMIT
        failed = recorded.get("error_type") == "agent"
        message = str(recorded.get("error") or "the agent failed")[:_SHOWN]
        return TrialResult(
            **self._base,
            status=Status.AGENT_ERROR if failed else status,
            score=as_score(recorded.get("score")),
            method="reported by openadapt-evals",
            error=ErrorInfo(kind="OpenAdaptError", message=message) if failed else None,
        )

    def _unscored(self, status: Status, why: str) -> TrialResult:
        error = ErrorInfo(kind="OpenAdaptError", message=why[:_SHOWN])
        return TrialResult(**self._base, status=status, score=None, error=error)

    def _step(self, number: int, step: dict[str, Any], artifacts: TrialArtifacts) -> Step:
        found = step.get("action")
        action: dict[str, Any] = found if isinstance(found, dict) else {}
        recorded = {
            key: value for key, value in action.items() if value is not None and key != "type"
        }
        return Step(
            step=number,
            thought=_text(step.get("reasoning")),
            actions=({"kind": str(action.get("type") or "unknown"), **recorded},),
            screenshot=self._picture(number, step.get("screenshot_path"), artifacts),
        )

    def _picture(self, number: int, name: object, artifacts: TrialArtifacts) -> str | None:
        if not isinstance(name, str):
            return None
        inside = f"{_TASKS}/{self._name}/{name}"
        try:
            data = read_inside(self._results, inside, most=_MOST_PICTURE)
        except OSError:  # missing or refused: a file that is not evidence is left out
            return None
        return artifacts.write_bytes(f"screenshots/step-{number:03d}.png", data)


_KEPT = ("task_id", "success", "score", "num_steps", "error", "error_type", "reason")


def _why_unscored(recorded: dict[str, Any]) -> tuple[Status, str] | None:
    """Return why a result is not an outcome by openadapt-evals' own contract; None if it is one."""
    kind, error = recorded.get("error_type"), recorded.get("error")
    if kind in _WITHOUT_SCORE:
        return _WITHOUT_SCORE[kind], str(error or recorded.get("reason") or kind)
    if kind not in {None, "agent"}:
        return Status.EVALUATION_ERROR, f"the error_type {str(kind)[:40]!r} is not known"
    if kind is None and error:
        # earlier releases do not say whose error it was
        return Status.ENVIRONMENT_ERROR, str(error)
    wrong = _contradiction(recorded)
    return None if wrong is None else (Status.EVALUATION_ERROR, wrong)


def _contradiction(recorded: dict[str, Any]) -> str | None:
    """Return why openadapt-evals' own reader would reject a result; None if it would not."""
    score, success = as_score(recorded.get("score")), recorded.get("success")
    if score is None or not 0 <= score <= 1:
        return "its score is no number from 0 to 1"
    if not isinstance(success, bool):
        return "its success is neither true nor false"
    if recorded.get("error_type") is None and score == float(not success):
        return f"success {success} contradicts its score {score:g}"
    return None


def _folders(results: Path) -> list[str]:
    try:
        with os.scandir(results / _TASKS) as entries:
            names = sorted(each.name for each in entries if each.is_dir(follow_symlinks=False))
    except OSError as error:
        reason = error.strerror or error
        raise InputError(f"{results / _TASKS} cannot be read: {reason}") from error
    if len(names) > _MOST_TASKS:
        raise InputError(f"{results} has more than {_MOST_TASKS} tasks")
    return names


def _definition(results: Path, name: str) -> dict[str, Any]:
    try:
        return _document(results, f"{_TASKS}/{name}/task.json")
    except (OSError, InputError):
        return {}


def _document(results: Path, name: str) -> dict[str, Any]:
    """Return a JSON object.

    Raises:
        InputError: It is not a JSON object.
        FileNotFoundError: It is missing.
        RefusedFileError: It is a link, or too large.
    """
    data = read_inside(results, name, most=_MOST_DOCUMENT)
    try:
        found = decode_json(data)
    except ValueError as error:
        raise InputError(f"{results / name} is not JSON: {error}") from error
    if not isinstance(found, dict):
        raise InputError(f"{results / name} is not a JSON object")
    return found


def _found_task(benchmark: str, name: str, recorded: dict[str, Any]) -> Task:
    domain = _text(recorded.get("domain"))
    return Task(
        benchmark=benchmark,
        task_id=_text(recorded.get("task_id")) or name,
        goal=_text(recorded.get("instruction")) or "",
        groups={} if domain is None else {"domain": (domain,)},
    )


def _known(name: str, recorded: dict[str, Any], tasks: dict[str, Task]) -> Task | None:
    """Return the task of a folder: by the id in its definition, in any spelling, else by its name."""
    for text in (_text(recorded.get("task_id")), name):
        if text is None:
            continue
        if text in tasks:
            return tasks[text]
        try:
            return tasks[resolve_task_id(text, list(tasks.values()))]
        except (UnknownTaskError, InputError):
            continue
    return None


def _text(value: object) -> str | None:
    return value if isinstance(value, str) and value else None


def _listed(value: object) -> list[Any]:
    return value if isinstance(value, list) else []
