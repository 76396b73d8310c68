"""Sessions over the simulated desktop: scored as its runs are, on one desktop from episode to episode."""

from __future__ import annotations

import pytest

from bench_core import sessions
from bench_core.errors import InputError
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
