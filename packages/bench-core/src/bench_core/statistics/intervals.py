"""The record every interval of this package comes back as."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, TypeVar

from pydantic import Field

from bench_core.errors import NotEstimableError
from bench_core.records import Record

Key = TypeVar("Key", bound=str)

Estimand = Literal["new_tasks", "same_tasks", "these_results"]
"""The subject of an interval: new tasks of this kind, exactly these tasks run again, or the truth
about these very results (which a fallible judge leaves unknown)."""

ESTIMAND_TEXT: dict[Estimand, str] = {
    "new_tasks": "on new tasks of this kind",
    "same_tasks": "on these tasks, run again",
    "these_results": "in these very results",
}
"""How to print an estimand after the number it belongs to."""


class Interval(Record):
    """An estimate with its interval, and how that was found.

    Attributes:
        estimate: The point estimate, in the unit of the scores (rates are from 0 to 1).
        low: Lower end, same unit.
        high: Upper end, same unit.
        level: Nominal confidence, e.g. 0.95.
        method: How the interval was computed, in words a methods section can quote.
        estimand: Which question it answers; `None` for a plain proportion.
        n: Observations (trials) that entered.
        effective_n: How many independent observations those are worth.
        tasks: Tasks that entered; `None` if the input had none.
        clusters: Independent groups of tasks that entered; `None` if there were none.
        draws: Bootstrap resamples, if any.
        seed: Seed of the resampling, if any.
        notes: Warnings to the reader, e.g. that there were too few clusters.
    """

    estimate: float
    low: float
    high: float
    level: float = Field(gt=0, lt=1)
    method: str
    estimand: Estimand | None = None
    n: int = Field(ge=0)
    effective_n: float | None = None
    tasks: int | None = None
    clusters: int | None = None
    draws: int | None = None
    seed: int | None = None
    notes: tuple[str, ...] = ()

    @property
    def width(self) -> float:
        """High minus low."""
        return self.high - self.low

    def within(self, tolerance: float) -> bool | None:
        """Return whether it lies within -tolerance to tolerance; `None` if it reaches across.

        False only if all of it lies beyond.
        """
        if -tolerance <= self.low and self.high <= tolerance:
            return True
        return False if self.low > tolerance or self.high < -tolerance else None

    def __contains__(self, value: float) -> bool:
        return self.low <= value <= self.high

    def __str__(self) -> str:
        return f"{self.estimate:.3f} [{self.low:.3f}, {self.high:.3f}]"


def require_level(level: float) -> float:
    """Return `level`, or refuse one that is not strictly between 0 and 1.

    >>> require_level(0.95)
    0.95
    """
    if not 0.0 < level < 1.0:
        raise ValueError(f"the level must lie between 0 and 1, as 0.95 does; got {level!r}")
    return level


def or_reason(make: Callable[[], Interval], name: Key, refused: dict[Key, str]) -> Interval | None:
    """Return the interval that `make` returns, or note in `refused` why there is none."""
    try:
        return make()
    except NotEstimableError as error:
        refused[name] = str(error)
        return None
