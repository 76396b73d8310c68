"""What Claude says to the two loops, and what of a request is compared."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any

from exchange import Exchange

if TYPE_CHECKING:
    from test_support.model_server import Seen

__all__ = ["EXCHANGES", "comparable"]

MODEL = "claude-opus-5-5"
AT = {"target": {"type": "coordinate", "x": 10, "y": 20}}
REF = {"target": {"type": "ref", "ref": "ref_2"}}
GONE = {"target": {"type": "ref", "ref": "ref_9"}}
BROKEN = {"target": {"type": "coordinate", "x": 300, "y": 30}}
POPUP = {"target": {"type": "coordinate", "x": 300, "y": 10}}
ASKS = {"target": {"type": "coordinate", "x": 300, "y": 20}}
THOUGHT = {"type": "thinking", "thinking": "I think.", "signature": "c2lnbmVk"}
HIDDEN = {"type": "redacted_thinking", "data": "c2VjcmV0"}

Block = dict[str, Any]


def text(said: str) -> Block:
    return {"type": "text", "text": said}


def call(name: str, toolset: str | None = None, **arguments: Any) -> Block:
    block = {"type": "tool_use", "name": name, "input": arguments}
    return {**block, "toolset_name": toolset} if toolset else block


def in_browser(name: str, **arguments: Any) -> Block:
    return call(name, "browser", **arguments)


def on_desktop(name: str, **arguments: Any) -> Block:
    return call(name, "computer", **arguments)


def exchange(name: str, toolset: str, *turns: list[Block], stop: str = "tool_use") -> Exchange:
    """Build an exchange that ends with words; calls get ids, and `stop` is that of the turn before."""
    replies = []
    for number, turn in enumerate([*turns, [text("It is done.")]]):
        content = [
            {**block, "id": f"toolu_{number}_{place}"} if block["type"] == "tool_use" else block
            for place, block in enumerate(turn)
        ]
        last = number == len(turns)
        replies.append(
            {
                "id": f"msg_{number}", "type": "message", "role": "assistant", "model": MODEL,
                "content": content, "stop_reason": "end_turn" if last else stop,
                "stop_sequence": None, "usage": {"input_tokens": 10, "output_tokens": 10},
            }
        )  # fmt: skip
    dialect, browser = f"{toolset}_toolset_20260801", toolset == "browser"
    return Exchange(f"{toolset}: {name}", MODEL, dialect, tuple(replies), browser)


def _browser() -> list[Exchange]:
    shot, typed = in_browser("screenshot"), in_browser("type", text="a")
    batch = [in_browser("left_click", **AT), typed, shot, in_browser("key", text="Return")]
    fails = in_browser("left_click", **BROKEN)
    turns: dict[str, list[list[Block]]] = {
        "words only": [],
        "one look": [[shot]],
        "words and a call": [[text("I look."), shot]],
        "thinking is kept": [[THOUGHT, shot], [THOUGHT, HIDDEN, text("Now."), typed]],
        "a batch": [batch],
        "a picture in the middle of a batch": [[typed, shot, typed, shot, typed]],
        "the first call fails": [[fails, *batch]],
        "a call in the middle fails": [[*batch[:2], fails, *batch[2:]]],
        "the last call fails": [[*batch, fails]],
        "the only call fails": [[fails], [shot]],
        "an element that is gone": [[in_browser("left_click", **GONE), shot]],
        "an element": [[in_browser("read_page"), in_browser("left_click", **REF)]],
        "all clicks": [
            [
                in_browser(kind, **AT)
                for kind in (
                    "left_click", "right_click", "middle_click", "double_click", "triple_click", "hover",
                    "mouse_move", "left_mouse_down", "left_mouse_up",
                )
            ]
        ],
        "keys": [
            [
                in_browser("key", text="ctrl+a"),
                in_browser("key", text="Down", repeat=3),
                in_browser("hold_key", text="shift", duration=1),
                in_browser("hold_key", text="shift", duration=0.5),
                in_browser("wait", duration=1.0),
            ]
        ],
        "scrolling": [
            [
                in_browser("scroll", **AT, scroll_direction="down"),
                in_browser("scroll", **AT, scroll_direction="left", scroll_amount=2),
                in_browser("scroll_to", **REF),
            ]
        ],
        "a form": [[in_browser("form_input", **REF, value="x"), in_browser("form_input", **REF, value=True)]],
        "a drag": [[in_browser("left_click_drag", **AT, **{"from": AT["target"]})]],
        "reading": [
            [in_browser("read_page"), in_browser("find", query="Save"), in_browser("get_page_text")],
            [in_browser("read_page", filter="interactive", depth=2)],
        ],
        "an empty page": [[in_browser("new_tab"), in_browser("read_page")]],
        "addresses": [
            [in_browser("navigate", url="http://four.test/a")],
            [in_browser("navigate", url="four.test")],
            [in_browser("navigate", url="back"), in_browser("navigate", url="reload")],
        ],
        "an address without a host": [[in_browser("navigate", url="http://broken.test/"), shot]],
        "a new tab": [[in_browser("new_tab")], [in_browser("navigate", url="http://four.test/")]],
        "a new tab in a batch": [[in_browser("new_tab"), in_browser("navigate", url="http://a.test/"), shot]],
        "tabs": [
            [in_browser("list_tabs")],
            [in_browser("switch_tab", tab_id="tab_2"), shot],
            [in_browser("close_tab", tab_id="tab_1")],
            [in_browser("list_tabs")],
        ],
        "a tab that is not there": [[in_browser("switch_tab", tab_id="tab_9"), shot]],
        "closing the last tab": [
            [in_browser("close_tab", tab_id="tab_1"), in_browser("close_tab", tab_id="tab_2")]
        ],
        "reading another tab": [
            [
                in_browser("read_page", tab_id="tab_2"),
                in_browser("screenshot", tab_id="tab_2"),
                in_browser("get_page_text", tab_id="tab_2"),
                shot,
            ]
        ],
        "acting in another tab": [
            [in_browser("left_click", **AT, tab_id="tab_2"), in_browser("navigate", url="http://b.test/", tab_id="tab_2")]
        ],
        "a page opens a tab": [[in_browser("left_click", **POPUP), shot]],
        "a page opens a tab and a call fails": [[in_browser("left_click", **POPUP), fails], [shot]],
        "a page asks": [[in_browser("left_click", **ASKS), shot]],
        "a page asks, and tabs are listed": [[in_browser("left_click", **ASKS)], [in_browser("list_tabs")]],
        "a member that does not exist": [[in_browser("teleport", x=1), shot]],
        "a member that is off": [[in_browser("javascript_exec", text="1"), shot]],
        "no arguments": [[in_browser("left_click"), shot]],
        "arguments of other types": [[in_browser("type", text=5)], [in_browser("key", text=["a"])]],
        "a place outside": [[in_browser("left_click", target={"type": "coordinate", "x": 900, "y": 1}), shot]],
        "a nested place": [[in_browser("left_click", target={"type": "coordinate", "x": {"y": 1}, "y": 2})]],
        "a negative wait": [[in_browser("wait", duration=-1)]],
        "a tool that was not declared": [[call("shell", command="ls"), shot]],
        "the toolset's name as a tool": [[call("browser", action="screenshot")]],
        "thirty steps": [[in_browser("left_click", **AT), shot] for _ in range(30)],
    }  # fmt: skip
    found = [exchange(name, "browser", *each) for name, each in turns.items()]
    return [*found, exchange("a reply is cut off", "browser", [THOUGHT, shot], stop="max_tokens")]


def _desktop() -> list[Exchange]:
    shot, typed = on_desktop("screenshot"), on_desktop("type", text="a")
    click = on_desktop("left_click", coordinate=[10, 20])
    fails = on_desktop("left_click", coordinate=[300, 30])
    turns: dict[str, list[list[Block]]] = {
        "words only": [],
        "one look": [[shot]],
        "a batch with a picture": [[click, typed, shot, on_desktop("key", text="Return"), shot]],
        "thinking is kept": [[THOUGHT, shot], [THOUGHT, text("Now."), typed]],
        "the first call fails": [[fails, click, typed]],
        "a call in the middle fails": [[click, fails, shot]],
        "the last call fails": [[click, fails], [shot]],
        "all clicks": [
            [
                on_desktop(kind, coordinate=[10, 20])
                for kind in ("left_click", "right_click", "middle_click", "double_click", "triple_click")
            ],
            [on_desktop("left_click"), on_desktop("cursor_position")],
        ],
        "the mouse": [
            [
                on_desktop("mouse_move", coordinate=[10, 20]),
                on_desktop("left_mouse_down"),
                on_desktop("left_mouse_up"),
                on_desktop("left_click_drag", start_coordinate=[1, 2], coordinate=[3, 4]),
                on_desktop("scroll", scroll_direction="up", scroll_amount=2, coordinate=[10, 20]),
                on_desktop("zoom", region=[0, 0, 100, 50]),
            ]
        ],
        "keys": [
            [
                on_desktop("key", text="ctrl+s"),
                on_desktop("key", text="Down", repeat=3),
                on_desktop("hold_key", text="shift", duration=1),
                on_desktop("wait", duration=1),
            ]
        ],
        "a place outside": [[on_desktop("left_click", coordinate=[900, 1]), shot]],
        "half a place": [[on_desktop("left_click", coordinate=[1])], [on_desktop("mouse_move")]],
        "a member that does not exist": [[on_desktop("teleport"), shot]],
        "arguments of other types": [[on_desktop("scroll", scroll_direction="in", scroll_amount="x")]],
        "another toolset's call": [[in_browser("screenshot"), shot]],
        "thirty steps": [[click, shot] for _ in range(30)],
    }  # fmt: skip
    return [exchange(name, "computer", *each) for name, each in turns.items()]


EXCHANGES = (*_browser(), *_desktop())


def comparable(seen: Seen) -> dict[str, Any]:
    """Return what of a request is compared: all but the first turn, in which only ours shows the screen."""
    body = {key: value for key, value in seen.body.items() if key != "system"}
    native = [tool for tool in body.pop("tools", ()) if "type" in tool and tool["type"] != "custom"]
    turns = [_turn(each) for each in body.pop("messages")[1:]]
    beta = seen.headers.get("anthropic-beta")
    return {**body, "toolset": native, "messages": turns, "anthropic-beta": beta}


def _turn(turn: dict[str, Any]) -> dict[str, Any]:
    content = turn["content"]
    blocks = [text(content)] if isinstance(content, str) else content
    return {**turn, "content": [_block(each) for each in blocks]}


def _block(block: Block) -> Block:
    """Return a block in one of the forms in which it may be written."""
    if block["type"] == "image":
        data = block["source"]["data"].encode("ascii")
        return {**block, "source": hashlib.sha256(data).hexdigest()}
    if block["type"] == "tool_use":
        return {key: value for key, value in block.items() if value is not None}
    if block["type"] != "tool_result":
        return block
    content = block.get("content") or []
    blocks = [text(content)] if isinstance(content, str) else content
    plain = {**block, "content": [_block(each) for each in blocks]}
    return {
        key: value
        for key, value in plain.items()
        if not (key == "is_error" and value is False) and value is not None
    }
