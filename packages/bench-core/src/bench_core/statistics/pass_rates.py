"""pass@k and pass^k: at least one, or every one, of k tries at a task succeeds."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import lru_cache

from bench_core.errors import NotEstimableError
from bench_core.records import SUCCESS_SCORE
from bench_core.statistics.clustering import Clusters, Key, Scores, TaskMean, finite, task_mean
from bench_core.statistics.intervals import Interval
from bench_core.statistics.rates import interval_of


def pass_at_k(successes: int, trials: int, k: int) -> float:
    """Estimate the chance that at least one of `k` trials succeeds, from `trials` >= k trials.

    Unbiased: 1 - C(n - c, k) / C(n, k) (Chen et al. 2021, arXiv 2107.03374).

    >>> pass_at_k(1, 3, 2)
    0.6666666666666667
    """
    _require_k(successes, trials, k)
    return 1.0 - math.comb(trials - successes, k) / math.comb(trials, k)


def pass_hat_k(successes: int, trials: int, k: int) -> float:
    """Estimate the chance that all of `k` trials succeed, from `trials` >= k trials.

    Unbiased: C(c, k) / C(n, k) (Yao et al. 2024, tau-bench, arXiv 2406.12045).

    >>> pass_hat_k(2, 3, 2)
    0.3333333333333333
    """
    _require_k(successes, trials, k)
    return math.comb(successes, k) / math.comb(trials, k)


def pass_at_k_interval(
    successes: Scores[Key], k: int, *, clusters: Clusters[Key] | None = None, level: float = 0.95
) -> Interval:
    """Return the mean pass@k over tasks with at least `k` scored trials, for new tasks.

    Args:
        successes: Task id to the scores of its trials; from 1 on they are successes.
        k: How many tries.
        clusters: Task id to template.
        level: Nominal confidence.

    Raises:
        NotEstimableError: No task has `k` scored trials, or all are of one cluster.

    >>> print(pass_at_k_interval({"a": [1, 0, 0], "b": [0, 0, 0], "c": [1, 1, 1]}, 2))
    0.556 [0.044, 0.971]
    """
    return mean_over_tasks(pass_at_k, _counted(successes), k, clusters or {}, level)


def pass_hat_k_interval(
    successes: Scores[Key], k: int, *, clusters: Clusters[Key] | None = None, level: float = 0.95
) -> Interval:
    """Return the mean pass^k over tasks with at least `k` scored trials, for new tasks.

    Arguments and errors as `pass_at_k_interval`.

    >>> print(pass_hat_k_interval({"a": [1, 1, 0], "b": [0, 0, 0], "c": [1, 1, 1]}, 2))
    0.444 [0.029, 0.956]
    """
    return mean_over_tasks(pass_hat_k, _counted(successes), k, clusters or {}, level)


def mean_over_tasks(
    estimator: Callable[[int, int, int], float],
    outcomes: Mapping[Key, tuple[int, int]],
    k: int,
    clusters: Clusters[Key],
    level: float,
) -> Interval:
    """Return the mean of `pass_at_k` or `pass_hat_k` over tasks, for new tasks.

    Args:
        estimator: One of the two.
        outcomes: Task id to its successes and its scored trials.
        k: How many tries.
        clusters: Task id to template.
        level: Nominal confidence.

    Raises:
        NotEstimableError: No task has `k` scored trials, or all are of one cluster.
    """
    estimate = lru_cache(estimator)  # thousands of tasks share a few pairs
    tasks = [
        # Trials beyond k sharpen a task's value at most as much as whole groups of k would.
        TaskMean(clusters.get(key, (key,)), estimate(won, trials, k), trials // k, None)
        for key, (won, trials) in outcomes.items()
        if trials >= k
    ]
    if not tasks:
        raise NotEstimableError(f"no task has {k} scored trials, which k = {k} needs")
    return interval_of(task_mean(tasks), estimand="new_tasks", level=level)


def _counted(successes: Scores[Key]) -> dict[Key, tuple[int, int]]:
    return {
        key: (sum(score >= SUCCESS_SCORE for score in finite(each)), len(each))
        for key, each in successes.items()
    }


def _require_k(successes: int, trials: int, k: int) -> None:
    if not 1 <= k <= trials:
        raise NotEstimableError(f"k = {k} needs between 1 and {trials} (the trials there are)")
    if not 0 <= successes <= trials:
        raise ValueError(f"successes must lie between 0 and {trials}, got {successes}")
