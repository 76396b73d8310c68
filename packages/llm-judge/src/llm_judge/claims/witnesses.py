"""Make a state in which a claim is true, from the state before the run and the claim itself."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import chain, product
from typing import Any
from zoneinfo import ZoneInfo

from bench_core.records import Record
from bench_core.records.claims import (
    All,
    Before,
    Changed,
    Claim,
    Contains,
    Created,
    Deleted,
    Empty,
    Flag,
    Is,
    Junction,
    Moment,
    Moved,
    Not,
    Number,
    Quantified,
    Relation,
    Sum,
    Word,
    members,
)
from llm_judge.claims.evaluation import At, Evaluation, States, TooLargeError, member, parsed
from llm_judge.claims.values import Setting, moment_readings, number_readings
from llm_judge.states.changes import ID_KEYS
from llm_judge.states.mutations import (
    OPERATORS,
    replaced,
    value_at,
)
from llm_judge.states.pointers import MISSING

__all__ = [
    "append",
    "inside",
    "moment_like",
    "paths_of",
    "renamed",
    "without",
    "witness",
    "written_like",
]

Path = tuple[str | int, ...]
_MOST_READ = 20_000
_ANY = ("Quaxley", 1, 0, True, False, "2026-01-01", None, "", 12345, "1")
_ORDER = {
    Before: 0,
    Created: 1,
    Moved: 1,
    Relation: 3,
    Quantified: 4,
    All: 4,
    Sum: 4,
    Junction: 3,
    Not: 4,
}
_MOMENT = r"\d{4}-\d\d-\d\dT\d\d:\d\d"


def witness(claim: Claim, start: Any, setting: Setting | None = None) -> States | None:
    """Return a state of which a claim is true, None if none is found."""
    if claim.assertion is None or start is MISSING or start is None:
        return None
    known: dict[Any, bool] = {}
    for width in (1, 2, 5, 40):
        maker = _Maker(claim.assertion, start, setting or Setting(), width, known)
        try:
            end = next(maker.made(claim.assertion, True, start, _Place(), {}), MISSING)
        except (_SpentError, RecursionError, LookupError, TypeError, ValueError):
            continue
        if end is not MISSING:
            return States(end, start)
    return None


class _SpentError(Exception):
    """More was read than the search may read."""


@dataclass(frozen=True)
class _Place:
    """The place of a record as a quantifier finds it: the parts of `At` that survive a change of the state."""

    path: Path = ()
    side: str = "end"
    parent: _Place | None = None
    over: tuple[str, ...] = ()
    identity: str | None = None


class _Maker:
    """Changes an end state until an assertion is true, or false: at most `width` ways for each of its parts."""

    def __init__(
        self, whole: Record, start: Any, setting: Setting, width: int, known: dict[Any, bool]
    ) -> None:
        self.start, self.setting, self.width, self.known = start, setting, width, known
        self.left = _MOST_READ
        conditions = list(inside(whole))
        said = [v for one in conditions for v in _literals(one)]
        self.pool = [*dict.fromkeys(said)][:12]
        self.run = Evaluation(States(start, start), setting, {}, known)
        self.rules: dict[type, Any] = {
            Junction: self._junction, Not: self._not, Quantified: self._quantified, All: self._all, Sum: self._sum,
            Created: self._created, Deleted: self._deleted, Moved: self._moved, Before: self._before,
            Relation: self._relation,
        }  # fmt: skip

    def made(self, one: Any, want: bool, end: Any, at: _Place, names: _Names) -> Iterator[Any]:
        """Yield end states in which an assertion is decided as wanted, the least changed first."""
        found = 0
        if self._is(one, want, end, at, names):
            yield end
            found = 1
        if found < self.width:
            for changed in self.rules.get(type(one), self._field)(one, want, end, at, names):
                if self._is(one, want, changed, at, names):
                    yield changed
                    found += 1
                if found >= self.width:
                    return

    def _is(self, one: Any, want: bool, end: Any, at: _Place, names: _Names) -> bool:
        return self._truth(one, end, at, names) is want

    def _truth(self, one: Any, end: Any, at: _Place, names: _Names) -> bool | None:
        """Return the truth of an assertion about a record; a missing assertion is true of all."""
        if one is None:
            return True
        run = self._on(end)
        before = run.steps
        try:
            truth = run.truth(one, self._at(at), {k: self._at(v) for k, v in names.items()})
        except (TooLargeError, ArithmeticError, ValueError, TypeError):
            truth = None
        self.left -= 1 + (run.steps - before) // 50
        if self.left < 0:
            raise _SpentError
        return truth

    def _on(self, end: Any) -> Evaluation:
        if self.run.states.end is not end:
            self.run = Evaluation(States(end, self.start), self.setting, {}, self.known)
        return self.run

    def _at(self, place: _Place) -> At:
        if place.parent is None:
            return self.run.roots[place.side]
        base = at = self._at(place.parent)
        for step in place.path[len(place.parent.path) :]:
            value = member(at.value, str(step))
            at = At(value, at, place.side, step, base, place.over, place.identity, isinstance(at.value, dict))  # fmt: skip
        return at

    def _base(self, ref: str, at: _Place, names: _Names) -> tuple[_Place, tuple[str, ...]]:
        name, path = parsed(ref)
        if name is None or name in names:
            return names.get(name or "", at), path
        return _Place(side=name if name in {"end", "start"} else "none"), path

    # --- logic and quantifiers ---

    def _junction(
        self, one: Junction, want: bool, end: Any, at: _Place, names: _Names
    ) -> Iterator[Any]:
        if (one.op == "and") is want:
            # first parts that choose or replace the record at hand, then its fields, much before little
            parts = sorted(one.of, key=_turn)
            yield from self._together([(p, want, at, names) for p in parts], end)
        else:
            for each in one.of:
                yield from self.made(each, want, end, at, names)

    def _together(self, parts: Sequence[Any], end: Any, done: int = 0) -> Iterator[Any]:
        if done == len(parts):
            yield end
            return
        one, want, at, names = parts[done]
        for changed in self.made(one, want, end, at, names):
            kept = changed is end or all(
                self._is(p, w, changed, a, n) for p, w, a, n in parts[:done]
            )
            if kept:
                yield from self._together(parts, changed, done + 1)

    def _not(self, one: Not, want: bool, end: Any, at: _Place, names: _Names) -> Iterator[Any]:
        yield from self.made(one.of, not want, end, at, names)

    def _records(
        self, one: Any, end: Any, at: _Place, names: _Names
    ) -> list[tuple[_Place, _Names]]:
        """Return the records that an assertion is about, each with the names that hold within it."""
        run = self._on(end)
        base, over = self._base(one.over, at, names)
        if base.side == "none":
            return []
        found = run.records(one, self._at(at), {k: self._at(v) for k, v in names.items()})
        return [
            self._named(one, _Place(_path_to(each), base.side, base, over, one.identity), names)
            for each in found
            if each is not None
        ]

    def _named(self, one: Any, place: _Place, names: _Names) -> tuple[_Place, _Names]:
        return place, {**names, one.name: place} if one.name else names

    def _more(
        self, one: Any, end: Any, at: _Place, names: _Names
    ) -> Iterator[tuple[Any, _Place, _Names]]:
        """Yield states with one more record at `over`, made like its siblings or empty."""
        base, over = self._base(one.over, at, names)
        if base.side != "end" or not over:
            return
        within = list(inside(one.where)) if one.where is not None else []
        within += list(inside(one.holds)) if isinstance(one, All) else []
        keys = [
            v for each in within if getattr(each, "field", "") == "@key" for v in _literals(each)
        ]
        for each in within:
            if isinstance(each, Relation) and "@key" in each.field + each.other:
                ref = each.other if each.field == "@key" else each.field
                other = self._on(end).values(
                    ref, self._at(at), {k: self._at(v) for k, v in names.items()}
                )
                keys += [str(each.value) for each in other if isinstance(each.value, str | int)]
            if isinstance(each, Moved):
                keys += [str(source.key) for source in self._old(each.source, end)]
        for path in _fresh_paths(end, base.path, over, keys):
            siblings = value_at(end, path[:-1]) if _value_or(end, path[:-1]) else []
            known = list(
                siblings.values()
                if isinstance(siblings, dict)
                else siblings
                if isinstance(siblings, list)
                else []
            )
            templates = [known[-1]] if known else []
            for template in (*templates, {}):
                record = template
                if isinstance(record, dict) and (
                    isinstance(path[-1], int) or any(k in record for k in ID_KEYS)
                ):
                    record = renamed(record, len(known)) if one.identity is None else record
                place = _Place(path, "end", base, over, one.identity)
                yield _put(end, path, record), *self._named(one, place, names)

    def _quantified(
        self, one: Quantified, want: bool, end: Any, at: _Place, names: _Names
    ) -> Iterator[Any]:
        count, most = {"exists": 1, "none": 0}.get(one.op, one.count), 10**10
        ranges = {
            "exists": [(1, most)], "at_least": [(count, most)], "none": [(0, 0)], "at_most": [(0, count)],
            "exactly": [(count, count)],
        }[one.op]  # fmt: skip
        if not want:
            low, high = ranges[0]
            ranges = [r for r in ((high + 1, most), (0, low - 1)) if r[0] <= r[1]]
        for low, high in ranges:
            if low <= 20:
                yield from self._counted(one, low, high, end, at, names, 40)

    def _counted(
        self, one: Quantified, low: int, high: int, end: Any, at: _Place, names: _Names, turns: int
    ) -> Iterator[Any]:
        yield from self._with_list(one, end, at, names)
        records = self._records(one, end, at, names)
        truths = [self._truth(one.where, end, *each) for each in records]
        met, unsure = truths.count(True), truths.count(None)
        if low <= met and met + unsure <= high:
            yield end
        elif turns and met + unsure > high:
            for (place, inner), truth in reversed([*zip(records, truths, strict=True)]):
                if truth is not False:
                    for less in self._unmet(one, end, place, inner):
                        yield from self._counted(one, low, high, less, at, names, turns - 1)
        elif turns and met < low:
            for more in self._met(one, end, at, names, [*zip(records, truths, strict=True)]):
                yield from self._counted(one, low, high, more, at, names, turns - 1)

    def _unmet(self, one: Any, end: Any, place: _Place, names: _Names) -> Iterator[Any]:
        if one.where is not None:
            yield from self.made(one.where, False, end, place, names)
        if place.side == "end" and place.over and (one.optional or place.over[-1] == "*"):
            yield without(end, place.path)

    def _met(
        self, one: Any, end: Any, at: _Place, names: _Names, records: Sequence[Any]
    ) -> Iterator[Any]:
        """Yield states with one more record that meets `where`: one that is nearly so, a new one, any other."""
        parts = one.where.of if isinstance(one.where, Junction) and one.where.op == "and" else ()
        telling = [
            p
            for p in parts
            if isinstance(p, Is | Before) or (isinstance(p, Number) and p.compare == "=")
        ]
        new = any(isinstance(each, Created | Moved) for each in parts)
        others = [r for r, truth in records if truth is not True and one.where is not None]
        near = [o for o in others if not new and any(self._is(p, True, end, *o) for p in telling)]
        for place, inner in near:
            yield from self.made(one.where, True, end, place, inner)
        for more, place, inner in self._more(one, end, at, names):
            if one.where is None:
                yield more
            else:
                yield from self.made(one.where, True, more, place, inner)
        for place, inner in others:
            if (place, inner) not in near:
                yield from self.made(one.where, True, end, place, inner)

    def _with_list(self, one: Any, end: Any, at: _Place, names: _Names) -> Iterator[Any]:
        """Yield states with an empty list at `over` if it has none, or with its records removed."""
        base, over = self._base(one.over, at, names)
        if base.side == "end" and over[-1:] == ("*",):
            for path in _fresh_paths(end, base.path, over, ()):
                if not isinstance(_value_or(end, path[:-1]), list | dict):
                    yield _put(end, path[:-1], [])
                elif self._records(one, end, at, names):  # or nothing
                    yield _put(end, path[:-1], type(value_at(end, path[:-1]))())

    def _all(self, one: All, want: bool, end: Any, at: _Place, names: _Names) -> Iterator[Any]:
        records = self._records(one, end, at, names)
        if want:
            yield from self._each(one, [], end, at, names, 40)
        else:
            for place, inner in records:
                yield from self._both(one, False, end, place, inner)
            for more, place, inner in self._more(one, end, at, names):
                yield from self._both(one, False, more, place, inner)
        yield from self._with_list(one, end, at, names)

    def _both(self, one: All, want: bool, end: Any, place: _Place, names: _Names) -> Iterator[Any]:
        parts = [(one.where, True, place, names)] if one.where is not None else []
        yield from self._together([*parts, (one.holds, want, place, names)], end)

    def _each(
        self, one: All, done: list[Any], end: Any, at: _Place, names: _Names, turns: int
    ) -> Iterator[Any]:
        """Yield states in which no record breaks the rule, and one meets it."""
        records = self._records(one, end, at, names)
        meant = False
        for place, inner in records:
            truth = self._truth(one.where, end, place, inner)
            meant = meant or truth is True
            if truth is not False and not self._is(one.holds, True, end, place, inner):
                if turns:
                    for kept in chain(
                        self.made(one.holds, True, end, place, inner),
                        self._unmet(one, end, place, inner),
                    ):
                        yield from self._each(one, done, kept, at, names, turns - 1)
                return
        if meant or one.may_be_none:
            yield end
            return
        for place, inner in records:
            yield from self._both(one, True, end, place, inner)
        for more, place, inner in self._more(one, end, at, names):
            yield from self._both(one, True, more, place, inner)

    def _sum(self, one: Sum, want: bool, end: Any, at: _Place, names: _Names) -> Iterator[Any]:
        del want  # each amount is tried
        yield from self._with_list(one, end, at, names)
        for changed in chain(
            [end],
            self._met(one, end, at, names, [(r, None) for r in self._records(one, end, at, names)]),
        ):
            records = [
                r
                for r in self._records(one, changed, at, names)
                if self._truth(one.where, changed, *r)
            ]
            paths = [
                p for place, inner in records for p in self._paths(one.field, changed, place, inner)
            ]
            for amount in _amounts(one) if paths else ():
                rest, summed = 0.0, changed
                for path in paths[1:]:
                    old = _value_or(summed, path)
                    readings = (
                        number_readings(old, self.setting.locale)[0]
                        if isinstance(old, str | float | int)
                        else ()
                    )
                    if len(readings) == 1 and not isinstance(old, bool):
                        rest += float(*readings)
                    else:
                        summed = _put(summed, path, 0)
                yield _put(
                    summed, paths[0], written_like(amount - rest, _value_or(changed, paths[0]), one)
                )
                yield _put(summed, paths[0], amount - rest)
                for path in paths:
                    summed = _put(summed, path, 0)
                yield _put(summed, paths[0], amount)

    # --- records before and after ---

    def _old(self, over: str, end: Any) -> list[At]:
        run = self._on(end)
        found = run.values(over, run.roots["start"], {}) if not over.startswith("$") else []
        return [each for each in found if each.value is not MISSING]

    def _created(
        self, one: Created, want: bool, end: Any, at: _Place, names: _Names
    ) -> Iterator[Any]:
        record = _value_or(end, at.path)
        if at.side != "end" or at.parent is None:
            return
        if not want:
            yield from self._before(one, True, end, at, names)
        elif at.identity not in {None, "@key"}:
            for path in self._paths(at.identity or "", end, at, names):
                for value in (f"new-{_value_or(end, path)}", 4711, *self.pool):
                    yield _put(end, path, value)
        else:
            yield _put(end, at.path, renamed(record if isinstance(record, dict) else {}, 3))
            for value in ("new", *self.pool):
                yield _put(end, at.path, value)

    def _before(self, one: Any, want: bool, end: Any, at: _Place, names: _Names) -> Iterator[Any]:
        """Yield states with a record from before the run in this place, or with a new one."""
        del one
        if at.side == "end" and at.parent is not None:
            if not want:
                yield from self._created(Created(op="created"), True, end, at, names)
            parent = self._on(end).counterpart(self._at(at.parent), "start")
            for old in (
                self.run.others(parent, self._at(at)).records if isinstance(parent, At) else ()
            ):
                if old.value is not MISSING:
                    yield _put(end, at.path, old.value)

    def _deleted(
        self, one: Deleted, want: bool, end: Any, at: _Place, names: _Names
    ) -> Iterator[Any]:
        del one, names
        if at.side != "start" or at.parent is None:
            return
        self._on(end)
        there = self.run.counterpart(self._at(at), "end")
        if want and isinstance(there, At):
            yield without(end, _path_to(there))
        elif not want:
            yield _put(end, at.path, self._at(at).value)

    def _moved(self, one: Moved, want: bool, end: Any, at: _Place, names: _Names) -> Iterator[Any]:
        """Yield states with a record of `one.source` in this place instead, or, unless `want`, with a new one."""
        if at.side != "end" or at.parent is None:
            return
        if not want:
            yield from self._created(Created(op="created"), True, end, at, names)
            return
        for old in self._old(one.source, end):
            placed = _put(end, at.path, old.value)
            yield placed
            # a record that has moved is no longer where it was
            if _value_or(placed, _path_to(old)) is not None:
                yield without(placed, _path_to(old))

    # --- fields ---

    def _paths(self, ref: str, end: Any, at: _Place, names: _Names) -> list[Path]:
        """Return the paths of a field in the end state, then those at which it may be added; none for a key."""
        base, steps = self._base(ref, at, names)
        if base.side != "end" or "@key" in ref:
            return []
        self._on(end)
        found = self.run.values(ref, self._at(at), {k: self._at(v) for k, v in names.items()})
        paths = [_path_to(each) for each in found]
        return [path for path in paths if "*" not in path] or list(
            _fresh_paths(end, base.path, steps, ())
        )

    def _field(self, one: Any, want: bool, end: Any, at: _Place, names: _Names) -> Iterator[Any]:
        paths = self._paths(one.field, end, at, names)
        voids = [p for void in getattr(one, "void", ()) for p in self._paths(void, end, at, names)]
        if not want:
            yield from (_put(end, path, "yes") for path in voids)
        for path in voids if want else ():
            end = _put(end, path, None)
        if "*" in one.field:
            paths += _fresh_paths(end, *self._at_base(one.field, at, names), ())
        there = (
            self._on(end).counterpart(self._at(at), "start") if isinstance(one, Changed) else None
        )
        before = self.run.values(one.field, there, {}) if isinstance(there, At) else []
        yield from (_written(end, path, each.value) for path, each in product(paths, before))
        for path in paths:
            old = _value_or(end, path)
            for value in (*self._candidates(one, old, want), MISSING):
                yield _written(end, path, value)
                if isinstance(old, list) and value is not MISSING:
                    yield _put(end, path, [*old, value])
        for value in (
            self._candidates(one, _value_or(end, paths[0]), want) if len(paths) > 1 else ()
        ):
            alike = end
            for path in paths:
                alike = _put(alike, path, value)
            yield alike

    def _at_base(self, ref: str, at: _Place, names: _Names) -> tuple[Path, tuple[str, ...]]:
        base, steps = self._base(ref, at, names)
        return base.path, steps

    def _candidates(self, one: Any, old: Any, want: bool) -> list[Any]:
        other = [v for op in OPERATORS.values() if (v := op(old)) is not None]
        said = list(_literals(one))
        if isinstance(one, Contains) and isinstance(old, str):
            said = [*(f"{old} {phrase}" for phrase in one.phrases[:3]), *said]
        elif isinstance(one, Empty):
            said = [None, "", []] if want else ["2026-01-01"]
        elif isinstance(one, Flag):
            said = [one.value, str(one.value).lower()] if want else [not one.value]
        elif isinstance(one, Word) and not want:
            said = [*one.reject]
        elif isinstance(one, Number):
            mark = one.currency or one.unit or next(iter(one.marks), "")
            like = (
                [written_like(a, old, one) for a in _amounts(one)]
                if isinstance(old, str | int | float)
                else []
            )
            said = [
                *like,
                *(f"{a:g} {mark}" if mark and isinstance(old, str) else a for a in _amounts(one)),
            ]
            said += [f"{a:g} {mark}" for a in _amounts(one)] if mark else []
        elif isinstance(one, Moment):
            said = list(self._moments(one, old))
        elif isinstance(one, Changed):
            said = []
        return [
            *(() if want and not isinstance(one, Changed) else other),
            *said,
            *self.pool,
            *_ANY,
            *other,
        ]

    def _moments(self, one: Moment, old: Any) -> Iterator[Any]:
        zoned = one if one.zone else one.model_copy(update={"zone": self.setting.zone})
        by = {"<": -1, ">": 1, "!=": 1}.get(one.compare, 0)
        for end in (one.value, one.high or one.value):
            for minutes in (by, by * 1440, 0, -1, 1, -1440, 1440, -2880, 2880):
                for like in (
                    old if isinstance(old, str) else "",
                    "2026-01-01T12:00:00Z",
                    "2026-01-01T12:00",
                    "",
                    "12:00",
                ):
                    yield moment_like(end, minutes, like, zoned)
                yield moment_like(end[:10] if "-" in end else end, minutes, "", zoned)

    def _relation(
        self, one: Relation, want: bool, end: Any, at: _Place, names: _Names
    ) -> Iterator[Any]:
        del want  # each pair is tried
        run, held = self._on(end), {k: self._at(v) for k, v in names.items()}
        refs = (one.field, one.other)
        values = [[each.value for each in run.values(ref, self._at(at), held)] for ref in refs]
        paths = [self._paths(ref, end, at, names) for ref in refs]
        if "*" in one.field:
            paths[0] = [*paths[0], *_fresh_paths(end, *self._at_base(one.field, at, names), ())]
        for mine, theirs in ((0, 1), (1, 0)):
            for path in paths[mine]:
                for value in values[theirs]:
                    if value is not MISSING and not isinstance(value, list | dict):
                        yield _put(end, path, value)
                        yield from (_put(end, path, v) for v in _around(value))
        for path, other in product(paths[0], paths[1]):
            for one_value, other_value in product(
                ("x", "y", 1, 2, "2026-01-01", "2026-01-02"), repeat=2
            ):
                yield _put(_put(end, path, one_value), other, other_value)
        for path in paths[0]:
            yield from (_written(end, path, value) for value in (*_ANY, MISSING))


_Names = dict[str, _Place]


def _turn(one: Record) -> tuple[int, int]:
    other = 0 if getattr(one, "field", "") == "@key" else 2
    return _ORDER.get(type(one), other), -sum(1 for _ in inside(one))


def _literals(one: Any) -> Iterator[Any]:
    """Yield the values that a condition compares with."""
    for name in ("values", "phrases", "accept", "value", "high"):
        found = getattr(one, name, None)
        yield from found if isinstance(found, tuple) else () if found is None else (found,)


def _amounts(one: Number | Sum) -> list[float]:
    by = {"<": -1.0, ">": 1.0, "!=": 1.0}.get(one.compare, 0.0)
    ends = [one.value, *(() if one.high is None else (one.high,))]
    return [
        *(end + by for end in ends),
        *(end + off for end in ends for off in (0, 1, -1, 0.01, -0.01)),
    ]


def _around(value: Any) -> Iterator[Any]:
    if isinstance(value, int | float) and not isinstance(value, bool):
        yield from (value - 1, value + 1)
    yield from (v for op in OPERATORS.values() if (v := op(value)) is not None)
    readings = number_readings(value)[0] if isinstance(value, str) else ()
    for amount in (float(each) + by for each in readings for by in (-1, 1)):
        yield written_like(amount, value, None)
    if isinstance(value, str):
        for day in {(r.year, r.month, r.day) for r in moment_readings(value)}:
            if day[0] and day[1] and day[2]:
                wanted = "{:04}-{:02}-{:02}".format(*day)
                yield from (moment_like(wanted, by, "", None) for by in (-1440, 1440))


def _path_to(at: At) -> Path:
    steps: list[Any] = []
    while not isinstance(at.above, str):
        steps.append(at.key)
        at = at.above
    return tuple(reversed(steps))


def _fresh_paths(end: Any, base: Path, steps: Sequence[str], keys: Iterable[str]) -> list[Path]:
    """Return the paths at which a record may be added: `*` is the first element, or finally a new one."""
    path = base
    last = max((n for n, step in enumerate(steps) if step == "*"), default=-1)
    for number, step in enumerate(steps):
        there = _value_or(end, path)
        if step != "*":
            path = (*path, step)
        elif number < last and isinstance(there, list | dict) and there:
            path = (*path, next(iter(there)) if isinstance(there, dict) else 0)
        elif isinstance(there, dict) or (keys and not isinstance(there, list)):
            known = there if isinstance(there, dict) else {}
            fresh = [key for key in dict.fromkeys([*keys, f"new-{len(known)}"]) if key not in known]
            return [(*path, key, *steps[number + 1 :]) for key in fresh]
        else:
            path = (*path, len(there) if isinstance(there, list) else 0)
    return [path]


def _value_or(end: Any, path: Path) -> Any:
    for step in path:
        end = member(end, str(step))
    return None if end is MISSING else end


def _written(end: Any, path: Path, value: Any) -> Any:
    """Return `end` with a value at `path`, without the field for `MISSING`."""
    if value is not MISSING:
        return _put(end, path, value)
    there = _value_or(end, path[:-1])
    return without(end, path) if path and isinstance(there, dict) and path[-1] in there else end


def _put(end: Any, path: Path, value: Any) -> Any:
    if not path:
        return value
    step, rest = path[0], path[1:]
    if isinstance(end, list) and str(step).isdecimal():
        index = min(int(step), len(end))
        inner = end[index] if index < len(end) else None
        return [*end[:index], _put(inner, rest, value), *end[index + 1 :]]
    if isinstance(step, int) and not isinstance(end, dict):
        return [_put(None, rest, value)]
    kept = end if isinstance(end, dict) else {}
    return {**kept, str(step): _put(kept.get(str(step)), rest, value)}


def append(end: Any, path: Path, record: Any) -> tuple[Any, Path]:
    """Return `end` with one more record in a list or map, and the record's path."""
    there = _value_or(end, path)
    if isinstance(there, dict) and there:
        key = f"new-{len(there)}"
        return _put(end, (*path, key), record), (*path, key)
    listed = there if isinstance(there, list) else []
    return _put(end, path, [*listed, record]), (*path, len(listed))


def renamed(record: Any, number: int) -> Any:
    """Return a record under another identity."""
    if not isinstance(record, dict):
        return record
    own = next((key for key in ID_KEYS if key in record), "id")
    old = record.get(own)
    new: Any = max(old, 0) + 1000 + number if isinstance(old, int) else f"new-{number}-{old or ''}"
    return {**record, own: new}


def without(end: Any, path: Path) -> Any:
    """Return `end` without the value at `path`."""
    whole = value_at(end, path[:-1])
    if isinstance(whole, list):
        return replaced(end, path[:-1], [each for n, each in enumerate(whole) if n != path[-1]])
    return replaced(end, path[:-1], {key: each for key, each in whole.items() if key != path[-1]})


def inside(one: Record) -> Iterator[Record]:
    """Yield an assertion and all within it."""
    yield one
    for each in members(one):
        yield from inside(each)


def paths_of(value: Any, pattern: tuple[str, ...], at: Path = ()) -> Iterator[Path]:
    """Yield the paths that match a pattern with `*`."""
    if not pattern:
        yield at
    elif isinstance(value, list | dict):
        step, rest = pattern[0], pattern[1:]
        keys: Sequence[Any] = range(len(value)) if isinstance(value, list) else list(value)
        if step != "*":
            own: Any = (
                int(step)
                if isinstance(value, list) and step.isdecimal() and len(step) < 10
                else step
            )
            keys = [own] if own in keys else []
        for key in keys:
            yield from paths_of(value[key], rest, (*at, key))


def written_like(amount: float, value: Any, condition: Any) -> Any:
    """Return an amount in the notation of an old value."""
    number = round(amount, 2)
    plain = int(number) if float(number).is_integer() else number
    if not isinstance(value, str):
        return plain
    found = re.search(r"\d[\d.,]*", value)
    if found is None:
        return f"{plain} {getattr(condition, 'currency', None) or getattr(condition, 'unit', None) or ''}".strip()
    comma = re.search(r",\d{1,2}$", found[0]) is not None
    text = f"{number:.2f}" if re.search(r"[.,]\d{2}$", found[0]) else str(plain)
    return (
        value[: found.start()] + (text.replace(".", ",") if comma else text) + value[found.end() :]
    )


def moment_like(wanted: str, by: int, value: Any, condition: Moment | None) -> Any:
    """Return a moment `by` minutes off, written as `value` is; None if its form is not known."""
    day, _, clock = wanted.partition("T") if "-" in wanted else ("2026-01-15", "", wanted)
    try:
        # the zone follows below
        at = datetime.fromisoformat(f"{day}T{clock or '12:00'}") + timedelta(minutes=by)
        zone = condition.zone if condition is not None else None
        if isinstance(value, str) and value.endswith("Z") and zone:
            utc = at.replace(tzinfo=ZoneInfo(zone)).astimezone(ZoneInfo("UTC"))
            return re.sub(_MOMENT, f"{utc:%Y-%m-%dT%H:%M}", value)
    except (ValueError, OverflowError, OSError, KeyError):
        return None
    if not isinstance(value, str) or not value:
        return (
            f"{at:%Y-%m-%dT%H:%M}"
            if clock and "-" in wanted
            else f"{at:%H:%M}"
            if clock
            else f"{at:%Y-%m-%d}"
        )
    dated = re.sub(r"\d{4}-\d\d-\d\d", f"{at:%Y-%m-%d}", value)
    timed = re.sub(r"\d\d:\d\d(?!\.)", f"{at:%H:%M}", dated, count=1) if clock else dated
    return (
        timed
        if timed != value or re.search(r"\d{4}-\d\d-\d\d|\d\d:\d\d", value)
        else f"{at:%Y-%m-%d}"
    )
