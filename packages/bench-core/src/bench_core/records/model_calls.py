"""The messages sent to a model and its replies, call by call."""

from __future__ import annotations

from datetime import datetime
from typing import Literal

from pydantic import Field, JsonValue, NonNegativeFloat, NonNegativeInt, PositiveInt

from bench_core.records.base import Record
from bench_core.records.trial import Usage


class CallPart(Record):
    """A piece of a turn.

    Attributes:
        text: The text, the thinking, or the content of a provider's own block, as JSON.
        call_id: The id that a call and its result share.
        name: The tool that is called or answers.
        arguments: Those of a call; text if they are not JSON.
        sha256: Of a picture's bytes, the same as the trial's artifact that shows it.
        failed: Whether a result is an error.
        content: The content of a result.
        omitted: How many characters of the text are left out.
    """

    type: Literal["text", "thinking", "picture", "call", "result", "other"]
    text: str | None = None
    call_id: str | None = None
    name: str | None = None
    arguments: JsonValue = None
    sha256: str | None = None
    failed: bool = False
    content: tuple[CallPart, ...] = ()
    omitted: NonNegativeInt = 0


class CallTurn(Record):
    """One turn of a conversation; `at` is its place in it, from 0."""

    at: NonNegativeInt
    role: str
    parts: tuple[CallPart, ...] = ()


class ModelCall(Record):
    """One call of a model: one line of `conversation.jsonl` or `proxied_calls.jsonl`.

    Parts of a call that repeat the one before it are not repeated here.

    Attributes:
        call: Its number, from 1.
        system: The system text; None if unchanged since the call before.
        tools: The declared tools; None if unchanged.
        settings: The other settings of the request; None if unchanged.
        length: How many turns were sent.
        turns: The new or changed ones: every other one is, at its place, that of the call
            before, whose reply is the turn after its last.
        reply: The model's text and calls; empty if it gave no answer.
        error: Why the answer is missing.
        cut: Whether texts are left out here because the trial's file has reached its limit.
    """

    schema_version: Literal[1] = 1
    call: PositiveInt
    model: str
    started: datetime
    duration_s: NonNegativeFloat = 0.0
    system: CallPart | None = None
    tools: tuple[JsonValue, ...] | None = None
    settings: dict[str, JsonValue] | None = None
    length: NonNegativeInt = 0
    turns: tuple[CallTurn, ...] = ()
    reply: tuple[CallPart, ...] = ()
    stop: str | None = None
    usage: Usage = Field(default=Usage())
    model_reported: str | None = None
    error: str | None = None
    cut: bool = False
