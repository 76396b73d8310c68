"""Sessions over the simulated desktop: scored as its runs are, on one desktop from episode to episode."""

from __future__ import annotations

import asyncio
from contextlib import ExitStack
from typing import Any

import pytest

from bench_core import sessions
from bench_core.errors import InputError
from waa_client.world.launch import built_in_world
from waa_server_ext.built_in import SimulatedDesktopWorld

SOLUTIONS = SimulatedDesktopWorld.solutions()
TASKS = sorted(SOLUTIONS)[:2]


def test_solutions_are_rewarded_and_doing_nothing_is_not() -> None:
    with sessions.open("waa") as session:
        assert len(session.tasks()) == len(SOLUTIONS)
        for task in TASKS:
            session.reset(task)
            for action in SOLUTIONS[task].elements:
                assert session.step(action).reward == 0.0
            assert session.step({"kind": "done"}).reward == 1.0
            # the desktop is the one on which the task has just been solved: its reset counts
            session.reset(task)
            assert session.score().score == 0.0


def test_options_of_the_benchmark_are_checked() -> None:
    with (
        sessions.open("waa", options={"nonsense": 1}) as session,
        pytest.raises(InputError, match="no option is called 'nonsense'"),
    ):
        session.reset()


def test_a_desktop_at_a_url_that_dies_costs_only_its_own_session_its_reward() -> None:
    """Each session takes a desktop of its own of the two that all are told of."""
    with ExitStack() as serving:
        worlds = [built_in_world()() for _ in range(2)]
        urls = [dict(asyncio.run(world.start()).urls) for world in worlds]
        for world in worlds:
            serving.callback(world.close)
        options = {
            "vms": [each["vm"] for each in urls],
            "evaluators": [each["evaluate"] for each in urls],
            "tasks_dir": str(worlds[0].tasks_folder()),
        }
        group = serving.enter_context(
            sessions.open_many("waa", 2, world="real", reset_s=60, options=options)
        )
        seen: list[Any] = group.reset([TASKS[0]] * 2)
        worlds[0].close()
        for action in (*SOLUTIONS[TASKS[0]].elements, {"kind": "done"}):
            alive = [isinstance(each, sessions.SessionStep) for each in seen]
            done = group.step([action if each else None for each in alive])
            seen = [new if each else old for old, new, each in zip(seen, done, alive, strict=True)]
        ends = [
            each.reward if isinstance(each, sessions.SessionStep) else each.kind for each in seen
        ]
        assert sorted(map(str, ends)) == ["1.0", "environment_error"], seen
        begun = [isinstance(each, sessions.SessionStep) for each in group.reset([TASKS[0]] * 2)]
        assert sorted(begun) == [False, True]  # one desktop is left
