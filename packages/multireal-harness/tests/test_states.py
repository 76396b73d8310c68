from __future__ import annotations

import copy
import json
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench_core.errors import InputError, UnknownTaskError
from multireal_harness.definitions import Definition
from multireal_harness.eval_rules.queries import query_check
from multireal_harness.ground_truth.mutations import negatives_of
from multireal_harness.states.comparison import compare_states
from multireal_harness.states.file_checks import check_files
from multireal_harness.states.files import load_states, read_states
from multireal_harness.states.goal_checks import goal_symptoms
from multireal_harness.states.health import RunSpan, check_states, has_changes
from multireal_harness.tasks import load_definitions

if TYPE_CHECKING:
    from pathlib import Path

    from bench_core.records import Check
    from multireal_harness.states.health import Symptom


def checks_of(definition: Definition, state: Any) -> list[Check]:
    return [query_check(each, state) for each in definition.evals]


TASK = Definition.model_validate(
    {
        "id": "calendar-mail-1",
        "goal": "Send 'Lunch' and plan it.",
        "websites": [{"id": "calendar"}, {"id": "mail"}],
        "evals": [
            {
                "query": "length(mail.differences.emails.added[?subject == 'Lunch']) >= `1`",
                "expected_value": True,
            },
            {"query": "length(calendar.differences.events.added) >= `1`", "expected_value": True},
        ],
    }
)


def app(name: str, differences: Any, **more: Any) -> dict[str, Any]:
    return {
        "actionhistory": [{"timestamp": 1_000_000, "type": "x"}],
        "initialstate": {"kept": []},
        "finalstate": {"config": {name: {"run_id": "0", "task_id": "calendar-mail-1"}}},
        "differences": differences,
        **more,
    }


def sound() -> dict[str, Any]:
    mail = {"id": "1", "to": ["a@b.c"], "subject": "Lunch"}
    event = {"id": "e", "title": "Lunch", "start": "2024-07-18T18:00:00Z"}
    return {
        "calendar": app("calendar", {"events": {"added": {"e": event}, "deleted": {}}}),
        "mail": app("mail", {"emails": {"added": [mail], "deleted": []}}),
    }


def codes(found: list[Symptom]) -> set[tuple[str, str]]:
    return {(each.code, each.app) for each in found}


def test_sound_states_have_no_symptoms() -> None:
    assert (
        check_states(TASK, sound(), window=RunSpan(started_ms=1_000_000, finished_ms=1_000_001))
        == []
    )


def broken(change: Any) -> list[Symptom]:
    states = sound()
    change(states)
    window = RunSpan(started_ms=1_000_000, finished_ms=1_000_001)
    return check_states(TASK, states, window=window, seeds={"calendar": {"kept": []}})


@pytest.mark.parametrize(
    ("change", "code", "serious"),
    [
        (lambda s: s.pop("mail"), "missing_app", True),
        (lambda s: s.update(mail=s["calendar"]), "duplicated_state", True),
        (lambda s: s.update(dining=s["calendar"] | {"x": 1}), "unknown_app", False),
        (lambda s: s["mail"]["finalstate"]["config"]["mail"].update(task_id="other-1"), "foreign_task", True),
        (lambda s: s["mail"]["finalstate"]["config"]["mail"].update(task_id=""), "no_ids", False),
        (lambda s: s["mail"].update(differences={"emails": {"added": []}}), "empty_diff", False),
        (lambda s: s["mail"]["actionhistory"][0].update(timestamp=1), "carry_over", True),
        (lambda s: s["mail"]["actionhistory"][0].update(timestamp=9e9), "outside_window", True),
        (lambda s: s["mail"]["actionhistory"][0].update(timestamp=1e17), "outside_window", True),
        (lambda s: s["mail"]["actionhistory"][0].update(timestamp=float("inf")), "outside_window", True),
        (lambda s: s["mail"]["actionhistory"][0].update(timestamp=-(10**400)), "carry_over", True),
        (lambda s: s["calendar"]["initialstate"].update(kept=[1]), "seed_mismatch", True),
    ],
)  # fmt: skip
def test_each_thing_that_can_be_wrong_is_reported(change: Any, code: str, serious: bool) -> None:
    found = broken(change)
    assert {each.code: each.serious for each in found}.get(code) is serious


@pytest.mark.parametrize(
    ("description", "violated"),
    [
        ("Verify that an email was sent in Mail.", True),
        ("Verify that no email was sent in Mail.", False),
        ("Verify that an event was added to Calendar.", False),
        ("Verify that Mail shows the inbox.", False),
    ],
)
def test_a_good_state_has_a_change_in_the_app_in_which_an_eval_says_that_something_was_done(
    description: str, violated: bool,
) -> None:  # fmt: skip
    states = sound()
    states["mail"]["differences"] = {"emails": {"added": []}}
    asked = TASK.evals[0].model_copy(update={"description": description})
    found = goal_symptoms(TASK.model_copy(update={"evals": (asked,)}), states)
    assert ("goal_violated", "mail") in codes(found) if violated else not codes(found)


def test_time_zones_of_one_history_must_agree() -> None:
    at = [("1/1/1970, 5:00:00 PM", 86_400_000), ("1/2/1970, 1:00:00 AM", 86_400_000)]
    history = [{"timestamp": stamp, "formattedTime": text} for text, stamp in at]
    states = sound()
    states["mail"]["actionhistory"] = history
    assert ("clock_mismatch", "mail") in codes(check_states(TASK, states))


def test_recorded_states_show_their_known_defects(shared_tasks: Path, shared_states: Path) -> None:
    known = {each.id: each for each in load_definitions(shared_tasks)}
    serious = {
        (each.task_id, symptom.code)
        for each in load_states(shared_states)
        for symptom in check_states(known[each.task_id], each.apps)
        if symptom.serious
    }
    assert serious == {
        ("gocalendar-opendining-1", "carry_over"),
        ("gomail-topwork-3", "duplicated_state"),
    }


def test_untouched_state_has_no_changes_whatever_it_was_configured_with() -> None:
    configured = {"added": {}, "updated": {"config": {"mail": {"latency": 0}}}, "deleted": {}}
    assert not has_changes(
        {"differences": {"emails": {"added": []}}, "initialfinaldiff": configured}
    )
    assert has_changes({"bookingDetailsDiff": {"added": [{"id": 1}]}})
    assert has_changes(
        {"initialfinaldiff": {"calendar": {"myEvents": {"added": {"e": {"title": "x"}}}}}}
    )


def test_file_is_checked_against_the_task_it_is_named_after(tmp_path: Path) -> None:
    tasks = tmp_path / "tasks"
    tasks.mkdir()
    (tasks / "t.json").write_text(TASK.model_dump_json(by_alias=True))
    (tmp_path / "calendar-mail-1.json").write_text(json.dumps({"finish_state": sound()}))
    assert check_files(tmp_path / "calendar-mail-1.json", str(tasks)) == {
        str(tmp_path / "calendar-mail-1.json"): []
    }
    (tmp_path / "calendar-mial-1.json").write_text(json.dumps(sound()))
    with pytest.raises(UnknownTaskError, match="calendar-mail-1"):
        check_files(tmp_path / "calendar-mial-1.json", str(tasks))


@pytest.mark.parametrize("text", ["[]", "no json", '{"mail": 3}'])
def test_file_without_end_states_is_named(text: str, tmp_path: Path) -> None:
    (tmp_path / "x.json").write_text(text)
    with pytest.raises(InputError, match=r"x\.json"):
        read_states(tmp_path / "x.json")


def test_same_changes_in_another_order_with_other_ids_are_alike() -> None:
    one = {
        "mail": {
            "differences": {
                "emails": {"added": [{"id": "1", "to": ["a"]}, {"id": "2", "to": ["b"]}]}
            }
        }
    }
    other = {
        "mail": {
            "differences": {
                "emails": {"added": [{"id": "8", "to": ["b"]}, {"id": "9", "to": ["a"]}]}
            }
        }
    }
    assert compare_states(one, other).ratio == 1.0


def test_what_differs_is_named() -> None:
    other = sound()
    other["mail"]["differences"]["emails"]["added"][0]["subject"] = "Dinner"
    found = {each.app: each for each in compare_states(sound(), other).apps}
    assert found["calendar"].ratio == 1.0
    assert found["mail"].first_only == ("differences.emails.added.*.subject = Lunch",)
    assert found["mail"].second_only == ("differences.emails.added.*.subject = Dinner",)


def test_untouched_states_are_alike_in_nothing() -> None:
    assert (
        compare_states({"mail": {"finalstate": {"a": 1}}}, {"mail": {"finalstate": {"a": 1}}}).ratio
        is None
    )


VALUES = st.recursive(
    st.booleans() | st.integers(0, 9) | st.sampled_from(["a", "b", "2024-01-01"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("xyz"), inner, max_size=3),
    max_leaves=10,
)  # fmt: skip


@given(VALUES, VALUES)
def test_law_comparison_is_symmetric_and_a_state_is_like_itself(one: Any, other: Any) -> None:
    first, second = ({"app": {"differences": each}} for each in (one, other))
    there, back = compare_states(first, second), compare_states(second, first)
    assert there.ratio == back.ratio
    assert there.ratio is None or 0 <= there.ratio <= 1
    assert compare_states(first, first).ratio in {None, 1.0}


def test_every_negative_fails_the_queries_of_its_task() -> None:
    states = sound()
    before = copy.deepcopy(states)
    negatives = negatives_of(TASK, states)
    assert set(negatives) == {"undone-calendar", "undone-mail", "altered-1"}
    assert all(each.passed for each in checks_of(TASK, states))
    for name, wrong in negatives.items():
        assert not all(each.passed for each in checks_of(TASK, wrong)), name
    assert states == before


def test_of_two_equal_states_the_app_is_blamed_whose_own_it_is_not() -> None:
    state = {
        "finalstate": {"config": {"topwork": {"latency": 1}}, "jobs": {"jobs": []}},
        "initialstate": {},
    }
    task = Definition.model_validate(
        {"id": "t", "goal": "g", "websites": [{"id": "gomail"}, {"id": "topwork"}]}
    )
    for states in ({"gomail": state, "topwork": state}, {"topwork": state, "gomail": state}):
        blamed = [
            each.app for each in check_states(task, states) if each.code == "duplicated_state"
        ]
        assert blamed == ["gomail"]


@pytest.mark.parametrize(
    "final", [None, [], "text", {"config": []}], ids=["null", "list", "text", "no settings"]
)
def test_a_final_state_of_another_shape_is_checked_like_any_other(final: Any) -> None:
    states = {app: {**state, "finalstate": final} for app, state in sound().items()}
    assert check_states(TASK, states) is not None
