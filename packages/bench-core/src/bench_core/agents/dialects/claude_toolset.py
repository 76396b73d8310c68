"""Claude's toolsets of August 2026: members with names of their own, and one result for each call."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from bench_core.agents.dialects.claude_actions import Claude, given
from bench_core.agents.dialects.interface import Declaration, function_tools, place_text, reply_to
from bench_core.agents.prompts import system_prompt
from bench_core.agents.records import EARLIER_FAILED
from bench_core.models.records import TextPart

if TYPE_CHECKING:
    from pydantic import JsonValue

    from bench_core.agents.dialects.interface import Answered, Screen
    from bench_core.agents.records import Observation
    from bench_core.models.records import OpaquePart, Part, ToolCall

__all__ = ["ClaudeToolset"]

_MOST_ERROR = 4096
"""As long as Anthropic's SDK lets the text of an error be."""
# without it these models' words between calls arrive empty
_THINKING: dict[str, JsonValue] = {"type": "adaptive", "display": "summarized"}


class ClaudeToolset(Claude):
    """A toolset; `family` is the name its calls carry, `halted` the API's words for a call after a failed one."""

    append_only = True
    family: ClassVar[str]
    halted: ClassVar[str]
    navigation: ClassVar[bool] = True

    def declare(self, screen: Screen) -> Declaration:
        """Declare the tool; see `Dialect`."""
        on = self.available(screen)
        disabled = [name for name in (*self.members, *self.off) if name not in on]
        native: dict[str, JsonValue] = {"type": self.name}
        if disabled:
            native["configs"] = {name: {"enabled": False} for name in disabled}
        return Declaration(
            native_tools=(native,),
            tools=function_tools(screen, navigation=self.navigation),
            body={"thinking": _THINKING},
            system=system_prompt(screen.task, on_request=True, place=self.place(screen)),
        )

    def place(self, screen: Screen) -> str:
        """Return what the screen is that the model sees."""
        return place_text(screen)

    def member(self, call: ToolCall) -> tuple[str, dict[str, Any]] | None:
        """Return the member of a call; see `Dialect`."""
        # the toolsets' names overlap with each other's and with tools of one's own
        return (call.name, given(call)) if call.toolset == self.family else None

    def answer(self, done: Answered) -> tuple[Part, ...]:
        """Answer a call; see `Dialect`."""
        if self.member(done.call) is None:
            answers = super().answer(done)
        elif done.error is None:
            answers = (reply_to(done.call, *self.content(done), *self.state(done)),)
        else:
            words = self.halted if done.error == EARLIER_FAILED else done.error[:_MOST_ERROR]
            answers = (reply_to(done.call, TextPart(text=words), error=True),)
        return (
            (*answers, *self.beside(done.observation)) if done.last and not done.again else answers
        )

    def state(self, done: Answered) -> tuple[OpaquePart, ...]:
        """Return what a result without an error says beside its content."""
        del done
        return ()

    def beside(self, observation: Observation) -> tuple[TextPart, ...]:
        """Return what a turn says of the screen, of which the model gets a picture when it asks for one."""
        shown = self.show(observation, results=False)
        return tuple(each for each in shown if isinstance(each, TextPart))
