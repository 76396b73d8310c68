"""Decide an assertion on an end state: true, false or undecidable, for any JSON and within bounds.

Undecidable is not false: a field that is not there, a word whose meaning is not known, a notation with two readings
and a time whose zone is unknown leave a claim open. `and`, `or`, `not` and the quantifiers follow Kleene's logic.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from functools import lru_cache
from typing import Any

from bench_core.records import Record
from bench_core.records.claims import (
    All,
    Assertion,
    Before,
    Changed,
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
)
from llm_judge.claims.values import (
    LONGEST_TEXT,
    MomentReading,
    Setting,
    all_agree,
    compared,
    contains_phrase,
    currencies_of,
    folded,
    in_unit,
    moment_readings,
    number_readings,
    same_text,
)
from llm_judge.states.changes import ID_KEYS, same
from llm_judge.states.pointers import MISSING, child
from llm_judge.states.snapshots import find_apps

__all__ = ["Decided", "States", "decide", "states_of"]

Truth = bool | None
_MOST_STEPS = 1_000_000
"""Records and fields read for one claim, about three seconds; a claim that needs more is undecidable."""
_MOST_PAIRS = 100_000  # of records without identifiers that are compared
_MOST_NOTES = 20
_MOST_KNOWN = 100_000
_FLAGS = {
    "true": True,
    "yes": True,
    "on": True,
    "1": True,
    "false": False,
    "no": False,
    "off": False,
    "0": False,
}


@dataclass(frozen=True)
class States:
    """The end state and the state before the run in one form, `MISSING` if unknown.

    Attributes:
        places: Pointers into `end` to those into the judged document: `/mail` to `/mail/finalstate`.
        indexes: The records of lists, and these by their identity; filled as claims are decided.
    """

    end: Any
    start: Any = MISSING
    places: Mapping[str, str] = field(default_factory=dict)
    indexes: dict[Any, Any] = field(default_factory=dict, compare=False, repr=False)

    def place(self, pointer: str) -> str:
        """Return the pointer into the judged document for a pointer into `end`."""
        for here, there in self.places.items():
            if pointer == here or pointer.startswith(f"{here}/") or not here:
                return there + pointer[len(here) :]
        return pointer


@dataclass(frozen=True)
class Decided:
    """The result of an assertion.

    Attributes:
        truth: None: undecidable; `undecided` then says why.
        shown: The fields that made records count, by pointer into the judged document.
        words: Words of open vocabularies neither accepted nor known to differ, with the meaning asked.
    """

    truth: Truth
    shown: tuple[tuple[str, Any], ...] = ()
    undecided: tuple[str, ...] = ()
    words: tuple[tuple[str, str], ...] = ()


class At:
    """A record: its place, side, container, the quantifier's key, and the field that identifies it."""

    __slots__ = ("above", "identity", "key", "keyed", "over", "parent", "side", "value")

    def __init__(
        self, value: Any, above: At | str, side: str, key: Any = None, parent: At | None = None,
        over: tuple[str, ...] = (), identity: str | None = None, keyed: bool = False,
    ) -> None:  # fmt: skip
        self.value, self.above, self.side, self.key = value, above, side, key
        self.parent, self.over, self.identity, self.keyed = parent, over, identity, keyed

    @property
    def pointer(self) -> str:
        """The record's pointer: `key` below `above`, which is a record or a pointer itself."""
        return self.above if isinstance(self.above, str) else child(self.above.pointer, self.key)


@dataclass(frozen=True)
class _Index:
    """The records in one place: all, by identity, and the pointer of a missing one."""

    records: list[At]
    by_identity: dict[Any, At]
    absent: str | None


class TooLargeError(Exception):
    """More steps than a claim may take."""


def states_of(state: Any, initial: Any = None) -> States:
    """Return a state in the form that claims read, with the snapshots inside it taken apart.

    An app that keeps its end state and the one before in one object (`finalstate`, `initialstate`) is
    read under its own name, `/mail/...`; its lists of changes under `/mail/differences/...`.
    """
    if initial is not None:
        return States(state, initial)
    try:
        apps = find_apps(state)
    except RecursionError:
        return States(state)
    if not any(app.before is not None and app.after for app in apps):
        return States(state)
    end: dict[str, Any] = {}
    start: dict[str, Any] = {}
    places: dict[str, str] = {}
    for app in apps:
        name = app.name or "app"
        after = app.after[0] if app.after else None
        body = dict(after.value) if after is not None and isinstance(after.value, dict) else {}
        for part in app.changes:
            own = part.pointer.rpartition("/")[2]
            if own not in body:
                body[own] = part.value
                places[child(child("", name), own)] = part.pointer
        end[name] = body
        start[name] = app.before.value if app.before is not None else MISSING
        places[child("", name)] = after.pointer if after is not None else app.pointer
    return States(end, start, places)


def decide(
    assertion: Assertion,
    states: States,
    setting: Setting | None = None,
    words: Mapping[tuple[str, str], bool | None] | None = None,
    known: dict[Any, bool] | None = None,
) -> Decided:
    """Decide an assertion; never raises, whatever is in the states.

    Args:
        assertion: The assertion.
        states: See `states_of`.
        setting: Zone, locale and currency of the world.
        words: Whether words mean the same as asked, by meaning and folded word.
        known: Conditions on values that were decided in other states with the same setting, filled here; for
            as long as the assertion lives.

    >>> late = Moment(op="moment", field="/due", compare=">", value="2026-05-01")
    >>> decide(late, States({"due": "3. Mai 2026"})).truth
    True
    """
    run = Evaluation(states, setting or Setting(), words or {}, {} if known is None else known)
    try:
        truth = run.truth(assertion, run.roots["end"], {})
    except TooLargeError:
        truth, run.undecided = None, ["the state is too large for this claim"]
    except (RecursionError, ArithmeticError, ValueError, TypeError) as error:
        # a state made in Python may hold itself, or values that JSON cannot hold
        truth, run.undecided = None, [f"the state cannot be read: {type(error).__name__}"]
    if truth is None:
        why = run.undecided or ["what the state holds can be read in two ways"]
        return Decided(None, (), tuple(why), tuple(run.unknown_words))
    return Decided(truth, tuple({**run.read_last(0), **run.shown}.items()))


class Evaluation:
    """Decides assertions about one pair of states, and finds the places they read."""

    def __init__(
        self, states: States, setting: Setting, words: Mapping[tuple[str, str], bool | None], known: dict[Any, bool]
    ) -> None:  # fmt: skip
        self.states = states
        self.setting = setting
        self.words = words
        self.known = known
        self.roots = {"end": At(states.end, "", "end"), "start": At(states.start, "", "start")}
        self.steps = 0
        self.undecided: list[str] = []
        self.unknown_words: dict[tuple[str, str], None] = {}
        self.shown: dict[str, Any] = {}
        self.reads: list[At] = []
        self._conditions: dict[int, list[tuple[int, tuple[str, ...]]]] = {}
        self._rules: dict[type, Callable[[Any, At, dict[str, At]], Truth]] = {
            Junction: self._junction, Not: self._not, Quantified: self._quantified, All: self._all,
            Sum: self._sum, Created: self._created, Deleted: self._deleted, Moved: self._moved,
            Changed: self._changed, Before: self._before, Relation: self._relation,
        }  # fmt: skip
        self._tests: dict[type, Callable[[Any, Any], Truth]] = {
            Is: self._is, Contains: self._contains, Word: self._word, Flag: self._flag,
            Number: self._number, Moment: self._moment,
        }  # fmt: skip

    def truth(self, assertion: Record, at: At, names: dict[str, At]) -> Truth:
        self.steps += 1
        if self.steps > _MOST_STEPS:
            raise TooLargeError
        rule = self._rules.get(type(assertion))
        return self._of_field(assertion, at, names) if rule is None else rule(assertion, at, names)

    def read_last(self, since: int) -> dict[str, Any]:
        """Return the fields read last, by pointer into the judged document."""
        last = [each for each in self.reads[since:] if _is_scalar(each.value)][-8:]
        return {self.states.place(each.pointer): each.value for each in last}

    def _step(self, cost: int = 1) -> None:
        self.steps += cost
        if self.steps > _MOST_STEPS:
            raise TooLargeError

    def _open(self, why: str) -> None:
        if len(self.undecided) < _MOST_NOTES and why not in self.undecided:
            self.undecided.append(why)

    # --- logic ---

    def _junction(self, one: Junction, at: At, names: dict[str, At]) -> Truth:
        decisive = one.op == "or"
        found: Truth = not decisive
        # first the parts that cost little
        for each in sorted(one.of, key=lambda part: type(part) not in self._tests):
            truth = self.truth(each, at, names)
            if truth is decisive:
                return decisive
            found = None if truth is None else found
        return found

    def _not(self, one: Not, at: At, names: dict[str, At]) -> Truth:
        truth = self.truth(one.of, at, names)
        return None if truth is None else not truth

    def _quantified(self, one: Quantified, at: At, names: dict[str, At]) -> Truth:
        met, unsure = 0, 0
        for record in self.records(one, at, names):
            truth = None if record is None else self._meets(one.where, record, one.name, names)
            met, unsure = met + (truth is True), unsure + (truth is None)
        least, most = met, met + unsure
        sought = one.count
        if one.op in {"exists", "at_least"}:
            sought = 1 if one.op == "exists" else sought
            return True if least >= sought else False if most < sought else None
        if one.op in {"none", "at_most"}:
            sought = 0 if one.op == "none" else sought
            return False if least > sought else True if most <= sought else None
        return (least == sought) if not unsure else None if least <= sought <= most else False

    def _all(self, one: All, at: At, names: dict[str, At]) -> Truth:
        found: Truth = True
        certain = possible = False
        for record in self.records(one, at, names):
            if record is None:
                found = None
                continue
            meant = self._meets(one.where, record, one.name, names, show=False)
            if meant is False:
                continue
            certain, possible = certain or meant is True, True
            truth = self._meets(one.holds, record, one.name, names)
            if truth is False and meant is True:
                return False
            found = found if truth is True else None
        if one.may_be_none or certain or found is None:
            return found
        return None if possible else False

    def _sum(self, one: Sum, at: At, names: dict[str, At]) -> Truth:
        total = Decimal()
        units: set[str] = set()
        for record in self.records(one, at, names):
            meant = None if record is None else self._meets(one.where, record, one.name, names)
            if record is None or meant is None:
                return None
            if meant is False:
                continue
            for each in self.values(one.field, record, names):
                amounts, unit = (
                    self.amounts(each.value) if _is_scalar(each.value) else (frozenset(), "")
                )
                units.add(unit)
                if len(amounts) != 1 or len(units) > 1:
                    self._open(f"{each.pointer} holds no number of one reading and the same unit")
                    return None
                total += next(iter(amounts))
        return compared(one.compare, total, _decimal(one.value), _decimal(one.high))

    def _meets(
        self, where: Record | None, record: At, name: str | None, names: dict[str, At], *, show: bool = True
    ) -> Truth:  # fmt: skip
        if where is None:
            return True
        if self._is_refused(where, record.value):
            return False
        before = len(self.reads)
        truth = self.truth(where, record, {**names, name: record} if name else names)
        if truth and show and len(self.shown) < _MOST_NOTES:
            self.shown.update(self.read_last(before))
        del self.reads[before:]
        return truth

    def _is_refused(self, where: Record, value: Any) -> bool:
        """Whether a record's value is known to break a condition; it rules out most records cheaply."""
        conditions = self._conditions.get(id(where))
        if conditions is None:
            parts = where.of if isinstance(where, Junction) and where.op == "and" else (where,)
            fields = [(id(each), getattr(each, "field", "$")) for each in parts if type(each) in self._tests]  # fmt: skip
            conditions = [(one, parsed(ref)[1]) for one, ref in fields if ref[:1] == "/" and "*" not in ref]  # fmt: skip
            self._conditions[id(where)] = conditions
        for one, path in conditions:
            found = value
            for step in path:
                found = found.get(step) if isinstance(found, dict) else None
            if isinstance(found, str | int | float) and self.known.get((one, type(found), found)) is False:  # fmt: skip
                return True
        return False

    # --- records before and after ---

    def records(
        self, one: Quantified | All | Sum, at: At, names: dict[str, At]
    ) -> Iterable[At | None]:
        """Yield the records at `over`, None for a missing list, which might hold any."""
        base, path = self.base(one.over, at, names)
        place = ("over", base.side, path, one.identity)
        records = self.states.indexes.get(place) if base.above == "" else None
        if records is None:
            records = self._walk(base, path, one.identity)
            if base.above == "":  # the whole state
                self.states.indexes[place] = records
        for record in records:
            self.steps += 1
            if record.value is not MISSING:
                yield record
            elif not one.optional:
                self._open(f"there is no {record.pointer}")
                yield None

    def _walk(self, base: At, path: tuple[str, ...], identity: str | None) -> list[At]:
        level = [base]
        for step in path:
            below: list[At] = []
            for each in level:
                value, side = each.value, each.side
                keyed = isinstance(value, dict)
                if step != "*":
                    below.append(At(member(value, step), each, side, step, base, path, identity, keyed))  # fmt: skip
                elif isinstance(value, dict | list):
                    self._step(len(value))
                    pairs: Any = value.items() if isinstance(value, dict) else enumerate(value)
                    below += [At(v, each, side, k, base, path, identity, keyed) for k, v in pairs]
                else:
                    below.append(At(MISSING, each, side, step))
            level = below
        return level

    def _created(self, one: Created, at: At, names: dict[str, At]) -> Truth:
        del one, names
        there = self.counterpart(at, "start")
        return None if there is MISSING else there is None

    def _deleted(self, one: Deleted, at: At, names: dict[str, At]) -> Truth:
        del one, names
        there = self.counterpart(at, "end")
        return None if there is MISSING else there is None

    def _moved(self, one: Moved, at: At, names: dict[str, At]) -> Truth:
        was, is_still = (
            self.counterpart(At(at.value, at.above, at.side, at.key, root, path, at.identity, at.keyed), side)
            for side in ("start", "end")
            for root, path in [self.base(one.source, self.roots[side], names)]
        )  # fmt: skip
        if MISSING in (was, is_still):
            return False if was is None or isinstance(is_still, At) else None
        return was is not None and is_still is None

    def _changed(self, one: Changed, at: At, names: dict[str, At]) -> Truth:
        before = self.counterpart(at, "start")
        if before is None or before is MISSING:
            return None if before is MISSING else False
        old, new = (
            [found.value for found in self.values(one.field, each, names)] for each in (before, at)
        )
        if any(each is MISSING for each in (*old, *new)):
            self._open(f"there is no {one.field}, before or after")
            return None
        return not same(old, new)

    def _before(self, one: Before, at: At, names: dict[str, At]) -> Truth:
        before = self.counterpart(at, "start")
        if before is None or before is MISSING:
            return None if before is MISSING else False
        return self.truth(one.of, before, names)

    def counterpart(self, at: At, side: str) -> Any:
        """Return the same record on a side: None if it is not there, MISSING if that cannot be told."""
        root = self.roots[side]
        if root.value is MISSING:
            self._open("the state before the run is unknown")
            return MISSING
        if at.parent is None:
            return root
        parent = self.counterpart(at.parent, side)
        if not isinstance(parent, At):
            return parent
        there = self.others(parent, at)
        mine = self._identity(at)
        if there.absent is None and mine is not None:
            return there.by_identity.get(mine)
        self._step(len(there.records))
        alike = [each for each in there.records if same(each.value, at.value)]
        if there.absent is not None or not (
            alike or self._all_kept(there, self.others(at.parent, at))
        ):
            self._open(
                f"nothing tells which record {at.pointer} was"
                if there.absent is None
                else f"there is no {there.absent} in the state before or after"
            )
            return MISSING
        return alike[0] if alike else None

    def _all_kept(self, there: _Index, here: _Index) -> bool:
        """Whether this side has all records of the other unchanged: then its further ones are new, or gone."""
        kept: bool | None = self.states.indexes.get(("kept", id(there), id(here)))
        if kept is None:
            left = [each.value for each in here.records]
            kept = len(there.records) * len(left) <= _MOST_PAIRS
            for each in there.records if kept else ():
                number = next((n for n, v in enumerate(left) if same(v, each.value)), None)
                if kept := number is not None:
                    del left[number]
                else:
                    break
            self.states.indexes["kept", id(there), id(here)] = kept
        return kept

    def others(self, parent: At, at: At) -> _Index:
        """Return the records in the same place on the other side, once for all claims about these states."""
        place = (id(parent.value), at.over, at.identity)
        index: _Index | None = self.states.indexes.get(place)
        if index is None:
            others = list(self._walk(parent, at.over, at.identity))
            by_identity = {self._identity(each): each for each in reversed(others)}
            absent = next((each.pointer for each in others if each.value is MISSING), None)
            index = self.states.indexes[place] = _Index(others, by_identity, absent)
        return index

    def _identity(self, at: At) -> Any:
        """Return the identity of a record, of any hashable kind; None if nothing tells it from others."""
        if at.identity not in {None, "@key"}:
            values = [each.value for each in self.values(at.identity or "", at, {})]
            return tuple(map(_text, values)) if values and all(map(_is_scalar, values)) else None
        if at.keyed or at.identity == "@key":
            return str(at.key)
        if isinstance(at.value, dict):
            for name in ID_KEYS:
                found = at.value.get(name)
                if isinstance(found, str | int):
                    return name, _text(found)  # 7, 7.0 and "7" are one record's
        return repr(at.value) if _is_scalar(at.value) else None

    # --- fields ---

    def base(self, ref: str, at: At, names: dict[str, At]) -> tuple[At, tuple[str, ...]]:
        name, path = parsed(ref)
        if name is None:
            return at, path
        return names.get(name) or self.roots.get(name) or At(MISSING, f"${name}", "end"), path

    def values(self, ref: str, at: At, names: dict[str, At]) -> list[At]:
        base, path = self.base(ref, at, names)
        if path == ("@key",):
            key = MISSING if base.key is None else str(base.key)
            return [At(key, f"{base.pointer} (its key)", base.side)]
        if len(path) == 1 and path[0] != "*":  # by far the most
            (step,) = path
            found = [At(member(base.value, step), base, base.side, step)]
            self.steps += 1
        else:
            found = self._walk(base, path, None)
            self._step(len(found))
        if base.side == "end":
            self.reads += found[:4]
        return found

    def _of_field(self, one: Any, at: At, names: dict[str, At]) -> Truth:
        if isinstance(one, Word) and any(
            _is_set(each.value) for void in one.void for each in self.values(void, at, names)
        ):
            return False
        found: list[Truth] = []
        values = self.values(one.field, at, names)
        if (
            isinstance(one, Is | Contains)
            and len(values) == 1
            and isinstance(values[0].value, list)
        ):
            (whole,) = values
            values = [At(each, whole, whole.side, n) for n, each in enumerate(whole.value)]
            self._step(len(values))
        for each in values:
            truth = self._of_value(one, each.value)
            if truth is None:
                what = (
                    "is not there"
                    if each.value is MISSING
                    else f"holds {_short(each.value)}, which cannot be told"
                )
                self._open(f"{each.pointer} {what}")
            found.append(truth)
        return True if True in found else None if None in found else False

    def _of_value(self, one: Any, value: Any) -> Truth:
        if isinstance(one, Empty) and value is not MISSING:
            return value is None or (isinstance(value, str | list | dict) and not value)
        if value is MISSING:  # a field that may be absent is empty when it is
            return isinstance(one, Empty) if one.optional else None
        if value is None or value == "":
            open_ = isinstance(one, Flag | Word) or getattr(one, "compare", "=") == "!="
            return None if open_ else False
        if not _is_scalar(value) or (isinstance(value, str) and len(value) > LONGEST_TEXT):
            return None
        key = (id(one), type(value), value)
        if (truth := self.known.get(key)) is None:
            self._step(1 + len(value) // 100 if isinstance(value, str) else 1)
            truth = self._tests[type(one)](one, value)
            if truth is not None and len(self.known) < _MOST_KNOWN:
                self.known[key] = truth
        return truth

    def _is(self, one: Is, value: Any) -> Truth:
        return any(same_text(one.kind, _text(value), each) for each in one.values)

    def _contains(self, one: Contains, value: Any) -> Truth:
        return any(contains_phrase(_text(value), each) for each in one.phrases)

    def _word(self, one: Word, value: Any) -> Truth:
        word = folded(_text(value)[:200])
        if word in map(folded, one.accept):
            return word not in map(folded, one.reject) or None
        if word in map(folded, one.reject):
            return False
        return self._placed(one.meaning, _text(value)[:200])

    def _placed(self, meaning: str, word: str) -> Truth:
        """Return whether a word is known to mean something; note it if not."""
        known = self.words.get((meaning, folded(word)))
        if known is None and len(self.unknown_words) < _MOST_NOTES:
            self.unknown_words[meaning, word] = None
        return known

    def _flag(self, one: Flag, value: Any) -> Truth:
        known = _FLAGS.get(_text(value).strip().casefold())
        return None if known is None else known is one.value

    def amounts(self, value: Any) -> tuple[frozenset[Decimal], str]:
        if value is None or isinstance(value, bool):
            return frozenset(), ""
        return number_readings(value, self.setting.locale)

    def _number(self, one: Number, value: Any) -> Truth:
        amounts, written = self.amounts(value)
        if one.currency is not None:
            known = self._in_currency(one, written)
            if known is not True:
                # another currency is never the amount; whether it is one may be open
                return None if known is None or one.compare == "!=" else False
        elif one.unit is not None and amounts and written not in one.marks:
            converted = in_unit(amounts, written, one.unit) if written else None
            if not converted:  # unknown, or a unit of another quantity
                return None if converted is None or one.compare == "!=" else False
            amounts = converted
        high = _decimal(one.high)
        return all_agree(compared(one.compare, each, _decimal(one.value), high) for each in amounts)

    def _in_currency(self, one: Number, written: str) -> Truth:
        code = one.currency or ""
        marks = [written, *written.split()]
        if any(mark in one.marks for mark in marks if mark) or (not written and "" in one.marks):
            return True
        known = self.setting.currency
        if not written:
            return None if known is None else known == code
        codes = next((found for mark in marks if (found := currencies_of(mark))), None)
        if codes is None:
            return self._placed(f"the currency {code}", written)
        if len(codes) > 1 and code in codes:  # `$` is the sign of many
            return known == code if known in codes else None
        return code in codes

    def _moment(self, one: Moment, value: Any) -> Truth:
        if isinstance(value, bool):
            return None
        zone = one.zone or self.setting.zone
        stored = one.stored or self.setting.zone or zone
        truths = []
        for each in moment_readings(value, self.setting.locale):
            # a day alone is the same day everywhere
            alone = each.at is None and each.minute is None
            local = each if alone else each.local(zone, stored)
            truths.append(None if local is None else _compared_moment(one, local))
        return all_agree(truths)

    def _relation(self, one: Relation, at: At, names: dict[str, At]) -> Truth:
        others = self.values(one.other, at, names)
        found: list[Truth] = [
            self._related(one, each.value, other.value)
            for each in self.values(one.field, at, names)
            for other in others
        ]
        if None in found:
            self._open(f"{one.field} and {one.other} cannot be compared")
        return True if True in found else None if None in found else False

    def _related(self, one: Relation, value: Any, other: Any) -> Truth:
        if value is MISSING and one.optional:
            return False
        if any(each is None or not _is_scalar(each) for each in (value, other)):
            return None
        truths: list[Truth] = []
        if one.kind == "number":
            (mine, unit), (theirs, other_unit) = self.amounts(value), self.amounts(other)
            same_unit = unit == other_unit
            truths = [same_unit and compared(one.compare, x, y) for x in mine for y in theirs]
            truths = truths if same_unit else []
        elif one.kind == "moment":
            zone, locale = self.setting.zone, self.setting.locale
            local = [
                [m.local(zone, zone) for m in moment_readings(each, locale)]
                for each in (value, other)
            ]
            truths = [_order_of(one.compare, x, y) for x in local[0] for y in local[1]]
        elif one.compare in {"=", "!="}:
            equal = folded(_text(value)[:2_000]) == folded(_text(other)[:2_000])
            truths = [equal is (one.compare == "=")]
        return all_agree(truths)


def _compared_moment(one: Moment, local: MomentReading) -> Truth:
    """Compare the parts of a moment that the claim gives: the day, the time of day, or both."""
    ends = [one.value, one.high or one.value]
    # a day as the upper end includes its evening
    times = [_minutes(e[-5:]) if ":" in e else 1439 * i for i, e in enumerate(ends)]
    if ":" in one.value and "T" not in one.value:
        return None if local.minute is None else compared(one.compare, local.minute, *times)
    days = [tuple(map(int, each[:10].split("-"))) for each in ends if len(each) >= 10]
    day = (local.year or 0, local.month or 0, local.day or 0)
    timed = any(":" in each for each in ends)
    if local.month is None or len(days) < 2:
        return None
    if local.year is None:
        other_day = day[1:] != days[0][1:] and one.compare in {"=", "!="}
        return one.compare == "!=" if other_day else None
    if not timed or (local.minute is None and day not in days):
        return compared(one.compare, day, *days)
    first, last = ((*each, time) for each, time in zip(days, times, strict=True))
    minute = local.minute
    return None if minute is None else compared(one.compare, (*day, minute), first, last)


def _order_of(compare: str, one: Any, other: Any) -> Truth:
    if one is None or other is None or None in (one.year, other.year):
        return None
    sides: list[tuple[Any, ...]] = [(each.year, each.month, each.day) for each in (one, other)]
    if sides[0] == sides[1]:
        if (one.minute is None) is not (other.minute is None):
            return None
        sides = [(*side, each.minute or 0) for side, each in zip(sides, (one, other), strict=True)]
    return compared(compare, *sides)


def _minutes(clock: str) -> int:
    return int(clock[:2]) * 60 + int(clock[3:5])


def _decimal(value: float | None) -> Any:
    return None if value is None else Decimal(repr(value))


@lru_cache(maxsize=4_000)
def parsed(ref: str) -> tuple[str | None, tuple[str, ...]]:
    name = None
    if ref.startswith("$"):
        head = ref[1:].partition("/")[0].partition("@")[0]
        name, ref = head, ref[1 + len(head) :]
    if ref == "@key":
        return name, ("@key",)
    steps = ref.split("/")[1:]
    return name, tuple(each.replace("~1", "/").replace("~0", "~") for each in steps)


def member(value: Any, step: str) -> Any:
    if isinstance(value, dict):
        return value.get(step, MISSING)
    if isinstance(value, list) and step.isascii() and step.isdecimal() and len(step) < 10:
        return value[int(step)] if int(step) < len(value) else MISSING
    return MISSING


def _is_scalar(value: Any) -> bool:
    return value is None or isinstance(value, str | int | float)


def _is_set(value: Any) -> bool:
    if value is MISSING or value is None:
        return False
    return not (
        isinstance(value, str) and value.strip().casefold() in {"", "false", "no", "0"}
    ) and bool(value)


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def _short(value: Any) -> str:
    if isinstance(value, dict | list):
        return "a list" if isinstance(value, list) else "an object"
    return ascii(value)[:60]
