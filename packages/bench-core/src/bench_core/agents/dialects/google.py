"""Google's two vocabularies of computer use: functions, a grid of 1000, an answer with its picture.

The first is that of Gemini 2.5 to 3.1, for browsers; the second, since Gemini 3.5 Flash, has the same
functions for desktops except those that load pages. Google's page gives these `magnitude_in_pixels`,
too; seven programs of others agree that their calls have `magnitude_in_wheel_clicks`.
"""

from __future__ import annotations

from datetime import date
from typing import Any, ClassVar

from pydantic import JsonValue

from bench_core.agents.dialects.claude import NOTCH_PX, direction
from bench_core.agents.dialects.coordinates import on_grid
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
from bench_core.agents.prompts import system_prompt
from bench_core.agents.records import (
    Action,
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
    Observation,
    Point,
    PressKeys,
    Screenshot,
    Scroll,
    TypeText,
    Wait,
)
from bench_core.agents.tools import InvalidCallError
from bench_core.models.records import Part, ToolCall

# places and distances are in thousandths of the screen
_GRID = 1000
_MAGNITUDE = 800
_PIXELS = 300
_MOST_WAIT_S = 60.0
_ALWAYS = ("intent", "safety_decision")
"""Arguments that any call may have, in addition to those of its function."""
_AT = ("x", "y")


def _point(arguments: dict[str, Any], screen: Screen, prefix: str = "") -> Point:
    """Return the place of `x` and `y`, or of `end_x` and `end_y` and the like."""
    x, y = arguments[f"{prefix}x"], arguments[f"{prefix}y"]
    found = on_grid(x, y, screen.size, _GRID)
    # the reference loop takes the nearest place on the screen, which is not the one that was named
    if not (0 <= x <= _GRID and 0 <= y <= _GRID):
        raise InvalidCallError(f"({x:g}, {y:g}) is outside the grid, which goes from 0 to {_GRID}")
    return found


def _flag(arguments: dict[str, Any], name: str, default: bool) -> bool:  # as `dict.get` has it
    """Return an argument that is true or false."""
    value = arguments.get(name)
    if value is not None and not isinstance(value, bool):
        raise InvalidCallError(f"{name} is true or false, not {value!r}")
    return default if value is None else value


def _number(arguments: dict[str, Any], name: str, default: float) -> float:
    """Return an argument that is a number and not negative."""
    value = arguments.get(name)
    if value is None:
        return default
    if isinstance(value, bool) or not isinstance(value, int | float) or not value >= 0:
        raise InvalidCallError(f"{name} is a number from 0, not {value!r}")
    return value


def _navigated(arguments: dict[str, Any], _: Screen) -> tuple[Action, ...]:
    """Return how to load the page of `url`."""
    url = arguments["url"]
    if not isinstance(url, str) or not url.strip():
        raise InvalidCallError("which url?")
    return (Goto(url=url.strip()),)


def _type_at(arguments: dict[str, Any], screen: Screen) -> tuple[Action, ...]:
    return (
        TypeText(
            text=arguments["text"],
            target=_point(arguments, screen),
            clear=_flag(arguments, "clear_before_typing", default=True),
            enter=_flag(arguments, "press_enter", default=True),
        ),
    )


def _scroll_at(arguments: dict[str, Any], screen: Screen, at: Point | None) -> tuple[Action, ...]:
    across, down = direction(arguments, "direction")
    share = _number(arguments, "magnitude", default=_MAGNITUDE) / _GRID
    width, height = screen.size
    return (Scroll(target=at, dx=across * round(share * width), dy=down * round(share * height)),)


def _drag_at(arguments: dict[str, Any], screen: Screen) -> tuple[Action, ...]:
    end = _point(arguments, screen, "destination_")
    return (Drag(start=_point(arguments, screen), end=end),)


_MEMBERS_2025 = {
    "open_web_browser": Member(lambda *_: (Wait(seconds=0),), ("goto",), takes=()),
    "wait_5_seconds": Member(lambda *_: (Wait(seconds=5),), ("wait",), takes=()),
    "go_back": Member(lambda *_: (Back(),), ("back",), takes=()),
    "go_forward": Member(lambda *_: (Forward(),), ("forward",), takes=()),
    "navigate": Member(_navigated, ("goto",), takes=("url",)),
    "click_at": Member(lambda a, s: (Click(target=_point(a, s)),), ("click",), takes=_AT),
    "hover_at": Member(lambda a, s: (Move(target=_point(a, s)),), ("move",), takes=_AT),
    "type_text_at": Member(
        _type_at, ("type",), takes=(*_AT, "text", "press_enter", "clear_before_typing")
    ),
    "key_combination": Member(
        lambda a, _: (PressKeys(keys=names_of_keys(a["keys"])),), ("keys",), takes=("keys",)
    ),
    "scroll_document": Member(
        lambda a, s: _scroll_at(a, s, None), ("scroll",), takes=("direction",)
    ),
    "scroll_at": Member(
        lambda a, s: _scroll_at(a, s, _point(a, s)),
        ("scroll",),
        takes=(*_AT, "direction", "magnitude"),
    ),
    "drag_and_drop": Member(_drag_at, ("drag",), takes=(*_AT, "destination_x", "destination_y")),
}


def _click(**how: Any) -> Member:
    return Member(lambda a, s: (Click(target=_point(a, s), **how),), ("click",), takes=_AT)


def _type(arguments: dict[str, Any], _: Screen) -> tuple[Action, ...]:
    enter = _flag(arguments, "press_enter", default=False)
    return (TypeText(text=arguments["text"], enter=enter),)


def _scroll(arguments: dict[str, Any], screen: Screen) -> tuple[Action, ...]:
    across, down = direction(arguments, "direction")
    distance = _number(arguments, "magnitude_in_pixels", default=_PIXELS)
    if arguments.get("magnitude_in_wheel_clicks") is not None:
        distance = _number(arguments, "magnitude_in_wheel_clicks", default=0) * NOTCH_PX
    target = _point(arguments, screen)
    return (Scroll(target=target, dx=across * distance, dy=down * distance),)


def _drag(arguments: dict[str, Any], screen: Screen) -> tuple[Action, ...]:
    start, end = _point(arguments, screen, "start_"), _point(arguments, screen, "end_")
    return (Drag(start=start, end=end),)


def _wait(arguments: dict[str, Any], _: Screen) -> tuple[Action, ...]:
    return (Wait(seconds=min(_number(arguments, "seconds", default=1), _MOST_WAIT_S)),)


def _key(arguments: dict[str, Any]) -> str:
    return names_of_keys(arguments["key"])[0]


_MEMBERS_2026 = {
    "click": _click(),
    "double_click": _click(count=2),
    "triple_click": _click(count=3),
    "middle_click": _click(button="middle"),
    "right_click": _click(button="right"),
    "mouse_down": Member(
        lambda a, s: (MouseDown(target=_point(a, s)),), ("mouse_down",), takes=_AT
    ),
    "mouse_up": Member(lambda a, s: (MouseUp(target=_point(a, s)),), ("mouse_up",), takes=_AT),
    "move": Member(lambda a, s: (Move(target=_point(a, s)),), ("move",), takes=_AT),
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
    "navigate": Member(_navigated, ("goto",), takes=("url",)),
}  # fmt: skip


class _Google(Dialect):
    """A vocabulary of the tool `computer_use` of generateContent."""

    since = date(2026, 11, 27)
    provider = "google"
    coordinates = "0-1000"
    pictures = True
    images = 5
    browser_only: ClassVar[tuple[str, ...]] = ()
    """Functions that only the set for browsers has, so that other sets do not exclude them."""

    def declare(self, screen: Screen) -> Declaration:
        known = [
            n for n in (*self.members, *self.off) if screen.browser or n not in self.browser_only
        ]
        offered = self.available(screen)
        off: list[JsonValue] = [name for name in known if name not in offered]
        place = "ENVIRONMENT_BROWSER" if screen.browser else "ENVIRONMENT_DESKTOP"
        tool: dict[str, JsonValue] = {"environment": place}
        if off:
            tool["excluded_predefined_functions"] = off
        return Declaration(
            native_tools=({"computer_use": tool},),
            # neither vocabulary has tabs, and tasks may begin with several
            tools=function_tools(screen, "switch_tab"),
            system=system_prompt(
                screen.task, place=place_text(screen, load="navigate", back="go_back")
            ),
            body={"generationConfig": {"thinkingConfig": {"includeThoughts": True}}},
        )

    def member(self, call: ToolCall) -> tuple[str, dict[str, Any]] | None:
        if call.name not in self.members:
            return None
        return call.name, {k: v for k, v in (call.arguments or {}).items() if k not in _ALWAYS}

    def thought(self, call: ToolCall) -> str:
        intent = (call.arguments or {}).get("intent")
        return intent if isinstance(intent, str) else ""

    def flags(self, call: ToolCall) -> tuple[str, ...]:
        return ("safety_check_acknowledged",) if _asked(call) else ()

    def answer(self, done: Answered) -> tuple[Part, ...]:
        failed = done.error is not None
        # a call that was not carried out has no moment after it: it is told of in words, once
        shown = not failed or (done.last and not done.again)
        seen = done.seen if shown else Observation(url=done.seen.url)
        picture = seen.screenshot
        if failed and any(each.result.image == picture for each in done.earlier):
            picture = None
        # the API refuses an answer of its own functions without it, and documents none for desktops
        response: dict[str, JsonValue] = {"url": seen.url or ""}
        if seen.title:
            response["title"] = seen.title
        if seen.open_tabs:
            response["tabs"] = [
                f"{number}: {tab.title or tab.url}{' (active)' if tab.active else ''}"
                for number, tab in enumerate(seen.open_tabs)
            ]
        elif seen.tabs:
            response["windows"] = [
                f"{number}: {title}{' (active)' if number == seen.active_tab else ''}"
                for number, title in enumerate(seen.tabs)
            ]
        if seen.notices:
            response["notices"] = list(seen.notices)
        if failed:
            response["error"] = done.error
        if done.text:
            response["output"] = done.text
        if _asked(done.call):
            response["safety_acknowledgement"] = "true"
        content = () if picture is None else (picture,)
        return (reply_to(done.call, *content, extra={"response": response}),)


class _Google2025(_Google):
    name = "google_computer_use_2025"
    models = (r"gemini-2\.5-computer-use(-preview)?(-\d+)*", r"gemini-3(\.1)?(-.+)?")
    environments = ("browser",)
    members = _MEMBERS_2025
    off = ("search",)  # it leaves the world of the task, for the site of a search engine


class _Google2026(_Google):
    name = "google_computer_use_2026"
    models = (r"gemini-3\.[5-9](-.+)?", r"gemini-[4-9](\.\d+)?(-.+)?")
    members = _MEMBERS_2026
    browser_only = ("go_back", "go_forward", "navigate")


def _asked(call: ToolCall) -> bool:
    decision = (call.arguments or {}).get("safety_decision")
    return isinstance(decision, dict) and decision.get("decision") == "require_confirmation"


DIALECTS = (_Google2025(), _Google2026())
