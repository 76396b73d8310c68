"""Find an agent by its entry-point name or by `module:Class`."""

from __future__ import annotations

import importlib
from importlib.metadata import entry_points
from typing import Any

from bench_core.errors import InputError, PluginImportError, UnknownPluginError
from bench_core.protocols import Agent

__all__ = ["load_agent"]

_GROUP = "bench_core.agents"


def load_agent(name: str) -> Agent:
    """Return a new agent: `browser-use`, or `my_package.my_module:MyAgent` for one of your own.

    Raises:
        UnknownPluginError: No installed distribution offers an agent of that name.
        PluginImportError: It is installed but does not import.
        InputError: The class is missing, needs arguments or is no agent.
    """
    factory = _by_path(name) if ":" in name else _by_entry_point(name)
    try:
        agent = factory()
    except TypeError as error:
        raise InputError(f"the agent {name!r} cannot be made without arguments: {error}") from error
    if not isinstance(agent, Agent):
        raise InputError(f"{name!r} is no agent: it needs a `name` and an async `run`")
    return agent


def _by_entry_point(name: str) -> Any:
    found = {each.name: each for each in entry_points(group=_GROUP)}
    if name not in found:
        raise UnknownPluginError("agent", name, found)
    entry = found[name]
    try:
        return entry.load()
    except (ImportError, AttributeError) as error:
        distribution = entry.dist.name if entry.dist else "unknown"
        raise PluginImportError("agent", name, distribution, str(error)) from error


def _by_path(name: str) -> Any:
    module, _, attribute = name.partition(":")
    try:
        return getattr(importlib.import_module(module), attribute)
    except ImportError as error:
        raise InputError(f"the module of the agent {name!r} does not import: {error}") from error
    except AttributeError as error:
        raise InputError(f"the agent {name!r} does not exist: {error}") from error
