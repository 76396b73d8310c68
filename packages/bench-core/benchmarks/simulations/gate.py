"""How often the gate is right, by simulation with a seed, all replications at once. Needs numpy.

The test and the limit are those of `gate`, written over arrays; the tests compare them with it.
"""

from __future__ import annotations

from collections import Counter
from functools import lru_cache
from typing import TYPE_CHECKING, Literal, NamedTuple

from bench_core.statistics.array_tests import drop_p_values, finds_in_one_trial
from bench_core.statistics.bootstrap import load_numpy
from bench_core.statistics.dirichlet import dirichlet_low
from bench_core.statistics.distributions import t_quantile
from bench_core.statistics.multiplicity import tarone
from bench_core.statistics.one_trial import MOST_TASKS
from bench_core.statistics.power_simulation import (
    MOST_SIMULATED,
    finds_of_totals,
    printed_power,
)
from simulations.populations import simulate_chances

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    import numpy.typing as npt

    from simulations.populations import Population

    Whole = npt.NDArray[np.int64]
    Floats = npt.NDArray[np.float64]
    Found = npt.NDArray[np.bool_]

__all__ = [
    "SimulatedAlarms",
    "SimulatedGate",
    "simulate_alarms",
    "simulate_changes",
    "simulate_gate",
    "simulate_printed_power",
]

Loss = Literal["even", "concentrated", "drawn"]
"""All chances fall by one factor; some of these tasks are never solved any more; or each of all tasks there
are is with one chance, so that the rate falls on new tasks, and on these more or less."""


class SimulatedGate(NamedTuple):
    """Shares of replications by what was found.

    Attributes:
        alarms: A drop beyond chance.
        regression: The same, and not shown to be smaller than the tolerance.
        fine: A drop beyond the tolerance ruled out on these tasks.
        fine_new_tasks: The same on new tasks of this kind.
        undecided: Neither regression nor fine on these tasks.
        alarms_t: What the one-sided paired t test over all tasks finds.
        fine_t: Where its lower limit lies above -tolerance.
    """

    alarms: float
    regression: float
    fine: float
    fine_new_tasks: float
    undecided: float
    alarms_t: float
    fine_t: float


def simulate_gate(
    population: Population,
    *,
    tasks: int,
    trials: int,
    baseline_trials: int | None = None,
    drop: float = 0.0,
    loss: Loss = "even",
    sizes: Sequence[int] | None = None,
    slices: Sequence[Sequence[int]] = (),
    tolerance: float = 0.05,
    alpha: float = 0.05,
    replications: int = 1_000,
    seed: int = 0,
) -> SimulatedGate:
    """Return how often the gate decides what when an agent's rate on these tasks falls by `drop`.

    A drop of 0 is the same agent run again: its alarms are false. The rate of the tasks drawn falls by
    exactly `drop` (or to 0), so that `fine` is false when that is the tolerance.

    Args:
        population: Where tasks come from.
        tasks: Tasks of the benchmark.
        trials: Trials per task now, and before where `baseline_trials` is absent.
        baseline_trials: Trials per task before.
        drop: True fall of the rate on the tasks drawn.
        loss: How it is spread over them.
        sizes: Number of tasks of each template; every task its own where absent.
        slices: The places of the tasks of each slice that is tested, too.
        tolerance: As for `gate`.
        alpha: As for `gate`.
        replications: Simulated pairs of runs.
        seed: Seed of numpy's PCG64.

    Raises:
        MissingExtraError: numpy is not installed.

    >>> from simulations.populations import Population
    >>> found = simulate_gate(Population(0.42, 0.485), tasks=68, trials=3, replications=200)
    >>> found.alarms < 0.1
    True
    """
    how = _How(population, tasks, trials, baseline_trials or trials, sizes, slices, alpha)
    now, before, generator = _runs(how, drop, loss, replications, seed)
    tested = _tested(now, before, how)
    differences = _differences(now, before, how)
    pairs = _pairs(now, before, how, generator)
    small = _lows(pairs, alpha) > -tolerance
    regression = _regressed(tested, pairs, how, tolerance, small)
    worst_new = _worst_by_cluster(differences, how.homes, alpha)
    low, high = _t_limits(differences, how.homes, alpha)
    return SimulatedGate(
        alarms=float(tested.alarms.mean()),
        regression=float(regression.mean()),
        fine=float((small & ~regression).mean()),
        fine_new_tasks=float(((worst_new > -tolerance) & ~regression).mean()),
        undecided=float((~small & ~regression).mean()),
        alarms_t=float((high < 0.0).mean()),
        fine_t=float((low > -tolerance).mean()),
    )


class SimulatedAlarms(NamedTuple):
    """Shares of replications in which a drop was found in all tasks or a slice.

    Attributes:
        alarms: By the gate.
        alarms_t: By one-sided paired t tests over clusters, adjusted by Bonferroni.
    """

    alarms: float
    alarms_t: float


def simulate_alarms(
    population: Population,
    *,
    tasks: int,
    trials: int,
    baseline_trials: int | None = None,
    drop: float = 0.0,
    loss: Loss = "even",
    sizes: Sequence[int] | None = None,
    slices: Sequence[Sequence[int]] = (),
    alpha: float = 0.05,
    replications: int = 1_000,
    seed: int = 0,
) -> SimulatedAlarms:
    """Return how often the gate finds a drop beyond chance, and how often t tests do in the same runs.

    Arguments as `simulate_gate`; with a drop of 0 every alarm is a false one.

    >>> from simulations.populations import Population
    >>> pairs = [[2 * n, 2 * n + 1] for n in range(20)]
    >>> agent = Population(0.42, 0.485)
    >>> simulate_alarms(agent, tasks=40, trials=3, slices=pairs, replications=200).alarms < 0.1
    True
    """
    numpy = load_numpy("a simulation")
    how = _How(population, tasks, trials, baseline_trials or trials, sizes, slices, alpha)
    now, before, _ = _runs(how, drop, loss, replications, seed)
    differences = _differences(now, before, how)
    level = alpha / (1 + len(slices))
    found_t = _t_limits(differences, how.homes, level)[1] < 0.0
    for part in slices:
        # single tasks: slices cut through templates, and those here are of few tasks
        _, high = _t_limits(differences[:, numpy.array(part)], [1] * len(part), level)
        found_t |= high < 0.0
    found = _tested(now, before, how).alarms
    return SimulatedAlarms(float(found.mean()), float(found_t.mean()))


def simulate_printed_power(
    population: Population,
    *,
    tasks: int,
    trials: int,
    drop: float,
    baseline_trials: int | None = None,
    sizes: Sequence[int] | None = None,
    alpha: float = 0.05,
    replications: int = 1_000,
    seed: int = 0,
) -> float:
    """Return the power to find an even `drop` that the gate prints, in the mean.

    It is printed from two runs of the agent unchanged. Arguments as `simulate_gate`.
    """
    numpy = load_numpy("a simulation")
    how = _How(population, tasks, trials, baseline_trials or trials, sizes, (), alpha)
    now, before, generator = _runs(how, 0.0, "even", replications, seed)
    conditional = not how.one_trial_each
    if tasks <= MOST_SIMULATED:
        # one draw of each printed power: its mean is that of more, which cost more than further runs
        found = finds_of_totals(
            now + before, how.trials, how.before_trials, drop, alpha, generator,
            conditional=conditional,
        )  # fmt: skip
        return float(found.mean())
    printed = [
        printed_power(
            Counter((how.trials, how.before_trials, total) for total in row.tolist()), drop, alpha,
            conditional=conditional,
        )
        for row in now + before
    ]  # fmt: skip
    return float(numpy.mean(printed))


def simulate_changes(
    population: Population,
    *,
    tasks: int,
    drop: float = 0.0,
    loss: Loss = "even",
    replications: int = 1_000,
    seed: int = 0,
) -> Counter[tuple[int, int]]:
    """Count how many of the tasks, of one trial each, changed and how many of these got worse.

    Arguments as `simulate_gate`.
    """
    now, before, _ = _runs(_How(population, tasks, 1, 1), drop, loss, replications, seed)
    changed, worse = (now != before).sum(axis=1), (now < before).sum(axis=1)
    return Counter(zip(changed.tolist(), worse.tolist(), strict=True))


class _How(NamedTuple):
    population: Population
    tasks: int
    trials: int
    before_trials: int
    sizes: Sequence[int] | None = None
    slices: Sequence[Sequence[int]] = ()
    alpha: float = 0.05

    @property
    def homes(self) -> list[int]:
        return [1] * self.tasks if self.sizes is None else list(self.sizes)

    @property
    def one_trial_each(self) -> bool:
        one = self.trials == self.before_trials == 1
        return one and self.tasks <= MOST_TASKS and not self.slices


def _runs(
    how: _How, drop: float, loss: Loss, replications: int, seed: int
) -> tuple[Whole, Whole, np.random.Generator]:
    """Return the successes of each task now and before, shape (replications, tasks)."""
    numpy = load_numpy("a simulation")
    generator = numpy.random.Generator(numpy.random.PCG64(seed))
    chances = numpy.stack(
        [simulate_chances(how.population, how.homes, generator) for _ in range(replications)]
    )
    before = generator.binomial(how.before_trials, chances)
    now = generator.binomial(
        how.trials, _fallen(chances, drop, loss, how.population.rate, generator)
    )
    return now, before, generator


class _Tested(NamedTuple):
    """Whether each replication shows a drop beyond chance in some part, and the tests of the parts."""

    alarms: Found
    p_values: Floats
    attainable: Floats
    parts: list[Whole]


def _tested(now: Whole, before: Whole, how: _How) -> _Tested:
    numpy = load_numpy("a simulation")
    parts = [numpy.arange(how.tasks), *(numpy.array(each) for each in how.slices)]
    if how.one_trial_each:
        found = finds_in_one_trial(now, before, how.alpha)
        nothing = numpy.zeros((len(now), 1))
        return _Tested(found, numpy.where(found[:, None], 0.0, 1.0), nothing, parts)
    tests = [
        drop_p_values(now[:, part], before[:, part], how.trials, how.before_trials)
        for part in parts
    ]
    p_values, attainable = (numpy.stack(each, axis=1) for each in zip(*tests, strict=True))
    alarms: Found = tarone_least(p_values, attainable) <= how.alpha
    return _Tested(alarms, p_values, attainable, parts)


def _regressed(tested: _Tested, pairs: Floats, how: _How, tolerance: float, small: Found) -> Found:
    """Return whether a part dropped beyond chance, and by no less than the tolerance as far as is shown."""
    found: Found = tested.alarms & ~small
    if not how.slices:
        return found
    for row in tested.alarms.nonzero()[0]:
        adjusted = tarone(tested.p_values[row].tolist(), tested.attainable[row].tolist())
        dropped = [
            pairs[row, part]
            for part, p_value in zip(tested.parts, adjusted, strict=True)
            if p_value <= how.alpha
        ]
        found[row] = any(_lows(each[None], how.alpha)[0] <= -tolerance for each in dropped)
    return found


def _differences(now: Whole, before: Whole, how: _How) -> Floats:
    differences: Floats = now / how.trials - before / how.before_trials
    return differences


def _fallen(
    chances: Floats, drop: float, loss: Loss, rate: float, generator: np.random.Generator
) -> Floats:
    """Return chances whose mean in every row has fallen by `drop`, or to 0 where it was less.

    With `drawn` the mean over new tasks, which was `rate`, has.
    """
    numpy = load_numpy("a simulation")
    if loss == "even":
        factor: Floats = (1.0 - drop / chances.mean(axis=1, keepdims=True)).clip(0.0)
        return chances * factor
    if loss == "drawn":
        kept: Floats = numpy.where(generator.random(chances.shape) < drop / rate, 0.0, chances)
        return kept
    order = generator.random(chances.shape).argsort(axis=1)
    shuffled = numpy.take_along_axis(chances, order, axis=1)
    before = shuffled.cumsum(axis=1) - shuffled
    lost = (drop * chances.shape[1] - before).clip(0.0, shuffled)
    fallen: Floats = numpy.empty_like(chances)
    numpy.put_along_axis(fallen, order, shuffled - lost, axis=1)
    return fallen


def _pairs(now: Whole, before: Whole, how: _How, generator: np.random.Generator) -> Floats:
    """Return new minus old of each pair of trials, whose order within a task is chance.

    The shape is (replications, tasks, pairs).
    """
    numpy = load_numpy("a simulation")
    pairs = min(how.trials, how.before_trials)
    new = _shared_out(_ordered(now, how.trials, generator), pairs)
    old = _shared_out(_ordered(before, how.before_trials, generator), pairs)
    rounded: Floats = numpy.round(new - old, 9)
    return rounded


def _lows(pairs: Floats, alpha: float) -> Floats:
    """Return the lower limits over pairs of trials."""
    numpy = load_numpy("a simulation")
    rows = pairs.reshape(len(pairs), -1)
    found: Floats = numpy.array([_low(_counted(row), alpha) for row in rows])
    return found


def _ordered(successes: Whole, trials: int, generator: np.random.Generator) -> Floats:
    """Return outcomes in random order, shape (replications, tasks, trials)."""
    numpy = load_numpy("a simulation")
    ranks = generator.random((*successes.shape, trials)).argsort(axis=2)
    outcomes: Floats = (ranks < successes[:, :, None]).astype(numpy.float64)
    return outcomes


def _shared_out(outcomes: Floats, pairs: int) -> Floats:
    numpy = load_numpy("a simulation")
    means = [outcomes[:, :, k::pairs].mean(axis=2) for k in range(pairs)]
    stacked: Floats = numpy.stack(means, axis=2)
    return stacked


def _worst_by_cluster(differences: Floats, sizes: Sequence[int], alpha: float) -> Floats:
    numpy = load_numpy("a simulation")
    starts = numpy.cumsum([0, *sizes[:-1]])
    totals = numpy.round(numpy.add.reduceat(differences, starts, axis=1), 9)
    found: Floats = numpy.array([_low(_counted(row, sizes), alpha) for row in totals])
    return found


_Counted = tuple[tuple[tuple[float, int], int], ...]


def _counted(row: Floats, sizes: Sequence[int] | None = None) -> _Counted:
    counts: dict[tuple[float, int], int] = {}
    for unit in zip(row.tolist(), sizes or [1] * len(row), strict=True):
        counts[unit] = counts.get(unit, 0) + 1
    return tuple(sorted(counts.items()))


@lru_cache(maxsize=100_000)
def _low(counted: _Counted, alpha: float) -> float:
    units = [unit for unit, times in counted for _ in range(times)]
    return dirichlet_low([t for t, _ in units], [float(s) for _, s in units], alpha=alpha)


def _t_limits(differences: Floats, sizes: Sequence[int], alpha: float) -> tuple[Floats, Floats]:
    """Return the ends of the paired t interval over clusters, each with confidence 1 - alpha."""
    numpy = load_numpy("a simulation")
    starts = numpy.cumsum([0, *sizes[:-1]])
    mean = differences.mean(axis=1, keepdims=True)
    totals = numpy.add.reduceat(differences - mean, starts, axis=1) / differences.shape[1]
    clusters = len(sizes)
    error = numpy.sqrt((totals**2).sum(axis=1) * clusters / (clusters - 1))
    half = t_quantile(1.0 - alpha, clusters - 1) * error
    return mean[:, 0] - half, mean[:, 0] + half


def tarone_least(p_values: Floats, attainable: Floats) -> Floats:
    """Return the smallest of each row's p-values after `tarone`."""
    numpy = load_numpy("a simulation")
    competing = (attainable[:, None, :] <= p_values[:, :, None]).sum(axis=2)
    least: Floats = numpy.min(p_values * competing, axis=1).clip(0.0, 1.0)
    return least
