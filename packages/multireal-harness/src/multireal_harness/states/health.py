"""Checks whether end states look like those of one run of one task (used by `check-state`)."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any, Literal

from bench_core.records import Record
from multireal_harness.definitions import Definition
from multireal_harness.states.schemas import shipped_schemas

_CLOCK_SLACK_MS = 120_000
_LONGEST_MS = 6 * 3_600_000  # no run of one task takes longer
_FAR_MS = 1e15  # a page can write any number, and beyond this none is a time
# These change by looking around and by `/config`, without anything done for the task.
FINISH_NOISE = frozenset({"config", "router", "ui", "_persist"})


Code = Literal[
    "missing_app", "unknown_app", "duplicated_state", "foreign_task", "no_ids", "empty_diff",
    "carry_over", "outside_window", "seed_mismatch", "capped_history", "clock_mismatch",
    "goal_violated",
]  # fmt: skip
_NOTES = frozenset({"unknown_app", "no_ids", "empty_diff", "capped_history", "clock_mismatch"})


class Symptom(Record):
    """One thing that is wrong with the end states of a task.

    Attributes:
        app: The app; for a `goal_violated` of no particular app, the judge that found it.
        serious: Whether scores from these states cannot be trusted.
    """

    code: Code
    app: str
    message: str
    serious: bool = True


class RunSpan(Record):
    """Start and end of a run in milliseconds since 1970, the unit of the apps' action history."""

    started_ms: float
    finished_ms: float


def check_states(
    definition: Definition,
    states: Mapping[str, Any],
    *,
    window: RunSpan | None = None,
    seeds: Mapping[str, Any] | None = None,
) -> list[Symptom]:
    """Return the faults in the end states of a task, serious symptoms first.

    Args:
        definition: The task.
        states: App id to end state.
        window: Start and end of the run; actions before it are carried over from another.
        seeds: App id to the `initialstate` of an untouched app.
    """
    found = [
        *_presence(definition, states),
        *_copies(states),
        *(
            symptom
            for app, state in states.items()
            for symptom in _of_app(definition, app, state, window, (seeds or {}).get(app))
        ),
    ]
    return sorted(found, key=lambda each: not each.serious)


def _symptom(code: Code, app: str, message: str) -> Symptom:
    return Symptom(code=code, app=app, message=message, serious=code not in _NOTES)


def has_changes(state: Any) -> bool:
    """Return whether an app reports changes other than those of `FINISH_NOISE`."""
    if not isinstance(state, dict):
        return False
    for name, part in state.items():
        if name == "initialfinaldiff":
            if _changed_in_diff(part):
                return True
        elif (name == "differences" or name.endswith("Diff")) and _any_leaf(part):
            return True
    return False


def _changed_in_diff(part: Any) -> bool:
    if not isinstance(part, dict):
        return False
    branches = [part.get(name) for name in ("added", "deleted", "updated")]
    # the calendar's difference has collections at its top, not added, deleted and updated
    if all(each is None for each in branches):
        branches = [part]
    return any(
        _any_leaf(value)
        for branch in branches
        if isinstance(branch, dict)
        for name, value in branch.items()
        if name not in FINISH_NOISE
    )


def _any_leaf(value: Any) -> bool:
    if isinstance(value, dict):
        return any(map(_any_leaf, value.values()))
    if isinstance(value, list):
        return any(map(_any_leaf, value))
    return value is not None


def _presence(definition: Definition, states: Mapping[str, Any]) -> Iterator[Symptom]:
    for app in definition.apps:
        if not states.get(app):
            yield _symptom("missing_app", app, "there is no state of this app")
    for app in states:
        if app not in definition.apps:
            yield _symptom("unknown_app", app, "the task does not use it")


def _copies(states: Mapping[str, Any]) -> Iterator[Symptom]:
    """Find an app that has another app's state, as one published file has topwork's under gomail's name."""
    seen: dict[str, list[str]] = {}
    for app, state in states.items():
        seen.setdefault(json.dumps(state, sort_keys=True), []).append(app)
    for apps in seen.values():
        if len(apps) > 1:
            owner = max(apps, key=lambda app: _resemblance(app, states[app]))  # the first of equals
            for app in apps:
                if app != owner:
                    yield _symptom("duplicated_state", app, f"it is the state of {owner!r}")


def _resemblance(app: str, state: Any) -> float:
    """Return how much a state looks like an app's own: by its name in the config, else by its shape."""
    configs = _final(state).get("config") if isinstance(state, dict) else None
    names = {str(key).replace("_", "").lower() for each in _configs(configs) for key in each}
    if app.lower() in names:
        return 2.0
    schema = shipped_schemas().apps.get(app)
    if schema is None or not isinstance(state, dict):
        return 0.0
    final, shape = state.get("finalstate"), schema.name("finalstate")
    if not isinstance(final, dict) or shape is None or not shape.fields or not final:
        return 0.0
    # the share of names in both, of all names
    return len(final.keys() & shape.fields.keys()) / len(final.keys() | shape.fields.keys())


def _of_app(
    definition: Definition, app: str, state: Any, window: RunSpan | None, seed: Any
) -> Iterator[Symptom]:
    if not isinstance(state, dict):
        return
    yield from _ids(definition, app, state)
    if not has_changes(state):
        yield _symptom("empty_diff", app, "nothing has changed in it")
    yield from _history(app, state, window)
    if seed is not None and _without_noise(seed) != _without_noise(state.get("initialstate")):
        yield _symptom("seed_mismatch", app, "it did not start from the app's first state")


def configured_for(state: dict[str, Any]) -> set[str] | None:
    """Return the tasks that an app was configured for by `/config`; None if its state does not tell."""
    configs = [each for each in _configs(_final(state).get("config")) if "task_id" in each]
    return {str(each["task_id"]) for each in configs} - {"", "None"} if configs else None


def _ids(definition: Definition, app: str, state: Any) -> Iterator[Symptom]:
    given = configured_for(state)
    if given and given != {definition.id}:
        yield _symptom("foreign_task", app, f"it was configured for {', '.join(sorted(given))}")
    # a note only: the task's id is empty in all seven published states
    elif given == set():
        yield _symptom("no_ids", app, "it never went through /config")


def _final(state: dict[str, Any]) -> dict[str, Any]:
    final = state.get("finalstate")
    return final if isinstance(final, dict) else {}


def _configs(value: Any) -> Iterator[dict[str, Any]]:
    """Yield every object of an app's config, because each app nests it differently."""
    if isinstance(value, dict):
        yield value
        for each in value.values():
            yield from _configs(each)


def _history(app: str, state: Any, window: RunSpan | None) -> Iterator[Symptom]:
    actions = state.get("actionhistory")
    if not isinstance(actions, list):
        return
    stamps = [
        max(-_FAR_MS, min(each["timestamp"], _FAR_MS))
        for each in actions
        if isinstance(each, dict) and isinstance(each.get("timestamp"), int | float)
    ]
    if len(actions) == 500:  # opendining's history stops at exactly 500
        yield _symptom("capped_history", app, "its history is full: 500 actions")
    if not stamps:
        return
    if window is not None and min(stamps) < window.started_ms - _CLOCK_SLACK_MS:
        yield _symptom(
            "carry_over", app, f"its history begins {_moment(min(stamps))}, before the run"
        )
    if window is not None and max(stamps) > window.finished_ms + _CLOCK_SLACK_MS:
        yield _symptom(
            "outside_window", app, f"its history ends {_moment(max(stamps))}, after the run"
        )
    # four of the seven published states have events of earlier tasks
    if window is None and max(stamps) - min(stamps) > _LONGEST_MS:
        hours = (max(stamps) - min(stamps)) / 3_600_000
        yield _symptom("carry_over", app, f"its history spans {hours:.0f} hours: several runs")
    yield from _clock(app, actions)


def _clock(app: str, actions: list[Any]) -> Iterator[Symptom]:
    """Compare the local times in an app's history with its timestamps: the offset is the time zone."""
    offsets = {offset for each in actions if (offset := _offset_minutes(each)) is not None}
    if len(offsets) > 1:
        shown = ", ".join(f"{each / 60:+g} h" for each in sorted(offsets))
        yield _symptom("clock_mismatch", app, f"its history is of several time zones: {shown}")


def _offset_minutes(action: Any) -> int | None:
    try:
        local = datetime.strptime(action["formattedTime"], "%m/%d/%Y, %I:%M:%S %p")  # noqa: DTZ007  # zone unknown
        seconds: float = (local - datetime(1970, 1, 1)).total_seconds() - action["timestamp"] / 1000  # noqa: DTZ001  # same
        return round(seconds / 900) * 15  # zones differ by quarters of an hour
    except (KeyError, TypeError, ValueError, OverflowError):
        return None


def _without_noise(state: Any) -> Any:
    if not isinstance(state, dict):
        return state
    return {key: value for key, value in state.items() if key not in FINISH_NOISE}


def _moment(milliseconds: float) -> str:
    try:
        return (
            datetime.fromtimestamp(milliseconds / 1000).astimezone().isoformat(timespec="minutes")
        )
    except (ValueError, OverflowError, OSError):
        return f"at {milliseconds:g} ms"
