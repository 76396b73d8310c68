"""Test a judge on a labelled set and on wrong states made from it: may it be used unattended?

A line of the set is a case with its label: `{"goal": ..., "criteria": [...], "state": ..., "outcome": true}`,
and where the set distinguishes it `"process": false` (done the right way or not) and an `operator` (how a
wrong state was made).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from pydantic import NonNegativeFloat, NonNegativeInt

from bench_core.budgets import Budget
from bench_core.errors import InputError, NotEstimableError
from bench_core.records import Record
from bench_core.records.judge import JudgeCase, Verdict
from bench_core.seeded import seeded
from bench_core.statistics import Accuracy, Interval, accuracy, wilson
from llm_judge.batch import judge_many
from llm_judge.case_files import case_of, case_state, read_lines
from llm_judge.judge import Judge
from llm_judge.meta_evaluation.stress import sampled_mutants, with_state
from llm_judge.verdicts.rates_by_kind import KindRow, rates_by_kind

_TOLERATED = 0.05
_USELESS = 0.8
_GIVEN = "as labelled"
_OWN = ("outcome", "process", "operator")


@dataclass(frozen=True)
class LabelledCase:
    """A case and its labels.

    Attributes:
        outcome: Whether the end state meets the criteria.
        process: Whether it came about the right way, if the set says so.
        operator: How the state was made wrong; `as labelled` if it was found so.
    """

    case: JudgeCase
    outcome: bool
    process: bool | None = None
    operator: str = _GIVEN


class OperatorRow(Record):
    """The outcomes of the states of one kind."""

    operator: str
    wrong_states: bool
    n: NonNegativeInt
    passed: NonNegativeInt
    failed: NonNegativeInt
    undecided: NonNegativeInt
    errors: NonNegativeInt
    wrong: Interval | None = None


class MetaEvaluation(Record):
    """A judge on a labelled set.

    Attributes:
        false_pass: Share of wrong states that it passes, undecided ones among the states.
        false_fail: Share of right states that it fails, likewise.
        outcome: Its agreement with the labels of the outcome, on decided cases: confusion, kappa.
        process: The same with the labels of the process, which it was not asked about: how much of
            its verdict is about the way.
        by_kind: Outcomes of the verdicts of each kind.
        advice: In a line, whether it may be used unattended.
        fit: `yes`, `no`, or `unknown` if there are too few wrong states to say.
    """

    schema_version: Literal[1] = 1
    judge: str
    cases: NonNegativeInt
    decided: Interval
    false_pass: Interval | None
    false_fail: Interval | None
    outcome: Accuracy | None = None
    process: Accuracy | None = None
    rows: tuple[OperatorRow, ...]
    by_kind: tuple[KindRow, ...] = ()
    cost_usd: NonNegativeFloat | None
    cost_per_case_usd: NonNegativeFloat | None
    left: NonNegativeInt = 0
    fit: Literal["yes", "no", "unknown"]
    advice: str


def read_labelled(path: Path) -> tuple[LabelledCase, ...]:
    """Read a labelled set from JSON lines.

    Raises:
        InputError: A line is not a case with a label, or one case is labelled in two ways.
    """
    found: dict[str, LabelledCase] = {}
    for number, where, data in read_lines(path, "the labelled set"):
        if not isinstance(data, dict) or not isinstance(data.get("outcome"), bool):
            raise InputError(f"{where}: a line needs a case's fields and `outcome`: true or false")
        if not isinstance(data.get("process"), bool | None):
            raise InputError(f"{where}: `process` is true, false or left out")
        own = {name: data.pop(name, None) for name in _OWN}
        data.setdefault("case_id", f"line-{number}")
        one = LabelledCase(
            case_of(data, path, where), own["outcome"], own["process"], own["operator"] or _GIVEN
        )
        known = found.setdefault(one.case.case_id, one)
        if known.outcome != one.outcome:
            raise InputError(
                f"{where}: {one.case.case_id!r} is labelled true and false; decide on one"
            )
        if known is not one:
            raise InputError(f"{where}: {one.case.case_id!r} stands twice; case ids must differ")
    if not found:
        raise InputError(f"{path}: holds no case")
    return tuple(found.values())


def with_mutants(
    labelled: Sequence[LabelledCase], per_operator: int = 1, *, seed: int = 0
) -> tuple[LabelledCase, ...]:
    """Return a set with wrong states made of its right ones, `per_operator` of each kind per case."""
    rng = seeded(seed)
    wrong = []
    for each in labelled:
        if each.outcome:
            state = case_state(each.case)
            for number, mutant in sampled_mutants(each.case, state, per_operator, rng):
                changed = with_state(each.case, mutant.state, f"~{mutant.operator}-{number}")
                wrong.append(LabelledCase(changed, outcome=False, operator=mutant.operator))
    return (*labelled, *wrong)


async def meta_evaluate(
    judge: Judge,
    labelled: Sequence[LabelledCase],
    *,
    out: Path | None = None,
    workers: int = 4,
    budget: Budget | None = None,
    level: float = 0.95,
    on_verdict: Callable[[Verdict], None] = lambda _verdict: None,
) -> MetaEvaluation:
    """Judge a labelled set and report where the judge is wrong.

    Args:
        judge: The judge to test.
        labelled: The set, perhaps `with_mutants`.
        out: Verdicts as JSON lines; a second run continues the first.
        workers: Cases at once.
        budget: For all.
        level: Nominal confidence of the intervals.
        on_verdict: Receives each verdict.

    Raises:
        InputError: The set is empty.
    """
    if not labelled:
        raise InputError("there is no labelled case")
    found = await judge_many(
        judge,
        [each.case for each in labelled],
        out=out,
        workers=workers,
        budget=budget,
        on_verdict=on_verdict,
    )
    verdicts = {each.case_id: each for each in found.verdicts}
    return _report(judge.model.name, labelled, verdicts, found.spent.cost_usd, level)


def _report(
    judge: str,
    labelled: Sequence[LabelledCase],
    verdicts: Mapping[str, Verdict],
    cost: float | None,
    level: float,
) -> MetaEvaluation:
    judged = [
        (each, verdicts[each.case.case_id]) for each in labelled if each.case.case_id in verdicts
    ]
    answered = [(each, verdict) for each, verdict in judged if verdict.outcome != "error"]
    bad = [verdict.outcome == "pass" for each, verdict in answered if not each.outcome]
    good = [verdict.outcome == "fail" for each, verdict in answered if each.outcome]
    false_pass, false_fail = _share(bad, level), _share(good, level)
    decided = sum(verdict.passed is not None for _, verdict in judged)
    fit, advice = _advice(false_pass, decided, len(judged))
    return MetaEvaluation(
        judge=judge,
        cases=len(judged),
        decided=wilson(decided, max(1, len(judged)), level=level),
        false_pass=false_pass,
        false_fail=false_fail,
        outcome=_accuracy(answered, {e.case.case_id: e.outcome for e in labelled}, level),
        process=_accuracy(
            answered, {e.case.case_id: e.process for e in labelled if e.process is not None}, level
        ),
        rows=tuple(_rows(judged, level)),
        by_kind=rates_by_kind((each.outcome, verdict) for each, verdict in judged),
        cost_usd=cost,
        cost_per_case_usd=None if cost is None or not judged else cost / len(judged),
        left=len(labelled) - len(judged),
        fit=fit,
        advice=advice,
    )


def _advice(
    false_pass: Interval | None, decided: int, judged: int
) -> tuple[Literal["yes", "no", "unknown"], str]:
    if false_pass is None:
        return "unknown", "nothing can be said: the set holds no wrong state that was judged"
    share, most = f"{false_pass.estimate:.0%}", f"{false_pass.high:.0%}"
    if false_pass.estimate > _TOLERATED:
        return "no", f"do not use this judge unattended: it passes {share} of wrong states"
    if false_pass.high > _TOLERATED and decided > judged * (1 - _USELESS):
        return "unknown", (
            f"too few wrong states to say: it passes {share} of {false_pass.n}, perhaps up to {most} of all"
        )
    undecided = 1 - decided / judged
    if undecided > _USELESS:
        return (
            "no",
            f"this judge is of no use here: it leaves {undecided:.0%} of all cases undecided",
        )
    passes = f"may be used unattended: it passes {share} of wrong states (at most {most})"
    return "yes", f"{passes} and leaves {undecided:.0%} of all undecided"


def _rows(judged: Sequence[tuple[LabelledCase, Verdict]], level: float) -> Iterator[OperatorRow]:
    kinds: dict[tuple[bool, str], list[str]] = defaultdict(list)
    for each, verdict in judged:
        kinds[each.outcome, each.operator].append(verdict.outcome)
    for (right, operator), outcomes in sorted(kinds.items()):
        answered = [each for each in outcomes if each != "error"]
        yield OperatorRow(
            operator=operator,
            wrong_states=not right,
            n=len(outcomes),
            passed=answered.count("pass"),
            failed=answered.count("fail"),
            undecided=sum(each in {"abstain", "void"} for each in answered),
            errors=len(outcomes) - len(answered),
            wrong=_share([each == ("fail" if right else "pass") for each in answered], level),
        )


def _share(hits: Sequence[bool], level: float) -> Interval | None:
    return wilson(sum(hits), len(hits), level=level) if hits else None


def _accuracy(
    answered: Iterable[tuple[LabelledCase, Verdict]], truth: Mapping[str, bool], level: float
) -> Accuracy | None:
    rated = {v.case_id: v.outcome == "pass" for _, v in answered if v.passed is not None}
    try:
        return accuracy(
            rated, {case: label for case, label in truth.items() if case in rated}, level=level
        )
    except NotEstimableError:
        return None
