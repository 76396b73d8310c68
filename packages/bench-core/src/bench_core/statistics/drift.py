"""Does a run's success change while it goes on: by trial number, and by when trials started?"""

from __future__ import annotations

import math
from collections import defaultdict
from datetime import datetime  # a field of a record
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from pydantic import Field

from bench_core.records import Record
from bench_core.statistics.distributions import chi_square_tail, normal_cdf

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

ALPHA = 0.057
"""How often a run without a drift shows one: 6%, less what a simulation is off by."""
_PARTS = 10
"""By start time a run is shown in tenths."""
_FALL, _SHOCK = 0.15, 0.5
"""What the test is made for: the rate falls by so much over the run; trial numbers differ by so many logits (sd)."""
_LINE = 3
"""Two trial numbers differ along a line only."""
_FURTHEST, _CELLS, _FEW_CELLS, _COARSE = 8.0, 3_200, 320, 64
_STEPS, _LEAST_WEIGHT, _LARGEST_WEIGHT = 14, 0.1, 0.95


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
        p_value: That which of a task's trials succeeded is chance; `None` where nothing can be tested.
        change: By how much the rate rises or falls, from the first start to the last.
        alarm: Whether the p-value shows a drift; of runs without one at most 6% do.
        refused: Why there is no test.
    """

    by_trial: tuple[RatePart, ...]
    by_time: tuple[RatePart, ...] = ()
    p_value: float | None = None
    change: float | None = None
    alarm: bool = False
    refused: str | None = None


def drift_of(outcomes: Iterable[TimedOutcome], *, alpha: float = ALPHA) -> Drift | None:
    """Return how success develops over a run, with tests; `None` without an outcome.

    The test compares trials of one task with each other, so that it does not matter in which order
    tasks run: if nothing changes, which of a task's trials succeeded is chance. It weighs how much likelier
    the trend with the start and what trial numbers differ beyond it (Cochran 1950, Biometrika 37:256, over
    tasks with all trials) are if the rate falls by 15 points over the run, or if every trial number has a
    shock of half a logit, so that both are found equally often. What wears out makes success fall: a
    rise is found as a shock only. Variances are those of permuting within tasks.

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
    times = {id(e): n / len(known) for n, e in enumerate(timed)}
    tested = _test(by_task.values(), times if len(timed) == len(known) else {})
    if tested is None:
        return found.model_copy(
            update={
                "refused": "no task has trials that ended in both ways, which a drift would show in"
            }
        )
    p_value, change = tested
    return found.model_copy(
        update={"p_value": p_value, "change": change, "alarm": p_value <= alpha}
    )


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


def _test(
    tasks: Iterable[Sequence[TimedOutcome]], times: dict[int, float]
) -> tuple[float, float] | None:
    """Return the p-value of any drift, and the change over the whole run that a line makes of it.

    Under no drift each order of a task's outcomes is as likely, which gives all variances.
    """
    tasks = [trials for trials in tasks if len(trials) > 1]
    numbers = sorted({each.trial for trials in tasks for each in trials})
    totals, pulls = dict.fromkeys(numbers, 0.0), dict.fromkeys(numbers, 0.0)
    trend = variance = spread = mixed = 0.0
    for trials in tasks:
        # without their starts trials count in the order of their numbers
        at = [times.get(id(each), numbers.index(each.trial) / len(numbers)) for each in trials]
        middle = math.fsum(at) / len(trials)
        won = sum(each.success for each in trials)
        noise = won * (len(trials) - won) / (len(trials) * (len(trials) - 1))
        squares = math.fsum((time - middle) ** 2 for time in at)
        spread += squares
        variance += squares * noise
        trend += math.fsum((time - middle) * e.success for time, e in zip(at, trials, strict=True))
        if len(trials) == len(numbers):
            mixed += noise
            for time, each in zip(at, trials, strict=True):
                totals[each.trial] += each.success
                pulls[each.trial] += noise * (time - middle)
    if variance <= 0.0:
        return None
    line = -trend / math.sqrt(variance)
    rest, kinds = _rest(list(totals.values()), list(pulls.values()), (trend, variance, mixed))
    fall, shock = _FALL * spread / math.sqrt(variance), _SHOCK**2 * mixed
    drifts = _Drifts(fall, shock, kinds, _weight(round(fall, 1), round(shock, 1), kinds))
    p_value = drifts.chance(drifts.evidence(line, rest), _FEW_CELLS if kinds else _CELLS)
    return p_value, max(-1.0, min(1.0, trend / spread))


def _rest(
    totals: Sequence[float], pulls: Sequence[float], trend: tuple[float, float, float]
) -> tuple[float, int]:
    """Return chi-square of what trial numbers differ beyond a line and the trend, and its degrees of freedom."""
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
    """Return what is left of values beyond their mean and a straight line."""
    places = [n - (len(values) - 1) / 2.0 for n in range(len(values))]
    mean = math.fsum(values) / len(values)
    slope = math.fsum(p * v for p, v in zip(places, values, strict=True)) / math.fsum(
        place * place for place in places
    )
    return [value - mean - slope * place for place, value in zip(places, values, strict=True)]


class _Drifts(NamedTuple):
    """The two drifts that are looked for: how they show in a fall, in units of its noise, and in the rest.

    Attributes:
        fall: By how much a fall moves the trend.
        shock: How much shocks add to its variance, and to that of the rest.
        kinds: Degrees of freedom of the rest.
        weight: Of the fall, against the shocks.
    """

    fall: float
    shock: float
    kinds: int
    weight: float

    def evidence(self, line: float, rest: float) -> float:
        """Return the logarithm of how much likelier either drift makes such a fall and such a rest."""
        return _log_sum(
            self._of_fall(line),
            self._of_shocks() + 0.5 * self.shock / (1.0 + self.shock) * (line**2 + rest),
        )

    def _of_fall(self, line: float) -> float:
        return math.log(self.weight) + self.fall * line - self.fall**2 / 2.0

    def _of_shocks(self) -> float:
        return math.log1p(-self.weight) - 0.5 * (self.kinds + 1) * math.log1p(self.shock)

    def chance(
        self, evidence: float, cells: int, *, fall: float = 0.0, shock: float = 0.0
    ) -> float:
        """Return how likely so much evidence is: without a drift, or with one.

        Args:
            evidence: What is reached.
            cells: Into how many the trend is cut.
            fall: By how much the trend is moved.
            shock: What is added to all variances.
        """
        wide = math.sqrt(1.0 + shock)
        step = 2.0 * _FURTHEST / cells
        ends = [normal_cdf(n * step - _FURTHEST) for n in range(cells + 1)]
        total = ends[0] + 1.0 - ends[-1]
        for n in range(cells):
            line = fall + wide * ((n + 0.5) * step - _FURTHEST)
            total += (ends[n + 1] - ends[n]) * self._beyond(evidence, line, 1.0 + shock)
        return min(1.0, total)

    def _beyond(self, evidence: float, line: float, wide: float) -> float:
        """Return how likely the rest makes up for what a fall leaves open."""
        of_fall = self._of_fall(line)
        if of_fall >= evidence:
            return 1.0
        if self.shock <= 0.0:
            return 0.0
        missing = evidence + math.log(-math.expm1(of_fall - evidence)) - self._of_shocks()
        least = 2.0 * (1.0 + self.shock) / self.shock * missing - line**2
        if least <= 0.0:
            return 1.0
        return chi_square_tail(least / wide, self.kinds) if self.kinds else 0.0


@lru_cache(maxsize=512)
def _weight(fall: float, shock: float, kinds: int) -> float:
    """Return the weight of falls with which both drifts are found equally often."""
    low, high = _LEAST_WEIGHT, _LARGEST_WEIGHT
    for _ in range(_STEPS // 2):
        drifts = _Drifts(fall, shock, kinds, (low + high) / 2.0)
        least, most = -20.0, 20.0
        for _ in range(_STEPS):
            middle = (least + most) / 2.0
            if drifts.chance(middle, _COARSE) > ALPHA:
                least = middle
            else:
                most = middle
        of_fall = drifts.chance(most, _COARSE, fall=fall)
        if of_fall < drifts.chance(most, _COARSE, shock=shock):
            low = drifts.weight
        else:
            high = drifts.weight
    return low


def _log_sum(one: float, other: float) -> float:
    return max(one, other) + math.log1p(math.exp(-abs(one - other)))
