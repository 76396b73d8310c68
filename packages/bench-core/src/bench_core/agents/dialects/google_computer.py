"""What Google's two vocabularies of computer use have in common: functions, a grid of 1000, an answer with its picture."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bench_core.agents.dialects.coordinates import on_grid
from bench_core.agents.dialects.interface import (
    Answered,
    Declaration,
    Dialect,
    Screen,
    function_tools,
    reply_to,
    tools_for_tabs,
)
from bench_core.agents.prompts import system_prompt
from bench_core.agents.tools import InvalidCallError

if TYPE_CHECKING:
    from pydantic import JsonValue

    from bench_core.agents.records import Point
    from bench_core.models.records import ImagePart, Part, ToolCall

__all__ = ["DIRECTIONS", "GRID", "GoogleComputer", "pixels", "point"]

GRID = 1000
DIRECTIONS = {"up": (0, -1), "down": (0, 1), "left": (-1, 0), "right": (1, 0)}


def point(arguments: dict[str, Any], screen: Screen, prefix: str = "") -> Point:
    """Return the place of `x` and `y`, or of `destination_x` and `destination_y`."""
    return on_grid(arguments[f"{prefix}x"], arguments[f"{prefix}y"], screen.size, GRID)


def pixels(magnitude: Any, direction: str, screen: Screen) -> tuple[float, float]:
    """Return how far to scroll: thousandths of the screen in one direction."""
    if direction not in DIRECTIONS:
        raise InvalidCallError(f"there is no direction {direction!r}")
    across, down = DIRECTIONS[direction]
    share = float(800 if magnitude is None else magnitude) / GRID
    return across * round(share * screen.size[0]), down * round(share * screen.size[1])


class GoogleComputer(Dialect):
    """A vocabulary of the tool `computer_use` of generateContent."""

    provider = "google"
    coordinates = "0-1000"

    def declare(self, screen: Screen) -> Declaration:
        """Declare the tool; see `Dialect`."""
        off = [name for name in self.members if name not in self.available(screen)]
        place = "ENVIRONMENT_BROWSER" if screen.browser else "ENVIRONMENT_DESKTOP"
        tool: dict[str, JsonValue] = {"environment": place}
        if off:
            tool["excluded_predefined_functions"] = list(off)
        return Declaration(
            native_tools=({"computer_use": tool},),
            # neither vocabulary has tabs, and tasks may begin with several
            tools=(*tools_for_tabs(screen), *function_tools(screen, navigation=False)),
            system=system_prompt(screen.task),
        )

    def flags(self, call: ToolCall) -> tuple[str, ...]:
        """Return what is to be known of a call; see `Dialect`."""
        return ("safety_check_acknowledged",) if _asked(call) else ()

    def answer(self, done: Answered) -> tuple[Part, ...]:
        """Answer a call; see `Dialect`."""
        if self.member(done.call) is None:
            return super().answer(done)
        response: dict[str, JsonValue] = {}
        if done.observation.url is not None:
            response["url"] = done.observation.url
        if done.error is not None:
            response["error"] = done.error
        elif done.result.text:
            response["output"] = done.result.text
        if _asked(done.call):
            response["safety_acknowledgement"] = "true"
        # the model is shown the screen after every call; pictures of earlier ones of a turn are the same
        picture = done.result.image or (done.observation.screenshot if done.last else None)
        content: tuple[ImagePart, ...] = (picture,) if picture else ()
        return (reply_to(done.call, *content, extra={"response": response}),)


def _asked(call: ToolCall) -> bool:
    decision = (call.arguments or {}).get("safety_decision")
    return isinstance(decision, dict) and decision.get("decision") == "require_confirmation"
