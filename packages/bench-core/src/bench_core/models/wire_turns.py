"""Read the turns of model calls by foreign code, from the bodies of requests and answers."""

from __future__ import annotations

import json
import re
from contextlib import suppress
from typing import Any

from bench_core.models.kept_calls import Answered, Sent, picture_part, text_part
from bench_core.records import CallPart

_CONVERSATION = frozenset(
    {"messages", "input", "contents", "system", "instructions", "systemInstruction", "tools"}
)
_PICTURE = re.compile(r"(?:data:image/[\w.+-]+;base64,)?([\w+/=-]{200,})")
_MALFORMED = (AttributeError, IndexError, KeyError, TypeError, ValueError)
_INNER = ("content", "parts", "tool_calls")
_CALLS = frozenset({"tool_use", "function_call", "function"})
_RESULTS = frozenset({"tool_result", "function_call_output"})


def read_sent(model: str, body: dict[str, Any]) -> Sent:
    """Return the settings and turns in a request's body, for any API."""
    turns = body.get("messages") or body.get("contents") or body.get("input") or []
    system = body.get("system") or body.get("instructions") or body.get("systemInstruction")
    tools = body.get("tools")
    return Sent(
        model,
        None if system is None else "\n".join(each.text or "" for each in _turn(system)[1]),
        tools if isinstance(tools, list) else [],
        {name: value for name, value in body.items() if name not in _CONVERSATION},
        turns if isinstance(turns, list) else [turns],
        _turn,
    )


def read_answered(data: dict[str, Any]) -> Answered:
    """Return the content of a whole answer, from any API; its usage is counted elsewhere."""
    choice = _first(data.get("choices")) or _first(data.get("candidates"))
    message = data.get("content") or data.get("output") or choice.get("message") or choice
    stop = data.get("stop_reason") or data.get("status")
    return Answered(
        _turn(message)[1] if message else [],
        stop=str(stop or choice.get("finish_reason") or choice.get("finishReason") or "") or None,
        model_reported=str(data.get("model") or data.get("modelVersion") or "") or None,
    )


class StreamedAnswer:
    """Puts the pieces of a streamed answer together into one as it comes whole."""

    def __init__(self) -> None:
        self.data: dict[str, Any] = {}
        self._pieces: list[dict[str, Any]] = []

    def read(self, event: dict[str, Any]) -> None:
        """Take one event; unknown parts are left out."""
        try:
            self._read(event)
        except _MALFORMED:
            return

    def _read(self, event: dict[str, Any]) -> None:
        if isinstance(event.get("response"), dict):  # Responses: the last has everything
            self.data = event["response"]
        elif event.get("type") == "message_start":
            self.data = {**event["message"], "content": self._pieces}
        elif event.get("type") == "content_block_start":
            self._pieces.append(dict(event["content_block"]))
        elif event.get("type") == "content_block_delta":
            self._add(event["delta"])
        elif event.get("type") == "message_delta":
            self.data |= event["delta"]
        elif "candidates" in event:
            one = _first(event["candidates"])
            self._pieces += (one.get("content") or {}).get("parts") or []
            whole = {"content": {"parts": self._pieces}, "finishReason": one.get("finishReason")}
            self.data = {**event, "candidates": [whole]}
        elif event.get("choices"):
            self._chat(_first(event["choices"]), event.get("model"))

    def _add(self, delta: dict[str, Any]) -> None:
        block = self._pieces[-1]
        for name in ("text", "thinking"):
            if name in delta:
                block[name] = block.get(name, "") + delta[name]
        if "partial_json" in delta:
            before = block["input"] if isinstance(block.get("input"), str) else ""
            block["input"] = before + delta["partial_json"]

    def _chat(self, choice: dict[str, Any], model: Any) -> None:
        delta = choice.get("delta") or {}
        whole = self.data.setdefault("choices", [{"message": {"role": "assistant"}}])[0]
        message = whole["message"]
        self.data["model"] = model
        whole["finish_reason"] = choice.get("finish_reason") or whole.get("finish_reason")
        if delta.get("content"):
            message["content"] = (message.get("content") or "") + delta["content"]
        for each in delta.get("tool_calls") or ():
            calls = message.setdefault("tool_calls", [])
            function = each.get("function") or {}
            if each.get("id"):
                calls.append({"id": each["id"], "type": "function", "function": {"arguments": ""}})
            made = calls[-1]["function"]
            made["name"] = made.get("name") or function.get("name")
            made["arguments"] += function.get("arguments") or ""


def _first(value: Any) -> dict[str, Any]:
    return value[0] if isinstance(value, list) and value and isinstance(value[0], dict) else {}


def _turn(turn: Any) -> tuple[str, list[CallPart]]:
    try:
        return str(turn.get("role") or "user") if isinstance(turn, dict) else "user", _parts(turn)
    except _MALFORMED:
        return "user", [_other(turn)]


def _parts(value: Any) -> list[CallPart]:
    """Return the pieces of a turn, of its content, or of a part of that."""
    if value is None:
        return []
    if isinstance(value, str):
        return [text_part(value)]
    if isinstance(value, list):
        return [part for each in value for part in _parts(each)]
    kind = value.get("type")
    if value.get("role") == "tool" or kind in _RESULTS or "functionResponse" in value:
        return [_result(value)]
    if kind in _CALLS or "functionCall" in value:
        return [_call(value)]
    return _plain_parts(value)


def _plain_parts(value: dict[str, Any]) -> list[CallPart]:
    if value.get("type") == "thinking" or value.get("thought"):
        return [text_part(str(value.get("thinking") or value.get("text")), type="thinking")]
    if isinstance(value.get("text"), str) or value.get("type") == "refusal":
        return [text_part(str(value.get("text") or value.get("refusal") or ""))]
    if not any(name in value for name in _INNER):
        return [_other(value)]
    return [part for name in _INNER for part in _parts(value.get(name))]


def _call(value: dict[str, Any]) -> CallPart:
    message = value.get("functionCall") or value.get("function") or value
    given = next(
        (message[name] for name in ("arguments", "input", "args") if name in message), None
    )
    if isinstance(given, str):
        with suppress(ValueError, RecursionError):
            given = json.loads(given)
    call_id = value.get("call_id") or value.get("id") or message.get("id")
    return CallPart(
        type="call",
        call_id=None if call_id is None else str(call_id),
        name=str(message.get("name")),
        arguments=given,
    )


def _result(value: dict[str, Any]) -> CallPart:
    message = value.get("functionResponse") or value
    ids = (message.get(name) for name in ("tool_call_id", "tool_use_id", "call_id", "id"))
    given = (message.get(name) for name in ("content", "output"))
    content = next((each for each in given if each is not None), None)
    if "response" in message:
        content = json.dumps(message["response"], ensure_ascii=False)
    return CallPart(
        type="result",
        call_id=next((str(each) for each in ids if each), None),
        name=None if message.get("name") is None else str(message["name"]),
        failed=message.get("is_error") is True,
        content=tuple(_parts(content)),
    )


def _other(value: Any) -> CallPart:
    """Return anything else as JSON; a picture by its digest."""
    text = json.dumps(value, ensure_ascii=False, default=str)
    found = _PICTURE.search(text)
    if found is not None and ("image" in text or "inlineData" in text):
        return picture_part(found[1])
    return text_part(text, type="other")
