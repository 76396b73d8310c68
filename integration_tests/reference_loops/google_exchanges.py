"""What Google's models say to the two loops, and what of a request is compared."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any

from exchange import Exchange

if TYPE_CHECKING:
    from test_support.model_server import Seen

__all__ = ["EXCHANGES", "comparable"]

NEW, OLD = "gemini-3.8-flash", "gemini-2.5-computer-use-preview-10-2025"
AT = {"x": 50, "y": 100}
BROKEN = {"x": 940, "y": 152}
POPUP = {"x": 940, "y": 52}
ASKS = {"x": 940, "y": 102}
ENDS = {"start_x": 50, "start_y": 100, "end_x": 500, "end_y": 500}
OLD_ENDS = {**AT, "destination_x": 500, "destination_y": 500}
CONFIRM = {"safety_decision": {"decision": "require_confirmation", "explanation": "Take care."}}

Part = dict[str, Any]

THOUGHT: Part = {"text": "I think.", "thought": True}


def text(words: str, **more: Any) -> Part:
    return {"text": words, **more}


def call(name: str, *, signed: bool = False, **arguments: Any) -> Part:
    part: Part = {"functionCall": {"name": name, "args": arguments}}
    return {**part, "thoughtSignature": "c2lnbmVk"} if signed else part


def exchange(
    name: str,
    *turns: list[Part],
    model: str = NEW,
    stop: str = "STOP",
    ids: bool = True,
    **more: Any,
) -> Exchange:
    """Build an exchange that ends with words; `stop` is that of the turn before."""
    replies = []
    for number, turn in enumerate([*turns, [text("It is done.")]]):
        parts = []
        for place, part in enumerate(turn):
            made = dict(part)
            if "functionCall" in part and ids:
                made["functionCall"] = {**part["functionCall"], "id": f"id_{number}_{place}"}
            parts.append(made)
        last = number == len(turns)
        replies.append(
            {
                "candidates": [
                    {"content": {"role": "model", "parts": parts}, "finishReason": "STOP" if last else stop, "index": 0}
                ],
                "modelVersion": model, "responseId": f"resp_{number}",
                "usageMetadata": {"promptTokenCount": 10, "candidatesTokenCount": 10, "totalTokenCount": 20},
            }
        )  # fmt: skip
    dialect = f"google_computer_use_{'2026' if model == NEW else '2025'}"
    return Exchange(name, model, dialect, tuple(replies), more.get("browser", True))


def _new() -> list[Exchange]:
    shot, typed = call("take_screenshot", intent="look"), call("type", text="a", intent="write")
    click = call("click", **AT, intent="open")
    fails = call("click", **BROKEN, intent="try")
    turns: dict[str, list[list[Part]]] = {
        "words only": [],
        "one look": [[shot]],
        "words and a call": [[text("I look."), shot]],
        "thoughts and signatures are kept": [
            [THOUGHT, call("click", signed=True, **AT, intent="open")],
            [THOUGHT, text("Now."), call("type", signed=True, text="a", intent="write")],
        ],
        "two calls in a turn": [[click, typed]],
        "five calls in a turn": [[click, typed, shot, click, typed]],
        "the first call fails": [[fails, typed]],
        "a call in the middle fails": [[click, fails, typed]],
        "the last call fails": [[click, fails]],
        "the only call fails": [[fails], [shot]],
        "all clicks": [
            [call(kind, **AT, intent="i") for kind in ("click", "double_click", "triple_click")],
            [call(kind, **AT, intent="i") for kind in ("right_click", "middle_click", "move")],
        ],
        "the mouse": [[call("mouse_down", **AT, intent="i")], [call("mouse_up", **AT, intent="i")]],
        "keys": [
            [call("press_key", key="Enter", intent="i"), call("hotkey", keys=["Control", "A"], intent="i")],
            [call("key_down", key="Shift", intent="i"), call("key_up", key="Shift", intent="i")],
        ],
        "type and enter": [[call("type", text="a", press_enter=True, intent="i")]],
        "scrolling": [
            [call("scroll", **AT, direction="down", intent="i")],
            [call("scroll", **AT, direction="left", magnitude_in_pixels=120, intent="i")],
        ],
        "a drag": [[call("drag_and_drop", **ENDS, intent="i")]],
        "waiting": [[call("wait", seconds=1, intent="i")], [call("wait", intent="i")]],
        "addresses": [
            [call("navigate", url="http://four.test/a", intent="i")],
            [call("go_back", intent="i")],
            [call("go_forward", intent="i")],
        ],
        "addresses in a batch": [[call("navigate", url="http://four.test/", intent="i"), shot]],
        "an address without a host": [[call("navigate", url="http://broken.test/", intent="i"), shot]],
        "a safety decision": [[call("click", **AT, **CONFIRM, intent="i")], [shot]],
        "a safety decision in a batch": [[typed, call("click", **AT, **CONFIRM, intent="i")]],
        "an allowed action": [[call("click", **AT, safety_decision={"decision": "regular"}, intent="i")]],
        "a page opens a tab": [[call("click", **POPUP, intent="i")], [shot]],
        "a page opens a tab in a batch": [[call("click", **POPUP, intent="i"), typed]],
        "a page asks": [[call("click", **ASKS, intent="i")], [shot]],
        "a place outside": [[call("click", x=1500, y=1, intent="i")], [shot]],
        "the far corner": [[call("move", x=1000, y=1000, intent="i")]],
        "no arguments": [[call("click")], [shot]],
        "arguments of the first vocabulary": [[call("drag_and_drop", **OLD_ENDS, intent="i")], [shot]],
        "an unknown argument": [[call("click", **AT, button="right", intent="i")], [shot]],
        "arguments of other types": [[call("type", text=5, intent="i")], [shot]],
        "a nested place": [[call("click", x={"y": 1}, y=2, intent="i")], [shot]],
        "a function of the first vocabulary": [[call("click_at", **AT)], [shot]],
        "a function that was not declared": [[call("teleport", x=1)], [shot]],
        "thirty steps": [[THOUGHT, click, shot] for _ in range(30)],
    }  # fmt: skip
    found = [exchange(name, *each) for name, each in turns.items()]
    return [
        *found,
        exchange("calls without ids", [click, typed], [shot], ids=False),
        exchange("a reply is cut off", [THOUGHT, click], stop="MAX_TOKENS"),
        exchange("a malformed call", [], stop="MALFORMED_FUNCTION_CALL"),
    ]


def _old() -> list[Exchange]:
    click = call("click_at", **AT)
    typed = call("type_text_at", **AT, text="a")
    turns: dict[str, list[list[Part]]] = {
        "old: one call": [[call("open_web_browser")]],
        "old: two calls in a turn": [[click, typed]],
        "old: type": [[call("type_text_at", **AT, text="a", press_enter=False, clear_before_typing=False)]],
        "old: scrolling": [
            [call("scroll_document", direction="down")],
            [call("scroll_at", **AT, direction="up", magnitude=400)],
            [call("scroll_at", **AT, direction="up")],
        ],
        "old: a drag": [[call("drag_and_drop", **OLD_ENDS)]],
        "old: the rest": [
            [call("hover_at", **AT), call("key_combination", keys="Control+A"), call("wait_5_seconds")],
            [call("navigate", url="http://four.test/"), call("go_back"), call("go_forward")],
        ],
        "old: a safety decision": [[call("click_at", **AT, **CONFIRM)], [typed]],
        "old: the call fails": [[call("click_at", **BROKEN)], [typed]],
        "old: arguments of the second vocabulary": [[call("drag_and_drop", **ENDS)], [typed]],
    }  # fmt: skip
    return [exchange(name, *each, model=OLD) for name, each in turns.items()]


EXCHANGES = (*_new(), *_old())


def comparable(seen: Seen) -> dict[str, Any]:
    """Return what of a request is compared: all but the first turn, in which only ours shows the screen."""
    body = {
        key: value for key, value in seen.body.items() if key not in {"systemInstruction", "labels"}
    }
    native = [
        tool for tool in body.pop("tools", ()) if "computerUse" in tool or "computer_use" in tool
    ]
    turns = [_plain(each) for each in body.pop("contents")[1:]]
    config = body.pop("generationConfig", None)
    return {**body, "config": _plain(config), "native": _plain(native), "messages": turns}


def _plain(value: Any) -> Any:
    """Return a value with names as they are on the wire and pictures by their sums."""
    if isinstance(value, list):
        return [_plain(each) for each in value]
    if not isinstance(value, dict):
        return value
    made = {_camel(key): _plain(each) for key, each in value.items() if each is not None}
    if isinstance(made.get("data"), str) and "mimeType" in made:
        made["data"] = hashlib.sha256(made["data"].encode("ascii")).hexdigest()
    return made


def _camel(name: str) -> str:
    if name in {"safety_decision", "safety_acknowledgement"} or not name.islower():
        return name
    first, *rest = name.split("_")
    known = {"inline_data", "mime_type", "function_call", "function_response", "computer_use", "thought_signature",
             "excluded_predefined_functions", "include_thoughts"}  # fmt: skip
    return first + "".join(word.capitalize() for word in rest) if name in known else name
