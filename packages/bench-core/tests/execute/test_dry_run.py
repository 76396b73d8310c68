"""What a dry run shows."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from toy_benchmark import SPEC, Toy, run

from bench_core.errors import InputError
from bench_core.runs import plan_run
from bench_core.runs.capacity import Machines
from bench_core.runs.opening import check_run

if TYPE_CHECKING:
    from pathlib import Path


def test_a_dry_run_shows_the_plan_and_writes_nothing(toy: Toy, out: Path) -> None:
    plan = plan_run(toy, SPEC.model_copy(update={"trials": 2, "workers": 4}), out)
    assert (plan.planned, plan.done, plan.to_run, plan.continues) == (8, 0, 8, False)
    assert [(r.name, r.shared, r.exclusive) for r in plan.resources] == [("toy", 4, 4)]
    assert plan.speed_up == 8 / 5  # four alone, the other four together
    assert plan.at_most_s == 5 * 180
    assert plan.expected_s is None
    assert not out.exists()


def test_a_dry_run_says_where_more_machines_stop_helping(toy: Toy, out: Path) -> None:
    spec = SPEC.model_copy(update={"trials": 2, "workers": 2})
    machines = Machines(price=0.5, start_s=600.0)
    plan = plan_run(toy, spec, out, machines=machines, trial_s=60.0)
    # four trials need the resource alone, one after another; four share it
    assert plan.enough_workers == 4
    found = [(c.workers, c.speed_up, c.expected_s, c.at_most_s) for c in plan.capacities]
    assert found == [
        (1, 1.0, 600 + 8 * 60, 600 + 8 * 180),
        (2, 8 / 6, 600 + 6 * 60, 600 + 6 * 180),
        (4, 8 / 5, 600 + 5 * 60, 600 + 5 * 180),
    ]
    assert [round(c.expected_dollars or 0.0, 4) for c in plan.capacities] == [0.15, 0.2667, 0.5]
    assert [c.at_most_dollars for c in plan.capacities] == [
        c.workers * 0.5 * (c.at_most_s or 0.0) / 3600 for c in plan.capacities
    ]
    assert plan.expected_s == 600 + 6 * 60


async def test_a_dry_run_of_a_finished_run_needs_no_machines(toy: Toy, out: Path) -> None:
    await run(toy, out)
    plan = plan_run(toy, SPEC, out)
    assert (plan.to_run, plan.capacities, plan.enough_workers) == (0, (), None)


async def test_a_dry_run_counts_what_is_done(out: Path) -> None:
    await run(Toy("1"), out)
    plan = plan_run(Toy(), SPEC, out)
    assert (plan.planned, plan.done, plan.to_run, plan.continues) == (4, 3, 1, True)
    assert plan.expected_s is not None


@pytest.mark.parametrize(
    ("agent", "option", "has"),
    [
        ("tool-calling", "dialect", "base_url, context_window, images, marks, pictures"),
        ("computer-use", "tool", "base_url, context_window, dialect, images, marks"),
    ],
)
def test_an_option_that_the_agent_does_not_have_is_refused(
    toy: Toy, out: Path, agent: str, option: str, has: str
) -> None:
    config = {"agent_options": {option: "x"}}
    spec = SPEC.model_copy(update={"agent": agent, "model": "scripted:x", "config": config})
    with pytest.raises(
        InputError, match=f"the agent '{agent}' has no option '{option}': it has {has}"
    ):
        check_run(toy, spec, out)
