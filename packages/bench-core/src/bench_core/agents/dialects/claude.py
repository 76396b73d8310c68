"""Claude's computer tools: one tool with an argument `action` until 2025, a toolset whose members have names since."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import date
from typing import Any, ClassVar

from pydantic import JsonValue

from bench_core.agents.dialects.coordinates import in_patches, within
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
    EARLIER_FAILED,
    Action,
    Click,
    Drag,
    HoldKeys,
    MouseDown,
    MouseUp,
    Move,
    Observation,
    Point,
    PointerPosition,
    PressKeys,
    Screenshot,
    Scroll,
    TypeText,
    Wait,
    Zoom,
)
from bench_core.agents.tools import InvalidCallError
from bench_core.models.records import ImagePart, OpaquePart, Part, TextPart, ToolCall

_STANDARD = re.compile(r"claude-(3|(opus|sonnet|haiku)-4(-[0-6])?(-\d{8})?$).*")
"""Models before 4.7, which see pictures of 1,568 pixels and as many patches at most; later ones see 2,576 and 4,784."""
_MOST_EDGE = 2000
"""A request with more than twenty pictures is refused if one has a longer edge."""
NOTCH_PX = 100
"""Claude's `scroll_amount` counts notches of a wheel; actions count pixels."""
_MOST_ERROR = 4096
"""As long as Anthropic's SDK lets the text of an error be."""
# without it these models' words between calls arrive empty
_THINKING: dict[str, JsonValue] = {"type": "adaptive", "display": "summarized"}
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
    """Return the direction of a scroll, to the right and down.

    Raises:
        InvalidCallError: It is not one of the four directions.
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
_COMPUTER = {name: replace(member, takes=_TAKES.get(name, ())) for name, member in _MEMBERS.items()}


_WITHOUT_ZOOM = {name: member for name, member in _COMPUTER.items() if name != "zoom"}


class _Claude(Dialect):
    provider = "anthropic"
    since = date(2026, 11, 27)
    members = _COMPUTER

    def picture_size(self, model: str, size: tuple[int, int]) -> tuple[int, int]:
        standard = _STANDARD.fullmatch(model) is not None
        return in_patches(size, 1568, 1568) if standard else in_patches(size, _MOST_EDGE, 4784)


class _Computer20251124(_Claude):
    """One tool, with a picture in each turn's last result; `beta` is its header."""

    name = "computer_20251124"
    models: ClassVar[tuple[str, ...]] = (r"claude-opus-4-[567]", r"claude-sonnet-4-6")
    beta = "computer-use-2025-11-24"

    def declare(self, screen: Screen) -> Declaration:
        native: dict[str, Any] = {
            "type": self.name, "name": "computer",
            "display_width_px": screen.size[0], "display_height_px": screen.size[1],
        }  # fmt: skip
        if "zoom" in self.members and "zoom" in screen.offers:
            native["enable_zoom"] = True
        return Declaration(
            native_tools=(native,),
            tools=function_tools(screen, "goto", "back", "switch_tab"),
            headers={"anthropic-beta": self.beta},
            system=system_prompt(screen.task, place=place_text(screen)),
        )

    def member(self, call: ToolCall) -> tuple[str, dict[str, Any]] | None:
        arguments = _given(call)
        action = str(arguments.pop("action", "action"))
        return (action, arguments) if call.name == "computer" else None

    def answer(self, done: Answered) -> tuple[Part, ...]:
        if not done.last or done.again:
            return super().answer(done)
        # an error takes text only, and this tool's model is shown the screen after every turn
        own = self.content(done) if done.error is None else (TextPart(text=done.error),)
        looked = any(isinstance(each, ImagePart) for each in own)
        shown = self.show(done.observation, results=False)
        seen = (each for each in shown if isinstance(each, TextPart) or not looked)
        return (reply_to(done.call, *own, *seen),)


class _Computer20250124(_Computer20251124):
    name = "computer_20250124"
    models = (
        r"claude-(sonnet|haiku)-4-5", r"claude-(sonnet|opus)-4(-[01])?", r"claude-3-7-sonnet",
    )  # fmt: skip
    beta = "computer-use-2025-01-24"
    members = _WITHOUT_ZOOM


class ClaudeToolset(_Claude):
    """A toolset of August 2026: members with names of their own, and one result for each call.

    `family` is the name its calls carry, `halted` the API's words for a call after a failed one.
    """

    append_only = True
    family: ClassVar[str]
    halted: ClassVar[str]
    tools: ClassVar[tuple[str, ...]] = ("goto", "back", "switch_tab")

    def declare(self, screen: Screen) -> Declaration:
        """Declare the tool; see `Dialect`."""
        on = self.available(screen)
        disabled = [name for name in (*self.members, *self.off) if name not in on]
        native: dict[str, JsonValue] = {"type": self.name}
        if disabled:
            native["configs"] = {name: {"enabled": False} for name in disabled}
        return Declaration(
            native_tools=(native,),
            tools=function_tools(screen, *self.tools),
            body={"thinking": _THINKING},
            system=system_prompt(screen.task, on_request=True, place=self.place(screen)),
        )

    def place(self, screen: Screen) -> str:
        """Return a description of the screen that the model sees."""
        return place_text(screen)

    def member(self, call: ToolCall) -> tuple[str, dict[str, Any]] | None:
        """Return the member of a call; see `Dialect`."""
        # the toolsets' names overlap with each other's and with tools of one's own
        return (call.name, _given(call)) if call.toolset == self.family else None

    def answer(self, done: Answered) -> tuple[Part, ...]:
        """Answer a call; see `Dialect`."""
        if self.member(done.call) is None:
            answers = super().answer(done)
        elif done.error is None:
            answers = (reply_to(done.call, *self.content(done), *self.state(done)),)
        else:
            words = self.halted if done.error == EARLIER_FAILED else done.error[:_MOST_ERROR]
            answers = (reply_to(done.call, TextPart(text=words), error=True),)
        return (
            (*answers, *self.beside(done.observation)) if done.last and not done.again else answers
        )

    def state(self, done: Answered) -> tuple[OpaquePart, ...]:
        """Return the parts of a result without an error that follow its content."""
        del done
        return ()

    def beside(self, observation: Observation) -> tuple[TextPart, ...]:
        """Return a turn's texts about the screen, of which the model gets a picture when it asks for one."""
        shown = self.show(observation, results=False)
        return tuple(each for each in shown if isinstance(each, TextPart))


class _ComputerToolset20260801(ClaudeToolset):
    name = "computer_toolset_20260801"
    models = (
        r"claude-opus-4-8", r"claude-(opus|sonnet)-5(-5)?", r"claude-haiku-5-5",
        r"claude-(fable|mythos)-5(-[12])?",
    )  # fmt: skip
    family = "computer"
    halted = "Not executed: an earlier computer action in this turn failed."


def _given(call: ToolCall) -> dict[str, Any]:
    """Return the arguments of a call without those that are null, which are not given."""
    return {name: value for name, value in (call.arguments or {}).items() if value is not None}


DIALECTS = (_Computer20250124(), _Computer20251124(), _ComputerToolset20260801())
