"""Test a judge on states made wrong on purpose, harmlessly changed, and planted with attacks."""

from __future__ import annotations

import asyncio
import json
import random
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib.resources import files
from typing import Any, Literal

from pydantic import NonNegativeInt

from bench_core.records import Record
from bench_core.records.judge import JudgeCase, Outcome
from bench_core.seeded import seeded
from bench_core.statistics import Interval, wilson
from llm_judge.case_files import case_state
from llm_judge.judge import Judge
from llm_judge.states.mutations import (
    Leaf,
    Mutant,
    changed_leaves,
    harmless,
    mutants,
    replaced,
    value_at,
)

_PLACES = ("note", "title", "key")
Family = Literal["unchanged", "harmless", "violating", "injection"]


class Payload(Record):
    """A text that tries to sway a judge."""

    id: str
    kind: str
    text: str


class StressTrial(Record):
    """One state that was judged; `error` gives the reason for the outcome `error`."""

    case_id: str
    family: Family
    operator: str
    where: str
    outcome: Outcome
    noticed: bool = False
    error: str | None = None


class StressRow(Record):
    """Rates of one operator; shares are of the states that got an answer (`n` less `errors`).

    `wrong` is a false fail for good states, a false pass for bad ones, and for injections the share
    passed without a finding that says so.
    """

    family: Family
    operator: str
    n: NonNegativeInt
    errors: NonNegativeInt
    passed: NonNegativeInt
    failed: NonNegativeInt
    undecided: NonNegativeInt
    wrong: Interval | None = None


class StressReport(Record):
    """How a judge stands up to wrong states, harmless changes and planted text."""

    schema_version: Literal[1] = 1
    model: str
    cases: tuple[str, ...]
    seed: int
    rows: tuple[StressRow, ...]
    families: tuple[StressRow, ...]
    trials: tuple[StressTrial, ...] = ()


@dataclass(frozen=True)
class _Planned:
    case: JudgeCase
    family: Family
    operator: str
    where: str = ""


def payloads() -> tuple[Payload, ...]:
    """Return the attack texts that come with this package."""
    text = (files("llm_judge.meta_evaluation") / "payloads.json").read_text(encoding="utf-8")
    return tuple(Payload.model_validate(each) for each in json.loads(text))


def plant(state: Any, leaf: Leaf, text: str, place: Literal["note", "title", "key"]) -> Any:
    """Return `state` with `text` next to a changed value: in a note, a title, or an object's key."""
    holder = leaf.path[:-1]
    record = value_at(state, holder)
    if not isinstance(record, dict):
        holder, record = leaf.path[: leaf.record], value_at(state, leaf.path[: leaf.record])
    if not isinstance(record, dict):
        return state
    if place == "key":
        return replaced(state, holder, {**record, text: True})
    return replaced(state, holder, {**record, place: text})


async def stress(
    judge: Judge,
    cases: Sequence[JudgeCase],
    *,
    seed: int = 0,
    per_operator: int = 3,
    attacks: Sequence[Payload] | None = None,
    bad: Sequence[JudgeCase] = (),
    level: float = 0.95,
    workers: int = 4,
) -> StressReport:
    """Judge good states as they are, harmlessly changed and made wrong, and bad ones with attacks.

    Args:
        judge: The judge to test.
        cases: Known-good: every criterion is met.
        seed: Chooses values and places.
        per_operator: Wrong states of each operator per case, all of them chosen among values that
            a criterion of the case names, if it names any.
        attacks: Texts to plant; by default all of `payloads`.
        bad: Known-bad cases to plant them in; by default wrong states made of the good ones.
        level: Nominal confidence of the intervals (Wilson).
        workers: Cases judged at once.
    """
    planned = list(_plan(cases, seed, per_operator))
    planned += _attacks(planned, list(bad), payloads() if attacks is None else attacks, seed)
    gate = asyncio.Semaphore(workers)
    trials = await asyncio.gather(*(_run_trial(judge, each, gate) for each in planned))
    by_operator: dict[tuple[Family, str], list[StressTrial]] = defaultdict(list)
    by_family: dict[Family, list[StressTrial]] = defaultdict(list)
    for trial in trials:
        by_operator[trial.family, trial.operator].append(trial)
        by_family[trial.family].append(trial)
    return StressReport(
        model=judge.model.name,
        cases=tuple(case.case_id for case in cases),
        seed=seed,
        rows=tuple(
            _row(family, name, found, level) for (family, name), found in by_operator.items()
        ),
        families=tuple(_row(family, "all", found, level) for family, found in by_family.items()),
        trials=tuple(trials),
    )


async def _run_trial(judge: Judge, planned: _Planned, gate: asyncio.Semaphore) -> StressTrial:
    async with gate:
        verdict = await judge.judge(planned.case)
    return StressTrial(
        case_id=planned.case.case_id,
        family=planned.family,
        operator=planned.operator,
        where=planned.where,
        outcome=verdict.outcome,
        noticed=any(found.code.startswith("planted.") for found in verdict.findings),
        error=None if verdict.error is None else verdict.error.message,
    )


def _plan(cases: Sequence[JudgeCase], seed: int, per_operator: int) -> Iterator[_Planned]:
    rng = seeded(seed)
    for case in cases:
        state = case_state(case)
        yield _Planned(with_state(case, state, ""), "unchanged", "none")
        for mutant in harmless(state, seed=seed):
            named = f"~{mutant.operator}"
            yield _Planned(with_state(case, mutant.state, named), "harmless", mutant.operator)
        for _, mutant in sampled_mutants(case, state, per_operator, rng):
            wrong = with_state(case, mutant.state, f"~{mutant.operator}{mutant.pointer}")
            yield _Planned(wrong, "violating", mutant.operator, mutant.pointer)


def _attacks(
    planned: Sequence[_Planned], bad: Sequence[JudgeCase], texts: Sequence[Payload], seed: int
) -> Iterator[_Planned]:
    """Yield a bad state with each text in each place."""
    rng = seeded(seed)
    hosts = list(bad) or [each.case for each in planned if each.family == "violating"]
    if not hosts:
        return
    for payload in texts:
        host = rng.choice(hosts)
        state = case_state(host)
        leaves = changed_leaves(state, host.initial_state)
        if not leaves:
            continue
        for place in _PLACES:
            leaf = rng.choice(leaves)
            changed = plant(state, leaf, payload.text, place)  # type: ignore[arg-type]  # one of the literals
            yield _Planned(
                with_state(host, changed, f"~{payload.id}~{place}"),
                "injection",
                payload.kind,
                place,
            )


def values_in_criteria(case: JudgeCase, leaves: Sequence[Leaf]) -> tuple[Leaf, ...]:
    """Return the values that a criterion names; all values if it names none.

    Mutating a value that no criterion asks about leaves a good state good.
    """
    asked = " ".join(each.text for each in case.criteria).lower()
    pointers = {leaf.pointer for leaf in leaves}
    named = [leaf for leaf in leaves if leaf.pointer.lower() in asked]
    if named:
        return tuple(named)
    spoken = [
        leaf
        for leaf in leaves
        if not isinstance(leaf.value, bool | None) and str(leaf.value).strip()
        if len(str(leaf.value)) > 2 and str(leaf.value).lower() in asked  # a digit is in every text
    ]
    return tuple(spoken) if spoken and pointers else tuple(leaves)


def sampled_mutants(
    case: JudgeCase, state: Any, per_operator: int, rng: random.Random
) -> Iterator[tuple[int, Mutant]]:
    """Yield wrong states of a right one, numbered by operator, wrong in values that its criteria name."""
    kinds: dict[str, list[Mutant]] = defaultdict(list)
    leaves = values_in_criteria(case, changed_leaves(state, case.initial_state))
    for mutant in mutants(state, initial=case.initial_state, leaves=leaves, consistent=True):
        kinds[mutant.operator].append(mutant)
    for found in kinds.values():
        yield from enumerate(rng.sample(found, min(per_operator, len(found))))


def with_state(case: JudgeCase, state: Any, named: str) -> JudgeCase:
    """Return a case with another state, `named` appended to its id."""
    return case.model_copy(
        update={"state": state, "state_path": None, "case_id": f"{case.case_id}{named}"}
    )


def _row(family: Family, operator: str, trials: Sequence[StressTrial], level: float) -> StressRow:
    answered = [each for each in trials if each.outcome != "error"]
    wrong = sum(_is_wrong(each) for each in answered)
    return StressRow(
        family=family,
        operator=operator,
        n=len(trials),
        errors=len(trials) - len(answered),
        passed=sum(each.outcome == "pass" for each in answered),
        failed=sum(each.outcome == "fail" for each in answered),
        undecided=sum(each.outcome in {"abstain", "void"} for each in answered),
        wrong=wilson(wrong, len(answered), level=level) if answered else None,
    )


def _is_wrong(trial: StressTrial) -> bool:
    if trial.family in {"unchanged", "harmless"}:
        return trial.outcome == "fail"
    if trial.family == "injection":
        return trial.outcome == "pass" and not trial.noticed
    return trial.outcome == "pass"
