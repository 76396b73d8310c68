"""Whether a command continues the run that is in a folder, and if not, which option differs."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from errno import ENOTDIR
from pathlib import Path

from pydantic import JsonValue

from bench_core.errors import RunFolderError
from bench_core.files.inside import refuse_unusual
from bench_core.files.space import TO_BEGIN, require_open_files, require_space
from bench_core.records import RunInfo, Task
from bench_core.redaction import Redactor
from bench_core.run_folder.view import read_info, read_tasks

_OPTIONS = {
    "limits.max_steps": "--max-steps",
    "limits.time_limit_s": "--time-limit",
    "site_locks": "--site-locks",
}
"""Names of settings on the command line, if they differ there."""
_SHOWN_TASKS = 5
_SHOWN_CHARS = 60


def refuse_unusable_folder(
    path: Path, wanted: RunInfo, tasks: Sequence[Task], *, redactor: Redactor | None = None
) -> None:
    """Raise the errors that `RunFolder.open` raises before it writes, except that of another writer.

    Args:
        path: The run folder, which may not exist yet.
        wanted: The run that is asked for.
        tasks: Its tasks.
        redactor: As for `RunFolder.resume`.

    Raises:
        RunFolderError: It holds another run, or the disk is full.
        NotADirectoryError: It is a file.
    """
    if path.exists() and not path.is_dir():
        raise NotADirectoryError(ENOTDIR, "it is a file, and a run needs a folder", str(path))
    if (path / "run.json").exists():
        refuse_to_continue(path, wanted, tasks, wanted.trials, redactor)
    elif path.exists():
        refuse_unusual(path)
        refuse_results_alone(path)
    require_open_files()
    require_space(path, TO_BEGIN)


def refuse_to_continue(
    path: Path,
    wanted: RunInfo | None,
    tasks: Sequence[Task],
    trials: int | None,
    redactor: Redactor | None,
) -> None:
    """Raise if the run in `path` cannot go on with the arguments of `RunFolder.resume`.

    Raises:
        RunFolderError: The run is missing, is another one, or has more trials.
    """
    info = read_info(path)
    if wanted is not None:
        clean = redactor or Redactor.from_environment()
        _refuse_other_run(path, info, wanted, read_tasks(path, info), tasks, clean)
    if trials is not None and trials < info.trials:
        raise RunFolderError(
            f"{path} was planned with {info.trials} trials per task; {trials} would drop some: "
            f"use another folder"
        )


def refuse_results_alone(path: Path, info: str = "run.json") -> None:
    """Raise if a folder holds results but lacks the document `info`, which names their run.

    Raises:
        RunFolderError: It does.
    """
    if (path / "results.jsonl").exists() and (path / "results.jsonl").stat().st_size:
        raise RunFolderError(f"{path} holds results but no {info}: use another folder")


def _refuse_other_run(
    path: Path,
    stored: RunInfo,
    wanted: RunInfo,
    planned: Sequence[Task],
    tasks: Sequence[Task],
    redactor: Redactor,
) -> None:
    """Raise if options or tasks differ, naming each option with both values, or the tasks."""
    found = []
    if stored.config_hash != wanted.config_hash:
        found = list(_other_options(stored, wanted, redactor)) or [
            f"its configuration has the hash {stored.config_hash[:12]}, not {wanted.config_hash[:12]}"
        ]
    elif stored.task_set_hash != wanted.task_set_hash:
        found = list(_other_tasks(planned, tasks))
    if found:
        raise RunFolderError(
            f"{path} holds another run, {stored.run_id!r}: {'; '.join(found)}. Give what it was begun "
            f"with to continue it, or use another folder (--out)"
        )


def _other_options(stored: RunInfo, wanted: RunInfo, redactor: Redactor) -> Iterator[str]:
    for name in ("benchmark", "agent", "model", "world", "profile", "timing", "seed"):
        yield from _other(f"--{name}", getattr(stored, name), getattr(wanted, name))
    yield from other_settings(stored.config, wanted.config, redactor)


def other_settings(
    stored: Mapping[str, JsonValue], wanted: Mapping[str, JsonValue], redactor: Redactor
) -> Iterator[str]:
    """Yield each setting in which `run.json` differs from the request, with both values."""
    # run.json holds settings without secrets: both sides must have lost them.
    before, now = _flat(stored), _flat(redactor.redact_json(dict(wanted)))
    for name in sorted({*before, *now}):
        option = _OPTIONS.get(name, f"--{name.replace('_', '-')}")
        yield from _other(option, before.get(name), now.get(name))


def _other(option: str, before: JsonValue, now: JsonValue) -> Iterator[str]:
    if before != now:
        yield f"{option} was {_in_words(before)}, now {_in_words(now)}"


def _in_words(value: JsonValue) -> str:
    if value is None:
        return "not set"
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _SHOWN_CHARS else f"{text[:_SHOWN_CHARS]}..."


def _flat(config: Mapping[str, JsonValue], above: str = "") -> dict[str, JsonValue]:
    """Return settings with those inside others under `above.name`; one that is None is not set."""
    found: dict[str, JsonValue] = {}
    for name, value in config.items():
        if isinstance(value, dict):
            found |= _flat(value, f"{above}{name}.")
        else:
            found[f"{above}{name}"] = value
    return found


def _other_tasks(planned: Sequence[Task], tasks: Sequence[Task]) -> Iterator[str]:
    before = {task.task_id: task for task in planned}
    now = {task.task_id: task for task in tasks}
    yield from _some("is not asked for now", "are not asked for now", [*before.keys() - now.keys()])
    yield from _some("is not in its plan", "are not in its plan", [*now.keys() - before.keys()])
    common = before.keys() & now.keys()
    changed = [each for each in common if before[each] != now[each]]
    yield from _some("is defined otherwise now", "are defined otherwise now", changed)
    if now.keys() == before.keys() and not changed:  # no record shows this change
        yield "its tasks are defined otherwise now"


def _some(one: str, several: str, ids: list[str]) -> Iterator[str]:
    if not ids:
        return
    shown = ", ".join(map(repr, sorted(ids)[:_SHOWN_TASKS]))
    more = f" and {len(ids) - _SHOWN_TASKS} more" if len(ids) > _SHOWN_TASKS else ""
    noun, text = ("task", one) if len(ids) == 1 else ("tasks", several)
    yield f"{noun} {shown}{more} {text}"
