"""Find an agent by the name `--agent` takes: an entry point, or `module:Class`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bench_core import discovery
from waa_client.desktop import View

if TYPE_CHECKING:
    from bench_core.protocols import Agent, TrialContext

__all__ = ["OWN", "load_agent", "option", "view_of"]

OWN = {
    "computer-use": "waa_client.agents.simple:ComputerUseAgent",
    "do-nothing": "waa_client.agents.simple:DoNothingAgent",
    "scripted": "waa_client.agents.simple:ScriptedAgent",
}
"""Agents that come along under names which mean other agents elsewhere."""


def load_agent(name: str) -> Agent:
    """Return a new agent: one of ours, an installed one, or `my_package.my_module:MyAgent`.

    Raises:
        UnknownPluginError: No installed distribution offers an agent of that name.
        PluginImportError: It does not import.
        InputError: The class needs arguments or is no agent.
    """
    return discovery.load_agent(OWN.get(name, name))


def view_of(agent: Agent, context: TrialContext) -> View:
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
