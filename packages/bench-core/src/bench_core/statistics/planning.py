"""Before a run: what difference can it show, and how many tasks and trials would it take?"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Literal

from pydantic import Field

from bench_core.errors import NotEstimableError
from bench_core.records import Record
from bench_core.statistics.clustering import reduce_tasks, task_mean
from bench_core.statistics.distributions import t_cdf, t_quantile

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bench_core.statistics.clustering import Key, Scores

__all__ = ["Design", "Plan", "Variability", "plan", "plans_for", "power_of", "tasks_needed"]

Design = Literal["paired", "unpaired"]
"""Two agents on the same tasks, or each on tasks of its own."""

_MOST_TASKS = 10_000_000
_LEAST_TASKS = 2
_LEAST_CHANCE = 0.5


class Variability(Record):
    """What scatters a difference between two agents' success rates.

    The defaults are middling: a rate of 42%, trials of one task half as alike as they could be,
    true differences between two agents that vary by 15 points from task to task.

    Attributes:
        rate: Success rate around which both agents lie.
        alike: Intra-class correlation of trials of one task, from 0 (every task as hard as any
            other) to 1 (a task is always or never solved).
        task_effect_sd: Standard deviation over tasks of the true difference between the agents.
    """

    rate: float = Field(default=0.42, ge=0, le=1)
    alike: float = Field(default=0.485, ge=0, le=1)
    task_effect_sd: float = Field(default=0.148, ge=0, le=1)

    def variance(self, trials: int, design: Design) -> float:
        """Variance of one task's difference between two agents with `trials` trials each."""
        spread = self.rate * (1.0 - self.rate)
        noise = 2.0 * spread * (1.0 - self.alike) / trials
        if design == "paired":
            return self.task_effect_sd**2 + noise
        return 2.0 * spread * self.alike + noise

    @classmethod
    def of(cls, scores: Scores[Key], *, task_effect_sd: float = 0.148) -> Variability:
        """Estimate rate and likeness from a pilot run with two or more trials per task.

        Raises:
            NotEstimableError: No task has two trials, or all outcomes are equal.

        >>> Variability.of({"a": [1, 1], "b": [0, 1], "c": [0, 0]}).alike
        0.5
        """
        mean = task_mean(reduce_tasks(scores))
        if mean.single_trial_tasks == len(mean.tasks) or mean.clusters == 1:
            raise NotEstimableError("a pilot needs at least two tasks, some with two trials")
        noise = [task.variance for task in mean.tasks if task.variance is not None]
        within = math.fsum(noise) / len(noise)
        trials = mean.trials / len(mean.tasks)
        between = mean.variance_over_new_tasks() * len(mean.tasks) - within / trials
        if within + between <= 0.0:
            raise NotEstimableError("all outcomes of the pilot are equal: they show no variability")
        alike = round(min(1.0, max(0.0, between / (within + between))), 12)
        return cls(rate=mean.estimate, alike=alike, task_effect_sd=task_effect_sd)


class Plan(Record):
    """A design and what it can show.

    Attributes:
        tasks: Tasks of each agent.
        trials: Trials per task and agent.
        runs: Trials of both agents together.
        detectable: Smallest true difference found with probability `power`.
        half_width: Expected half width of one agent's interval for new tasks (normal scale).
    """

    design: Design
    tasks: int
    trials: int
    runs: int
    level: float
    power: float
    detectable: float
    half_width: float


def plan(  # noqa: PLR0913 - a design is what its settings say
    tasks: int,
    trials: int = 1,
    *,
    design: Design = "paired",
    variability: Variability | None = None,
    level: float = 0.95,
    power: float = 0.8,
) -> Plan:
    """Return the smallest difference that `tasks` x `trials` can be expected to show.

    (t quantile of the level + t quantile of the power) x standard error (Miller 2024, arXiv
    2411.00640, with t for z). More trials help paired designs much; unpaired ones stop at the
    variance between tasks.

    Args:
        tasks: Tasks of each agent, independent of each other (templates where tasks have them).
        trials: Trials per task and agent.
        design: Whether both agents do the same tasks.
        variability: What scatters the difference; see `Variability.of` for a pilot run.
        level: 1 minus the two-sided error rate of the test.
        power: Probability with which the difference shall be found.

    Raises:
        NotEstimableError: Fewer than two tasks.

    >>> round(plan(68, 3).detectable, 3)
    0.112
    """
    _require(tasks, trials, power)
    known = variability or Variability()
    spread = known.rate * (1.0 - known.rate)
    one_agent = spread * (known.alike + (1.0 - known.alike) / trials) / tasks
    return Plan(
        design=design,
        tasks=tasks,
        trials=trials,
        runs=2 * tasks * trials,
        level=level,
        power=power,
        detectable=_quantiles(tasks, design, level, power) * _error(tasks, trials, design, known),
        half_width=t_quantile(0.5 + level / 2.0, tasks - 1) * math.sqrt(one_agent),
    )


def tasks_needed(  # noqa: PLR0913 - as above
    difference: float,
    trials: int = 1,
    *,
    design: Design = "paired",
    variability: Variability | None = None,
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
    _require(_LEAST_TASKS, trials, power)

    def enough(tasks: int) -> bool:
        found = plan(
            tasks, trials, design=design, variability=variability, level=level, power=power
        )
        return found.detectable <= difference

    high = _LEAST_TASKS
    while not enough(high):
        high *= 2
        if high > _MOST_TASKS:
            raise NotEstimableError(
                f"a difference of {difference} is out of reach of any benchmark"
            )
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return max(high, _LEAST_TASKS)


def plans_for(  # noqa: PLR0913 - as above
    difference: float,
    *,
    trials: Sequence[int] = (1, 3, 5, 10),
    design: Design = "paired",
    variability: Variability | None = None,
    level: float = 0.95,
    power: float = 0.8,
) -> tuple[Plan, ...]:
    """Return, for each number of trials, the smallest design that shows `difference`.

    >>> [(each.tasks, each.runs) for each in plans_for(0.1, trials=(1, 3))]
    [(217, 434), (85, 510)]
    """
    return tuple(
        plan(
            tasks_needed(
                difference, each, design=design, variability=variability, level=level, power=power
            ),
            each,
            design=design,
            variability=variability,
            level=level,
            power=power,
        )
        for each in trials
    )


def power_of(  # noqa: PLR0913 - as above
    difference: float,
    tasks: int,
    trials: int = 1,
    *,
    design: Design = "paired",
    variability: Variability | None = None,
    level: float = 0.95,
) -> float:
    """Return the probability with which a two-sided test finds a true `difference`.

    Arguments as `plan`.

    >>> round(power_of(0.112, 68, 3), 2)
    0.8
    """
    _require(tasks, trials, _LEAST_CHANCE)
    error = _error(tasks, trials, design, variability or Variability())
    if error == 0.0:
        return float(difference != 0.0)
    df = _df(tasks, design)
    critical = t_quantile(0.5 + level / 2.0, df)
    distance = abs(difference) / error
    return t_cdf(distance - critical, df) + t_cdf(-distance - critical, df)


def _error(tasks: int, trials: int, design: Design, variability: Variability) -> float:
    return math.sqrt(variability.variance(trials, design) / tasks)


def _quantiles(tasks: int, design: Design, level: float, power: float) -> float:
    df = _df(tasks, design)
    return t_quantile(0.5 + level / 2.0, df) + t_quantile(power, df)


def _df(tasks: int, design: Design) -> int:
    return tasks - 1 if design == "paired" else 2 * (tasks - 1)


def _require(tasks: int, trials: int, power: float) -> None:
    if tasks < _LEAST_TASKS:
        raise NotEstimableError(f"a comparison needs at least {_LEAST_TASKS} tasks, got {tasks}")
    if trials < 1:
        raise ValueError(f"a task needs at least one trial, got {trials}")
    if not _LEAST_CHANCE <= power < 1.0:
        raise ValueError(f"power lies between 0.5 and 1, got {power!r}")
