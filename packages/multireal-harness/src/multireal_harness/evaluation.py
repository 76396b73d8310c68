"""Scores from end states: the benchmark's rules, and a judge where the user wants one."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from pydantic import Field, JsonValue, NonNegativeFloat

from bench_core.errors import EvaluationError
from bench_core.protocols import Judge, Meter
from bench_core.records import Check, ErrorInfo, Record, Status, Task, Usage
from bench_core.records.judge import Criterion, JudgeCase, Verdict
from bench_core.run_folder import FINISH_STATE
from bench_core.seeded import seeded
from multireal_harness.definitions import Definition, Eval, definition_of, scoring_state
from multireal_harness.eval_rules.decisions import (
    Confidence,
    EvalDecision,
    StateHealth,
    decide,
    with_grades,
)
from multireal_harness.eval_rules.judge_checks import (
    criterion_id,
    graded_check,
    outcome_of,
    reason_of,
    with_judgement,
)
from multireal_harness.eval_rules.queries import Match, query_check
from multireal_harness.eval_rules.scripts import script_check

__all__ = [
    "Evaluation",
    "EvaluationRules",
    "StateEvidence",
    "evaluate",
    "judged_case",
    "judged_criteria",
]


@dataclass(frozen=True)
class EvaluationRules:
    """How end states are scored.

    Attributes:
        queries: The task set's own queries, or those that `lint` rewrites.
        match: How a query's result is compared with the expectation; `equals` is the benchmark's rule.
        judge: Asked when a query fails, and about criteria only a judge can decide.
        audit: The share of passed tasks that the judge is also asked about, from 0 to 1.
        keep_judgements: Whether scoring again without a judge uses the stored judgement of the end states.
    """

    queries: Literal["original", "fixed"] = "original"
    match: Match = "equals"
    judge: Judge | None = None
    audit: float = 0.0
    keep_judgements: bool = True

    @property
    def profile(self) -> str:
        """The name of these rules in a record."""
        base = "official" if self.queries == "original" else "fixed"
        return base if self.match == "equals" else f"{base}-{self.match}"


@dataclass(frozen=True)
class StateEvidence:
    """The evidence that a trial left for scoring.

    Attributes:
        states: App id to end state.
        health: Whether they are complete and look like this trial's.
        answer: The agent's final answer.
        folder: The trial's folder, with the stored states.
        seed: The trial's seed; decides whether a pass is audited.
        known: An earlier judgement of the end states, used instead of asking.
        grades: Earlier grades of the answer by the number of the eval, likewise.
        meter: Receives the usage of the judge's calls, if the judge reports it.
        timezone: The time zone (IANA) of the apps' pages, if known: their end states hold UTC.
    """

    states: dict[str, Any]
    health: StateHealth
    folder: Path
    answer: JsonValue = None
    seed: int = 0
    known: Verdict | None = None
    grades: Mapping[str, Verdict] = field(default_factory=dict)
    meter: Meter | None = None
    timezone: str | None = None


class Evaluation(Record):
    """The score of a trial and its grounds.

    Attributes:
        status: Status of a trial without a score, else None.
        official: Points and reward as the benchmark counts them.
        fixed: Score and checks under the rewritten queries; None if none was rewritten.
        verdict: The judge's verdict on the end states, if it was asked.
        grades: Its verdicts on the answer, by the number of the eval that has the answer graded.
    """

    schema_version: Literal[1] = 1
    score: NonNegativeFloat | None
    status: Status | None = None
    method: str
    confidence: Confidence
    flags: tuple[str, ...] = ()
    checks: tuple[Check, ...] = ()
    official: dict[str, JsonValue] = Field(default_factory=dict)
    fixed: dict[str, JsonValue] | None = None
    verdict: Verdict | None = None
    grades: dict[str, Verdict] = Field(default_factory=dict)
    error: ErrorInfo | None = None


def unscored(tasks: Sequence[Task], rules: EvaluationRules) -> str | None:
    """Say why some tasks could get no score by these rules, as `evaluate` would of each; None if all can."""
    evals = {each.task_id: definition_of(each).evals for each in tasks}
    empty = [task for task, own in evals.items() if not own]
    if empty:
        which = f"{len(empty)} of {len(tasks)} tasks have no evals, such as {empty[0]!r}"
        return f"{which}: leave them out with --skip-task"
    graded = [task for task, own in evals.items() if any(one.kind == "llm_boolean" for one in own)]
    if rules.judge is not None or not graded:
        return None
    which = f"{len(graded)} of {len(tasks)} tasks have the answer graded in words, such as {graded[0]!r}"
    return f"{which}: name who grades it with --judge, now or when the run is scored again"


async def evaluate(task: Task, evidence: StateEvidence, rules: EvaluationRules) -> Evaluation:
    """Score the end states and the answer of a trial.

    Raises:
        EvaluationError: The task has no evals, or an eval needs a judge and none is given.
    """
    definition = Definition.model_validate(task.config["definition"])
    if not definition.evals:
        # REAL itself passes such a task, because `all([])` is true
        raise EvaluationError(f"{task.task_id!r} cannot be scored: it has no evals")
    checks = checks_of_states(task, definition, evidence.states, rules)
    # Have the judge grade the agent's answer where the task asks for it
    graded = {
        index: await _grade(definition, index, one, evidence, rules)
        for index, one in enumerate(definition.evals)
        if one.kind == "llm_boolean"
    }
    grades = {str(index): grade for index, grade in graded.items()}
    passed = all(check.passed for check in checks)  # REAL gives no partial credit
    verdict = await _judgement(definition, evidence, rules, checks, passed=passed)
    defect_decided = _matters(definition, checks, passed=passed)
    by_states = decide(
        "pass" if passed else "fail",
        outcome_of(verdict),
        evidence.health,
        defective=defect_decided,
    )
    # without checks of states the grades decide alone
    decision = with_grades(
        by_states, [outcome_of(each) for each in graded.values()], alone=not checks
    )
    score = decision.score
    return Evaluation(
        score=score,
        status=decision.error,
        method=decision.method,
        confidence=decision.confidence,
        flags=decision.flags,
        checks=(
            *with_judgement(checks, verdict),
            *(
                graded_check(definition.evals[index], evidence.answer, grade)
                for index, grade in graded.items()
            ),
        ),
        official={
            "points": definition.points,
            "reward": None if score is None else definition.points * score,
        },
        fixed=_fixed_side(task, definition, evidence),
        verdict=verdict,
        grades=grades,
        error=_error(decision, verdict, grades),
    )


def checks_of_states(
    task: Task, definition: Definition, states: dict[str, Any], rules: EvaluationRules
) -> tuple[Check, ...]:
    """Return the checks of these states by the evals that end states decide."""
    state = scoring_state(definition, states)
    asked = definition if rules.queries == "original" else _fixed(definition)
    sources: Any = task.config.get("eval_scripts", {})
    return tuple(
        script_check(one, sources[one.script], state)
        if one.kind == "script"
        else query_check(one, state, rules.match)
        for one in _of_states(asked)
    )


def _of_states(definition: Definition) -> list[Eval]:
    """Return the evals that end states decide."""
    return [each for each in definition.evals if each.kind != "llm_boolean"]


async def _grade(
    definition: Definition, index: int, one: Eval, evidence: StateEvidence, rules: EvaluationRules
) -> Verdict:
    if rules.judge is not None:
        case = JudgeCase(
            case_id=f"{definition.id}-{index}",
            goal=definition.goal,
            criteria=(Criterion(id=criterion_id(index), text=one.criterion),),
            state={"answer": evidence.answer},
            agent_answer=evidence.answer,
        )
        return await _ask(rules.judge, case, evidence.meter)
    if str(index) in evidence.grades:
        return evidence.grades[str(index)]
    raise EvaluationError(
        f"eval {index} of {definition.id!r} grades the answer in words: pass --judge"
    )


async def _judgement(
    definition: Definition,
    evidence: StateEvidence,
    rules: EvaluationRules,
    checks: tuple[Check, ...],
    *,
    passed: bool,
) -> Verdict | None:
    """Ask the judge about the end states, if the rules ask for it and the states are complete."""
    if evidence.health == "incomplete" or not checks or evidence.known is not None:
        return evidence.known
    if rules.judge is None or (passed and not _audited(evidence.seed, rules.audit)):
        return None
    return await _ask(rules.judge, judged_case(definition, evidence), evidence.meter)


async def _ask(judge: Judge, case: JudgeCase, meter: Meter | None) -> Verdict:
    """Ask a judge and meter its calls: by itself if it takes a meter, else from its verdict's usage."""
    if meter is not None and "meter" in inspect.signature(judge.judge).parameters:
        metered: Any = judge.judge
        known: Verdict = await metered(case, meter=meter)
        return known
    verdict = await judge.judge(case)
    if meter is not None and (verdict.usage != Usage() or verdict.cost_usd):
        meter.spend(verdict.usage, verdict.cost_usd)
    return verdict


def judged_criteria(definition: Definition) -> dict[Criterion, Eval]:
    """Return a judge's criteria for end states, each with its eval."""
    return {
        Criterion(id=criterion_id(index), text=one.question): one
        for index, one in enumerate(_of_states(definition))
    }


def judged_case(definition: Definition, evidence: StateEvidence) -> JudgeCase:
    """Return the judge's case about the end states of a trial."""
    return JudgeCase(
        case_id=definition.id,
        goal=definition.goal,
        criteria=tuple(judged_criteria(definition)),
        # the judge selects its evidence itself: of seven recorded states none has its changes in the first 10,000 characters
        state_path=str(evidence.folder / FINISH_STATE),
        agent_answer=evidence.answer,
        timezone=evidence.timezone,
        metadata={
            "benchmark": "multireal",
            "apps": list(definition.apps),
            "queries": [one.query for one in definition.evals if one.query],
            "checks": [
                {"criterion": one.question, "query": one.query, "expected": one.expected_value}
                for one in definition.evals
                if one.query
            ],
        },
    )


def _audited(seed: int, share: float) -> bool:
    # by the trial's seed, so that a continued run audits the same trials
    return seeded(f"audit {seed}").random() < share


def _error(
    decision: EvalDecision, verdict: Verdict | None, grades: dict[str, Verdict]
) -> ErrorInfo | None:
    """Return why the judge, on which the score depended, gave none."""
    if decision.error is not Status.EVALUATION_ERROR:
        return None
    unsure = [each for each in (verdict, *grades.values()) if each and each.passed is None]
    reason = reason_of(unsure[0]) or "it abstained"
    return ErrorInfo(kind="JudgeError", message=f"the judge: {reason}", phase="evaluation")


def _matters(definition: Definition, checks: tuple[Check, ...], *, passed: bool) -> bool:
    """Return whether a defective query decided: one that failed, or any when all passed."""
    defective = _linted(definition.model_dump_json(by_alias=True))[1]
    if passed:
        return any(defective)
    return any(bad and not check.passed for bad, check in zip(defective, checks, strict=False))


def _fixed_side(
    task: Task, definition: Definition, evidence: StateEvidence
) -> dict[str, JsonValue] | None:
    """Return the score under the rewritten queries, to be recorded with the official one."""
    fixed = _fixed(definition)
    if fixed == definition or evidence.health == "incomplete":
        return None
    checks = checks_of_states(task, definition, evidence.states, EvaluationRules(queries="fixed"))
    changed: list[JsonValue] = [
        index
        for index, (before, after) in enumerate(zip(definition.evals, fixed.evals, strict=True))
        if before != after
    ]
    return {
        "score": float(all(check.passed for check in checks)),
        "passed": [check.passed for check in checks],
        "rewritten": changed,
    }


def _fixed(definition: Definition) -> Definition:
    return _linted(definition.model_dump_json(by_alias=True))[0]


@functools.lru_cache(maxsize=1024)
def _linted(definition: str) -> tuple[Definition, tuple[bool, ...]]:
    """Return a task with its rewritten queries, and for each of its own whether it is defective."""
    from multireal_harness.lint import lint_task  # reads the shipped shapes
    from multireal_harness.lint.report import fixed_definition
    from multireal_harness.states.schemas import shipped_schemas  # reads the shipped shapes

    known = Definition.model_validate_json(definition)
    schemas = shipped_schemas()
    bad = tuple(
        each.fatal or any(found.code == "null_agent_passes" for found in each.findings)
        for each in lint_task(known, schemas)
    )
    return fixed_definition(known, schemas), bad
