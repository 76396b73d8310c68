from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from fake_evaluator import FakeEvaluator, verdict

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def evaluator() -> Iterator[FakeEvaluator]:
    """An evaluator that finds the task not done."""
    with FakeEvaluator(lambda _: verdict(0.0)) as running:
        yield running


@pytest.fixture
def out(tmp_path: Path) -> Path:
    return tmp_path / "run"
