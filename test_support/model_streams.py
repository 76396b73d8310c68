"""Streamed answers of the scripted model server: the events of each API, from its whole reply."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

    from test_support.model_requests import Seen

__all__ = ["events_of", "is_streamed"]


def is_streamed(seen: Seen) -> bool:
    """Whether a request asks for its answer in events."""
    return seen.body.get("stream") is True or ":streamGenerateContent" in seen.path


def events_of(reply: dict[str, Any], seen: Seen) -> Iterator[bytes]:
    """Yield the events of a whole reply, its text word by word."""
    if seen.path.startswith("/v1/messages"):
        for event in _anthropic(reply):
            yield f"event: {event['type']}\n".encode() + _data(event)
    elif seen.path.startswith("/v1/responses"):
        for number, event in enumerate(_responses(reply)):
            yield f"event: {event['type']}\n".encode() + _data({**event, "sequence_number": number})
    elif seen.path.startswith("/v1/chat/completions"):
        options = seen.body.get("stream_options") or {}
        yield from map(_data, _chat(reply, usage=bool(options.get("include_usage"))))
        yield b"data: [DONE]\n\n"
    else:
        yield from map(_data, _google(reply))


def _data(event: dict[str, Any]) -> bytes:
    return f"data: {json.dumps(event)}\n\n".encode()


def _words(text: str) -> list[str]:
    return [f"{word} " for word in text.split(" ")[:-1]] + text.split(" ")[-1:]


def _anthropic(reply: dict[str, Any]) -> Iterator[dict[str, Any]]:
    usage = reply["usage"]
    begun = {**reply, "content": [], "stop_reason": None, "usage": {**usage, "output_tokens": 1}}
    yield {"type": "message_start", "message": begun}
    for index, block in enumerate(reply["content"]):
        empty = {**block, "text": ""} if block["type"] == "text" else {**block, "input": {}}
        yield {"type": "content_block_start", "index": index, "content_block": empty}
        if block["type"] == "text":
            deltas = [{"type": "text_delta", "text": word} for word in _words(block["text"])]
        else:
            whole = json.dumps(block.get("input", {}))
            deltas = [{"type": "input_json_delta", "partial_json": whole}]
        for delta in deltas:
            yield {"type": "content_block_delta", "index": index, "delta": delta}
        yield {"type": "content_block_stop", "index": index}
    ended = {"stop_reason": reply["stop_reason"], "stop_sequence": None}
    tokens = {"output_tokens": usage["output_tokens"]}
    yield {"type": "message_delta", "delta": ended, "usage": tokens}
    yield {"type": "message_stop"}


def _responses(reply: dict[str, Any]) -> Iterator[dict[str, Any]]:
    begun = {**reply, "output": [], "usage": None, "status": "in_progress"}
    yield {"type": "response.created", "response": begun}
    for index, item in enumerate(reply["output"]):
        yield {
            "type": "response.output_item.added",
            "output_index": index,
            "item": {**item, "content": []},
        }
        for part in item.get("content", ()):
            place = {"item_id": item["id"], "output_index": index, "content_index": 0}
            empty = {**part, "text": ""}
            yield {"type": "response.content_part.added", **place, "part": empty}
            for word in _words(part.get("text", "")):
                yield {"type": "response.output_text.delta", **place, "delta": word, "logprobs": []}
            yield {"type": "response.content_part.done", **place, "part": part}
        yield {"type": "response.output_item.done", "output_index": index, "item": item}
    yield {"type": f"response.{reply['status']}", "response": reply}


def _chat(reply: dict[str, Any], *, usage: bool) -> Iterator[dict[str, Any]]:
    choice = reply["choices"][0]
    kept = {name: reply[name] for name in ("id", "created", "model")}
    chunk = {**kept, "object": "chat.completion.chunk", **({"usage": None} if usage else {})}
    yield {
        **chunk,
        "choices": [{"index": 0, "delta": {"role": "assistant"}, "finish_reason": None}],
    }
    for word in _words(choice["message"]["content"] or ""):
        yield {
            **chunk,
            "choices": [{"index": 0, "delta": {"content": word}, "finish_reason": None}],
        }
    yield {
        **chunk,
        "choices": [{"index": 0, "delta": {}, "finish_reason": choice["finish_reason"]}],
    }
    if usage:
        yield {**chunk, "choices": [], "usage": reply["usage"]}


def _google(reply: dict[str, Any]) -> Iterator[dict[str, Any]]:
    candidate, usage = reply["candidates"][0], reply["usageMetadata"]
    words = _words("".join(part.get("text", "") for part in candidate["content"]["parts"]))
    for number, word in enumerate(words, start=1):
        last = number == len(words)
        piece: dict[str, Any] = {
            "content": {"role": "model", "parts": [{"text": word}]},
            "index": 0,
        }
        counts = usage if last else {**usage, "candidatesTokenCount": number}
        ended = {"finishReason": candidate["finishReason"]} if last else {}
        yield {**reply, "candidates": [{**piece, **ended}], "usageMetadata": counts}
