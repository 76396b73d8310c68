"""What a trial costs: an interval that knows of tails, or a reason why there is none."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from bench_core.errors import NotEstimableError
from bench_core.statistics import cost_interval


@pytest.mark.parametrize(("tasks", "sigma"), [(12, 1.0), (12, 1.5), (30, 1.5), (154, 0.5)])
def test_lognormal_costs_are_covered(tasks: int, sigma: float) -> None:
    drawn = np.random.default_rng(7).lognormal(-(sigma**2) / 2, sigma, (500, tasks)).tolist()
    held = sum(1.0 in cost_interval({n: [x] for n, x in enumerate(row)}) for row in drawn)
    assert held / 500 >= 0.92


def test_costs_without_a_tail_have_the_t_interval_within() -> None:
    costs = {n: [1.0 + n % 3] for n in range(30)}
    found = cost_interval(costs)
    half = 2.0452296 * math.sqrt(sum((n % 3 - 1) ** 2 for n in range(30)) / 29 / 30)
    assert found.low <= 2.0 - half + 1e-6
    assert found.high >= 2.0 + half - 1e-6
    assert found.width < 3 * half


def test_the_logarithms_widen_the_upper_end_where_costs_have_a_tail() -> None:
    found = cost_interval({n: [math.exp(n % 5)] for n in range(15)})
    logs = [n % 5 for n in range(15)]
    variance = sum((each - 2) ** 2 for each in logs) / 14
    half = 2.1447867 * math.sqrt(variance / 15 + variance**2 / 28)
    assert found.high == pytest.approx(math.exp(2 + variance / 2 + half))


@pytest.mark.parametrize(
    ("costs", "reason"),
    [
        ({n: [0.2, 0.2] for n in range(9)}, "all tasks cost the same"),
        ({n: [float(n > 3)] for n in range(9)}, "some tasks cost nothing"),
        ({"a": [0.1, 0.7]}, "one task or template"),
        ({}, "no trial was scored"),
    ],
)
def test_costs_that_do_not_show_their_spread_have_a_reason(
    costs: dict[Any, list[float]], reason: str
) -> None:
    with pytest.raises(NotEstimableError, match=reason):
        cost_interval(costs)


def test_costs_of_three_large_templates_are_refused() -> None:
    costs = {n: [1.0 + n % 7] for n in range(30)}
    with pytest.raises(NotEstimableError, match="carry 73% of the weight"):
        cost_interval(costs, clusters=dict.fromkeys(range(20), "large"))
