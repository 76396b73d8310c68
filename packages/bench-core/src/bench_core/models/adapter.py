"""The common part of providers' adapters: one request out, one reply in, no retries."""

from __future__ import annotations

import asyncio
import contextlib
import json
import time
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pydantic_core import PydanticSerializationError, ValidationError

from bench_core.faults import error_kind
from bench_core.models.errors import ModelError, classify, was_sent
from bench_core.models.records import (
    Message,
    ModelRequest,
    OpaquePart,
    Part,
    Reply,
    StopReason,
    TextPart,
    ToolCall,
)
from bench_core.models.schema import structured
from bench_core.models.windows import window_in
from bench_core.records import Usage
from bench_core.records.codec import decode_json, without_surrogates
from bench_core.redaction import Redactor

_SHORTEST_SECRET = 8
_ANSWERS = ("content", "choices", "output", "candidates")
"""The APIs' fields with the model's output."""
_SHOWN = 200
_AT_WORK_S = 20.0
"""A connection that breaks after so many seconds breaks while the model is at work: a proxy drops
silent connections, and would drop the next one, too."""


@dataclass(frozen=True, kw_only=True)
class Parsed:
    """The parts of a reply that an adapter read, before it becomes a `Reply`."""

    parts: list[Part]
    native: dict[str, Any]
    stop: StopReason
    stop_native: str | None
    usage: Usage | None
    model_reported: str | None
    request_id: str | None
    refusal: str | None = None


class Adapter(ABC):
    """Calls one API through its vendor's SDK.

    SDK clients belong to the event loop they were made in; an adapter keeps one per loop. The key
    is removed from all replies, even if a server echoes it.
    """

    provider: str

    def __init__(self, model: str, *, api_key: str, base_url: str | None = None) -> None:
        self.model = model
        self.base_url = base_url
        self._api_key = api_key
        # A key of a few letters is not a secret (local servers take any) and would blank whole words.
        self._secrets = Redactor([api_key] if len(api_key) >= _SHORTEST_SECRET else [])
        self._clients: dict[int, tuple[asyncio.AbstractEventLoop, Any]] = {}

    @abstractmethod
    def _connect(self) -> Any:
        """Make the SDK's asynchronous client; called once per event loop."""

    @abstractmethod
    async def _call(self, client: Any, request: ModelRequest, timeout_s: float) -> Any:
        """Make one request through the SDK and return its result."""

    async def _look_up(self, client: Any) -> Any:
        """Ask for the description of the model."""
        return await client.models.retrieve(self.model)

    @abstractmethod
    def _parse(self, data: dict[str, Any]) -> Parsed:
        """Read the reply's JSON as it was on the wire."""

    @abstractmethod
    async def _disconnect(self, client: Any) -> None:
        """Close the SDK's client."""

    async def send(self, request: ModelRequest, timeout_s: float) -> Reply:
        """Make one request, never a second one.

        Raises:
            ModelError: No usable reply within `timeout_s` seconds.
        """
        started = time.monotonic()
        try:
            # The SDKs' own timeout is for each read from the socket, which a slow trickle never
            # reaches.
            raw = await asyncio.wait_for(self._call(self._client(), request, timeout_s), timeout_s)
            parsed = self._read(self._secrets.redact_json(wire(raw), evidence=True))
        except asyncio.TimeoutError:
            raise self._lost(timeout_s) from None
        # The SDKs raise their own, their HTTP library's and plain Python errors: all are classified.
        except Exception as error:
            known = classify(error, self.provider, self._secrets.redact)
            if isinstance(error, ValidationError):  # the SDK's; its text is for the SDK's authors
                read = {
                    ".".join(map(str, each["loc"])): each["input"] for each in error.errors()[:1]
                }
                text = self._secrets.redact(unreadable(self, read))
                known = ModelError("unreadable", text, provider=self.provider)
            waited_s = time.monotonic() - started
            if known.kind == "timeout" and known.status is None:
                known = self._lost(timeout_s)
            elif known.kind == "connection" and waited_s > _AT_WORK_S and was_sent(error):
                text = f"the connection broke after {waited_s:.0f} s of waiting for the answer"
                known = ModelError("cut_off", text, provider=self.provider)
            raise known from error
        return _writable(self._reply(request, parsed, time.monotonic() - started))

    def _refuse_error(self, data: dict[str, Any]) -> None:
        """Raise an error sent in place of an answer: gateways send their providers' errors with status 200."""
        error = data.get("error")
        if error and not any(data.get(name) for name in _ANSWERS):
            message = error.get("message") if isinstance(error, dict) else error
            raise ModelError(error_kind(None, data), str(message), provider=self.provider)

    def _read(self, data: dict[str, Any]) -> Parsed:
        self._refuse_error(data)
        try:
            return self._parse(data)
        except (AttributeError, IndexError, KeyError, TypeError, ValueError) as error:
            raise ModelError(
                "unreadable", unreadable(self, data), provider=self.provider
            ) from error

    def _lost(self, timeout_s: float) -> ModelError:
        return ModelError("timeout", f"no answer within {timeout_s:g} s", provider=self.provider)

    async def verify(self, timeout_s: float) -> None:
        """Ask the provider for its description of the model, which costs nothing.

        Raises:
            ModelError: It refuses, does not know the model, or does not answer.
        """
        try:
            await asyncio.wait_for(self._look_up(self._client()), timeout_s)
        # see `send`; a timeout is one of them
        except Exception as error:
            raise classify(error, self.provider, self._secrets.redact) from error

    async def window(self, timeout_s: float) -> int | None:
        """Return the model's context length in tokens as the provider describes it, None if it does not."""
        try:
            described = await asyncio.wait_for(self._look_up(self._client()), timeout_s)
            return window_in(wire(described))
        # on any error the trial goes on without the window, and learns its size from a refusal
        except Exception:  # noqa: BLE001
            return None

    async def aclose(self) -> None:
        """Close the client of the running event loop and forget those of loops that are gone."""
        own = self._clients.pop(id(asyncio.get_running_loop()), None)
        self._clients = {k: each for k, each in self._clients.items() if not each[0].is_closed()}
        if own is not None:
            await self._disconnect(own[1])

    def _client(self) -> Any:
        loop = asyncio.get_running_loop()
        held = self._clients.get(id(loop))
        # A new loop can get the id of one that is gone.
        if held is None or held[0] is not loop:
            held = (loop, self._connect())
            self._clients[id(loop)] = held
        return held[1]

    def _reply(self, request: ModelRequest, parsed: Parsed, latency_s: float) -> Reply:
        text = "".join(part.text for part in parsed.parts if isinstance(part, TextPart))
        data, data_error = structured(request, parsed.stop, text)
        parts = list(parsed.parts)
        if (
            parsed.stop in {"length", "context_window"}
            and parts
            and isinstance(parts[-1], ToolCall)
        ):
            # the reply's last part was cut off, even if its arguments happen to be whole JSON
            parts[-1] = parts[-1].model_copy(update={"unfinished": True})
        return Reply(
            provider=self.provider,
            model=self.model,
            model_reported=parsed.model_reported,
            message=Message(
                role="assistant",
                parts=tuple(parts),
                native=OpaquePart(provider=self.provider, data=parsed.native),
            ),
            stop=parsed.stop,
            stop_native=parsed.stop_native,
            refusal=parsed.refusal,
            data=data,
            data_error=data_error,
            usage_known=parsed.usage is not None,
            request_id=parsed.request_id,
            latency_s=latency_s,
            usage=parsed.usage or Usage(requests=1),
        )

    def _native_turn(self, message: Message) -> dict[str, Any] | None:
        """Return an earlier turn of this same provider as it was sent."""
        native = message.native
        return native.data if native is not None and native.provider == self.provider else None


def unreadable(adapter: Adapter, answer: object) -> str:
    """Describe an answer that does not follow the API, and suggest a remedy."""
    shown = answer if isinstance(answer, str) else json.dumps(answer, default=str)
    where = adapter.base_url or "the provider"
    return (
        f"{where} answered {adapter.model!r} with what is no answer of this API: {shown[:_SHOWN]!r}; check "
        "that the address and the name before the colon are those of the API that the server speaks"
    )


def _writable(reply: Reply) -> Reply:
    """Replace halves of surrogate pairs: JSON can escape them, but no file or request can hold them."""
    try:
        reply.model_dump_json()
    except PydanticSerializationError:
        text = json.dumps(reply.model_dump(mode="json"), ensure_ascii=False)
        return Reply.model_validate_json(without_surrogates(text))
    return reply


def wire(raw: Any) -> dict[str, Any]:
    """Return an SDK's reply object as the JSON that was on the wire."""
    if isinstance(raw, dict):
        return raw
    dump = getattr(raw, "model_dump", None)
    if dump is None:  # a proxy's page: the SDKs hand text through
        raise ValueError(f"the reply is not JSON of this API but {str(raw)[:80]!r}")
    data: dict[str, Any] = dump(mode="json", exclude_unset=True, by_alias=True, warnings=False)
    return data


def tool_call(call_id: str, name: str, arguments: str | Mapping[str, Any] | None) -> ToolCall:
    """Build a tool call; arguments that are not a JSON object are kept as raw text."""
    parsed: Any = arguments or {}
    raw = "nested too deeply"
    with contextlib.suppress(ValueError):  # no JSON, or nested too deeply for a record
        if isinstance(parsed, str):
            raw = parsed
            parsed = decode_json(parsed)
        if isinstance(parsed, Mapping):
            return ToolCall(id=call_id, name=name, arguments=dict(parsed))
    return ToolCall(id=call_id, name=name, raw=raw)
