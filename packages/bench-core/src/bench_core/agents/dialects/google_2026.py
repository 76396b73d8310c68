"""Google's second vocabulary of computer use, since Gemini 3.5 Flash.

That a desktop is offered the same functions is what the SDK's `ENVIRONMENT_DESKTOP` suggests; it was not verified.
"""

from __future__ import annotations

from datetime import date
from typing import TYPE_CHECKING, Any

from bench_core.agents.dialects.google_computer import GoogleComputer, pixels, point
from bench_core.agents.dialects.interface import Member, Screen, names_of_keys
from bench_core.agents.records import (
    Back,
    Click,
    Drag,
    Forward,
    Goto,
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


def _click(**how: Any) -> Member:
    return Member(lambda a, s: (Click(target=point(a, s), **how),), ("click",))


def _type(arguments: dict[str, Any], _: Screen) -> tuple[Action, ...]:
    enter = bool(arguments.get("press_enter", False))
    return (TypeText(text=str(arguments["text"]), enter=enter),)


def _scroll(arguments: dict[str, Any], screen: Screen) -> tuple[Action, ...]:
    dx, dy = pixels(arguments.get("magnitude"), str(arguments["direction"]), screen)
    target = point(arguments, screen) if arguments.get("x") is not None else None
    return (Scroll(target=target, dx=dx, dy=dy),)


def _drag(arguments: dict[str, Any], screen: Screen) -> tuple[Action, ...]:
    end = point(arguments, screen, "destination_")
    return (Drag(start=point(arguments, screen), end=end),)


def _navigate(arguments: dict[str, Any], _: Screen) -> tuple[Action, ...]:
    url = str(arguments["url"]).strip()
    return (Goto(url=url if "://" in url else f"https://{url}"),)


def _wait(arguments: dict[str, Any], _: Screen) -> tuple[Action, ...]:
    return (Wait(seconds=min(float(arguments.get("seconds", 1)), _MOST_WAIT_S)),)


def _key(arguments: dict[str, Any]) -> str:
    return names_of_keys(arguments["key"])[0]


_MEMBERS = {
    "click": _click(),
    "double_click": _click(count=2),
    "triple_click": _click(count=3),
    "middle_click": _click(button="middle"),
    "right_click": _click(button="right"),
    "mouse_down": Member(lambda a, s: (MouseDown(target=point(a, s)),), ("mouse_down",)),
    "mouse_up": Member(lambda a, s: (MouseUp(target=point(a, s)),), ("mouse_up",)),
    "move": Member(lambda a, s: (Move(target=point(a, s)),), ("move",)),
    "type": Member(_type, ("type",)),
    "drag_and_drop": Member(_drag, ("drag",)),
    "wait": Member(_wait, ("wait",)),
    "press_key": Member(lambda a, _: (PressKeys(keys=names_of_keys(a["key"])),), ("keys",)),
    "key_down": Member(lambda a, _: (KeyDown(key=_key(a)),), ("key_down",)),
    "key_up": Member(lambda a, _: (KeyUp(key=_key(a)),), ("key_up",)),
    "hotkey": Member(lambda a, _: (PressKeys(keys=names_of_keys(a["keys"])),), ("keys",)),
    "take_screenshot": Member(lambda *_: (Screenshot(),), ("screenshot",)),
    "scroll": Member(_scroll, ("scroll",)),
    "go_back": Member(lambda *_: (Back(),), ("back",)),
    "go_forward": Member(lambda *_: (Forward(),), ("forward",)),
    "navigate": Member(_navigate, ("goto",)),
}


class _Google2026(GoogleComputer):
    name = "google_computer_use_2026"
    models = (r"gemini-3\.[5-9](-.+)?", r"gemini-[4-9](\.\d+)?(-.+)?")
    since = date(2026, 6, 24)
    members = _MEMBERS


DIALECT = _Google2026()
