"""Make wrong states out of right ones, to see whether a judge notices.

Nothing here knows how evidence is packed: a run's changes are found again, in another way, so that
the packer's blind spots are not shared. Operators that break a goal change a value or drop a record;
operators that keep it change nothing a person would care about.
"""

from __future__ import annotations

import functools
import json
import random
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from bench_core.seeded import seeded
from llm_judge.states.pointers import child

Path = tuple[str | int, ...]

_BEFORE = ("initialstate", "initial", "before")
_AFTER = ("finalstate", "final", "after", "state")
_LISTED = ("differences", "diff", "initialfinaldiff", "changes")

_MOMENT = re.compile(r"(\d{4})-(\d{2})-(\d{2})(?:([T ])(\d{2}):(\d{2}))?")
_SLASHED = re.compile(r"\b(\d{1,2})/(\d{1,2})/(\d{4})\b")
_CLOCK = re.compile(r"\b(\d{1,2}):(\d{2})\b")
_MONEY = re.compile(r"([$€£])\s?(\d+)")
# a number and the name of a street: 12 Main Street
_STREET = re.compile(
    r"\b(\d+)(\s+(?:\w+\s+){0,3}(?:st|street|ave|avenue|rd|road|blvd|dr|drive|ln)\b)", re.IGNORECASE
)
# a number of things: 2 rooms
_COUNT = re.compile(r"\b(\d{1,4})(\s+[a-z]+)")
_MAIL = re.compile(r"\b([\w.+-]+)@([\w-]+\.\w+)")
_HEXES = re.compile(r"[0-9a-f]{8,}", re.IGNORECASE)
_WORD = re.compile(r"[A-Za-z]{4,}")
_OPPOSITES = {
    "accepted": "declined", "active": "inactive", "approved": "rejected", "archived": "inbox",
    "booked": "cancelled", "cancelled": "confirmed", "closed": "open", "completed": "cancelled",
    "confirmed": "cancelled", "declined": "accepted", "delivered": "pending", "draft": "sent",
    "failed": "succeeded", "inactive": "active", "inbox": "trash", "open": "closed",
    "paid": "unpaid", "pending": "completed", "private": "public", "public": "private",
    "read": "unread", "rejected": "approved", "reserved": "cancelled", "sent": "draft",
    "scheduled": "cancelled", "unpaid": "paid", "unread": "read",
}  # fmt: skip


@dataclass(frozen=True)
class Leaf:
    """A scalar that the run put at `path`, of which the first `record` steps lead to its record."""

    path: Path
    value: Any
    record: int

    @property
    def pointer(self) -> str:
        """`path` as a JSON pointer."""
        return _pointer(self.path)


@dataclass(frozen=True)
class Mutant:
    """A state with one thing changed.

    Attributes:
        operator: How.
        path: The place.
        before: The value before.
        after: The value now; `None` for a dropped record.
        state: The whole state; shares its unchanged parts with the original.
        places: How many copies were changed with it.
    """

    operator: str
    path: Path
    before: Any
    after: Any
    state: Any
    places: int = 1

    @property
    def pointer(self) -> str:
        """`path` as a JSON pointer."""
        return _pointer(self.path)


def _pointer(path: Path) -> str:
    return functools.reduce(child, path, "")


def _time(value: Any) -> Any:
    if not isinstance(value, str):
        return None
    moment = _MOMENT.search(value)
    if moment and moment[5]:
        later = _shifted(moment, timedelta(hours=3))
        return value[: moment.start()] + later + value[moment.end() :]
    clock = _CLOCK.search(value)
    if not clock:
        return None
    return f"{value[: clock.start(1)]}{int(clock[1]) % 11 + 1}{value[clock.end(1) :]}"


def _date(value: Any) -> Any:
    if not isinstance(value, str):
        return None
    moment = _MOMENT.search(value)
    if moment:
        return value[: moment.start()] + _shifted(moment, timedelta(days=2)) + value[moment.end() :]
    slashed = _SLASHED.search(value)
    if not slashed:
        return None
    return f"{value[: slashed.start(2)]}{int(slashed[2]) % 27 + 1}{value[slashed.end(2) :]}"


def _shifted(moment: re.Match[str], by: timedelta) -> str:
    clock = (int(moment[5]), int(moment[6])) if moment[5] else (0, 0)
    try:
        later = datetime(int(moment[1]), int(moment[2]), int(moment[3]), *clock) + by  # noqa: DTZ001  # as written
    except (ValueError, OverflowError):
        return "2031-02-03" + moment[0][10:]
    return later.strftime(f"%Y-%m-%d{moment[4]}%H:%M" if moment[5] else "%Y-%m-%d")


def _number(value: Any) -> Any:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return value + 7 if abs(value) < 10**15 else None  # beyond that 7 may vanish in a float


def _in_text(
    pattern: re.Pattern[str], group: int, change: Callable[[str], str]
) -> Callable[[Any], Any]:
    """Return the operator that changes what `group` of the pattern matches first in a text; it gives None elsewhere."""

    def operator(value: Any) -> Any:
        found = pattern.search(value) if isinstance(value, str) else None
        # texts with a date or an id in them are left to the operators for those
        if found is None or _MOMENT.search(value) or _HEXES.search(value):
            return None
        return value[: found.start(group)] + change(found[group]) + value[found.end(group) :]

    return operator


def _status(value: Any) -> Any:
    other = _OPPOSITES.get(value.lower()) if isinstance(value, str) else None
    if other is None:
        return None
    return other.capitalize() if value[:1].isupper() else other


def _identifier(value: Any) -> Any:
    found = _HEXES.search(value) if isinstance(value, str) else None
    if found is None:
        return None
    first = "b" if found[0][0] != "b" else "c"
    return value[: found.start()] + first + value[found.start() + 1 :]


def _text(value: Any) -> Any:
    if not isinstance(value, str) or value.lower() in _OPPOSITES or _HEXES.search(value):
        return None
    words = _WORD.findall(value)
    longest = max(words, key=len, default="")
    return value.replace(longest, "Quaxley", 1) if longest and "Quaxley" not in value else None


OPERATORS: dict[str, Callable[[Any], Any]] = {
    "time": _time,
    "date": _date,
    "number": _number,
    "flag": lambda value: not value if isinstance(value, bool) else None,
    "price": _in_text(_MONEY, 2, lambda digits: str(int(digits) + 37)),
    "address": _in_text(_STREET, 1, lambda digits: str(int(digits) + 41)),
    "count": _in_text(_COUNT, 1, lambda digits: str(int(digits) + 2)),
    "email": _in_text(_MAIL, 1, lambda name: f"quaxley.{name}"),
    "status": _status,
    "text": _text,
    "identifier": _identifier,
    "blank": lambda value: "" if isinstance(value, str) and value else None,
    "filled": lambda value: "Quaxley" if value is None or value == "" else None,
}
"""Goal-breaking changes of one value by name; `None` where one does not apply. `drop` is apart."""


def changed_leaves(state: Any, initial: Any = None) -> tuple[Leaf, ...]:
    """Return the scalars in which the end state differs from the one before.

    Those in the app's own lists of changes are among them. Collections are compared as sets.

    >>> [leaf.path for leaf in changed_leaves({"before": {"a": 1}, "after": {"a": 2}})]
    [('after', 'a')]
    """
    if initial is not None:
        return tuple(_differing(initial, state, (), 0))
    return tuple(_below(state, (), 0))


def mutants(
    state: Any,
    *,
    initial: Any = None,
    consistent: bool = False,
    leaves: tuple[Leaf, ...] | None = None,
    operators: tuple[str, ...] | None = None,
) -> Iterator[Mutant]:
    """Yield the state with one changed leaf mutated by one operator, for all leaves and operators.

    Args:
        state: The end state, holding the one before unless `initial` is given.
        initial: The state before.
        consistent: Change all copies of a value alike (same app, key and value), as a run that did
            the wrong thing would have.
        leaves: Only these; by default all of `changed_leaves`.
        operators: Only these; by default all of `OPERATORS` and `drop`.
    """
    found = changed_leaves(state, initial) if leaves is None else leaves
    chosen = (*OPERATORS, "drop") if operators is None else operators
    copies: dict[Any, list[Path]] = {}
    for leaf in changed_leaves(state, initial) if consistent else ():
        copies.setdefault(likeness(leaf), []).append(leaf.path)
    dropped: set[Path] = set()
    for leaf in found:
        paths = copies.get(likeness(leaf), [leaf.path]) if consistent else [leaf.path]
        for name in chosen:
            if name == "drop":
                record = leaf.path[: leaf.record]
                if record not in dropped and leaf.record and leaf.record < len(leaf.path):
                    dropped.add(record)
                    yield Mutant(
                        "drop", record, value_at(state, record), None, _without(state, record)
                    )
                continue
            after = OPERATORS[name](leaf.value)
            if after is not None:
                changed = state
                for path in paths:
                    changed = replaced(changed, path, after)
                yield Mutant(name, leaf.path, leaf.value, after, changed, len(paths))


def harmless(state: Any, *, seed: int = 0) -> Iterator[Mutant]:
    """Yield states that differ in nothing that matters: a good one must stay good.

    Keys in another order, a record in an app that has nothing to do with the goal, and a space
    after each text.
    """
    rng = seeded(seed)
    yield Mutant("reorder_keys", (), None, None, _reordered(state, rng))
    if isinstance(state, dict):
        visit = {"visits": [{"page": "/help", "seconds": rng.randrange(3, 90)}]}
        extra = {"finalstate": visit, "initialstate": {"visits": []}}
        yield Mutant("unrelated_record", ("help_desk",), None, extra, {**state, "help_desk": extra})
    yield Mutant("whitespace", (), None, None, _spaced(state))


def replaced(state: Any, path: Path, value: Any) -> Any:
    """Return `state` with `value` at `path`; parts off the path are shared."""
    if not path:
        return value
    copy: Any = list(state) if isinstance(state, list) else dict(state)
    copy[path[0]] = replaced(state[path[0]], path[1:], value)
    return copy


def _below(value: Any, path: Path, depth: int) -> Iterator[Leaf]:
    if not isinstance(value, dict):
        return
    names = {key.lower().replace("_", ""): key for key in value}
    before = next((names[each] for each in _BEFORE if each in names), None)
    for name in _AFTER:
        if name in names and before is not None:
            key = names[name]
            yield from _differing(value[before], value[key], (*path, key), len(path) + 1)
    for name in _LISTED:
        if name in names and (before is not None or any(each in names for each in _AFTER)):
            yield from _scalars(value[names[name]], (*path, names[name]), len(path) + 1)
    if before is None and depth < 3:  # apps stand near the root
        for key, each in value.items():
            yield from _below(each, (*path, key), depth + 1)


def _differing(before: Any, after: Any, path: Path, record: int) -> Iterator[Leaf]:
    if isinstance(before, dict) and isinstance(after, dict):
        for key, value in after.items():
            if key not in before:
                yield from _scalars(value, (*path, key), len(path))
            else:
                yield from _differing(before[key], value, (*path, key), len(path))
    elif isinstance(before, list) and isinstance(after, list):
        yield from _in_lists(before, after, path)
    elif isinstance(after, dict | list):
        yield from _scalars(after, path, record)
    elif json.dumps(before) != json.dumps(after):
        yield Leaf(path, after, record)


def _in_lists(before: list[Any], after: list[Any], path: Path) -> Iterator[Leaf]:
    known = {json.dumps(each, sort_keys=True) for each in before}
    by_id = {each["id"]: each for each in before if isinstance(each, dict) and _plain_id(each)}
    for index, value in enumerate(after):
        if json.dumps(value, sort_keys=True) in known:
            continue
        here = (*path, index)
        if isinstance(value, dict) and _plain_id(value) and value["id"] in by_id:
            yield from _differing(by_id[value["id"]], value, here, len(here))
        elif by_id or index >= len(before):
            yield from _scalars(value, here, len(here))
        else:
            yield from _differing(before[index], value, here, len(here))


def _plain_id(record: dict[str, Any]) -> bool:
    return isinstance(record.get("id"), str | int)


def _scalars(value: Any, path: Path, record: int) -> Iterator[Leaf]:
    if isinstance(value, dict):
        holder = (
            len(path) if any(not isinstance(v, dict | list) for v in value.values()) else record
        )
        for key, each in value.items():
            yield from _scalars(each, (*path, key), holder)
    elif isinstance(value, list):
        for index, each in enumerate(value):
            yield from _scalars(each, (*path, index), record)
    else:
        yield Leaf(path, value, record)


def likeness(leaf: Leaf) -> tuple[Any, ...]:
    """Return the key that the copies of a value have in common: app, key and value."""
    return leaf.path[0], leaf.path[-1], json.dumps(leaf.value)


def value_at(state: Any, path: Path) -> Any:
    """Return the value at `path`."""
    for step in path:
        state = state[step]
    return state


def _without(state: Any, path: Path) -> Any:
    if len(path) > 1:
        return replaced(state, path[:1], _without(state[path[0]], path[1:]))
    copy: Any = list(state) if isinstance(state, list) else dict(state)
    del copy[path[0]]
    return copy


def _reordered(value: Any, rng: random.Random) -> Any:
    if isinstance(value, dict):
        keys = list(value)
        rng.shuffle(keys)
        return {key: _reordered(value[key], rng) for key in keys}
    return [_reordered(each, rng) for each in value] if isinstance(value, list) else value


def _spaced(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _spaced(each) for key, each in value.items()}
    if isinstance(value, list):
        return [_spaced(each) for each in value]
    return f"{value} " if isinstance(value, str) and " " in value else value
