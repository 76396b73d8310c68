"""Comparison of two end states by their changes, not by the megabytes that did not change.

Whole files are not a measure: an untouched state agrees with recorded ones to 57-64 %, and calendar states
of two different tasks to 93 %. The comparison covers the leaves of the differences that the apps report,
in any order, with ids and times masked.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from pydantic import JsonValue, NonNegativeInt

from bench_core.records import Record
from multireal_harness.states.health import FINISH_NOISE

_MASK = "*"
_ID = re.compile(
    r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f-]{22}|[0-9a-f]{24,}|\d+|[A-Z]*\d{9,}\w*|[a-z]+-\d{3,}",
    re.IGNORECASE,
)
# new in every run
_MASKED_NAMES = frozenset({
    "id", "index", "cartId", "meetingId", "reservationId", "confirmation", "timestamp",
    "createdAt", "updatedAt", "formattedTime", "flightId",
})  # fmt: skip
_SHOWN = 20

_Leaf = tuple[str, JsonValue]


class AppComparison(Record):
    """How similar the changes of one app are.

    Attributes:
        ratio: Shared leaves among all, 1.0 when both changed the same; None when neither changed.
        first_only: Leaves that only the first state has, as `path = value`; at most twenty.
    """

    app: str
    shared: NonNegativeInt
    first: NonNegativeInt
    second: NonNegativeInt
    ratio: float | None
    first_only: tuple[str, ...] = ()
    second_only: tuple[str, ...] = ()


class StateComparison(Record):
    """How similar the changes of all apps are; `ratio` is over all leaves, None without any."""

    ratio: float | None
    apps: tuple[AppComparison, ...]


def compare_states(first: Mapping[str, Any], second: Mapping[str, Any]) -> StateComparison:
    """Compare the end states of two runs, app by app.

    >>> added = {"differences": {"emails": {"added": [{"id": "7", "to": ["a@b.c"]}]}}}
    >>> other = {"differences": {"emails": {"added": [{"id": "9", "to": ["a@b.c"]}]}}}
    >>> compare_states({"mail": added}, {"mail": other}).ratio
    1.0
    """
    apps = tuple(
        _compare(app, changes_of(first.get(app)), changes_of(second.get(app)))
        for app in sorted({*first, *second})
    )
    shared = sum(each.shared for each in apps)
    total = sum(each.first + each.second for each in apps)
    return StateComparison(ratio=2 * shared / total if total else None, apps=apps)


def changes_of(state: Any) -> Counter[_Leaf]:
    """Return the leaves of the changes that an app reports, with ids and times masked."""
    if not isinstance(state, dict):
        return Counter()
    # some apps report `differences`, some a `<collection>Diff`, some both
    own = {k: v for k, v in state.items() if k == "differences" or k.endswith("Diff")}
    leaves = Counter(_leaves(own, ""))
    if leaves:
        return leaves
    # topwork, udriver and others report no `differences` of their own
    return Counter(_leaves(state.get("initialfinaldiff"), "initialfinaldiff"))


def _compare(app: str, first: Counter[_Leaf], second: Counter[_Leaf]) -> AppComparison:
    shared, total = (first & second).total(), first.total() + second.total()
    return AppComparison(
        app=app,
        shared=shared,
        first=first.total(),
        second=second.total(),
        ratio=2 * shared / total if total else None,
        first_only=_shown(first - second),
        second_only=_shown(second - first),
    )


def _shown(leaves: Counter[_Leaf]) -> tuple[str, ...]:
    lines = sorted(f"{path} = {str(value)[:120]}" for path, value in leaves)
    return tuple(lines[:_SHOWN])


def _leaves(value: Any, path: str) -> Iterator[_Leaf]:
    if isinstance(value, dict):
        for name, each in value.items():
            if name in FINISH_NOISE:
                continue
            step = _MASK if _ID.fullmatch(name) else name
            below = _MASK if name in _MASKED_NAMES and not isinstance(each, dict | list) else each
            yield from _leaves(below, f"{path}.{step}" if path else step)
    elif isinstance(value, list):
        for each in value:
            yield from _leaves(each, f"{path}.{_MASK}")
    elif value is not None:
        yield path, value
