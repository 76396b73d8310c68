"""Keep the requests and replies of a trial's model, each turn once, in the trial's folder."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from bench_core.errors import EnvironmentFaultError
from bench_core.models.records import (
    ImagePart,
    Message,
    ModelRequest,
    OpaquePart,
    Part,
    Reply,
    TextPart,
    ToolCall,
    picture_bytes,
)
from bench_core.records import CallPart, CallTurn, ModelCall, Usage
from bench_core.records.codec import encode
from bench_core.redaction import Redactor

CONVERSATION = "conversation.jsonl"
"""One `ModelCall` per line, of the trial's own model client."""
PROXIED_CALLS = "proxied_calls.jsonl"
"""One `ModelCall` per line, of calls that went through the model proxy."""

_MOST_TEXT = 20_000
_MOST_DECLARED = 200_000
_MOST_BYTES = 16 * 1024 * 1024


@dataclass
class Sent:
    """One call's request; `turns`, in any form, are compared with those of the call before.

    Attributes:
        read: Makes role and parts of a turn.
    """

    model: str
    system: str | None
    tools: Sequence[Any]
    settings: dict[str, Any]
    turns: Sequence[Any]
    read: Callable[[Any], tuple[str, list[CallPart]]]
    started: datetime = field(default_factory=lambda: datetime.now(timezone.utc))
    clock: float = field(default_factory=time.monotonic)


@dataclass
class Answered:
    """One call's reply; `turn` is the reply in the form in which the next call would send it."""

    parts: Sequence[CallPart] = ()
    turn: Any = None
    stop: str | None = None
    usage: Usage = field(default_factory=Usage)
    model_reported: str | None = None
    error: str | None = None


class KeptCalls:
    """Appends each call of one trial to a file, which is made with the first.

    Keys are taken out. Of a text 20,000 characters are kept; once the file has 16 MB, calls are kept without texts.

    Args:
        folder: The trial's.
        name: The file's.
        most_bytes: After how many bytes texts are left out.
    """

    def __init__(
        self, folder: Path, name: str = CONVERSATION, *, most_bytes: int = _MOST_BYTES
    ) -> None:
        self._path = folder / name
        self._most_bytes = most_bytes
        self._redactor: Redactor | None = None
        self._calls = 0
        self._bytes = 0
        self._before: Sent | None = None
        self._after: tuple[Any, ...] = ()

    def add(self, sent: Sent, answered: Answered) -> None:
        """Write one call down, without turns repeated from the one before."""
        self._calls += 1
        cut = self._bytes >= self._most_bytes
        call = ModelCall(
            call=self._calls,
            model=sent.model,
            started=sent.started,
            duration_s=time.monotonic() - sent.clock,
            length=len(sent.turns),
            reply=() if cut else tuple(answered.parts),
            stop=answered.stop,
            usage=answered.usage,
            model_reported=answered.model_reported,
            error=None if answered.error is None else answered.error[:_MOST_TEXT],
            cut=cut,
            **({} if cut else self._news(sent)),
        )
        if not cut:
            self._before, self._after = sent, (*sent.turns, answered.turn)
        self._redactor = self._redactor or Redactor.from_environment()
        line = encode(call, self._redactor) + b"\n"
        self._bytes += len(line)
        try:
            if self._calls == 1:
                self._path.parent.mkdir(parents=True, exist_ok=True)
            # Unbuffered: a trial whose process is killed keeps the calls it has made.
            with self._path.open("ab", buffering=0) as file:
                file.write(line)
        except OSError as error:
            raise EnvironmentFaultError(f"a call cannot be kept: {error}") from error

    def _news(self, sent: Sent) -> dict[str, Any]:
        before, after = self._before, self._after
        new = [
            CallTurn(at=at, role=role, parts=tuple(parts))
            for at, turn in enumerate(sent.turns)
            if at >= len(after) or after[at] != turn
            for role, parts in [sent.read(turn)]
        ]
        news: dict[str, Any] = {"turns": tuple(new)}
        if before is None or before.system != sent.system:
            news["system"] = text_part(sent.system or "")
        if before is None or before.tools != sent.tools:
            tools = [each if isinstance(each, dict) else each.model_dump() for each in sent.tools]
            news["tools"] = tuple(tools) if _fits(tools) else ({"omitted": len(tools)},)
        if before is None or before.settings != sent.settings:
            news["settings"] = sent.settings if _fits(sent.settings) else {"omitted": True}
        return news


def sent_by(request: ModelRequest, model: str) -> Sent:
    """Return the parts of a request of ours to keep."""
    settings = {
        "max_output_tokens": request.max_output_tokens,
        "tool_choice": request.tool_choice,
        "output_schema": request.output_schema,
        "headers": request.headers,
        "body": request.body,
    }
    return Sent(
        model,
        request.system,
        (*request.tools, *request.native_tools),
        {name: value for name, value in settings.items() if value},
        request.messages,
        _read,
    )


def answered_by(reply: Reply) -> Answered:
    """Return the parts of a reply of ours to keep."""
    return Answered(
        [_part(each) for each in reply.message.parts],
        reply.message,
        reply.stop,
        reply.usage,
        reply.model_reported,
    )


def text_part(text: str, **fields: Any) -> CallPart:
    """Return a text, cut if it is long."""
    omitted = max(0, len(text) - _MOST_TEXT)
    return CallPart(**{"type": "text", "text": text[:_MOST_TEXT], "omitted": omitted, **fields})


def picture_part(data: str) -> CallPart:
    """Return a picture, base64-encoded, by its digest."""
    try:
        digest = hashlib.sha256(picture_bytes(data)).hexdigest()
    except ValueError:
        return text_part(data[:100], type="picture")
    return CallPart(type="picture", sha256=digest)


def _fits(declared: Any) -> bool:
    return len(json.dumps(declared, default=str)) <= _MOST_DECLARED


def _read(message: Message) -> tuple[str, list[CallPart]]:
    return message.role, [_part(each) for each in message.parts]


def _part(part: Part) -> CallPart:
    if isinstance(part, TextPart):
        return text_part(part.text)
    if isinstance(part, ImagePart):
        return picture_part(part.data)
    if isinstance(part, ToolCall):
        arguments = part.raw if part.arguments is None else part.arguments
        if not _fits(arguments):
            arguments = None
        return CallPart(type="call", call_id=part.id, name=part.name, arguments=arguments)
    if isinstance(part, OpaquePart):
        if thought := part.thought:
            return text_part(thought, type="thinking")
        return text_part(json.dumps(part.data, ensure_ascii=False), type="other")
    return CallPart(
        type="result",
        call_id=part.call_id,
        name=part.name,
        failed=part.is_error,
        content=tuple(_part(each) for each in part.content),
    )
