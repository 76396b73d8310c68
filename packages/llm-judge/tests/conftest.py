from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, settings
from test_support.scripted_judges import criterion_for_value

from bench_core.models import Model, ScriptedAdapter
from bench_core.records.judge import Criterion, JudgeCase
from llm_judge import Judge, JudgePolicy

if TYPE_CHECKING:
    from collections.abc import Callable

settings.register_profile("untimed", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("untimed")

DATA = Path(os.environ.get("PROCTOR_DATA", Path(__file__).parents[4] / "shared" / "data"))
BOOKING = "/tablely/finalstate/bookings/1"


@pytest.fixture
def shop() -> dict[str, Any]:
    """An app with a booking that a run made, and one that was there before."""
    old = {"id": "b0", "place": "Old Mill", "time": "7:00 PM", "guests": 2, "status": "confirmed"}
    new = {
        "id": "b1",
        "place": "Steakhouse 101",
        "time": "8:30 PM",
        "guests": 3,
        "status": "confirmed",
        "note": "window seat",
    }
    return {
        "tablely": {
            "initialstate": {"bookings": [old], "search": {"term": ""}},
            "finalstate": {"bookings": [old, new], "search": {"term": "steak"}},
            "differences": {"bookings": {"added": [new], "deleted": []}},
        }
    }


@pytest.fixture
def case(shop: dict[str, Any]) -> JudgeCase:
    return JudgeCase(
        case_id="table",
        goal="Book a table for 3 at Steakhouse 101 at 8:30 PM",
        criteria=(
            Criterion(id="time", text=criterion_for_value(f"{BOOKING}/time", "8:30 PM")),
            Criterion(id="guests", text=criterion_for_value(f"{BOOKING}/guests", 3)),
        ),
        state=shop,
    )


@pytest.fixture
def judge_by() -> Callable[..., Judge]:
    """Make a judge whose model is a function of the request, or a list of replies."""

    def make(script: Any, second: Any = None, **policy: Any) -> Judge:
        other = None if second is None else Model(ScriptedAdapter(second, model="other"))
        return Judge(Model(ScriptedAdapter(script)), second=other, policy=JudgePolicy(**policy))

    return make


@pytest.fixture(scope="session")
def multireal() -> Path:
    """The folder of Multi-REAL's tasks and of recorded end states."""
    folder = DATA / "multireal"
    if not folder.is_dir():
        pytest.skip(f"no tasks and recorded states in {folder}: set PROCTOR_DATA")
    return folder


@pytest.fixture(scope="session")
def recorded(multireal: Path) -> tuple[JudgeCase, ...]:
    """The recorded end states of real runs, with their tasks."""
    return tuple(_case(path) for path in sorted((multireal / "final_states").glob("*.json")))


def _case(path: Path) -> JudgeCase:
    task = json.loads((path.parents[1] / "tasks" / path.name).read_text(encoding="utf-8"))
    criteria = tuple(
        Criterion(id=f"e{n}", text=each["description"]) for n, each in enumerate(task["evals"])
    )
    return JudgeCase(
        case_id=task["id"],
        goal=task["goal"],
        criteria=criteria,
        state=json.loads(path.read_text(encoding="utf-8")),
        metadata={
            "apps": [each["id"] for each in task["websites"]],
            "queries": [each["query"] for each in task["evals"] if each.get("query")],
        },
    )
