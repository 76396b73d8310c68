"""Shapes of the JSON of an app's end state: names, kinds and containers, learned from states.

In files a shape is `"string"` (kinds joined by `|`), `"any"`, `{"[]": item}` for a list,
`{"{}": item}` for an object whose keys are ids or positions, and `{"name": shape, ...}` for an object
with these names and no others, or with others, too, if `"..."` is among them.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from bench_core.errors import InputError

KINDS = frozenset({"null", "boolean", "number", "string", "array", "object"})
_SCALARS = KINDS - {"array", "object"}
# The calendar's events have UUIDs as keys, the flights numbers from 0.
_ID = re.compile(r"\d+|[0-9a-f]{8}-[0-9a-f-]{27}|[0-9a-f]{24,}|[A-Z]*\d{6,}\w*", re.IGNORECASE)
_LIST, _MAP, _OPEN = "[]", "{}", "..."


@dataclass(frozen=True)
class ValueShape:
    """The kinds of JSON a value may be, and its contents.

    Attributes:
        kinds: Names of JSON types; empty if no value was ever seen.
        fields: Of an object with known names.
        closed: Whether an object has no other names than `fields`.
        item: Of a list's elements, or of the values of an object with ids for keys.
    """

    kinds: frozenset[str] = frozenset()
    fields: Mapping[str, ValueShape] = field(default_factory=dict)
    closed: bool = False
    item: ValueShape | None = None

    @property
    def unknown(self) -> bool:
        """Whether nothing is known."""
        return self.kinds in {frozenset(), KINDS} and not self.fields and self.item is None

    def name(self, key: str) -> ValueShape | None:
        """Return the shape of the value of `key`; None when an object of this shape never has it."""
        if key in self.fields:
            return self.fields[key]
        if self.unknown:
            return ANY
        if "object" not in self.kinds:
            return None
        if not (self.closed or self.item is not None):
            return ANY
        return self.item if self.item is not None and _ID.fullmatch(key) else None


ANY = ValueShape(KINDS)
"""The shape of any value."""
NOTHING = ValueShape()
"""The shape of values none of which was ever seen."""


def learn(values: Iterable[Any]) -> ValueShape:
    """Return the shape that all `values` fit.

    >>> to_json(learn([{"to": ["a@b.c"]}, {"to": [], "sent": True}]))
    {'sent': 'boolean', 'to': {'[]': 'string'}}
    """
    return functools.reduce(merge, map(_shape_of, values), NOTHING)


def merge(one: ValueShape, other: ValueShape) -> ValueShape:
    """Return the shape of values that fit one or the other."""
    if other in (one, NOTHING):
        return one
    if one == NOTHING:
        return other
    names = {**one.fields, **other.fields}
    return ValueShape(
        one.kinds | other.kinds,
        {key: merge(one.fields.get(key, NOTHING), other.fields.get(key, NOTHING)) for key in names},
        # an object that was always empty has no known names either
        (one.closed or not one.fields) and (other.closed or not other.fields),
        merge(one.item, other.item) if one.item and other.item else one.item or other.item,
    )


def difference_of(shape: ValueShape) -> ValueShape:
    """Return the shape of one branch of `initialfinaldiff`: parts of it, lists as objects.

    The apps' difference keeps the position as a key where the state has a list.
    """
    if shape.unknown:
        return ANY
    if "array" in shape.kinds:
        item = difference_of(shape.item) if shape.item else ANY
        return ValueShape(frozenset({"object", "array"}), {}, closed=False, item=item)
    if "object" not in shape.kinds:
        return shape
    fields = {key: difference_of(each) for key, each in shape.fields.items()}
    return replace(shape, fields=fields, item=shape.item and difference_of(shape.item))


def to_json(shape: ValueShape) -> Any:
    """Return the shape as files have it."""
    if shape.unknown:
        return "any"
    scalars = sorted(shape.kinds & _SCALARS)
    if shape.kinds <= _SCALARS:
        return "|".join(scalars)
    inner: dict[str, Any] = {}
    if shape.item is not None:
        sign = _LIST if "array" in shape.kinds else _MAP
        inner[sign] = to_json(shape.item)
        if {"array", "object"} <= shape.kinds:
            inner[_MAP] = inner[_LIST]
    inner |= {key: to_json(each) for key, each in sorted(shape.fields.items())}
    if "object" in shape.kinds and not shape.closed and shape.item is None:
        inner[_OPEN] = "any"
    if scalars:
        inner["|"] = "|".join(scalars)
    return inner


def from_json(value: Any) -> ValueShape:
    """Return the shape that `to_json` wrote.

    Raises:
        InputError: It is not the notation of this module.
    """
    if value == "any":
        return ANY
    if isinstance(value, str) and set(value.split("|")) <= KINDS:
        return ValueShape(frozenset(value.split("|")))
    if not isinstance(value, dict):
        raise InputError(f"{value!r} is not a shape: write a JSON type, 'any' or an object")
    kinds = set(str(value.get("|", "")).split("|")) - {""}
    items = [from_json(value[sign]) for sign in (_LIST, _MAP) if sign in value]
    signs = {_LIST, _MAP, _OPEN, "|"}
    fields = {key: from_json(each) for key, each in value.items() if key not in signs}
    kinds |= {"array"} if _LIST in value else set()
    if _MAP in value or fields or _OPEN in value or not items:
        kinds.add("object")
    return ValueShape(
        frozenset(kinds),
        fields,
        closed=_OPEN not in value and not items,
        item=functools.reduce(merge, items) if items else None,
    )


def _shape_of(value: Any) -> ValueShape:
    if isinstance(value, list):
        return ValueShape(frozenset({"array"}), item=learn(value))
    if not isinstance(value, dict):
        return ValueShape(frozenset({_kind(value)}))
    if not value:
        return ValueShape(frozenset({"object"}))
    if all(map(_ID.fullmatch, value)):
        return ValueShape(frozenset({"object"}), item=learn(value.values()))
    fields = {key: _shape_of(each) for key, each in value.items()}
    return ValueShape(frozenset({"object"}), fields, closed=True)


def _kind(value: Any) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "boolean"
    return "string" if isinstance(value, str) else "number"
