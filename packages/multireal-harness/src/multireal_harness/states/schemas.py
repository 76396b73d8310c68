"""Shapes of the apps' states: those that come with the package, or learned from your own states."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from importlib import resources
from pathlib import Path
from typing import Any

from bench_core.errors import InputError
from bench_core.records.codec import decode_json
from multireal_harness.definitions import Definition
from multireal_harness.states.shapes import (
    ANY,
    ValueShape,
    difference_of,
    from_json,
    learn,
    merge,
    to_json,
)

_BRANCHES = ("added", "deleted", "updated")
# Initial, final and current state are near copies, 79 to 92 % of a state's text: one of them is enough.
_SKIPPED = frozenset({"actionhistory", "router", "ui", "_persist", "state", "initialstate"})


@dataclass(frozen=True)
class Schemas:
    """App id to the shape of its end state; the states of other apps may have any content.

    Attributes:
        versions: The task sets (`version`, empty for Multi-REAL's) whose clones of the apps these are; None for
            all. The clones of v1 and v2 store other things under the same ids.
    """

    apps: Mapping[str, ValueShape] = field(default_factory=dict)
    versions: frozenset[str] | None = None

    def of(self, definition: Definition) -> Schemas:
        """Return these shapes if they are those of a task's apps, else none."""
        known = self.versions is None or definition.version in self.versions
        return self if known else Schemas()

    def state(self, apps: Iterable[str]) -> ValueShape:
        """Return the shape of the object of all end states of a task with these apps."""
        fields = {app: self.apps.get(app, ANY) for app in apps}
        return ValueShape(frozenset({"object"}), fields, closed=True)

    def untouched(self, apps: Iterable[str]) -> dict[str, Any]:
        """Return end states in which nothing has changed, as far as the shapes show it."""
        return {app: _untouched(self.apps[app]) for app in apps if app in self.apps}

    def to_json(self) -> dict[str, Any]:
        """Return the JSON that `load_schemas` reads."""
        return {app: to_json(shape) for app, shape in sorted(self.apps.items())}


def shipped_schemas() -> Schemas:
    """Return the shapes of the twelve apps of Multi-REAL."""
    text = resources.files(__package__).joinpath("schemas.json").read_text(encoding="utf-8")
    return replace(_schemas(json.loads(text)), versions=frozenset({"", "multi"}))


def load_schemas(path: Path) -> Schemas:
    """Read shapes from a file, or learn them from a folder of end states.

    Raises:
        InputError: The file or folder does not exist or has no shapes.
    """
    if path.is_dir():
        from multireal_harness.states.files import load_states  # only for folders

        return learn_schemas(states.apps for states in load_states(path))
    try:
        return _schemas(decode_json(path.read_bytes()))
    except (OSError, ValueError) as error:
        raise InputError(f"{path} has no schemas: {error}") from error


def learn_schemas(states: Iterable[Mapping[str, Any]]) -> Schemas:
    """Learn the shape of each app from end states, each an object of app id to state."""
    seen: dict[str, list[Any]] = {}
    for each in states:
        for app, state in each.items():
            if isinstance(state, dict) and not _is_copy(app, state, each):
                seen.setdefault(app, []).append(state)
    return Schemas({app: _learned(each) for app, each in seen.items()})


def _schemas(value: Any) -> Schemas:
    if not isinstance(value, dict):
        raise InputError("schemas are an object of app id to shape")
    return Schemas({app: _completed(from_json(shape)) for app, shape in value.items()})


def _is_copy(app: str, state: Any, states: Mapping[str, Any]) -> bool:
    """Return whether the state is another app's under this one's name, as in one published file."""
    if not any(other != app and state == each for other, each in states.items()):
        return False
    return app not in json.dumps(state.get("finalstate", {}).get("config", ""))


def _learned(states: list[dict[str, Any]]) -> ValueShape:
    final = [each.get("finalstate") for each in states if each.get("finalstate")]
    # the fields of an untouched app exist, even if no end state has them
    seeds = [each.get("initialstate") for each in states if each.get("initialstate")]
    kept = [{k: v for k, v in each.items() if k not in _SKIPPED} for each in states]
    shape = learn([_without_noise(each) for each in kept])
    fields = {key: _alike(each) for key, each in shape.fields.items()}
    fields["finalstate"] = learn([_without_noise(each) for each in [*final, *seeds]])
    fields |= {"initialstate": ANY, "state": ANY, "actionhistory": ANY}
    return ValueShape(frozenset({"object"}), fields, closed=True)


def _without_noise(value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    return {key: each for key, each in value.items() if key not in {"router", "ui", "_persist"}}


def _alike(shape: ValueShape) -> ValueShape:
    """Give added, deleted and updated items one shape, because few states have all three."""
    fields = {key: _alike(each) for key, each in shape.fields.items()}
    if set(_BRANCHES) <= set(fields):
        whole = fields["added"]
        for branch in _BRANCHES[1:]:
            whole = merge(whole, fields[branch])
        fields |= dict.fromkeys(_BRANCHES, whole)
    return ValueShape(shape.kinds, fields, shape.closed, shape.item)


def _completed(shape: ValueShape) -> ValueShape:
    """Derive the shape of a difference from the shape of the state."""
    final = shape.fields.get("finalstate", ANY)
    known = shape.fields.get("initialfinaldiff")
    if final.unknown or known is None or (known.fields and not set(_BRANCHES) & set(known.fields)):
        return shape
    branch = difference_of(final)
    both = ValueShape(frozenset({"object"}), dict.fromkeys(_BRANCHES, branch), closed=True)
    fields = {**shape.fields, "initialfinaldiff": both}
    return ValueShape(shape.kinds, fields, shape.closed, shape.item)


def _untouched(shape: ValueShape) -> Any:
    """Return empty containers; an untouched app's other content is not known from its shape."""
    if "array" in shape.kinds and "object" not in shape.kinds:
        return []
    if "object" in shape.kinds:
        return {
            key: _untouched(each)
            for key, each in shape.fields.items()
            if {"array", "object"} & each.kinds and not each.unknown
        }
    return None
