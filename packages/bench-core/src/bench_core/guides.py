"""What a benchmark tells Proctor's own agents of itself, so that each of them exists once.

A distribution names it beside its benchmark, under the name of that::

    [project.entry-points."bench_core.guides"]
    arithmetic = "my_package.agents:GUIDE"

Agents of other people get nothing of it: it is no part of the task.
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
    """What is particular about a benchmark to agents that work on many.

    Attributes:
        idle_answer: What `do-nothing` answers: the claim under which the benchmark could pay for
            nothing.
        solver: Makes the agent that carries out the reference solution of a task: `scripted`.
        browser_use: Returns the `bench_core.browser_use.Briefing` of a task.
    """

    idle_answer: JsonValue = None
    solver: Callable[[AgentTask, TrialContext], Agent] | None = None
    browser_use: Callable[[AgentTask, EnvironmentHandle], Any] | None = None


def guide_of(benchmark: str) -> AgentGuide:
    """Return what the installed benchmark tells; nothing where it brings no guide.

    Raises:
        PluginImportError: It does not import.
        InputError: It is none.
    """
    for plugin in find_plugins("guide"):
        if plugin.name == benchmark:
            guide = plugin.load()
            if not isinstance(guide, AgentGuide):
                raise InputError(f"{plugin.value!r} is no AgentGuide")
            return guide
    return AgentGuide()
