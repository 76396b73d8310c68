"""The doctors of Multi-REAL's states and queries, with the judge's rules installed beside them."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

from multireal_harness.definitions import Definition
from multireal_harness.states.goal_checks import goal_symptoms

if TYPE_CHECKING:
    from pathlib import Path

TASK = Definition.model_validate(
    {
        "id": "dining-mail-1",
        "goal": "Book a place with at least 4.5 stars and write to ana@corp.example.",
        "websites": [{"id": "dining"}, {"id": "mail"}],
        "evals": [],
    }
)


def states(rating: str, recipient: str) -> dict[str, Any]:
    booking = {"id": "b1", "restaurant": {"name": "Old Mill", "rating": rating}, "time": "8 PM"}
    mail = {"id": "m1", "to": [recipient], "subject": "Dinner"}
    return {
        "dining": {"initialstate": {"bookings": []}, "finalstate": {"bookings": [booking]}},
        "mail": {"initialstate": {"emails": []}, "finalstate": {"emails": [mail]}},
    }


def test_a_state_that_holds_what_the_goal_names_is_not_doubted() -> None:
    assert goal_symptoms(TASK, states("4.6", "ana@corp.example")) == []


def test_what_the_goal_names_and_the_state_does_not_hold_is_told() -> None:
    found = goal_symptoms(TASK, states("4.6", "ben@corp.example"))
    assert [(each.code, each.app, each.serious) for each in found] == [
        ("goal_violated", "llm-judge", True)
    ]
    assert "'ana@corp.example'" in found[0].message


def test_the_table_of_the_doctors_is_what_they_find(root: Path) -> None:
    script = root / "packages/multireal-harness/benchmarks/doctors_table.py"
    done = subprocess.run([sys.executable, str(script), "--check"], capture_output=True, text=True)  # noqa: PLW1510  # its exit code is what is asked for
    if done.returncode == 3:
        pytest.skip(done.stderr.strip())
    assert done.returncode == 0, f"{done.stdout}{done.stderr}: run {script.name} without --check"
