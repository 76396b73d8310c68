"""The agents of this package as plugins: what `--agent tool-calling --model provider:name` runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bench_core.agents.computer_use import DEFAULT_TOOL, computer_use_agent
from bench_core.agents.tool_calling import tool_calling_agent
from bench_core.errors import InputError
from bench_core.models.opening import open_model
from bench_core.models.prices import published_prices

if TYPE_CHECKING:
    from bench_core.models.client import Model
    from bench_core.protocols import BrowserHandle, DesktopHandle, TrialContext
    from bench_core.records import AgentOutcome, AgentTask

__all__ = ["ComputerUsePlugin", "ToolCallingPlugin"]


class ToolCallingPlugin:
    """`tool-calling`: any model with tools, in a browser or on a desktop."""

    name = "tool-calling"

    async def run(
        self, task: AgentTask, environment: BrowserHandle | DesktopHandle, context: TrialContext
    ) -> AgentOutcome:
        """Work on `task` with the run's model; see `bench_core.protocols.Agent`."""
        async with _model(self.name, context) as model:
            return await tool_calling_agent(model).run(task, environment, context)


class ComputerUsePlugin:
    """`computer-use`: Claude through its native tool.

    The run's configuration may name another version of it, `{"computer_tool": "computer_..."}`.
    """

    name = "computer-use"

    async def run(
        self, task: AgentTask, environment: BrowserHandle | DesktopHandle, context: TrialContext
    ) -> AgentOutcome:
        """Work on `task` with the run's model; see `bench_core.protocols.Agent`."""
        browser = environment.kind == "browser"
        screen = environment.viewport if environment.kind == "browser" else environment.screen
        async with _model(self.name, context) as model:
            agent = computer_use_agent(
                model,
                screen=screen or (1280, 720),
                tool=str(context.config.get("computer_tool") or DEFAULT_TOOL),
                browser=browser,
            )
            return await agent.run(task, environment, context)


def _model(agent: str, context: TrialContext) -> Model:
    if context.model is None:
        raise InputError(f"the agent {agent!r} needs a model: `--model provider:name`")
    return open_model(context.model, seed=context.seed, prices=published_prices())
