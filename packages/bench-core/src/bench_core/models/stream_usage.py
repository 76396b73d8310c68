"""Usage in the events of a streamed answer, and upper bounds for calls whose usage never came."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

from bench_core.models.anthropic import read_usage as anthropic_usage
from bench_core.models.google import read_usage as google_usage
from bench_core.models.openai import read_usage as openai_usage
from bench_core.records import Usage

USAGE_BOUNDED = "usage_upper_bound"
"""Flags results with a call that was cut off: its usage is counted as an upper bound."""

_READERS: Mapping[str, Callable[[dict[str, Any]], Usage | None]] = {
    "anthropic": anthropic_usage,
    "google": google_usage,
    "openai": partial(openai_usage, took="input", gave="output"),
    "openai-chat": partial(openai_usage, took="prompt", gave="completion"),
}
_END = re.compile(rb"\r?\n\r?\n")
_ENDINGS = frozenset({"response.completed", "response.incomplete", "response.failed"})
_LAST = _ENDINGS | {"message_stop"}
_DONE = b"[DONE]"
# Pictures of the largest size that the providers take are 8,464 and 10,000 tokens.
_PICTURE = 10_000
_PICTURES = re.compile(r"(?:data:image/[\w.+-]+;base64,)?(?:iVBOR|/9j/|R0lGOD|UklGR)[\w+/=-]{200,}")
_MOST_OUTPUT = 128_000
_MOST_INPUT = 1_000_000
_AROUND = 1_000  # tokens that tools and roles add to the text of a request


def usage_of(provider: str, reported: dict[str, Any]) -> Usage | None:
    """Return the usage that an answer reports, None if it is missing or unreadable."""
    try:
        return _READERS[provider](reported)
    except (AttributeError, TypeError, ValueError):  # another server's form of the API
        return None


def split_events(buffer: bytearray) -> Iterator[bytes]:
    """Take the complete events from the beginning of a buffer of server-sent events."""
    while found := _END.search(buffer):
        event = bytes(buffer[: found.end()])
        del buffer[: found.end()]
        yield event


def data_of_event(event: bytes) -> dict[str, Any] | None:
    """Return the JSON object that an event carries, None if it has none."""
    lines = [
        line[5:].strip() for line in event.replace(b"\r", b"").split(b"\n") if line[:5] == b"data:"
    ]
    try:
        data = json.loads(b"\n".join(lines)) if lines else None
    except (ValueError, RecursionError):
        return None
    return data if isinstance(data, dict) else None


def ends_answer(event: bytes, data: dict[str, Any] | None) -> bool:
    """Whether programs take an event for the end of the answer; Google's ends with the connection.

    >>> ends_answer(b"data: [DONE]", None), ends_answer(b"data: {}", {})
    (True, False)
    """
    return _DONE in event if data is None else data.get("type") in _LAST


class StreamUsage:
    """Adds up the usage in the events of one answer.

    Attributes:
        model: The model named in the answer.
        complete: Whether the usage covers the whole answer.

    >>> seen = StreamUsage("openai-chat")
    >>> seen.read({"choices": [], "usage": {"prompt_tokens": 5, "completion_tokens": 2}})
    >>> seen.usage.total_tokens, seen.complete
    (7, True)
    """

    def __init__(self, provider: str) -> None:
        self._provider = provider
        self._found: dict[str, Any] = {}
        self.model: str | None = None
        self.complete = False

    @property
    def usage(self) -> Usage | None:
        """The usage reported so far, None if missing or unreadable."""
        return usage_of(self._provider, self._found)

    def read(self, data: dict[str, Any]) -> None:
        """Read one event."""
        if self._provider == "anthropic":
            if data.get("type") == "message_start" and isinstance(data.get("message"), dict):
                self._note(data["message"].get("usage"), data["message"].get("model"))
            elif data.get("type") == "message_delta":
                self._note(data.get("usage"), None)  # counts from the beginning, not since the last
                self.complete = self.complete or isinstance(data.get("usage"), dict)
        elif self._provider == "google":
            self._note(data.get("usageMetadata"), data.get("modelVersion"))
            first = (data.get("candidates") or [{}])[0]
            blocked = (data.get("promptFeedback") or {}).get("blockReason")
            self.complete = self.complete or bool(first.get("finishReason") or blocked)
        elif self._provider == "openai":
            answer = data.get("response")
            if isinstance(answer, dict):
                self._note(answer.get("usage"), answer.get("model"))
                self.complete = data.get("type") in _ENDINGS and bool(answer.get("usage"))
        else:
            self._note(data.get("usage"), data.get("model"))
            self.complete = self.complete or isinstance(data.get("usage"), dict)

    def _note(self, usage: Any, model: Any) -> None:
        if isinstance(usage, dict):
            self._found |= {name: value for name, value in usage.items() if value is not None}
        if isinstance(model, str):
            self.model = model


def upper_bound(provider: str, body: dict[str, Any], reported: Usage | None = None) -> Usage:
    """Return an upper bound of a call's usage when its answer was not read to the end.

    Text has at most one token per byte, a picture 10,000; the answer as many as the request
    allows, 128,000 if it sets no limit. Earlier turns that only the provider has count 1,000,000.

    Args:
        provider: The API.
        body: The request.
        reported: Usage in the answer before it broke off.

    >>> upper_bound("openai", {"input": "x" * 500, "max_output_tokens": 64}).output_tokens
    64
    """
    known = reported or Usage()
    sent = known.input_tokens
    if not sent and (body.get("previous_response_id") or body.get("conversation")):
        sent = _MOST_INPUT
    elif not sent:
        text, pictures = _PICTURES.subn("", json.dumps(body, ensure_ascii=False))
        sent = len(text.encode("utf-8", "replace")) + pictures * _PICTURE + _AROUND
    written = sent if known.input_tokens == 0 and "cache_control" in json.dumps(body) else 0
    return known.model_copy(
        update={
            "requests": 1,
            "input_tokens": sent,
            "cache_write_tokens": known.cache_write_tokens or written,
            "output_tokens": max(known.output_tokens, _output_of(provider, body)),
        }
    )


def _output_of(provider: str, body: dict[str, Any]) -> int:
    if provider == "google":
        config = body.get("generationConfig") or {}
        most, times = config.get("maxOutputTokens"), config.get("candidateCount")
    elif provider == "openai-chat":
        most, times = body.get("max_completion_tokens") or body.get("max_tokens"), body.get("n")
    else:
        most, times = body.get("max_output_tokens") or body.get("max_tokens"), 1
    return _count(most, _MOST_OUTPUT) * _count(times, 1)


def _count(value: Any, otherwise: int) -> int:
    return value if isinstance(value, int) and value > 0 else otherwise
