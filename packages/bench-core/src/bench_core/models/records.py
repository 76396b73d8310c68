"""The request and the reply of a model call, the same for every provider.

A reply says how it stopped: a refusal, a truncated answer or JSON that does not parse are values a
caller can act on. Only a provider that did not answer is an error (`bench_core.models.errors`).
"""

from __future__ import annotations

import base64
import hashlib
from functools import lru_cache
from typing import Annotated, Any, Literal

from pydantic import Field, JsonValue, NonNegativeFloat, PositiveInt

from bench_core.records import Record, Usage

StopReason = Literal["end", "tool_use", "length", "refusal", "context_window", "other"]
"""Why a model stopped: done, wants a tool, out of output tokens, declined, out of context."""


class TextPart(Record):
    """A piece of text."""

    type: Literal["text"] = "text"
    text: str


@lru_cache(maxsize=4)
def picture_bytes(data: str) -> bytes:
    """Return the bytes of a picture, cached because recording a step reads them several times.

    Raises:
        ValueError: It is not base64.
    """
    return base64.b64decode(data)


class ImagePart(Record):
    """A picture, base64-encoded."""

    type: Literal["image"] = "image"
    media_type: Literal["image/png", "image/jpeg", "image/webp", "image/gif"] = "image/png"
    data: str = Field(repr=False)

    @classmethod
    def from_bytes(cls, data: bytes, media_type: str | None = None) -> ImagePart:
        """Wrap the bytes of an image file; the type is read off its first bytes if not given.

        Raises:
            ValueError: The bytes are not PNG, JPEG, WebP or GIF.
        """
        kind = media_type or _media_type(data)
        return cls.model_validate(
            {"media_type": kind, "data": base64.b64encode(data).decode("ascii")}
        )

    @property
    def sha256(self) -> str:
        """SHA-256 of the encoded picture in hex, by which cassettes and caches name it."""
        return hashlib.sha256(self.data.encode("ascii")).hexdigest()


def _media_type(data: bytes) -> str:
    if data.startswith(b"\x89PNG\r\n\x1a\n"):
        return "image/png"
    if data.startswith(b"\xff\xd8\xff"):
        return "image/jpeg"
    if data.startswith((b"GIF87a", b"GIF89a")):
        return "image/gif"
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return "image/webp"
    raise ValueError(f"not a PNG, JPEG, WebP or GIF image: it starts with {data[:8]!r}")


class ToolCall(Record):
    """The model asks for a tool; `arguments` is None if it sent something that is not JSON.

    `toolset` names the provider's own tool that the call is for; None for the caller's own tools. `unfinished` is set if
    the provider says that the call was cut off.
    """

    type: Literal["tool_call"] = "tool_call"
    id: str
    name: str
    toolset: str | None = None
    unfinished: bool = False
    arguments: dict[str, JsonValue] | None = None
    raw: str | None = None


class OpaquePart(Record):
    """A provider's own block, passed through as it is (thinking, native tools, ...)."""

    type: Literal["opaque"] = "opaque"
    provider: str
    data: dict[str, JsonValue]

    @property
    def thought(self) -> str:
        """The model's thoughts here, as far as its provider shows it."""
        thoughts = []
        for name in ("summary", "content"):  # the latter of OpenAI's commentary
            pieces = self.data.get(name)
            listed = pieces if isinstance(pieces, list) else []
            thoughts += [str(each.get("text") or "") for each in listed if isinstance(each, dict)]
        thoughts += [str(self.data.get("thinking") or "")]
        thoughts += [str(self.data.get("text") or "")] if self.data.get("thought") else []
        return "\n".join(filter(None, thoughts))


class ToolResult(Record):
    """A tool's result for the call `call_id`.

    `toolset` is that of the call, which Anthropic's API wants to read again in each result.
    `extra` has the parts of answers to a provider's own tools: OpenAI's type of the item and the safety checks,
    Google's `response`.
    """

    type: Literal["tool_result"] = "tool_result"
    call_id: str
    name: str
    toolset: str | None = None
    content: tuple[TextPart | ImagePart | OpaquePart, ...] = ()
    is_error: bool = False
    extra: dict[str, JsonValue] = Field(default_factory=dict)


Part = Annotated[
    TextPart | ImagePart | ToolCall | ToolResult | OpaquePart, Field(discriminator="type")
]
"""One piece of a message."""


class Message(Record):
    """One turn of the conversation.

    `native` holds an assistant's turn as its provider sent it; the same provider gets it back
    unchanged, which signatures of thinking blocks need. Other providers get the `parts`.
    """

    role: Literal["user", "assistant"]
    parts: tuple[Part, ...]
    native: OpaquePart | None = None

    @classmethod
    def user(cls, *parts: str | Part) -> Message:
        """Build a user's turn; strings become text parts."""
        return cls(role="user", parts=_as_parts(parts))

    @classmethod
    def assistant(cls, *parts: str | Part) -> Message:
        """Build an assistant's turn; strings become text parts."""
        return cls(role="assistant", parts=_as_parts(parts))

    @property
    def text(self) -> str:
        """All text of the turn."""
        return "".join(part.text for part in self.parts if isinstance(part, TextPart))


def _as_parts(parts: tuple[str | Part, ...]) -> tuple[Part, ...]:
    return tuple(TextPart(text=part) if isinstance(part, str) else part for part in parts)


class Tool(Record):
    """A tool the model may call; `parameters` is the JSON Schema of its arguments."""

    name: str = Field(min_length=1)
    description: str = ""
    parameters: dict[str, JsonValue] = Field(default_factory=dict)


class ModelRequest(Record):
    """One call to a model.

    Attributes:
        output_schema: Ask for JSON of this schema; see `bench_core.models.portable_schema`. Of OpenAI and
            compatible servers `{"type": "object"}` asks for any JSON object (`json_object`).
        native_tools: The provider's own tool definitions, passed through unread.
        headers: Extra HTTP headers, e.g. `anthropic-beta`; never for credentials.
        body: Extra fields of the request body, passed through unread.
        trial: Part of the cache key: repeated trials are independent calls.
    """

    messages: tuple[Message, ...] = Field(min_length=1)
    system: str | None = None
    max_output_tokens: PositiveInt = 4096
    output_schema: dict[str, JsonValue] | None = None
    output_name: str = "answer"
    tools: tuple[Tool, ...] = ()
    native_tools: tuple[dict[str, JsonValue], ...] = ()
    tool_choice: Literal["auto", "required", "none"] = "auto"
    headers: dict[str, str] = Field(default_factory=dict)
    body: dict[str, JsonValue] = Field(default_factory=dict)
    trial: PositiveInt = 1

    def canonical(self) -> dict[str, Any]:
        """Return the request as plain JSON, the same on every SDK line.

        Pictures are replaced by their SHA-256; empty fields and the provider's own form of earlier
        turns are left out.
        """
        data: dict[str, Any] = self.model_dump(
            mode="json", exclude={"messages": {"__all__": {"native"}}}
        )
        return {key: _plain(value) for key, value in data.items() if value}


_NATIVE_ONLY = ("toolset", "unfinished", "extra")
"""Fields of providers' own tools only; left out if empty, as older cassettes lack them."""


def _plain(value: Any) -> Any:
    if isinstance(value, list):
        return [_plain(each) for each in value]
    if not isinstance(value, dict):
        return value
    plain = {k: _plain(v) for k, v in value.items() if v or k not in _NATIVE_ONLY}
    if value.get("type") == "image" and isinstance(value.get("data"), str):
        plain["data"] = f"sha256:{hashlib.sha256(value['data'].encode('utf-8')).hexdigest()}"
    return plain


class Price(Record):
    """The cost of one call, with the row and table of its price."""

    usd: NonNegativeFloat
    source: str
    as_of: str | None = None
    row: dict[str, JsonValue] = Field(default_factory=dict)


class Reply(Record):
    """The reply to one call.

    Attributes:
        provider: The API that answered (`anthropic`, `openai`, `openai-chat`, `google`, `scripted`).
        model: The model as asked for; `model_reported` is the one the API says it used.
        data: The parsed JSON if a schema was asked for and the text is JSON, else None.
        data_error: The reason why `data` is None although a schema was asked for.
        refusal: The provider's words when it declined.
        message: The turn to append to the conversation.
        latency_s: Wall time of the successful attempt, in seconds.
        attempts: The number of HTTP requests, retries included.
        replayed: The reply came from a cassette or cache, nothing was spent.
    """

    schema_version: Literal[1] = 1
    provider: str
    model: str
    model_reported: str | None = None
    message: Message
    stop: StopReason = "end"
    stop_native: str | None = None
    refusal: str | None = None
    data: JsonValue = None
    data_error: str | None = None
    usage: Usage = Usage()
    usage_known: bool = True
    price: Price | None = None
    request_id: str | None = None
    latency_s: NonNegativeFloat = 0.0
    attempts: PositiveInt = 1
    replayed: bool = False

    @property
    def text(self) -> str:
        """The text of the reply, without thinking."""
        return self.message.text

    @property
    def tool_calls(self) -> tuple[ToolCall, ...]:
        """The tools the model asks for, in order."""
        return tuple(part for part in self.message.parts if isinstance(part, ToolCall))

    @property
    def cost_usd(self) -> float | None:
        """Cost in US dollars; None when the price is unknown."""
        return None if self.price is None else self.price.usd
