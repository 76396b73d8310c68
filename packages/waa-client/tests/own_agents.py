"""Agents as users write them, imported from here by their own process."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bench_core.agents import PressKeys, RunCode, connect
from bench_core.records import AgentOutcome

if TYPE_CHECKING:
    from bench_core.protocols import DesktopHandle, TrialContext
    from bench_core.records import AgentTask


class OwnAgent:
    """An agent of a user: a class without arguments, named `module:Class`."""

    name = "own"

    async def run(
        self, task: AgentTask, environment: DesktopHandle, context: TrialContext
    ) -> AgentOutcome:
        async with connect(environment) as desktop:
            seen = await desktop.observe()
            assert seen.size == (1280, 720)
            await desktop.act(RunCode(code="computer.keyboard.write('mine')"))
            await desktop.act(PressKeys(keys=("enter",)))
        return AgentOutcome(steps=2)


class Swallowing(OwnAgent):
    """An agent that always reports success."""

    async def run(self, *arguments: Any) -> AgentOutcome:
        try:
            return await super().run(*arguments)
        except Exception:  # noqa: BLE001  # what it is for
            return AgentOutcome()
