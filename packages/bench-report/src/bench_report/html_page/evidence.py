"""The evidence that a trial left, as far as a reader wants to see it: checks, steps, files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from operator import itemgetter
from typing import Any

from pydantic_core import to_json

from bench_core.faults import FAULTS
from bench_core.records import Check, LeftOut, TrialResult
from bench_core.terminal import counted
from bench_report.html_page.model_calls import read_model_calls
from bench_report.html_page.network_log import read_calls, summary_of
from bench_report.html_page.state_changes import read_changes
from bench_report.html_page.steps import StepReader
from bench_report.run_data.artifacts import TrialFolder, artifact_link
from bench_report.text.untrusted import clip, inline, shown_json

__all__ = ["TrialFolder", "evidence_of"]

_TEXT = 4_000
_LINE = 500
_FLAT = 60
_MAX_CHECKS = 200
_MAX_FILES = 200


_PARTS = itemgetter("criterion", "passed", "reason", "expected", "actual", "decided_by")


def evidence_of(
    result: TrialResult,
    folder: TrialFolder | None,
    reader: StepReader,
    passed: Mapping[int, bool | None] | None = None,
) -> dict[str, Any]:
    """Collect the evidence of a trial, clipped and made visible; parts that are absent are left out.

    Args:
        result: The trial.
        folder: Folder of its artifacts; `None` if the run wrote none.
        reader: Reads the agent's steps.
        passed: Step number to whether the state after it passes.
    """
    found: dict[str, Any] = {}
    if result.checks:
        found["checks"] = _checks(result.checks[:_MAX_CHECKS])
    phases = [[_name(n), s] for n, s in result.timings_s.items() if n != "total"]
    if phases:
        found["phases"] = phases
    if result.error is not None:
        fault = result.error.fault
        found["error"] = {
            "what": FAULTS[fault].what if fault and fault in FAULTS else None,
            "kind": inline(result.error.kind, _LINE),
            "message": clip(result.error.message, _TEXT),
            "phase": inline(result.error.phase, _LINE) if result.error.phase else None,
        }
    if len(result.attempts) > 1:  # a single attempt is the trial itself
        found["attempts"] = [
            [a.status.value, a.duration_s, inline(a.error.message, _LINE) if a.error else None]
            for a in result.attempts
        ]
    if result.details:
        # On one line if short; fast, as nearly every trial has some.
        text = to_json(result.details).decode()
        is_flat = len(text) <= _FLAT and text.isascii() and text.isprintable()
        found["details"] = (
            text if is_flat else clip(to_json(result.details, indent=1).decode(), 4 * _TEXT)
        )
    notes = [_why_not_kept(each) for each in result.left_out]
    if folder is not None:
        calls = read_calls(folder.path)
        sent = () if calls is None or isinstance(calls, str) else calls
        pictures = {e.sha256: e.path for e in reversed(result.artifacts) if e.sha256}
        asked = read_model_calls(folder.path, pictures)
        steps, note = reader.steps_of(folder, sent, read_changes(folder.path), asked)
        for step in steps:
            state = None if passed is None else passed.get(step["step"])
            if state is not None:
                step["passed"] = state
        # A record lists its files also after some were deleted to save space.
        # Nor is a link shown: who clicked it would open whatever it leads to.
        there = [each for each in result.artifact_paths[:_MAX_FILES] if folder.links(each)]
        stored = {
            "files": [[_name(each), artifact_link(folder.href, each)] for each in there],
            "network": summary_of(calls),
            "steps": steps,
        }
        found |= {name: value for name, value in stored.items() if value}
        notes = [*filter(None, (note, folder.note)), *notes]
    if notes:
        found["note"] = " ".join(notes)
    return found


def _why_not_kept(some: LeftOut) -> str:
    which = f"such as {inline(some.first, _LINE)}" if some.files > 1 else inline(some.first, _LINE)
    return f"Not kept: {counted(some.files, 'file')}, {which} ({inline(some.why, _LINE)})."


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
