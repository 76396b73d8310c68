from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, settings

sys.path.insert(0, str(Path(__file__).parent))

from fake_evaluator import FakeEvaluator
from fake_vm import FakeVm
from sample_tasks import make_task
from test_support.model_server import ModelServer

settings.register_profile(
    "busy machine", deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("busy machine")

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bench_core.records import Task


@pytest.fixture
def vm() -> Iterator[FakeVm]:
    with FakeVm() as running:
        yield running


@pytest.fixture(scope="session")
def data() -> Path:
    """The published task files, which are not in this repository."""
    folder = Path(os.environ.get("PROCTOR_DATA", "../shared/data")) / "waa"
    if not (folder / "examples").is_dir():
        pytest.skip(f"{folder} has no WAA tasks: set PROCTOR_DATA")
    return folder


@pytest.fixture
def evaluator() -> Iterator[FakeEvaluator]:
    with FakeEvaluator() as running:
        yield running


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with ModelServer() as running:
        yield running


@pytest.fixture
def anthropic(monkeypatch: pytest.MonkeyPatch) -> str:
    pytest.importorskip("anthropic")
    monkeypatch.setenv("ANTHROPIC_API_KEY", "a key of some length")
    return "anthropic"


@pytest.fixture
def task() -> Task:
    return make_task()


@pytest.fixture
def tasks() -> tuple[Task, ...]:
    return tuple(make_task(f"{number:02d}-WOS") for number in range(1, 5))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Two tasks of one domain, one of which cannot be done."""
    path = tmp_path / "tasks" / "examples" / "notepad"
    path.mkdir(parents=True)
    for stem in ("0a1b2c3d-WOS", "INF-5e6f-WOS"):
        func = "infeasible" if stem.startswith("INF") else "exact_match"
        task = {"id": stem, "instruction": f"Do {stem}.", "config": [], "evaluator": {"func": func}}
        (path / f"{stem}.json").write_text(json.dumps(task), encoding="utf-8")
    return tmp_path / "tasks"
