"""The tools a model acts with, and how its calls become actions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pydantic import TypeAdapter, ValidationError

from bench_core.agents.ending import answer_of
from bench_core.agents.records import Action, Done
from bench_core.models.records import Tool

if TYPE_CHECKING:
    from collections.abc import Callable

    from bench_core.models.records import ToolCall
    from bench_core.records import AgentTask

__all__ = ["TOOLS", "InvalidCallError", "action_of", "tools_for"]

_ACTION: TypeAdapter[Action] = TypeAdapter(Action)
_TEXT = {"type": "string"}
_NUMBER = {"type": "number"}
_FLAG = {"type": "boolean"}
_WHERE = {
    "element": {"type": "string", "description": "id of an element in the list"},
    "x": {"type": "number", "description": "pixels from the left, if no element fits"},
    "y": {"type": "number", "description": "pixels from the top"},
}


class InvalidCallError(ValueError):
    """A call of a tool that does not make an action; the message is for the model."""


def _tool(name: str, description: str, properties: dict[str, Any], *required: str) -> Tool:
    schema = {"type": "object", "properties": properties, "required": list(required)}
    return Tool(name=name, description=description, parameters=schema)


_BUTTON = {"type": "string", "enum": ["left", "right", "middle"]}
_COUNT = {"type": "integer", "description": "2 for a double click"}
_KEYS = {"type": "array", "items": _TEXT}
_PATH = {"x": _NUMBER, "y": _NUMBER, "to_x": _NUMBER, "to_y": _NUMBER}
TOOLS = (
    _tool("click", "Click an element or a point.", {**_WHERE, "button": _BUTTON, "count": _COUNT}),
    _tool("move", "Move the mouse pointer.", _WHERE),
    _tool("drag", "Drag from one point to another.", _PATH, *_PATH),
    _tool(
        "scroll",
        "Scroll by pixels; positive is right and down.",
        {"dx": _NUMBER, "dy": _NUMBER, **_WHERE},
    ),
    _tool(
        "type_text",
        "Type text into what has the focus, or into an element or point after clicking it.",
        {"text": _TEXT, **_WHERE, "clear": _FLAG, "enter": _FLAG},
        "text",
    ),
    _tool(
        "press_keys",
        "Press keys together, e.g. ['ctrl', 's'] or ['enter'].",
        {"keys": _KEYS},
        "keys",
    ),
    _tool("wait", "Wait for the screen to change.", {"seconds": _NUMBER}),
    _tool("goto", "Load a URL.", {"url": _TEXT, "new_tab": _FLAG}, "url"),
    _tool("back", "Go back one page.", {}),
    _tool("switch_tab", "Bring a tab to the front.", {"index": {"type": "integer"}}, "index"),
)
"""Everything an agent can do but end, as tools of a model; `ending_tools` has the rest."""


def tools_for(offers: frozenset[str]) -> tuple[Tool, ...]:
    """Return the tools whose actions an environment offers."""
    return tuple(tool for tool in TOOLS if _KINDS.get(tool.name, tool.name) in offers)


def action_of(call: ToolCall, task: AgentTask) -> Action:
    """Return the action a call stands for.

    Raises:
        InvalidCallError: There is no such tool, or its arguments do not fit.
    """
    make = _MAKERS.get(call.name)
    if make is None and call.name != "done":
        raise InvalidCallError(f"there is no tool {call.name!r}")
    if call.arguments is None:
        raise InvalidCallError(f"the arguments of {call.name} are not a JSON object")
    if make is None:
        return Done(answer=answer_of(task, dict(call.arguments)))
    try:
        return _ACTION.validate_python(make(dict(call.arguments)))
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = ".".join(str(each) for each in first["loc"][1:]) or "arguments"
        raise InvalidCallError(f"{call.name}: {where}: {first['msg']}") from error


def _placed(kind: str, *, required: bool = False) -> Callable[[dict[str, Any]], dict[str, Any]]:
    def make(arguments: dict[str, Any]) -> dict[str, Any]:
        element, x, y = (arguments.pop(name, None) for name in ("element", "x", "y"))
        if element not in (None, ""):
            # Models copy the brackets in which the list shows ids.
            arguments["target"] = {"element": str(element).strip("[]")}
        elif x is not None and y is not None:
            arguments["target"] = {"x": x, "y": y}
        elif required:
            raise InvalidCallError(f"{kind} needs an element, or x and y")
        return {"kind": kind, **_given(arguments)}

    return make


def _plain(kind: str) -> Callable[[dict[str, Any]], dict[str, Any]]:
    return lambda arguments: {"kind": kind, **_given(arguments)}


def _drag(arguments: dict[str, Any]) -> dict[str, Any]:
    points = [arguments.get(name) for name in ("x", "y", "to_x", "to_y")]
    start, end = ({"x": x, "y": y} for x, y in (points[:2], points[2:]))
    return {"kind": "drag", "start": start, "end": end}


def _given(arguments: dict[str, Any]) -> dict[str, Any]:
    # Models fill optional arguments with null; the actions have defaults of their own.
    return {name: value for name, value in arguments.items() if value is not None}


_MAKERS: dict[str, Callable[[dict[str, Any]], dict[str, Any]]] = {
    "click": _placed("click", required=True),
    "move": _placed("move", required=True),
    "drag": _drag,
    "scroll": _placed("scroll"),
    "type_text": _placed("type"),
    "press_keys": _plain("keys"),
    "wait": _plain("wait"),
    "goto": _plain("goto"),
    "back": _plain("back"),
    "switch_tab": _plain("switch_tab"),
    "fail": _plain("fail"),
}
_KINDS = {"type_text": "type", "press_keys": "keys"}
"""Kinds of actions, by the tools that are called otherwise."""
