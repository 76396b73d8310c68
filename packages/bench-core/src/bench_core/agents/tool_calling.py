"""An agent for any model that can call tools."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Literal

from bench_core.agents.dialects import (
    Answered,
    Declaration,
    Dialect,
    Screen,
    all_dialects,
    reply_to,
)
from bench_core.agents.ending import ending_tools
from bench_core.agents.handles import Connect, connect
from bench_core.agents.loop import LoopAgent
from bench_core.agents.marks import with_marks
from bench_core.agents.model_stepper import ModelStepper
from bench_core.agents.observation_text import as_shown, observation_parts, result_text
from bench_core.agents.prompts import system_prompt
from bench_core.agents.tools import tools_for
from bench_core.errors import InputError
from bench_core.models.records import ImagePart, Part, TextPart

if TYPE_CHECKING:
    from bench_core.agents.records import Observation
    from bench_core.models.client import Model
    from bench_core.protocols import TrialContext
    from bench_core.records import AgentTask

_UNKNOWN_SIZE = (1280, 720)
_IMAGES = 5
_READING = (
    "- A number in [brackets] is the id of the element that is named after it. A click may make the page draw its "
    "elements anew: they then have other ids."
)
_DISTANCE = re.compile(r"\d+ px of the page are")


class ToolCalling(Dialect):
    """Our own functions, for all providers' models; each call is one action, the last shows the screen.

    Args:
        pictures: Whether the model is shown the screen, and not only the text.
    """

    name = "tool-calling"
    provider = ""
    text_ends = False
    textual = True
    members = {}  # noqa: RUF012  # no native tool exists
    sighted = True

    def __init__(self, *, pictures: bool = True) -> None:
        self.sighted = pictures

    def declare(self, screen: Screen) -> Declaration:
        """Declare the tools that the environment and the task have a use for; see `Dialect`."""
        return Declaration(
            tools=(
                *tools_for(screen.offers, pictures=self.sighted),
                *ending_tools(screen.task),
            ),
            system=f"{system_prompt(screen.task)}\n{_READING}",
        )

    def show(self, observation: Observation, *, results: bool) -> tuple[TextPart | ImagePart, ...]:
        """Return the text, and the picture if the model is shown any; see `Dialect`."""
        if not self.sighted:
            # pixels say nothing to who sees none
            text = observation.text and _DISTANCE.sub("the page goes on", observation.text)
            observation = observation.model_copy(
                update={"screenshot": None, "marked": None, "size": None, "text": text}
            )
        return observation_parts(observation, results=results)

    def answer(self, done: Answered) -> tuple[Part, ...]:
        """Answer a call; see `Dialect`."""
        said = done.error or " ".join(map(result_text, done.results)) or "ok"
        content: list[TextPart | ImagePart] = [TextPart(text=as_shown(said, done.observation))]
        if done.result.image is not None:
            content.append(done.result.image)
        if done.last and not done.again:
            content += self.show(done.observation, results=False)
        return (reply_to(done.call, *content, error=done.error is not None),)


def images_kept(model: str, asked: int | Literal["all"] | None) -> int | None:
    """Return the number of latest screenshots to send, None for all: as asked for, else five, for Claude all.

    Claude's requests are read from its cache at a tenth of the price as long as earlier turns stay as they were.

    Raises:
        InputError: A number was asked for, and the model demands that earlier turns stay as they were.
    """
    provider, _, name = model.partition(":")
    if asked == "all":
        return None
    if asked is None:
        return None if provider == "anthropic" else _IMAGES
    if any(each.append_only and each.speaks(provider, name) for each in all_dialects().values()):
        raise InputError(
            f"{model} demands that earlier turns stay as they were: leave out the option images"
        )
    return asked


def tool_calling_agent(
    model: Model,
    *,
    name: str = "tool-calling",
    images: int | Literal["all"] | None = None,
    pictures: bool = True,
    marks: bool = False,
    connect: Connect = connect,
) -> LoopAgent:
    """Return an agent that acts through tools of `model`.

    Args:
        model: A model that calls tools.
        name: The agent's name in results.
        images: How many of the latest screenshots it is sent; see `images_kept` for the default.
        pictures: Whether it is sent any: without, it reads the page.
        marks: Whether the pictures have numbered frames around the elements.
        connect: Turns the handle into an environment.

    Raises:
        InputError: The model demands that all screenshots are sent, and a number was asked for.
    """
    kept = images_kept(model.name, images)

    def begin(task: AgentTask, context: TrialContext) -> ModelStepper:
        spoken = ToolCalling(pictures=pictures)
        return ModelStepper(
            model, spoken, task, context, size=_UNKNOWN_SIZE, browser=True, images=kept
        )

    return LoopAgent(name, begin, connect=with_marks(connect) if marks and pictures else connect)
