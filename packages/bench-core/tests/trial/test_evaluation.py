"""`run_trial`: captures and evaluations that fail or cannot decide, and suspect scores."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import pytest
from sum_trials import RIGHT, WRONG, Sums

from bench_core.errors import BudgetExceededError, EnvironmentFaultError, EvaluationError
from bench_core.protocols import AgentProcessError
from bench_core.records import AgentOutcome, ErrorInfo, Status
from bench_core.records.vocabulary import FailureMode, SuspectCause
from bench_core.trial import Evaluation

if TYPE_CHECKING:
    from bench_core.trial import Evidence


@pytest.mark.parametrize(
    ("error", "status", "flag"),
    [
        (EnvironmentFaultError("no HAR"), Status.ENVIRONMENT_ERROR, "not_retried"),
        (KeyError("bug"), Status.ENVIRONMENT_ERROR, "harness_error"),
        (EvaluationError("undecided"), Status.EVALUATION_ERROR, None),
    ],
    ids=["fault", "bug", "undecided"],
)
def test_a_fault_of_the_capture_is_never_a_score_and_not_paid_for_twice(
    run: Any, error: Exception, status: Status, flag: str | None
) -> None:
    result = run(RIGHT, capture_error=error)
    assert (result.status, result.score, result.steps) == (status, None, 2)
    assert flag is None or flag in result.flags
    assert result.error.phase == "capture"


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (EnvironmentFaultError("evaluator gone"), Status.ENVIRONMENT_ERROR),
        (EvaluationError("undecided"), Status.EVALUATION_ERROR),
        (KeyError("bug of the evaluator"), Status.EVALUATION_ERROR),
        (BudgetExceededError("the judge spent it"), Status.BUDGET_EXCEEDED),
    ],
    ids=["gone", "undecided", "bug", "budget"],
)
def test_a_fault_of_the_evaluation_is_never_a_score(
    run: Any, error: Exception, status: Status
) -> None:
    result = run(RIGHT, evaluation=error)
    assert (result.status, result.score) == (status, None)
    assert result.ending.answer == 4
    assert ("not_retried" in result.flags) is isinstance(error, EnvironmentFaultError)


def test_an_evaluation_without_score_is_undecided(run: Any) -> None:
    result = run(RIGHT, evaluation=Evaluation(score=None))
    assert (result.status, result.failure_mode) == (
        Status.EVALUATION_ERROR, FailureMode.EVALUATION_ERROR,
    )  # fmt: skip


@pytest.mark.parametrize(
    "score", [math.nan, -math.inf, 1e308], ids=["nan", "infinite", "too large"]
)
def test_an_evaluation_with_what_is_no_score_is_undecided(run: Any, score: float) -> None:
    class Wrong(Sums):
        async def evaluate(self, evidence: Evidence) -> Evaluation:
            return Evaluation(score=score)

    result = run(RIGHT, benchmark=Wrong())
    assert (result.status, result.score) == (Status.EVALUATION_ERROR, None)
    assert "which is no score" in result.error.message


@pytest.mark.parametrize("does", [WRONG, ValueError("bug")], ids=["wrong", "crashed"])
def test_a_fault_that_the_evidence_shows_takes_the_place_of_the_ending(run: Any, does: Any) -> None:
    fault = ErrorInfo(kind="LoginExpired", message="signed out", phase="agent")
    evaluation = Evaluation(score=None, status=Status.ENVIRONMENT_ERROR, error=fault)
    result = run(does, evaluation=evaluation)
    assert (result.status, result.score, result.error) == (Status.ENVIRONMENT_ERROR, None, fault)


def test_a_trial_without_score_is_no_suspect(run: Any) -> None:
    evaluation = Evaluation(score=None, suspect=(SuspectCause.SITE_ERROR,))
    assert run(WRONG, evaluation=evaluation).suspect == ()


@pytest.mark.parametrize(
    ("answer", "suspect"), [(5, (SuspectCause.ENVIRONMENT_FAULT,)), (4, ())], ids=["wrong", "right"]
)
def test_a_failure_whose_agent_claims_a_fault_is_a_suspect(
    run: Any, answer: int, suspect: tuple[SuspectCause, ...]
) -> None:
    claims = AgentProcessError(ErrorInfo(kind="E", message="m"), ("agent_claims_fault",))
    assert run(claims, evaluation=Evaluation(score=float(answer == 4))).suspect == suspect


@pytest.mark.parametrize("flag", ["agent_claims_fault", "closed_browser", "imported", "x" * 999])
def test_an_agent_can_claim_no_flag_of_the_run(run: Any, flag: str) -> None:
    result = run(AgentOutcome(answer=5, flags=(flag, "gave_up")))
    assert result.flags == (f"agent-{flag[:80]}", "gave_up", "from_environment")
    assert result.suspect == ()


def test_a_suspect_keeps_its_score(run: Any) -> None:
    evaluation = Evaluation(
        score=0.0, suspect=(SuspectCause.SITE_ERROR,), failure_mode=FailureMode.SITE_ERROR
    )
    result = run(WRONG, evaluation=evaluation)
    assert (result.score, result.suspect) == (0.0, (SuspectCause.SITE_ERROR,))
    assert result.failure_mode is FailureMode.SITE_ERROR
