"""Claude's computer tool before 2026: one tool with an argument `action`, and a picture in each turn's last result."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from bench_core.agents.dialects.claude_actions import Claude, given
from bench_core.agents.dialects.interface import Declaration, function_tools, place_text, reply_to
from bench_core.agents.prompts import system_prompt
from bench_core.models.records import ImagePart, TextPart

if TYPE_CHECKING:
    from bench_core.agents.dialects.interface import Answered, Screen
    from bench_core.models.records import Part, ToolCall

__all__ = ["ClaudeTool"]


class ClaudeTool(Claude):
    """A version of the tool named `computer`; `beta` is its header."""

    beta: ClassVar[str]

    def declare(self, screen: Screen) -> Declaration:
        """Declare the tool; see `Dialect`."""
        native: dict[str, Any] = {
            "type": self.name, "name": "computer",
            "display_width_px": screen.size[0], "display_height_px": screen.size[1],
        }  # fmt: skip
        if "zoom" in self.members and "zoom" in screen.offers:
            native["enable_zoom"] = True
        return Declaration(
            native_tools=(native,),
            tools=function_tools(screen, navigation=True),
            headers={"anthropic-beta": self.beta},
            system=system_prompt(screen.task, place=place_text(screen)),
        )

    def member(self, call: ToolCall) -> tuple[str, dict[str, Any]] | None:
        """Return the member of a call; see `Dialect`."""
        arguments = given(call)
        action = str(arguments.pop("action", "action"))
        return (action, arguments) if call.name == "computer" else None

    def answer(self, done: Answered) -> tuple[Part, ...]:
        """Answer a call; see `Dialect`."""
        if not done.last or done.again:
            return super().answer(done)
        # an error takes text only, and this tool's model is shown the screen after every turn
        own: list[TextPart | ImagePart] = (
            [*self.content(done)] if done.error is None else [TextPart(text=done.error)]
        )
        looked = any(isinstance(each, ImagePart) for each in own)
        shown = self.show(done.observation, results=False)
        own += [
            each
            for each in shown
            if isinstance(each, TextPart) or (isinstance(each, ImagePart) and not looked)
        ]
        return (reply_to(done.call, *own),)
