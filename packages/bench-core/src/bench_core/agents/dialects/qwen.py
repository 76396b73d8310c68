"""What Qwen's computer-use models have in common: one function `computer_use`, called by the API or in the text."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, ClassVar

from bench_core.agents.dialects.coordinates import on_grid
from bench_core.agents.dialects.interface import (
    Answered,
    Declaration,
    Dialect,
    Member,
    Screen,
    names_of_keys,
    reply_to,
    tools_for_tabs,
)
from bench_core.agents.ending import answer_form
from bench_core.agents.observation_text import observation_parts
from bench_core.agents.prompts import system_prompt
from bench_core.agents.records import (
    Click,
    Done,
    Drag,
    Fail,
    MouseDown,
    MouseUp,
    Move,
    Point,
    PointerPosition,
    PressKeys,
    Scroll,
    TypeText,
    Wait,
)
from bench_core.agents.tools import InvalidCallError
from bench_core.models.records import ImagePart, TextPart, Tool, ToolCall

if TYPE_CHECKING:
    from collections.abc import Callable

    from bench_core.agents.records import Action
    from bench_core.models.records import Part, Reply

__all__ = ["Qwen", "qwen_members"]

_NAME = "computer_use"
_MOST_WAIT_S = 60.0
_CALL = re.compile(r"<tool_call>\s*(.*?)\s*(?:</tool_call>|$)", re.DOTALL)
_XML = re.compile(r"<function=([\w.-]+)>(.*?)(?:</function>|$)", re.DOTALL)
_PARAMETER = re.compile(r"<parameter=([\w.-]+)>\n?(.*?)\n?</parameter>", re.DOTALL)


def qwen_members(most: int) -> dict[str, Member]:
    """Return the actions, with places on a grid from 0 to `most`."""

    def place(value: Any, screen: Screen) -> Point:
        if not isinstance(value, list) or len(value) != 2:  # noqa: PLR2004  # x and y
            raise InvalidCallError(f"a coordinate is [x, y], not {value!r}")
        return on_grid(value[0], value[1], screen.size, most)

    def maybe(arguments: dict[str, Any], screen: Screen) -> Point | None:
        given = arguments.get("coordinate")
        return None if given is None else place(given, screen)

    def click(**how: Any) -> Member:
        return Member(lambda a, s: (Click(target=maybe(a, s), **how),), ("click",))

    def drag(arguments: dict[str, Any], screen: Screen) -> tuple[Action, ...]:
        end = place(arguments["coordinate"], screen)
        start = arguments.get("start_coordinate")
        if start is None:  # from where the pointer is
            return (MouseDown(), Move(target=end), MouseUp())
        return (Drag(start=place(start, screen), end=end),)

    def scroll(across: bool) -> Callable[[dict[str, Any], Screen], tuple[Action, ...]]:  # noqa: FBT001
        def make(arguments: dict[str, Any], screen: Screen) -> tuple[Action, ...]:
            pixels = float(arguments["pixels"])
            # positive is up
            dx, dy = (pixels, 0.0) if across else (0.0, -pixels)
            return (Scroll(target=maybe(arguments, screen), dx=dx, dy=dy),)

        return make

    return {
        "key": Member(lambda a, _: (PressKeys(keys=names_of_keys(a["keys"])),), ("keys",)),
        "type": Member(lambda a, _: (TypeText(text=str(a["text"])),), ("type",)),
        "mouse_move": Member(lambda a, s: (Move(target=place(a["coordinate"], s)),), ("move",)),
        "left_click": click(),
        "right_click": click(button="right"),
        "middle_click": click(button="middle"),
        "double_click": click(count=2),
        "triple_click": click(count=3),
        "left_click_drag": Member(drag, ("mouse_down", "mouse_up", "move", "drag")),
        "scroll": Member(scroll(across=False), ("scroll",)),
        "hscroll": Member(scroll(across=True), ("scroll",)),
        "wait": Member(_wait, ("wait",)),
        "cursor_position": Member(lambda *_: (PointerPosition(),), ("pointer_position",)),
        "answer": Member(lambda a, _: (Done(answer=str(a["text"])),), ()),
        "terminate": Member(_terminate, ()),
    }


def _wait(arguments: dict[str, Any], _: Screen) -> tuple[Action, ...]:
    return (Wait(seconds=min(float(arguments.get("time", 1)), _MOST_WAIT_S)),)


def _terminate(arguments: dict[str, Any], _: Screen) -> tuple[Action, ...]:
    if arguments.get("status") == "failure":
        return (Fail(reason=str(arguments.get("text") or "the model ended with failure")),)
    return (Done(answer=arguments.get("text")),)


class Qwen(Dialect):
    """Qwen's function over any OpenAI-compatible server; `most` is the far end of its grid."""

    provider = "openai-chat"
    text_ends = False
    most: ClassVar[int]

    def declare(self, screen: Screen) -> Declaration:
        """Declare the tool; see `Dialect`."""
        tabs = tools_for_tabs(screen)  # the vocabulary has none, and tasks may begin with several
        endings = f"- End with `answer` or `terminate`; the answer is {answer_form(screen.task)}."
        return Declaration(
            tools=(_tool(self.available(screen), 1000), *tabs),
            system=system_prompt(screen.task, endings=endings),
        )

    def calls(self, reply: Reply) -> tuple[ToolCall, ...]:
        """Return the calls of a reply; see `Dialect`."""
        return reply.tool_calls or _calls_in(reply.text)

    def member(self, call: ToolCall) -> tuple[str, dict[str, Any]] | None:
        """Return the member of a call; see `Dialect`."""
        arguments = dict(call.arguments or {})
        return (str(arguments.get("action")), arguments) if call.name == _NAME else None

    def answer(self, done: Answered) -> tuple[Part, ...]:
        """Answer a call; see `Dialect`."""
        message = [TextPart(text=done.error)] if done.error else []
        if not done.last:
            return (reply_to(done.call, *(message or [TextPart(text=done.result.text or "ok")])),)
        shown = observation_parts(done.observation)
        seen = [each for each in shown if isinstance(each, ImagePart)]
        text = message or [TextPart(text=done.result.text or "ok")]
        return (reply_to(done.call, *text, *seen),)


def _tool(actions: tuple[str, ...], grid: int) -> Tool:
    text, number = {"type": "string"}, {"type": "number"}
    properties: dict[str, Any] = {
        "action": {"type": "string", "enum": list(actions)},
        "keys": {"type": "array", "items": text, "description": "for key: pressed together"},
        "text": {**text, "description": "for type and answer"},
        "coordinate": {
            "type": "array", "items": number, "description": "[x, y] from the top left corner",
        },
        "pixels": {**number, "description": "for scroll: positive is up; for hscroll: right"},
        "time": {**number, "description": "for wait: seconds"},
        "status": {"type": "string", "enum": ["success", "failure"], "description": "for terminate"},
    }  # fmt: skip
    return Tool(
        name=_NAME,
        description=(
            "Use a mouse and keyboard to interact with a computer, and take screenshots.\n"
            f"* The screen's resolution is {grid}x{grid}.\n"
            "* Use `answer` for what was asked, `terminate` when the task is done or cannot be done."
        ),
        parameters={"type": "object", "properties": properties, "required": ["action"]},
    )


def _calls_in(text: str) -> tuple[ToolCall, ...]:
    """Read calls that the server has left in the text: JSON, or the tags of Qwen3.5."""
    found: list[ToolCall] = []
    for number, body in enumerate(_CALL.findall(text)):
        name, arguments = _xml(body) or _json(body)
        if name:
            found.append(ToolCall(id=f"text_{number}", name=name, arguments=arguments))
    return tuple(found)


def _json(body: str) -> tuple[str, dict[str, Any] | None]:
    try:
        call = json.loads(body)
        return str(call["name"]), dict(call["arguments"])
    except (KeyError, RecursionError, TypeError, ValueError):
        return _NAME, None


def _xml(body: str) -> tuple[str, dict[str, Any]] | None:
    function = _XML.search(body)
    if function is None:
        return None
    return function[1], {key: _value(key, value) for key, value in _PARAMETER.findall(function[2])}


def _value(name: str, written: str) -> Any:
    if name == "text":
        return written  # typed as it is: 1.50 is no number here
    try:
        value = json.loads(written)
    except (RecursionError, ValueError):
        return written.strip()
    return value if isinstance(value, list | int | float) else written.strip()
