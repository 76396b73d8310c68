"""Before a run: how small a difference can it show, and how many tasks and trials would it take?"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Literal

from pydantic import Field

from bench_core.errors import NotEstimableError
from bench_core.records import Record
from bench_core.statistics.clustering import Clusters, Key, Scores
from bench_core.statistics.distributions import t_cdf, t_quantile
from bench_core.statistics.noise import noise_of

Design = Literal["paired", "unpaired"]
"""Two agents on the same tasks, or each on tasks of its own."""

_MOST_TASKS = 10_000_000
_LEAST_TASKS = 2
_LEAST_CHANCE = 0.5


class Templates(Record):
    """How tasks are grouped: tasks of one template are alike and count for less than as many others.

    Attributes:
        size: Mean number of tasks of a template.
        weighted_size: The same over tasks (a template counts once for each of its tasks); larger
            where templates differ in size. So many tasks count for one effective cluster (Kish's).
    """

    size: float = Field(default=1.0, ge=1)
    weighted_size: float = Field(default=1.0, ge=1)

    @classmethod
    def of(cls, sizes: Sequence[int]) -> Templates:
        """Take the grouping from the numbers of tasks of each template.

        >>> Templates.of([5, 5, 1, 1])
        Templates(size=3.0, weighted_size=4.333333333333333)
        """
        tasks = sum(sizes)
        squares = sum(size * size for size in sizes)
        return cls(size=tasks / len(sizes), weighted_size=squares / tasks)


_ALONE = Templates()


class Variability(Record):
    """The sources of scatter in a difference between two agents' success rates.

    The defaults are middling: a rate of 42%, trials of one task half as alike as they could be,
    true differences between two agents that vary by 15 points from task to task.

    Attributes:
        rate: Success rate around which both agents lie.
        alike: Intra-class correlation of trials of one task, from 0 (every task as hard as any
            other) to 1 (a task is always or never solved).
        task_effect_sd: Standard deviation over tasks of the true difference between the agents.
        templates_alike: Correlation of the chances of success of two tasks of one template.
        template_effects_alike: Correlation of the true differences of two tasks of one template:
            a change that helps one of them mostly helps the others.
    """

    rate: float = Field(default=0.42, ge=0, le=1)
    alike: float = Field(default=0.485, ge=0, le=1)
    task_effect_sd: float = Field(default=0.148, ge=0, le=1)
    templates_alike: float = Field(default=0.3, ge=0, le=1)
    template_effects_alike: float = Field(default=0.6, ge=0, le=1)

    def variance(self, trials: int, design: Design, templates: Templates = _ALONE) -> float:
        """Variance of the difference between two agents with `trials` trials each, per task."""
        noise = 2.0 * self.rate * (1.0 - self.rate) * (1.0 - self.alike) / trials
        if design == "unpaired":
            return 2.0 * self._between(templates) + noise
        others = templates.weighted_size - 1.0
        return self.task_effect_sd**2 * (1.0 + others * self.template_effects_alike) + noise

    def variance_of_one(self, trials: int, templates: Templates = _ALONE) -> float:
        """Variance of one agent's rate with `trials` trials, per task."""
        spread = self.rate * (1.0 - self.rate)
        return self._between(templates) + spread * (1.0 - self.alike) / trials

    def _between(self, templates: Templates) -> float:
        others = templates.weighted_size - 1.0
        spread = self.rate * (1.0 - self.rate)
        return spread * self.alike * (1.0 + others * self.templates_alike)

    @classmethod
    def of(
        cls,
        scores: Scores[Key],
        *,
        clusters: Clusters[Key] | None = None,
        task_effect_sd: float = 0.148,
    ) -> Variability:
        """Estimate rate and likeness from a pilot run with two or more trials per task.

        If `clusters` (task id to template) state which tasks are of one template, the likeness of
        these is estimated, too.

        Raises:
            NotEstimableError: There are fewer than two tasks, none has two trials, or outcomes are equal or no rates.

        >>> Variability.of({"a": [1, 1], "b": [0, 1], "c": [0, 0]}).alike
        0.5
        """
        noise = noise_of(scores, clusters)
        if not 0.0 <= noise.rate <= 1.0:
            raise NotEstimableError(
                f"the pilot's mean score is {noise.rate:g}: only success rates, from 0 to 1, are planned with"
            )
        if noise.trial + noise.task + noise.template <= 0.0:
            raise NotEstimableError("all outcomes of the pilot are equal: they show no variability")
        found = cls(rate=noise.rate, alike=noise.icc, task_effect_sd=task_effect_sd)
        if noise.template_icc is None:
            return found
        return found.model_copy(update={"templates_alike": noise.template_icc})


class Plan(Record):
    """A design and the differences that it can show.

    Attributes:
        tasks: Tasks of each agent.
        trials: Trials per task and agent.
        templates: Independent groups of tasks of each agent.
        runs: Trials of both agents together.
        detectable: Smallest true difference found with probability `power`; above 1 if no
            difference of rates would be.
        half_width: Expected half width of one agent's interval for new tasks (normal scale); at
            most .5, as an interval lies within 0 to 1.
    """

    design: Design
    tasks: int
    trials: int
    templates: int
    runs: int
    level: float
    power: float
    detectable: float
    half_width: float


def plan(
    tasks: int,
    trials: int = 1,
    *,
    design: Design = "paired",
    variability: Variability | None = None,
    templates: Templates = _ALONE,
    level: float = 0.95,
    power: float = 0.8,
) -> Plan:
    """Return the smallest difference that `tasks` x `trials` can be expected to show.

    (t quantile of the level + t quantile of the power) x standard error (Miller 2024, arXiv
    2411.00640, with t for z). More trials help paired designs much; unpaired ones stop at the
    variance between tasks.

    Args:
        tasks: Tasks of each agent.
        trials: Trials per task and agent.
        design: Whether both agents do the same tasks.
        variability: The sources of scatter in the difference; see `Variability.of` for a pilot run.
        templates: How tasks are grouped by the templates they were made from; `Templates.of`.
        level: 1 minus the two-sided error rate of the test.
        power: Probability with which the difference shall be found.

    Raises:
        NotEstimableError: Fewer than two tasks or templates.

    >>> round(plan(68, 3).detectable, 3)
    0.112
    >>> round(plan(812, 3, templates=Templates.of([5] * 163)).detectable, 3)
    0.039
    """
    known = variability or Variability()
    clusters = _clusters(tasks, trials, power, templates)
    error = math.sqrt(known.variance(trials, design, templates) / tasks)
    df = _df(tasks, templates, design)
    return Plan(
        design=design,
        tasks=tasks,
        trials=trials,
        templates=clusters,
        runs=2 * tasks * trials,
        level=level,
        power=power,
        detectable=(t_quantile(0.5 + level / 2.0, df) + t_quantile(power, df)) * error,
        half_width=min(
            0.5,
            t_quantile(0.5 + level / 2.0, _df(tasks, templates, "paired"))
            * math.sqrt(known.variance_of_one(trials, templates) / tasks),
        ),
    )


def tasks_needed(
    difference: float,
    trials: int = 1,
    *,
    design: Design = "paired",
    variability: Variability | None = None,
    templates: Templates = _ALONE,
    level: float = 0.95,
    power: float = 0.8,
) -> int:
    """Return the fewest tasks with which a true `difference` is found with probability `power`.

    Arguments as `plan`.

    Raises:
        NotEstimableError: Not even ten million tasks would do.

    >>> tasks_needed(0.05, 3)
    334
    """
    if not 0.0 < difference <= 1.0:
        raise ValueError(f"a difference of rates lies between 0 and 1, got {difference!r}")
    least = math.ceil(_LEAST_TASKS * templates.weighted_size)

    def enough(tasks: int) -> bool:
        found = plan(
            tasks,
            trials,
            design=design,
            variability=variability,
            templates=templates,
            level=level,
            power=power,
        )
        return found.detectable <= difference

    high = least
    while not enough(high):
        high *= 2
        if high > _MOST_TASKS:
            raise NotEstimableError(
                f"a difference of {difference} is out of reach of any benchmark"
            )
    low = max(least - 1, high // 2)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high


def plans_for(
    difference: float,
    *,
    trials: Sequence[int] = (1, 3, 5, 10),
    design: Design = "paired",
    variability: Variability | None = None,
    templates: Templates = _ALONE,
    level: float = 0.95,
    power: float = 0.8,
) -> tuple[Plan, ...]:
    """Return, for each number of trials, the smallest design that shows `difference`.

    >>> [(each.tasks, each.runs) for each in plans_for(0.1, trials=(1, 3))]
    [(217, 434), (85, 510)]
    """
    how: dict[str, Any] = {
        "design": design,
        "variability": variability,
        "templates": templates,
        "level": level,
        "power": power,
    }
    return tuple(plan(tasks_needed(difference, each, **how), each, **how) for each in trials)


def power_of(
    difference: float,
    tasks: int,
    trials: int = 1,
    *,
    design: Design = "paired",
    variability: Variability | None = None,
    templates: Templates = _ALONE,
    level: float = 0.95,
) -> float:
    """Return the probability with which a two-sided test finds a true `difference`.

    Arguments as `plan`.

    >>> round(power_of(0.112, 68, 3), 2)
    0.8
    """
    _clusters(tasks, trials, _LEAST_CHANCE, templates)
    known = variability or Variability()
    error = math.sqrt(known.variance(trials, design, templates) / tasks)
    if error == 0.0:
        return float(difference != 0.0)
    df = _df(tasks, templates, design)
    critical = t_quantile(0.5 + level / 2.0, df)
    distance = abs(difference) / error
    return t_cdf(distance - critical, df) + t_cdf(-distance - critical, df)


def _df(tasks: int, templates: Templates, design: Design) -> float:
    """Return the degrees of freedom, by the effective number of clusters of each agent."""
    each = tasks / templates.weighted_size - 1.0
    return each if design == "paired" else 2.0 * each


def _clusters(tasks: int, trials: int, power: float, templates: Templates) -> int:
    """Return how many independent groups so many tasks are, refusing designs that cannot be."""
    found = round(tasks / templates.size)
    effective = tasks / templates.weighted_size
    if found < _LEAST_TASKS or effective < _LEAST_TASKS - 0.5:
        worth = f" that count for {effective:.1f}" if effective < found else ""
        raise NotEstimableError(
            f"a comparison needs at least {_LEAST_TASKS} tasks or templates, got {found}{worth}"
        )
    if trials < 1:
        raise ValueError(f"a task needs at least one trial, got {trials}")
    if not _LEAST_CHANCE <= power < 1.0:
        raise ValueError(f"power lies between 0.5 and 1, got {power!r}")
    return found
