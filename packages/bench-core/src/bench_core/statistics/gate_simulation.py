"""How often the gate is right, by simulation with a seed, all replications at once. Needs numpy.

The test and the limit are those of `gate`, written over arrays; the tests compare them with it.
"""

from __future__ import annotations

import math
from collections import Counter
from contextlib import suppress
from functools import lru_cache
from typing import TYPE_CHECKING, Literal, NamedTuple

from bench_core.errors import MissingExtraError
from bench_core.statistics.bootstrap import load_numpy
from bench_core.statistics.dirichlet import dirichlet_low
from bench_core.statistics.distributions import t_quantile
from bench_core.statistics.one_trial import MOST_TASKS, critical_mid_p, mid_p
from bench_core.statistics.permutation import (
    MISSED,
    TIE_STEPS,
    TIED_TASKS,
    hypergeometric,
    power_of_counts,
)
from bench_core.statistics.simulation import simulate_chances

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy as np
    import numpy.typing as npt

    from bench_core.statistics.simulation import Population

    Whole = npt.NDArray[np.int64]
    Floats = npt.NDArray[np.float64]

__all__ = [
    "SimulatedGate",
    "SimulatedPower",
    "drop_p_values",
    "printed_power",
    "simulate_alarms",
    "simulate_changes",
    "simulate_gate",
    "simulate_power",
    "simulated_power",
    "tarone_least",
]

_PRINTED, _PRINTED_REPLICATIONS = 100, 20
"""Replications whose printed power is computed, and how often each simulates; it differs little between
them."""
_SIMULATED = 200
"""Up to so many tasks power is simulated: approximations are rough there, and it is fast."""
_POWER_REPLICATIONS = 500
_PAIR = 2
_MOST_ROOTS = 2_000_000
"""Roots of unity of all replications computed at once; some 100 MB."""
_NEVER = 1e-200
"""Added to where a transform vanishes, so that it has a logarithm."""

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
    before_trials = baseline_trials or trials
    how = _How(population, tasks, trials, before_trials, sizes)
    now, before, generator = _runs(how, drop, loss, replications, seed)
    alarms = _alarms(now, before, how, (), alpha)
    differences = now / trials - before / before_trials
    worst = _worst_by_trial(now, before, how, alpha, generator)
    worst_new = _worst_by_cluster(differences, how.homes, alpha)
    low, high = _t_limits(differences, how.homes, alpha)
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
        power=_printed(now + before, how, tolerance, alpha),
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

    Arguments as `simulate_gate`; with a drop of 0 every one is a false alarm. `slices` has the
    places of the tasks of each.

    >>> from bench_core.statistics.simulation import Population
    >>> pairs = [[2 * n, 2 * n + 1] for n in range(20)]
    >>> agent = Population(0.42, 0.485)
    >>> simulate_alarms(agent, tasks=40, trials=3, slices=pairs, replications=200) < 0.1
    True
    """
    how = _How(population, tasks, trials, baseline_trials or trials, sizes)
    now, before, _ = _runs(how, drop, loss, replications, seed)
    return float(_alarms(now, before, how, slices, alpha).mean())


def printed_power(  # noqa: PLR0913 - as above
    kinds: Counter[tuple[int, int, int]],
    drop: float,
    alpha: float,
    *,
    conditional: bool = True,
    replications: int = _POWER_REPLICATIONS,
    seed: int = 0,
) -> float:
    """Return the power that a gate prints: simulated where tasks are few, else `power_of_counts`.

    Arguments as `simulated_power`. Where numbers of trials differ between tasks, or numpy is not
    installed, nothing is simulated.
    """
    alike = len({(now, before) for now, before, _ in kinds}) == 1
    if alike and kinds.total() <= _SIMULATED:
        with suppress(MissingExtraError):
            return simulated_power(
                kinds, drop, alpha,
                conditional=conditional, replications=replications, seed=seed,
            )  # fmt: skip
    return power_of_counts(kinds, drop, alpha, conditional=conditional)


def simulated_power(  # noqa: PLR0913 - as above
    kinds: Mapping[tuple[int, int, int], int],
    drop: float,
    alpha: float,
    *,
    conditional: bool = True,
    replications: int = _POWER_REPLICATIONS,
    seed: int = 0,
) -> float:
    """Return how likely a fall of the mean by `drop` is significant at `alpha`, by simulation.

    Trials are shared out anew between before and now, and of the new successes each is lost with one
    chance: just how an agent with these totals would do whose chances all fell by one factor.

    Args:
        kinds: How many tasks have so many new trials, baseline trials and successes in all; the
            numbers of trials of all tasks are alike.
        drop: Fall of the mean.
        alpha: Level of the test.
        conditional: As for `within_task`.
        replications: Pairs of runs.
        seed: Seed of numpy's PCG64.

    >>> simulated_power({(3, 3, 6): 30, (3, 3, 0): 10}, 0.1, 0.05) > 0.8
    True
    """
    numpy = load_numpy("a simulation")
    ((trials, before_trials),) = {(now, before) for now, before, _ in kinds}
    totals = numpy.repeat([total for *_, total in kinds], list(kinds.values()))
    generator = numpy.random.Generator(numpy.random.PCG64(seed))
    failures = trials + before_trials - totals
    shape = (replications, len(totals))
    now = generator.hypergeometric(totals, failures, trials, shape)
    lost = min(1.0, drop / max(drop, totals.mean() / (trials + before_trials), _NEVER))
    fallen = generator.binomial(now, 1.0 - lost)
    if not conditional and trials == before_trials == 1 and len(totals) <= MOST_TASKS:
        return float(_alarms_of_one_trial(fallen, totals - now, alpha).mean())
    p_values, _ = drop_p_values(fallen, totals - now, trials, before_trials)
    return float((p_values <= alpha).mean())


class _How(NamedTuple):
    population: Population
    tasks: int
    trials: int
    before_trials: int
    sizes: Sequence[int] | None

    @property
    def homes(self) -> list[int]:
        return [1] * self.tasks if self.sizes is None else list(self.sizes)

    @property
    def one_trial_each(self) -> bool:
        return self.trials == self.before_trials == 1 and self.tasks <= MOST_TASKS


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


def _alarms(
    now: Whole, before: Whole, how: _How, slices: Sequence[Sequence[int]], alpha: float
) -> npt.NDArray[np.bool_]:
    """Return whether each replication shows a drop beyond chance in some part."""
    numpy = load_numpy("a simulation")
    if not slices and how.one_trial_each:
        return _alarms_of_one_trial(now, before, alpha)
    parts = [numpy.arange(how.tasks), *(numpy.array(each) for each in slices)]
    tests = [
        drop_p_values(now[:, part], before[:, part], how.trials, how.before_trials)
        for part in parts
    ]
    p_values, attainable = (numpy.stack(each, axis=1) for each in zip(*tests, strict=True))
    found: npt.NDArray[np.bool_] = tarone_least(p_values, attainable) <= alpha
    return found


class SimulatedPower(NamedTuple):
    """Shares of replications in which a drop was found in all tasks or a slice.

    Attributes:
        alarms: By the gate.
        alarms_t: By one-sided paired t tests over clusters, adjusted by Bonferroni.
        power: What the gate would print of `drop`, in the mean, from two runs of the agent unchanged;
            NaN for slices, concentrated losses and no drop.
    """

    alarms: float
    alarms_t: float
    power: float


def simulate_power(  # noqa: PLR0913 - as above
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
) -> SimulatedPower:
    """Return how often the gate finds a drop beyond chance, and how often t tests do in the same runs.

    Arguments as `simulate_alarms`; with a drop of 0, both are error rates.
    """
    numpy = load_numpy("a simulation")
    before_trials = baseline_trials or trials
    how = _How(population, tasks, trials, before_trials, sizes)
    now, before, _ = _runs(how, drop, loss, replications, seed)
    differences = now / trials - before / before_trials
    level = alpha / (1 + len(slices))
    found_t = _t_limits(differences, how.homes, level)[1] < 0.0
    for part in slices:
        # single tasks: slices cut through templates, and those here are of few tasks
        _, high = _t_limits(differences[:, numpy.array(part)], [1] * len(part), level)
        found_t |= high < 0.0
    found = _alarms(now, before, how, slices, alpha)
    power = math.nan
    if drop and loss == "even" and not slices:
        same, again, _ = _runs(how, 0.0, loss, _PRINTED, seed)
        power = _printed(same + again, how, drop, alpha)
    return SimulatedPower(float(found.mean()), float(found_t.mean()), power)


def _printed(totals: Whole, how: _How, drop: float, alpha: float) -> float:
    numpy = load_numpy("a simulation")
    printed = [
        printed_power(
            Counter((how.trials, how.before_trials, total) for total in row.tolist()), drop, alpha,
            conditional=not how.one_trial_each, replications=_PRINTED_REPLICATIONS, seed=number,
        )
        for number, row in enumerate(totals[:_PRINTED])
    ]  # fmt: skip
    return float(numpy.mean(printed))


def simulate_changes(  # noqa: PLR0913 - as above
    population: Population,
    *,
    tasks: int,
    drop: float = 0.0,
    loss: Loss = "even",
    replications: int = 1_000,
    seed: int = 0,
) -> Counter[tuple[int, int]]:
    """Count how many of the tasks, of one trial each, changed and how many of these got worse.

    Arguments as `simulate_alarms`.
    """
    now, before, _ = _runs(_How(population, tasks, 1, 1, None), drop, loss, replications, seed)
    changed, worse = (now != before).sum(axis=1), (now < before).sum(axis=1)
    return Counter(zip(changed.tolist(), worse.tolist(), strict=True))


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
    counts = numpy.stack([(totals == total).sum(axis=1) for total in range(1, both)], axis=1)
    tied = counts.sum(axis=1) > TIED_TASKS
    steps = TIE_STEPS + numpy.arange(1, both) if both > _PAIR else numpy.ones(1, int)
    found = numpy.ones((2, len(now)))
    for rows, weights in ((tied, numpy.ones_like(steps)), (~tied, steps)):
        of_kind = _successes_of_kinds(now[rows], totals[rows], both)
        size = max(1, _MOST_ROOTS // int(1 + (counts[rows] @ weights).max(initial=0)))
        parts = [
            _exact(of_kind[at : at + size], counts[rows][at : at + size], weights, trials)
            for at in range(0, len(of_kind), size)
        ]
        if parts:
            found[:, rows] = numpy.concatenate(parts, axis=1)
    return found[0], found[1]


def _successes_of_kinds(now: Whole, totals: Whole, both: int) -> Whole:
    """Return new successes of the tasks with 1, 2, ... successes in all, shape (replications, kinds)."""
    numpy = load_numpy("a simulation")
    stacked: Whole = numpy.stack(
        [numpy.where(totals == total, now, 0).sum(axis=1) for total in range(1, both)], axis=1
    )
    return stacked


def _exact(won: Whole, counts: Whole, weights: Whole, trials: int) -> Floats:
    """Return p-values and attainable ones, as `NullDistribution` computes them, shape (2, replications)."""
    numpy = load_numpy("a simulation")
    both = len(weights) + 1
    kinds = [hypergeometric(trials, both - trials, total) for total in range(1, both)]
    least = numpy.array([max(0, total - both + trials) for total in range(1, both)])
    widths = weights * numpy.array([len(each) - 1 for each in kinds])
    means = weights * (trials * numpy.arange(1, both) / both - least)
    middle, reach = counts @ means, numpy.sqrt(0.5 * MISSED * (counts @ widths**2))
    low = numpy.floor(middle - reach).clip(0).astype(int)
    size = int((numpy.minimum(counts @ widths, numpy.ceil(middle + reach)) - low).max()) + 1
    turns = 2.0 * numpy.pi * numpy.arange(1, size // 2 + 1) / size
    logs = numpy.stack(
        [
            numpy.log(_NEVER + numpy.polynomial.polynomial.polyval(numpy.exp(1j * w * turns), each))
            for w, each in zip(weights.tolist(), kinds, strict=True)
        ]
    )
    # not `@`: threads of BLAS wait long for each other where other processes work, too
    value = numpy.exp(numpy.einsum("rk,kt->rt", counts, logs) - 1j * numpy.outer(low, turns))
    if size % 2 == 0:
        value[:, -1] *= 0.5  # its own conjugate
    position = (won - counts * least) @ weights
    terms = (position - low + 1).clip(0, size)
    series = (1.0 - numpy.exp(-1j * numpy.outer(terms, turns))) / (1.0 - numpy.exp(-1j * turns))
    found = (2.0 * (value * series).real.sum(axis=1) + terms) / size
    attainable = numpy.exp(counts @ numpy.log([each[0] for each in kinds]))
    p_values = numpy.where(position == 0, attainable, found).clip(attainable, 1.0)
    stacked: Floats = numpy.stack([p_values, attainable])
    return stacked


def _alarms_of_one_trial(now: Whole, before: Whole, alpha: float) -> npt.NDArray[np.bool_]:
    """Return whether `one_trial_p_value` is at most `alpha`: it is monotone in the mid-p."""
    numpy = load_numpy("a simulation")
    limit = critical_mid_p(now.shape[1], alpha)
    worse, changed = (now < before).sum(axis=1), (now != before).sum(axis=1)
    found: npt.NDArray[np.bool_] = numpy.array(
        [mid_p(*each) <= limit for each in zip(worse.tolist(), changed.tolist(), strict=True)]
    )
    return found


def tarone_least(p_values: Floats, attainable: Floats) -> Floats:
    """Return the smallest of each row's p-values after `tarone`."""
    numpy = load_numpy("a simulation")
    competing = (attainable[:, None, :] <= p_values[:, :, None]).sum(axis=2)
    least: Floats = numpy.min(p_values * competing, axis=1).clip(0.0, 1.0)
    return least


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
