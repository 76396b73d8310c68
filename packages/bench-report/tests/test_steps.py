"""Where actions went, in the vocabularies of several kinds of agent."""

from __future__ import annotations

from typing import Any

import pytest

from bench_report.html_page.step_actions import described_actions, marks_of, marks_of_step

CASES: list[tuple[dict[str, Any], list[tuple[str, Any]]]] = [
    ({"kind": "click", "target": {"x": 3, "y": 4, "unit": "px"}}, [("click", (3, 4))]),
    ({"kind": "click", "target": {"element": "9"}}, [("click", None)]),
    ({"click": {"index": 9, "coordinate_x": 3, "coordinate_y": 4}}, [("click", (3, 4))]),
    ({"type": "double_click", "x": 3, "y": 4}, [("click", (3, 4))]),
    ({"action": "left_click", "coordinate": [3, 4]}, [("click", (3, 4))]),
    ({"action": "left_click_drag", "start_coordinate": [1, 2], "coordinate": [1, 2]}, [("drag", (1, 2))]),
    ({"kind": "code", "code": "import pyautogui\npyautogui.click(3, 4)"}, [("click", (3, 4))]),
    ({"kind": "code", "code": "pyautogui.click(x=3, y=4, button='left')\npyautogui.write('a')"}, [("click", (3, 4)), ("type", (3, 4))]),
    ({"kind": "code", "code": "pyautogui.moveTo(1, 2)\npyautogui.dragTo(3, 4)"}, [("move", (1, 2)), ("drag", (1, 2))]),
    ({"kind": "code", "code": "computer.mouse.move_abs(x=0.5, y=0.25)"}, [("move", (0.5, 0.25))]),
    ({"kind": "code", "code": "computer.mouse.move_id(id=8)"}, [("move", None)]),
    ({"kind": "goto", "url": "http://x"}, []),
    ({"kind": "click", "target": {"x": "<b>", "y": None}}, []),
    ({"kind": "click", "target": {"x": 1e300, "y": float("nan")}}, []),
    ({"kind": "click", "target": {"x": True, "y": 1}}, []),
    ({}, []),
]  # fmt: skip


@pytest.mark.parametrize(("action", "expected"), CASES)
def test_places_are_found(action: dict[str, Any], expected: list[tuple[str, Any]]) -> None:
    assert [(mark.kind, mark.place) for mark in marks_of([action])] == expected


def test_an_element_is_marked_by_its_box() -> None:
    (mark,) = marks_of([{"kind": "click", "target": {"element": "9"}}])

    assert mark.shown({}) is None
    assert mark.shown({"9": (10, 20, 30, 40)}) == {
        "kind": "click", "box": (10, 20, 30, 40), "at": (25, 40),
    }  # fmt: skip


def test_actions_are_described_in_words() -> None:
    actions: list[dict[str, Any]] = [
        {"kind": "type", "text": "lamp", "target": {"element": "9"}},
        {"kind": "goto", "url": "http://x/y"},
        {"click": {"index": 4}},
        {"kind": "keys", "keys": ["ctrl", "s"]},
        {"kind": "drag", "start": {"x": 1, "y": 2}, "end": {"x": 3, "y": 4}},
    ]

    assert described_actions(actions, {"9": "Search"}) == [
        "type “Search” “lamp”", "goto http://x/y", "click element 4", 'keys “["ctrl", "s"]”', "drag at 1, 2 to 3, 4",
    ]  # fmt: skip


def test_endless_code_is_read_in_part() -> None:
    code = "pyautogui.click(" * 1_000_000

    assert marks_of([{"kind": "code", "code": code}]) == []


def click(x: int) -> dict[str, Any]:
    return {"kind": "click", "target": {"x": x, "y": 1, "unit": "px"}}


@pytest.mark.parametrize(
    ("actions", "results", "places", "elsewhere"),
    [
        ([click(1), {"kind": "switch_tab", "tab": 2}, click(2)], ["", "", ""], [1], 1),
        ([{"kind": "goto", "url": "http://x"}, click(1), click(2)], ["", "", ""], [], 2),
        ([{"switch": {"tab_id": "1"}}, {"click": {"coordinate_x": 1, "coordinate_y": 1}}], [], [], 1),
        ([click(1), click(2)], ["", "not carried out: the page has changed"], [1], 0),
        ([click(1), {"kind": "type_text", "text": "a"}, click(2)], ["", "", ""], [1, 2], 0),
        ([click(2), {"kind": "back"}], ["", ""], [2], 0),
    ],
    ids=["another tab", "another page", "browser-use", "not carried out", "the same page", "back at the end"],
)  # fmt: skip
def test_what_went_to_another_page_is_not_marked_on_this_one(
    actions: list[dict[str, Any]], results: list[str], places: list[int], elsewhere: int
) -> None:
    marks, others = marks_of_step(actions, results)

    assert [mark.place[0] for mark in marks if mark.place] == places
    assert others == elsewhere
