"""Google's first vocabulary of computer use: Gemini 2.5 to 3.1, browsers."""

from __future__ import annotations

from datetime import date
from typing import TYPE_CHECKING, Any

from bench_core.agents.dialects.claude_actions import direction
from bench_core.agents.dialects.google_computer import (
    GRID,
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
    Move,
    PressKeys,
    Scroll,
    TypeText,
    Wait,
)

if TYPE_CHECKING:
    from bench_core.agents.records import Action, Point

__all__ = ["DIALECT"]

_AT = ("x", "y")
_MAGNITUDE = 800


def _type(arguments: dict[str, Any], screen: Screen) -> tuple[Action, ...]:
    return (
        TypeText(
            text=arguments["text"],
            target=point(arguments, screen),
            clear=flag(arguments, "clear_before_typing", default=True),
            enter=flag(arguments, "press_enter", default=True),
        ),
    )


def _scroll(arguments: dict[str, Any], screen: Screen, at: Point | None) -> tuple[Action, ...]:
    across, down = direction(arguments, "direction")
    share = number(arguments, "magnitude", default=_MAGNITUDE) / GRID
    width, height = screen.size
    return (Scroll(target=at, dx=across * round(share * width), dy=down * round(share * height)),)


def _drag(arguments: dict[str, Any], screen: Screen) -> tuple[Action, ...]:
    end = point(arguments, screen, "destination_")
    return (Drag(start=point(arguments, screen), end=end),)


_MEMBERS = {
    "open_web_browser": Member(lambda *_: (Wait(seconds=0),), ("goto",), takes=()),
    "wait_5_seconds": Member(lambda *_: (Wait(seconds=5),), ("wait",), takes=()),
    "go_back": Member(lambda *_: (Back(),), ("back",), takes=()),
    "go_forward": Member(lambda *_: (Forward(),), ("forward",), takes=()),
    "navigate": Member(navigated, ("goto",), takes=("url",)),
    "click_at": Member(lambda a, s: (Click(target=point(a, s)),), ("click",), takes=_AT),
    "hover_at": Member(lambda a, s: (Move(target=point(a, s)),), ("move",), takes=_AT),
    "type_text_at": Member(
        _type, ("type",), takes=(*_AT, "text", "press_enter", "clear_before_typing")
    ),
    "key_combination": Member(
        lambda a, _: (PressKeys(keys=names_of_keys(a["keys"])),), ("keys",), takes=("keys",)
    ),
    "scroll_document": Member(lambda a, s: _scroll(a, s, None), ("scroll",), takes=("direction",)),
    "scroll_at": Member(
        lambda a, s: _scroll(a, s, point(a, s)),
        ("scroll",),
        takes=(*_AT, "direction", "magnitude"),
    ),
    "drag_and_drop": Member(_drag, ("drag",), takes=(*_AT, "destination_x", "destination_y")),
}


class _Google2025(GoogleComputer):
    name = "google_computer_use_2025"
    models = (r"gemini-2\.5-computer-use(-preview)?(-\d+)*", r"gemini-3(\.1)?(-.+)?")
    environments = ("browser",)
    since = date(2026, 11, 27)
    members = _MEMBERS
    off = ("search",)  # it leaves the world of the task, for the site of a search engine


DIALECT = _Google2025()
