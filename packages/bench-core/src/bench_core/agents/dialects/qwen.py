"""Qwen's computer-use models: one function `computer_use`, called by the API or in the text.

Qwen3-VL names places on a grid of 1000 and writes calls as JSON; Qwen3.5 has places from 0 to 999, as its harnesses
divide, and tags of its own.
"""

from __future__ import annotations

import ast
import json
import math
import re
from datetime import date
from typing import Any, ClassVar

from bench_core.agents.dialects.coordinates import on_grid
from bench_core.agents.dialects.interface import (
    Answered,
    Declaration,
    Dialect,
    Member,
    Screen,
    browser_tools,
    names_of_keys,
    place_text,
    reply_to,
)
from bench_core.agents.ending import answer_form
from bench_core.agents.prompts import system_prompt
from bench_core.agents.records import (
    Action,
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
from bench_core.models.records import Part, Reply, TextPart, Tool, ToolCall
from bench_core.models.schema import parse_json
from bench_core.records import AgentTask

_NAME = "computer_use"
_MOST_WAIT_S = 60.0
_MOST_SHOWN = 200
# a call in JSON, as Qwen 3 writes it; one that was cut off has no end
_CALL = re.compile(r"<tool_call>\s*(.*?)\s*(?:</tool_call>|(?=<tool_call>)|$)", re.DOTALL)
# a call as Qwen 3.5 writes it
_XML = re.compile(r"<function=([\w.-]+)>(.*?)</function>", re.DOTALL)
_PARAMETER = re.compile(r"<parameter=([\w.-]+)>\n?(.*?)\n?</parameter>", re.DOTALL)


def _members(most: int) -> dict[str, Member]:
    """Return the actions, with places on a grid from 0 to `most`."""

    def place(arguments: dict[str, Any], screen: Screen, name: str = "coordinate") -> Point:
        value = arguments.get(name)
        numbers = value if isinstance(value, list) and len(value) == 2 else ()  # x and y
        if not numbers or any(type(each) not in {int, float} for each in numbers):
            raise InvalidCallError(f"{name} is [x, y], not {repr(value)[:_MOST_SHOWN]}")
        # both far ends are written: models trained on one grid are asked on the other
        if not all(0 <= each <= 1000 for each in numbers):  # the grid
            raise InvalidCallError(
                f"{value} is outside the screen, which goes from [0, 0] to [{most}, {most}]"
            )
        return on_grid(numbers[0], numbers[1], screen.size, most)

    def maybe(arguments: dict[str, Any], screen: Screen) -> Point | None:
        return None if arguments.get("coordinate") is None else place(arguments, screen)

    def click(**how: Any) -> Member:
        return Member(
            lambda a, s: (Click(target=maybe(a, s), **how),), ("click",), takes=("coordinate",)
        )

    def drag(arguments: dict[str, Any], screen: Screen) -> tuple[Action, ...]:
        end = place(arguments, screen)
        if arguments.get("start_coordinate") is None:  # from where the pointer is
            return (MouseDown(), Move(target=end), MouseUp())
        return (Drag(start=place(arguments, screen, "start_coordinate"), end=end),)

    def scroll(across: bool) -> Member:  # named at its two callers
        def make(arguments: dict[str, Any], screen: Screen) -> tuple[Action, ...]:
            pixels = _number(arguments, "pixels")
            # positive is up
            dx, dy = (pixels, 0.0) if across else (0.0, -pixels)
            return (Scroll(target=maybe(arguments, screen), dx=dx, dy=dy),)

        return Member(make, ("scroll",), takes=("pixels", "coordinate"))

    return {
        "key": Member(
            lambda a, _: (PressKeys(keys=names_of_keys(a["keys"])),), ("keys",), takes=("keys",)
        ),
        "type": Member(lambda a, _: (TypeText(text=_text(a, "text")),), ("type",), takes=("text",)),
        "mouse_move": Member(
            lambda a, s: (Move(target=place(a, s)),), ("move",), takes=("coordinate",)
        ),
        "left_click": click(),
        "right_click": click(button="right"),
        "middle_click": click(button="middle"),
        "double_click": click(count=2),
        "triple_click": click(count=3),
        "left_click_drag": Member(
            drag,
            ("mouse_down", "mouse_up", "move", "drag"),
            takes=("coordinate", "start_coordinate"),
        ),
        "scroll": scroll(across=False),
        "hscroll": scroll(across=True),
        "wait": Member(
            lambda a, _: (Wait(seconds=min(_number(a, "time", 1), _MOST_WAIT_S)),),
            ("wait",),
            takes=("time",),
        ),
        "cursor_position": Member(lambda *_: (PointerPosition(),), ("pointer_position",), takes=()),
        "answer": Member(
            lambda a, _: (Done(answer=_text(a, "text")),), (), takes=("text", "status")
        ),
        "terminate": Member(_terminate, (), takes=("status", "text")),
    }


def _number(arguments: dict[str, Any], name: str, default: float | None = None) -> float:
    value = arguments.get(name)
    if value is None and default is not None:
        return default
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if value is None or not number or not math.isfinite(value):
        raise InvalidCallError(f"{name} is a number, not {repr(value)[:_MOST_SHOWN]}")
    return float(value)


def _text(arguments: dict[str, Any], name: str) -> str:
    """Return a text; a number or an object that a model wrote without quotes is the text it wrote."""
    value = arguments[name]
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _terminate(arguments: dict[str, Any], screen: Screen) -> tuple[Action, ...]:
    status = arguments.get("status", "success")
    if status not in {"success", "failure"}:
        raise InvalidCallError(f"status is success or failure, not {repr(status)[:_MOST_SHOWN]}")
    text = None if arguments.get("text") is None else _text(arguments, "text")
    if status == "success":
        return (Done(answer=text),)
    if screen.task.can_fail:
        return (Fail(reason=text or "the model ended with failure"),)
    ending = _ending(screen.task)
    raise InvalidCallError(f"failure is no ending of this task: go on, or end with {ending}")


def _answers(task: AgentTask) -> bool:
    return answer_form(task) != "nothing"


def _ending(task: AgentTask) -> str:
    """Return how a task is ended, in the one way that is stated and offered."""
    if _answers(task):
        return f"the action `answer`, whose text is {answer_form(task)}"
    return "the action `terminate` and the status success"


class _Qwen3VL(Dialect):
    """Qwen's function over any OpenAI-compatible server; `most` is the far end of its grid."""

    name = "qwen3_vl"
    provider = "openai-chat"
    models = (r"(.*/)?qwen3-vl.*",)
    coordinates = "0-1000"
    since = date(2026, 11, 27)
    text_ends = False
    most: ClassVar[int] = 1000
    members = _members(most)
    form: ClassVar[str] = (
        '<tool_call>{"name": "computer_use", "arguments": {"action": ...}}</tool_call>'
    )
    """How a call looks that the server has left in the text."""

    def declare(self, screen: Screen) -> Declaration:
        none = "" if _answers(screen.task) else "The task asks for no answer. "
        ends = f"- {none}End with {_ending(screen.task)}."
        if screen.task.can_fail:
            ends += "\n- When the task cannot be done, end with `terminate` and the status failure."
        ends += "\n- Do not claim success you cannot see."
        return Declaration(
            tools=(
                _tool(self.available(screen), screen),
                *browser_tools(screen, "goto", "back", "switch_tab"),
            ),
            system=system_prompt(screen.task, endings=ends, place=place_text(screen)),
        )

    def nudge(self, task: AgentTask) -> str:
        return f"You called no tool. Act with `{_NAME}`; end with {_ending(task)}."

    def named_place(self, x: float, y: float, size: tuple[int, int]) -> tuple[int, int]:
        return round(x * self.most / size[0]), round(y * self.most / size[1])

    def available(self, screen: Screen) -> tuple[str, ...]:
        off = () if _answers(screen.task) else ("answer",)
        return tuple(name for name in super().available(screen) if name not in off)

    def calls(self, reply: Reply) -> tuple[ToolCall, ...]:
        return reply.tool_calls or _calls_in(reply.text)

    def member(self, call: ToolCall) -> tuple[str, dict[str, Any]] | None:
        if call.name != _NAME:
            return None
        # models fill arguments that they do not need
        given = {k: v for k, v in (call.arguments or {}).items() if v not in (None, "", [])}
        return str(given.pop("action", "")), given

    def read(self, call: ToolCall, screen: Screen) -> tuple[Action, ...]:
        if call.arguments is None:
            raise InvalidCallError(
                f"{(call.raw or '')[:_MOST_SHOWN]!r} cannot be read: a call is {self.form}"
            )
        return super().read(call, screen)

    def answer(self, done: Answered) -> tuple[Part, ...]:
        outcome = TextPart(text=done.error or done.text or "ok")
        shown = self.show(done.observation, results=False) if done.last and not done.again else ()
        return (reply_to(done.call, outcome, *shown, error=done.error is not None),)


class _Qwen35(_Qwen3VL):
    name = "qwen3_5"
    models = (r"(.*/)?qwen3\.5.*",)
    coordinates = "0-999"
    most = 999
    members = _members(most)
    form = (
        "<tool_call><function=computer_use><parameter=action>...</parameter></function></tool_call>"
    )


def _tool(actions: tuple[str, ...], screen: Screen) -> Tool:
    text, number = {"type": "string"}, {"type": "number"}
    place = {"type": "array", "items": number}
    ends = ["success", "failure"] if screen.task.can_fail else ["success"]
    how = f"End with `{'answer' if _answers(screen.task) else 'terminate'}`."
    properties: dict[str, Any] = {
        "action": {"type": "string", "enum": list(actions)},
        "keys": {"type": "array", "items": text, "description": "for key: pressed together"},
        "text": {**text, "description": "for type and answer" if "answer" in actions else "for type"},
        "coordinate": {**place, "description": "[x, y] from the top left corner; for left_click_drag: where to"},
        "start_coordinate": {**place, "description": "for left_click_drag: from where, if not from the pointer"},
        "pixels": {**number, "description": "for scroll: positive is up; for hscroll: right"},
        "time": {**number, "description": "for wait: seconds"},
        "status": {"type": "string", "enum": ends, "description": "for terminate"},
    }  # fmt: skip
    return Tool(
        name=_NAME,
        description=(
            "Use a mouse and keyboard to interact with a computer.\n"
            "* The screen's resolution is 1000x1000.\n"
            f"* {how}"
        ),
        parameters={"type": "object", "properties": properties, "required": ["action"]},
    )


def _calls_in(text: str) -> tuple[ToolCall, ...]:
    """Read calls that the server has left in the text: JSON, or the tags of Qwen3.5."""
    _, closed, spoken = text.rpartition("</think>")
    if not closed and "<think>" in spoken:
        return ()  # thoughts about calling are not a call
    bodies = _CALL.findall(spoken) or [f"{each[0]}" for each in _XML.finditer(spoken)]
    return tuple(
        ToolCall(id=f"text_{number}", raw=body[:_MOST_SHOWN], **_read(body))
        for number, body in enumerate(filter(None, bodies))
    )


def _read(body: str) -> dict[str, Any]:
    """Return name and arguments of a call, None if they cannot be read or are cut off."""
    function = _XML.search(body)
    if function is not None:
        values = {key: _value(key, value) for key, value in _PARAMETER.findall(function[2])}
        whole = len(values) == function[2].count("<parameter=")
        return {"name": function[1], "arguments": values if whole else None}
    try:
        call = parse_json(body)
    except ValueError:
        try:  # single quotes and commas at the end, as Python has them
            call = ast.literal_eval(body)
        except (MemoryError, RecursionError, SyntaxError, TypeError, ValueError):
            call = None
    named = isinstance(call, dict) and all(
        isinstance(call.get(key), kind) for key, kind in (("name", str), ("arguments", dict))
    )
    return {
        "name": call["name"] if named else _NAME,
        "arguments": call["arguments"] if named else None,
    }


def _value(name: str, written: str) -> Any:
    if name == "text":
        return written  # typed as it is: 1.50 is text here, not a number
    try:
        value = parse_json(written)
    except ValueError:
        return written.strip()
    return value if isinstance(value, list | int | float) else written.strip()


DIALECTS = (_Qwen35(), _Qwen3VL())
