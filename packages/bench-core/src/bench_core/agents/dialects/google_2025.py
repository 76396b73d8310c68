"""Google's first vocabulary of computer use: Gemini 2.5 to 3.1, browsers."""

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
    Move,
    PressKeys,
    Scroll,
    TypeText,
    Wait,
)

if TYPE_CHECKING:
    from bench_core.agents.records import Action

__all__ = ["DIALECT"]

_SEARCH = "https://www.google.com"


def _type(arguments: dict[str, Any], screen: Screen) -> tuple[Action, ...]:
    clear = arguments.get("clear_before_typing")
    return (
        TypeText(
            text=str(arguments["text"]),
            target=point(arguments, screen),
            clear=clear is None or bool(clear),
            enter=bool(arguments.get("press_enter", False)),
        ),
    )


def _scroll_at(arguments: dict[str, Any], screen: Screen) -> tuple[Action, ...]:
    dx, dy = pixels(arguments.get("magnitude"), str(arguments["direction"]), screen)
    return (Scroll(target=point(arguments, screen), dx=dx, dy=dy),)


def _scroll(arguments: dict[str, Any], screen: Screen) -> tuple[Action, ...]:
    dx, dy = pixels(None, str(arguments["direction"]), screen)
    return (Scroll(dx=dx, dy=dy),)


def _drag(arguments: dict[str, Any], screen: Screen) -> tuple[Action, ...]:
    end = point(arguments, screen, "destination_")
    return (Drag(start=point(arguments, screen), end=end),)


def _navigate(arguments: dict[str, Any], _: Screen) -> tuple[Action, ...]:
    url = str(arguments["url"]).strip()
    return (Goto(url=url if "://" in url else f"https://{url}"),)


_MEMBERS = {
    "open_web_browser": Member(lambda *_: (Wait(seconds=0),), ("goto",)),
    "wait_5_seconds": Member(lambda *_: (Wait(seconds=5),), ("wait",)),
    "go_back": Member(lambda *_: (Back(),), ("back",)),
    "go_forward": Member(lambda *_: (Forward(),), ("forward",)),
    "search": Member(lambda *_: (Goto(url=_SEARCH),), ("goto",)),
    "navigate": Member(_navigate, ("goto",)),
    "click_at": Member(lambda a, s: (Click(target=point(a, s)),), ("click",)),
    "hover_at": Member(lambda a, s: (Move(target=point(a, s)),), ("move",)),
    "type_text_at": Member(_type, ("type",)),
    "key_combination": Member(lambda a, _: (PressKeys(keys=names_of_keys(a["keys"])),), ("keys",)),
    "scroll_document": Member(_scroll, ("scroll",)),
    "scroll_at": Member(_scroll_at, ("scroll",)),
    "drag_and_drop": Member(_drag, ("drag",)),
}


class _Google2025(GoogleComputer):
    name = "google_computer_use_2025"
    models = (r"gemini-2\.5-computer-use(-preview)?(-\d+)*", r"gemini-3(\.1)?(-.+)?")
    environments = ("browser",)
    since = date(2026, 6, 24)
    members = _MEMBERS


DIALECT = _Google2025()
