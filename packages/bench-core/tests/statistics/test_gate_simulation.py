"""The gate is right as often as it says; the full tables are in docs/coverage-tables.md."""

from __future__ import annotations

from collections import Counter
from statistics import NormalDist

import pytest
from simulations.gate import (
    simulate_alarms,
    simulate_gate,
    simulate_printed_power,
    tarone_least,
)
from simulations.populations import Population

from bench_core.statistics import tarone, within_task
from bench_core.statistics.array_tests import drop_p_values
from bench_core.statistics.permutation import power_of_counts
from bench_core.statistics.power_simulation import printed_power, simulated_power

np = pytest.importorskip("numpy", reason="simulations need the extra 'statistics'")

AGENT = Population(0.42, 0.5)
AGENTS = [AGENT, Population(0.42, 0.8), Population(0.1, 0.5), Population(0.9, 0.8)]
WAA_DOMAINS = (24, 19, 19, 5, 4, 3, 3, 21, 24, 17, 13, 2)


def consecutive(sizes: tuple[int, ...]) -> list[range]:
    ends = np.cumsum(sizes)
    return [range(end - size, end) for size, end in zip(sizes, ends, strict=True)]


def band(replications: int, cells: int) -> float:
    """What the highest of so many shares of a true 5% stays below, in 95 of 100 cases."""
    quantile = NormalDist().inv_cdf(1.0 - 0.05 / cells)
    return 0.05 + quantile * (0.05 * 0.95 / replications) ** 0.5


@pytest.mark.parametrize(
    ("tasks", "trials", "before"),
    [(2, 3, 3), (30, 5, 3), (154, 1, 1), (68, 3, 1)],
    ids=["two tasks", "fewer before", "one trial", "one before"],
)
def test_arrays_give_the_p_values_of_the_gate(tasks: int, trials: int, before: int) -> None:
    generator = np.random.default_rng(1)
    now = generator.binomial(trials, 0.4, (10, tasks))
    old = generator.binomial(before, 0.5, (10, tasks))
    p_values, attainable = drop_p_values(now, old, trials, before)
    for row in range(10):
        found = within_task(
            {t: [1.0] * now[row, t] + [0.0] * (trials - now[row, t]) for t in range(tasks)},
            {t: [1.0] * old[row, t] + [0.0] * (before - old[row, t]) for t in range(tasks)},
        )
        assert p_values[row] == pytest.approx(found.p_drop, abs=1e-10)
        assert attainable[row] == pytest.approx(found.attainable)


def test_arrays_are_adjusted_as_lists_are() -> None:
    generator = np.random.default_rng(2)
    attainable = generator.random((50, 6)) ** 3
    p_values = np.maximum(attainable, generator.random((50, 6)) ** 2)
    expected = [min(tarone(p, least)) for p, least in zip(p_values, attainable, strict=True)]
    assert tarone_least(p_values, attainable) == pytest.approx(np.array(expected))


def test_the_same_seed_simulates_the_same() -> None:
    how = {"tasks": 12, "trials": 2, "replications": 50}
    assert simulate_gate(AGENT, seed=1, **how) == simulate_gate(AGENT, seed=1, **how)
    assert simulate_gate(AGENT, seed=1, **how) != simulate_gate(AGENT, seed=2, **how)


CELLS = {
    "two tasks": (2, 3, ()),
    "seven tasks": (7, 3, ()),
    "multi-real": (68, 3, ()),
    "one trial": (154, 1, ()),
    "waa's domains": (154, 3, consecutive(WAA_DOMAINS)),
    "forty pairs": (80, 3, consecutive((2,) * 40)),
}


@pytest.mark.slow
@pytest.mark.parametrize("cell", CELLS)
def test_an_unchanged_agent_raises_an_alarm_in_at_most_a_twentieth_of_runs(cell: str) -> None:
    tasks, trials, slices = CELLS[cell]
    for agent in AGENTS:
        found = simulate_alarms(
            agent, tasks=tasks, trials=trials, slices=slices, replications=300, seed=5
        )
        assert found.alarms <= band(300, len(CELLS) * len(AGENTS))


def test_other_numbers_of_trials_before_raise_no_more_alarms() -> None:
    for trials, before in ((5, 3), (3, 1)):
        found = simulate_alarms(
            AGENT, tasks=68, trials=trials, baseline_trials=before, replications=1_000, seed=5
        )
        assert found.alarms <= band(1_000, 2)


@pytest.mark.slow
@pytest.mark.parametrize("loss", ["even", "concentrated"])
def test_a_drop_as_large_as_the_tolerance_is_rarely_called_fine(loss: str) -> None:
    for agent in AGENTS:
        found = simulate_gate(
            agent, tasks=68, trials=3, drop=0.05, loss=loss, replications=150, seed=5
        )
        assert found.fine <= band(150, 2 * len(AGENTS))
        assert found.regression + found.fine + found.undecided == pytest.approx(1.0)


def test_the_gate_finds_what_the_t_test_finds_and_concentrated_losses_better() -> None:
    even = simulate_alarms(AGENT, tasks=68, trials=3, drop=0.1, replications=400, seed=5)
    alone = simulate_alarms(
        AGENT, tasks=68, trials=3, drop=0.1, loss="concentrated", replications=400, seed=5
    )
    assert even.alarms >= even.alarms_t - 0.05
    assert alone.alarms > alone.alarms_t + 0.05


@pytest.mark.slow
@pytest.mark.parametrize(
    ("tasks", "trials", "before"),
    [(12, 3, 3), (30, 1, 1), (68, 3, 3), (68, 3, 1), (405, 3, 3)],
    ids=["few tasks", "one trial", "multi-real", "one trial before", "formula"],
)
def test_the_printed_power_is_the_realised_one(tasks: int, trials: int, before: int) -> None:
    how = {"tasks": tasks, "trials": trials, "baseline_trials": before, "seed": 5}
    drop = 0.1 if tasks <= 68 else 0.05
    printed = simulate_printed_power(AGENT, drop=drop, replications=1_500, **how)
    changed = simulate_alarms(AGENT, drop=drop, replications=1_500, **how)
    assert printed == pytest.approx(changed.alarms, abs=0.03)


def test_with_one_trial_before_printed_power_is_not_left_to_a_formula_at_258_tasks() -> None:
    totals = np.repeat([0, 1, 2, 3, 4], [134, 12, 12, 18, 82])
    kinds = Counter((3, 1, total) for total in totals.tolist())
    simulated = simulated_power(kinds, 0.05, 0.05)
    assert printed_power(kinds, 0.05, 0.05) == simulated
    assert power_of_counts(kinds, 0.05, 0.05) > simulated + 0.03


@pytest.mark.parametrize(("tasks", "trials"), [(12, 3), (30, 1), (30, 5)])
def test_what_the_gate_prints_is_simulated_or_near_it(tasks: int, trials: int) -> None:
    totals = np.random.default_rng(3).binomial(2 * trials, 0.6, tasks)
    kinds = Counter((trials, trials, total) for total in totals.tolist())
    conditional = trials > 1
    simulated = simulated_power(kinds, 0.15, 0.05, conditional=conditional, replications=2_000)
    assert power_of_counts(kinds, 0.15, 0.05, conditional=conditional) == pytest.approx(
        simulated, abs=0.06
    )
    assert printed_power(kinds, 0.15, 0.05, conditional=conditional) == simulated_power(
        kinds, 0.15, 0.05, conditional=conditional
    )
    mixed = kinds + Counter({(1, 2, 1): 1})
    assert printed_power(mixed, 0.15, 0.05) == power_of_counts(mixed, 0.15, 0.05)


def test_tasks_that_fail_both_times_have_no_power() -> None:
    assert simulated_power(Counter({(3, 3, 0): 9}), 0.1, 0.05) == 0.0


def test_alarms_of_one_trial_are_those_of_its_p_values() -> None:
    found = simulate_alarms(AGENT, tasks=20, trials=1, drop=0.2, replications=400, seed=3)
    pairs = [[2 * n, 2 * n + 1] for n in range(10)]
    among = simulate_alarms(
        AGENT, tasks=20, trials=1, drop=0.2, slices=pairs, replications=400, seed=3
    )
    assert found.alarms > among.alarms + 0.05


def test_slices_leave_fine_to_all_tasks_and_add_regressions() -> None:
    halves = [range(20), range(20, 40)]
    how = {"tasks": 40, "trials": 3, "drop": 0.2, "tolerance": 0.15, "replications": 200, "seed": 5}
    alone = simulate_gate(AGENT, loss="concentrated", **how)
    among = simulate_gate(AGENT, loss="concentrated", slices=halves, **how)
    assert among.fine <= alone.fine + 0.02
    assert among.regression + among.fine + among.undecided == pytest.approx(1.0)
    assert abs(among.regression - alone.regression) < 0.2


def test_a_drop_drawn_on_new_tasks_is_rarely_called_fine_for_these() -> None:
    agent = Population(0.9, 0.8)
    found = simulate_gate(
        agent,
        tasks=154,
        trials=3,
        drop=0.06,
        loss="drawn",
        tolerance=0.06,
        replications=300,
        seed=5,
    )
    assert found.fine_new_tasks <= band(300, 1)
    assert found.alarms > 0.5
