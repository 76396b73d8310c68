"""What a trial left behind, as far as a reader wants to see it: checks, steps, files."""

from __future__ import annotations

import json
from functools import lru_cache
from operator import itemgetter
from typing import TYPE_CHECKING, Any, NamedTuple

from pydantic_core import to_json

from bench_core.files import file_inside
from bench_core.records import Step
from bench_core.run_folder import read_lines
from bench_report.html_page.network_log import har_summary
from bench_report.run_data.artifacts import IMAGE_TYPES, artifact_link
from bench_report.text.untrusted import clip, inline, shown_json

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from pydantic import JsonValue

    from bench_core.records import Attempt, Check, ErrorInfo, TrialResult
    from bench_core.run_folder import BadLine

__all__ = ["TrialFolder", "evidence_of"]

_TEXT = 4_000
_LINE = 500
_FLAT = 60
_MAX_CHECKS = 200
_MAX_STEPS = 500
_MAX_FILES = 200
_MAX_TRAJECTORY = 64 * 2**20


_PARTS = itemgetter("criterion", "passed", "reason", "expected", "actual", "decided_by")


class TrialFolder(NamedTuple):
    """Where a trial's artifacts are, for us and for the page."""

    path: Path
    href: str


def evidence_of(
    result: TrialResult, folder: TrialFolder | None, picture: Callable[[Path, str], str]
) -> dict[str, Any]:
    """Collect the evidence of a trial, clipped and made visible; parts that are absent are left out.

    Args:
        result: The trial.
        folder: Where its artifacts are; `None` where the run wrote none.
        picture: Turns a picture's file and its link into the source the page loads.
    """
    found: dict[str, Any] = {}
    if result.checks:
        found["checks"] = _checks(result.checks[:_MAX_CHECKS])
    phases = [[_name(n), s] for n, s in result.timings_s.items() if n != "total"]
    if phases:
        found["phases"] = phases
    if result.error is not None:
        found["error"] = _error(result.error)
    if len(result.attempts) > 1:  # a single attempt is the trial itself
        found["attempts"] = [_attempt(each) for each in result.attempts]
    if result.details:
        found["details"] = _details(result.details)
    if folder is not None:
        steps, note = _trajectory(folder.path)
        stored = {
            "files": _files(result, folder),
            "network": har_summary(folder.path),
            "note": note,
            "steps": [_step(each, folder, picture) for each in steps],
        }
        found |= {name: value for name, value in stored.items() if value}
    return found


@lru_cache(maxsize=4096)
def _name(text: str) -> str:
    """Return a text that many trials share (a criterion, a phase, a file) on one line."""
    return inline(text, _TEXT)


def _checks(checks: Sequence[Check]) -> list[dict[str, Any]]:
    parts = [_PARTS(vars(each)) for each in checks]
    try:
        return [_cached_check(*each) for each in parts]
    except TypeError:  # a list or an object among them, which a cache cannot look up
        return [_shown_check(*each) for each in parts]


def _shown_check(*parts: Any) -> dict[str, Any]:
    criterion, passed, reason, expected, actual, decided_by = parts
    # A missing `expected` and an expected null are the same `None` in the record; both show as a dash.
    shown = {
        "criterion": _name(criterion),
        "passed": passed,
        "reason": clip(reason, _TEXT) if reason else None,
        "expected": None if expected is None else shown_json(expected, _TEXT),
        "actual": None if actual is None else shown_json(actual, _TEXT),
    }
    return shown if decided_by is None else {**shown, "by": _name(decided_by)}


# Trials of one task make the same checks. Typed, because 1, 1.0 and True are equal as keys but shown differently.
_cached_check = lru_cache(maxsize=4096, typed=True)(_shown_check)


def _details(details: dict[str, JsonValue]) -> str:
    """Return JSON, on one line where that is short; nearly every trial has some, so quickly."""
    text = to_json(details).decode()
    if len(text) <= _FLAT and text.isascii() and text.isprintable():
        return text
    return clip(to_json(details, indent=1).decode(), 4 * _TEXT)


def _error(error: ErrorInfo) -> dict[str, Any]:
    return {
        "kind": inline(error.kind, _LINE),
        "message": clip(error.message, _TEXT),
        "phase": inline(error.phase, _LINE) if error.phase else None,
    }


def _attempt(attempt: Attempt) -> list[Any]:
    message = inline(attempt.error.message, _LINE) if attempt.error else None
    return [attempt.status.value, attempt.duration_s, message]


def _files(result: TrialResult, folder: TrialFolder) -> list[list[str]]:
    """Return names and links of the artifacts that are there."""
    listed = result.artifact_paths[:_MAX_FILES]
    # A record lists its files also after some were deleted to save space.
    # Nor is a link shown: who clicked it would open whatever it leads to.
    there = [each for each in listed if file_inside(folder.path, each)]
    return [[_name(each), artifact_link(folder.href, each)] for each in there]


def _trajectory(folder: Path) -> tuple[list[Step], str | None]:
    """Return the steps that can be shown, and what a reader must know about the others."""
    path = folder / "trajectory.jsonl"
    try:
        size = path.lstat().st_size
    except (FileNotFoundError, NotADirectoryError):
        return [], None
    if not file_inside(folder, path.name):
        return [], "The trajectory is no plain file of a usual size, and was not opened."
    if size > _MAX_TRAJECTORY:
        return [], f"The trajectory has {size / 2**20:,.0f} MB, too much to show here."
    lines = read_lines(path, Step)
    notes = [_damage(line) for line in lines.bad[:1]]
    if len(lines.records) > _MAX_STEPS:
        notes.append(f"Only the first {_MAX_STEPS} of {len(lines.records):,} steps are shown.")
    return lines.records[:_MAX_STEPS], " ".join(notes) or None


def _damage(line: BadLine) -> str:
    kind = "was cut short" if line.torn else "is damaged"
    return f"Line {line.number} of trajectory.jsonl {kind}: {clip(line.reason, _LINE)}."


def _step(step: Step, folder: TrialFolder, picture: Callable[[Path, str], str]) -> dict[str, Any]:
    return {
        "step": step.step,
        "seconds": step.duration_s,
        "url": inline(step.url, _LINE) if step.url else None,
        "title": inline(step.title, _LINE) if step.title else None,
        "thought": clip(step.thought, _TEXT) if step.thought else None,
        "actions": [clip(json.dumps(a, ensure_ascii=False), _TEXT) for a in step.actions],
        "results": [clip(each, _TEXT) for each in step.results],
        "error": clip(step.error, _TEXT) if step.error else None,
        "screenshot": _screenshot(step, folder, picture),
    }


def _screenshot(step: Step, folder: TrialFolder, picture: Callable[[Path, str], str]) -> str | None:
    if step.screenshot is None:
        return None
    file = folder.path / step.screenshot
    if file.suffix.lower() not in IMAGE_TYPES or not file_inside(folder.path, step.screenshot):
        return None
    return picture(file, artifact_link(folder.href, step.screenshot))
