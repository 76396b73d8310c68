"""Cluster bootstrap intervals: percentile (the published WebArena method) and BCa.

Seeded, vectorised and bit-identical for the same seed. The only module of this package that needs
numpy, which it loads when it is first called.
"""

from __future__ import annotations

import importlib
import math
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from bench_core.errors import MissingExtraError, NotEstimableError
from bench_core.statistics.clustering import finite, macro_mean, reduce_tasks, task_mean
from bench_core.statistics.distributions import normal_cdf, normal_quantile
from bench_core.statistics.intervals import Interval, require_level

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence

    import numpy as np
    import numpy.typing as npt

    from bench_core.statistics.clustering import Clusters, Key, Scores, WeightedMean

    Floats = npt.NDArray[np.float64]
    Indices = npt.NDArray[np.integer[Any]]

__all__ = [
    "BootstrapMethod",
    "bootstrap_macro_average",
    "bootstrap_mean",
    "bootstrap_task_mean",
    "load_numpy",
]

BootstrapMethod = Literal["percentile", "bca"]

DRAWS = 10_000
_CHUNK = 500
_TABLE_SIZE = 2**16
_SMALL_TABLE = 2**11
_MULTINOMIAL_FROM = 24
_TIE = 1e-12
_LEAST_VALUES = 2


def bootstrap_task_mean(
    scores: Scores[Key],
    *,
    clusters: Clusters[Key] | None = None,
    method: BootstrapMethod = "bca",
    level: float = 0.95,
    draws: int = DRAWS,
    seed: int = 0,
    indices: Indices | None = None,
) -> Interval:
    """Return the mean over tasks with a bootstrap interval for new tasks.

    Whole clusters (tasks, or templates where given) are drawn with replacement; the statistic is
    the mean over the tasks drawn. Efron and Tibshirani (1993), chapters 13 and 14. Below about 30
    clusters prefer `success_rate_interval`, whose coverage is right there.

    Args:
        scores: Task id to the scores of its trials; differences between two agents work as well.
        clusters: Task id to template; tasks of one template are drawn together.
        method: `"bca"` (bias-corrected and accelerated) or `"percentile"`.
        level: Nominal confidence.
        draws: Number of resamples.
        seed: Seed of numpy's PCG64.
        indices: Resamples to use instead of drawing: integers of shape (draws, clusters), numbering
            clusters in the order in which `scores` first names them.

    Raises:
        MissingExtraError: numpy is not installed.
        NotEstimableError: Nothing was scored, or there is one cluster only.

    >>> print(bootstrap_task_mean({n: [n % 2, n % 3 == 0] for n in range(40)}, seed=1))
    0.425 [0.325, 0.537]
    """
    mean = task_mean(reduce_tasks(scores, clusters))
    return _bootstrap(mean, _Resampling(method, level, draws, seed, indices))


def bootstrap_macro_average(
    scores: Scores[Key],
    templates: Clusters[Key],
    *,
    method: BootstrapMethod = "percentile",
    level: float = 0.95,
    draws: int = DRAWS,
    seed: int = 0,
    indices: Indices | None = None,
) -> Interval:
    """Return the mean over templates of their tasks' means with a template bootstrap interval.

    The percentile form is the one published with WebArena-Verified. Arguments and errors as
    `bootstrap_task_mean`; tasks without a template are one of their own.

    >>> scores = {n: [n % 2] for n in range(40)}
    >>> print(bootstrap_macro_average(scores, {n: n // 3 for n in range(40)}, seed=1))
    0.524 [0.429, 0.643]
    """
    mean = macro_mean(reduce_tasks(scores, templates))
    return _bootstrap(mean, _Resampling(method, level, draws, seed, indices))


def bootstrap_mean(
    values: Sequence[float] | Floats,
    *,
    method: BootstrapMethod = "bca",
    level: float = 0.95,
    draws: int = DRAWS,
    seed: int = 0,
    indices: Indices | None = None,
) -> Interval:
    """Return the mean of independent values (costs, steps, template means) with an interval.

    Args:
        values: One number per independent unit, shape (units,).
        method: As `bootstrap_task_mean`, as are the others; `indices` number the values.
        level: Nominal confidence.
        draws: Number of resamples.
        seed: Seed of numpy's PCG64.
        indices: Resamples to use instead of drawing, shape (draws, units).

    Raises:
        MissingExtraError: numpy is not installed.
        NotEstimableError: There are fewer than two values.

    >>> print(bootstrap_mean([1.0, 2.0, 2.0, 3.0, 9.0], seed=1))
    3.400 [1.800, 7.600]
    """
    if len(values) < _LEAST_VALUES:
        raise NotEstimableError(f"a bootstrap needs at least two values, got {len(values)}")
    numpy = load_numpy("a bootstrap interval")
    totals = numpy.asarray(values, dtype=float)
    finite(totals.tolist())
    sample = _Sample(totals, numpy.ones(len(totals)))
    how = _Resampling(method, level, draws, seed, indices)
    return _interval(numpy, sample, float(totals.mean()), how)


def load_numpy(purpose: str) -> Any:
    """Import numpy, or raise the error that names the extra which brings it.

    Raises:
        MissingExtraError: numpy is not installed.
    """
    try:
        return importlib.import_module("numpy")
    except ImportError as error:
        raise MissingExtraError(purpose, "numpy", "bench-core", "statistics") from error


class _Sample(NamedTuple):
    """One total and one weight per cluster; the statistic is sum of totals over sum of weights."""

    totals: Floats
    weights: Floats

    @property
    def alike(self) -> bool:
        """Whether all clusters weigh one."""
        return bool((self.weights == 1.0).all())

    def resampled(self, indices: Indices) -> Floats:
        """Return the statistic of given resamples, one per row of cluster numbers."""
        means: Floats = self.totals[indices].sum(axis=1) / self.weights[indices].sum(axis=1)
        return means


class _Resampling(NamedTuple):
    method: BootstrapMethod
    level: float
    draws: int
    seed: int
    indices: Indices | None


def _bootstrap(mean: WeightedMean, how: _Resampling) -> Interval:
    if mean.clusters == 1:
        raise NotEstimableError("a bootstrap over one cluster has nothing to resample: add tasks")
    numpy = load_numpy("a bootstrap interval")
    interval = _interval(numpy, _sample(numpy, mean), mean.estimate, how)
    counts = {"n": mean.trials, "tasks": len(mean.tasks), "clusters": mean.clusters}
    return interval.model_copy(update={"estimand": "new_tasks", **counts})


def _interval(numpy: Any, sample: _Sample, estimate: float, how: _Resampling) -> Interval:
    level = require_level(how.level)
    if how.indices is None:
        replicates = _draw(numpy, sample, how.draws, how.seed)
    else:
        replicates = sample.resampled(how.indices)
    tails = ((1.0 - level) / 2.0, (1.0 + level) / 2.0)
    if how.method == "bca":
        tails = _bca_tails(numpy, sample, replicates, estimate, tails)
    low, high = (float(end) for end in numpy.quantile(replicates, tails))
    return Interval(
        estimate=estimate,
        low=low,
        high=high,
        level=level,
        method=f"{'BCa' if how.method == 'bca' else 'percentile'} cluster bootstrap",
        n=len(sample.totals),
        draws=len(replicates),
        seed=how.seed if how.indices is None else None,
        notes=_notes(low, high),
    )


def _notes(low: float, high: float) -> tuple[str, ...]:
    if low < high:
        return ()
    return ("all resamples agree, so this interval has no width: use the Wilson one",)


def _sample(numpy: Any, mean: WeightedMean) -> _Sample:
    totals: dict[Hashable, float] = {}
    weights: dict[Hashable, float] = {}
    for task, weight in zip(mean.tasks, mean.weights, strict=True):
        totals[task.cluster] = totals.get(task.cluster, 0.0) + weight * task.mean
        weights[task.cluster] = weights.get(task.cluster, 0.0) + weight
    # Weights of a whole cluster or task become one, and stay equal where rounding parted them.
    heights = numpy.array(list(weights.values()))
    heights /= heights.max()
    if heights.min() > 1.0 - _TIE:
        heights = numpy.ones(len(heights))
    return _Sample(numpy.array(list(totals.values())) / max(weights.values()), heights)


def _draw(numpy: Any, sample: _Sample, draws: int, seed: int) -> Floats:
    """Draw `draws` replicates of the statistic in the cheapest exact way."""
    generator = numpy.random.Generator(numpy.random.PCG64(seed))
    if sample.alike:
        values = sample.totals
        levels, counts = numpy.unique(values, return_counts=True)
        if len(levels) * _MULTINOMIAL_FROM <= len(values):
            return _draw_counts(numpy, generator, levels, counts, draws)
        return _draw_clusters(numpy, generator, (values,), draws)[0] / len(values)
    totals, weights = _draw_clusters(numpy, generator, (sample.totals, sample.weights), draws)
    return totals / weights


def _draw_counts(
    numpy: Any, generator: np.random.Generator, levels: Floats, counts: Indices, draws: int
) -> Floats:
    """Draw how often each distinct value occurs: exact, and far fewer draws than clusters."""
    size = int(counts.sum())
    drawn = generator.multinomial(size, counts / size, size=draws)
    sums: Floats = numpy.zeros(draws)
    # A loop over few levels instead of a matrix product: its order of additions is fixed.
    for column, level in enumerate(levels):
        sums += drawn[:, column] * level
    return sums / size


def _draw_clusters(
    numpy: Any, generator: np.random.Generator, columns: tuple[Floats, ...], draws: int
) -> list[Floats]:
    """Draw clusters with replacement and sum each column over the clusters drawn.

    Several clusters are drawn at once from a table of all their sums, as long as it stays small:
    one random number and one addition then stand for that many.
    """
    clusters = len(columns[0])
    at_once = max(1, min(clusters, int(math.log(_TABLE_SIZE) / math.log(clusters))))
    groups, rest = divmod(clusters, at_once)
    sums = _sum_of_draws(
        numpy, generator, [_table(numpy, c, at_once) for c in columns], groups, draws
    )
    if rest:
        tables = [_table(numpy, column, rest) for column in columns]
        last = _sum_of_draws(numpy, generator, tables, 1, draws)
        sums = [total + more for total, more in zip(sums, last, strict=True)]
    return sums


def _table(numpy: Any, values: Floats, at_once: int) -> Floats:
    table = values
    for _ in range(at_once - 1):
        table = numpy.add.outer(table, values).ravel()
    return table


def _sum_of_draws(
    numpy: Any, generator: np.random.Generator, tables: list[Floats], per_draw: int, draws: int
) -> list[Floats]:
    size = len(tables[0])
    # Sixteen bits are the faster ones as long as few of their values have to be rejected.
    kind = numpy.uint16 if size <= _SMALL_TABLE else numpy.uint32
    sums: list[Floats] = [numpy.empty(draws) for _ in tables]
    for start in range(0, draws, _CHUNK):
        stop = min(start + _CHUNK, draws)
        drawn = generator.integers(0, size, size=(per_draw, stop - start), dtype=kind)
        for table, total in zip(tables, sums, strict=True):
            # Down the columns, so that additions happen in one fixed order on every machine.
            table.take(drawn).sum(axis=0, out=total[start:stop])
    return sums


def _bca_tails(
    numpy: Any,
    sample: _Sample,
    replicates: Floats,
    estimate: float,
    tails: tuple[float, float],
) -> tuple[float, float]:
    """Move the percentile tails by bias and acceleration (Efron 1987)."""
    slack = _TIE * max(1.0, abs(estimate))
    below = numpy.count_nonzero(replicates < estimate - slack)
    not_above = numpy.count_nonzero(replicates <= estimate + slack)
    share = float(below + not_above) / (2 * len(replicates))
    if not 0.0 < share < 1.0:
        return tails
    bias = normal_quantile(share)
    acceleration = _acceleration(sample)
    low, high = (_moved(normal_quantile(tail), bias, acceleration) for tail in tails)
    return low, high


def _moved(quantile: float, bias: float, acceleration: float) -> float:
    shifted = bias + quantile
    return normal_cdf(bias + shifted / (1.0 - acceleration * shifted))


def _acceleration(sample: _Sample) -> float:
    """Skewness of the jackknife over clusters, divided by six."""
    left_out = (sample.totals.sum() - sample.totals) / (sample.weights.sum() - sample.weights)
    deviations = left_out.mean() - left_out
    squares = float((deviations**2).sum())
    # Rounding alone must not look like skewness.
    if squares <= _TIE**2:
        return 0.0
    return float((deviations**3).sum()) / (6.0 * math.sqrt(squares) ** 3)
