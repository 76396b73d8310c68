"""How figures are written, the same in every format."""

from __future__ import annotations

from bench_core import terminal
from bench_core.statistics import Interval, Rate
from bench_core.terminal import counted
from bench_report.model import CostInterval

__all__ = [
    "count",
    "counted",
    "dollars",
    "dollars_interval",
    "duration",
    "interval",
    "level",
    "p_value",
    "percent",
    "plain",
    "points",
    "points_interval",
    "rate_words",
    "short",
]

NONE = "\N{EN DASH}"
"""Stands for a missing figure."""
_SMALL_P = 0.001
_MINUTE = 60.0
_HOUR = 3600.0
_THOUSAND = 1000.0
_HALF_MILLISECOND = 0.0005
_HALF_TENTH = 0.05


def percent(value: float | None) -> str:
    """Write a fraction as a percentage with one decimal; only exact 0 and 1 read 0% and 100%."""
    if value is None:
        return NONE
    if value in {0, 1}:
        return f"{value:.0%}"
    text = f"{value:.1%}"
    return {"0.0%": "<0.1%", "100.0%": ">99.9%"}.get(text, text)


def level(value: float) -> str:
    """Write a nominal confidence: `95%`."""
    return f"{value * 100:g}%"


def points(value: float | None) -> str:
    """Write a difference of two rates in percentage points, with its sign."""
    # U+2212 is as wide as the plus sign, and lines do not break after it
    return NONE if value is None else f"{value * 100:+.1f} pp".replace("-", "\u2212")


def points_interval(low: float | None, high: float | None) -> str:
    """Write the ends of an interval of a difference, or a dash if there is none."""
    return NONE if low is None else f"{points(low).removesuffix(' pp')} to {points(high)}"


def interval(found: Interval | None) -> str:
    """Write the ends of an interval, or a dash if there is none."""
    return NONE if found is None else f"{percent(found.low)} to {percent(found.high)}"


def p_value(value: float | None) -> str:
    """Write a p-value with two significant digits, down to `<0.001`."""
    if value is None:
        return NONE
    return "<0.001" if value < _SMALL_P else f"{value:#.2g}"


def count(value: float | None) -> str:
    """Write a whole number with thousands separators."""
    return NONE if value is None else f"{value:,.0f}"


def plain(value: float | None) -> str:
    """Write a mean with at most one decimal."""
    if value is None:
        return NONE
    text = f"{value:,.1f}"
    return text.removesuffix(".0")


def short(value: float | None) -> str:
    """Write a large count in thousands or millions: `24.5k`, `1.2M`."""
    if value is None:
        return NONE
    for unit, size in (("B", 1e9), ("M", 1e6), ("k", 1e3)):
        if abs(value) >= size * 0.9995:  # 999,960 is 1M, not 1000k
            return f"{value / size:.1f}".removesuffix(".0") + unit
    return plain(value)


def dollars(value: float | None) -> str:
    """Write US dollars: cents from one cent up, two significant digits below."""
    return NONE if value is None else terminal.dollars(value)


def dollars_interval(found: CostInterval | None) -> str:
    """Write the ends of an interval of a cost, or a dash if there is none."""
    return (
        NONE
        if found is None or found.low is None
        else f"{dollars(found.low)} to {dollars(found.high)}"
    )


def duration(value: float | None) -> str:
    """Write seconds in the unit that people use: `850 ms`, `12.3 s`, `4 min 05 s`, `2 h 03 min`."""
    if value is None:
        return NONE
    if value < 1 - _HALF_MILLISECOND:
        return f"{value * _THOUSAND:.0f} ms"
    if value < _MINUTE - _HALF_TENTH:  # 59.96 s would be written as 60.0 s
        return f"{value:.1f} s"
    whole = round(value)
    if whole < _HOUR:
        return f"{whole // 60} min {whole % 60:02d} s"
    return f"{whole // 3600} h {whole % 3600 // 60:02d} min"


def rate_words(rate: Rate) -> str:
    """Write a rate in one line with all that belongs to it, or why there is none."""
    found = rate.new_tasks
    if rate.estimate is None:
        return f"no rate: {rate.refused.get('new_tasks', 'no trial was scored')}"
    sample = f"{counted(rate.trials, 'trial')} of {counted(rate.tasks, 'task')}"
    if found is None:
        return f"{percent(rate.estimate)}, no interval ({sample})"
    return f"{percent(rate.estimate)} ({level(found.level)} interval {interval(found)}, {sample})"
