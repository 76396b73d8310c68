"""The order of a study: what it makes of a drift, and what its looks find."""

from __future__ import annotations

from collections import Counter
from itertools import groupby

import pytest
from simulated_studies import alarms, finds, turns

from bench_core.studies.order import study_order


def test_drift_makes_no_difference_where_arms_take_turns() -> None:
    seeds = range(60)

    assert sum(alarms("sequential", seed) for seed in seeds) > 0.3 * len(seeds)
    # 3 of 60 are to be expected at a level of 5%; 9 and more have a chance of 0.4%
    assert sum(alarms("study", seed) for seed in seeds) <= 8
    assert sum(alarms("parts", seed) for seed in seeds) <= 8


def test_looks_find_a_difference_and_none_where_there_is_none() -> None:
    assert sum(finds(0.4, seed) for seed in range(20)) >= 17
    assert sum(finds(0.0, seed) for seed in range(20)) <= 3


def test_batches_of_looks_come_one_after_the_other() -> None:
    batches = [("t0", "t1"), ("t2", "t3")]
    blocks = study_order({"one": batches}, {"one": ("a", "b")}, trials=2, seed=1)

    assert [each.key.task_id in batches[0] for each in blocks] == [True] * 4 + [False] * 4
    assert blocks == study_order({"one": batches}, {"one": ("b", "a")}, trials=2, seed=1)
    assert blocks != study_order({"one": batches}, {"one": ("a", "b")}, trials=2, seed=2)


def test_benchmarks_are_spread_over_the_study() -> None:
    many = [f"t{n}" for n in range(90)]
    blocks = study_order(
        {"long": [many], "short": [many[:9]]}, {"long": ("a",), "short": ("a",)}, trials=1, seed=0
    )

    thirds = [Counter(each.benchmark for each in blocks[n : n + 33]) for n in (0, 33, 66)]
    assert all(28 <= each["long"] <= 32 and 1 <= each["short"] <= 5 for each in thirds)


@pytest.mark.parametrize("seed", range(5))
def test_parts_turn_the_order_of_arms_around(seed: int) -> None:
    parts = [arm for arm, _ in groupby(turns(40, 2, seed, "parts"), key=lambda each: each[0])]

    # two arms of neighbouring parts run as one where the order turns around
    assert parts[0] == parts[1 + parts[1:].index(parts[0])]
    assert len(parts) <= 13
