"""What the versions of Claude's computer tool have in common: the arguments of their actions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bench_core.agents.dialects.coordinates import within
from bench_core.agents.dialects.interface import Member, Screen, names_of_keys
from bench_core.agents.records import (
    Click,
    Drag,
    HoldKeys,
    MouseDown,
    MouseUp,
    Move,
    PointerPosition,
    PressKeys,
    Screenshot,
    Scroll,
    TypeText,
    Wait,
    Zoom,
)
from bench_core.agents.tools import InvalidCallError

if TYPE_CHECKING:
    from bench_core.agents.records import Action, Point

__all__ = ["BUTTONS", "COMPUTER", "DIRECTIONS", "NOTCH_PX", "seconds"]

NOTCH_PX = 100
"""Claude's `scroll_amount` counts notches of a wheel; actions count pixels."""
_MOST_WAIT_S = 60.0
BUTTONS: dict[str, dict[str, Any]] = {
    "left_click": {},
    "right_click": {"button": "right"},
    "middle_click": {"button": "middle"},
    "double_click": {"count": 2},
    "triple_click": {"count": 3},
}
DIRECTIONS = {"up": (0, -1), "down": (0, 1), "left": (-1, 0), "right": (1, 0)}


def _point(value: Any, screen: Screen) -> Point:
    if not isinstance(value, list) or len(value) != 2:  # noqa: PLR2004  # x and y
        raise InvalidCallError(f"a coordinate is [x, y], not {value!r}")
    return within(value[0], value[1], screen.size)


def _place(arguments: dict[str, Any], screen: Screen) -> Point | None:
    given = arguments.get("coordinate")
    return None if given is None else _point(given, screen)


def _modifiers(arguments: dict[str, Any]) -> tuple[str, ...]:
    text = arguments.get("text")
    return names_of_keys(text) if isinstance(text, str) and text.strip() else ()


def seconds(value: Any) -> float:
    """Return a duration, at most what one action may take."""
    return min(float(value), _MOST_WAIT_S)


def _click(kind: str) -> Any:
    def make(arguments: dict[str, Any], screen: Screen) -> tuple[Action, ...]:
        target = _place(arguments, screen)
        return (Click(target=target, modifiers=_modifiers(arguments), **BUTTONS[kind]),)

    return make


def _drag(arguments: dict[str, Any], screen: Screen) -> tuple[Action, ...]:
    start = _point(arguments.get("start_coordinate"), screen)
    end = _point(arguments.get("coordinate"), screen)
    return (Drag(start=start, end=end, modifiers=_modifiers(arguments)),)


def _scroll(arguments: dict[str, Any], screen: Screen) -> tuple[Action, ...]:
    across, down = DIRECTIONS[arguments["scroll_direction"]]
    amount = arguments.get("scroll_amount")
    pixels = int(3 if amount is None else amount) * NOTCH_PX
    target, held = _place(arguments, screen), _modifiers(arguments)
    return (Scroll(target=target, dx=across * pixels, dy=down * pixels, modifiers=held),)


def _key(arguments: dict[str, Any], _: Screen) -> tuple[Action, ...]:
    # xdotool, after which the action is made, takes several combinations in a row
    repeat = int(arguments.get("repeat") or 1)
    each = [names_of_keys(word) for word in str(arguments["text"]).split()]
    if len(each) <= 1:
        return (PressKeys(keys=names_of_keys(str(arguments["text"])), repeat=repeat),)
    return tuple(PressKeys(keys=keys) for _ in range(repeat) for keys in each)


def _hold(arguments: dict[str, Any], _: Screen) -> tuple[Action, ...]:
    keys = names_of_keys(str(arguments["text"]))
    return (HoldKeys(keys=keys, seconds=seconds(arguments["duration"])),)


def _zoom(arguments: dict[str, Any], _: Screen) -> tuple[Action, ...]:
    return (Zoom(region=tuple(arguments["region"])),)


COMPUTER: dict[str, Member] = {
    "screenshot": Member(lambda *_: (Screenshot(),), ("screenshot",)),
    "cursor_position": Member(lambda *_: (PointerPosition(),), ("pointer_position",)),
    "left_mouse_down": Member(
        lambda *_: (MouseDown(),), ("mouse_down",), "Left mouse button pressed."
    ),
    "left_mouse_up": Member(lambda *_: (MouseUp(),), ("mouse_up",), "Left mouse button released."),
    "left_click": Member(_click("left_click"), ("click",), "Clicked."),
    "right_click": Member(_click("right_click"), ("click",), "Right-clicked."),
    "middle_click": Member(_click("middle_click"), ("click",), "Middle-clicked."),
    "double_click": Member(_click("double_click"), ("click",), "Double-clicked."),
    "triple_click": Member(_click("triple_click"), ("click",), "Triple-clicked."),
    "left_click_drag": Member(_drag, ("drag",), "Dragged."),
    "mouse_move": Member(
        lambda a, s: (Move(target=_point(a.get("coordinate"), s)),), ("move",), "Moved the mouse."
    ),
    "scroll": Member(_scroll, ("scroll",), "Scrolled {scroll_direction}."),
    "key": Member(_key, ("keys",), "Pressed {text}."),
    "hold_key": Member(_hold, ("hold_keys",), "Held {text} for {duration}s."),
    "type": Member(lambda a, _: (TypeText(text=str(a["text"])),), ("type",), "Typed."),
    "wait": Member(
        lambda a, _: (Wait(seconds=seconds(a.get("duration", 1))),),
        ("wait",),
        "Waited {duration}s.",
    ),
    "zoom": Member(_zoom, ("zoom",)),
}
"""The 17 actions of Claude's computer tool."""
