"""Inspect's EvalLogs as run folders: JSON logs, and `.eval` archives as far as Python can unpack them."""

from __future__ import annotations

import json
import zipfile
import zlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from bench_core.errors import InputError
from bench_core.files import open_inside
from bench_core.records import ErrorInfo, RunInfo, Status, Step, Task, TrialResult, Usage, as_score
from bench_core.records.codec import decode_json
from bench_core.records.problems import problems_of
from bench_report.interchange.imported_run import ImportedRun, ImportedTrial, read_json

_LETTERS = {"C": 1.0, "P": 0.5, "I": 0.0, "N": 0.0}
"""Inspect's grades: correct, partial, incorrect, no answer."""
_LIMITS = {
    "time": Status.TIME_LIMIT,
    "working": Status.TIME_LIMIT,
    "token": Status.BUDGET_EXCEEDED,
    "cost": Status.BUDGET_EXCEEDED,
    "operator": Status.CANCELLED,
}
_REASONS = {each.value: each for each in Status if not each.scored}
"""The reasons of a scorer that left a sample unscored, for those that are a status of ours."""
_Json = dict[str, Any]
_MAX_UNPACKED = 1 << 30
_PIECE = 64 << 10
_UNBOUNDED = frozenset({zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA})
"""Methods whose pieces may unpack to anything."""

_UNREADABLE = (
    OSError,
    EOFError,
    KeyError,
    ValueError,
    RuntimeError,
    zipfile.BadZipFile,
    zlib.error,
)
"""The errors of unpacking: `RuntimeError` for a password, or a compression that this Python does not know."""


def import_inspect(path: Path, *, scorer: str | None = None) -> ImportedRun:
    """Read an EvalLog.

    Args:
        path: A `.json` log, or an `.eval` archive.
        scorer: The scorer whose score counts, if there are several.

    Raises:
        InputError: It is not an EvalLog of version 2, or the scorer is not in it.
    """
    log = _archive(path) if path.suffix == ".eval" else read_json(path)
    if log.get("version") != 2 or not isinstance(log.get("eval"), dict):  # the format's version
        raise InputError(f"{path} is not an Inspect log of version 2")
    spec, samples = log["eval"], log.get("samples") or []
    try:
        own = _nested(spec, "metadata", "proctor") or {}
        tasks = [Task.model_validate_json(json.dumps(each)) for each in own.get("tasks", ())]
        known = {task.task_id: task for task in tasks}
        trials = [_trial(each, spec, scorer, known) for each in samples]
        info = RunInfo.model_validate_json(json.dumps(own["run"])) if known else None
    except (KeyError, TypeError, AttributeError, ValidationError) as error:
        kind = type(error).__name__
        what = problems_of(error) if isinstance(error, ValidationError) else f"{kind} {error}"
        raise InputError(f"{path} has a sample that cannot be read: {what}") from None
    return ImportedRun(
        benchmark=str(spec.get("task") or "inspect"),
        version=str(spec["task_version"]) if spec.get("task_version") else None,
        agent=str(spec.get("solver") or "inspect"),
        model=_model(spec.get("model")),
        source=path.name,
        trials=trials,
        tasks=tasks,
        info=info,
    )


def _archive(path: Path) -> _Json:
    """Read header and samples of an `.eval` file."""
    try:
        with open_inside(path.parent, path.name) as file, zipfile.ZipFile(file) as archive:
            names = archive.namelist()
            # Inspect writes the header last: a log that was interrupted has only its journal.
            header = "header.json" if "header.json" in names else "_journal/start.json"
            members = _ArchiveMembers(archive)
            log = decode_json(members.read(header))
            samples = [decode_json(members.read(n)) for n in names if n.startswith("samples/")]
    except FileNotFoundError:
        raise InputError(f"{path} does not exist: give a log that Inspect wrote") from None
    except _UNREADABLE as error:
        raise InputError(
            f"{path} cannot be unpacked ({error}): convert it with `inspect log convert --to json`"
        ) from None
    return {"version": 2, **log, "samples": samples} if isinstance(log, dict) else {}


class _ArchiveMembers:
    """Reads members of an archive, in all no more than a log may have: a small file can hold gigabytes."""

    def __init__(self, archive: zipfile.ZipFile) -> None:
        self._archive = archive
        self._left = _MAX_UNPACKED

    def read(self, name: str) -> bytes:
        """Return a member; raise `ValueError` if the members hold too much."""
        info = self._archive.getinfo(name)
        if info.compress_type in _UNBOUNDED:
            raise ValueError(f"{name} is packed by a method that Inspect does not use")
        data = bytearray()
        with self._archive.open(info) as member:
            # in small pieces: how much comes out of a piece is not known before
            while piece := member.read(_PIECE):
                data += piece
                self._left -= len(piece)
                if self._left < 0:
                    raise ValueError(f"it holds more than {_MAX_UNPACKED >> 20} MB")
        return bytes(data)


def _nested(data: Any, *path: str) -> Any:
    for name in path:
        data = data.get(name) if isinstance(data, dict) else None
    return data


def _model(name: str | None) -> str | None:
    if not name or name == "none/none":  # Inspect's name for running without a model
        return None
    return name.replace("/", ":", 1)


def _trial(
    sample: _Json, spec: _Json, scorer: str | None, known: Mapping[str, Task]
) -> ImportedTrial:
    own = _nested(sample, "metadata", "proctor")
    if isinstance(own, dict) and sample["id"] in known:
        return ImportedTrial(
            known[sample["id"]],
            TrialResult.model_validate_json(json.dumps(own["result"])),
            [Step.model_validate_json(json.dumps(each)) for each in own.get("steps", ())],
        )
    task = Task(
        benchmark=str(spec.get("task") or "inspect"),
        task_id=str(sample["id"]),
        goal=_text(sample.get("input", "")),
        config={"target": sample.get("target")},
    )
    steps = [
        Step(step=number, thought=text or None, actions=tuple(calls), results=tuple(results))
        for number, (text, calls, results) in enumerate(_turns(sample.get("messages") or ()), 1)
    ]
    return ImportedTrial(task, _result(sample, spec, task, len(steps), scorer), steps)


def _result(sample: _Json, spec: _Json, task: Task, steps: int, scorer: str | None) -> TrialResult:
    scores = sample.get("scores") or {}
    if scorer is not None and scores and scorer not in scores:
        raise InputError(f"no scorer {scorer!r} in this log: there are {', '.join(scores)}")
    name = scorer or next(iter(scores), "")
    score = scores.get(name)
    value = None if score is None else _number(score.get("value"))
    error = sample.get("error")
    status = _status(sample, scored=value is not None)
    own = _nested(score, "reason")
    if value is None and isinstance(own, str):
        status = _REASONS.get(own, status)
    usages = sample.get("model_usage") or {}
    costs = [each.get("total_cost") for each in usages.values()]
    error_info = None
    if value is None or status is Status.AGENT_ERROR:
        reason = _nested(score, "reason") or _nested(score, "explanation")
        message = error["message"] if error else reason or "the log has no score for this sample"
        error_info = ErrorInfo(kind="InspectError", message=str(message))
    return TrialResult(
        benchmark=task.benchmark,
        task_id=task.task_id,
        trial=int(sample.get("epoch", 1)),
        agent=str(spec.get("solver") or "inspect"),
        model=_model(spec.get("model")),
        model_reported=_model(next(iter(usages), None)),
        status=status,
        score=value,
        method=None if value is None else f"inspect:{name}",
        steps=steps,
        usage=_usage(usages),
        cost_usd=sum(costs) if costs and None not in costs else None,
        timings_s={"total": sample["total_time"]} if sample.get("total_time") else {},
        error=error_info,
        details={"scores": scores},
    )


def _number(value: Any) -> float | None:
    """Return a score as a number; `None` for anything but a single number.

    Inspect writes NaN for a sample that its scorer left unscored; a 0 would count as the agent's failure.
    """
    if isinstance(value, str):
        return _LETTERS.get(value.upper())
    return float(value) if isinstance(value, bool) else as_score(value)


def _status(sample: _Json, *, scored: bool) -> Status:
    """Return how the trial ended: an agent that reached a limit is scored, one without a score was not evaluated."""
    limit = _nested(sample, "limit", "type")
    reached = _LIMITS.get(limit, Status.STEP_LIMIT) if limit else None
    if scored:
        if reached is not None:
            return reached if reached.scored else Status.STEP_LIMIT
        return Status.AGENT_ERROR if sample.get("error") else Status.COMPLETED
    if sample.get("error"):
        return Status.ENVIRONMENT_ERROR
    return reached if reached is not None and not reached.scored else Status.EVALUATION_ERROR


def _usage(usages: Mapping[str, _Json]) -> Usage:
    found = Usage()
    for each in usages.values():
        read, written = (each.get(f"input_tokens_cache_{kind}") or 0 for kind in ("read", "write"))
        found += Usage(
            input_tokens=each.get("input_tokens", 0) + read + written,
            cached_input_tokens=read,
            cache_write_tokens=written,
            output_tokens=each.get("output_tokens", 0),
            reasoning_tokens=each.get("reasoning_tokens") or 0,
        )
    return found


def _turns(messages: Sequence[_Json]) -> Iterator[tuple[str, list[_Json], list[str]]]:
    """Group an assistant's message with the results of its calls."""
    turn: tuple[str, list[_Json], list[str]] | None = None
    for message in messages:
        if message.get("role") == "assistant":
            if turn:
                yield turn
            calls = [{c["function"]: c.get("arguments")} for c in message.get("tool_calls") or ()]
            turn = (_text(message.get("content", "")), calls, [])
        elif message.get("role") == "tool" and turn:
            turn[2].append(_text(message.get("content", "")))
    if turn:
        yield turn


def _text(content: Any) -> str:
    """Return the text of a message, its images and other parts left out."""
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else []
    texts = (
        each.get("text") or each.get("reasoning") or _text(each.get("content", ""))
        for each in parts
        if isinstance(each, dict)
    )
    return "\n".join(filter(None, texts))
