"""What trials used: tokens, dollars, seconds, steps - totals and how they are spread."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from bench_core.records import Usage
from bench_core.statistics.summary_records import Distribution

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence


def describe(values: Iterable[float | None]) -> Distribution:
    """Describe how values are spread; `None` is counted as unknown.

    The median and 90th percentile interpolate linearly (Hyndman and Fan's type 7, as numpy).

    >>> describe([1.0, 3.0, None]).median
    2.0
    """
    everything = list(values)
    known = sorted([value for value in everything if value is not None])
    if not known:
        return Distribution(known=0, unknown=len(everything))
    total = math.fsum(known)
    return Distribution(
        known=len(known),
        unknown=len(everything) - len(known),
        total=total,
        mean=total / len(known),
        median=_quantile(known, 0.5),
        p90=_quantile(known, 0.9),
        largest=known[-1],
    )


def total_usage(spent: Iterable[tuple[int, ...]]) -> Usage:
    """Sum the usage of many trials, each the fields of `Usage` in their order.

    >>> total_usage([]).total_tokens
    0
    """
    # Adding pairwise would build and validate one record per trial.
    fields = tuple(Usage.model_fields)
    return Usage(**dict(zip(fields, map(sum, zip(*spent, strict=True)), strict=False)))


def duration_s(timings: Mapping[str, float]) -> float | None:
    """Return a trial's seconds: `total` if recorded, else the sum of its phases, else `None`."""
    if not timings:
        return None
    total = timings.get("total")
    return math.fsum(timings.values()) if total is None else total


def _quantile(ordered: Sequence[float], probability: float) -> float:
    position = probability * (len(ordered) - 1)
    below = int(position)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (position - below) * (ordered[above] - ordered[below])
