"""Benchmarks that are unlike the ones intervals were chosen on: how often the default ones hold the truth."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from bench_core.errors import NotEstimableError
from bench_core.statistics import compare, success_rate_interval

__all__ = ["UNLIKE", "Covered", "Unlike", "simulate_unlike"]

_Draw = Callable[[np.random.Generator, int], "np.ndarray[tuple[int], np.dtype[np.float64]]"]


class Unlike(NamedTuple):
    """Templates by kind: how many, of how many tasks and trials of each, and how the tasks' chances are drawn.

    `missing` is the chance that a trial of a task that never succeeds has no score; of others it is less in proportion.
    Scores are whole where `parts` is 1, and otherwise means of so many outcomes.
    """

    kinds: Sequence[tuple[int, int, int, _Draw, float]]
    missing: float = 0.0
    parts: int = 1

    @property
    def truth(self) -> float:
        """The rate over such tasks: each kind as often as it is here."""
        tasks = sum(number * size for number, size, *_ in self.kinds)
        return sum(number * size * mean for number, size, _, _, mean in self.kinds) / tasks


class Covered(NamedTuple):
    """Shares of benchmarks: intervals that hold the rate, that hold no difference of equal agents; and of refused ones."""

    rate: float | None
    difference: float | None
    refused: float


def simulate_unlike(design: Unlike, *, replications: int, pairs: int, seed: int) -> Covered:
    """Draw benchmarks, and pairs of them by equal agents, each on its own chances."""
    generator = np.random.default_rng(seed)
    held, given = [0, 0], [0, 0]
    for n in range(replications):
        scores, clusters = _drawn(design, generator)
        try:
            held[0] += design.truth in success_rate_interval(scores, clusters=clusters)
            given[0] += 1
            if n < pairs:
                other, _ = _drawn(design, generator)
                found = compare(scores, other, clusters=clusters, p_same_tasks=1.0)
                held[1] += 0.0 in found.difference
                given[1] += 1
        except NotEstimableError:
            continue
    shares = [h / g if g else None for h, g in zip(held, given, strict=True)]
    return Covered(*shares, 1.0 - given[0] / replications)


def _drawn(
    design: Unlike, generator: np.random.Generator
) -> tuple[dict[int, list[float]], dict[int, int]]:
    scores: dict[int, list[float]] = {}
    clusters: dict[int, int] = {}
    home = 0
    for number, size, trials, draw, _ in design.kinds:
        for _ in range(number):
            for chance in draw(generator, size):
                won = generator.binomial(design.parts, chance, trials) / design.parts
                there = generator.random(trials) >= design.missing * (1.0 - chance)
                clusters[len(scores)] = home
                scores[len(scores)] = won[there].tolist()
            home += 1
    return scores, clusters


def _alike(rate: float, icc: float = 0.5) -> tuple[_Draw, float]:
    """Tasks of a template that have one chance, Beta-distributed."""
    shape = 1.0 / icc - 1.0
    return lambda g, n: np.full(n, g.beta(rate * shape, (1.0 - rate) * shape)), rate


def _apart(rate: float, icc: float = 0.5) -> tuple[_Draw, float]:
    """Tasks that each have their own."""
    shape = 1.0 / icc - 1.0
    return lambda g, n: g.beta(rate * shape, (1.0 - rate) * shape, n), rate


def _same(rate: float) -> tuple[_Draw, float]:
    """Tasks of one and the same chance."""
    return lambda _, n: np.full(n, rate), rate


def _certain(rate: float) -> tuple[_Draw, float]:
    """Templates that always or never succeed."""
    return lambda g, n: np.full(n, float(g.random() < rate)), rate


def _certain_tasks(rate: float) -> tuple[_Draw, float]:
    """Tasks that always or never succeed."""
    return lambda g, n: (g.random(n) < rate).astype(float), rate


UNLIKE: Mapping[str, Unlike] = {
    "large templates succeed, small ones hardly": Unlike([(5, 6, 3, *_alike(0.8)), (30, 1, 3, *_alike(0.1))]),
    "large templates hardly succeed, small ones do": Unlike([(5, 6, 3, *_alike(0.1)), (30, 1, 3, *_alike(0.8))]),
    "two large at 90% beside 40 at 20%, one trial": Unlike([(2, 5, 1, *_alike(0.9)), (40, 1, 1, *_alike(0.2))]),
    "three sizes, the rate falls with size": Unlike([(3, 8, 2, *_alike(0.1)), (6, 4, 2, *_alike(0.4)), (20, 1, 2, *_alike(0.8))]),
    "one template of certain success": Unlike([(1, 8, 3, *_same(1.0)), (32, 1, 3, *_alike(0.1))]),
    "one template of certain failure": Unlike([(1, 8, 3, *_same(0.0)), (32, 1, 3, *_alike(0.9))]),
    "one of certain success beside 5%, one trial": Unlike([(1, 6, 1, *_same(1.0)), (40, 1, 1, *_same(0.05))]),
    "a twentieth of the tasks certain, others 5%": Unlike([(2, 1, 3, *_same(1.0)), (38, 1, 3, *_same(0.05))]),
    "noisy tasks once, calm ones ten times": Unlike([(15, 1, 1, *_same(0.5)), (15, 1, 10, *_certain_tasks(0.5))]),
    "noisy tasks once, calm ones that fail": Unlike([(15, 1, 1, *_same(0.5)), (15, 1, 10, *_certain_tasks(0.1))]),
    "calm tasks once, noisy ones ten times": Unlike([(15, 1, 1, *_certain_tasks(0.3)), (15, 1, 10, *_same(0.3))]),
    "noisy templates once, calm tasks five times": Unlike([(6, 4, 1, *_same(0.5)), (16, 1, 5, *_certain_tasks(0.2))]),
    "never": Unlike([(20, 1, 3, *_same(0.0))]),
    "always": Unlike([(20, 1, 3, *_same(1.0))]),
    "one in 1,000": Unlike([(30, 1, 3, *_same(0.001))]),
    "all or nothing by template, 30%": Unlike([(14, 4, 3, *_certain(0.3))]),
    "all or nothing by task, 10%": Unlike([(25, 2, 3, *_certain_tasks(0.1))]),
    "all or nothing in large templates, coins in small ones": Unlike([(5, 5, 2, *_certain(0.5)), (25, 1, 2, *_same(0.5))]),
    "coins in large templates, all or nothing in small ones": Unlike([(5, 5, 2, *_same(0.5)), (25, 1, 2, *_certain(0.5))]),
    "hard tasks miss trials": Unlike([(30, 1, 5, *_apart(0.5))], missing=0.5),
    "hard tasks miss trials, templates": Unlike([(12, 3, 5, *_alike(0.4))], missing=0.4),
    "hard tasks miss trials, rate of 10%": Unlike([(40, 1, 5, *_apart(0.1))], missing=0.3),
    "13 tasks, 7 trials": Unlike([(13, 1, 7, *_apart(0.35, 0.2))]),
    "17 tasks, 4 trials, U-shaped": Unlike([(17, 1, 4, *_apart(0.7, 0.85))]),
    "21 templates of 2, one trial": Unlike([(21, 2, 1, *_alike(0.15, 0.8))]),
    "rates of 3% and 97% by halves": Unlike([(20, 1, 3, *_apart(0.03)), (20, 1, 3, *_apart(0.97))]),
    "two sites, 15% and 75%, templates of 3": Unlike([(8, 3, 2, *_alike(0.15, 0.3)), (8, 3, 2, *_alike(0.75, 0.3))]),
    "scores in quarters": Unlike([(24, 1, 2, *_apart(0.4))], parts=4),
    "scores in quarters, templates": Unlike([(12, 3, 1, *_alike(0.6))], parts=4),
    "scores in tenths near 1": Unlike([(24, 1, 3, *_apart(0.95, 0.3))], parts=10),
}  # fmt: skip
