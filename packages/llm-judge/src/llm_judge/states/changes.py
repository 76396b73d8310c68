"""The changes between two JSON values: records matched by id, order of lists ignored otherwise."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

from llm_judge.states.pointers import MISSING, child

# the first that is unique in both lists is used
ID_KEYS = ("id", "_id", "uuid", "uid", "key", "cartId", "slug")


@dataclass(frozen=True)
class JsonChange:
    """Something that was added, removed or replaced.

    `pointer` leads into the value after the change, but for a removal into the one before.
    """

    kind: Literal["added", "removed", "changed"]
    pointer: str
    before: Any
    after: Any


def same(before: Any, after: Any) -> bool:
    """Return whether two JSON values are equal; true is not 1, as 1 is 1.0."""
    if isinstance(before, bool) or isinstance(after, bool):
        return before is after
    return bool(before == after)


def diff(
    before: Any, after: Any, pointer: str = "", removed: str | None = None
) -> Iterator[JsonChange]:
    """Yield the changes from `before` to `after`.

    Args:
        before: The value before.
        after: The value after.
        pointer: The pointer to `after`.
        removed: The pointer to `before`, for removals; `pointer` by default.

    >>> [each.kind for each in diff({"a": [1, 2]}, {"a": [2, 3], "b": 0})]
    ['removed', 'added', 'added']
    """
    old = pointer if removed is None else removed
    if isinstance(before, dict) and isinstance(after, dict):
        if before != after:
            yield from _objects(before, after, pointer, old)
    elif isinstance(before, list) and isinstance(after, list):
        if before != after:
            yield from _lists(before, after, pointer, old)
    elif before is MISSING:
        yield JsonChange("added", pointer, None, after)
    elif after is MISSING:
        yield JsonChange("removed", old, before, None)
    elif not same(before, after):
        yield JsonChange("changed", pointer, before, after)


def _objects(
    before: dict[str, Any], after: dict[str, Any], pointer: str, old: str
) -> Iterator[JsonChange]:
    for key, value in before.items():
        yield from diff(value, after.get(key, MISSING), child(pointer, key), child(old, key))
    for key, value in after.items():
        if key not in before:
            yield JsonChange("added", child(pointer, key), None, value)


def _lists(before: list[Any], after: list[Any], pointer: str, old: str) -> Iterator[JsonChange]:
    if not (before and after):  # a whole collection came or went: one change, not a thousand
        kind: Literal["added", "removed"] = "added" if after else "removed"
        yield JsonChange(kind, pointer if after else old, before or None, after or None)
        return
    key = _id_key(before, after)
    pairs = _by_id(before, after, key) if key else _by_content(before, after)
    for i, j in pairs:
        yield from diff(
            MISSING if i is None else before[i],
            MISSING if j is None else after[j],
            child(pointer, len(before) if j is None else j),
            child(old, len(after) if i is None else i),
        )


_Pairs = list[tuple[int | None, int | None]]


def _id_key(before: list[Any], after: list[Any]) -> str | None:
    """Return the key that identifies the records of both lists, if there is one."""
    for key in ID_KEYS:
        if all(_distinct(records, key) for records in (before, after)):
            return key
    return None


def _distinct(records: list[Any], key: str) -> bool:
    ids = [each.get(key) if isinstance(each, dict) else None for each in records]
    if any(not isinstance(each, str | int) for each in ids):
        return False
    return len(set(map(_named, ids))) == len(ids)


def _named(value: Any) -> str:
    return f"{type(value).__name__} {value}"


def _by_id(before: list[Any], after: list[Any], key: str) -> _Pairs:
    places = {_named(each[key]): i for i, each in enumerate(before)}
    pairs: _Pairs = [(places.pop(_named(each[key]), None), j) for j, each in enumerate(after)]
    return [*((i, None) for i in places.values()), *pairs]


def _by_content(before: list[Any], after: list[Any]) -> _Pairs:
    """Pair equal elements first, then those that stand at the same place, then report the rest."""
    places = defaultdict(list)
    # reversed: copies are taken from the end of a list, so that they pair in order
    for i in reversed(range(len(before))):
        places[_content(before[i])].append(i)
    left_after = []
    for j, value in enumerate(after):
        equal = places[_content(value)]
        if equal:
            equal.pop()
        else:
            left_after.append(j)
    left_before = {i for equal in places.values() for i in equal}
    # two objects at the same place are one record that changed; scalars are not
    pairs: _Pairs = [
        (j, j)
        for j in left_after
        if j in left_before
        and type(before[j]) is type(after[j])
        and isinstance(before[j], dict | list)
    ]
    paired = {j for _, j in pairs}
    gone: _Pairs = [(i, None) for i in sorted(left_before - paired)]
    return [*gone, *pairs, *((None, j) for j in left_after if j not in paired)]


def _content(value: Any) -> str:
    return json.dumps(value, sort_keys=True)
