"""Scoring again with a stored judgement, without a judge and without a browser."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from bench_core.errors import EvaluationError
from bench_core.records.judge import Verdict
from multireal_harness.definitions import Definition, definition_of
from multireal_harness.evaluation import EvaluationRules
from multireal_harness.tasks import task_of

if TYPE_CHECKING:
    from bench_core.records import Task
    from bench_core.records.judge import JudgeCase

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]

TASK = "dining-mail-1"
RUBRIC = "Does the answer name the restaurant?"


class Grader:
    """A judge that gives answers a fixed grade, and passes end states that queries refuse."""

    name = "grader"

    def __init__(self, grade: Any) -> None:
        self._grade = grade

    async def judge(self, case: JudgeCase) -> Verdict:
        graded = case.criteria[0].text == RUBRIC
        outcome = self._grade if graded else "pass"
        return Verdict(case_id=case.case_id, judge=self.name, outcome=outcome, cost_usd=0.25)


def with_graded_answer(task: Task) -> Task:
    definition = definition_of(task)
    rubric = {"type": "llm_boolean", "rubric": RUBRIC}
    evals = [*(each.model_dump() for each in definition.evals), rubric]
    raw = definition.model_dump(mode="json", by_alias=True) | {"evals": evals}
    return task_of(Definition.model_validate(raw))


@pytest.mark.parametrize(
    ("solution", "grade", "score"),
    [("good", "pass", 1.0), ("good", "fail", 0.0), ("second_best", "pass", 1.0)],
    ids=["passed", "refused", "lifted"],
)
async def test_answer_graded_once_is_scored_again_without_a_judge(
    runner: Any, solution: str, grade: str, score: float
) -> None:
    runner.tasks[TASK] = with_graded_answer(runner.tasks[TASK])
    rules = EvaluationRules(judge=Grader(grade))
    result = await runner.run(TASK, solution=solution, rules=rules, name="graded")
    assert result.score == score
    assert result.checks[-1].decided_by == "judge"
    assert result.details["answer_grades"]["2"]["cost_usd"] == 0.25
    again = await runner.rescore(TASK, result, "graded")
    assert (again.score, again.checks, again.flags) == (score, result.checks, result.flags)


async def test_a_lost_file_of_grades_is_told(runner: Any) -> None:
    runner.tasks[TASK] = with_graded_answer(runner.tasks[TASK])
    result = await runner.run(TASK, rules=EvaluationRules(judge=Grader("fail")), name="old")
    (runner.folder / "old" / "answer_grades.json").unlink()
    with pytest.raises(EvaluationError, match="--judge"):
        await runner.rescore(TASK, result, "old")
