"""What an end state shows to be otherwise than its goal names it, found without a model."""

from __future__ import annotations

from typing import Any

import pytest

from llm_judge.evidence.goal_check import goal_doubts


def codes(goal: str, **made: Any) -> list[str]:
    state = {"shop": {"before": {"orders": []}, "after": {"orders": [{"id": "o1", **made}]}}}
    return [code for code, _ in goal_doubts(state, goal)]


@pytest.mark.parametrize(
    "goal",
    [
        "Book a table at a place rated 4.5 or better.",
        "Book a steakhouse with at least a 4.5-star rating for 8:30 PM.",
        "Book a place with a rating of at least 4.5.",
        "Book a place with 4.5+ rating, so rated 4.5+.",
        "Find a 4.5-star or higher hotel.",
        "Book somewhere with a rating of 4.5 and above.",
    ],
)
def test_a_bound_on_a_rating_that_nothing_made_keeps_is_told(goal: str) -> None:
    assert "state.goal_violated" in codes(goal, rating="4.33")
    assert codes(goal, rating=4.5) == []
    assert codes(goal, rating="4.6") == []
    assert codes(goal, stars=4.33) == []  # which is not known to be one


@pytest.mark.parametrize("goal", ["Order a lamp for at most $50.", "Order a lamp, up to $50."])
def test_a_bound_on_a_price_that_nothing_made_keeps_is_told(goal: str) -> None:
    assert codes(goal, price="$50.01") == ["state.goal_violated"]
    assert codes(goal, price=50) == []
    assert codes(goal, price="1,050") == ["state.goal_violated"]


@pytest.mark.parametrize(
    "goal", ["If it is rated 4.5 or better, book it.", "Stay for at most 50 minutes.", "Rate it 5."]
)
def test_what_is_no_bound_is_left_alone(goal: str) -> None:
    assert codes(goal, rating=3.0, price=99) == []


def test_one_of_several_that_keeps_the_bound_is_enough() -> None:
    rows = [{"id": "o1", "rating": 4.1}, {"id": "o2", "rating": 4.9}]
    state = {"shop": {"before": {"orders": []}, "after": {"orders": rows}}}
    assert list(goal_doubts(state, "Order one that is rated 4.5 or better.")) == []
