"""Claude's computer use: its native tool in, our actions out.

The tool's version is a setting: newer model lines refuse older tools.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bench_core.agents.conversation import Conversation
from bench_core.agents.loop import LoopAgent
from bench_core.agents.records import (
    Click,
    Drag,
    Move,
    Point,
    PressKeys,
    Scroll,
    TypeText,
    Wait,
)
from bench_core.agents.tool_calling import CallingStepper
from bench_core.agents.tools import FINAL_TOOLS, TOOLS, InvalidCallError, action_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from pydantic import JsonValue

    from bench_core.agents.handles import Connect
    from bench_core.agents.records import Action
    from bench_core.models.client import Model
    from bench_core.models.records import ToolCall
    from bench_core.protocols import TrialContext
    from bench_core.records import AgentTask

__all__ = ["DEFAULT_TOOL", "computer_use_actions", "computer_use_agent"]

DEFAULT_TOOL = "computer_20251124"
"""Tool version for Opus 4.5; older models take `computer_20250124`."""

_BETAS = {
    "computer_20251124": "computer-use-2025-11-24",
    "computer_20250124": "computer-use-2025-01-24",
}
# Claude's `scroll_amount` counts notches of a wheel; actions count pixels.
_NOTCH_PX = 100
_MOST_WAIT_S = 60.0
_BUTTONS: dict[str, dict[str, Any]] = {
    "left_click": {},
    "right_click": {"button": "right"},
    "middle_click": {"button": "middle"},
    "double_click": {"count": 2},
    "triple_click": {"count": 3},
}
_DIRECTIONS = {"up": (0, -1), "down": (0, 1), "left": (-1, 0), "right": (1, 0)}
_KEYS = {"return": "enter", "super": "meta", "cmd": "meta", "win": "meta", "page_up": "pageup",
         "page_down": "pagedown", "prior": "pageup", "next": "pagedown", "control": "ctrl"}  # fmt: skip
_BROWSING = tuple(tool for tool in TOOLS if tool.name in {"goto", "back", "switch_tab"})


def computer_use_agent(  # noqa: PLR0913  # settings, all named
    model: Model,
    *,
    name: str = "claude-computer-use",
    screen: tuple[int, int] = (1280, 720),
    tool: str = DEFAULT_TOOL,
    browser: bool = True,
    images: int = 3,
    connect: Connect | None = None,
) -> LoopAgent:
    """Return an agent that acts through Claude's computer-use tool.

    Args:
        model: A model of Anthropic's that knows the tool.
        name: What the agent is called in results.
        screen: Width and height in pixels of the screenshots the environment gives.
        tool: Version of the native tool; its beta header is derived, or set one in the model.
        images: How many of the latest screenshots the model is shown.
        connect: Turns the handle into an environment.
        browser: Also offer tools to load URLs and switch tabs; a page shows no address bar.
    """
    native: dict[str, JsonValue] = {
        "type": tool, "name": "computer",
        "display_width_px": screen[0], "display_height_px": screen[1],
    }  # fmt: skip
    headers = {"anthropic-beta": _BETAS[tool]} if tool in _BETAS else {}

    def begin(task: AgentTask, context: TrialContext) -> CallingStepper:
        conversation = Conversation(
            model,
            context,
            tools=(*(_BROWSING if browser else ()), *FINAL_TOOLS),
            native_tools=(native,),
            headers=headers,
            images=images,
        )
        return CallingStepper(conversation, task, computer_use_actions)

    return LoopAgent(name, begin) if connect is None else LoopAgent(name, begin, connect=connect)


def computer_use_actions(call: ToolCall) -> tuple[Action, ...]:
    """Return the actions a tool call of Claude stands for.

    Raises:
        InvalidCallError: The call makes no sense; the message is for the model.

    >>> from bench_core.models import ToolCall
    >>> call = ToolCall(id="1", name="computer", arguments={"action": "key", "text": "ctrl+s"})
    >>> computer_use_actions(call)[0].keys
    ('ctrl', 's')
    """
    if call.name != "computer":
        return (action_of(call),)
    arguments = call.arguments or {}
    kind = arguments.get("action")
    make = _MAKERS.get(str(kind))
    if make is None:
        raise InvalidCallError(f"computer: there is no action {kind!r}")
    try:
        return make(arguments)
    except (KeyError, TypeError, ValueError) as error:
        raise InvalidCallError(f"computer {kind}: {error}") from error


def _point(value: Any) -> Point:
    if not isinstance(value, list) or len(value) != 2:  # noqa: PLR2004  # x and y
        raise InvalidCallError(f"a coordinate is [x, y], not {value!r}")
    return Point(x=value[0], y=value[1])


def _modifiers(arguments: dict[str, Any]) -> tuple[str, ...]:
    text = arguments.get("text")
    return _keys(text) if isinstance(text, str) and text else ()


def _click(kind: str) -> Callable[[dict[str, Any]], tuple[Action, ...]]:
    def make(arguments: dict[str, Any]) -> tuple[Action, ...]:
        target = _point(arguments.get("coordinate"))
        return (Click(target=target, modifiers=_modifiers(arguments), **_BUTTONS[kind]),)

    return make


def _drag(arguments: dict[str, Any]) -> tuple[Action, ...]:
    start, end = _point(arguments.get("start_coordinate")), _point(arguments.get("coordinate"))
    return (Drag(start=start, end=end),)


def _scroll(arguments: dict[str, Any]) -> tuple[Action, ...]:
    across, down = _DIRECTIONS[arguments["scroll_direction"]]
    pixels = int(arguments.get("scroll_amount", 3)) * _NOTCH_PX
    target = _point(arguments["coordinate"]) if arguments.get("coordinate") else None
    return (Scroll(target=target, dx=across * pixels, dy=down * pixels),)


def _wait(arguments: dict[str, Any]) -> tuple[Action, ...]:
    return (Wait(seconds=min(float(arguments.get("duration", 1)), _MOST_WAIT_S)),)


def _keys(text: str) -> tuple[str, ...]:
    names = [name.strip().lower() for name in text.replace("++", "+plus").split("+")]
    return tuple(_KEYS.get(name, name) for name in names if name)


_MAKERS: dict[str, Callable[[dict[str, Any]], tuple[Action, ...]]] = {
    **{kind: _click(kind) for kind in _BUTTONS},
    "left_click_drag": _drag,
    "mouse_move": lambda arguments: (Move(target=_point(arguments.get("coordinate"))),),
    "scroll": _scroll,
    "type": lambda arguments: (TypeText(text=str(arguments["text"])),),
    "key": lambda arguments: (PressKeys(keys=_keys(str(arguments["text"]))),),
    "wait": _wait,
    # The next observation brings the screenshot anyway.
    "screenshot": lambda _: (Wait(seconds=0),),
    "cursor_position": lambda _: (Wait(seconds=0),),
}
