"""What UI-TARS may write, and what our dialect makes of it, in the words of its own parser."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from bench_core.agents import (
    Click,
    Done,
    Drag,
    Fail,
    KeyUp,
    Move,
    PressKeys,
    Scroll,
    TypeText,
    Wait,
)

if TYPE_CHECKING:
    from bench_core.agents import Action

__all__ = ["DIALECT", "TEXTS", "plain"]

DIALECT = "ui_tars_1_5"
_ACTIONS = r"""
click(start_box='(644,364)')
click(point='<point>644 364</point>')
click(start_box='<point>644 364</point>')
click(start_box='(644.5,364.25)')
click(start_box='(0,0)')
click(start_box='(1288,728)')
click(start_box=(644, 364))
click(start_box='<|box_start|>(644,364)<|box_end|>')
click(start_box='[634, 354, 654, 374]')
click(start_box='(634,354,654,374)')
click(start_box='(-3,20)')
click(start_box='(2000,20)')
click(start_box='here')
click(644, 364)
click()
click the button
left_single(start_box='(644,364)')
left_double(start_box='(644,364)')
right_single(point='<point>644 364</point>')
hover(start_box='(644,364)')
drag(start_box='(100,200)', end_box='(300,400)')
drag(start_point='<point>100 200</point>', end_point='<point>300 400</point>')
drag(start_box='(100,200)')
hotkey(key='ctrl c')
hotkey(key='ctrl+c')
hotkey(key='CTRL A')
hotkey(key='enter')
hotkey(key='arrowdown')
hotkey(hotkey='alt f4')
hotkey()
press(key='enter')
release(key='shift')
scroll(start_box='(644,364)', direction='down')
scroll(point='<point>644 364</point>', direction='UP')
scroll(direction='left')
scroll(start_box='(644,364)', direction='sideways')
type(content='hello')
type(content='hello\n')
type(content='hello\\n')
type(content='a\nb')
type(content='It\'s')
type(content='It's')
type(content="It's")
type(content='say "x"')
type(content='say \"x\"')
type(content='f(a, b) = (c)')
type(content='C:\\new\\test')
type(content='C:\new\test')
type(content='C:\bin\users')
type(content='100\% of \d')
type(content='é \u00e9')
type(content='point=3')
type(content='Action: go')
type(content='')
type('hello')
type(content='hello', enter=True)
type(content='hello wor
wait()
finished(content='42')
finished(content='I\'ve done it.')
finished(content='I've done it.')
finished(content='{"a": [1, "b"]}')
finished(content="{\"a\": 1}")
finished(content={"a": 1})
finished()
finished('42')
call_user()
open_computer()
"""
TEXTS = {
    **{each: f"Thought: I do it.\nAction: {each}" for each in _ACTIONS.strip().splitlines()},
    "no thought": "Action: wait()",
    "a thought over lines": "Thought: First this.\n\nThen that.\nAction: wait()",
    "two actions": "Thought: t\nAction: click(start_box='(644,364)')\n\ntype(content='a')",
    "two actions, one line break": "Thought: t\nAction: click(start_box='(644,364)')\nwait()",
    "two turns in one": "Thought: t\nAction: wait()\nThought: u\nAction: hotkey(key='enter')",
    "a line break in quotes": "Thought: t\nAction: type(content='a\nb')",
    "an action in the thought": "Thought: The next Action: is to wait.\nAction: wait()",
    "words after it": "Thought: t\nAction: wait()\nI wait now.",
    "a remark after it": "Thought: t\nAction: wait() # for the page",
    "no action": "Thought: I cannot see it.",
    "nothing": "",
}


def plain(actions: list[Action]) -> list[Any]:
    """Return actions in the words of the reference, places in pixels of the screen."""
    return [_plain(each) for each in actions]


def _plain(action: Action) -> Any:  # noqa: PLR0911  # one line a kind
    if isinstance(action, Click):
        name = {("left", 1): "click", ("left", 2): "left_double", ("right", 1): "right_single"}
        return [name[action.button, action.count], _at(action.target)]
    if isinstance(action, Drag):
        return ["drag", _at(action.start), _at(action.end)]
    if isinstance(action, Scroll):
        way = {(0, 1): "down", (0, -1): "up", (1, 0): "right", (-1, 0): "left"}
        sign = (
            math.copysign(1, action.dx) if action.dx else 0,
            math.copysign(1, action.dy) if action.dy else 0,
        )
        return ["scroll", _at(action.target), way[sign]]
    if isinstance(action, TypeText):
        return ["type", action.text + ("\n" if action.enter else "")]
    if isinstance(action, PressKeys):
        return ["hotkey", " ".join(action.keys)]
    if isinstance(action, Done):
        return ["finished", action.answer]
    if isinstance(action, Wait | Fail):
        return ["wait" if isinstance(action, Wait) else "call_user"]
    if isinstance(action, Move):
        return ["hover", _at(action.target)]
    return ["release", action.key] if isinstance(action, KeyUp) else [action.kind]


def _at(target: Any) -> Any:
    return None if target is None else [int(target.x), int(target.y)]
