"""Runs of five toy tasks by an agent in a file."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from toy_tasks import AGENT, IDS, Toys

from bench_core.run_spec import AgentProcessSpec, RunSpec, TaskFilter
from bench_core.runs import RunEnvironment, RunOutcome, run_benchmark_sync
from bench_core.scheduling import Backoff, NoLocks, Policy

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


@pytest.fixture
def toys() -> Toys:
    return Toys()


@pytest.fixture
def out(tmp_path: Path) -> Path:
    return tmp_path / "runs" / "first"


@pytest.fixture
def agent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The file of the agent `my_agent:Agent`."""
    file = tmp_path / "code" / "my_agent.py"
    file.parent.mkdir()
    file.write_text(AGENT.format(answer=1))
    monkeypatch.syspath_prepend(str(file.parent))
    monkeypatch.delitem(__import__("sys").modules, "my_agent", raising=False)
    return file


@pytest.fixture
def run(toys: Toys, out: Path, agent: Path) -> Callable[..., RunOutcome]:
    """Run the five toys `IDS` by the agent; returns the outcome, and `toys.ran` is what was evaluated."""

    def run(**spec: Any) -> RunOutcome:
        toys.ran.clear()
        asked = {
            "agent": "my_agent:Agent",
            "agent_process": AgentProcessSpec(process="shared"),
            "tasks": TaskFilter(ids=IDS),
            "attempts": 1,
            **spec,
        }
        policy = Policy(attempts=asked["attempts"], backoff=Backoff(first_s=0.0))
        run_environment = RunEnvironment(locks=NoLocks(), policy=policy)
        return run_benchmark_sync(toys, RunSpec(**asked), out, run_environment=run_environment)

    return run
