"""What share of wrong states looks wrong at all; see the table in the documentation."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from llm_judge import changed_leaves, mutants, visibility
from llm_judge.stressing import visible

if TYPE_CHECKING:
    from bench_core.judging import JudgeCase


@pytest.mark.parametrize(("chars", "least"), [(40_000, 0.99), (24_000, 0.97)])
def test_wrong_states_look_wrong(recorded: tuple[JudgeCase, ...], chars: int, least: float) -> None:
    report = visibility(recorded, chars=chars, every=25)
    assert report.overall.rate.estimate >= least, report.missed


@pytest.mark.slow
@pytest.mark.parametrize(("chars", "least"), [(40_000, 0.99), (24_000, 0.97)])
def test_every_changed_value_by_every_operator_looks_wrong(
    recorded: tuple[JudgeCase, ...], chars: int, least: float
) -> None:
    report = visibility(recorded, chars=chars, consistent=False, every=3)
    assert report.overall.mutants > 2_500
    assert report.overall.rate.estimate >= least, report.missed


def test_the_head_of_a_state_shows_nothing(recorded: tuple[JudgeCase, ...]) -> None:
    report = visibility(recorded, every=60, show=lambda state, _: json.dumps(state)[:10_000])
    assert report.overall.visible == 0


def test_a_mutant_differs_in_one_place_only(shop: dict[str, Any]) -> None:
    before = {leaf.path: leaf.value for leaf in changed_leaves(shop)}
    for mutant in mutants(shop, operators=("time", "number", "status")):
        after = {leaf.path: leaf.value for leaf in changed_leaves(mutant.state)}
        assert {path for path in before if before[path] != after.get(path)} == {mutant.path}


def test_consistent_mutants_change_all_copies(shop: dict[str, Any]) -> None:
    times = [each for each in mutants(shop, consistent=True) if each.operator == "time"]
    state = times[0].state["tablely"]
    assert state["finalstate"]["bookings"][1]["time"] == "9:30 PM"
    assert state["differences"]["bookings"]["added"][0]["time"] == "9:30 PM"


def test_making_mutants_leaves_the_original_alone(shop: dict[str, Any]) -> None:
    before = json.dumps(shop)
    list(mutants(shop))
    assert json.dumps(shop) == before


def test_only_what_the_run_changed_is_mutated(shop: dict[str, Any]) -> None:
    paths = {leaf.path for leaf in changed_leaves(shop)}
    assert ("tablely", "finalstate", "bookings", 1, "time") in paths
    assert not any(path[:4] == ("tablely", "finalstate", "bookings", 0) for path in paths)


def test_a_mutant_that_is_not_shown_is_not_visible(shop: dict[str, Any]) -> None:
    mutant = next(iter(mutants(shop, operators=("time",))))
    assert not visible('{"a":1}', '{"a":1}', mutant)
    assert not visible('{"a":1}', '{"a":2}', mutant)
