"""Does a run's success change while it goes on: by trial number, and by when trials started?"""

from __future__ import annotations

import math
from collections import defaultdict
from datetime import datetime  # a field of a record
from typing import TYPE_CHECKING, NamedTuple

from pydantic import Field

from bench_core.records import Record
from bench_core.statistics.distributions import chi_square_tail, normal_cdf

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

_PARTS = 10
"""By start time a run is shown in tenths."""


class TimedOutcome(NamedTuple):
    """A scored trial: whether it succeeded, and when it started where that is known."""

    task: str
    trial: int
    success: bool
    started: datetime | None = None


class RatePart(Record):
    """The success rate of the trials of one number, or of one tenth of a run.

    Attributes:
        name: `trial 2`, or `10% to 20%`.
        began: When the first of them started.
    """

    name: str
    rate: float = Field(ge=0, le=1)
    trials: int
    began: datetime | None = None


class Drift(Record):
    """Whether success changes while a run goes on.

    Attributes:
        by_trial: Rates by trial number.
        by_time: Rates of tenths of the trials, in the order of their start.
        p_trials: That trials of all numbers succeed alike (Cochran's Q); `None` with one trial per task.
        p_trend: That the rate neither rises nor falls with the start time within tasks.
        change: By how much it does, from the first start to the last.
        alarm: Whether either p-value shows a drift; of runs without one at most 6% do.
        refused: Why there is no test.
    """

    by_trial: tuple[RatePart, ...]
    by_time: tuple[RatePart, ...] = ()
    p_trials: float | None = None
    p_trend: float | None = None
    change: float | None = None
    alarm: bool = False
    refused: str | None = None


def drift_of(outcomes: Iterable[TimedOutcome], *, alpha: float = 0.06) -> Drift | None:
    """Return how success develops over a run, with tests; `None` without an outcome.

    Both tests compare trials of one task with each other, so that it does not matter in which order
    tasks run: if nothing changes, which of a task's trials succeeded is chance. Cochran (1950),
    Biometrika 37:256, over tasks with all trials; the trend by the variance that permuting within
    tasks gives. Each is tested at half of `alpha`.

    Args:
        outcomes: Scored trials.
        alpha: How often a run without a drift shall show one, at most.

    >>> outcomes = [TimedOutcome(str(n), k, k < 3) for n in range(20) for k in (1, 2, 3)]
    >>> drift_of(outcomes).alarm
    True
    """
    known = list(outcomes)
    if not known:
        return None
    by_number: defaultdict[int, list[TimedOutcome]] = defaultdict(list)
    by_task: defaultdict[str, list[TimedOutcome]] = defaultdict(list)
    for each in known:
        by_number[each.trial].append(each)
        by_task[each.task].append(each)
    timed = sorted((each for each in known if each.started), key=_start)
    tenths = [
        timed[n * len(timed) // _PARTS : (n + 1) * len(timed) // _PARTS] for n in range(_PARTS)
    ]
    share = 100 // _PARTS
    found = Drift(
        by_trial=tuple(_part(f"trial {n}", by_number[n]) for n in sorted(by_number)),
        by_time=tuple(
            _part(f"{share * n}% to {share * (n + 1)}%", part)
            for n, part in enumerate(tenths)
            if part
        ),
    )
    if len(by_number) == 1:
        return found.model_copy(
            update={
                "refused": "with one trial per task a drift looks like a difference between tasks"
            }
        )
    p_trials = _p_of_numbers(by_task.values(), len(by_number))
    p_trend, change = _trend(by_task.values(), {id(e): n for n, e in enumerate(timed)}, len(timed))
    if p_trials is None and p_trend is None:
        return found.model_copy(
            update={
                "refused": "no task has trials that ended in both ways, which a drift would show in"
            }
        )
    smallest = min(p for p in (p_trials, p_trend) if p is not None)
    update = {"p_trials": p_trials, "p_trend": p_trend, "change": change}
    return found.model_copy(update=update | {"alarm": smallest <= alpha / 2.0})


def _start(outcome: TimedOutcome) -> float:
    return outcome.started.timestamp() if outcome.started else math.inf


def _part(name: str, outcomes: Sequence[TimedOutcome]) -> RatePart:
    starts = [each.started for each in outcomes if each.started]
    return RatePart(
        name=name,
        rate=sum(each.success for each in outcomes) / len(outcomes),
        trials=len(outcomes),
        began=min(starts) if starts else None,
    )


def _p_of_numbers(tasks: Iterable[Sequence[TimedOutcome]], numbers: int) -> float | None:
    """Return the p-value of Cochran's Q over tasks with a trial of every number."""
    columns: defaultdict[int, int] = defaultdict(int)
    mixed = 0
    for trials in tasks:
        won = sum(each.success for each in trials)
        if len(trials) == numbers:
            mixed += won * (numbers - won)
            for each in trials:
                columns[each.trial] += each.success
    if not mixed:
        return None
    total = sum(columns.values())
    squares = numbers * sum(each * each for each in columns.values()) - total * total
    return chi_square_tail((numbers - 1) * squares / mixed, numbers - 1)


def _trend(
    tasks: Iterable[Sequence[TimedOutcome]], places: dict[int, int], size: int
) -> tuple[float | None, float | None]:
    """Return the p-value of a trend within tasks, and the change over the whole run that it makes."""
    covariance = variance = spread = 0.0
    for trials in tasks:
        rows = [(places[id(e)] / size, float(e.success)) for e in trials if id(e) in places]
        if len(rows) < 2:  # one trial has nothing to be compared with
            continue
        time = math.fsum(at for at, _ in rows) / len(rows)
        rate = math.fsum(won for _, won in rows) / len(rows)
        times = math.fsum((at - time) ** 2 for at, _ in rows)
        covariance += math.fsum((at - time) * (won - rate) for at, won in rows)
        variance += times * math.fsum((won - rate) ** 2 for _, won in rows) / (len(rows) - 1)
        spread += times
    if variance <= 0.0:
        return None, None
    return 2.0 * normal_cdf(-abs(covariance) / math.sqrt(variance)), max(
        -1.0, min(1.0, covariance / spread)
    )
