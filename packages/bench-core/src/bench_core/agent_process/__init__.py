"""Isolation of agents: each in a process of its own, so that none can stop a run or another trial."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bench_core.lazy_exports import lazy_exports

if TYPE_CHECKING:
    from bench_core.agent_process.isolated import OUTPUT, IsolatedAgent, Isolation, SharedOnlyError
    from bench_core.agent_process.launcher import ForkLauncher, SpawnLauncher, launcher_for
    from bench_core.agent_process.model_calls import ModelProxy, Upstream
    from bench_core.agent_process.placement import AgentProcess, agent_of, opened_agent
    from bench_core.agent_process.variables import agent_variables

__all__ = [
    "OUTPUT",
    "AgentProcess",
    "ForkLauncher",
    "IsolatedAgent",
    "Isolation",
    "ModelProxy",
    "SharedOnlyError",
    "SpawnLauncher",
    "Upstream",
    "agent_of",
    "agent_variables",
    "launcher_for",
    "opened_agent",
]

__getattr__ = lazy_exports(
    __name__,
    {
        "isolated": ("IsolatedAgent", "Isolation", "OUTPUT", "SharedOnlyError"),
        "launcher": ("ForkLauncher", "SpawnLauncher", "launcher_for"),
        "model_calls": ("ModelProxy", "Upstream"),
        "placement": ("AgentProcess", "agent_of", "opened_agent"),
        "variables": ("agent_variables",),
    },
)
