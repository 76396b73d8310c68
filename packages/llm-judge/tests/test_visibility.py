"""What share of wrong states looks wrong at all; see the table in the documentation."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

import pytest

from llm_judge import prepare, visibility
from llm_judge.meta_evaluation.visibility import visible
from llm_judge.states.mutations import changed_leaves, mutants, replaced
from llm_judge.states.paths import query_paths

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bench_core.records.judge import JudgeCase

EVERY = int(os.environ.get("CHANGED_VALUES_EVERY", "12"))


@pytest.mark.parametrize(("chars", "least"), [(40_000, 1.0), (24_000, 0.97)])
def test_wrong_states_look_wrong(recorded: tuple[JudgeCase, ...], chars: int, least: float) -> None:
    report = visibility(recorded, chars=chars, every=25)
    assert report.overall.rate.estimate >= least, report.missed


def below_queries(case: JudgeCase) -> list[tuple[str | int, ...]]:
    """Return the paths of the scalars that stand where the task's queries lead, in the end state."""
    queries: Any = case.metadata["queries"]
    found: dict[tuple[str | int, ...], None] = {}
    for path in (path for query in queries for path in query_paths(query)):
        steps = tuple(path.split("."))
        value = case.state
        for step in steps:
            value = value.get(step) if isinstance(value, dict) else None
        found.update(dict.fromkeys((*steps, *below) for below in scalar_paths(value)))
    return list(found)


def scalar_paths(value: Any) -> Iterator[tuple[str | int, ...]]:
    members = (
        value.items()
        if isinstance(value, dict)
        else enumerate(value if isinstance(value, list) else ())
    )
    for key, each in members:
        if isinstance(each, dict | list):
            yield from ((key, *below) for below in scalar_paths(each))
        elif each is not None:
            yield (key,)


def changed_at(state: Any, path: tuple[str | int, ...], value: Any) -> Any:
    """Change a value in the end state and, where it stands there, too, in the one from before."""
    state = replaced(state, path, value)
    before = ("initialstate" if each == "finalstate" else each for each in path)
    try:
        return replaced(state, tuple(before), value)
    except (KeyError, IndexError, TypeError):
        return state


def test_what_a_query_names_is_shown_also_where_an_app_was_loaded_again(
    recorded: tuple[JudgeCase, ...],
) -> None:
    missed, tried = [], 0
    for case in recorded:
        before = prepare(case).evidence.text
        for path in below_queries(case)[::4]:
            tried += 1
            changed = case.model_copy(
                update={"state": changed_at(case.state, path, "Quaxley-4711")}
            )
            if "Quaxley-4711" not in prepare(changed).evidence.text:
                missed.append((case.case_id, path))
        assert "Quaxley-4711" not in before
    assert tried > 60
    assert missed == []


@pytest.mark.slow
def test_every_changed_value_by_every_operator_looks_wrong(recorded: tuple[JudgeCase, ...]) -> None:
    report = visibility(recorded, chars=40_000, consistent=False, every=EVERY)
    assert report.overall.mutants > 7_000 / EVERY
    assert report.missed == ()


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
