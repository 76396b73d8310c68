"""Tasks of Windows Agent Arena are really done on the desktop and scored by the real path."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import httpx
import pytest
from actions import Hands

from waa_server_ext.built_in import SimulatedDesktopWorld
from waa_server_ext.built_in.solutions import solutions

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from bench_core.agents import Action

_ALL = sorted(solutions())
_FEW = [
    "notepad/366de66e-cbae-4d72-b042-26390db2b145-WOS",
    "file_explorer/016c9a9d-f2b9-4428-8fdb-f74f4439ece6-WOS",
    "clock/02F10F89-7171-4D37-8550-A00BA8930CDF-WOS",
    "settings/46adf721-2949-4426-b069-010b7c128d8f-wos",
]


@pytest.fixture
def world() -> Iterator[SimulatedDesktopWorld]:
    made = SimulatedDesktopWorld()
    asyncio.run(made.start())
    yield made
    made.close()


def score_of(world: SimulatedDesktopWorld, task: str, actions: Sequence[Action]) -> dict[str, Any]:
    with httpx.Client(base_url=world.evaluate_url, timeout=300, trust_env=False) as server:
        setup = server.post("/setup", json={"task": task}).json()
        assert setup["ok"], setup
        hands = Hands(world.vm_url)
        hands.update([])
        for action in actions:
            hands.act(action)
        hands.close()
        answer = server.post(
            "/evaluate", json={"task": task, "action_history": [*hands.log, "DONE"]}
        )
    verdict: dict[str, Any] = answer.json()
    return verdict


def test_at_least_sixteen_tasks_of_seven_domains_can_be_done() -> None:
    assert len(_ALL) >= 16
    assert len({task.split("/")[0] for task in _ALL}) >= 7


@pytest.mark.parametrize("task", _FEW)
def test_a_task_done_by_element_scores_one(world: SimulatedDesktopWorld, task: str) -> None:
    verdict = score_of(world, task, solutions()[task].elements)
    assert (verdict["score"], verdict["evaluator"]) == (1.0, "native")


@pytest.mark.parametrize("task", _FEW)
def test_a_task_done_by_pixel_scores_one(world: SimulatedDesktopWorld, task: str) -> None:
    assert score_of(world, task, solutions()[task].pixels)["score"] == 1.0


@pytest.mark.parametrize("task", _FEW[2:])
def test_a_task_done_wrong_scores_zero(world: SimulatedDesktopWorld, task: str) -> None:
    assert score_of(world, task, solutions()[task].wrong)["score"] == 0.0


@pytest.mark.parametrize("task", _FEW[:2])
def test_a_task_not_done_scores_zero(world: SimulatedDesktopWorld, task: str) -> None:
    assert score_of(world, task, ())["score"] == 0.0


@pytest.mark.slow
@pytest.mark.parametrize("task", _ALL)
@pytest.mark.parametrize(
    ("which", "score"), [("elements", 1.0), ("pixels", 1.0), ("wrong", 0.0), ("nothing", 0.0)]
)
def test_every_solution_scores_what_it_should(
    world: SimulatedDesktopWorld, task: str, which: str, score: float
) -> None:
    actions = () if which == "nothing" else getattr(solutions()[task], which)
    verdict = score_of(world, task, actions)
    assert verdict["score"] == score, verdict["reason"]
