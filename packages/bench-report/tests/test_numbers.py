from __future__ import annotations

import pytest

from bench_core.statistics import success_rate_interval
from bench_report.text import numbers
from bench_report.text.numbers import NONE


@pytest.mark.parametrize(
    ("value", "shown"),
    [(None, NONE), (0, "0%"), (1, "100%"), (0.5, "50.0%"), (0.0004, "<0.1%"), (0.9999, ">99.9%")],
)
def test_percentages_never_round_to_certainty(value: float | None, shown: str) -> None:
    assert numbers.percent(value) == shown


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (None, NONE),
        (0, "$0"),
        (0.000123, "$0.00012"),
        (5e-7, "$0.0000005"),
        (0.014, "$0.01"),
        (1234.5, "$1,234.50"),
    ],
)
def test_dollars(value: float | None, shown: str) -> None:
    assert numbers.dollars(value) == shown


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (0.012, "12 ms"),
        (0.9999, "1.0 s"),
        (59.99, "1 min 00 s"),
        (65, "1 min 05 s"),
        (3599.7, "1 h 00 min"),
        (7380, "2 h 03 min"),
    ],
)
def test_durations(value: float, shown: str) -> None:
    assert numbers.duration(value) == shown


@pytest.mark.parametrize(
    ("value", "shown"), [(950, "950"), (999.6, "1k"), (24_500, "24.5k"), (1_200_000, "1.2M")]
)
def test_large_counts_are_shortened(value: float, shown: str) -> None:
    assert numbers.short(value) == shown


@pytest.mark.parametrize(
    ("value", "shown"), [(0.0001, "<0.001"), (0.04, "0.040"), (0.1, "0.10"), (1.0, "1.0")]
)
def test_p_values_keep_two_digits(value: float, shown: str) -> None:
    assert numbers.p_value(value) == shown


def test_differences_have_a_sign() -> None:
    assert (numbers.points(0.156), numbers.points(-0.031)) == ("+15.6 pp", "\N{MINUS SIGN}3.1 pp")


def test_intervals_name_both_ends() -> None:
    found = success_rate_interval({"a": [1], "b": [0], "c": [1]})

    assert numbers.interval(found) == f"{found.low:.1%} to {found.high:.1%}"
