"""A border around agents: each in a process of its own, so that none can stop a run or another trial."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from bench_core.agent_process.choosing import AgentProcess, agent_of, opened_agent
    from bench_core.agent_process.isolated import OUTPUT, IsolatedAgent, Isolation, SharedOnlyError
    from bench_core.agent_process.launching import ForkLauncher, SpawnLauncher, launcher_for
    from bench_core.agent_process.surroundings import agent_variables

__all__ = [
    "OUTPUT",
    "AgentProcess",
    "ForkLauncher",
    "IsolatedAgent",
    "Isolation",
    "SharedOnlyError",
    "SpawnLauncher",
    "agent_of",
    "agent_variables",
    "launcher_for",
    "opened_agent",
]

_HOME = {
    **dict.fromkeys(("AgentProcess", "agent_of", "opened_agent"), "choosing"),
    **dict.fromkeys(("OUTPUT", "IsolatedAgent", "Isolation", "SharedOnlyError"), "isolated"),
    **dict.fromkeys(("ForkLauncher", "SpawnLauncher", "launcher_for"), "launching"),
    "agent_variables": "surroundings",
}


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
