"""What docs/statistics.md quotes of practices that it advises against, and of what they cost."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import expit, logit
from scipy.stats import beta

from bench_core.statistics import success_rate_interval
from bench_core.statistics.distributions import t_quantile
from simulations.populations import cluster_interval_ends
from simulations.ranks import draw_models

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy.typing as npt

    Floats = npt.NDArray[np.float64]

__all__ = ["quoted"]

RATE, ALIKE = 0.42, 0.5
MIDDLES = (np.arange(4_000) + 0.5) / 4_000


def quoted(replications: int, seed: int) -> Iterator[tuple[str, list[float]]]:
    """Yield what is quoted, and the shares or points found over the designs named with it."""
    generator = np.random.default_rng(seed)
    shape = RATE * (1.0 / ALIKE - 1.0), (1.0 - RATE) * (1.0 / ALIKE - 1.0)

    tasks, trials, gap = 154, 3, 0.0725  # cutting chances off at 0 and 1 makes 6 points of it
    base = generator.beta(*shape, (replications, tasks))
    moved = [base + generator.normal(0.0, 0.1, base.shape) + each for each in (gap, 0.0)]
    one, other = (generator.binomial(trials, each.clip(0.0, 1.0)) / trials for each in moved)
    ends = [
        cluster_interval_ends(
            each, np.full(tasks, 1 / tasks), np.ones(tasks, dtype=np.int64),
            most=tasks * trials, several=True,
        )
        for each in (one, other)
    ]  # fmt: skip
    yield (
        "two intervals that do not overlap, 6 points, 154 x 3",
        [float((ends[0][0] > ends[1][1]).mean())],
    )
    yield "the paired test beside it", [_found(one - other)]

    found = []
    for tasks, trials in ((68, 3), (154, 1), (154, 3), (258, 1)):
        base = generator.beta(*shape, (replications, tasks)).clip(1e-9, 1.0 - 1e-9)
        shocks = generator.normal(0.0, 0.3, (2, replications, 1))
        won = generator.binomial(trials, expit(logit(base) + shocks)) / trials
        found.append(_found(won[0] - won[1]))
    yield "equal agents, each run with a shock of its own (.3 logits): 68 x 3 to 258 x 1", found

    found = []
    for tasks, trials in ((12, 1), (12, 3), (68, 3), (154, 3)):
        base = generator.beta(*shape, (replications, tasks))
        now, before = generator.binomial(trials, base, (2, *base.shape)).sum(axis=2)
        found.append(float((now < before).mean()))
    yield "an unchanged agent whose rate dropped: 12 x 1 to 154 x 3", found

    found = []
    for models, spread, (tasks, trials) in product((3, 6, 10), (0.08, 0.2), ((68, 1), (154, 3))):
        places = np.arange(models) / (models - 1)
        missed = 0
        for _ in range(replications // 10):
            scores, spent = draw_models(
                generator, 0.5 + spread * (0.5 - places), 1.3 - 0.3 * places, tasks, trials
            )
            rate, cost = scores.mean(axis=1), spent.mean(axis=1)
            worse = (rate[:, None] <= rate) & (cost[:, None] >= cost) & ~np.eye(models, dtype=bool)
            missed += bool(worse.any())
        found.append(missed / (replications // 10))
    yield "a front through point estimates leaves out a true member: 3 to 10 models", found

    for models in (8, 2):
        found = []
        for _ in range(replications // 20):
            scores, _ = draw_models(
                generator, np.linspace(0.5, 0.3, models), np.ones(models), 154, 3
            )
            found.append(float((scores.max(axis=0) == scores.min(axis=0)).mean()))
        yield (
            f"tasks on which {models} models (50 to 30%, 154 x 3) all have the same rate",
            [float(np.mean(found))],
        )

    saved, biases, covered = [], [], []
    for rate, alike in product((0.2, RATE, 0.8), (0.25, 0.5, 0.75)):
        concentration = 1.0 / alike - 1.0
        chances = beta.ppf(MIDDLES, rate * concentration, (1.0 - rate) * concentration)
        spread = chances * (1.0 - chances)
        saved.append(float(1.0 - np.sqrt(spread).mean() ** 2 / spread.mean()))
        biases.append(100.0 * abs(float((spread * (2.0 * chances - 1.0)).mean())) / 3.0)
        held = 0
        for _ in range(replications // 20):
            drawn = generator.choice(chances, 154)
            won = (generator.random((154, 3)) < drawn[:, None]).astype(float)
            stop = np.where(won[:, 0] == won[:, 1], 2, 3)
            scores = {
                n: each[:k].tolist() for n, (each, k) in enumerate(zip(won, stop, strict=True))
            }
            held += float(drawn.mean()) in success_rate_interval(scores, estimand="same_tasks")
        covered.append(held / (replications // 20))
    yield (
        "variance saved by numbers of trials that fit known chances, rates of 20 to 80%, ICC .25 to .75",
        saved,
    )
    yield "bias, in points, if a task stops when its first two trials agree", biases
    yield "coverage on the same 154 tasks then", covered


def _found(differences: Floats) -> float:
    """Return how often a paired t test finds a difference at 5%."""
    tasks = differences.shape[1]
    error = differences.std(axis=1, ddof=1) / np.sqrt(tasks)
    return float((abs(differences.mean(axis=1)) > t_quantile(0.975, tasks - 1) * error).mean())
