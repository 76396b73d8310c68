"""Google's second vocabulary of computer use, since Gemini 3.5 Flash.

Desktops have the same functions but those that load pages. Google's page gives them `magnitude_in_pixels`, too; that
they are called with `magnitude_in_wheel_clicks` is what seven programs of others agree on.
"""

from __future__ import annotations

from datetime import date
from typing import TYPE_CHECKING, Any

from bench_core.agents.dialects.claude_actions import NOTCH_PX, direction
from bench_core.agents.dialects.google_computer import (
    GoogleComputer,
    flag,
    navigated,
    number,
    point,
)
from bench_core.agents.dialects.interface import Member, Screen, names_of_keys
from bench_core.agents.records import (
    Back,
    Click,
    Drag,
    Forward,
    KeyDown,
    KeyUp,
    MouseDown,
    MouseUp,
    Move,
    PressKeys,
    Screenshot,
    Scroll,
    TypeText,
    Wait,
)

if TYPE_CHECKING:
    from bench_core.agents.records import Action

__all__ = ["DIALECT"]

_MOST_WAIT_S = 60.0


_AT = ("x", "y")
_PIXELS = 300


def _click(**how: Any) -> Member:
    return Member(lambda a, s: (Click(target=point(a, s), **how),), ("click",), takes=_AT)


def _type(arguments: dict[str, Any], _: Screen) -> tuple[Action, ...]:
    enter = flag(arguments, "press_enter", default=False)
    return (TypeText(text=arguments["text"], enter=enter),)


def _scroll(arguments: dict[str, Any], screen: Screen) -> tuple[Action, ...]:
    across, down = direction(arguments, "direction")
    distance = number(arguments, "magnitude_in_pixels", default=_PIXELS)
    if arguments.get("magnitude_in_wheel_clicks") is not None:
        distance = number(arguments, "magnitude_in_wheel_clicks", default=0) * NOTCH_PX
    target = point(arguments, screen)
    return (Scroll(target=target, dx=across * distance, dy=down * distance),)


def _drag(arguments: dict[str, Any], screen: Screen) -> tuple[Action, ...]:
    start, end = point(arguments, screen, "start_"), point(arguments, screen, "end_")
    return (Drag(start=start, end=end),)


def _wait(arguments: dict[str, Any], _: Screen) -> tuple[Action, ...]:
    return (Wait(seconds=min(number(arguments, "seconds", default=1), _MOST_WAIT_S)),)


def _key(arguments: dict[str, Any]) -> str:
    return names_of_keys(arguments["key"])[0]


_MEMBERS = {
    "click": _click(),
    "double_click": _click(count=2),
    "triple_click": _click(count=3),
    "middle_click": _click(button="middle"),
    "right_click": _click(button="right"),
    "mouse_down": Member(
        lambda a, s: (MouseDown(target=point(a, s)),), ("mouse_down",), takes=_AT
    ),
    "mouse_up": Member(lambda a, s: (MouseUp(target=point(a, s)),), ("mouse_up",), takes=_AT),
    "move": Member(lambda a, s: (Move(target=point(a, s)),), ("move",), takes=_AT),
    "type": Member(_type, ("type",), takes=("text", "press_enter")),
    "drag_and_drop": Member(_drag, ("drag",), takes=("start_x", "start_y", "end_x", "end_y")),
    "wait": Member(_wait, ("wait",), takes=("seconds",)),
    "press_key": Member(
        lambda a, _: (PressKeys(keys=names_of_keys(a["key"])),), ("keys",), takes=("key",)
    ),
    "key_down": Member(lambda a, _: (KeyDown(key=_key(a)),), ("key_down",), takes=("key",)),
    "key_up": Member(lambda a, _: (KeyUp(key=_key(a)),), ("key_up",), takes=("key",)),
    "hotkey": Member(
        lambda a, _: (PressKeys(keys=names_of_keys(a["keys"])),), ("keys",), takes=("keys",)
    ),
    "take_screenshot": Member(lambda *_: (Screenshot(),), ("screenshot",), takes=()),
    "scroll": Member(
        _scroll, ("scroll",),
        takes=(*_AT, "direction", "magnitude_in_pixels", "magnitude_in_wheel_clicks"),
    ),
    "go_back": Member(lambda *_: (Back(),), ("back",), takes=()),
    "go_forward": Member(lambda *_: (Forward(),), ("forward",), takes=()),
    "navigate": Member(navigated, ("goto",), takes=("url",)),
}  # fmt: skip


class _Google2026(GoogleComputer):
    name = "google_computer_use_2026"
    models = (r"gemini-3\.[5-9](-.+)?", r"gemini-[4-9](\.\d+)?(-.+)?")
    since = date(2026, 11, 27)
    members = _MEMBERS
    browser_only = ("go_back", "go_forward", "navigate")


DIALECT = _Google2026()
