"""Check whether a claim says what its criterion says, before it decides anything.

Two compiles of one criterion must agree on states mutated where either of them looks. In a right state each fact that
the criterion names is broken, alone and with the right value moved to another record: the claim must turn false.
Without a right state a witness is made from the claim itself, which shows that the claim is sensitive to what it reads
but never that it reads the right fields; the findings say which it was.
"""

from __future__ import annotations

import json
import random
import re
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any

from bench_core.records.claims import (
    All,
    Claim,
    Junction,
    Not,
    Number,
    Quantified,
    Sum,
    members,
)
from llm_judge.claims.evaluation import States, decide, states_of
from llm_judge.claims.mutated_states import Read, bad_value, mutated, reads_of, split_records
from llm_judge.claims.values import folded, moment_readings, number_readings
from llm_judge.claims.witnesses import inside, paths_of, witness
from llm_judge.meta_evaluation.mutations import (
    OPERATORS,
    changed_leaves,
    harmless,
    replaced,
    value_at,
)
from llm_judge.states.pointers import MISSING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bench_core.records import Record
    from bench_core.records.claims import ClaimStanding
    from llm_judge.claims.values import MomentReading, Setting

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


@dataclass(frozen=True)
class Adequacy:
    """What the checks of a claim found.

    Attributes:
        findings: What is wrong, and what a reader must know.
        witness: What the checks of single facts started from.
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
    """Check a claim, whoever wrote it.

    Args:
        claim: The claim.
        criteria: All criteria of the task, which may refer to each other.
        goal: What the agent was asked.
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
    except (RecursionError, ValueError, TypeError, LookupError) as error:  # what no JSON holds
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
        self.rng = random.Random(seed)  # noqa: S311  # not cryptography
        self.wrong: list[str] = []
        self.notes: list[str] = []
        self.tried = 0

    def truth(self, states: States, claim: Claim | None = None) -> bool | None:
        assertion = (claim or self.claim).assertion
        self.tried += 1
        return None if assertion is None else decide(assertion, states, self.setting).truth

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
        known = {_plain(each) for each in _DIGITS.findall(f"{told} {body}")}
        for each in dict.fromkeys(_DIGITS.findall(claim.criterion)):
            if not _is_known(_plain(each), known):
                self.wrong.append(
                    f"the criterion says {each}, which neither a fact nor the assertion holds"
                )
        said = {_plain(each) for text in self.texts for each in _DIGITS.findall(text)}
        if _DIGITS.search(claim.criterion) and claim.assertion is not None:
            for one in inside(claim.assertion):
                value = getattr(one, "value", None) if isinstance(one, Number | Sum) else None
                if isinstance(one, Quantified) and one.op in {"exactly", "at_least", "at_most"}:
                    value = float(one.count)
                if isinstance(value, float) and value not in {0, 1} and not _is_known(value, said):
                    self.wrong.append(
                        f"the assertion compares with {value:g}, which is not in the criteria"
                    )

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
            for path in paths:
                if (bad := bad_value(one.condition, value_at(states.end, path))) is not None:
                    broken = replaced(broken, path, bad)
            within_or = _under(self.claim.assertion, one.condition)
            if (
                paths
                and broken is not states.end
                and not within_or
                and self.truth(States(broken, states.start))
            ):
                self.wrong.append(f"it stays true whatever {'/'.join(('', *one.field))} holds")

    def _break_named(self, states: States) -> None:
        """What the criterion names must matter, whether or not the claim reads it."""
        named = [leaf for leaf in self._changed(states) if self._is_named(leaf.value)]
        for leaf in named[:20]:
            bad = next((b for op in OPERATORS.values() if (b := op(leaf.value)) is not None), None)
            if bad is None:
                continue
            one = replaced(states.end, leaf.path, bad)
            where = "/".join(map(str, ("", *leaf.path)))
            if self.claim.strength != "necessary" and self.truth(States(one, states.start)):
                self.wrong.append(
                    f"it stays true with {json.dumps(bad)[:60]} for {json.dumps(leaf.value)[:60]} at {where}, which the criterion names"
                )
        records = {leaf.path[: leaf.record] for leaf in named if leaf.record}
        for record in records:
            facts = [Read(leaf, (), tuple(map(str, leaf.path))) for leaf in named]
            split = (
                told
                for told, end in split_records(states.end, record, facts)
                if self.truth(States(end, states.start))
            )
            if told := next(split, None):
                self.wrong.append(f"it is met by two records: /{'/'.join(map(str, record))} {told}")
        for leaf in self._changed(states):
            word = folded(leaf.value) if isinstance(leaf.value, str) else ""
            if (
                leaf.path[: leaf.record] in records
                and OPERATORS["status"](leaf.value) in _OUT_OF_EFFECT
                and word
            ):
                gone = replaced(states.end, leaf.path, OPERATORS["status"](leaf.value))
                if self.truth(States(gone, states.start)):
                    self.wrong.append(
                        f"it stays true of a record whose {leaf.path[-1]} is {OPERATORS['status'](leaf.value)!r}"
                    )

    def _changed(self, states: States) -> list[Any]:
        if states.start is MISSING:
            return []
        return list(islice(changed_leaves(states.end, states.start), 400))

    def _is_named(self, value: Any) -> bool:
        """Whether a value stands in the criterion: its words, its number, or its day."""
        text = self.claim.criterion
        if isinstance(value, bool) or value in (None, ""):
            return False
        if (
            isinstance(value, str)
            and len(folded(value)) >= 3
            # with what a plural or a case adds
            and f" {folded(value)}" in f" {folded(text)}"
        ):
            return True
        amounts, _ = number_readings(value) if isinstance(value, str | int | float) else ((), "")
        if len(set(amounts)) == 1:
            return any(_plain(each) == float(next(iter(amounts))) for each in _DIGITS.findall(text))
        zone = self.setting.zone if self.setting else None
        days = {(r.month, r.day) for r in _local(value, zone)} if isinstance(value, str) else set()
        said = [each for form in _DAYS for each in re.findall(form, text)]
        return bool(
            days & {(r.month, r.day) for each in said for r in _local(each, None)} - {(None, None)}
        )

    def _compare(self, bases: Sequence[States]) -> tuple[str, ...]:
        """Return where the second compile differs: the smallest change that tells the two apart."""
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
    """Whether a condition is one of several alternatives, or says what must not be."""
    if one is sought:
        return alternative
    free = isinstance(one, Not | All) or (isinstance(one, Junction) and one.op == "or") or (
        isinstance(one, Quantified) and one.op in {"none", "at_most", "exactly"}
    )  # fmt: skip
    below = members(one) if one is not None else ()
    return any(_under(each, sought, alternative or free) for each in below)


def _local(text: str, zone: str | None) -> list[MomentReading]:
    found = (each.local(zone, zone) for each in moment_readings(text))
    return [each for each in found if each is not None]


def _plain(digits: str) -> float:
    amounts, _ = number_readings(digits, "en")
    return float(next(iter(amounts))) if amounts else float("nan")


def _is_known(number: float, known: set[float]) -> bool:
    # a number with leading zeros or of a date may be read otherwise; NaN is none
    return number != number or number in known or -number in known  # noqa: PLR0124  # NaN
