"""Claude's browser toolset of August 2026: pages by element and by tab, beside the mouse and the keys."""

from __future__ import annotations

import re
from datetime import date
from typing import TYPE_CHECKING, Any

from bench_core.agents.dialects.claude_actions import BUTTONS, DIRECTIONS, NOTCH_PX, seconds
from bench_core.agents.dialects.claude_toolset import ClaudeToolset
from bench_core.agents.dialects.coordinates import within
from bench_core.agents.dialects.interface import Member, Screen, names_of_keys
from bench_core.agents.records import (
    ActivateTab,
    Back,
    Click,
    CloseTab,
    Drag,
    ElementRef,
    FindElements,
    Forward,
    Goto,
    HoldKeys,
    InTab,
    ListTabs,
    MouseDown,
    MouseUp,
    Move,
    NewTab,
    PageText,
    PressKeys,
    ReadPage,
    Reload,
    Screenshot,
    Scroll,
    ScrollTo,
    SetValue,
    TypeText,
    Wait,
    Zoom,
)
from bench_core.agents.tools import InvalidCallError
from bench_core.models.records import OpaquePart, TextPart

if TYPE_CHECKING:
    from collections.abc import Callable

    from pydantic import JsonValue

    from bench_core.agents.dialects.interface import Answered
    from bench_core.agents.records import Action, Target
    from bench_core.models.records import ImagePart

__all__ = ["DIALECT"]

_MOST_WAIT_S = 30.0
_MOST_LINE = 4096
_UNSAFE = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]+")
_HISTORY: dict[str, Action] = {"back": Back(), "forward": Forward(), "reload": Reload()}
_STATE_ALONE = frozenset({"new_tab", "list_tabs", "switch_tab", "close_tab"})


def _target(value: Any, screen: Screen) -> Target:
    if not isinstance(value, dict):
        raise InvalidCallError(f"a target is an object, not {value!r}")
    if value.get("type") == "ref":
        return ElementRef(element=str(value["ref"]).strip("[]"))
    return within(value["x"], value["y"], screen.size)


def _element(value: Any, screen: Screen) -> ElementRef:
    target = _target(value, screen)
    if not isinstance(target, ElementRef):
        raise InvalidCallError("the target is a ref")
    return target


def _member(
    kind: str, make: Callable[[dict[str, Any], Screen], tuple[Action, ...]], says: str = "ok"
) -> Member:
    def in_tab(arguments: dict[str, Any], screen: Screen) -> tuple[Action, ...]:
        tab = arguments.get("tab_id")
        made = make(arguments, screen)
        if not tab:
            return made
        # only `switch_tab` makes another tab the one that calls without an id apply to
        return tuple(
            each.model_copy(update={"tab": str(tab)}) if isinstance(each, InTab) else each
            for each in made
        )

    return Member(in_tab, (kind, "activate_tab"), says)


def _click(kind: str, says: str) -> Member:
    def make(arguments: dict[str, Any], screen: Screen) -> tuple[Action, ...]:
        held = arguments.get("modifiers")
        keys = names_of_keys(held) if held else ()
        target = _target(arguments["target"], screen)
        return (Click(target=target, modifiers=keys, **BUTTONS[kind]),)

    return _member("click", make, says)


def _navigate(arguments: dict[str, Any], _: Screen) -> tuple[Action, ...]:
    url = str(arguments["url"]).strip()
    if url in _HISTORY:
        return (_HISTORY[url],)
    return (Goto(url=url if "://" in url else f"https://{url}"),)


def _scroll(arguments: dict[str, Any], screen: Screen) -> tuple[Action, ...]:
    across, down = DIRECTIONS[arguments["scroll_direction"]]
    amount = arguments.get("scroll_amount")
    pixels = min(10, max(1, int(3 if amount is None else amount))) * NOTCH_PX
    target = _target(arguments["target"], screen)
    return (Scroll(target=target, dx=across * pixels, dy=down * pixels),)


def _key(arguments: dict[str, Any], _: Screen) -> tuple[Action, ...]:
    keys = [names_of_keys(word) for word in str(arguments["text"]).split()]
    if not keys:
        raise InvalidCallError("which key?")
    repeat = int(arguments.get("repeat") or 1)
    if len(keys) == 1:
        return (PressKeys(keys=keys[0], repeat=repeat),)
    return tuple(PressKeys(keys=each) for _ in range(min(repeat, 100)) for each in keys)


def _hold(arguments: dict[str, Any], _: Screen) -> tuple[Action, ...]:
    keys = names_of_keys(str(arguments["text"]))
    return (HoldKeys(keys=keys, seconds=seconds(arguments["duration"])),)


def _read(arguments: dict[str, Any], _: Screen) -> tuple[Action, ...]:
    interactive = arguments.get("filter") == "interactive"
    depth, ref = int(arguments.get("depth") or 15), str(arguments.get("ref") or "").strip("[]")
    return (ReadPage(interactive=interactive, depth=depth, element=ref),)


def _set(arguments: dict[str, Any], screen: Screen) -> tuple[Action, ...]:
    return (SetValue(target=_element(arguments["target"], screen), value=arguments["value"]),)


def _drag(arguments: dict[str, Any], screen: Screen) -> tuple[Action, ...]:
    start = _target(arguments["from"], screen)
    return (Drag(start=start, end=_target(arguments["target"], screen)),)


def _wait(arguments: dict[str, Any], _: Screen) -> tuple[Action, ...]:
    return (Wait(seconds=min(float(arguments["duration"]), _MOST_WAIT_S)),)


_MEMBERS = {
    "navigate": Member(_member("goto", _navigate).make, ("goto", "back", "forward", "reload", "activate_tab"), "Navigated."),
    "screenshot": _member("screenshot", lambda *_: (Screenshot(),)),
    "zoom": _member("zoom", lambda a, _: (Zoom(region=tuple(a["region"])),)),
    "left_click": _click("left_click", "Clicked."),
    "right_click": _click("right_click", "Right-clicked."),
    "middle_click": _click("middle_click", "Middle-clicked."),
    "double_click": _click("double_click", "Double-clicked."),
    "triple_click": _click("triple_click", "Triple-clicked."),
    "hover": _member("move", lambda a, s: (Move(target=_target(a["target"], s)),), "Hovered."),
    "left_click_drag": _member("drag", _drag, "Dragged."),
    "left_mouse_down": _member("mouse_down", lambda a, s: (MouseDown(target=_target(a["target"], s)),), "Mouse button pressed."),
    "left_mouse_up": _member("mouse_up", lambda a, s: (MouseUp(target=_target(a["target"], s)),), "Mouse button released."),
    "mouse_move": _member("move", lambda a, s: (Move(target=_target(a["target"], s)),), "Moved the mouse."),
    "scroll": _member("scroll", _scroll, "Scrolled {scroll_direction}."),
    "scroll_to": _member("scroll_to", lambda a, s: (ScrollTo(target=_element(a["target"], s)),), "Scrolled to {ref}."),
    "type": _member("type", lambda a, _: (TypeText(text=str(a["text"])),), "Typed."),
    "key": _member("keys", _key, "Pressed {text}."),
    "hold_key": _member("hold_keys", _hold, "Held {text} for {duration}s."),
    "wait": _member("wait", _wait, "Waited {duration}s."),
    "form_input": _member("set_value", _set, "Set the value of {ref}."),
    "read_page": _member("read_page", _read, "(empty)"),
    "find": _member("find", lambda a, _: (FindElements(query=str(a["query"])),), "(empty)"),
    "get_page_text": _member("page_text", lambda *_: (PageText(),), "(empty)"),
    "new_tab": Member(lambda *_: (NewTab(),), ("new_tab",)),
    "list_tabs": Member(lambda *_: (ListTabs(),), ("list_tabs",)),
    "switch_tab": Member(lambda a, _: (ActivateTab(tab=str(a["tab_id"])),), ("activate_tab",)),
    "close_tab": Member(lambda a, _: (CloseTab(tab=str(a["tab_id"])),), ("close_tab",)),
}  # fmt: skip


class _BrowserToolset20260801(ClaudeToolset):
    name = "browser_toolset_20260801"
    models = (
        r"claude-opus-4-8", r"claude-opus-5(-5)?", r"claude-sonnet-5",
        r"claude-(fable|mythos)-5(-[12])?",
    )  # fmt: skip
    environments = ("browser",)
    since = date(2026, 11, 22)
    default = False  # the computer toolset works everywhere
    family = "browser"
    navigation = False
    members = _MEMBERS
    off = ("javascript_exec", "file_upload", "read_console", "read_network")

    halted = "Not executed: an earlier action in this turn failed."

    def content(self, done: Answered) -> tuple[TextPart | ImagePart, ...]:
        if done.call.name in _STATE_ALONE:
            return ()
        if done.call.name == "navigate":
            return (TextPart(text=_arrived(done)),)
        return super().content(done)

    def state(self, done: Answered) -> tuple[OpaquePart, ...]:
        tabs = done.result.tabs or done.observation.open_tabs
        listed: list[JsonValue] = [
            {"tab_id": tab.id, "title": _line(tab.title), "url": _line(tab.url), "active": tab.active}
            for tab in tabs
        ]  # fmt: skip
        block: dict[str, JsonValue] = {"type": "browser_state", "tabs": listed}
        if done.call.name == "new_tab":
            opened = next((tab.id for tab in tabs if tab.active), None)
            block["state_changes"] = [{"type": "tab_opened", "tab_id": opened}]
        return (OpaquePart(provider="anthropic", data=block),)


def _arrived(done: Answered) -> str:
    tab = (done.call.arguments or {}).get("tab_id")
    tabs = done.result.tabs or done.observation.open_tabs
    here = next((each for each in tabs if (each.id == tab if tab else each.active)), None)
    if here is None:
        return "Navigated."
    return f"Navigated to {_line(here.url)}" + (f" — {_line(here.title)}" if here.title else "")


def _line(text: str) -> str:
    """Return what a page says as one line that can be sent, as long as the API takes it."""
    line = _UNSAFE.sub(" ", text.encode("utf-8", "replace").decode("utf-8")).strip()
    return line if len(line) <= _MOST_LINE else f"…{line[: _MOST_LINE - 1]}"


DIALECT = _BrowserToolset20260801()
