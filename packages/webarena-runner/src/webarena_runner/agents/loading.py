"""Find an agent by its entry-point name or by `module:Class`."""

from __future__ import annotations

from bench_core.discovery import load_plugin
from bench_core.errors import InputError
from bench_core.protocols import Agent

__all__ = ["load_agent"]


def load_agent(name: str) -> Agent:
    """Return a new agent: `browser-use`, or `my_package.my_module:MyAgent` for one of your own.

    Raises:
        UnknownPluginError: No installed distribution offers an agent of that name.
        PluginImportError: It does not import, or the class is missing.
        InputError: The class needs arguments or is no agent.
    """
    factory = load_plugin("agent", name)
    if isinstance(factory, Agent) and not isinstance(factory, type):
        return factory
    try:
        agent = factory()
    except TypeError as error:
        raise InputError(f"the agent {name!r} cannot be made without arguments: {error}") from error
    if not isinstance(agent, Agent):
        raise InputError(f"{name!r} is no agent: it needs a `name` and an async `run`")
    return agent
