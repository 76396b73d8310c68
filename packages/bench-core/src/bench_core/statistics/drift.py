"""Does a run's success change while it goes on: by trial number, and by when trials started?"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from datetime import datetime
from operator import attrgetter
from statistics import fmean
from typing import NamedTuple

from pydantic import Field

from bench_core.records import Record
from bench_core.statistics.distributions import chi_square_tail, normal_cdf, normal_quantile

ALPHA = 0.057
"""Share of runs without a drift that show one: 6%, less the error of the simulation."""
_PARTS = 10
"""Parts into which a run is divided by start time."""
_LEAST_TASKS = 10
"""With fewer tasks whose trials differ, the normal tests err too often."""
_FALL, _SHOCK = 0.15, 0.47
"""The effects to find: the fall of the rate over a run; trial numbers differing by half a logit (sd).

At a rate of 50% such shocks have the variance of a straight line that falls by .47."""
_LINE = 3
"""Least trial numbers that can differ beyond a straight line."""
_LEAST_SHARE, _LARGEST_SHARE, _STEPS, _FURTHEST = 0.3, 0.99, 20, 40.0


class TimedOutcome(NamedTuple):
    """A scored trial: whether it succeeded, and when it started, if known."""

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
        p_value: That chance decides which of a task's trials succeed; `None` if untestable.
        change: By how much the rate rises or falls, from the first start to the last.
        alarm: Whether the p-value shows a drift; of runs without one at most 6% do.
        refused: The reason for a missing test.
    """

    by_trial: tuple[RatePart, ...]
    by_time: tuple[RatePart, ...] = ()
    p_value: float | None = None
    change: float | None = None
    alarm: bool = False
    refused: str | None = None


def drift_of(outcomes: Iterable[TimedOutcome], *, alpha: float = ALPHA) -> Drift | None:
    """Return how success develops over a run, with tests; `None` without an outcome.

    The test compares trials of one task with each other, so the order in which tasks run does not
    matter: if nothing changes, it is chance which of a task's trials succeeded, and that gives all
    variances. There are three tests: success falls with the start, it rises, and trial numbers
    differ beyond that (Cochran 1950, Biometrika 37:256, over tasks with all trials). Each has a
    share of the error (Bonferroni), chosen from data that the tests do not use, so that a fall by
    15 points over the run and shocks of half a logit for each trial number are found equally often.
    Wear makes success fall, so most of the error goes to the fall.

    Args:
        outcomes: Scored trials.
        alpha: Largest share of runs without a drift that may show one.

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
    timed = sorted((each for each in known if each.started), key=attrgetter("started"))
    if len({each.started for each in timed}) == 1:
        timed = []  # one start orders nothing
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
    ranks: defaultdict[datetime | None, list[float]] = defaultdict(list)
    for n, each in enumerate(timed):
        ranks[each.started].append(n / len(known))
    times = {start: fmean(places) for start, places in ranks.items()}
    mixed = sum(len({each.success for each in trials}) > 1 for trials in by_task.values())
    if len(by_number) == 1:
        refused = "with one trial per task a drift looks like a difference between tasks"
    elif mixed < _LEAST_TASKS:
        refused = (
            f"a drift shows in tasks with trials that ended in both ways, of which there are {mixed or 'none'}; "
            f"{_LEAST_TASKS} are needed"
        )
    elif tested := _test(by_task.values(), times if len(timed) == len(known) else {}, alpha):
        p_value, change = tested
        return found.model_copy(
            update={"p_value": p_value, "change": change, "alarm": p_value <= alpha}
        )
    else:
        refused = "all trials of a task have one number or one start, so that none is the later one"
    return found.model_copy(update={"refused": refused})


def _part(name: str, outcomes: Sequence[TimedOutcome]) -> RatePart:
    starts = [each.started for each in outcomes if each.started]
    return RatePart(
        name=name,
        rate=sum(each.success for each in outcomes) / len(outcomes),
        trials=len(outcomes),
        began=min(starts) if starts else None,
    )


def _test(
    tasks: Iterable[Sequence[TimedOutcome]], times: dict[datetime | None, float], alpha: float
) -> tuple[float, float] | None:
    """Return the p-value of any drift, and the change over the whole run that a line makes of it.

    `None` if no trial of a task with both outcomes is later than another.
    """
    tasks = [trials for trials in tasks if len(trials) > 1]
    numbers = sorted({each.trial for trials in tasks for each in trials})
    totals, pulls = dict.fromkeys(numbers, 0.0), dict.fromkeys(numbers, 0.0)
    trend = variance = spread = mixed = 0.0
    for trials in tasks:
        # without their starts trials count in the order of their numbers
        at = [times.get(each.started, numbers.index(each.trial) / len(numbers)) for each in trials]
        middle = fmean(at)
        won = sum(each.success for each in trials)
        noise = won * (len(trials) - won) / (len(trials) * (len(trials) - 1))
        squares = math.fsum((time - middle) ** 2 for time in at)
        spread += squares
        variance += squares * noise
        trend += math.fsum((time - middle) * e.success for time, e in zip(at, trials, strict=True))
        if sorted(each.trial for each in trials) == numbers:
            mixed += noise
            for time, each in zip(at, trials, strict=True):
                totals[each.trial] += each.success
                pulls[each.trial] += noise * (time - middle)
    if variance <= 0.0:
        return None
    line = -trend / math.sqrt(variance)
    rest, kinds = _rest(list(totals.values()), list(pulls.values()), (trend, variance, mixed))
    share = _share_of_falls(_FALL * spread / math.sqrt(variance), _SHOCK**2 * mixed, kinds, alpha)
    others = (1.0 - share) / (2 if kinds else 1)
    p_values = [normal_cdf(-line) / share, normal_cdf(line) / others]
    if kinds:
        p_values.append(chi_square_tail(rest, kinds) / others)
    return min(1.0, *p_values), max(-1.0, min(1.0, trend / spread))


def _rest(
    totals: Sequence[float], pulls: Sequence[float], trend: tuple[float, float, float]
) -> tuple[float, int]:
    """Return chi-square, and its degrees of freedom, of trial numbers beyond a line and the trend."""
    along, variance, mixed = trend
    if mixed <= 0.0 or len(totals) < _LINE:
        return 0.0, 0
    left = _beyond_line(
        [total - pull * along / variance for total, pull in zip(totals, pulls, strict=True)]
    )
    pulled = _beyond_line(pulls)
    shared = math.fsum(each * each for each in pulled)
    alone = variance - shared / mixed
    square = math.fsum(each * each for each in left) / mixed
    if alone > 0.0:
        both = math.fsum(one * other for one, other in zip(left, pulled, strict=True))
        square += both * both / (mixed * mixed * alone)
    return square, len(totals) - 2


def _beyond_line(values: Sequence[float]) -> list[float]:
    """Return the residuals of values about a straight line."""
    places = [n - (len(values) - 1) / 2.0 for n in range(len(values))]
    mean = math.fsum(values) / len(values)
    slope = math.fsum(p * v for p, v in zip(places, values, strict=True)) / math.fsum(
        place * place for place in places
    )
    return [value - mean - slope * place for place, value in zip(places, values, strict=True)]


def _share_of_falls(fall: float, shock: float, kinds: int, alpha: float) -> float:
    """Return the share of the error with which falls and shocks are found equally often.

    Args:
        fall: By how much a fall moves the trend, in units of its noise.
        shock: The variance that shocks add to the trend's, and to that of the rest.
        kinds: Degrees of freedom of the rest.
        alpha: The error of all tests together.
    """
    wide = math.sqrt(1.0 + shock)
    share, low, high = _LARGEST_SHARE, 0.0, _FURTHEST
    for _ in range(_STEPS):
        limit = (low + high) / 2.0  # of the rest, from which its test raises an alarm
        others = chi_square_tail(limit, kinds or 1)
        share = min(_LARGEST_SHARE, 1.0 - others * (2 if kinds else 1) / alpha)
        if share < _LEAST_SHARE:
            low = limit
            continue
        falls, rises = normal_quantile(1.0 - alpha * share), normal_quantile(others)
        missed = normal_cdf(falls / wide) - normal_cdf(rises / wide)
        if kinds:
            missed *= 1.0 - chi_square_tail(limit / wide**2, kinds)
        low, high = (limit, high) if normal_cdf(fall - falls) < 1.0 - missed else (low, limit)
    return max(_LEAST_SHARE, share)
