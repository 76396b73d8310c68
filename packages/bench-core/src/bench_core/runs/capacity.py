"""How long a run takes and costs on more or fewer machines, by the scheduler's own order."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from pydantic import NonNegativeFloat, PositiveFloat, PositiveInt

from bench_core.records import Record

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from bench_core.run_spec import PlannedTrial

_SHOWN = (1, 2, 4, 8, 16, 40, 100)
_CLOSE = 1.02
_HOUR_S = 3600.0


class Machines(Record):
    """The number, price and start time of a run's machines.

    Attributes:
        price: Dollars per hour of one machine; None if not asked for.
        start_s: Seconds that each needs before its first trial.
    """

    price: PositiveFloat | None = None
    start_s: NonNegativeFloat = 0.0


class Capacity(Record):
    """Duration and cost of a run on a number of machines, each for one trial at a time.

    Attributes:
        workers: How many.
        speed_up: How many times faster than one machine, if all trials take equally long.
        expected_s: Derived from the expected duration of a trial; None if that is unknown.
        at_most_s: Derived from the trials' time limits; None if one has none.
        expected_dollars: All machines for `expected_s`; None without a price.
        at_most_dollars: All machines for `at_most_s`.
    """

    workers: PositiveInt
    speed_up: NonNegativeFloat
    expected_s: NonNegativeFloat | None = None
    at_most_s: NonNegativeFloat | None = None
    expected_dollars: NonNegativeFloat | None = None
    at_most_dollars: NonNegativeFloat | None = None


def capacities(
    trials: Sequence[PlannedTrial],
    workers: int,
    span: Callable[[int], float],
    *,
    trial_s: float | None,
    at_most_s: Callable[[int], float | None],
    machines: Machines,
    most: int,
) -> tuple[Capacity, ...]:
    """Return the capacity of 1, 2, 4, ... machines, and of the planned number of them.

    Args:
        trials: Those to run.
        workers: The planned number.
        span: Gives how long they take on a number of machines if each takes one second.
        trial_s: The expected seconds of a trial.
        at_most_s: How long they take on a number of machines at their time limits.
        machines: The cost of a machine, and its start time before the first trial.
        most: How many machines there can be.
    """
    if not trials:
        return ()
    enough = enough_machines(most, span)
    listed = {each for each in (*_SHOWN, workers, enough) if each <= max(workers, enough)}
    # fewer may not be enough for all that is bound to nodes
    chosen = [each for each in sorted(listed) if span(each) < math.inf]
    found = []
    for each in chosen:
        spanned, longest = span(each), at_most_s(each)
        expected = None if trial_s is None else machines.start_s + spanned * trial_s
        longest = None if longest is None else machines.start_s + longest
        found.append(
            Capacity(
                workers=each,
                speed_up=len(trials) / spanned,
                expected_s=expected,
                at_most_s=longest,
                expected_dollars=_dollars(each, expected, machines),
                at_most_dollars=_dollars(each, longest, machines),
            )
        )
    return tuple(found)


def enough_machines(most: int, span: Callable[[int], float]) -> int:
    """Return the number of machines, up to a maximum, beyond which more shorten the run by under 2 percent.

    A trial that needs a site alone keeps others waiting, whatever the number of machines.
    """
    shortest = span(most)
    least = 1
    while least < most:
        middle = (least + most) // 2
        if span(middle) <= shortest * _CLOSE:
            most = middle
        else:
            least = middle + 1
    return least


def _dollars(workers: int, seconds: float | None, machines: Machines) -> float | None:
    if machines.price is None or seconds is None:
        return None
    return workers * machines.price * seconds / _HOUR_S
