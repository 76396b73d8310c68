"""What OpenAI's two computer tools have in common: actions in one call, answered by one screenshot."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bench_core.agents.dialects.interface import (
    Answered,
    Dialect,
    Member,
    Screen,
    names_of_keys,
    reply_to,
)
from bench_core.agents.records import (
    Click,
    Drag,
    Move,
    Point,
    PressKeys,
    Screenshot,
    Scroll,
    TypeText,
    Wait,
)
from bench_core.agents.tools import InvalidCallError
from bench_core.models.records import TextPart

if TYPE_CHECKING:
    from bench_core.agents.records import Action
    from bench_core.models.records import ImagePart, Part, ToolCall

__all__ = ["OpenAIComputer"]

_BUTTONS = {"wheel": "middle"}
_WAIT_S = 2.0
"""The action has no duration; OpenAI's own sample waits so long."""


def _point(value: dict[str, Any], screen: Screen) -> Point:
    x, y = float(value["x"]), float(value["y"])
    width, height = screen.size
    # the reference leaves it to the driver to check bounds, and to raise
    if not (0 <= x < width and 0 <= y < height):
        raise InvalidCallError(f"({x:g}, {y:g}) is outside the screen, {width} x {height} pixels")
    return Point(x=x, y=y)


def _held(arguments: dict[str, Any]) -> tuple[str, ...]:
    given = arguments.get("keys")
    return names_of_keys(given) if given else ()


def _click(arguments: dict[str, Any], screen: Screen) -> tuple[Action, ...]:
    button = arguments.get("button", "left")
    return (
        Click.model_validate(
            {
                "target": _point(arguments, screen), "button": _BUTTONS.get(button, button),
                "modifiers": _held(arguments),
            }
        ),
    )  # fmt: skip


def _double(arguments: dict[str, Any], screen: Screen) -> tuple[Action, ...]:
    return (Click(target=_point(arguments, screen), count=2, modifiers=_held(arguments)),)


def _drag(arguments: dict[str, Any], screen: Screen) -> tuple[Action, ...]:
    points = [_point(each, screen) for each in arguments["path"]]
    if len(points) < 2:  # noqa: PLR2004  # where it begins and where it ends
        raise InvalidCallError("a drag has two points at least")
    held = _held(arguments)
    return (Drag(start=points[0], path=tuple(points[1:-1]), end=points[-1], modifiers=held),)


def _press(arguments: dict[str, Any], _: Screen) -> tuple[Action, ...]:
    return (PressKeys(keys=names_of_keys(arguments["keys"])),)


def _move(arguments: dict[str, Any], screen: Screen) -> tuple[Action, ...]:
    return (Move(target=_point(arguments, screen), modifiers=_held(arguments)),)


def _scroll(arguments: dict[str, Any], screen: Screen) -> tuple[Action, ...]:
    target, held = _point(arguments, screen), _held(arguments)
    dx, dy = arguments.get("scroll_x") or 0, arguments.get("scroll_y") or 0
    return (Scroll(target=target, dx=dx, dy=dy, modifiers=held),)


_MEMBERS = {
    "click": Member(_click, ("click",)),
    "double_click": Member(_double, ("click",)),
    "drag": Member(_drag, ("drag",)),
    "keypress": Member(_press, ("keys",)),
    "move": Member(_move, ("move",)),
    "screenshot": Member(lambda *_: (Screenshot(),), ("screenshot",)),
    "scroll": Member(_scroll, ("scroll",)),
    "type": Member(lambda a, _: (TypeText(text=str(a["text"])),), ("type",)),
    "wait": Member(lambda *_: (Wait(seconds=_WAIT_S),), ("wait",)),
}


class OpenAIComputer(Dialect):
    """A computer tool of the Responses API."""

    provider = "openai"
    members = _MEMBERS

    def member(self, call: ToolCall) -> tuple[str, dict[str, Any]] | None:
        """Return the member of a call; see `Dialect`."""
        return ("computer", dict(call.arguments or {})) if call.toolset == "computer" else None

    def read(self, call: ToolCall, screen: Screen) -> tuple[Action, ...]:
        """Return the actions of a call; see `Dialect`."""
        found = self.member(call)
        if found is None:
            return super().read(call, screen)
        given = found[1].get("actions")
        if not isinstance(given, list) or not all(isinstance(each, dict) for each in given):
            raise InvalidCallError("a computer call has a list of actions")
        made = [self.make(str(each.get("type")), each, screen) for each in given]
        # a turn without an action asks for a look
        return tuple(action for actions in made for action in actions) or (Screenshot(),)

    def flags(self, call: ToolCall) -> tuple[str, ...]:
        """Return what is to be known of a call; see `Dialect`."""
        checks = (call.arguments or {}).get("pending_safety_checks")
        return ("safety_check_acknowledged",) if checks and call.toolset else ()

    def answer(self, done: Answered) -> tuple[Part, ...]:
        """Answer a call; see `Dialect`."""
        if self.member(done.call) is None:
            return super().answer(done)
        picture = done.observation.screenshot if done.last else done.result.image
        picture = picture or done.observation.screenshot
        content: tuple[TextPart | ImagePart, ...] = (picture,) if picture else ()
        checks = (done.call.arguments or {}).get("pending_safety_checks") or []
        output = reply_to(
            done.call,
            *content,
            extra={"type": "computer_call_output", "acknowledged_safety_checks": checks},
        )
        # the output has no field for it
        message = [TextPart(text=f"The computer call failed: {done.error}")] if done.error else []
        return (output, *message)
