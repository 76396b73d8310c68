from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

SHARED = Path(os.environ.get("PROCTOR_DATA", "../shared/data")) / "multireal"


@pytest.fixture(scope="session")
def shared_tasks() -> Path:
    """Return the published tasks, which nothing of this repository holds."""
    return _given(SHARED / "tasks")


@pytest.fixture(scope="session")
def shared_states() -> Path:
    """Return recorded end states of the real apps."""
    return _given(SHARED / "final_states")


@pytest.fixture
def a_task() -> Callable[..., dict[str, Any]]:
    """Make the JSON of a task; keywords replace what it says."""
    return _task


@pytest.fixture
def task_file(tmp_path: Path) -> Callable[..., Path]:
    """Write a task file and return its path; keywords replace what it says."""

    def write(name: str = "calendar-mail-1", **changes: Any) -> Path:
        folder = tmp_path / "tasks"
        folder.mkdir(exist_ok=True)
        path = folder / f"{name}.json"
        path.write_text(json.dumps(_task(id=name, **changes)), encoding="utf-8")
        return path

    return write


def _task(**changes: Any) -> dict[str, Any]:
    return {
        "id": "calendar-mail-1",
        "goal": "Invite ann@example.com to 'Lunch'.",
        "websites": [
            {"id": "calendar", "name": "Calendar", "url": "http://127.0.0.1:1"},
            {"id": "mail", "name": "Mail", "url": "http://127.0.0.1:2/"},
        ],
        "difficulty": "hard",
        "evals": [
            {
                "description": "Verify a mail was sent.",
                "type": "jmespath",
                "query": "length(mail.differences.emails.added) >= `1`",
                "expected_value": True,
            }
        ],
        "points": 2,
        **changes,
    }


def _given(folder: Path) -> Path:
    if not folder.is_dir():
        pytest.skip(f"{folder} is not here: set PROCTOR_DATA to the folder of the shared data")
    return folder
