"""What OpenAI's models say to the two loops, and what of a request is compared."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Any

from exchange import Exchange

if TYPE_CHECKING:
    from test_support.model_server import Seen

__all__ = ["EXCHANGES", "comparable"]

MODEL = "gpt-5.6-sol"
AT = {"x": 10, "y": 20}
BROKEN = {"x": 300, "y": 30}
POPUP = {"x": 300, "y": 10}
ASKS = {"x": 300, "y": 20}

Item = dict[str, Any]

THOUGHT: Item = {"type": "reasoning", "summary": [], "encrypted_content": "c2VjcmV0"}
SUMMED: Item = {
    **THOUGHT,
    "summary": [{"type": "summary_text", "text": "I look first."}],
}
CHECK = {"id": "cu_sc_1", "code": "malicious_instructions", "message": "Take care."}


def message(text: str, phase: str | None = "final_answer", status: str = "completed") -> Item:
    content = [{"type": "output_text", "text": text, "annotations": []}]
    item = {"type": "message", "role": "assistant", "status": status, "content": content}
    return item if phase is None else {**item, "phase": phase}


def acts(*actions: Item, checks: tuple[Item, ...] = (), status: str = "completed") -> Item:
    """Return a call of the computer tool."""
    return {"type": "computer_call", "status": status, "actions": list(actions),
            "pending_safety_checks": list(checks)}  # fmt: skip


def act(kind: str, **arguments: Any) -> Item:
    return {"type": kind, **arguments}


def click(at: dict[str, int], button: str = "left", **more: Any) -> Item:
    return act("click", button=button, **at, **more)


def function(name: str, **arguments: Any) -> Item:
    return {
        "type": "function_call",
        "status": "completed",
        "name": name,
        "arguments": json.dumps(arguments),
    }


def exchange(
    name: str,
    *turns: list[Item],
    browser: bool = True,
    end: tuple[Item, ...] = (message("It is done."),),
) -> Exchange:
    """Build an exchange that ends with words; items and calls get ids."""
    replies = []
    for number, turn in enumerate([*turns, list(end)]):
        output = []
        for place, item in enumerate(turn):
            made = {**item, "id": f"{item['type']}_{number}_{place}"}
            if item["type"].endswith("_call"):
                made["call_id"] = f"call_{number}_{place}"
            output.append(made)
        half = any(each.get("status") == "incomplete" for each in turn)
        replies.append(
            {
                "id": f"resp_{number}", "object": "response", "created_at": 1_700_000_000, "model": MODEL,
                "status": "incomplete" if half else "completed", "error": None, "output": output,
                "incomplete_details": {"reason": "max_output_tokens"} if half else None,
                "instructions": None, "metadata": {}, "parallel_tool_calls": True, "temperature": 1.0,
                "tool_choice": "auto", "tools": [], "top_p": 1.0,
                "usage": {
                    "input_tokens": 10, "input_tokens_details": {"cached_tokens": 0}, "output_tokens": 10,
                    "output_tokens_details": {"reasoning_tokens": 0}, "total_tokens": 20,
                },
            }
        )  # fmt: skip
    return Exchange(name, MODEL, "computer", tuple(replies), browser)


def _exchanges() -> list[Exchange]:
    shot, typed, press = (
        act("screenshot"),
        act("type", text="a"),
        act("keypress", keys=["CTRL", "A"]),
    )
    batch = [click(AT), typed, press, act("wait")]
    turns: dict[str, list[list[Item]]] = {
        "words only": [],
        "one look": [[acts(shot)]],
        "commentary and a call": [[message("I look.", "commentary"), acts(shot)]],
        "words without a phase and a call": [[message("I look.", None), acts(shot)]],
        "reasoning is kept": [[THOUGHT, acts(shot)], [SUMMED, acts(typed)]],
        "reasoning, commentary and a call": [[THOUGHT, message("Now.", "commentary"), acts(typed)]],
        "a batch": [[acts(*batch)]],
        "a batch that ends with a look": [[acts(*batch, shot)]],
        "a picture in the middle of a batch": [[acts(typed, shot, typed)]],
        "two calls in a turn": [[acts(click(AT)), acts(typed)]],
        "three calls, one looks": [[acts(typed), acts(shot), acts(typed)], [acts(shot)]],
        "a call and a function": [[acts(click(AT)), function("goto", url="http://four.test/")]],
        "a function and a call": [[function("goto", url="http://four.test/"), acts(shot)]],
        "addresses": [[function("goto", url="http://four.test/a")], [function("back")]],
        "two functions in a turn": [[function("goto", url="http://four.test/"), function("back")]],
        "tabs": [[function("switch_tab", index=1)], [acts(shot)], [function("switch_tab", index=0)]],
        "a tab and a call": [[function("switch_tab", index=1), acts(shot)]],
        "the first action fails": [[acts(click(BROKEN), typed)], [acts(shot)]],
        "an action in the middle fails": [[acts(click(AT), click(BROKEN), typed)]],
        "the last action fails": [[acts(click(AT), click(BROKEN))]],
        "the first of two calls fails": [[acts(click(BROKEN)), acts(typed)]],
        "the second of two calls fails": [[acts(typed), acts(click(BROKEN))]],
        "a function fails": [[function("goto", url="http://broken.test/")], [acts(shot)]],
        "a function fails before a call": [[function("goto", url="http://broken.test/"), acts(shot)]],
        "a tab that is not there": [[function("switch_tab", index=9)], [acts(shot)]],
        "all clicks": [
            [acts(*(click(AT, button) for button in ("left", "right", "wheel")))],
            [acts(act("double_click", **AT), act("move", **AT))],
        ],
        "modifiers": [[acts(click(AT, keys=["CTRL"]), act("scroll", **AT, scroll_x=0, scroll_y=9, keys=["SHIFT"]))]],
        "scrolling": [[acts(act("scroll", **AT, scroll_x=0, scroll_y=300), act("scroll", **AT, scroll_x=-5, scroll_y=0))]],
        "a drag": [[acts(act("drag", path=[{"x": 1, "y": 2}, {"x": 5, "y": 6}, {"x": 3, "y": 4}]))]],
        "keys": [[acts(press, act("keypress", keys=["ENTER"]))]],
        "a safety check": [[acts(click(AT), checks=(CHECK,))], [acts(shot)]],
        "two safety checks": [[acts(typed, checks=(CHECK, {**CHECK, "id": "cu_sc_2"}))]],
        "a page opens a tab": [[acts(click(POPUP))], [acts(shot)]],
        "a page opens a tab in a batch": [[acts(click(POPUP), typed)], [acts(shot)]],
        "a page asks": [[acts(click(ASKS))], [acts(shot)]],
        "a page asks, and two calls": [[acts(click(ASKS)), acts(typed)]],
        "a place outside": [[acts(click({"x": 900, "y": 1}))], [acts(shot)]],
        "a batch with a place outside": [[acts(typed, click({"x": 900, "y": 1}))], [acts(shot)]],
        "no actions": [[acts()]],
        "a function that was not declared": [[function("teleport", x=1)], [acts(shot)]],
        "a function without its arguments": [[function("goto")], [acts(shot)]],
        "arguments that are cut off": [
            [{"type": "function_call", "status": "completed", "name": "goto", "arguments": '{"url": "htt'}]
        ],
        "a half call": [[acts(click(AT), status="incomplete")], [acts(shot)]],
        "a half call after a whole one": [[acts(typed), acts(click(AT), status="incomplete")]],
        "commentary only": [[message("I will look around.", "commentary")]],
        "thirty steps": [[THOUGHT, acts(click(AT), shot)] for _ in range(30)],
    }  # fmt: skip
    found = [exchange(name, *each) for name, each in turns.items()]
    both = (message("I found it.", "commentary"), message("42"))
    return [
        *found,
        exchange("commentary and an answer", [acts(shot)], end=both),
        exchange("ended by a function", [acts(typed)], end=(function("done", answer="42"),)),
        exchange(
            "on a desktop", [acts(*batch)], [acts(act("double_click", **AT), press)], browser=False
        ),
        exchange("a safety check on a desktop", [acts(typed, checks=(CHECK,))], browser=False),
    ]


EXCHANGES = tuple(_exchanges())


def comparable(seen: Seen) -> dict[str, Any]:
    """Return what of a request is compared: all but the first turn, in which only ours shows the screen."""
    body = {key: value for key, value in seen.body.items() if key != "instructions"}
    native = [tool for tool in body.pop("tools", ()) if tool["type"] != "function"]
    given = body.pop("input")
    items = [{"role": "user", "content": given}] if isinstance(given, str) else given
    turns: list[list[Item]] = []
    model = True
    for item in items:
        own = item.get("role") == "assistant" or item.get("type") in {
            "reasoning",
            "computer_call",
            "function_call",
        }
        if own != model or not turns:
            turns.append([])
        model = own
        turns[-1].append(_item(item))
    return {**body, "native": native, "messages": turns[1:]}


def _item(item: Item) -> Item:
    """Return an item in one of the forms in which it may be written."""
    plain = {key: value for key, value in item.items() if value is not None}
    if item.get("type") == "computer_call_output":
        url = item["output"].get("image_url", "").encode("ascii")
        plain["output"] = {**item["output"], "image_url": hashlib.sha256(url).hexdigest()}
    if isinstance(item.get("output"), list):
        plain["output"] = [_part(each) for each in item["output"]]
    if isinstance(item.get("content"), str):
        plain["content"] = [{"type": "input_text", "text": item["content"]}]
    return plain


def _part(part: Item) -> Item:
    if "image_url" not in part:
        return part
    return {**part, "image_url": hashlib.sha256(part["image_url"].encode("ascii")).hexdigest()}
