from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from webarena_runner.answers import answer_flags, answer_text, read_answer

GOOD = {"task_type": "RETRIEVE", "status": "SUCCESS", "retrieved_data": ["x"]}
PARTIAL = ("partial-date-answer",)
JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


def problem_of(answer: object) -> str | None:
    return read_answer(answer_text(answer)).problem


@pytest.mark.parametrize(
    "answer",
    [
        GOOD,
        {"task_type": "mutate", "status": "not_found_error"},
        {"performed_operation": "NAVIGATE", "status": "SUCCESS"},
        {**GOOD, "extra": 1},
        f"Here it is:\n```json\n{json.dumps(GOOD)}\n```",
        json.dumps(GOOD),
    ],
)
def test_what_the_evaluator_can_read_is_well_formed(answer: Any) -> None:
    assert problem_of(answer) is None


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (None, "there is no answer"),
        ("It is 5", "is prose, not JSON: 'It is 5'"),
        (["a"], 'a JSON list, not an object with task_type and status: ["a"]'),
        ({"gave_up": "No."}, "gave up and declared no status: No."),
        ("", "there is no answer"),
        ("The product is x", "prose"),
        ("[" * 300 + "]" * 300, "prose"),
        ("[" * 100_000, "prose"),
        ([GOOD], "JSON list"),
        (5, "JSON int"),
        ({}, "task_type is null"),
        ({**GOOD, "task_type": None}, "task_type is null"),
        ({**GOOD, "task_type": 3}, "task_type is 3"),
        ({**GOOD, "task_type": "BUY"}, 'task_type is "BUY", not one of RETRIEVE'),
        ({**GOOD, "status": None}, "status is null"),
        ({**GOOD, "status": "DONE"}, 'status is "DONE", not one of SUCCESS'),
    ],
)
def test_malformed_answer_says_what_is_wrong(answer: Any, reason: str) -> None:
    assert reason in problem_of(answer)


@given(JSON_VALUES.filter(lambda value: not isinstance(value, str)))
def test_law_stored_answers_read_back_equal(answer: Any) -> None:
    assert read_answer(answer_text(answer)).value == answer


@pytest.mark.parametrize(
    ("data", "flags"),
    [
        (["^.*$"], ("regex-answer",)),
        ([{"name": "^a$"}], ("regex-answer",)),
        (["^"], ()),
        (["a^b$"], ()),
        ([["a", "b"]], ("alternatives-answer",)),
        ([{"name": ["a", "b"]}], ("alternatives-answer",)),
        ([["x", "^.*$"]], ("regex-answer", "alternatives-answer")),
        ("plain", ()),
        (None, ()),
        ([1, True, None], ()),
    ],
)
def test_answers_that_widen_the_comparison_are_flagged(data: Any, flags: tuple[str, ...]) -> None:
    assert answer_flags(read_answer(json.dumps({**GOOD, "retrieved_data": data}))) == flags


@pytest.mark.parametrize(
    ("text", "flags"),
    [
        ("January 2022", PARTIAL),
        ("Jan 5", PARTIAL),
        ("2022", PARTIAL),
        ("5", PARTIAL),
        ("01/2022", PARTIAL),
        ("2022-01-05", ()),
        ("Jan 5th, 2022", ()),
        ("05/01/2022", ()),
        ("20220105", ()),
        ("2022-01-05 10:30", ()),
        ("unknown", ()),
    ],
)
def test_dates_that_today_would_complete_are_flagged(text: str, flags: tuple[str, ...]) -> None:
    answer = read_answer(json.dumps({**GOOD, "retrieved_data": [text]}))
    schema = {"type": "array", "items": {"type": "string", "format": "date"}}
    assert answer_flags(answer, schema) == flags


def test_dates_are_judged_only_where_the_task_asks_for_dates() -> None:
    answer = read_answer(json.dumps({**GOOD, "retrieved_data": ["2022"]}))
    assert answer_flags(answer, {"type": "array", "items": {"type": "string"}}) == ()
