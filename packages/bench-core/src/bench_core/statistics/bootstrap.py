"""Cluster bootstrap intervals: percentile (the published WebArena method) and BCa.

Seeded, vectorised and bit-identical for the same seed. The only module of this package that needs
numpy, which it loads when it is first called.
"""

from __future__ import annotations

import importlib
import math
from collections import defaultdict
from typing import TYPE_CHECKING, Any, Literal

from bench_core.errors import MissingExtraError, NotEstimableError
from bench_core.statistics.clustering import macro_mean, reduce_tasks
from bench_core.statistics.distributions import normal_cdf, normal_quantile
from bench_core.statistics.intervals import Interval, require_level

if TYPE_CHECKING:
    from collections.abc import Hashable

    import numpy as np
    import numpy.typing as npt

    from bench_core.statistics.clustering import Clusters, Key, Scores

    Floats = npt.NDArray[np.float64]
    Indices = npt.NDArray[np.integer[Any]]

BootstrapMethod = Literal["percentile", "bca"]

DRAWS = 10_000
_CHUNK = 500
_TABLE_SIZE = 2**16
_SMALL_TABLE = 2**11
_MULTINOMIAL_FROM = 24
_TIE = 1e-12


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
    """Return the mean over templates of their tasks' means with a bootstrap interval for new ones.

    Whole templates are drawn with replacement; the statistic is the mean over those drawn. Efron and
    Tibshirani (1993), chapters 13 and 14. The percentile form is the one published with
    WebArena-Verified. Below about 30 templates prefer `macro_average_interval`, whose coverage is
    right there.

    Args:
        scores: Task id to the scores of its trials; differences between two agents work as well.
        templates: Task id to template; tasks without one are one of their own.
        method: `"bca"` (bias-corrected and accelerated) or `"percentile"`.
        level: Nominal confidence.
        draws: Number of resamples.
        seed: Seed of numpy's PCG64.
        indices: Resamples to use instead of drawing: integers of shape (draws, templates), numbering
            templates in the order in which `scores` first names them.

    Raises:
        MissingExtraError: numpy is not installed.
        NotEstimableError: Nothing was scored, or there is one template only.

    >>> scores = {n: [n % 2] for n in range(40)}
    >>> print(bootstrap_macro_average(scores, {n: n // 3 for n in range(40)}, seed=1))
    0.524 [0.429, 0.643]
    """
    mean = macro_mean(reduce_tasks(scores, templates))
    if mean.clusters == 1:
        raise NotEstimableError("a bootstrap over one cluster has nothing to resample: add tasks")
    numpy = load_numpy("a bootstrap interval")
    require_level(level)
    totals: defaultdict[Hashable, float] = defaultdict(float)
    weights: defaultdict[Hashable, float] = defaultdict(float)
    for task, weight in zip(mean.tasks, mean.weights, strict=True):
        totals[task.cluster] += weight * task.mean
        weights[task.cluster] += weight
    means: Floats = numpy.array(list(totals.values())) / max(weights.values())
    if indices is None:
        replicates = _draw(numpy, means, draws, seed)
    else:
        replicates = means[indices].mean(axis=1)
    tails = ((1.0 - level) / 2.0, (1.0 + level) / 2.0)
    if method == "bca":
        tails = _bca_tails(numpy, means, replicates, mean.estimate, tails)
    low, high = (float(end) for end in numpy.quantile(replicates, tails))
    alike = "all resamples agree, so this interval has no width: use the Wilson one"
    return Interval(
        estimate=mean.estimate,
        low=low,
        high=high,
        level=level,
        method=f"{'BCa' if method == 'bca' else 'percentile'} cluster bootstrap",
        estimand="new_tasks",
        n=mean.trials,
        tasks=len(mean.tasks),
        clusters=mean.clusters,
        draws=len(replicates),
        seed=seed if indices is None else None,
        notes=() if low < high else (alike,),
    )


def load_numpy(purpose: str) -> Any:
    """Import numpy, or raise the error that names the extra which brings it.

    Raises:
        MissingExtraError: numpy is not installed.
    """
    try:
        return importlib.import_module("numpy")
    except ImportError as error:
        raise MissingExtraError(purpose, "numpy", "bench-core", "statistics") from error


def _draw(numpy: Any, means: Floats, draws: int, seed: int) -> Floats:
    """Draw `draws` replicates of the mean in the cheapest exact way."""
    generator = numpy.random.Generator(numpy.random.PCG64(seed))
    levels, counts = numpy.unique(means, return_counts=True)
    if len(levels) * _MULTINOMIAL_FROM <= len(means):
        # How often each distinct value occurs: exact, and far fewer draws than clusters.
        drawn = generator.multinomial(len(means), counts / len(means), size=draws)
        sums: Floats = numpy.zeros(draws)
        # A loop over few levels instead of a matrix product: its order of additions is fixed.
        for column, level in enumerate(levels):
            sums += drawn[:, column] * level
        return sums / len(means)
    # Several clusters are drawn at once from a table of all their sums, as long as it stays small:
    # one random number and one addition then stand for that many.
    at_once = max(1, min(len(means), int(math.log(_TABLE_SIZE) / math.log(len(means)))))
    groups, rest = divmod(len(means), at_once)
    sums = _sum_of_draws(numpy, generator, _table(numpy, means, at_once), groups, draws)
    if rest:
        sums += _sum_of_draws(numpy, generator, _table(numpy, means, rest), 1, draws)
    return sums / len(means)


def _table(numpy: Any, values: Floats, at_once: int) -> Floats:
    table = values
    for _ in range(at_once - 1):
        table = numpy.add.outer(table, values).ravel()
    return table


def _sum_of_draws(
    numpy: Any, generator: np.random.Generator, table: Floats, per_draw: int, draws: int
) -> Floats:
    # Sixteen bits are the faster ones as long as few of their values have to be rejected.
    kind = numpy.uint16 if len(table) <= _SMALL_TABLE else numpy.uint32
    sums: Floats = numpy.empty(draws)
    for start in range(0, draws, _CHUNK):
        stop = min(start + _CHUNK, draws)
        drawn = generator.integers(0, len(table), size=(per_draw, stop - start), dtype=kind)
        # Down the columns, so that additions happen in one fixed order on every machine.
        table.take(drawn).sum(axis=0, out=sums[start:stop])
    return sums


def _bca_tails(
    numpy: Any, means: Floats, replicates: Floats, estimate: float, tails: tuple[float, float]
) -> tuple[float, float]:
    """Move the percentile tails by bias and acceleration (Efron 1987)."""
    slack = _TIE * max(1.0, abs(estimate))
    below = numpy.count_nonzero(replicates < estimate - slack)
    not_above = numpy.count_nonzero(replicates <= estimate + slack)
    share = float(below + not_above) / (2 * len(replicates))
    if not 0.0 < share < 1.0:
        return tails
    bias = normal_quantile(share)
    acceleration = _acceleration(means)
    low, high = (_moved(normal_quantile(tail), bias, acceleration) for tail in tails)
    return low, high


def _moved(quantile: float, bias: float, acceleration: float) -> float:
    shifted = bias + quantile
    return normal_cdf(bias + shifted / (1.0 - acceleration * shifted))


def _acceleration(means: Floats) -> float:
    """Return the skewness of the jackknife over clusters, divided by six."""
    left_out = (means.sum() - means) / (len(means) - 1)
    deviations = left_out.mean() - left_out
    squares = float((deviations**2).sum())
    # Rounding alone must not look like skewness.
    if squares <= _TIE**2:
        return 0.0
    return float((deviations**3).sum()) / (6.0 * math.sqrt(squares) ** 3)
