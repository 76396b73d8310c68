"""Find the parts of a state by the names of their keys: before, after, and lists of changes.

Nothing here knows an application. A state is one or several apps; an app is an object with a
snapshot from before, one or more from after, and perhaps its own list of changes and actions.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from llm_judge.states.pointers import child

_BEFORE = frozenset({
    "before", "initial", "initialstate", "old", "previous", "previousstate", "start", "startstate",
    "statebefore", "stateinitial",
})  # fmt: skip
_AFTER = frozenset({
    "after", "current", "currentstate", "end", "endstate", "final", "finalstate", "finish",
    "finishstate", "new", "newstate", "state", "stateafter", "statefinal",
})  # fmt: skip
_CHANGES = frozenset({
    "changes", "changeset", "delta", "diff", "difference", "differences", "initialfinaldiff",
    "statediff",
})  # fmt: skip
_ACTIONS = frozenset({"actionhistory", "actionlog", "actions"})
_LISTS = frozenset(
    {"added", "changed", "created", "deleted", "other_updated", "removed", "updated"}
)
_OF_CHANGES = re.compile(r"(?<=[a-z])_?(?:changes|delta|diff|differences)\Z", re.IGNORECASE)
_LEAST_DUMP = 200  # small dumps are alike by chance
_MAX_DEPTH = 3  # apps stand near the root; deeper, `state` and `final` are keys of an app's own


@dataclass(frozen=True)
class StatePart:
    """A part of the state: its place and value.

    Attributes:
        of: The subject of a list of changes, by its name (`cartDiff`); empty if it is about all.
    """

    pointer: str
    value: Any
    of: str = ""


@dataclass(frozen=True)
class App:
    """One application's share of the state.

    Attributes:
        before: The snapshot from before the run, `None` when there is none.
        after: The snapshots from after it; most states hold one or two.
        changes: The app's own account of its changes.
        actions: The app's own account of the acts done in it.
        name: Its key in the state; empty when the state is one app.
    """

    name: str
    pointer: str
    before: StatePart | None = None
    after: tuple[StatePart, ...] = ()
    changes: tuple[StatePart, ...] = ()
    actions: tuple[StatePart, ...] = field(default=())

    @property
    def recorded(self) -> bool:
        """Whether the state shows the run's changes."""
        return self.before is not None or bool(self.changes)


def find_apps(state: Any, initial: Any = None) -> tuple[App, ...]:
    """Return the apps of a state, at least one.

    Args:
        state: The end state.
        initial: The state before the run, if stored apart; same shape as `state`.

    >>> [app.name for app in find_apps({"mail": {"initialstate": {}, "finalstate": {"sent": 1}}})]
    ['mail']
    """
    if initial is None and (found := tuple(_search(state, "", "", 0))):
        return found
    old = {} if initial is None else initial
    if not isinstance(state, dict) or not isinstance(old, dict) or not _all_objects(state):
        before = None if initial is None else StatePart("", initial)
        return (App("", "", before=before, after=(StatePart("", state),)),)
    return tuple(
        App(
            key,
            child("", key),
            before=None if initial is None else StatePart(child("", key), old.get(key, {})),
            after=(StatePart(child("", key), state.get(key, {})),),
        )
        for key in {**state, **old}
    )


def identical_apps(apps: Sequence[App]) -> Iterator[tuple[str, str]]:
    """Yield the names of apps that hold the same dump: of one of them another's was recorded."""
    seen: dict[str, str] = {}
    for app in apps:
        # seen in Multi-REAL's ground truth: one app's dump was stored under two names
        dump = json.dumps([part.value for part in (*app.after, *app.changes)], sort_keys=True)
        if len(dump) >= _LEAST_DUMP and dump in seen:
            yield app.name, seen[dump]
        seen.setdefault(dump, app.name)


def _search(value: Any, pointer: str, name: str, depth: int) -> list[App]:
    if not isinstance(value, dict):
        return []
    app = _app(value, pointer, name)
    if app is not None:
        return [app]
    if depth >= _MAX_DEPTH:
        return []
    found = [
        (key, each, _search(each, child(pointer, key), str(key), depth + 1))
        for key, each in value.items()
    ]
    if not any(apps for _, _, apps in found):
        return []
    # keep an app that recorded nothing next to those that did
    for key, each, apps in found:
        if not apps and each not in ({}, [], None):
            apps.append(
                App(str(key), child(pointer, key), after=(StatePart(child(pointer, key), each),))
            )
    return [app for _, _, apps in found for app in apps]


def _app(value: dict[str, Any], pointer: str, name: str) -> App | None:
    roles: dict[str, list[StatePart]] = {"before": [], "after": [], "changes": [], "actions": []}
    for key, each in value.items():
        role, of = _role(key), ""
        if role is None and _lists_changes(key, each):
            role, of = "changes", _OF_CHANGES.sub("", key)
        if role is not None and isinstance(each, dict | list):
            roles[role].append(StatePart(child(pointer, key), each, of))
    # one such key alone makes no app: many records have a `state`
    if not (roles["after"] and (roles["before"] or roles["changes"])) and not (
        roles["before"] and roles["changes"]
    ):
        return None
    # Multi-REAL's dumps hold `finalstate` and `state`: the first is the one to point into
    after = sorted(roles["after"], key=lambda part: not part.pointer.lower().endswith("finalstate"))
    return App(
        name,
        pointer,
        before=roles["before"][0] if roles["before"] else None,
        after=tuple(after),
        changes=tuple(roles["changes"]),
        actions=tuple(roles["actions"]),
    )


def _role(key: str) -> str | None:
    plain = re.sub(r"[^a-z]", "", key.lower())
    for role, names in (
        ("before", _BEFORE), ("after", _AFTER), ("changes", _CHANGES), ("actions", _ACTIONS),
    ):  # fmt: skip
        if plain in names:
            return role
    return None


def _lists_changes(key: str, value: Any) -> bool:
    """Whether a member lists changes of one thing: `{"cartDiff": {"added": ...}}`."""
    return (
        _OF_CHANGES.search(key) is not None
        and isinstance(value, dict)
        and bool(value)
        and value.keys() <= _LISTS
    )


def _all_objects(state: dict[str, Any]) -> bool:
    return bool(state) and all(isinstance(each, dict) for each in state.values())
