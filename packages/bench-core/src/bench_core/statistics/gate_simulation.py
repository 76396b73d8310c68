"""How often the gate is right, by simulation with a seed, all replications at once. Needs numpy.

The test and the limit are those of `gate`, written over arrays; the tests hold them against it.
"""

from __future__ import annotations

from collections import Counter
from functools import lru_cache
from typing import TYPE_CHECKING, Literal, NamedTuple

from bench_core.statistics.bootstrap import load_numpy
from bench_core.statistics.dirichlet import dirichlet_low
from bench_core.statistics.distributions import t_quantile
from bench_core.statistics.permutation import MISSED, hypergeometric, power_of_counts
from bench_core.statistics.simulation import simulate_chances

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    import numpy.typing as npt

    from bench_core.statistics.simulation import Population

    Whole = npt.NDArray[np.int64]
    Floats = npt.NDArray[np.float64]

__all__ = ["SimulatedGate", "drop_p_values", "simulate_alarms", "simulate_gate", "tarone_least"]

_PRINTED = 200
"""Replications whose printed power is computed; it differs little between them."""

Loss = Literal["even", "concentrated"]
"""All chances fall by one factor, or some tasks are never solved any more."""


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
        power: What the gate prints, in the mean.
    """

    alarms: float
    regression: float
    fine: float
    fine_new_tasks: float
    undecided: float
    alarms_t: float
    fine_t: float
    power: float


def simulate_gate(  # noqa: PLR0913 - a simulation is what its settings say
    population: Population,
    *,
    tasks: int,
    trials: int,
    baseline_trials: int | None = None,
    drop: float = 0.0,
    loss: Loss = "even",
    sizes: Sequence[int] | None = None,
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
        tolerance: As for `gate`.
        alpha: As for `gate`.
        replications: Simulated pairs of runs.
        seed: Seed of numpy's PCG64.

    Raises:
        MissingExtraError: numpy is not installed.

    >>> from bench_core.statistics.simulation import Population
    >>> found = simulate_gate(Population(0.42, 0.485), tasks=68, trials=3, replications=200)
    >>> found.alarms < 0.1
    True
    """
    numpy = load_numpy("a simulation")
    before_trials = baseline_trials or trials
    how = _How(population, tasks, trials, before_trials, sizes)
    now, before, generator = _runs(how, drop, loss, replications, seed)
    alarms = _least(now, before, how, ()) <= alpha
    differences = now / trials - before / before_trials
    worst = _worst_by_trial(now, before, how, alpha, generator)
    worst_new = _worst_by_cluster(differences, how.homes, alpha)
    low, high = _t_limits(differences, how.homes, alpha)
    printed = [
        power_of_counts(_kinds(row, trials, before_trials), tolerance, alpha)
        for row in (now + before)[:_PRINTED]
    ]
    small = worst > -tolerance
    regression = alarms & ~small
    return SimulatedGate(
        alarms=float(alarms.mean()),
        regression=float(regression.mean()),
        fine=float((small & ~regression).mean()),
        fine_new_tasks=float((worst_new > -tolerance).mean()),
        undecided=float((~small & ~regression).mean()),
        alarms_t=float((high < 0.0).mean()),
        fine_t=float((low > -tolerance).mean()),
        power=float(numpy.mean(printed)),
    )


def simulate_alarms(  # noqa: PLR0913 - as above
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
) -> float:
    """Return how often the gate finds a drop beyond chance, in all tasks or in a slice.

    Arguments as `simulate_gate`; with a drop of 0 every one is a false alarm. `slices` holds the
    places of the tasks of each.

    >>> from bench_core.statistics.simulation import Population
    >>> pairs = [[2 * n, 2 * n + 1] for n in range(20)]
    >>> agent = Population(0.42, 0.485)
    >>> simulate_alarms(agent, tasks=40, trials=3, slices=pairs, replications=200) < 0.1
    True
    """
    how = _How(population, tasks, trials, baseline_trials or trials, sizes)
    now, before, _ = _runs(how, drop, loss, replications, seed)
    return float((_least(now, before, how, slices) <= alpha).mean())


class _How(NamedTuple):
    population: Population
    tasks: int
    trials: int
    before_trials: int
    sizes: Sequence[int] | None

    @property
    def homes(self) -> list[int]:
        return [1] * self.tasks if self.sizes is None else list(self.sizes)


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
    now = generator.binomial(how.trials, _fallen(chances, drop, loss, generator))
    return now, before, generator


def _least(now: Whole, before: Whole, how: _How, slices: Sequence[Sequence[int]]) -> Floats:
    """Return the smallest adjusted p-value of each replication."""
    numpy = load_numpy("a simulation")
    parts = [numpy.arange(how.tasks), *(numpy.array(each) for each in slices)]
    tests = [
        drop_p_values(now[:, part], before[:, part], how.trials, how.before_trials)
        for part in parts
    ]
    p_values, attainable = (numpy.stack(each, axis=1) for each in zip(*tests, strict=True))
    return tarone_least(p_values, attainable)


def drop_p_values(
    now: Whole, before: Whole, trials: int, before_trials: int
) -> tuple[Floats, Floats]:
    """Return `within_task`'s one-sided p-values and the smallest attainable ones.

    Args:
        now: Successes of each task's new trials, shape (replications, tasks).
        before: The same of the baseline.
        trials: New trials per task.
        before_trials: Baseline trials per task.
    """
    numpy = load_numpy("a simulation")
    both = trials + before_trials
    totals = now + before
    counts = numpy.stack([(totals == total).sum(axis=1) for total in range(both + 1)], axis=1)
    least = numpy.array([max(0, total - before_trials) for total in range(both + 1)])
    widths = numpy.array([min(total, trials) for total in range(both + 1)]) - least
    means = numpy.array([trials * total / both for total in range(both + 1)]) - least
    middle, reach = counts @ means, numpy.sqrt(0.5 * MISSED * (counts @ widths**2))
    low = numpy.floor(middle - reach).clip(0).astype(int)
    size = int((numpy.minimum(counts @ widths, numpy.ceil(middle + reach)) - low).max()) + 1
    turns = 2.0 * numpy.pi * numpy.arange(1, size) / size
    value = numpy.exp(-1j * numpy.outer(low, turns))
    floor = numpy.zeros(len(counts))
    for total in range(1, both):
        chances = hypergeometric(trials, before_trials, total)
        at = numpy.polynomial.polynomial.polyval(numpy.exp(1j * turns), chances)
        value *= at[None, :] ** counts[:, total, None]
        floor += counts[:, total] * numpy.log(chances[0])
    position = now.sum(axis=1) - counts @ least
    terms = (position - low + 1).clip(0, size)
    series = (1.0 - numpy.exp(-1j * numpy.outer(terms, turns))) / (1.0 - numpy.exp(-1j * turns))
    found = ((value * series).real.sum(axis=1) + terms) / size
    attainable = numpy.exp(floor)
    return numpy.where(position == 0, attainable, found).clip(attainable, 1.0), attainable


def tarone_least(p_values: Floats, attainable: Floats) -> Floats:
    """Return the smallest of each row's p-values after `tarone`."""
    numpy = load_numpy("a simulation")
    competing = (attainable[:, None, :] <= p_values[:, :, None]).sum(axis=2)
    least: Floats = numpy.min(p_values * competing, axis=1).clip(0.0, 1.0)
    return least


def _fallen(chances: Floats, drop: float, loss: Loss, generator: np.random.Generator) -> Floats:
    """Return chances whose mean in every row has fallen by `drop`, or to 0 where it was less."""
    numpy = load_numpy("a simulation")
    if loss == "even":
        factor: Floats = (1.0 - drop / chances.mean(axis=1, keepdims=True)).clip(0.0)
        return chances * factor
    order = generator.random(chances.shape).argsort(axis=1)
    shuffled = numpy.take_along_axis(chances, order, axis=1)
    before = shuffled.cumsum(axis=1) - shuffled
    lost = (drop * chances.shape[1] - before).clip(0.0, shuffled)
    fallen: Floats = numpy.empty_like(chances)
    numpy.put_along_axis(fallen, order, shuffled - lost, axis=1)
    return fallen


def _worst_by_trial(
    now: Whole, before: Whole, how: _How, alpha: float, generator: np.random.Generator
) -> Floats:
    """Return the lower limits over pairs of trials, whose order within a task is chance."""
    numpy = load_numpy("a simulation")
    pairs = min(how.trials, how.before_trials)
    new = _shared_out(_ordered(now, how.trials, generator), pairs)
    old = _shared_out(_ordered(before, how.before_trials, generator), pairs)
    rows = numpy.round((new - old).reshape(len(now), -1), 9)
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


def _kinds(totals: Whole, trials: int, before_trials: int) -> Counter[tuple[int, int, int]]:
    return Counter((trials, before_trials, total) for total in totals.tolist())
