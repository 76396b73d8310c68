from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest
from sum_trials import Sums

from bench_core.protocols import TrialContext
from bench_core.trial import AgentLimits, run_trial

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from bench_core.protocols import EnvironmentHandle
    from bench_core.records import AgentOutcome, AgentTask, TrialResult

QUICK = AgentLimits(overtime_s=0.05, stop_s=0.05)


class Scripted:
    """Does what it is given: returns it, or raises it."""

    name = "scripted"

    def __init__(self, does: Any) -> None:
        self._does = does

    async def run(
        self, task: AgentTask, environment: EnvironmentHandle, context: TrialContext
    ) -> AgentOutcome:
        if callable(self._does):
            return await self._does(context)  # type: ignore[no-any-return]
        if isinstance(self._does, BaseException):
            raise self._does
        return self._does  # type: ignore[no-any-return]


@pytest.fixture
def run(tmp_path: Path) -> Callable[..., TrialResult]:
    def run(does: Any, context: TrialContext | None = None, **faults: Any) -> TrialResult:
        benchmark = faults.pop("benchmark", None) or Sums(**faults)
        (task,) = benchmark.tasks()
        context = context or TrialContext(run_id="r", folder=tmp_path, agent="scripted")
        return asyncio.run(run_trial(benchmark, task, context, Scripted(does), limits=QUICK))

    return run
