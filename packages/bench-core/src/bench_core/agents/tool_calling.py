"""An agent for any model that can call tools."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bench_core.agents.dialects import Answered, Declaration, Dialect, reply_to
from bench_core.agents.ending import ending_tools
from bench_core.agents.loop import LoopAgent
from bench_core.agents.model_stepper import ModelStepper
from bench_core.agents.observation_text import result_text
from bench_core.agents.prompts import system_prompt
from bench_core.agents.tools import tools_for
from bench_core.models.records import ImagePart, TextPart

if TYPE_CHECKING:
    from bench_core.agents.dialects import Screen
    from bench_core.agents.handles import Connect
    from bench_core.models.client import Model
    from bench_core.models.records import Part
    from bench_core.protocols import TrialContext
    from bench_core.records import AgentTask

__all__ = ["ToolCalling", "tool_calling_agent"]

_UNKNOWN_SIZE = (1280, 720)


class ToolCalling(Dialect):
    """Functions of our own, for models of every provider; each call is one action, and the last shows the screen."""

    name = "tool-calling"
    provider = ""
    text_ends = False
    members = {}  # noqa: RUF012  # there is no native tool

    def declare(self, screen: Screen) -> Declaration:
        """Declare the tools that the environment and the task have a use for; see `Dialect`."""
        return Declaration(
            tools=(*tools_for(screen.offers), *ending_tools(screen.task)),
            system=system_prompt(screen.task),
        )

    def answer(self, done: Answered) -> tuple[Part, ...]:
        """Answer a call; see `Dialect`."""
        content: list[TextPart | ImagePart] = [
            TextPart(text=done.error or " ".join(map(result_text, done.results)) or "ok")
        ]
        if done.result.image is not None:
            content.append(done.result.image)
        if done.last and not done.again:
            shown = self.show(done.observation, results=False)
            content += [each for each in shown if isinstance(each, TextPart | ImagePart)]
        return (reply_to(done.call, *content, error=done.error is not None),)


def tool_calling_agent(
    model: Model,
    *,
    name: str = "tool-calling",
    images: int | None = None,
    connect: Connect | None = None,
    dialect: Dialect | None = None,
) -> LoopAgent:
    """Return an agent that acts through tools of `model`, those of `dialect` where one is given."""

    def begin(task: AgentTask, context: TrialContext) -> ModelStepper:
        spoken = dialect or ToolCalling()
        return ModelStepper(
            model, spoken, task, context, size=_UNKNOWN_SIZE, browser=True, images=images
        )

    return LoopAgent(name, begin) if connect is None else LoopAgent(name, begin, connect=connect)
