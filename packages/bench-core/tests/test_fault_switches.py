from __future__ import annotations

import pytest

from bench_core.fault_switches import Fault, FaultSwitches


def board() -> FaultSwitches[str]:
    return FaultSwitches(("drop", "slow"))


def test_a_fault_meets_requests_below_its_path_only() -> None:
    faults = board()
    faults.switch_on("slow", "/cart", value=0.5)
    assert faults.take("/cart/7") == Fault("slow", "/cart", value=0.5)
    assert faults.take("/") is None


def test_a_fault_lasts_for_as_many_requests_as_told() -> None:
    faults = board()
    faults.switch_on("drop", times=2)
    assert [faults.take("/") is None for _ in range(3)] == [False, False, True]


def test_a_fault_that_is_used_up_makes_way_for_the_next() -> None:
    faults = board()
    faults.switch_on("drop", times=1)
    faults.switch_on("slow")
    taken = [faults.take("/") for _ in range(3)]
    assert [each.kind for each in taken if each] == ["drop", "slow", "slow"]


def test_clearing_lets_everything_work_again() -> None:
    faults = board()
    faults.switch_on("drop")
    faults.clear()
    assert faults.take("/") is None


def test_an_unknown_fault_is_refused_with_the_known_ones() -> None:
    with pytest.raises(ValueError, match="unknown fault 'explode': known are drop, slow"):
        board().switch_on("explode")
