"""What the versions of Claude's tools have in common: how large it sees a picture, and the arguments of its actions."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from bench_core.agents.dialects.coordinates import in_patches, within
from bench_core.agents.dialects.interface import Dialect, Member, Screen, names_of_keys, pictured
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
    from bench_core.agents.records import Action, Observation, Point
    from bench_core.models.records import Part, ToolCall

__all__ = [
    "BUTTONS",
    "COMPUTER",
    "NOTCH_PX",
    "Claude",
    "direction",
    "given",
    "keys",
    "region",
    "seconds",
    "whole",
    "words",
]

_STANDARD = re.compile(r"claude-(3|(opus|sonnet|haiku)-4(-[0-6])?(-\d{8})?$).*")
"""Models before 4.7, which see pictures of 1,568 pixels and as many patches at most; later ones see 2,576 and 4,784."""
_MOST_EDGE = 2000
"""A request with more than twenty pictures is refused where one has a longer edge."""
NOTCH_PX = 100
"""Claude's `scroll_amount` counts notches of a wheel; actions count pixels."""
_MOST_WAIT_S = 60.0
_MOST_NOTCHES = _MOST_PRESSES = 100
BUTTONS: dict[str, dict[str, Any]] = {
    "left_click": {},
    "right_click": {"button": "right"},
    "middle_click": {"button": "middle"},
    "double_click": {"count": 2},
    "triple_click": {"count": 3},
}
_DIRECTIONS = {"up": (0, -1), "down": (0, 1), "left": (-1, 0), "right": (1, 0)}


class Claude(Dialect):
    """A tool of Claude's."""

    provider = "anthropic"

    def picture_size(self, model: str, size: tuple[int, int]) -> tuple[int, int]:
        """Return how large a model sees a picture; see `Dialect`."""
        standard = _STANDARD.fullmatch(model) is not None
        return in_patches(size, 1568, 1568) if standard else in_patches(size, _MOST_EDGE, 4784)

    def show(self, observation: Observation, *, results: bool) -> tuple[Part, ...]:
        """Return pages, tabs and the picture, since no tool takes the ids of elements; see `Dialect`."""
        return super().show(pictured(observation), results=results)


def given(call: ToolCall) -> dict[str, Any]:
    """Return the arguments of a call without those that are null, which are not given."""
    return {name: value for name, value in (call.arguments or {}).items() if value is not None}


def _point(value: Any, screen: Screen) -> Point:
    if not isinstance(value, list) or len(value) != 2:  # x and y
        raise InvalidCallError(f"a coordinate is [x, y], not {value!r}")
    return within(value[0], value[1], screen.size)


def _place(arguments: dict[str, Any], screen: Screen) -> Point | None:
    given = arguments.get("coordinate")
    return None if given is None else _point(given, screen)


def _modifiers(arguments: dict[str, Any]) -> tuple[str, ...]:
    text = words(arguments, "text") if arguments.get("text") is not None else ""
    return names_of_keys(text) if text.strip() else ()


def words(arguments: dict[str, Any], name: str) -> str:
    """Return an argument that is a text.

    Raises:
        InvalidCallError: It is something else.
    """
    value = arguments[name]
    if not isinstance(value, str):
        raise InvalidCallError(f"{name} is a text, not {value!r}")
    return value


def whole(arguments: dict[str, Any], name: str, default: int, most: int) -> int:
    """Return an argument that is a number from 1 to `most`.

    Raises:
        InvalidCallError: It is something else.
    """
    value = default if arguments.get(name) is None else arguments[name]
    if isinstance(value, bool) or not isinstance(value, int | float) or not 1 <= value <= most:
        raise InvalidCallError(f"{name} is a number from 1 to {most}, not {value!r}")
    if value != int(value):
        raise InvalidCallError(f"{name} is a whole number, not {value!r}")
    return int(value)


def seconds(arguments: dict[str, Any], most: float = _MOST_WAIT_S) -> float:
    """Return the duration.

    Raises:
        InvalidCallError: It is not one, or longer than one action may take.
    """
    value = arguments["duration"]
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= most:
        raise InvalidCallError(f"duration is a number of seconds from 0 to {most:g}, not {value!r}")
    return float(value)


def direction(arguments: dict[str, Any], name: str = "scroll_direction") -> tuple[int, int]:
    """Return which way to scroll, to the right and down.

    Raises:
        InvalidCallError: There is no such direction.
    """
    value = arguments[name]
    if not isinstance(value, str) or value not in _DIRECTIONS:
        raise InvalidCallError(f"{name} is one of {', '.join(_DIRECTIONS)}, not {value!r}")
    return _DIRECTIONS[value]


def region(arguments: dict[str, Any], screen: Screen) -> tuple[float, float, float, float]:
    """Return the part of the screen to look at.

    Raises:
        InvalidCallError: It is not a part of it.
    """
    value = arguments["region"]
    if not isinstance(value, list) or len(value) != 4:  # two corners
        raise InvalidCallError(f"region is [x0, y0, x1, y1], not {value!r}")
    for x, y in (value[:2], value[2:]):
        within(x, y, screen.size)
    if value[2] <= value[0] or value[3] <= value[1]:
        raise InvalidCallError("region is empty: it is [x0, y0, x1, y1] with x0 < x1 and y0 < y1")
    return (value[0], value[1], value[2], value[3])


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
    across, down = direction(arguments)
    pixels = whole(arguments, "scroll_amount", 3, _MOST_NOTCHES) * NOTCH_PX
    target, held = _place(arguments, screen), _modifiers(arguments)
    return (Scroll(target=target, dx=across * pixels, dy=down * pixels, modifiers=held),)


def keys(arguments: dict[str, Any]) -> tuple[Action, ...]:
    """Return presses of keys: several combinations in a row, as xdotool takes them, so many times."""
    repeat = whole(arguments, "repeat", 1, _MOST_PRESSES)
    text = words(arguments, "text")
    each = [names_of_keys(word) for word in text.split()]
    if len(each) * repeat > _MOST_PRESSES:
        raise InvalidCallError(f"so many keys are {_MOST_PRESSES} at most")
    if len(each) <= 1:
        return (PressKeys(keys=names_of_keys(text), repeat=repeat),)
    return tuple(PressKeys(keys=pressed) for _ in range(repeat) for pressed in each)


_MEMBERS: dict[str, Member] = {
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
    "key": Member(lambda a, _: keys(a), ("keys",), "Pressed {text}."),
    "hold_key": Member(
        lambda a, _: (HoldKeys(keys=names_of_keys(words(a, "text")), seconds=seconds(a)),),
        ("hold_keys",),
        "Held {text} for {duration}s.",
    ),
    "type": Member(lambda a, _: (TypeText(text=words(a, "text")),), ("type",), "Typed."),
    "wait": Member(lambda a, _: (Wait(seconds=seconds(a)),), ("wait",), "Waited {duration}s."),
    "zoom": Member(lambda a, s: (Zoom(region=region(a, s)),), ("zoom",)),
}
_TAKES = {
    **dict.fromkeys(BUTTONS, ("coordinate", "text")),
    "left_click_drag": ("start_coordinate", "coordinate", "text"),
    "mouse_move": ("coordinate",),
    "scroll": ("scroll_direction", "scroll_amount", "coordinate", "text"),
    "key": ("text", "repeat"),
    "hold_key": ("text", "duration"),
    "type": ("text",),
    "wait": ("duration",),
    "zoom": ("region",),
}
COMPUTER = {name: replace(member, takes=_TAKES.get(name, ())) for name, member in _MEMBERS.items()}
"""The 17 actions of Claude's computer tool."""
