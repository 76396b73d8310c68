"""Two agents on the same tasks: the difference, with an interval and a test that agree; several together."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Hashable, Mapping, Sequence
from itertools import combinations
from typing import Literal, NamedTuple

from pydantic import Field

from bench_core.records import SUCCESS_SCORE, Record
from bench_core.statistics.clustering import Clusters, Key, Scores, finite
from bench_core.statistics.dirichlet import dirichlet_high, dirichlet_low
from bench_core.statistics.distributions import t_quantile
from bench_core.statistics.intervals import Interval, require_level
from bench_core.statistics.multiplicity import benjamini_hochberg
from bench_core.statistics.paired_tests import (
    PairedT,
    fisher_exact,
    mcnemar_mid_p,
    mcnemar_score,
    paired_t,
    sign_flip,
    tango,
)
from bench_core.statistics.permutation import shared_trials, within_task

POWER = 0.8


class Comparison(Record):
    """How one agent does against another on the tasks for which both have scores.

    Attributes:
        new: Name of the agent that the difference is about.
        baseline: Name of the other.
        difference: New minus baseline with its interval, on new tasks of this kind. It excludes
            zero if and only if `p_value` is below 1 - level.
        p_value: Two-sided, of `test`.
        test: `McNemar mid-p` (one trial each, independent tasks; `McNemar score` if its p-value is
            larger) or `paired t, sign-flip`: the larger p-value of the two, as t's is too small
            when few clusters differ and hardly vary.
        p_sign_flip: Two-sided mid-p, of the sign-flip permutation test over clusters, free of a
            distribution.
        p_same_tasks: Two-sided and exact, that both are one agent on these tasks (`within_task`).
        p_adjusted: `p_value` for all comparisons made together (Bonferroni), if there were several.
        joint: The difference with an interval that holds for all comparisons made together; it
            leaves out zero if and only if `p_adjusted` is below 1 - level.
        detectable: The smallest true difference this comparison would find in four of five
                repetitions; it mostly misses smaller ones. `None` if no difference of rates would
                be large enough, or if all clusters differ by the same.
        better: Tasks on which new has the higher mean.
        worse: Tasks on which new has the lower mean.
        only_new: Tasks left out because baseline has no score.
        only_baseline: Tasks left out because new has no score.
    """

    schema_version: Literal[1] = 1
    new: str = "new"
    baseline: str = "baseline"
    difference: Interval
    p_value: float = Field(ge=0, le=1)
    test: str
    p_sign_flip: float = Field(ge=0, le=1)
    p_same_tasks: float | None = Field(default=None, ge=0, le=1)
    p_adjusted: float | None = None
    joint: Interval | None = None
    detectable: float | None = None
    better: int
    worse: int
    equal: int
    only_new: int = 0
    only_baseline: int = 0


class TaskComparison(Record):
    """One task of two agents: their success rates, and whether they differ beyond chance.

    `q_value` is `p_value` (Fisher's exact test) after Benjamini and Hochberg over all tasks.
    """

    task: str
    new: float
    baseline: float
    trials_new: int
    trials_baseline: int
    p_value: float
    q_value: float


def compare(
    new: Scores[Key],
    baseline: Scores[Key],
    *,
    clusters: Clusters[Key] | None = None,
    names: tuple[str, str] = ("new", "baseline"),
    level: float = 0.95,
    together: int | None = None,
    seed: int = 0,
    p_same_tasks: float | None = None,
) -> Comparison:
    """Compare two agents on the tasks both were scored on.

    With one trial each, outcomes of 0 or 1 and tasks that stand alone: McNemar's mid-p test and
    Tango's interval. Otherwise the paired t interval over clusters, tested by t and by sign flips.
    A difference is in the interval if and only if the test does not reject it. Comparing two
    separate intervals by eye finds almost nothing: at 154 tasks with 3 trials it sees a true
    difference of 6 points in less than 1% of cases; this function sees it in 65%.

    Args:
        new: Task id to the scores of its trials (numbers of trials may differ).
        baseline: The same for the agent compared with.
        clusters: Task id to template; tasks of one template are one cluster.
        names: Names of the two in the result.
        level: Nominal confidence.
        together: How many comparisons are made, this one among them: `p_adjusted` and `joint` hold for all.
        seed: Seed of the sign-flip test, used if it has to draw.
        p_same_tasks: Two-sided p-value of `within_task`, if known already.

    Raises:
        NotEstimableError: Fewer than two clusters of tasks are shared, or three have most of the
            weight.

    >>> result = compare({n: [n % 3 > 0] for n in range(30)}, {n: [n % 2] for n in range(30)})
    >>> print(result.difference, result.test, round(result.p_value, 3))
    0.167 [-0.090, 0.401] McNemar mid-p 0.21
    """
    require_level(level)
    pairs = _pairs(new, baseline)
    differences = {key: pair.new - pair.baseline for key, pair in pairs.items()}
    t_test = paired_t(differences, clusters=clusters)
    totals: defaultdict[Hashable, float] = defaultdict(float)
    for key, each in differences.items():
        totals[(clusters or {}).get(key, (key,))] += each
    flipped = sign_flip(list(totals.values()), seed=seed)
    gained = sum(each > 0 for each in differences.values())
    lost = sum(each < 0 for each in differences.values())
    plain = _plain_outcomes(pairs, clusters)
    if plain:
        test, p_value = "McNemar mid-p", mcnemar_mid_p(gained, lost)
        # far out the score test, whose inversion is Tango's interval, rejects later
        if (score := mcnemar_score(gained, lost)) > p_value:
            test, p_value = "McNemar score", score
    else:
        test = "paired t, sign-flip"
        p_value = max(t_test.p_value, flipped, _p_of_alike(t_test, pairs))

    def interval(error: float) -> Interval:
        """Return the interval that leaves out zero exactly if `p_value` is below `error`."""
        found = (
            tango(gained, lost, len(pairs), level=1.0 - error)
            if plain
            else _t_interval(t_test, pairs, 1.0 - error)
        )
        ends = {"low": min(0.0, found.low), "high": max(0.0, found.high)}
        # both tests are valid, so a difference that either does not reject stays in
        return found.model_copy(
            update={"estimand": "new_tasks", **(ends if p_value >= error else {})}
        )

    error = 1.0 - level
    return Comparison(
        new=names[0],
        baseline=names[1],
        difference=interval(error).model_copy(update={"level": level}),
        p_value=p_value,
        test=test,
        p_sign_flip=flipped,
        p_same_tasks=(
            within_task(new, baseline, seed=seed).p_value if p_same_tasks is None else p_same_tasks
        ),
        p_adjusted=min(1.0, together * p_value) if together else None,
        joint=interval(error / together) if together else None,
        detectable=_detectable(t_test, pairs, level),
        better=gained,
        worse=lost,
        equal=len(pairs) - gained - lost,
        only_new=sum(bool(len(new[key])) for key in new) - len(pairs),
        only_baseline=sum(bool(len(baseline[key])) for key in baseline) - len(pairs),
    )


def compare_models(
    models: Mapping[str, Scores[Key]],
    *,
    baseline: str | None = None,
    clusters: Clusters[Key] | None = None,
    level: float = 0.95,
    seed: int = 0,
) -> tuple[Comparison, ...]:
    """Compare several models, with p-values and intervals that hold for all comparisons made.

    Args:
        models: Model name to its scores, as for `compare`.
        baseline: Compare all others with this one; without it, every pair, in the order given.
        clusters: As for `compare`, as are `level` and `seed`.
        level: Nominal confidence, of each `difference` alone and of all `joint` intervals together.
        seed: Seed of sign-flip tests.

    Raises:
        NotEstimableError: Two models share fewer than two clusters of tasks.

    >>> models = {"a": {n: [1] for n in range(20)}, "b": {n: [n % 2] for n in range(20)}}
    >>> [(each.new, each.baseline, each.p_adjusted < 0.01) for each in compare_models(models)]
    [('a', 'b', True)]
    """
    pairs = list(combinations(models, 2))
    if baseline is not None:
        pairs = [(name, baseline) for name in models if name != baseline]
    return tuple(
        compare(
            models[new],
            models[other],
            clusters=clusters,
            names=(new, other),
            level=level,
            together=len(pairs),
            seed=seed,
        )
        for new, other in pairs
    )


def compare_tasks(new: Scores[Key], baseline: Scores[Key]) -> tuple[TaskComparison, ...]:
    """Compare two agents task by task, by Fisher's exact test, with q-values over the table.

    Scores of at least 1 are successes. With few trials a single task shows little: 3 of 3 against
    0 of 3 has a p-value of 0.1.

    >>> compare_tasks({"a": [1, 1, 1]}, {"a": [0, 0, 0]})[0].p_value
    0.1
    """
    rows = []
    for key in new:
        if not len(new[key]) or not len(baseline.get(key, ())):
            continue
        won, lost = _successes(new[key]), _successes(baseline[key])
        p_value = fisher_exact(won, len(new[key]), lost, len(baseline[key]))
        rows.append((key, won, lost, p_value))
    q_values = benjamini_hochberg([row[3] for row in rows])
    return tuple(
        TaskComparison(
            task=str(key),
            new=won / len(new[key]),
            baseline=lost / len(baseline[key]),
            trials_new=len(new[key]),
            trials_baseline=len(baseline[key]),
            p_value=p_value,
            q_value=q_value,
        )
        for (key, won, lost, p_value), q_value in zip(rows, q_values, strict=True)
    )


def task_differences(new: Scores[Key], baseline: Scores[Key]) -> dict[Key, float]:
    """Return each shared task's mean score for `new` minus that for `baseline`.

    Raises:
        NotEstimableError: No task has scores for both.

    >>> task_differences({"a": [1, 0], "b": [1]}, {"a": [0]})
    {'a': 0.5}
    """
    return {key: pair.new - pair.baseline for key, pair in _pairs(new, baseline).items()}


class _Pair(NamedTuple):
    new: float
    baseline: float
    trials: int
    plain: bool


def _pairs(new: Scores[Key], baseline: Scores[Key]) -> dict[Key, _Pair]:
    return {
        key: _Pair(
            math.fsum(now) / len(now),
            math.fsum(before) / len(before),
            len(now) + len(before),
            len(now) == len(before) == 1 and {*now, *before} <= {0, 1},
        )
        for key, (now, before) in shared_trials(new, baseline)[0].items()
    }


def _plain_outcomes(pairs: Mapping[Key, _Pair], clusters: Clusters[Key] | None) -> bool:
    """Whether McNemar's assumptions hold: one 0/1 outcome each, tasks that stand alone."""
    if not all(pair.plain for pair in pairs.values()):
        return False
    homes = [clusters[key] for key in pairs if key in clusters] if clusters else []
    return len(homes) == len(set(homes))


def _t_interval(t_test: PairedT, pairs: Mapping[Key, _Pair], level: float) -> Interval:
    quantile = t_quantile(0.5 + level / 2.0, t_test.df)
    clusters = t_test.clusters
    half = quantile * t_test.standard_error
    notes: tuple[str, ...] = ()
    furthest = _furthest(pairs)
    low, high = max(-furthest, t_test.mean - half), min(furthest, t_test.mean + half)
    if half == 0.0:
        tail = 0.5 - level / 2.0
        low = dirichlet_low([t_test.mean] * clusters, alpha=tail, lowest=-furthest)
        high = dirichlet_high([t_test.mean] * clusters, alpha=tail, highest=furthest)
        notes = ("all clusters agree: Dirichlet limits bound how many others may not",)
    return Interval(
        estimate=t_test.mean,
        low=low,
        high=high,
        level=level,
        method="paired t over clusters",
        n=sum(pair.trials for pair in pairs.values()),
        tasks=len(pairs),
        clusters=clusters,
        notes=notes,
    )


def _p_of_alike(t_test: PairedT, pairs: Mapping[Key, _Pair]) -> float:
    """Return the p-value of the limits if all clusters differ alike; 0 if they do not."""
    if t_test.standard_error > 0.0:
        return 0.0
    furthest = _furthest(pairs)
    return min(1.0, 2.0 * (furthest / (furthest + abs(t_test.mean))) ** t_test.clusters)


def _furthest(pairs: Mapping[Key, _Pair]) -> float:
    """Return how large a difference can be, or is."""
    return max(1.0, *(abs(pair.new - pair.baseline) for pair in pairs.values()))


def _detectable(t_test: PairedT, pairs: Mapping[Key, _Pair], level: float) -> float | None:
    if t_test.standard_error == 0.0:
        return None
    quantiles = t_quantile(0.5 + level / 2.0, t_test.df) + t_quantile(POWER, t_test.df)
    found = quantiles * t_test.standard_error
    rates = all(0.0 <= rate <= 1.0 for pair in pairs.values() for rate in pair[:2])
    return None if rates and found > 1.0 else found


def _successes(scores: Sequence[float]) -> int:
    return sum(each >= SUCCESS_SCORE for each in finite(scores))
