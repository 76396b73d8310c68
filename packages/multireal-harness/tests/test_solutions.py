from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from multireal_harness.world import load_solutions

if TYPE_CHECKING:
    from multireal_harness.world import Solution

SOLUTIONS = load_solutions()


def test_every_built_in_task_has_a_good_and_a_bad_solution(task_ids: set[str]) -> None:
    assert {each.task for each in SOLUTIONS} == task_ids
    assert len(task_ids) >= 10
    for task in task_ids:
        outcomes = {each.passes for each in SOLUTIONS if each.task == task}
        assert outcomes == {True, False}


@pytest.fixture
def task_ids() -> set[str]:
    from multireal_harness.tasks import load_tasks

    return {task.task_id.removeprefix("multi.") for task in load_tasks("built-in")}


@pytest.mark.browser
@pytest.mark.asyncio(loop_scope="session")
async def test_good_solutions_pass_and_bad_ones_fail(runner: Any) -> None:
    wrong = {}
    for solution in SOLUTIONS:
        result = await runner.run(solution.task, solution=solution.name)
        if (result.status.value, result.success) != ("completed", solution.passes):
            wrong[f"{solution.task} {solution.name}"] = _why(solution, result)
        elif result.integrity.state != "clean":
            wrong[f"{solution.task} {solution.name}"] = str(result.integrity)
    assert wrong == {}


@pytest.mark.browser
@pytest.mark.asyncio(loop_scope="session")
async def test_doing_nothing_fails_every_task(runner: Any) -> None:
    scores = {task: (await runner.run(task, "do-nothing")).score for task in list(runner.tasks)[:4]}
    assert set(scores.values()) == {0.0}


def _why(solution: Solution, result: Any) -> str:
    failed = [check.criterion for check in result.checks if not check.passed]
    return (
        f"{result.status.value} {result.score}, wanted {solution.passes}: {failed} {result.error}"
    )
