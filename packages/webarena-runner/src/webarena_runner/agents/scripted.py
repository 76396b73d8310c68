"""The agent that does tasks of the built-in world right: browser-use, led by a script."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bench_core.browser_use import ScriptedChat
from webarena_runner.agents.browser_use import BrowserUseAgent
from webarena_runner.world.scripts import script_for

if TYPE_CHECKING:
    from bench_core.protocols import TrialContext
    from bench_core.records import AgentTask

__all__ = ["ScriptedAgent"]


class ScriptedAgent(BrowserUseAgent):
    """Plays the built-in world's script for the task's id; it knows no other tasks."""

    name = "scripted"

    def chat(self, task: AgentTask, context: TrialContext) -> Any:
        """Return a chat that plays the task's script.

        Raises:
            UnknownTaskError: The built-in world has no script for it.
        """
        del context
        return ScriptedChat(script_for(task.task_id))
