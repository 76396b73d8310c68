"""The tools a model acts with, and how its calls become actions."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from pydantic import TypeAdapter, ValidationError

from bench_core.agents.ending import answer_of
from bench_core.agents.records import Action, Done
from bench_core.dialogs import ANSWER_DIALOG
from bench_core.models.records import Tool, ToolCall
from bench_core.records import AgentTask

_ACTION: TypeAdapter[Action] = TypeAdapter(Action)
_TEXT = {"type": "string"}
_FLAG = {"type": "boolean"}
_ELEMENT = {"type": "string", "description": "id of an element, the number in [brackets]"}


def _number(says: str) -> dict[str, Any]:
    return {"type": "number", "description": says}


def _flag(says: str) -> dict[str, Any]:
    return _FLAG | {"description": says}


_WHERE = {
    "element": _ELEMENT,
    "x": _number("pixels from the left of the screen, where no id fits"),
    "y": _number("pixels from the top"),
}


_COORDINATES = {"x", "y", "to_x", "to_y"}
_NEEDED = {"click": ("element",), "move": ("element",), "drag": ("element", "to_element")}
"""Required fields of a tool that is given no coordinates."""


class InvalidCallError(ValueError):
    """A call of a tool that does not make an action; the message is for the model."""


def _tool(name: str, description: str, properties: dict[str, Any], *required: str) -> Tool:
    schema = {"type": "object", "properties": properties, "required": list(required)}
    return Tool(name=name, description=description, parameters=schema)


_BUTTON = {"type": "string", "enum": ["left", "right", "middle"]}
_COUNT = {"type": "integer", "description": "2 for a double click"}
_KEYS = {"type": "array", "items": _TEXT}
_HELD = _KEYS | {"description": "keys to hold meanwhile: ctrl, shift, alt, meta"}
_INDEX = {"index": {"type": "integer", "description": "its number in the list"}}
_START = {"type": "integer", "description": "how many lines to leave out at the beginning"}
_EDGES = {edge: _number("pixels") for edge in ("left", "top", "right", "bottom")}
_BROWSER = (
    _tool(
        "set_value",
        "Give a control its value: an option of a combobox or listbox by its label, the text of a field, "
        "true or false for a checkbox.",
        {"element": _ELEMENT, "value": _TEXT},
        "element",
        "value",
    ),
    _tool(
        "find",
        "Search the whole page, also what is not shown: returns the lines that have the most of the words, with ids.",
        {"query": _TEXT},
        "query",
    ),
    _tool(
        "read_page",
        "Read the whole page, also what is not shown, with where links lead.",
        {
            "element": _ELEMENT | {"description": "only what is below this element"},
            "start": _START,
        },
    ),
    _tool("goto", "Load a URL in this tab.", {"url": _TEXT}, "url"),
    _tool("back", "Go back one page.", {}),
    _tool("forward", "Go forward one page.", {}),
    _tool("reload", "Load the page again.", {}),
    _tool("new_tab", "Open a tab, with a URL or empty.", {"url": _TEXT}),
    _tool("switch_tab", "Bring a tab to the front.", _INDEX, "index"),
    _tool("close_tab", "Close this tab.", {}),
    _tool(
        "answer_dialog",
        ANSWER_DIALOG,
        {"accept": _flag("false for Cancel"), "text": _TEXT | {"description": "for a prompt"}},
        "accept",
    ),
)
TOOLS = (
    _tool(
        "click",
        "Click an element or a point.",
        {**_WHERE, "button": _BUTTON, "count": _COUNT, "modifiers": _HELD},
    ),
    _tool("move", "Move the mouse pointer to an element or a point, without a click.", _WHERE),
    _tool(
        "drag",
        "Drag from one element or point to another.",
        {**_WHERE, "to_element": _ELEMENT, "to_x": _number("pixels"), "to_y": _number("pixels")},
    ),
    _tool(
        "scroll",
        "Scroll what is at an element or a point, or under the pointer; an element alone is brought into view.",
        {"dy": _number("pixels, positive is down"), "dx": _number("positive is right"), **_WHERE},
    ),
    _tool(
        "type_text",
        "Type text into what has the focus, or first click an element or a point.",
        {
            "text": _TEXT,
            **_WHERE,
            "clear": _flag("replace what stands in the field"),
            "enter": _flag("press Enter afterwards"),
        },
        "text",
    ),
    _tool(
        "press_keys",
        "Press keys together, e.g. ['ctrl', 's']. Names: enter, tab, escape, space, backspace, delete, insert, "
        "up, down, left, right, home, end, pageup, pagedown, f1 to f12, ctrl, shift, alt, meta.",
        {"keys": _KEYS, "repeat": {"type": "integer", "description": "how often"}},
        "keys",
    ),
    _tool("wait", "Wait for the screen to change.", {"seconds": _number("60 at most")}),
    _tool(
        "zoom",
        "Take a larger picture of a part of the screen.",
        _EDGES,
        *_EDGES,
    ),
    *_BROWSER,
    _tool("switch_window", "Bring a window to the front and maximize it.", _INDEX, "index"),
    _tool(
        "read_text",
        "Read the whole text of an element, where the list shows only its beginning.",
        {"element": _ELEMENT, "start": _START},
        "element",
    ),
)
"""Everything an agent can do but end, as tools of a model; `ending_tools` has the rest."""


def tools_for(offers: frozenset[str], *, pictures: bool = True) -> tuple[Tool, ...]:
    """Return the tools whose actions an environment offers, those for pictures only if these are shown."""
    of_desktops, of_browsers = {"switch_window", "read_text"}, {"switch_tab", "read_page"}
    left_out = of_desktops if "goto" in offers else of_browsers
    left_out |= set() if pictures else {"zoom"}
    return tuple(
        tool if pictures else _by_id(tool)
        for tool in TOOLS
        if _KINDS.get(tool.name, tool.name) in offers and tool.name not in left_out
    )


def _by_id(tool: Tool) -> Tool:
    """Return a tool as it is declared to who sees no pixels: elements are named by their ids alone."""
    declared: dict[str, Any] = tool.parameters
    given = {name: v for name, v in declared["properties"].items() if name not in _COORDINATES}
    if "dy" in given:
        given["dy"] = _number("positive is down, 700 is about a screen")
    required = [*declared["required"], *_NEEDED.get(tool.name, ())]
    return _tool(tool.name, re.sub(r" or (a )?point\b", "", tool.description), given, *required)


def action_of(call: ToolCall, task: AgentTask) -> Action:
    """Return the action that a call stands for.

    Raises:
        InvalidCallError: The tool is unknown, or its arguments do not fit.
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
    ends = {}
    for end, before in (("start", ""), ("end", "to_")):
        given = {name: arguments.get(f"{before}{name}") for name in ("element", "x", "y")}
        ends[end] = _placed("drag", required=True)(given)["target"]
    return {"kind": "drag", **ends}


def _scroll(arguments: dict[str, Any]) -> dict[str, Any]:
    made = _placed("scroll")(arguments)
    if "element" in made.get("target", {}) and not made.get("dx") and not made.get("dy"):
        return {"kind": "scroll_to", "target": made["target"]}
    return made


def _set_value(arguments: dict[str, Any]) -> dict[str, Any]:
    if arguments.get("value") is None:
        raise InvalidCallError("set_value needs a value")
    return _placed("set_value", required=True)(arguments)


def _read_page(arguments: dict[str, Any]) -> dict[str, Any]:
    element = str(arguments.pop("element", None) or "").strip("[]")
    return {"kind": "read_page", "element": element, "depth": 100, **_given(arguments)}


def _given(arguments: dict[str, Any]) -> dict[str, Any]:
    # Models fill optional arguments with null; the actions have defaults of their own.
    return {name: value for name, value in arguments.items() if value is not None}


_MAKERS: dict[str, Callable[[dict[str, Any]], dict[str, Any]]] = {
    "click": _placed("click", required=True),
    "move": _placed("move", required=True),
    "drag": _drag,
    "scroll": _scroll,
    "type_text": _placed("type"),
    "press_keys": _plain("keys"),
    "set_value": _set_value,
    "read_page": _read_page,
    "read_text": _read_page,
    "switch_window": _plain("switch_tab"),
    "zoom": lambda given: {"kind": "zoom", "region": [given.get(edge) for edge in _EDGES]},
    "fail": _plain("fail"),
    **{
        name: _plain(name)
        for name in (
            "wait", "find", "goto", "back", "forward", "reload", "new_tab", "switch_tab", "close_tab",
            "answer_dialog",
        )
    },
}  # fmt: skip
_KINDS = {
    "type_text": "type",
    "press_keys": "keys",
    "switch_window": "switch_tab",
    "read_text": "read_page",
}
"""Kinds of actions, by the tools that are called otherwise."""
