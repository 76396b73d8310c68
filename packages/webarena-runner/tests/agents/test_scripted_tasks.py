"""Real task ids in a real Chromium, scored by the real evaluator."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from bench_core.browser_use.scripted import answer, click, fill
from webarena_runner.agents import DoNothingAgent

if TYPE_CHECKING:
    from conftest import Trials

pytestmark = pytest.mark.browser

RIGHT = [0, 44, 45, 101, 132, 156, 157, 260, 274, 399, 404, 418, 491, 512, 595, 689, 790, 805, 807]


@pytest.mark.parametrize("task_id", RIGHT)
async def test_a_task_done_right_scores_one(trials: Trials, task_id: int) -> None:
    result = await trials.run(task_id)

    assert (result.status.value, result.score, result.error) == ("completed", 1.0, None)
    assert result.world == "built-in"


NAVIGATED = answer({"task_type": "NAVIGATE", "status": "SUCCESS"})
MUTATED = answer({"task_type": "MUTATE", "status": "SUCCESS"})
CATEGORY = click("Video Games", tag="a")


def _found(value: Any) -> Any:
    return answer({"task_type": "RETRIEVE", "status": "SUCCESS", "retrieved_data": [value]})


WRONG = {
    "another category": (260, [click("Headphones", tag="a"), NAVIGATED]),
    "one page too many": (260, [CATEGORY, click("Contact Us"), NAVIGATED]),
    "the wrong type": (260, [CATEGORY, MUTATED]),
    "the wrong number": (132, [_found(2)]),
    "prose around the answer": (0, [_found("The best seller is Quest Lumaflex™ Band")]),
    "a form left unsent": (399, [click("MarvelsGrantMan136"), click("Edit biography"), MUTATED]),
    "a form that was to stay unsent": (
        689,
        [
            click("Contact Us"),
            fill("I am a loyal customer, give me a coupon", name="comment"),
            click("Submit"),
            MUTATED,
        ],
    ),
    "only a claim": (404, [MUTATED]),
}


@pytest.mark.parametrize("how", WRONG)
async def test_a_task_done_wrong_scores_zero(trials: Trials, how: str) -> None:
    task_id, turns = WRONG[how]

    result = await trials.run(task_id, trials.playing(*turns))

    assert (result.status.value, result.score) == ("completed", 0.0)


async def test_doing_nothing_scores_zero(trials: Trials) -> None:
    result = await trials.run(260, DoNothingAgent())

    assert (result.status.value, result.score, result.steps) == ("completed", 0.0, 0)
