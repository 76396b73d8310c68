"""Check whether a claim means the same as its criterion, before it decides anything.

Two compiles of one criterion must agree on states mutated at the places that either reads. In a
right state each fact that the criterion names is broken, alone and with the right value moved to
another record: the claim must turn false. Without a right state a witness is made from the claim
itself, which shows that the claim depends on its fields, not that they are right; findings say so.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

from bench_core.records import Record
from bench_core.records.claims import (
    All,
    Claim,
    ClaimStanding,
    Is,
    Junction,
    Not,
    Number,
    Quantified,
    Sum,
    members,
)
from bench_core.seeded import seeded
from llm_judge.claims.evaluation import States, decide, states_of
from llm_judge.claims.mutated_states import Read, bad_value, mutated, reads_of, split_records
from llm_judge.claims.values import (
    CLOCK,
    MomentReading,
    Setting,
    currencies_of,
    folded,
    moment_readings,
    number_readings,
)
from llm_judge.claims.witnesses import inside, paths_of, witness
from llm_judge.states.changes import ID_KEYS
from llm_judge.states.mutations import (
    OPERATORS,
    changed_leaves,
    harmless,
    replaced,
    value_at,
)
from llm_judge.states.pointers import MISSING

__all__ = ["Adequacy", "check"]

Path = tuple[str | int, ...]
_MUTATED = 200
_PER_FIELD = 6
_DIGITS = re.compile(r"\d+(?:[.,]\d+)*")
_DAYS = (r"[\d./-]{6,}", r"\w+ \d{1,2}\b", r"\d{1,2}\.? \w+")
_OUT_OF_EFFECT = (
    "cancelled",
    "canceled",
    "declined",
    "rejected",
    "failed",
    "draft",
    "deleted",
    "inactive",
)


_MOST_IN_WORDS = 12
"""Up to this criteria may say numbers in words; a wrong one is found by the second compile or a right state."""


@dataclass(frozen=True)
class Adequacy:
    """The findings of a claim's checks.

    Attributes:
        findings: Faults, and facts that a reader must know.
        witness: The kind of state that the checks of single facts started from.
        states: How many mutated states the claim was decided on.
    """

    standing: ClaimStanding
    findings: tuple[str, ...]
    witness: str
    states: int


def check(
    claim: Claim,
    criteria: Sequence[str],
    goal: str,
    initial_state: Any,
    *,
    right: Sequence[Any] = (),
    other: Claim | None = None,
    setting: Setting | None = None,
    seed: int = 0,
) -> Adequacy:
    """Check a claim of any author.

    Args:
        claim: The claim.
        criteria: All criteria of the task, which may refer to each other.
        goal: The agent's task.
        initial_state: The state before the run, None if it is unknown.
        right: End states in which the criterion is met, as JSON or as `states_of` returns them.
        other: An independent claim for the same criterion.
        setting: Zone, locale and currency of the world.
        seed: Chooses the mutated states.
    """
    if claim.assertion is None:
        unbound = f"no claim: {claim.reason or 'no field shows it'}"
        told = (
            ()
            if other is None or other.assertion is None
            else ("the other compile found fields for it",)
        )
        return Adequacy("inadequate", (unbound, *told), "none", 0)
    read = [s if isinstance(s, States) else states_of(s, initial_state) for s in right]
    found = _Check(claim, (*criteria, goal), initial_state, read, other, setting, seed)
    try:
        return found.run()
    except (RecursionError, ValueError, TypeError, LookupError) as error:  # not JSON
        why = f"the states cannot be mutated: {type(error).__name__}"
        return Adequacy("inadequate", (why,), "none", found.tried)


class _Check:
    def __init__(
        self, claim: Claim, texts: Sequence[str], initial: Any, right: Sequence[States],
        other: Claim | None, setting: Setting | None, seed: int,
    ) -> None:  # fmt: skip
        self.claim, self.texts, self.setting = claim, texts, setting
        self.start = MISSING if initial is None else initial
        self.right = [
            States(s.end, self.start if s.start is MISSING else s.start, s.places) for s in right
        ]
        self.other = None if other is None or other.assertion is None else other
        self.rng = seeded(seed)
        self.wrong: list[str] = []
        self.notes: list[str] = []
        self.tried = 0
        self.known: dict[Any, bool] = {}

    def truth(self, states: States, claim: Claim | None = None) -> bool | None:
        assertion = (claim or self.claim).assertion
        self.tried += 1
        return (
            None
            if assertion is None
            else decide(assertion, states, self.setting, known=self.known).truth
        )

    def run(self) -> Adequacy:
        self._facts()
        made = None if self.right else witness(self.claim, self.start, self.setting)
        base = [s for s in self.right if self._is_right(s)] or ([made] if made else [])
        for states in base:
            self._break_fields(states)
        for states in self.right if base else ():
            self._break_named(states)
        disputed = self._compare([*self.right, *([made] if made else [])])
        self._before_the_run()
        where = "a right state" if self.right else "made from the claim itself" if made else "none"
        if not base and not self.right:
            self.wrong.append("no state could be made in which it is true")
        self.notes.append(f"single facts were broken in: {where}")
        if self.other is None:
            self.notes.append("no second compile to compare with")
            if not self.right:
                self.wrong.append("neither a second compile nor a right state speaks for it")
        standing: ClaimStanding = (
            "disputed" if disputed else "inadequate" if self.wrong else "adequate"
        )
        return Adequacy(standing, (*disputed, *self.wrong, *self.notes), where, self.tried)

    def _facts(self) -> None:
        """Every number and quotation of the criterion must be read or bound; every fact must have a field."""
        claim = self.claim
        for fact in claim.facts:
            if not fact.fields and claim.strength != "necessary":
                self.wrong.append(
                    f"the fact {fact.text!r} is bound to no field, so it is necessary at most"
                )
        told = " ".join(fact.text for fact in claim.facts)
        body = claim.assertion.model_dump_json(exclude_defaults=True) if claim.assertion else ""
        known = self._numbers(f"{told} {body}")
        # half past three is 15:30 in an assertion, and eight may be 20:00
        for each in dict.fromkeys(_DIGITS.findall(CLOCK.sub(" ", claim.criterion))):
            if not self._numbers(each) & (known | {value - 12 for value in known}):
                self.wrong.append(
                    f"the criterion says {each}, which neither a fact nor the assertion holds"
                )
        if _DIGITS.search(claim.criterion) and claim.assertion is not None:
            for one in inside(claim.assertion):
                value = getattr(one, "value", None) if isinstance(one, Number | Sum) else None
                if isinstance(one, Quantified) and one.op in {"exactly", "at_least", "at_most"}:
                    value = float(one.count)
                if isinstance(value, float) and not self._is_said(one, value):
                    self.wrong.append(
                        f"the assertion compares with {value:g}, which is not in the criteria"
                    )

    def _is_said(self, one: Any, value: float) -> bool:
        """Whether a number stands in the criteria, in digits or words, or follows from the state before the run."""
        texts = " ".join(self.texts)
        said = self._numbers(texts)
        if value in said or (value.is_integer() and 0 <= value <= _MOST_IN_WORDS):
            return True
        if isinstance(one, Quantified):  # as many as are named, or as there are
            named = {len(each.values) for each in inside(one) if isinstance(each, Is)}
            pattern = tuple(one.over.split("/")[1:]) if one.over.startswith("/") else ("",)
            return value in {*named, sum(1 for _ in paths_of(self.start, pattern))}
        read = next((each for each in reads_of(self.claim) if each.condition is one), None)
        held = (
            []
            if read is None
            else [value_at(self.start, p) for p in islice(paths_of(self.start, read.field), 200)]
        )
        if (
            value / 100 in said
            and getattr(one, "currency", None) is None
            and all(isinstance(each, int) for each in held)
        ):
            return True  # hundredths of a currency
        if value in {by * each for each in said for by in (1000, 0.001)} and _under(
            self.claim.assertion, one
        ):
            return True  # the same measure in another unit
        return one.compare == "=" and value in _identifiers(self.start)

    def _numbers(self, text: str) -> set[float]:
        locale = self.setting.locale if self.setting else None
        found = (number_readings(each, locale)[0] for each in _DIGITS.findall(text))
        return {float(each) for readings in found for each in readings}

    def _is_right(self, states: States) -> bool:
        truth = self.truth(states)
        if truth is False and self.claim.strength != "sufficient":
            self.wrong.append("it is false of a right state")
        if truth is None:
            why = (
                decide(self.claim.assertion, states, self.setting).undecided
                if self.claim.assertion
                else ()
            )
            self.wrong.append(f"it is undecidable on a right state: {'; '.join(why[:3])}")
        for each in harmless(states.end) if truth else ():
            if self.truth(States(each.state, states.start)) is False:
                self.wrong.append(f"it turns false by a harmless change ({each.operator})")
        return truth is True

    def _break_fields(self, states: States) -> None:
        """Whatever the claim reads must matter: broken in all records at once, it must turn the claim."""
        for one in reads_of(self.claim):
            paths = list(islice(paths_of(states.end, one.field), 400))
            broken = states.end
            alone = []
            for path in paths:
                if (
                    bad := bad_value(one.condition, value_at(states.end, path), self.setting)
                ) is not None:
                    broken = replaced(broken, path, bad)
                    alone.append(replaced(states.end, path, bad))
            within_or = _under(self.claim.assertion, one.condition)
            if (
                paths
                and one.condition.op != "changed"
                and broken is not states.end
                and not within_or
                # two fields that are compared may be broken alike
                and all(self.truth(States(each, states.start)) for each in (broken, *alone[-50:]))
            ):
                self.wrong.append(f"it stays true whatever {'/'.join(('', *one.field))} holds")

    def _break_named(self, states: States) -> None:
        """Find out whether each fact that the criterion names matters, read by the claim or not."""
        named = {leaf: self._named(leaf.value) for leaf in self._changed(states)}
        named = dict(islice(((leaf, said) for leaf, said in named.items() if said), 40))
        read = [leaf for leaf in named if self._is_read(states, leaf)]
        covered = {said for leaf in read for said in named[leaf]}
        keys = (r.condition for r in reads_of(self.claim, keys=True) if r.field[-1:] == ("@key",))
        # a name that is the key of a map stands in no leaf; elsewhere it only refers to it
        covered |= {folded(text) for each in keys if isinstance(each, Is) for text in each.values}
        body = self.claim.assertion.model_dump_json() if self.claim.assertion else ""
        covered |= {folded(step) for step in re.findall(r"/([^/\"*]+)", body)}
        texts = [folded(str(leaf.value)) for leaf in read]
        for leaf, said in named.items():
            # a fact that several records hold must be read in one of them
            left = {each for each in said - covered if not any(each in text for text in texts)}
            if left and self.claim.strength != "necessary":
                where = "/".join(map(str, ("", *leaf.path)))
                self.wrong.append(
                    f"it stays true without {json.dumps(leaf.value, ensure_ascii=False)[:60]} at {where}, which the criterion names"
                )
            for near in self._near(leaf.value) if leaf in read and covered else ():
                if self._is_true_with(states, leaf.path, near):
                    self.wrong.append(
                        f"it stays true with {json.dumps(near, ensure_ascii=False)[:60]} at /{'/'.join(map(str, leaf.path))}, which is not what the criterion names"
                    )
        records = {leaf.path[: leaf.record] for leaf in read if leaf.record}
        for record in records:
            # if more is as good, another number breaks nothing
            facts = [
                Read(leaf, (), tuple(map(str, leaf.path)))
                for leaf in read
                if not self._is_true_with(states, leaf.path, bad_value(leaf, leaf.value))
            ]
            split = (
                told
                for told, end in split_records(states.end, record, facts)
                if self.truth(States(end, states.start))
            )
            if told := next(split, None):
                self.wrong.append(f"it is met by two records: /{'/'.join(map(str, record))} {told}")
        for leaf in self._changed(states):
            word = OPERATORS["status"](leaf.value)
            ends = leaf.path[: leaf.record] in records and folded(word or "") in _OUT_OF_EFFECT
            if ends and self._is_true_with(states, leaf.path, word):
                self.wrong.append(f"it stays true of a record whose {leaf.path[-1]} is {word!r}")

    def _is_read(self, states: States, leaf: Any) -> bool:
        value = leaf.value
        bad = next((b for op in OPERATORS.values() if (b := op(value)) is not None), None)
        # more may be as good as what is there; nothing then is not
        less = re.sub(r"\d", "0", value) if isinstance(value, str) else 0
        number = bool(number_readings(value)[0]) if isinstance(value, str | int | float) else False
        tried = [bad, less] if number and less != value else [bad]
        return bad is None or any(not self._is_true_with(states, leaf.path, each) for each in tried)

    def _is_true_with(self, states: States, path: Path, value: Any) -> bool:
        return bool(self.truth(States(replaced(states.end, path, value), states.start)))

    def _changed(self, states: States) -> list[Any]:
        if states.start is MISSING:
            return []
        return list(islice(changed_leaves(states.end, states.start), 400))

    def _named(self, value: Any) -> set[str]:
        """Return the parts of a value that stand in the criterion: its words, its number, its day."""
        text = self.claim.criterion
        found: set[str] = set()
        if (
            isinstance(value, bool)
            or value in (None, "")
            or not isinstance(value, str | int | float)
        ):
            return found
        words = folded(value) if isinstance(value, str) else ""
        # with the ending of a plural or a case
        if len(words) >= 3 and f" {words}" in f" {folded(text)}":
            found.add(words)
        locale, zone = (self.setting.locale, self.setting.zone) if self.setting else (None, None)
        days = {(r.month, r.day) for r in _local(value, zone)} if isinstance(value, str) else set()
        dated = {each: _local(each, None) for form in _DAYS for each in re.findall(form, text)}
        said = {(r.month, r.day) for each in dated.values() for r in each}
        for each, days_in in dated.items():  # the 4 of December 4 is not a number
            text = text.replace(each, " ") if days_in else text
        numbers = {float(each) for each in number_readings(value, locale)[0]}
        if len(numbers) == 1 and numbers <= self._numbers(CLOCK.sub(" ", text)):
            found.add(f"{numbers}")
        return found | {f"{day}" for day in days & said - {(None, None)}}

    def _near(self, value: Any) -> Iterator[Any]:
        """Yield variants of a text that the criterion names, with one word or the currency changed."""
        if not isinstance(value, str):
            return
        if " " in folded(value) and f" {folded(value)} " in f" {folded(self.claim.criterion)} ":
            for word in re.findall(r"\w{3,}", value):  # not of, de, Dr
                yield value.replace(word, "Quaxley", 1)
        _, around = number_readings(value, self.setting.locale if self.setting else None)
        codes = currencies_of(around) if around else frozenset()
        if codes & {code for word in self.claim.criterion.split() for code in currencies_of(word)}:
            yield value.replace(around, "JPY" if "JPY" not in codes else "EUR")

    def _compare(self, bases: Sequence[States]) -> tuple[str, ...]:
        """Return the smallest change on which the second compile decides otherwise."""
        if self.other is None:
            return ()
        made = witness(self.other, self.start, self.setting)
        starts = [*bases, *([made] if made else [])]
        if self.start is not MISSING:
            starts.append(States(self.start, self.start))
        pair = (self.claim, self.other)
        for change, states in mutated(pair, starts, self.rng):
            one, two = (self.truth(states, each) for each in pair)
            if {one, two} == {True, False}:
                return (
                    f"two compiles differ: with {change} this one is {str(one).lower()}, the other {str(two).lower()}",
                )
        return ()

    def _before_the_run(self) -> None:
        if self.start is MISSING:
            self.notes.append("the state before the run is unknown")
            return
        untouched = self.truth(States(self.start, self.start))
        if untouched and not self.claim.guard:
            self.notes.append(
                "warning: true before the run, so an agent that does nothing meets it"
            )
        if self.claim.guard:
            starts = [*self.right, States(self.start, self.start)]
            found = mutated((self.claim,), starts, self.rng)
            if all(self.truth(states) is not False for _, states in found):
                self.wrong.append("a guard that nothing breaks")


def _under(one: Record | None, sought: Any, alternative: bool = False) -> bool:  # recursion
    """Whether a condition is one of several alternatives, or is negated."""
    if one is sought:
        return alternative
    free = isinstance(one, Not | All) or (isinstance(one, Junction) and one.op == "or") or (
        isinstance(one, Quantified) and one.op in {"none", "at_most", "exactly"}
    )  # fmt: skip
    below = members(one) if one is not None else ()
    return any(_under(each, sought, alternative or free) for each in below)


def _identifiers(state: Any) -> set[float]:
    """Return the numbers by which records of a state are known."""
    found: set[float] = set()
    level = [state]
    for _ in range(8):
        records = [each for each in level if isinstance(each, dict)]
        keys = [key for each in records for key in each]
        keys += [each[key] for each in records for key in (*ID_KEYS, "no", "number") if key in each]
        found |= {
            float(key)
            for key in keys
            if str(key).isascii() and str(key).isdecimal() and len(str(key)) < 16
        }
        inner = [
            each.values() if isinstance(each, dict) else each
            for each in level
            if isinstance(each, dict | list)
        ]
        level = list(islice((value for each in inner for value in each), 20_000))
    return found


def _local(text: str, zone: str | None) -> list[MomentReading]:
    found = (each.local(zone, zone) for each in moment_readings(text))
    return [each for each in found if each is not None]
