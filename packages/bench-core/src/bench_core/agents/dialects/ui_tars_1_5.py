"""UI-TARS 1.5: a thought and an action as text, places in pixels of the resized picture."""

from __future__ import annotations

import ast
import re
from datetime import date
from typing import TYPE_CHECKING, Any

from bench_core.agents.dialects.coordinates import resized
from bench_core.agents.dialects.interface import (
    Answered,
    Declaration,
    Dialect,
    Member,
    Screen,
    names_of_keys,
)
from bench_core.agents.ending import answer_form
from bench_core.agents.observation_text import observation_parts
from bench_core.agents.records import Click, Done, Drag, Fail, PressKeys, Scroll, TypeText, Wait
from bench_core.agents.tools import InvalidCallError
from bench_core.models.records import ImagePart, TextPart, ToolCall

if TYPE_CHECKING:
    from bench_core.agents.records import Action, Point
    from bench_core.models.records import Part, Reply

__all__ = ["DIALECT"]

_PROMPT = """\
You are a GUI agent. You are given a task and your action history, with screenshots. You need to perform \
the next action to complete the task.

## Output Format
```
Thought: ...
Action: ...
```

## Action Space
click(start_box='(x1,y1)')
left_double(start_box='(x1,y1)')
right_single(start_box='(x1,y1)')
drag(start_box='(x1,y1)', end_box='(x2,y2)')
hotkey(key='ctrl c') # Split keys with a space and use lowercase.
type(content='xxx') # To submit, end the content with \\n.
scroll(start_box='(x1,y1)', direction='down or up or right or left')
wait() # Sleep for 5s and take a screenshot to check for changes.
finished(content='xxx') # Also the answer, if the task asks for one.
call_user() # The task cannot be done without the user.

## Note
- Summarize your next action, with its target, in one sentence in the `Thought` part."""
_ACTION = re.compile(r"Action:\s*(.+)", re.DOTALL)
_NUMBER = re.compile(r"-?\d+(?:\.\d+)?")
_CALL = re.compile(r"\s*(\w+)\((.*?)\)\s*(?=\n\s*\n|\n\s*\w+\(|$)", re.DOTALL)
_WAIT_S = 5.0
_SCROLL = {"up": (0, -1), "down": (0, 1), "left": (-1, 0), "right": (1, 0)}
_SCROLL_PX = 500


def _point(text: Any, screen: Screen) -> Point:
    numbers = [float(each) for each in _NUMBER.findall(str(text))]
    if len(numbers) == 4:  # noqa: PLR2004  # a box: its middle
        numbers = [(numbers[0] + numbers[2]) / 2, (numbers[1] + numbers[3]) / 2]
    if len(numbers) != 2:  # noqa: PLR2004  # x and y
        raise InvalidCallError(f"{text!r} is not a place")
    return resized(numbers[0], numbers[1], screen.size)


def _start(arguments: dict[str, Any], screen: Screen) -> Point:
    return _point(arguments.get("start_box", arguments.get("point")), screen)


def _drag(arguments: dict[str, Any], screen: Screen) -> tuple[Action, ...]:
    start = arguments.get("start_box", arguments.get("start_point"))
    end = arguments.get("end_box", arguments.get("end_point"))
    return (Drag(start=_point(start, screen), end=_point(end, screen)),)


def _scroll(arguments: dict[str, Any], screen: Screen) -> tuple[Action, ...]:
    across, down = _SCROLL[str(arguments["direction"]).strip().lower()]
    placed = arguments.get("start_box", arguments.get("point"))
    target = _point(placed, screen) if placed else None
    return (Scroll(target=target, dx=across * _SCROLL_PX, dy=down * _SCROLL_PX),)


def _type(arguments: dict[str, Any], _: Screen) -> tuple[Action, ...]:
    text = str(arguments["content"])
    enter = text.endswith("\n")
    return (TypeText(text=text[:-1] if enter else text, enter=enter),)


def _keys(arguments: dict[str, Any], _: Screen) -> tuple[Action, ...]:
    return (PressKeys(keys=names_of_keys(str(arguments["key"]).split())),)


_MEMBERS = {
    "click": Member(lambda a, s: (Click(target=_start(a, s)),), ("click",)),
    "left_double": Member(lambda a, s: (Click(target=_start(a, s), count=2),), ("click",)),
    "right_single": Member(lambda a, s: (Click(target=_start(a, s), button="right"),), ("click",)),
    "drag": Member(_drag, ("drag",)),
    "hotkey": Member(_keys, ("keys",)),
    "type": Member(_type, ("type",)),
    "scroll": Member(_scroll, ("scroll",)),
    "wait": Member(lambda *_: (Wait(seconds=_WAIT_S),), ("wait",)),
    "finished": Member(lambda a, _: (Done(answer=a.get("content")),), ()),
    "call_user": Member(lambda *_: (Fail(reason="the model asked for its user"),), ()),
}


class _UITars15(Dialect):
    name = "ui_tars_1_5"
    provider = "openai-chat"
    models = (r"(.*/)?ui-tars-1\.5.*", r"(.*/)?doubao-1[.-]5-ui-tars.*")
    coordinates = "smart-resize"
    since = date(2026, 11, 22)
    text_ends = False
    images = 5  # as its own harness sends
    members = _MEMBERS

    def declare(self, screen: Screen) -> Declaration:
        answer = f"- The content of `finished` is the answer: {answer_form(screen.task)}."
        return Declaration(system=f"{_PROMPT}\n{answer}")

    def calls(self, reply: Reply) -> tuple[ToolCall, ...]:
        found = _ACTION.search(reply.text)
        if found is None:
            return ()
        bodies = _CALL.findall(found[1].strip())
        return tuple(
            ToolCall(id=f"text_{number}", name=name, arguments=_arguments(body))
            for number, (name, body) in enumerate(bodies)
        )

    def member(self, call: ToolCall) -> tuple[str, dict[str, Any]] | None:
        return call.name, dict(call.arguments or {})

    def answer(self, done: Answered) -> tuple[Part, ...]:
        message = [TextPart(text=done.error)] if done.error else []
        shown = observation_parts(done.observation) if done.last else ()
        return (*message, *(each for each in shown if isinstance(each, ImagePart)))


def _arguments(body: str) -> dict[str, Any]:
    """Read keyword arguments as Python, which quotes and escapes as the model does."""
    # a line break inside quotes is one the model has not escaped
    text = f"f({body})".replace("\n", "\\n")
    try:
        call = ast.parse(text, mode="eval").body
        if isinstance(call, ast.Call):
            # a place may be written without quotes
            return {str(each.arg): str(ast.literal_eval(each.value)) for each in call.keywords}
    except (RecursionError, SyntaxError, ValueError):
        pass
    return {}


DIALECT = _UITars15()
