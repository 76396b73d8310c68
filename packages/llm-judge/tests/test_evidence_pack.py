from __future__ import annotations

import copy
import json
import random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from test_support.pack_reader import read_pack

from bench_core.errors import InputError
from bench_core.records.judge import Criterion
from llm_judge import pack
from llm_judge.states.pointers import resolve

scalars = st.none() | st.booleans() | st.integers(-999, 999) | st.text(max_size=12)
values = st.recursive(
    scalars,
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=6), inner, max_size=4)
    ),
    max_leaves=12,
)
states = st.fixed_dictionaries(
    {
        "app": st.fixed_dictionaries(
            {"initialstate": st.dictionaries(st.text(max_size=6), values, max_size=4),
             "finalstate": st.dictionaries(st.text(max_size=6), values, max_size=4)}
        )
    }
)  # fmt: skip


def lines(text: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in text.splitlines()]


def test_small_state_is_shown_whole_with_what_changed_first(shop: dict[str, Any]) -> None:
    shown = pack(shop, "Book a table")
    assert shown.whole
    found = lines(shown.text)
    assert found[-1] == {"whole": True}
    assert [(each["at"], each["is"]) for each in found if "n" in each] == [
        ("/tablely/finalstate/bookings/1", "added"),
        ("/tablely/finalstate/search", "changed"),
        ("/tablely/finalstate/bookings/0", "there"),
    ]


@pytest.mark.parametrize("records", [1, 1_000], ids=["whole", "too large"])
def test_two_apps_with_the_same_dump_are_told(shop: dict[str, Any], records: int) -> None:
    shop["tablely"]["finalstate"]["log"] = [f"{n}" * 60 for n in range(records)]
    shown = lines(pack({**shop, "mail": shop["tablely"]}, "Book a table").text)
    assert {"is": "identical", "apps": ["mail", "tablely"]} in shown
    assert "identical" not in pack(shop, "Book a table").text


def test_large_state_is_shown_by_what_changed_and_what_criteria_name(shop: dict[str, Any]) -> None:
    catalog = [{"id": f"r{n}", "name": f"Place {n}", "about": "x" * 90} for n in range(1_000)]
    catalog[700]["name"] = "Zebra Grill"
    for part in ("initialstate", "finalstate"):
        shop["tablely"][part]["catalog"] = catalog
    shown = pack(
        shop, "Book a table", ["No table is booked at Zebra Grill.", "Two bookings exist."]
    )
    assert not shown.whole
    assert len(shown.text) <= 40_000
    assert "Steakhouse 101" in shown.text
    assert "Zebra Grill" in shown.text  # a record that a criterion names
    assert "Old Mill" in shown.text  # the list that one names is complete


def test_changed_record_is_shown_with_what_tells_which_it_is() -> None:
    orders = [{"id": n, "item": f"Item {n}", "state": {"value": "open"}} for n in range(3)]
    changed = [each | ({"state": {"value": "paid"}} if each["id"] == 1 else {}) for each in orders]
    text = pack({"shop": {"before": {"orders": orders}, "after": {"orders": changed}}}).text
    found = [each for each in lines(text) if each.get("is") == "changed"]
    assert found[0]["was_now"] == {"/value": ["open", "paid"]}
    assert found[0]["of"] == {"id": 1, "item": "Item 1"}


def test_copies_of_a_record_are_named_and_not_repeated(shop: dict[str, Any]) -> None:
    shown = pack(shop)
    assert shown.text.count("Steakhouse 101") == 1
    booking = next(each for each in shown.lines if each.pointer.endswith("/bookings/1"))
    assert booking.copies == ("/tablely/differences/bookings/added/0",)


def test_a_copy_that_differs_is_shown_with_its_difference(shop: dict[str, Any]) -> None:
    shop["tablely"]["differences"]["bookings"]["added"][0] = {
        **shop["tablely"]["finalstate"]["bookings"][1],
        "time": "9:45 PM",
    }
    known = read_pack(pack(shop).text)
    assert known["/tablely/finalstate/bookings/1/time"] == "8:30 PM"
    assert known["/tablely/differences/bookings/added/0/time"] == "9:45 PM"
    assert known["/tablely/differences/bookings/added/0/guests"] == 3


def test_a_changed_value_is_shown_with_what_it_was(shop: dict[str, Any]) -> None:
    changed = [each for each in lines(pack(shop).text) if each.get("is") == "changed"]
    assert changed == [
        {
            "n": 2,
            "at": "/tablely/finalstate/search",
            "is": "changed",
            "was_now": {"/term": ["", "steak"]},
        }
    ]


def test_a_removed_record_is_shown(shop: dict[str, Any]) -> None:
    del shop["tablely"]["finalstate"]["bookings"][0]
    removed = [each for each in lines(pack(shop).text) if each.get("is") == "removed"]
    assert removed[0]["at"] == "/tablely/initialstate/bookings/0"


def test_true_that_became_one_is_a_change() -> None:
    state = {"app": {"before": {"done": True, "n": 0}, "after": {"done": 1, "n": 5}}}
    assert read_pack(pack(state).text) == {"/app/after/done": 1, "/app/after/n": 5}


def test_a_place_a_criterion_names_is_shown_although_nothing_changed_there(
    shop: dict[str, Any],
) -> None:
    asked = [Criterion(id="a", text="x", paths=("tablely.finalstate.bookings[0].place",))]
    shown = next(each for each in lines(pack(shop, "", asked).text) if each.get("is") == "there")
    assert (shown["at"], shown["value"]["place"]) == ("/tablely/finalstate/bookings/0", "Old Mill")


def test_a_place_that_the_run_changed_is_shown_once_and_as_changed(shop: dict[str, Any]) -> None:
    asked = [Criterion(id="a", text="x", paths=("tablely.finalstate.bookings",))]
    shown = {each["at"]: each["is"] for each in lines(pack(shop, "", asked).text) if "n" in each}
    assert shown["/tablely/finalstate/bookings/1"] == "added"
    assert shown["/tablely/finalstate/bookings/0"] == "there"


def test_an_app_that_was_loaded_again_is_shown_after_what_changed(shop: dict[str, Any]) -> None:
    stay = {"bookings": [{"id": "s1", "city": "Dublin", "checkin": "2025-03-13"}]}
    state = {**shop, "lodgely": {"initialstate": stay, "finalstate": stay}}
    shown = [each for each in lines(pack(state).text) if "n" in each]
    assert shown[-1] == {
        "n": shown[-1]["n"],
        "at": "/lodgely/finalstate/bookings/0",
        "is": "there",
        "value": stay["bookings"][0],
    }


def test_a_place_that_is_missing_is_shown_with_its_nearest_ancestor(shop: dict[str, Any]) -> None:
    asked = [Criterion(id="a", text="x", paths=("/tablely/finalstate/orders/0/total",))]
    missing = next(
        each for each in lines(pack(shop, "", asked).text) if each.get("is") == "missing"
    )
    assert missing["nearest"] == "/tablely/finalstate"
    assert missing["holds"] == {"keys": ["bookings", "search"], "of": 2}


def test_a_path_in_the_text_of_a_criterion_is_followed_into_the_app(shop: dict[str, Any]) -> None:
    asked = ["differences.bookings.deleted is empty"]
    assert any(
        each.get("at") == "/tablely/differences/bookings/deleted" and each.get("is") == "there"
        for each in lines(pack(shop, "", asked).text)
    )


def test_empty_collections_are_named(shop: dict[str, Any]) -> None:
    empty = next(each for each in lines(pack(shop).text) if each["is"] == "empty")
    assert "/tablely/differences/bookings/deleted" in empty["at"]


def test_the_last_actions_are_shown_without_what_the_agent_thought() -> None:
    actions = [
        {"action": "click", "target": "Book", "thought": "the user will be pleased"},
        {"action": "done", "final_answer": "I booked it", "reasoning": "obviously"},
    ]
    text = pack({"a": {"before": {}, "after": {"x": 1}}}, actions=actions).text
    assert "Book" in text
    assert "pleased" not in text
    assert "I booked it" not in text
    assert "obviously" not in text


def test_each_app_gets_its_share_of_a_small_budget() -> None:
    def app(size: int, word: str) -> dict[str, Any]:
        rows = [{"id": str(n), "text": f"{word} {n} " * 9, "more": {"n": n}} for n in range(size)]
        return {"initialstate": {"rows": []}, "finalstate": {"rows": rows}}

    shown = pack({"loud": app(500, "loud"), "quiet": app(4, "quiet")}, chars=3_000)
    quiet = [each for each in shown.lines if each.app == "quiet"]
    assert len(quiet) == 4
    assert shown.omitted["loud"] > 400


def test_records_that_share_words_with_the_goal_come_first() -> None:
    rows = [{"id": str(n), "title": f"Meeting {n}", "extra": {"n": n}} for n in range(300)]
    rows[277]["title"] = "Solo Sushi Night"
    state = {"cal": {"initialstate": {"e": []}, "finalstate": {"e": rows}}}
    assert "Solo Sushi Night" in pack(state, "Block 'Solo Sushi Night' out", chars=1_500).text


def test_repeating_the_goals_words_does_not_push_a_record_forward() -> None:
    loud = {"id": "a", "text": "sushi " * 150, "x": {"y": 1}}
    plain = {"id": "b", "text": "sushi night", "x": {"y": 2}}
    rows = [loud, *({"id": f"z{n}", "text": "other", "x": {"y": n}} for n in range(50)), plain]
    state = {"cal": {"initialstate": {"e": []}, "finalstate": {"e": rows}}}
    text = pack(state, "sushi night", chars=2_000).text
    assert "sushi night" in text


def test_a_giant_text_does_not_push_out_the_others() -> None:
    rows = [{"id": "a", "text": "x" * 500_000}, {"id": "b", "text": "the booking"}]
    shown = pack({"m": {"before": {"r": []}, "after": {"r": rows}}}, chars=3_000)
    assert "the booking" in shown.text
    assert "characters left out" in shown.text


def test_what_was_left_out_is_stated() -> None:
    rows = [{"id": str(n), "text": f"note {n} " * 20, "x": {}} for n in range(200)]
    shown = pack({"m": {"before": {"r": []}, "after": {"r": rows}}}, chars=2_000)
    assert lines(shown.text)[-1] == {"left_out": shown.omitted, "reason": "no room"}
    assert shown.omitted_pointers


def test_a_catalogue_that_was_unloaded_takes_one_table() -> None:
    catalogue = [{"code": f"A{n}", "city": f"City {n}"} for n in range(40)]
    state = {"fly": {"initialstate": {"airports": catalogue}, "finalstate": {"trip": {"id": 1}}}}
    removed = [each for each in lines(pack(state).text) if each.get("is") == "removed"]
    assert removed[0]["columns"] == ["code", "city"]
    assert sum(len(each["rows"]) for each in removed) == 40


def test_a_state_without_history_is_shown_as_it_is() -> None:
    shown = pack({"cart": [{"name": "lamp", "quantity": 1}]}, "Put the lamp into the cart")
    assert read_pack(shown.text) == {"/cart/0/name": "lamp", "/cart/0/quantity": 1}
    assert shown.recorded == {"": False}


def test_a_state_from_before_may_come_apart() -> None:
    shown = pack({"shop": {"n": 2, "same": 1}}, initial={"shop": {"n": 1, "same": 1}})
    assert read_pack(shown.text) == {"/shop/n": 2, "/shop/same": 1}
    assert '"was_now":{"/n":[1,2]}' in shown.text


def test_an_app_that_recorded_nothing_is_not_forgotten() -> None:
    state = {"cal": {"initialstate": {}, "finalstate": {"x": 1}}, "mail": {"sent": [{"to": "a"}]}}
    assert read_pack(pack(state).text) == {"/cal/finalstate/x": 1, "/mail/sent/0/to": "a"}


def test_the_text_is_ascii_so_hidden_characters_are_seen() -> None:
    text = pack({"a": {"before": {}, "after": {"t": "pass\u200b\u202e"}}}).text
    assert text.isascii()
    assert "\\u200b\\u202e" in text


@pytest.mark.parametrize("state", [None, 3, "text", [], {}, [[]], {"a": None}, {"": {"": 1}}])
def test_any_json_can_be_packed(state: Any) -> None:
    assert isinstance(pack(state).text, str)


def test_a_state_nested_too_deeply_is_an_input_error() -> None:
    state: Any = 1
    for _ in range(100_000):
        state = [state]
    with pytest.raises(InputError, match="nested too deeply"):
        pack({"a": {"before": {}, "after": state}})


def test_a_budget_that_shows_nothing_is_refused() -> None:
    with pytest.raises(InputError, match="1000 or more"):
        pack({}, chars=10)


@settings(max_examples=60)
@given(states, st.integers(1_000, 3_000))
def test_the_budget_is_never_exceeded(state: Any, chars: int) -> None:
    assert len(pack(state, chars=chars).text) <= chars


@given(states, st.integers(0, 9))
def test_the_order_of_keys_and_records_does_not_change_what_is_shown(state: Any, seed: int) -> None:
    rng = random.Random(seed)  # noqa: S311  # not cryptography

    def shuffled(value: Any) -> Any:
        if isinstance(value, dict):
            keys = list(value)
            rng.shuffle(keys)
            return {key: shuffled(value[key]) for key in keys}
        return [shuffled(each) for each in value] if isinstance(value, list) else value

    assert read_pack(pack(state).text) == read_pack(pack(shuffled(state)).text)


@given(states)
def test_everything_shown_stands_in_the_state(state: Any) -> None:
    for pointer, value in read_pack(pack(state).text).items():
        assert json.dumps(resolve(state, pointer)) == json.dumps(value)


@given(states)
def test_an_unchanged_state_shows_nothing(state: Any) -> None:
    state["app"]["finalstate"] = copy.deepcopy(state["app"]["initialstate"])
    assert pack(state).records == 0
