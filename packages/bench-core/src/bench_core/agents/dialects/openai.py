"""OpenAI's two computer tools: actions in one call, answered by one screenshot.

`computer` is generally available since GPT-5.4; `computer_use_preview` is given the size of the screen.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from datetime import date
from typing import Any, ClassVar

from pydantic import JsonValue

from bench_core.agents.dialects.interface import (
    Answered,
    Declaration,
    Dialect,
    Member,
    Screen,
    function_tools,
    names_of_keys,
    place_text,
    reply_to,
)
from bench_core.agents.observation_text import result_text
from bench_core.agents.prompts import system_prompt
from bench_core.agents.records import (
    Action,
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
from bench_core.errors import EnvironmentFaultError
from bench_core.models.records import Part, TextPart, ToolCall

_BUTTONS = {"wheel": "middle"}
_WAIT_S = 2.0
"""The action has no duration; OpenAI's own sample waits so long."""


def _point(value: Any, screen: Screen) -> Point:
    if not isinstance(value, dict):
        raise InvalidCallError(f'a place is {{"x": 1, "y": 2}}, not {value!r:.100}')
    x, y = _number(value["x"]), _number(value["y"])
    width, height = screen.size
    # the reference leaves it to the driver to check bounds, and to raise
    if not (0 <= x < width and 0 <= y < height):
        raise InvalidCallError(f"({x:g}, {y:g}) is outside the screen, {width} x {height} pixels")
    return Point(x=x, y=y)


def _number(value: Any) -> float:
    if type(value) not in {int, float} or not math.isfinite(value):
        raise InvalidCallError(f"places and distances are numbers, not {value!r}")
    return float(value)


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
    if len(points) < 2:  # its start and its end
        raise InvalidCallError("a drag has two points at least")
    held = _held(arguments)
    return (Drag(start=points[0], path=tuple(points[1:-1]), end=points[-1], modifiers=held),)


def _press(arguments: dict[str, Any], _: Screen) -> tuple[Action, ...]:
    return (PressKeys(keys=names_of_keys(arguments["keys"])),)


def _move(arguments: dict[str, Any], screen: Screen) -> tuple[Action, ...]:
    return (Move(target=_point(arguments, screen), modifiers=_held(arguments)),)


def _scroll(arguments: dict[str, Any], screen: Screen) -> tuple[Action, ...]:
    target, held = _point(arguments, screen), _held(arguments)
    dx, dy = (_number(arguments.get(name) or 0) for name in ("scroll_x", "scroll_y"))
    return (Scroll(target=target, dx=dx, dy=dy, modifiers=held),)


_AT = ("x", "y", "keys")
_MEMBERS = {
    "click": Member(_click, ("click",), takes=(*_AT, "button")),
    "double_click": Member(_double, ("click",), takes=_AT),
    "drag": Member(_drag, ("drag",), takes=("path", "keys")),
    "keypress": Member(_press, ("keys",), takes=("keys",)),
    "move": Member(_move, ("move",), takes=_AT),
    "screenshot": Member(lambda *_: (Screenshot(),), ("screenshot",), takes=()),
    "scroll": Member(_scroll, ("scroll",), takes=(*_AT, "scroll_x", "scroll_y")),
    "type": Member(lambda a, _: (TypeText(text=a["text"]),), ("type",), takes=("text",)),
    "wait": Member(lambda *_: (Wait(seconds=_WAIT_S),), ("wait",), takes=()),
}


class _Computer(Dialect):
    name = "computer"
    provider = "openai"
    models: ClassVar[tuple[str, ...]] = (
        r"gpt-5\.4(-mini|-pro)?",
        r"gpt-5\.[5-9](-.+)?",
        r"gpt-6(\.\d+)?(-.+)?",
    )
    since = date(2026, 11, 27)
    members = _MEMBERS
    pictures = True
    append_only = True
    """Each answer of a computer call must have its picture, and reasoning belongs to the items after it."""

    def declare(self, screen: Screen) -> Declaration:
        return Declaration(
            native_tools=({"type": "computer"},),
            tools=function_tools(screen, "goto", "back", "switch_tab"),
            system=system_prompt(screen.task, place=place_text(screen)),
        )

    def member(self, call: ToolCall) -> tuple[str, dict[str, Any]] | None:
        return ("computer", dict(call.arguments or {})) if call.toolset == "computer" else None

    def read(self, call: ToolCall, screen: Screen) -> tuple[Action, ...]:
        found = self.member(call)
        if found is None:
            return super().read(call, screen)
        given = found[1].get("actions")
        if not isinstance(given, list) or not all(isinstance(each, dict) for each in given):
            raise InvalidCallError("a computer call has a list of actions")
        made: list[Action] = []
        for number, each in enumerate(given, 1):
            arguments = {name: value for name, value in each.items() if name != "type"}
            try:
                made += self.make(str(each.get("type")), arguments, screen)
            except InvalidCallError as error:
                if len(given) == 1:
                    raise
                raise InvalidCallError(
                    f"{error} (number {number} of the {len(given)} in this call, of which none was done)"
                ) from error
        # a turn without an action asks for a look
        return tuple(made) or (Screenshot(),)

    def flags(self, call: ToolCall) -> tuple[str, ...]:
        checks = (call.arguments or {}).get("pending_safety_checks")
        return ("safety_check_acknowledged",) if checks and call.toolset else ()

    def answer(self, done: Answered) -> tuple[Part, ...]:
        found, seen = self.member(done.call), done.seen
        # text around the picture is shown once a turn, and not again if nothing was done
        around = () if done.again else self.show(seen, results=False)
        turn = [each for each in (*done.earlier, done) if self.member(each.call)]
        # the output of a computer call has no field for it
        report = _became(turn) if done.last else ()
        if found is None:
            became = TextPart(text=done.error or done.text or "ok")
            return (reply_to(done.call, became, *around, error=done.error is not None), *report)
        if seen.screenshot is None:
            raise EnvironmentFaultError(
                "there is no picture of the screen, without which a computer call cannot be answered"
            )
        output = reply_to(
            done.call,
            seen.screenshot,
            extra={
                "type": "computer_call_output",
                "acknowledged_safety_checks": found[1].get("pending_safety_checks") or [],
            },
        )
        texts = [each for each in around if isinstance(each, TextPart)] if done.last else []
        return (output, *report, *texts)


class _ComputerUsePreview(_Computer):
    name = "computer_use_preview"
    models = (r"computer-use(-preview)?",)

    def declare(self, screen: Screen) -> Declaration:
        native: dict[str, JsonValue] = {
            "type": "computer_use_preview", "display_width": screen.size[0],
            "display_height": screen.size[1],
            "environment": "browser" if screen.browser else "windows",
        }  # fmt: skip
        # the model refuses requests without `truncation`
        body: dict[str, JsonValue] = {"truncation": "auto"}
        return replace(super().declare(screen), native_tools=(native,), body=body)


def _became(turn: Sequence[Answered]) -> tuple[TextPart, ...]:
    """Return the outcome of each action of a turn's computer calls, if any has something to say."""
    if not any(each.error or each.text for each in turn):
        return ()
    lines, number = ["What became of each action of this turn:"], 1
    for each in turn:
        given: Any = (each.call.arguments or {}).get("actions")
        actions = given if isinstance(given, list) else []
        if not each.results:
            last = number + max(1, len(actions)) - 1
            error = str(each.error)
            said = error if "not carried out" in error else f"not carried out: {error}"
            lines.append(f"{number}{f'-{last}' if last > number else ''}. {said}")
            number = last + 1
            continue
        for action, result in zip(actions, each.results, strict=False):
            lines.append(f"{number}. {action.get('type')}: {result_text(result)}")
            number += 1
    return (TextPart(text="\n".join(lines)),)


DIALECTS = (_Computer(), _ComputerUsePreview())
