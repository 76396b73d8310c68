"""Split the noise of a rate into templates, tasks and trials, and predict the effect of more of each."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Hashable, Mapping, Sequence
from statistics import StatisticsError, correlation, fmean

from bench_core.errors import NotEstimableError
from bench_core.records import Record
from bench_core.statistics.clustering import Clusters, Key, Scores, TaskMean, finite, reduce_tasks
from bench_core.statistics.distributions import t_quantile

_LEAST_CLUSTERS = 3
_MOST_BLOCKS = 40
_LEAST_MODELS = 8
"""Below this many models an item-rest correlation scatters by .23 and more, and is not shown."""


class Noise(Record):
    """Variance components of one run, and the share of each in the rate's own variance.

    Attributes:
        rate: Mean over tasks of each task's mean over its trials.
        tasks: Tasks with a score.
        trials: Harmonic mean of the trials per task.
        template: Variance between templates; 0 if no template has two tasks.
        task: Variance between tasks (of one template).
        trial: Variance between trials of one task.
        icc: How alike trials of one task are: variance between tasks and templates by all of it.
        icc_low: Lower end of its 95% interval (jackknife over clusters).
        icc_high: Upper end.
        template_icc: How alike tasks of one template are: variance between templates by variance
            between tasks; `None` without templates of several tasks.
        shares: Of the variance of the rate on new tasks, by `template`, `task` and `trial`.
        width_twice_trials: Width of the interval on new tasks with twice the trials, by that now.
        width_twice_tasks: The same with twice the tasks (and templates).
    """

    rate: float
    tasks: int
    trials: float
    template: float
    task: float
    trial: float
    icc: float
    icc_low: float | None = None
    icc_high: float | None = None
    template_icc: float | None = None
    shares: dict[str, float]
    width_twice_trials: float
    width_twice_tasks: float = math.sqrt(0.5)


class TaskItem(Record):
    """A task as an item of a test, as item analysis has it, over several models.

    Attributes:
        rate: Mean over models of their rates on it.
        same: All trials of all models failed (`never`) or succeeded (`always`): it tells no models
            apart.
        rest_correlation: Between models' rates on it and on all other tasks; `None` below eight
            models or where either does not vary.
    """

    task: str
    rate: float
    same: str | None = None
    rest_correlation: float | None = None


class Items(Record):
    """Tasks over several models; `reason` is why correlations are missing."""

    models: int
    never: int
    always: int
    tasks: tuple[TaskItem, ...]
    reason: str | None = None


def noise_of(scores: Scores[Key], clusters: Clusters[Key] | None = None) -> Noise:
    """Decompose the variance of trials into templates, tasks and trials.

    Nested analysis of variance by the method of moments (Searle, Casella and McCulloch 1992,
    Variance Components); components below 0 are 0.

    Args:
        scores: Task id to the scores of its trials.
        clusters: Task id to template.

    Raises:
        NotEstimableError: There are fewer than two tasks, or no task with two trials.

    >>> noise_of({"a": [1, 1], "b": [0, 1], "c": [0, 0]}).icc
    0.5
    """
    tasks = reduce_tasks(scores, clusters)
    found = _components(tasks)
    if found is None:
        raise NotEstimableError(
            "where the noise comes from shows in a run, or a pilot, of at least two tasks, "
            "some with two trials"
        )
    template, task, trial = found
    sizes = Counter(each.cluster for each in tasks)
    weighted = sum(size * size for size in sizes.values()) / len(tasks)
    trials = len(tasks) / math.fsum(1.0 / each.trials for each in tasks)
    parts = {"template": template * weighted, "task": task, "trial": trial / trials}
    whole = math.fsum(parts.values())
    low, high = _icc_interval(tasks)
    return Noise(
        rate=fmean(each.mean for each in tasks),
        tasks=len(tasks),
        trials=trials,
        template=template,
        task=task,
        trial=trial,
        icc=_icc(found),
        icc_low=low,
        icc_high=high,
        template_icc=_share(template, template + task) if weighted > 1.0 else None,
        shares={name: _share(part, whole) for name, part in parts.items()},
        width_twice_trials=math.sqrt(1.0 - 0.5 * _share(parts["trial"], whole)),
    )


def items_of(models: Mapping[str, Scores[Key]]) -> Items:
    """Analyse tasks as items: which distinguish models, and which agree with the rest.

    Args:
        models: Model name to its scores; tasks without a score of every model are left out.

    Raises:
        NotEstimableError: No task has scores of every model.
        ValueError: A score is NaN or infinite.

    >>> found = items_of({"a": {1: [1], 2: [0], 3: [1]}, "b": {1: [1], 2: [0], 3: [0]}})
    >>> found.always, found.never, found.reason
    (1, 1, 'item-rest correlations need 8 models, there are 2')
    """
    shared = [
        key
        for key in next(iter(models.values()), {})
        if all(len(scores.get(key, ())) for scores in models.values())
    ]
    if not shared:
        raise NotEstimableError("no task has scores of every model")
    rates = {key: [fmean(finite(scores[key])) for scores in models.values()] for key in shared}
    sums = [math.fsum(each) for each in zip(*rates.values(), strict=True)]
    enough = len(models) >= _LEAST_MODELS
    items = [
        TaskItem(
            task=str(key),
            rate=fmean(values),
            same=_same([score for scores in models.values() for score in scores[key]]),
            rest_correlation=_correlation(
                values, [total - value for total, value in zip(sums, values, strict=True)]
            )
            if enough
            else None,
        )
        for key, values in rates.items()
    ]
    reason = f"item-rest correlations need {_LEAST_MODELS} models, there are {len(models)}"
    return Items(
        models=len(models),
        never=sum(each.same == "never" for each in items),
        always=sum(each.same == "always" for each in items),
        tasks=tuple(items),
        reason=None if enough else reason,
    )


def _components(tasks: Sequence[TaskMean]) -> tuple[float, float, float] | None:
    """Return the variances between templates, between tasks and between trials."""
    repeated = [each for each in tasks if each.variance is not None]
    if len(tasks) < len(("one", "other")) or not repeated:
        return None
    freedom = sum(each.trials - 1 for each in repeated)
    trial = math.fsum((each.trials - 1) * (each.variance or 0.0) for each in repeated) / freedom
    noise = trial * math.fsum(1.0 / each.trials for each in tasks) / len(tasks)
    groups: defaultdict[Hashable, list[float]] = defaultdict(list)
    for each in tasks:
        groups[each.cluster].append(each.mean)
    number, clusters = len(tasks), len(groups)
    centre = fmean(each.mean for each in tasks)
    total = math.fsum((each.mean - centre) ** 2 for each in tasks)
    if clusters in {1, number}:
        return 0.0, max(0.0, total / (number - 1) - noise), trial
    within = math.fsum(
        math.fsum((value - fmean(values)) ** 2 for value in values) for values in groups.values()
    )
    inside = within / (number - clusters)
    size = (number - math.fsum(len(v) ** 2 for v in groups.values()) / number) / (clusters - 1)
    template = max(0.0, ((total - within) / (clusters - 1) - inside) / size)
    return template, max(0.0, inside - noise), trial


def _icc(components: tuple[float, float, float]) -> float:
    template, task, trial = components
    return round(_share(template + task, template + task + trial), 12)


def _icc_interval(tasks: Sequence[TaskMean]) -> tuple[float | None, float | None]:
    """Return the jackknife interval over clusters, on the scale on which an ICC is about normal."""
    groups: defaultdict[Hashable, list[TaskMean]] = defaultdict(list)
    for each in tasks:
        groups[each.cluster].append(each)
    whole = _components(tasks)
    if len(groups) < _LEAST_CLUSTERS or whole is None or not any(whole):
        return None, None
    blocks: defaultdict[int, list[TaskMean]] = defaultdict(list)
    for place, group in enumerate(groups.values()):
        blocks[place % _MOST_BLOCKS] += group
    left = []
    for block in blocks:
        found = _components([each for name in blocks if name != block for each in blocks[name]])
        if found is None:
            return None, None
        left.append(_stretched(_icc(found)))
    number, centre = len(blocks), _stretched(_icc(whole))
    pseudo = [number * centre - (number - 1) * each for each in left]
    middle = fmean(pseudo)
    error = math.sqrt(math.fsum((each - middle) ** 2 for each in pseudo) / (number - 1) / number)
    half = t_quantile(0.975, number - 1) * error
    return max(0.0, math.tanh(centre - half)), min(1.0, math.tanh(centre + half))


def _stretched(icc: float) -> float:
    return math.atanh(min(0.999, icc))


def _share(part: float, whole: float) -> float:
    return part / whole if whole > 0.0 else 0.0


def _same(scores: Sequence[float]) -> str | None:
    if all(score >= 1.0 for score in scores):
        return "always"
    return "never" if all(score <= 0.0 for score in scores) else None


def _correlation(one: Sequence[float], other: Sequence[float]) -> float | None:
    try:
        return correlation(one, other)
    except StatisticsError:  # one of them does not vary
        return None
