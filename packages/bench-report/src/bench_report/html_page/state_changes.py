"""Changes in the apps of a trial, and their times, by their own histories in the end state."""

from __future__ import annotations

import os
import re
import zlib
from collections.abc import Iterator
from contextlib import suppress
from operator import itemgetter
from pathlib import Path
from typing import Any, NamedTuple

from pydantic_core import from_json

from bench_core.errors import RefusedFileError
from bench_core.files import read_inside
from bench_report.text.untrusted import inline, shown_json

_STATES = ("finish_state.json.gz", "finish_state.json")
_MAX_BYTES = 32 * 2**20
_MOST = 300
_APPS = 20
_NAME = 80
_PAYLOAD = 400
_DIFFERENCE = 4_000
_LATEST_MS = 1e14  # no app's clock is beyond the year 5138
# Entries that change nothing: pages shown, settings of the harness, storage loaded, searches.
_NO_CHANGE = re.compile(r"(router|config|persist|search)/|@@|submit$|.*/search$")


class StateChange(NamedTuple):
    """One action that changed an app's state; `at` is in seconds since 1970."""

    at: float
    app: str
    kind: str
    payload: str | None


class StateChanges(NamedTuple):
    """The changes of all apps in the order of time, and each app's difference of last and first state."""

    changes: list[StateChange]
    differences: list[list[str]]


def read_changes(folder: Path) -> StateChanges:
    """Read leniently a trial's end state for changes of its apps; empty if it has none.

    Understood is a JSON object of apps, each with an `actionhistory` of `type`, `payload` and `timestamp` (in
    milliseconds) or an `initialfinaldiff`, as the apps of REAL leave it.
    """
    name = next((each for each in _STATES if os.path.lexists(folder / each)), None)
    states = None
    if name is not None:
        # damaged or too large: the page shows the trial without it
        with suppress(RefusedFileError, OSError, EOFError, zlib.error, ValueError):
            states = from_json(
                read_inside(folder, name, most=_MAX_BYTES, unpack=name.endswith(".gz"))
            )
    if not isinstance(states, dict):
        return StateChanges([], [])
    apps = [(inline(str(n), _NAME), s) for n, s in states.items() if isinstance(s, dict)][:_APPS]
    noted = sorted((each for app in apps for each in _noted(*app)), key=itemgetter(0))[:_MOST]
    changes = [
        StateChange(
            at,
            app,
            inline(kind, _NAME),
            None if payload is None else inline(shown_json(payload, _PAYLOAD), _PAYLOAD),
        )
        for at, app, kind, payload in noted
    ]
    differences = []
    for app, state in apps:
        whole = state.get("initialfinaldiff")
        parts: Any = {
            name: kept
            for name, part in (whole.items() if isinstance(whole, dict) else ())
            # without the harness's settings
            if isinstance(part, dict) and (kept := {k: v for k, v in part.items() if k != "config"})
        }
        if parts:
            differences.append([app, shown_json(parts, _DIFFERENCE)])
    return StateChanges(changes, differences)


def _noted(app: str, state: dict[str, Any]) -> Iterator[tuple[float, str, str, Any]]:
    """Yield time, app, kind and payload of the actions in an app's history that change its state."""
    history = state.get("actionhistory")
    for each in history if isinstance(history, list) else []:
        if not isinstance(each, dict):
            continue
        kind, at = str(each.get("type", "")), each.get("timestamp")
        if (
            isinstance(at, int | float)
            and 0 <= at < _LATEST_MS
            and not _NO_CHANGE.match(kind[:_NAME])
        ):
            yield at / 1000, app, kind, each.get("payload")
