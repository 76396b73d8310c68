"""What providers refuse with HTTP 400 (one with 404), as far as their documents and SDKs say.

`Rules` looks at requests as they arrive; `ModelServer(answers, rules=Rules())` answers by them. The rules were
written after documents and SDK types; no provider was asked.
"""

from __future__ import annotations

import base64
import re
import struct
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from test_support.model_requests import Seen

__all__ = ["Rules"]

_NEW = re.compile(r"claude-(opus|sonnet|haiku)-5-5|claude-(fable|mythos)-5-2")
_THINKS = re.compile(r"claude-(opus|sonnet|haiku)-5-5|claude-(fable|mythos)-5-[12]")
_TOOLSETS = re.compile(r"claude-(opus-4-8|(opus|sonnet|haiku|fable|mythos)-5)")
_BETAS = {
    "computer_20250124": "computer-use-2025-01-24",
    "computer_20251124": "computer-use-2025-11-24",
}
_OFF_BY_RULE = frozenset({"type", "configs", "cache_control"})
_NOT_FOUND = 404
_DETAILS = {"low", "high", "auto", "original"}
_BROWSERS_ONLY = {"go_back", "go_forward", "navigate", "search", "open_web_browser"}
_STATE_ALONE = frozenset({"new_tab", "list_tabs", "switch_tab", "close_tab"})
_MOST_TABS, _MOST_LINE = 100, 4096
_MANY_PICTURES, _MOST_EDGE = 20, 2000


class Rules:
    """The rules of one server; it remembers earlier requests, since the turns must stay as they were.

    Attributes:
        changed_prefixes: How many requests changed what an earlier one had sent.
        follow_ups: How many requests went on from an earlier one.
    """

    def __init__(self) -> None:
        self.changed_prefixes = 0
        self.follow_ups = 0
        self._earlier: list[dict[str, Any]] = []

    def refusal(self, seen: Seen) -> tuple[int, str] | None:
        """Return status and message where the provider would refuse the request."""
        check: Callable[[Seen], Iterator[str]]
        turns = "messages"
        if seen.path.startswith("/v1/messages"):
            check = _anthropic
        elif seen.path.startswith("/v1/responses"):
            check, turns = _openai, "input"
        elif seen.path.startswith("/v1/chat/completions"):
            check = _chat
        else:
            check, turns = _google, "contents"
        changed = self._changed(seen.body, turns)
        message = next(check(seen), None)
        if message is None and changed and _THINKS.match(str(seen.body.get("model"))):
            message = "thinking blocks are bound to a different conversation"
        if message is None:
            return None
        return (_NOT_FOUND if "not persisted" in message else 400), message

    def _changed(self, body: dict[str, Any], turns: str) -> bool:
        """Whether a request changes what an earlier one of the same conversation has sent."""
        now = body.get(turns) or []
        own = [each for each in self._earlier if (each.get(turns) or [None])[0] == now[0]]
        self._earlier.append(body)
        latest = max(own, key=lambda each: len(each[turns]), default=None)
        if latest is None or len(now) <= len(latest[turns]):
            return False
        self.follow_ups += 1
        fixed = ("system", "tools", "instructions", "systemInstruction")
        same = now[: len(latest[turns])] == latest[turns] and all(
            body.get(key) == latest.get(key) for key in fixed
        )
        self.changed_prefixes += not same
        return not same


def _anthropic(seen: Seen) -> Iterator[str]:
    body, model = seen.body, str(seen.body.get("model"))
    for tool in body.get("tools", ()):
        yield from _claude_tool(tool, model, seen.headers.get("anthropic-beta", ""))
    choice = (body.get("tool_choice") or {}).get("type")
    if _THINKS.match(model) and choice in {"any", "tool"}:
        yield f"tool_choice {choice} is not supported with thinking"
    if _THINKS.match(model) and (body.get("thinking") or {}).get("type") == "disabled":
        yield "thinking cannot be disabled for this model"
    calls: dict[str, dict[str, Any]] = {}
    sizes = [_size_of(each) for each in _pictures(body["messages"])]
    if len(sizes) > _MANY_PICTURES and max(max(each) for each in sizes) > _MOST_EDGE:
        yield "image dimensions exceed 2000 pixels, the most in a request with many images"
    for turn in body["messages"]:
        blocks = turn["content"]
        if isinstance(blocks, str):
            continue
        if not blocks:
            yield "messages: content must not be empty"
        yield from _claude_results(turn, calls)
        calls = {block["id"]: block for block in blocks if block["type"] == "tool_use"}


def _claude_tool(tool: dict[str, Any], model: str, beta: str) -> Iterator[str]:
    kind = str(tool.get("type", ""))
    if kind in _BETAS:
        if _NEW.match(model):
            yield f"{model} does not support the tool type {kind}"
        if _BETAS[kind] not in beta:
            yield f"the tool type {kind} needs the header {_BETAS[kind]}"
        if tool.get("name") != "computer" or "display_width_px" not in tool:
            yield f"{kind}: name and display size are required"
    if "_toolset_" in kind:
        if not _TOOLSETS.match(model):
            yield f"{model} does not support the tool type {kind}"
        if set(tool) - _OFF_BY_RULE:
            yield f"{kind}: extra inputs are not permitted: {sorted(set(tool) - _OFF_BY_RULE)}"


def _claude_results(turn: dict[str, Any], calls: dict[str, dict[str, Any]]) -> Iterator[str]:
    results = [block for block in turn["content"] if block["type"] == "tool_result"]
    if turn["role"] == "user" and {each["tool_use_id"] for each in results} != set(calls):
        yield "every tool_use must be answered by one tool_result in the next message"
    if results and turn["content"][0]["type"] != "tool_result":
        yield "tool_result blocks must come first"
    for result in results:
        yield from _claude_result(result, calls.get(result["tool_use_id"], {}))


def _claude_result(result: dict[str, Any], call: dict[str, Any]) -> Iterator[str]:
    content = result.get("content") or ()
    kinds = [block["type"] for block in content]
    if result.get("toolset_name") != call.get("toolset_name"):
        yield "tool_result: toolset_name must be that of its tool_use"
    if result.get("is_error") and (set(kinds) - {"text"} or not kinds):
        yield "tool_result with is_error must have text only"
    if "browser_state" in kinds and call.get("toolset_name") != "browser":
        yield "browser_state answers browser toolset calls only"
    if call.get("toolset_name") and kinds.count("image") > 1:
        yield "a member's result has one image at most"
    if any(block.get("text") == "" for block in content):
        yield "text content blocks must be non-empty"
    for block in content if call.get("toolset_name") else ():
        width, height = _size_of(block)
        if max(width, height) > 2576 or -(-width // 28) * -(-height // 28) > 4784:  # as documented
            yield f"image is too large for this model: {width} x {height}"
    if call.get("toolset_name") == "browser" and not result.get("is_error"):
        yield from _browser_state(call["name"], content)


def _pictures(value: Any) -> Iterator[dict[str, Any]]:
    if isinstance(value, dict) and value.get("type") == "image":
        yield value
    for each in (
        value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    ):
        yield from _pictures(each)


def _size_of(picture: dict[str, Any]) -> tuple[int, int]:
    """Return width and height of a PNG, 0 of anything else."""
    head = base64.b64decode(str((picture.get("source") or {}).get("data") or "")[:32])
    return struct.unpack(">II", head[16:24]) if head[12:16] == b"IHDR" else (0, 0)


def _browser_state(member: str, content: Sequence[dict[str, Any]]) -> Iterator[str]:
    blocks = [block for block in content if block["type"] == "browser_state"]
    if len(blocks) > 1:
        yield "tool_result must have at most one browser_state"
    if member in _STATE_ALONE and len(content) != len(blocks) == 1:
        yield f"the result of {member} is one browser_state block"
    for block in blocks:
        tabs, changes = block["tabs"], block.get("state_changes")
        ids, active = [tab["tab_id"] for tab in tabs], [t["tab_id"] for t in tabs if t["active"]]
        if len(ids) > _MOST_TABS or len(set(ids)) < len(ids) or len(active) != bool(tabs):
            yield "browser_state: at most 100 tabs, each once, one of them active"
        if changes is not None and not changes:
            yield "state_changes must not be empty"
        opened = [each["tab_id"] for each in changes or () if each["type"] == "tab_opened"]
        if set(opened) - set(ids) or (member == "new_tab" and opened != active):
            yield "tab_opened: new_tab opens the active tab, and every opened tab is listed"
        if any(len(tab[key]) > _MOST_LINE for tab in tabs for key in ("url", "title")):
            yield "browser_state: url and title have at most 4096 characters"


def _openai(seen: Seen) -> Iterator[str]:
    body, model = seen.body, str(seen.body.get("model"))
    for tool in body.get("tools", ()):
        kind = tool["type"]
        if kind == "computer" and len(tool) > 1:
            yield "computer: unknown parameter"
        if kind == "computer_use_preview" and not model.startswith("computer-use-preview"):
            yield f"{model} does not support computer_use_preview"
        if kind == "computer" and model.startswith("computer-use-preview"):
            yield f"{model} does not support computer"
    if model.startswith("computer-use-preview") and body.get("truncation") != "auto":
        yield "computer-use-preview needs truncation auto"
    yield from _openai_items(body["input"])


def _openai_items(items: list[dict[str, Any]]) -> Iterator[str]:
    outputs = {each["call_id"]: each for each in items if "output" in each}
    calls: set[str] = set()
    for item, after in zip(items, [*items[1:], {}], strict=True):
        kind = item.get("type")
        if kind == "reasoning" and not item.get("encrypted_content"):
            yield f"Item with id {item['id']!r} not found: items are not persisted when store is false"
        # users' turns and outputs do not follow from it
        if kind == "reasoning" and (after.get("role", "user") == "user" and "call_id" not in after):
            yield f"Item {item['id']!r} of type 'reasoning' was provided without its required following item"
        if kind in {"computer_call", "function_call"}:
            calls.add(item["call_id"])
            yield from _openai_output(item, outputs.get(item["call_id"]))
        if "output" in item and item["call_id"] not in calls:
            yield f"No tool call found for {item['type']} with call_id {item['call_id']}"


def _openai_output(call: dict[str, Any], output: dict[str, Any] | None) -> Iterator[str]:
    wanted = f"{call['type']}_output"
    if output is None or output["type"] != wanted:
        yield f"no {wanted} for {call['call_id']}"
        return
    if call["type"] == "computer_call":
        pending = {each["id"] for each in call.get("pending_safety_checks") or ()}
        known = {each["id"] for each in output.get("acknowledged_safety_checks") or ()}
        if pending - known:
            yield f"safety checks were not acknowledged: {sorted(pending - known)}"
        yield from _openai_picture(output["output"])
    elif not isinstance(output["output"], str):
        for part in output["output"]:
            if part["type"] not in {"input_text", "input_image", "input_file"}:
                yield f"Invalid value: {part['type']!r}"
            if part.get("detail", "auto") not in _DETAILS:
                yield f"Invalid value: {part['detail']!r}"


def _openai_picture(shown: dict[str, Any]) -> Iterator[str]:
    if shown.get("type") != "computer_screenshot":
        yield "the output of a computer call is a computer_screenshot"
    if not shown.get("image_url") and not shown.get("file_id"):
        yield "a computer_screenshot needs an image_url or a file_id"
    if shown.get("detail", "auto") not in _DETAILS:
        yield f"Invalid value: {shown['detail']!r}"


def _google(seen: Seen) -> Iterator[str]:
    tools = [tool["computerUse"] for tool in seen.body.get("tools", ()) if "computerUse" in tool]
    declared = {
        function["name"]
        for tool in seen.body.get("tools", ())
        for function in tool.get("functionDeclarations", ())
    }
    for tool in tools:
        off = set(tool.get("excludedPredefinedFunctions") or ())
        if tool["environment"] == "ENVIRONMENT_DESKTOP" and off & _BROWSERS_ONLY:
            yield f"ENVIRONMENT_DESKTOP has no function {min(off & _BROWSERS_ONLY)!r}"
    calls: list[dict[str, Any]] = []
    for content in seen.body["contents"]:
        answers = [p["functionResponse"] for p in content["parts"] if "functionResponse" in p]
        if len(answers) != len(calls):
            yield "the number of function response parts is not that of function call parts"
        for call, answer in zip(calls, answers, strict=False):
            if answer["name"] != call["name"] or answer.get("id") != call.get("id"):
                yield "a function response does not match its call"
            asked = (call.get("args") or {}).get("safety_decision") or {}
            known = (answer.get("response") or {}).get("safety_acknowledgement")
            if asked.get("decision") == "require_confirmation" and known != "true":
                yield "the safety decision was not acknowledged"
            if tools and call["name"] not in declared and "url" not in answer["response"]:
                yield f"the response of the computer use function {call['name']} lacks the url"
        calls = [part["functionCall"] for part in content["parts"] if "functionCall" in part]


def _chat(seen: Seen) -> Iterator[str]:
    waiting: set[str] = set()
    for turn in seen.body["messages"]:
        if turn["role"] == "tool":
            if turn["tool_call_id"] not in waiting:
                yield "messages with role tool must answer a preceding message with tool_calls"
            waiting.discard(turn["tool_call_id"])
        elif waiting and turn["role"] == "assistant":
            yield f"tool_call_ids without an answer: {sorted(waiting)}"
        if turn["role"] == "assistant":
            waiting = {call["id"] for call in turn.get("tool_calls") or ()}
