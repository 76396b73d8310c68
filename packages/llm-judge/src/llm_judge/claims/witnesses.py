"""Make a state in which a claim is true, from the state before the run and the claim itself."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

from bench_core.records import Record
from bench_core.records.claims import (
    All,
    Before,
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
    Number,
    Quantified,
    Relation,
    Sum,
    Word,
    members,
)
from llm_judge.claims.evaluation import States, decide
from llm_judge.claims.values import Setting
from llm_judge.states.changes import _ID_KEYS
from llm_judge.states.mutations import (
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
_MOMENT = r"\d{4}-\d\d-\d\dT\d\d:\d\d"


def witness(claim: Claim, start: Any, setting: Setting | None = None) -> States | None:
    """Return a state made so that a claim is true of it, None if that is not found."""
    if claim.assertion is None or start is MISSING or start is None:
        return None
    for as_new in (True, False):
        try:
            end = _satisfied(claim.assertion, json.loads(json.dumps(start)), (), {}, start, as_new)
        except (LookupError, StopIteration, TypeError, ValueError, RecursionError):
            continue
        states = States(end, start)
        if decide(claim.assertion, states, setting).truth:
            return states
    return None


def _satisfied(
    one: Any, end: Any, at: Path, names: dict[str, Path], start: Any, as_new: bool
) -> Any:  # recursion
    """Return `end` changed so that an assertion about the record at `at` may hold."""
    if isinstance(one, Junction):
        for each in one.of if one.op == "and" else one.of[:1]:
            end = _satisfied(each, end, at, names, start, as_new)
    elif isinstance(one, Quantified | Sum) and getattr(one, "op", "") not in {"none", "at_most"}:
        end = _with_records(one, end, at, names, start, as_new)
    elif isinstance(one, All):
        for path in _concrete(one.over, end, at, names):
            end = _satisfied(one.holds, end, path, {**names, one.name or "": path}, start, as_new)
    elif hasattr(one, "field") and not isinstance(one, Before):
        place = _place(one.field, at, names)
        old = _value_or(end, place)
        if place is not None:
            end = _put(end, place, _met(one, old, end, at, names))
    return end


def _with_records(
    one: Any, end: Any, at: Path, names: dict[str, Path], start: Any, as_new: bool
) -> Any:  # recursion
    count = one.count if isinstance(one, Quantified) and one.op in {"exactly", "at_least"} else 1
    within = list(inside(one.where)) if one.where is not None else []
    if one.over.startswith("$start"):
        name = one.over.removeprefix("$start")
        for path in list(_concrete(name, start, (), {}))[:count]:
            gone = any(isinstance(each, Deleted) for each in within)
            if gone and all(
                decide(each, States(value_at(start, path), start)).truth is not False
                for each in within
                if isinstance(each, Is)
            ):
                return without(end, path)
        return end
    moved = next((each for each in within if isinstance(each, Moved)), None)
    if moved is not None:
        source = next(iter(_concrete(moved.source, end, (), names)))
        record, end = value_at(end, source), without(end, source)
        return append(end, _list_of(one.over, end, at, names), record)[0]
    existing = list(_concrete(one.over, end, at, names))
    new = as_new or any(isinstance(each, Created) for each in within)
    for number in range(min(count, 20)):
        if new or number >= len(existing):
            template = json.loads(json.dumps(value_at(end, existing[-1]))) if existing else {}
            end, path = append(end, _list_of(one.over, end, at, names), renamed(template, number))
        else:
            wanted = [each for each in within if isinstance(each, Is)]
            known = (
                p
                for p in existing
                if all(decide(w, States(value_at(end, p), start)).truth for w in wanted[:1])
            )
            path = next(known, existing[number])
        inner = {**names, one.name: path} if one.name else names
        if isinstance(one, Sum):
            place = _place(one.field, path, inner)
            end = (
                end
                if place is None
                else _put(end, place, written_like(one.value, _value_or(end, place), one))
            )
        if one.where is not None:
            end = _satisfied(one.where, end, path, inner, start, as_new)
    return end


def _met(one: Any, old: Any, end: Any, at: Path, names: dict[str, Path]) -> Any:
    """Return a value that meets a condition, written as the old one is."""
    beyond = {"<": -1, ">": 1, "!=": 1}.get(getattr(one, "compare", "="), 0)
    if isinstance(one, Is | Contains | Word):
        listed = {"is": "values", "contains": "phrases", "word": "accept"}[one.op]
        return getattr(one, listed)[0]
    if isinstance(one, Flag | Empty):
        return one.value if isinstance(one, Flag) else ""
    if isinstance(one, Number):
        mark = one.marks[0] if one.marks else one.currency or one.unit or ""
        fresh = f"0 {mark}" if mark and not isinstance(old, int | float) else 0
        like = old if isinstance(old, str) and re.search(r"\d", old) else fresh
        return written_like(one.value + beyond, like, one)
    if isinstance(one, Moment):
        return moment_like(one.value, beyond * 1440, old if isinstance(old, str) else "", one)
    if isinstance(one, Relation) and (other := _place(one.other, at, names)) is not None:
        return _value_or(end, other)
    return f"{old} (changed)" if isinstance(old, str) else not old if isinstance(old, bool) else 1


def _concrete(over: str, end: Any, at: Path, names: dict[str, Path]) -> Iterator[Path]:
    base = _place(over.partition("*")[0].rstrip("/"), at, names)
    rest = over[len(over.partition("*")[0]) :]
    if base is not None and _value_or(end, base) is not None:
        pattern = tuple(rest.split("/")) if rest else ()
        yield from paths_of(value_at(end, base), pattern, base)


def _list_of(over: str, end: Any, at: Path, names: dict[str, Path]) -> Path:
    head, _, last = over.rpartition("/")
    if last != "*":
        return _place(over, at, names) or ()
    if "*" in head:
        return next(iter(_concrete(head, end, at, names)))
    return _place(head, at, names) or ()


def _place(ref: str, at: Path, names: dict[str, Path]) -> Path | None:
    if ref.startswith("$"):
        name = re.split("[/@]", ref[1:])[0]
        if name not in {"end", *names}:
            return None
        at, ref = () if name == "end" else names[name], ref[1 + len(name) :]
    if "@key" in ref:
        return None
    steps = [each.replace("~1", "/").replace("~0", "~") for each in ref.split("/")[1:]]
    return (
        *at,
        *(
            0 if each == "*" else int(each) if each.isdecimal() and len(each) < 5 else each
            for each in steps
        ),
    )


def _value_or(end: Any, path: Path | None) -> Any:
    try:
        return None if path is None else value_at(end, path)
    except (KeyError, IndexError, TypeError):
        return None


def _put(end: Any, path: Path, value: Any) -> Any:
    if not path:
        return value
    step, rest = path[0], path[1:]
    if isinstance(end, list):
        index = int(step)
        grown = [*end, *([{}] if index >= len(end) else [])]
        return [*grown[:index], _put(grown[index], rest, value), *grown[index + 1 :]]
    if step == 0 and not isinstance(end, dict):
        return [_put({}, rest, value)]
    kept = dict(end) if isinstance(end, dict) else {}
    return {**kept, str(step): _put(kept.get(str(step)), rest, value)}


def append(end: Any, path: Path, record: Any) -> tuple[Any, Path]:
    """Return `end` with a record more in a list or map, and where it stands."""
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
    own = next((key for key in _ID_KEYS if key in record), "id")
    old = record.get(own)
    new: Any = max(old, 0) + 1000 + number if isinstance(old, int) else f"new-{number}-{old or ''}"
    return {**record, own: new}


def without(end: Any, path: Path) -> Any:
    """Return `end` without what stands at `path`."""
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
    """Yield the places that a pattern with `*` stands for."""
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


def moment_like(wanted: str, by: int, value: Any, condition: Moment) -> Any:
    """Return a moment some minutes off, written as `value` is; None where its form is not known."""
    day, _, clock = wanted.partition("T") if "-" in wanted else ("2026-01-15", "", wanted)
    try:
        at = datetime.fromisoformat(f"{day}T{clock or '12:00'}") + timedelta(
            minutes=by
        )  # zone follows
        zone = condition.zone
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
