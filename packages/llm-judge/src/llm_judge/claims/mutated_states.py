"""States changed where claims look, to tell two claims apart or to see whether anything breaks one."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice, permutations, zip_longest
from typing import Any

from bench_core.records import Record
from bench_core.records.claims import (
    All,
    Before,
    Claim,
    Contains,
    Empty,
    Flag,
    Is,
    Moment,
    Number,
    Quantified,
    Sum,
    Word,
    members,
)
from llm_judge.claims.evaluation import States, decide
from llm_judge.claims.values import Setting, folded
from llm_judge.claims.witnesses import append, moment_like, paths_of, renamed, without, written_like
from llm_judge.states.changes import ID_KEYS
from llm_judge.states.mutations import (
    OPERATORS,
    replaced,
    value_at,
)
from llm_judge.states.pointers import MISSING

__all__ = ["Read", "bad_value", "mutated", "reads_of", "split_records"]

Path = tuple[str | int, ...]
_MUTATED = 400
_PER_FIELD = 6
_OUT_OF_EFFECT = ("cancelled", "deleted")
_OF_VALUE = (Is, Contains, Word, Number, Moment)


@dataclass(frozen=True)
class Read:
    """A condition on a field, with the patterns of the record and of the field from the root of the end state."""

    condition: Any
    record: tuple[str, ...]
    field: tuple[str, ...]


def mutated(
    claims: Sequence[Claim], bases: Sequence[States], rng: random.Random, most: int = _MUTATED
) -> list[tuple[str, States]]:
    """Return states changed in one place, and in two, that a claim reads; the smallest changes first."""
    names = _second_names(claims, bases[0].start) if bases else set()
    reads = [one for claim in claims for one in reads_of(claim) if one.field not in names]
    singles = [("nothing changed", each) for each in bases]
    for each in bases:
        if each.start is MISSING:
            singles.append(("the same before the run as after it", States(each.end, each.end)))
        elif not names:
            singles += [
                (told, States(end, each.start)) for told, end in _taken_over(reads, each.end)
            ]
    for base in bases:
        # a share for each field and kind of change, the likeliest first
        kinds: dict[str, list[tuple[str, States]]] = {}
        for kind, told, end in _changes(reads, base.end, rng):
            kinds.setdefault(kind, []).append((told, States(end, base.start)))
        turns = [each for turn in zip_longest(*kinds.values()) for each in turn if each is not None]
        singles += turns[: most // max(1, len(bases))]
    twice: list[tuple[str, States]] = []
    for told, states in rng.sample(singles, min(len(singles), most // 8)):
        again = (
            list(islice(_changes(reads, states.end, rng), 8))
            if states.end is not states.start
            else []
        )
        if again:
            _, also, end = rng.choice(again)
            twice.append((f"{told} and {also}", States(end, states.start)))
    return [*singles, *twice]


def _changes(reads: Sequence[Read], end: Any, rng: random.Random) -> Iterator[tuple[str, str, Any]]:
    """Yield the kind of a change, its description, and the end state with it."""
    for place in dict.fromkeys(one.field for one in reads):
        paths = list(islice(paths_of(end, place), 200))
        for path in _last_first(paths, rng):  # new records stand last
            value = value_at(end, path)
            values = [
                v
                for each in reads
                if each.field == place
                for v in _values_of(each.condition, value)
            ]
            values += [v for op in OPERATORS.values() if (v := op(value)) is not None]
            for each in values:
                if each != value or isinstance(each, bool) is not isinstance(value, bool):
                    told = f"{_named(path)} is {json.dumps(each, ensure_ascii=False, default=str)[:60]}"
                    yield "/".join(place), told, replaced(end, path, each)
    for pattern in dict.fromkeys(one.record for one in reads if "*" in one.record):
        paths = list(islice(paths_of(end, pattern), 200))
        for path in paths_of(end, pattern[:-1]) if pattern[-1] == "*" and not paths else ():
            yield (
                f"{pattern} added",
                f"{_named(path)} holds a record",
                append(end, path, {"id": "new"})[0],
            )
        for path in _last_first(paths, rng):
            record, kind = value_at(end, path), "/".join(pattern)
            yield f"{kind} gone", f"{_named(path)} is gone", without(end, path)
            yield (
                f"{kind} twice",
                f"{_named(path)} stands twice",
                append(end, path[:-1], renamed(record, 7))[0],
            )
            inside = [one for one in reads if one.field[: len(pattern)] == pattern]
            for told, split in split_records(end, path, inside):
                yield f"{kind} split", f"{_named(path)} {told}", split


def split_records(end: Any, path: Path, reads: Sequence[Read]) -> Iterator[tuple[str, Any]]:
    """Yield states with two records in place of one, each wrong in a field that the other has right."""
    places: dict[Path, Any] = {}
    for read in reads:
        found = (each for each in paths_of(end, read.field) if each[: len(path)] == path)
        if (place := next(found, None)) is not None and len(place) > len(path):
            places[place] = bad_value(read.condition, value_at(end, place))
    broken = [(place, bad) for place, bad in places.items() if bad is not None]
    for (one, bad), (other, worse) in islice(permutations(broken, 2), 40):
        second = renamed(value_at(replaced(end, other, worse), path), 8)
        both, _ = append(replaced(end, one, bad), path[:-1], second)
        yield f"stands twice, once with another {one[-1]} and once with another {other[-1]}", both


def _second_names(claims: Sequence[Claim], start: Any) -> set[tuple[str, ...]]:
    """Return fields that a claim reads in addition to the identifier by which all claims choose a record.

    Such a field is a second name of the record from before the run; both change together or not at all.
    """
    if start is MISSING or len(claims) < 2 or any(claim.guard for claim in claims):
        return set()
    chosen = set.intersection(
        *(
            {(r.record, r.field, v) for r in reads_of(c, keys=True) if (v := _chosen(r))}
            for c in claims
        )
    )
    fields = [{read.field: read for read in reads_of(claim)} for claim in claims]
    found: set[tuple[str, ...]] = set()
    for record, by, identifier in chosen:
        there = [
            p for p in paths_of(start, record) if identifier in _identifiers(p, value_at(start, p))
        ]
        for field, read in ((f, r) for each in fields for f, r in each.items()):
            known = [value_at(start, path) for path in islice(paths_of(start, field), 200)]
            own = [value_at(start, p) for p in paths_of(start, field) if p[: len(record)] in there]
            known = own if "*" in field[len(record) :] else known
            if (
                isinstance(read.condition, Is | Contains)
                and field[: len(record)] == record
                and not all(field in each for each in fields)
                and len({str(each) for each in known}) == len(known)
                and any(_met(read.condition, value) for value in own)
            ):
                found |= {field, by}
    return found


def _chosen(read: Read) -> str | None:
    """Return the identifier by which a condition chooses a record."""
    one, name = read.condition, read.field[-1] if read.field else ""
    if len(read.field) == len(read.record) + 1 and name in {*ID_KEYS, "@key", "no", "number"}:
        if isinstance(one, Is) and len(one.values) == 1:
            return one.values[0]
        if isinstance(one, Number) and one.compare == "=":
            return f"{one.value:g}"
    return None


def _identifiers(path: Path, record: Any) -> set[str]:
    own = record.values() if isinstance(record, dict) else ()
    return {str(path[-1]), *(str(value) for value in own if isinstance(value, str | int))}


def _met(condition: Any, value: Any, setting: Setting | None = None) -> bool | None:
    alone = condition.model_copy(update={"field": "/v"})
    return decide(alone, States({"v": value}), setting).truth


def _taken_over(reads: Sequence[Read], end: Any) -> Iterator[tuple[str, Any]]:
    """Yield states in which an older record holds the last one's values and the last one is gone."""
    for pattern in dict.fromkeys(one.record for one in reads):
        paths = list(islice(paths_of(end, pattern), 200))
        for old in paths[:-1][-3:] if pattern[-1:] == ("*",) else ():
            record, there = value_at(end, paths[-1]), value_at(end, old)
            if isinstance(record, dict) and isinstance(there, dict) and old[:-1] == paths[-1][:-1]:
                kept = {key: there[key] for key in ID_KEYS if key in there}
                moved = replaced(end, old, {**record, **kept})
                yield (
                    f"{_named(old)} holding what {_named(paths[-1])} did",
                    without(moved, paths[-1]),
                )


def _last_first(paths: list[Path], rng: random.Random) -> list[Path]:
    return [*reversed(paths[-2:]), *rng.sample(paths[:-2], min(len(paths[:-2]), _PER_FIELD))]


def _named(path: Path) -> str:
    return "/".join(map(str, ("", *path)))


def reads_of(claim: Claim, *, keys: bool = False) -> list[Read]:
    """Return a claim's conditions on fields of the end state, with the places they read; `keys` adds those on keys."""
    found = [] if claim.assertion is None else list(_found(claim.assertion, (), {}))
    return [each for each in found if keys or each.field[-1:] != ("@key",)]


def _found(one: Record, at: tuple[str, ...], names: dict[str, tuple[str, ...]]) -> Iterator[Read]:
    if isinstance(one, Before):  # reads the state before the run, which is not mutated
        return
    if isinstance(one, Quantified | All | Sum):
        over = _absolute(one.over, at, names)
        if over is None:
            return
        inner = {**names, one.name: over} if one.name else names
        summed = _absolute(one.field, over, inner) if isinstance(one, Sum) else over
        if summed is not None and (isinstance(one, Sum) or getattr(one, "where", one) is None):
            yield Read(one, over, summed)
        for each in members(one):
            yield from _found(each, over, inner)
        return
    looked = [(getattr(one, "field", None), one)]
    looked += [(void, Empty(op="empty", field=void)) for void in getattr(one, "void", ())]
    for field, condition in looked:
        if field is not None and (place := _absolute(field, at, names)) is not None:
            yield Read(condition, at, place)
    for each in members(one):
        yield from _found(each, at, names)


def _absolute(
    ref: str, at: tuple[str, ...], names: dict[str, tuple[str, ...]]
) -> tuple[str, ...] | None:
    if ref.startswith("$"):
        name = re.split("[/@]", ref[1:])[0]
        at = () if name == "end" else names.get(name, ("",))
        if at == ("",):
            return None
        ref = ref[1 + len(name) :]
    if "@key" in ref:
        return (*at, "@key")
    return (*at, *(each.replace("~1", "/").replace("~0", "~") for each in ref.split("/")[1:]))


def bad_value(condition: Any, value: Any, setting: Setting | None = None) -> Any:
    """Return a value of the same kind that does not meet a condition, None if none is known."""
    if isinstance(condition, Empty):
        return "Quaxley" if value in (None, "") else None
    if isinstance(condition, Flag):
        return (not value) if isinstance(value, bool) else None
    found = [v for op in OPERATORS.values() if (v := op(value)) is not None]
    if isinstance(condition, _OF_VALUE):
        texts = ["Quaxley"] if isinstance(value, str) and value else []
        for each in (*found, *_values_of(condition, value), *texts):
            if _met(condition, each, setting) is False:
                return each
    return found[0] if found else None


def _values_of(condition: Any, value: Any) -> list[Any]:
    """Return values at and around those that a condition compares with, written as `value` is."""
    ends = [
        each
        for each in (getattr(condition, "value", None), getattr(condition, "high", None))
        if each is not None
    ]
    if isinstance(condition, Number | Sum):
        found = [
            written_like(end + by, value, condition)
            for end in ends
            for by in (0, -1, 1, -0.01, 0.01)
        ]
        # the same amount in another currency or unit
        other = (
            re.sub(r"[^\W\d_]{2,}|[$\u20ac\u00a3]", "CHF", value)
            if isinstance(value, str)
            else value
        )
        return [other, *found]
    if isinstance(condition, Moment):
        minutes = (0, -1, 1, -60, 60, -1440, 1440, -360, 360)
        found = [moment_like(end, by, value, condition) for end in ends for by in minutes]
        return [each for each in found if each is not None]
    values: dict[str, list[Any]] = {
        "is": [*_apart(getattr(condition, "values", ())), f"{getattr(condition, 'values', ' ')[0]} II"],
        "contains": [*_apart(getattr(condition, "phrases", ())), f"Re: {getattr(condition, 'phrases', ' ')[0]} and more"],
        "word": [*getattr(condition, "accept", ()), *getattr(condition, "reject", ()), *_OUT_OF_EFFECT[:2]],
        "flag": [True, False],
        "empty": [None, "", "2026-01-01"],
    }  # fmt: skip
    return values.get(condition.op, [])


def _apart(texts: Sequence[str]) -> list[str]:
    """Return the first text, and those that are not just the first with another ending."""
    words = folded(texts[0]) if texts else ""
    return [
        t
        for n, t in enumerate(texts)
        if n == 0 or not re.fullmatch(f"{re.escape(words)}[a-z]{{0,2}}", folded(t))
    ]
