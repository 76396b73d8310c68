"""Trials that are scored again."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest
from sum_trials import RIGHT, WRONG, Sums

from bench_core.errors import EnvironmentFaultError, EvaluationError
from bench_core.records import AgentOutcome, Status
from bench_core.trial import Evaluation, rescore_trial

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize(
    "does", [RIGHT, WRONG, ValueError("bug"), AgentOutcome(status=Status.STEP_LIMIT, answer=4)],
    ids=["right", "wrong", "crashed", "out-of-steps"],
)  # fmt: skip
def test_scoring_again_gives_the_same_result_law(run: Any, tmp_path: Path, does: Any) -> None:
    first = run(does)
    again = asyncio.run(rescore_trial(Sums(), Sums().tasks()[0], first, tmp_path))
    assert again == first


def test_newer_rules_change_score_and_checks_and_nothing_else(run: Any, tmp_path: Path) -> None:
    first = run(WRONG)
    newer = Sums(evaluation=Evaluation(score=1.0, method="newer", profile="fixed"))
    again = asyncio.run(rescore_trial(newer, newer.tasks()[0], first, tmp_path))
    assert (again.score, again.method, again.profile) == (1.0, "newer", "fixed")
    assert (again.failure_mode, again.steps, again.artifacts) == (None, 2, first.artifacts)


def test_usage_that_nobody_metered_is_marked_when_scored_again(run: Any, tmp_path: Path) -> None:
    first = run(RIGHT)
    first = first.model_copy(update={"flags": (*first.flags, "usage_reported")})
    again = asyncio.run(rescore_trial(Sums(), Sums().tasks()[0], first, tmp_path))
    assert again.flags == first.flags


def test_a_trial_whose_agent_never_ended_cannot_be_scored_again(run: Any, tmp_path: Path) -> None:
    first = run(EnvironmentFaultError("the site is down"))
    with pytest.raises(EvaluationError, match="no end state"):
        asyncio.run(rescore_trial(Sums(), Sums().tasks()[0], first, tmp_path))
