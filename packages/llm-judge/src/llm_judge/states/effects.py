"""A run's effects on a state, as records small enough to show one per line."""

from __future__ import annotations

import itertools
import json
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal

from llm_judge.states.changes import JsonChange, diff
from llm_judge.states.pointers import child, leaves, resolve
from llm_judge.states.snapshots import App, StatePart

EffectKind = Literal["added", "removed", "changed", "listed", "present", "there"]
"""`listed`: the app's own list of changes holds it; `present`: there is no state from before; `there`: it was
asked about, whether or not the run changed it."""

_CHUNK = 1_200
"""Characters of one record; larger ones are split at their members."""
_SHORT_FIELD, _MOST_FIELDS = 60, 8
_LEAST_ROWS = 5  # below, a table saves nothing


@dataclass(frozen=True)
class Effect:
    """One record that a run added, removed or changed.

    Attributes:
        value: The value there (the one before, for `removed`); by relative pointer for `changed`.
        was: The values before, by relative pointer, for `changed`.
        of: Other fields of the record, for `changed`, by which to recognize it.
        first_row: `value` is a table of columns and rows, the first of which has this index.
    """

    app: str
    kind: EffectKind
    pointer: str
    value: Any
    was: dict[str, Any] = field(default_factory=dict)
    first_row: int | None = None
    of: dict[str, Any] = field(default_factory=dict)

    @cached_property
    def text(self) -> str:
        """The value as JSON."""
        return compact(self.value)

    @cached_property
    def leaves(self) -> tuple[tuple[str, str], ...]:
        """Relative pointer and JSON of each scalar: equal for copies, wherever they stand."""
        if self.kind == "changed":
            return tuple(
                (relative + below, compact(each))
                for relative, value in self.value.items()
                for below, each in leaves(value)
            )
        if self.first_row is not None:
            return tuple(
                (child(child("", number), column), compact(cell))
                for number, row in enumerate(self.value["rows"], self.first_row)
                for column, cell in zip(self.value["columns"], row, strict=True)
            )
        return tuple((pointer, compact(each)) for pointer, each in leaves(self.value))


def compact(value: Any) -> str:
    """Return JSON without spaces and in ASCII, which makes characters hidden in Unicode visible."""
    return json.dumps(value, ensure_ascii=True, separators=(",", ":"))


def app_effects(app: App) -> Iterator[Effect]:
    """Yield the run's effects on one app, from its snapshots and from its own list of changes."""
    for part in app.after:
        if app.before is None:
            if not app.changes:
                yield from records_of(app.name, "present", part.pointer, part.value)
        else:
            grouped: dict[str, list[JsonChange]] = defaultdict(list)
            for change in diff(app.before.value, part.value, part.pointer, app.before.pointer):
                if change.kind == "changed":
                    grouped[change.pointer.rpartition("/")[0]].append(change)
                else:
                    value = change.after if change.kind == "added" else change.before
                    if isinstance(value, dict | list) and value:
                        yield from records_of(app.name, change.kind, change.pointer, value)
                    else:
                        yield Effect(app.name, change.kind, change.pointer, value)
            for parent, changes in grouped.items():
                of = _identity(part, parent, {each.pointer for each in changes})
                yield from _changed(app.name, parent, changes, of)
    for part in app.changes:
        yield from records_of(app.name, "listed", part.pointer, part.value)


def records_of(app: str, kind: EffectKind, pointer: str, value: Any) -> Iterator[Effect]:
    """Yield the records below `value`, each small enough for a line."""
    if _is_table(value):
        columns = list(value[0])
        batch: list[list[Any]] = []
        first = size = 0
        for number, row in enumerate(value):
            cells = [row[column] for column in columns]
            cost = len(compact(cells)) + 1
            if batch and size + cost > _CHUNK:
                yield _table(app, kind, pointer, (first, columns, batch))
                batch, first, size = [], number, 0
            batch.append(cells)
            size += cost
        yield _table(app, kind, pointer, (first, columns, batch))
    elif _is_structure(value):
        members = value.items() if isinstance(value, dict) else enumerate(value)
        for key, each in members:
            yield from records_of(app, kind, child(pointer, key), each)
    elif value not in ({}, []):
        yield from _chunks(app, kind, pointer, value)


def _identity(part: StatePart, record: str, changed: set[str]) -> dict[str, Any]:
    """Return short fields of a record that did not change, of the nearest holder that has some."""
    while len(record) > len(part.pointer):
        value = resolve(part.value, record[len(part.pointer) :])
        members = value.items() if isinstance(value, dict) else ()
        found = {
            key: each
            for key, each in members
            if isinstance(each, str | int | float)
            and len(str(each)) <= _SHORT_FIELD
            and child(record, key) not in changed
        }
        if found:
            return dict(itertools.islice(found.items(), _MOST_FIELDS))
        record = record.rpartition("/")[0]
    return {}


def _changed(
    app: str, parent: str, changes: list[JsonChange], of: dict[str, Any]
) -> Iterator[Effect]:
    """Group the changes of one record."""
    batch: list[JsonChange] = []
    size = 0
    for each in changes:
        cost = len(compact(each.before)) + len(compact(each.after)) + len(each.pointer)
        if batch and size + cost > 2 * _CHUNK:
            yield _changed_record(app, parent, batch, of)
            batch, size = [], 0
        batch.append(each)
        size += cost
    if batch:
        yield _changed_record(app, parent, batch, of)


def _changed_record(app: str, parent: str, changes: list[JsonChange], of: dict[str, Any]) -> Effect:
    now = {each.pointer[len(parent) :]: each.after for each in changes}
    was = {each.pointer[len(parent) :]: each.before for each in changes}
    return Effect(app, "changed", parent, now, was, of=of)


def _is_structure(value: Any) -> bool:
    """Whether a container only holds containers: a collection, not a record."""
    if isinstance(value, dict):
        return bool(value) and all(isinstance(each, dict | list) for each in value.values())
    if isinstance(value, list):
        return any(isinstance(each, dict | list) for each in value)
    return False


def _is_table(value: Any) -> bool:
    """Whether a list holds so many records of the same scalars that columns are shorter."""
    if not isinstance(value, list) or len(value) < _LEAST_ROWS or not isinstance(value[0], dict):
        return False
    columns = value[0].keys()
    return bool(columns) and all(
        isinstance(row, dict)
        and row.keys() == columns
        and not any(isinstance(cell, dict | list) for cell in row.values())
        for row in value
    )


def _table(
    app: str, kind: EffectKind, pointer: str, table: tuple[int, list[str], list[list[Any]]]
) -> Effect:
    first, columns, rows = table
    value = {"columns": columns, "first_row": first, "rows": rows}
    return Effect(app, kind, pointer, value, first_row=first)


def _chunks(app: str, kind: EffectKind, pointer: str, value: Any) -> Iterator[Effect]:
    whole = Effect(app, kind, pointer, value)
    if not isinstance(value, dict | list) or len(whole.text) <= _CHUNK:
        yield whole
        return
    members = value.items() if isinstance(value, dict) else enumerate(value)
    own: dict[str, Any] = {}
    size = 0
    for key, each in members:
        cost = len(compact(each))
        # large members get lines of their own: the scalars of a record stay together
        if isinstance(each, dict | list) and cost > _CHUNK // 4:
            yield from records_of(app, kind, child(pointer, key), each)
            continue
        if own and size + cost > _CHUNK:
            yield Effect(app, kind, pointer, own)
            own, size = {}, 0
        own[str(key)] = each
        size += cost
    if own:
        yield Effect(app, kind, pointer, own)
