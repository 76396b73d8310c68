"""Agents and options of tests that look for whose fault a failure was."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sample_tasks import script

from bench_core.records import AgentOutcome, Usage
from waa_client.vm import VmOptions

if TYPE_CHECKING:
    from pathlib import Path

    from bench_core.protocols import EnvironmentHandle, TrialContext
    from bench_core.records import AgentTask, TrialResult

QUICK = VmOptions(slack=0.02, tries=2, wait_s=0.01, connect_s=10)


class OwnAgent:
    """An agent with the `act` of a test, which gets the environment's handle."""

    name = "own"

    def __init__(self, act: Any, *, in_process: bool = False) -> None:
        self.in_process = in_process
        self.runs = 0
        self._act = act

    async def run(
        self, task: AgentTask, environment: EnvironmentHandle, context: TrialContext
    ) -> AgentOutcome:
        del task
        self.runs += 1
        context.meter.spend(Usage(requests=1, input_tokens=100), 0.25)
        await self._act(environment)
        return AgentOutcome(steps=1)


def scripted(tmp_path: Path, *steps: Any) -> dict[str, Any]:
    """Return the options of a run of the scripted agent with these steps."""
    path = script(tmp_path / "script.json", list(steps))
    return {"agent": "scripted", "config": {"agent_options": {"script": path}}}


def message_of(result: TrialResult) -> str:
    return result.error.message if result.error else ""
