"""Curves over scores and labels: isotonic regression and ROC."""

from __future__ import annotations

from collections.abc import Sequence

from bench_core.errors import NotEstimableError
from bench_core.records import Record


class Roc(Record):
    """The shares of successes and failures that pass at each threshold of the score.

    Attributes:
        points: False-pass rate and true-pass rate, from the strictest threshold to the laxest.
        area: Chance that a success gets a higher score than a failure; ties count half.
    """

    points: tuple[tuple[float, float], ...]
    area: float


def isotonic(scores: Sequence[float], labels: Sequence[bool]) -> tuple[list[float], list[float]]:
    """Return increasing scores and chances: the best monotone fit, shrunk a little.

    Pool adjacent violators (Ayer et al. 1955). Each pool of n cases counts half a success and half
    a failure more, so that no chance is 0 or 1.

    >>> isotonic([0.2, 0.4, 0.6, 0.8], [False, True, False, True])
    ([0.2, 0.5, 0.8], [0.25, 0.5, 0.75])
    """
    pools: list[list[float]] = []  # successes, cases, sum of scores
    by_score: dict[float, list[bool]] = {}
    for score, label in sorted(zip(scores, labels, strict=True)):
        by_score.setdefault(score, []).append(label)
    for score, here in by_score.items():  # equal scores are one pool from the start
        pools.append([float(sum(here)), float(len(here)), score * len(here)])
        # joined until the last pool has a higher share of successes than the one before it
        while len(pools) > 1 and pools[-2][0] * pools[-1][1] >= pools[-1][0] * pools[-2][1]:
            last = pools.pop()
            pools[-1] = [one + other for one, other in zip(pools[-1], last, strict=True)]
    means = [total / n for _, n, total in pools]
    chances = [(hits + 0.5) / (n + 1) for hits, n, _ in pools]
    # shrinking moves small pools more than large ones, so that a chance may now be below the one before it
    return means, [max(chances[: i + 1]) for i in range(len(chances))]


def roc_curve(scores: Sequence[float], labels: Sequence[bool]) -> Roc:
    """Return the ROC curve and the area under it.

    Raises:
        NotEstimableError: All cases have the same label.

    >>> roc_curve([0.1, 0.4, 0.35, 0.8], [False, False, True, True]).area
    0.75
    """
    successes, failures = sum(labels), len(labels) - sum(labels)
    if not successes or not failures:
        raise NotEstimableError("a ROC curve needs known successes and known failures")
    points = [(0.0, 0.0)]
    alarms = hits = 0
    area = 0.0
    for score in sorted(set(scores), reverse=True):
        here = [label for each, label in zip(scores, labels, strict=True) if each == score]
        area += (len(here) - sum(here)) * (hits + sum(here) / 2)
        hits += sum(here)
        alarms += len(here) - sum(here)
        points.append((alarms / failures, hits / successes))
    return Roc(points=tuple(points), area=area / (successes * failures))


def interpolate(xs: Sequence[float], ys: Sequence[float], x: float) -> float:
    """Return `ys` at `x`: straight lines between the points, level outside."""
    if x <= xs[0]:
        return ys[0]
    for i in range(1, len(xs)):
        if x <= xs[i]:
            share = (x - xs[i - 1]) / (xs[i] - xs[i - 1])
            return ys[i - 1] + share * (ys[i] - ys[i - 1])
    return ys[-1]
