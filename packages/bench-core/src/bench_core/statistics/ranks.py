"""Several models at once: which differ, their possible ranks, and the front of success and cost."""

from __future__ import annotations

import math
from collections.abc import Mapping
from itertools import combinations, permutations

from bench_core.errors import NotEstimableError
from bench_core.records import Record
from bench_core.statistics.clustering import Clusters, Key, Scores, reduce_tasks, task_mean
from bench_core.statistics.comparison import Comparison, compare, task_differences
from bench_core.statistics.multiplicity import holm
from bench_core.statistics.paired_tests import paired_t


class RankSet(Record):
    """The ranks a model may have; with confidence 1 - alpha for all models together.

    Attributes:
        rate: Mean over its tasks; `None` without a score.
        best: 1 + the number of models that are clearly better.
        worst: The number of models - those that are clearly worse.
    """

    model: str
    rate: float | None
    best: int
    worst: int


class Leaderboard(Record):
    """Models in the order of their rates, with all pairs tested.

    Attributes:
        pairs: Every pair compared on the tasks both have; `p_adjusted` and `joint` hold for all.
        untested: Pairs that share too little to be compared.
    """

    alpha: float
    ranks: tuple[RankSet, ...]
    pairs: tuple[Comparison, ...]
    untested: tuple[tuple[str, str], ...] = ()


class Dominance(Record):
    """Whether a model is clearly worse and dearer than another.

    Attributes:
        p_value: The larger of the one-sided p-values for success and for cost.
        p_adjusted: After Holm over all ordered pairs.
    """

    model: str
    by: str
    p_value: float
    p_adjusted: float
    dominated: bool


def leaderboard(
    models: Mapping[str, Scores[Key]],
    *,
    clusters: Clusters[Key] | None = None,
    alpha: float = 0.05,
) -> Leaderboard:
    """Rank models by all paired comparisons, which hold together (Bonferroni).

    A rank set contains every rank that the comparisons leave open: it starts below the models that
    are clearly better and ends above those that are clearly worse (Mogstad, Romano, Shaikh and
    Wilhelm 2024, Review of Economic Studies 91:476). Ten models over 20 points on 154 tasks leave
    seven ranks open in the mean: a table of point estimates claims more than the data show.

    Args:
        models: Model name to its scores, as for `compare`.
        clusters: Task id to template.
        alpha: Chance of any false claim that one model is better than another.

    Raises:
        NotEstimableError: `models` is empty.

    >>> models = {"a": {n: [1] for n in range(20)}, "b": {n: [n % 2] for n in range(20)}}
    >>> [(each.model, each.best, each.worst) for each in leaderboard(models).ranks]
    [('a', 1, 1), ('b', 2, 2)]
    """
    if not models:
        raise NotEstimableError("there is no model to rank")
    chosen = list(combinations(models, 2))
    above, below = dict.fromkeys(models, 0), dict.fromkeys(models, 0)
    pairs: list[Comparison] = []
    untested: list[tuple[str, str]] = []
    for pair in chosen:
        try:
            found = compare(
                *(models[name] for name in pair),
                clusters=clusters,
                names=pair,
                level=1.0 - alpha,
                together=len(chosen),
            )
        except NotEstimableError:
            untested.append(pair)
            continue
        pairs.append(found)
        if found.p_adjusted is not None and found.p_adjusted < alpha:
            better, worse = pair if found.difference.estimate >= 0.0 else pair[::-1]
            above[worse] += 1
            below[better] += 1
    ranks = [
        RankSet(
            model=name,
            rate=_rate(scores),
            best=1 + above[name],
            worst=len(models) - below[name],
        )
        for name, scores in models.items()
    ]
    ranks.sort(key=lambda each: -math.inf if each.rate is None else each.rate, reverse=True)
    return Leaderboard(
        alpha=alpha, ranks=tuple(ranks), pairs=tuple(pairs), untested=tuple(untested)
    )


def dominance(
    models: Mapping[str, Scores[Key]],
    costs: Mapping[str, Scores[Key]],
    *,
    clusters: Clusters[Key] | None = None,
    alpha: float = 0.05,
) -> tuple[Dominance, ...]:
    """Test which models are dominated: another succeeds more and costs less, both clearly.

    Intersection-union (Berger 1982, Technometrics 24:295): both one-sided paired t tests must be
    significant, after Holm over all ordered pairs. A model that is not dominated may be on the
    front; a front of point estimates leaves out true members in 1 to 100% of cases.

    Args:
        models: Model name to its scores.
        costs: Model name to the costs of each task's trials.
        clusters: Task id to template.
        alpha: Chance of any false claim.

    >>> scores = {"good": {n: [1] for n in range(20)}, "bad": {n: [0] for n in range(20)}}
    >>> costs = {"good": {n: [1 + n % 2] for n in range(20)}, "bad": {n: [5] for n in range(20)}}
    >>> [(each.model, each.by) for each in dominance(scores, costs) if each.dominated]
    [('bad', 'good')]
    """
    tested = []
    for model, other in permutations((name for name in models if name in costs), 2):
        try:
            less = paired_t(task_differences(models[model], models[other]), clusters=clusters)
            dearer = paired_t(task_differences(costs[other], costs[model]), clusters=clusters)
        except NotEstimableError:
            continue
        tested.append((model, other, max(less.p_drop, dearer.p_drop)))
    adjusted = holm([p_value for *_, p_value in tested])
    return tuple(
        Dominance(model=model, by=other, p_value=p, p_adjusted=held, dominated=held <= alpha)
        for (model, other, p), held in zip(tested, adjusted, strict=True)
    )


def _rate(scores: Scores[Key]) -> float | None:
    tasks = reduce_tasks(scores)
    return task_mean(tasks).estimate if tasks else None
