"""How often rank sets and claims of dominance are right, by simulation with a seed. Needs numpy.

Tests are those of `leaderboard` and `dominance`, written over arrays: paired t over tasks, by Bonferroni and by Holm.
"""

from __future__ import annotations

from itertools import combinations, permutations
from typing import TYPE_CHECKING, NamedTuple

from bench_core.statistics.bootstrap import load_numpy
from bench_core.statistics.distributions import t_cdf
from bench_core.statistics.multiplicity import holm

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Floats = npt.NDArray[np.float64]

__all__ = ["SimulatedRanks", "claims_of", "draw_models", "simulate_ranks"]

_RATE, _ALIKE, _SHARED = 0.5, 0.5, 0.7
"""Mean rate of the models, how strongly trials of a task agree, and the models' share in it."""
_SCATTER = 0.5
"""Standard deviation of ln cost between trials."""


class SimulatedRanks(NamedTuple):
    """Shares of replications.

    Attributes:
        covered: Every rank a model may truly claim lies in its rank set; models that are alike may claim
            the ranks of all of them.
        width: Mean number of ranks in a set.
        wrong_pairs: Some model is called better than another that is as good or better.
        wrong_dominance: Some model is called dominated that is not.
        dominance_found: The last model is found to be dominated by the first; `None` where it is not.
    """

    covered: float
    width: float
    wrong_pairs: float
    wrong_dominance: float
    dominance_found: float | None


def simulate_ranks(
    models: int,
    *,
    spread: float = 0.0,
    dearer: float = 0.0,
    tasks: int = 154,
    trials: int = 3,
    alpha: float = 0.05,
    replications: int = 500,
    seed: int = 0,
) -> SimulatedRanks:
    """Return how often the rank sets of so many models are right, and claims of dominance.

    Args:
        models: How many there are, evenly spaced, the first the best.
        spread: By how much the last one's rate on new tasks is lower than the first one's.
        dearer: By which share of the first one's cost the last one costs more.
        tasks: Tasks of the benchmark.
        trials: Trials per task.
        alpha: As for `leaderboard`.
        replications: Simulated leaderboards.
        seed: Seed of numpy's PCG64.

    >>> simulate_ranks(3, replications=40).covered > 0.8
    True
    """
    numpy = load_numpy("a simulation")
    generator = numpy.random.Generator(numpy.random.PCG64(seed))
    places = numpy.arange(models) / (models - 1)
    rates, costs = _RATE + spread * (0.5 - places), 1.0 + dearer * places
    found = [
        claims_of(*draw_models(generator, rates, costs, tasks, trials), alpha)
        for _ in range(replications)
    ]
    truly = spread > 0 and dearer > 0
    # places are those of the truth: the first is the best, and the cheapest
    wrong = [any(spread == 0 or worse < better for worse, better in each.beaten) for each in found]
    false = [any(not truly or model < by for model, by in each.dominated) for each in found]
    covered = [
        (spread > 0 and not bad) or not each.beaten for each, bad in zip(found, wrong, strict=True)
    ]
    last = [(models - 1, 0) in each.dominated for each in found]
    width = models - 2.0 * sum(len(each.beaten) for each in found) / models / replications
    return SimulatedRanks(
        covered=sum(covered) / replications,
        width=width,
        wrong_pairs=sum(wrong) / replications,
        wrong_dominance=sum(false) / replications,
        dominance_found=sum(last) / replications if truly else None,
    )


def draw_models(
    generator: np.random.Generator, rates: Floats, costs: Floats, tasks: int, trials: int
) -> tuple[Floats, Floats]:
    """Draw mean scores and mean costs, shape (models, tasks); models do well on much the same tasks."""
    numpy = load_numpy("a simulation")
    highest = rates.max()
    concentration = 1.0 / _ALIKE - 1.0
    shape = highest * concentration, (1.0 - highest) * concentration
    common = generator.beta(*shape, tasks)
    own = generator.random((len(rates), tasks)) < _SHARED
    chances = numpy.where(own, common, generator.beta(*shape, (len(rates), tasks)))
    scores: Floats = generator.binomial(trials, chances * (rates / highest)[:, None]) / trials
    noise = generator.lognormal(-0.5 * _SCATTER**2, _SCATTER, (len(rates), tasks, trials))
    spent: Floats = costs[:, None] * noise.mean(axis=2)
    return scores, spent


class Claims(NamedTuple):
    """What is claimed of models, by their places: (worse, better) and (dominated, by)."""

    beaten: list[tuple[int, int]]
    dominated: set[tuple[int, int]]


def claims_of(scores: Floats, spent: Floats, alpha: float) -> Claims:
    """Test all pairs of models as `leaderboard` and `dominance` do.

    Args:
        scores: Mean score of each task, shape (models, tasks).
        spent: Mean cost, the same shape.
        alpha: Chance of any false claim, for each of the two.
    """
    models = range(len(scores))
    less, dearer = _p_less(scores), _p_less(-spent)
    pairs = list(combinations(models, 2))
    beaten = [
        (a, b) if less[a][b] < less[b][a] else (b, a)
        for a, b in pairs
        if 2.0 * len(pairs) * min(less[a][b], less[b][a]) < alpha
    ]
    ordered = list(permutations(models, 2))
    claims = holm([max(less[a][b], dearer[a][b]) for a, b in ordered])
    return Claims(beaten, {pair for pair, p in zip(ordered, claims, strict=True) if p <= alpha})


def _p_less(values: Floats) -> list[list[float]]:
    """Return one-sided p-values of paired t tests: that each row's mean is lower than each other's."""
    numpy = load_numpy("a simulation")
    tasks = values.shape[1]
    differences = values[:, None, :] - values[None, :, :]
    error = differences.std(axis=2, ddof=1) / tasks**0.5
    with numpy.errstate(divide="ignore", invalid="ignore"):
        t = numpy.where(error > 0.0, differences.mean(axis=2) / error, 0.0)
    return [[t_cdf(each, tasks - 1) for each in row] for row in t.tolist()]
