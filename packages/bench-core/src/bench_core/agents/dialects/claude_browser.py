"""Claude's browser toolset of August 2026: pages by element and by tab, with the mouse and the keys, too."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from pydantic import JsonValue

from bench_core.agents.dialects.claude import (
    BUTTONS,
    NOTCH_PX,
    ClaudeToolset,
    direction,
    keys,
    region,
    seconds,
    whole,
    words,
)
from bench_core.agents.dialects.coordinates import within
from bench_core.agents.dialects.interface import Answered, Member, Screen, names_of_keys, place_text
from bench_core.agents.records import (
    Action,
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
    Observation,
    PageText,
    Point,
    ReadPage,
    Reload,
    Screenshot,
    Scroll,
    ScrollTo,
    SetValue,
    Target,
    TypeText,
    Wait,
    Zoom,
)
from bench_core.agents.tools import InvalidCallError
from bench_core.models.records import ImagePart, OpaquePart, Part, TextPart

_MOST_WAIT_S = 30.0
_MOST_LINE = 4096
_MOST_SHOWN = 100
_TARGETS = '{"type": "ref", "ref": "ref_1"} or {"type": "coordinate", "x": 1, "y": 2}'
_BEFORE_ID = re.compile(
    r"\[(?=[1-9][0-9]*\] [a-z])|^element (?=[0-9])|(?<=\(id )(?=[0-9])|(?<=more: read_page )(?=[0-9])"
)
"""The text before the number of an element, in pages as text and in results."""
_UNSAFE = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]+")
_HISTORY: dict[str, Action] = {"back": Back(), "forward": Forward(), "reload": Reload()}
_STATE_ALONE = frozenset({"new_tab", "list_tabs", "switch_tab", "close_tab"})


def _target(value: Any, screen: Screen) -> Target:
    kind = value.get("type") if isinstance(value, dict) else None
    if kind == "ref":
        return ElementRef(element=words(value, "ref").strip("[]"))
    if kind == "coordinate":
        return within(value["x"], value["y"], screen.size)
    raise InvalidCallError(f"a target is {_TARGETS}, not {repr(value)[:_MOST_SHOWN]}")


def _element(value: Any, screen: Screen) -> ElementRef:
    target = _target(value, screen)
    if not isinstance(target, ElementRef):
        raise InvalidCallError("the target is a ref")
    return target


def _point(value: Any, screen: Screen) -> Point:
    target = _target(value, screen)
    if isinstance(target, ElementRef):
        raise InvalidCallError("the target is a coordinate")
    return target


def _member(
    kind: str, make: Callable[[dict[str, Any], Screen], tuple[Action, ...]], says: str = "ok"
) -> Member:
    def in_tab(arguments: dict[str, Any], screen: Screen) -> tuple[Action, ...]:
        tab = words(arguments, "tab_id") if arguments.get("tab_id") is not None else ""
        made = make(arguments, screen)
        if not tab:
            return made
        # only `switch_tab` makes another tab the one that calls without an id apply to
        return tuple(
            each.model_copy(update={"tab": tab}) if isinstance(each, InTab) else each
            for each in made
        )

    return Member(in_tab, (kind, "activate_tab"), says)


def _click(kind: str, says: str) -> Member:
    def make(arguments: dict[str, Any], screen: Screen) -> tuple[Action, ...]:
        held = words(arguments, "modifiers") if arguments.get("modifiers") is not None else ""
        target = _target(arguments["target"], screen)
        modifiers = names_of_keys(held) if held.strip() else ()
        return (Click(target=target, modifiers=modifiers, **BUTTONS[kind]),)

    return _member("click", make, says)


def _navigate(arguments: dict[str, Any], _: Screen) -> tuple[Action, ...]:
    url = words(arguments, "url").strip()
    return (_HISTORY.get(url.lower()) or Goto(url=url),)


def _scroll(arguments: dict[str, Any], screen: Screen) -> tuple[Action, ...]:
    across, down = direction(arguments)
    pixels = whole(arguments, "scroll_amount", 3, 10) * NOTCH_PX
    target = _point(arguments["target"], screen)
    return (Scroll(target=target, dx=across * pixels, dy=down * pixels),)


def _read(arguments: dict[str, Any], _: Screen) -> tuple[Action, ...]:
    kept = arguments.get("filter")
    if kept not in (None, "all", "interactive"):
        raise InvalidCallError(f"filter is all or interactive, not {kept!r}")
    depth = whole(arguments, "depth", 15, 100)
    ref = words(arguments, "ref").strip("[]") if arguments.get("ref") is not None else ""
    return (
        ReadPage(visible=kept is None, interactive=kept == "interactive", depth=depth, element=ref),
    )


def _set(arguments: dict[str, Any], screen: Screen) -> tuple[Action, ...]:
    return (SetValue(target=_element(arguments["target"], screen), value=arguments["value"]),)


def _drag(arguments: dict[str, Any], screen: Screen) -> tuple[Action, ...]:
    start = _point(arguments["from"], screen)
    return (Drag(start=start, end=_point(arguments["target"], screen)),)


_MADE = {
    "navigate": Member(_member("goto", _navigate).make, ("goto", "back", "forward", "reload", "activate_tab"), "Navigated."),
    "screenshot": _member("screenshot", lambda *_: (Screenshot(),)),
    "zoom": _member("zoom", lambda a, s: (Zoom(region=region(a, s)),)),
    "left_click": _click("left_click", "Clicked."),
    "right_click": _click("right_click", "Right-clicked."),
    "middle_click": _click("middle_click", "Middle-clicked."),
    "double_click": _click("double_click", "Double-clicked."),
    "triple_click": _click("triple_click", "Triple-clicked."),
    "hover": _member("move", lambda a, s: (Move(target=_target(a["target"], s)),), "Hovered."),
    "left_click_drag": _member("drag", _drag, "Dragged."),
    "left_mouse_down": _member("mouse_down", lambda a, s: (MouseDown(target=_point(a["target"], s)),), "Mouse button pressed."),
    "left_mouse_up": _member("mouse_up", lambda a, s: (MouseUp(target=_point(a["target"], s)),), "Mouse button released."),
    "mouse_move": _member("move", lambda a, s: (Move(target=_point(a["target"], s)),), "Moved the mouse."),
    "scroll": _member("scroll", _scroll, "Scrolled {scroll_direction}."),
    "scroll_to": _member("scroll_to", lambda a, s: (ScrollTo(target=_element(a["target"], s)),), "Scrolled to {ref}."),
    "type": _member("type", lambda a, _: (TypeText(text=words(a, "text")),), "Typed."),
    "key": _member("keys", lambda a, _: keys(a), "Pressed {text}."),
    "hold_key": _member("hold_keys", lambda a, _: (HoldKeys(keys=names_of_keys(words(a, "text")), seconds=seconds(a, _MOST_WAIT_S)),), "Held {text} for {duration}s."),
    "wait": _member("wait", lambda a, _: (Wait(seconds=seconds(a, _MOST_WAIT_S)),), "Waited {duration}s."),
    "form_input": _member("set_value", _set, "Set the value of {ref}."),
    "read_page": _member("read_page", _read, "(empty)"),
    "find": _member("find", lambda a, _: (FindElements(query=words(a, "query")),), "(empty)"),
    "get_page_text": _member("page_text", lambda *_: (PageText(),), "(empty)"),
    "new_tab": Member(lambda *_: (NewTab(),), ("new_tab",)),
    "list_tabs": Member(lambda *_: (ListTabs(),), ("list_tabs",)),
    "switch_tab": Member(lambda a, _: (ActivateTab(tab=words(a, "tab_id")),), ("activate_tab",)),
    "close_tab": Member(lambda a, _: (CloseTab(tab=words(a, "tab_id")),), ("close_tab",)),
}  # fmt: skip


_TAKES: dict[str, tuple[str, ...]] = {
    "navigate": ("url",),
    "zoom": ("region",),
    **dict.fromkeys(BUTTONS, ("target", "modifiers")),
    **dict.fromkeys(("hover", "left_mouse_down", "left_mouse_up", "mouse_move", "scroll_to"), ("target",)),
    "left_click_drag": ("from", "target"),
    "scroll": ("target", "scroll_direction", "scroll_amount"),
    "type": ("text",),
    "key": ("text", "repeat"),
    "hold_key": ("text", "duration"),
    "wait": ("duration",),
    "form_input": ("target", "value"),
    "read_page": ("filter", "depth", "ref"),
    "find": ("query",),
}  # fmt: skip
"""Arguments of members, in addition to the tab that nearly all take."""
_MEMBERS = {
    name: replace(member, takes=(*_TAKES.get(name, ()), "tab_id")) for name, member in _MADE.items()
}


class _BrowserToolset20260801(ClaudeToolset):
    name = "browser_toolset_20260801"
    models = (
        r"claude-opus-4-8", r"claude-(opus|sonnet)-5(-5)?", r"claude-haiku-5-5",
        r"claude-(fable|mythos)-5(-[12])?", r"claude-mythos-preview",
    )  # fmt: skip
    environments = ("browser",)
    default = False  # the computer toolset works everywhere
    family = "browser"
    tools = ()
    members = _MEMBERS
    off = ("javascript_exec", "file_upload", "read_console", "read_network")

    halted = "Not executed: an earlier action in this turn failed."

    def place(self, screen: Screen) -> str:
        return place_text(screen, load="navigate", back="navigate")

    def show(self, observation: Observation, *, results: bool) -> tuple[TextPart | ImagePart, ...]:
        # a tab has one name, that of `browser_state`, and the active one is the page
        listed_below = {"tabs": (), "open_tabs": (), "url": None, "title": None}
        bare = observation.model_copy(update=listed_below if observation.open_tabs else {})
        shown = super().show(bare, results=results)
        lines = [
            f"{tab.id}: {_line(tab.title)} {_line(tab.url)}{' (active)' if tab.active else ''}"
            for tab in observation.open_tabs
        ]
        return (*shown, *((TextPart(text="\n".join(["Tabs:", *lines])),) if lines else ()))

    def beside(self, observation: Observation) -> tuple[TextPart, ...]:
        # the results say which pages are open
        return tuple(TextPart(text=each) for each in observation.notices)

    def content(self, done: Answered) -> tuple[TextPart | ImagePart, ...]:
        if done.call.name in _STATE_ALONE:
            return ()
        if done.call.name == "navigate":
            return (TextPart(text=_arrived(done)),)
        shown = super().content(done)
        if done.call.name == "get_page_text":  # which has no ids
            return shown
        return tuple(
            TextPart(text=_referring(each.text)) if isinstance(each, TextPart) else each
            for each in shown
        )

    def answer(self, done: Answered) -> tuple[Part, ...]:
        return super().answer(replace(done, error=done.error and _referring(done.error)))

    def state(self, done: Answered) -> tuple[OpaquePart, ...]:
        tabs = done.result.tabs or done.observation.open_tabs
        listed: list[JsonValue] = [
            {"tab_id": tab.id, "title": _line(tab.title), "url": _line(tab.url), "active": tab.active}
            for tab in tabs
        ]  # fmt: skip
        block: dict[str, JsonValue] = {"type": "browser_state", "tabs": listed}
        known = {tab.id for tab in done.before}
        opened = [tab.id for tab in tabs if tab.id not in known] if known else []
        if done.call.name == "new_tab":  # one that the page opened meanwhile is in the list alone
            opened = [tab.id for tab in tabs if tab.active]
        if opened:
            block["state_changes"] = [{"type": "tab_opened", "tab_id": each} for each in opened]
        return (OpaquePart(provider="anthropic", data=block),)


def _referring(text: str) -> str:
    """Write the ids of elements as this API does: `ref_12`."""
    return _BEFORE_ID.sub(r"\g<0>ref_", text)


def _arrived(done: Answered) -> str:
    tab = (done.call.arguments or {}).get("tab_id")
    tabs = done.result.tabs or done.observation.open_tabs
    here = next((each for each in tabs if (each.id == tab if tab else each.active)), None)
    if here is None:
        return "Navigated."
    return f"Navigated to {_line(here.url)}" + (f" — {_line(here.title)}" if here.title else "")


def _line(text: str) -> str:
    """Return a page's text as one line that can be sent, cut to the length that the API takes."""
    line = _UNSAFE.sub(" ", text.encode("utf-8", "replace").decode("utf-8")).strip()
    return line if len(line) <= _MOST_LINE else f"…{line[: _MOST_LINE - 1]}"


DIALECTS = (_BrowserToolset20260801(),)
