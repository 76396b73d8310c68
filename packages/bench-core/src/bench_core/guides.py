"""What Proctor's own agents need to know of a benchmark, so that each agent exists once.

A distribution offers it under the name of its benchmark::

    [project.entry-points."bench_core.guides"]
    arithmetic = "my_package.agents:GUIDE"

Other agents do not get it: it is not part of the task.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from bench_core.discovery import find_plugins
from bench_core.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable

    from pydantic import JsonValue

    from bench_core.protocols import Agent, EnvironmentHandle, TrialContext
    from bench_core.records import AgentTask

__all__ = ["AgentGuide", "guide_of"]


@dataclass(frozen=True)
class AgentGuide:
    """What agents that work on many benchmarks need to know of one.

    Attributes:
        idle_answer: What `do-nothing` answers: the claim that could score
            without any work.
        solver: Makes the agent that carries out the reference solution of a task: `scripted`.
        browser_use: Returns the `bench_core.browser_use.TaskInstructions` of a task.
    """

    idle_answer: JsonValue = None
    solver: Callable[[AgentTask, TrialContext], Agent] | None = None
    browser_use: Callable[[AgentTask, EnvironmentHandle], Any] | None = None


def guide_of(benchmark: str) -> AgentGuide:
    """Return the guide of the installed benchmark; an empty one where it has none.

    Raises:
        PluginImportError: It cannot be imported.
        InputError: It is not an `AgentGuide`.
    """
    for plugin in find_plugins("guide"):
        if plugin.name == benchmark:
            guide = plugin.load()
            if not isinstance(guide, AgentGuide):
                raise InputError(f"{plugin.value!r} is no AgentGuide")
            return guide
    return AgentGuide()
