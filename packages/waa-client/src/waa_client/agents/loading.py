"""Find an agent: one of ours by its short name, an entry point, or `module:Class`."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from bench_core.discovery import load_plugin, new_agent
from waa_client.desktop import View

if TYPE_CHECKING:
    from bench_core.protocols import Agent, TrialContext
    from bench_core.records import AgentOutcome, AgentTask
    from waa_client.desktop import WaaDesktop

__all__ = ["OWN", "DesktopAgent", "load_agent", "option", "view_of"]

OWN = {
    "checkout": "waa_client.agents.checkout:CheckoutAgent",
    "computer-use": "waa_client.agents.simple:ComputerUseAgent",
    "do-nothing": "waa_client.agents.simple:DoNothingAgent",
    "http": "waa_client.agents.simple:HttpAgent",
    "replay": "waa_client.agents.simple:ReplayAgent",
    "scripted": "waa_client.agents.simple:ScriptedAgent",
    "vision": "waa_client.agents.vision:VisionAgent",
}
"""The agents that come along; each takes its settings from `--agent-option NAME=VALUE`."""


@runtime_checkable
class DesktopAgent(Protocol):
    """An agent that works on the live desktop of its own process instead of a handle."""

    name: str

    async def run_on(
        self, desktop: WaaDesktop, task: AgentTask, context: TrialContext
    ) -> AgentOutcome:
        """Work on `task`; see `bench_core.protocols.Agent`."""
        ...


def load_agent(name: str) -> Agent | DesktopAgent:
    """Return a new agent: one of ours, an installed one, or `my_package.my_module:MyAgent`.

    Raises:
        UnknownPluginError: No installed distribution offers an agent of that name.
        PluginImportError: It does not import.
        InputError: The class needs arguments or is no agent.
    """
    if name in OWN:
        module, _, attribute = OWN[name].partition(":")
        factory: Any = getattr(importlib.import_module(module), attribute)
    else:
        factory = load_plugin("agent", name)
    agent: Agent | DesktopAgent = new_agent(factory, name, DesktopAgent)
    return agent


def view_of(agent: Agent | DesktopAgent, context: TrialContext) -> View:
    """Return what to show the agent: what the run says, what the agent wants, or elements."""
    given = context.config.get("view")
    if given is not None:
        return View.model_validate(given)
    wanted = getattr(agent, "view", None)
    if callable(wanted):
        return View.model_validate(wanted(context))
    return View(elements=True, windows=True)


def option(context: TrialContext, name: str, default: Any = None) -> Any:
    """Return an option of the agent as the run gives it."""
    options = context.config.get("agent_options")
    return options.get(name, default) if isinstance(options, dict) else default
