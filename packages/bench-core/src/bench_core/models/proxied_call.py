"""One model call on its way through the proxy: passed on, answered, and counted once."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Protocol

from bench_core.faults import error_kind
from bench_core.models.errors import ModelError
from bench_core.models.proxy_apis import error_body
from bench_core.models.stream_usage import (
    USAGE_BOUNDED,
    StreamUsage,
    data_of_event,
    ends_answer,
    split_events,
    upper_bound,
)
from bench_core.models.wire import read_answer
from bench_core.models.wire_turns import StreamedAnswer, read_answered, read_sent
from bench_core.records import Usage
from bench_core.redaction import MARKER

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping

    import httpx

    from bench_core.faults import ErrorKind
    from bench_core.models.kept_calls import Answered, Sent
    from bench_core.models.prices import Prices
    from bench_core.models.proxy_apis import Call
    from bench_core.models.proxy_http import Responder
    from bench_core.protocols import LatestCall

_CALL_S = 3600.0
_MOST_ANSWER = 64 * 1024 * 1024
_MOST_ERROR = 500
_SHORTEST_SECRET = 8
_SENT = frozenset({"content-type", "accept", "user-agent"})
_SENT_PREFIXES = ("anthropic-", "openai-", "x-stainless-", "x-goog-")
_RETURNED = frozenset({"content-type", "retry-after", "retry-after-ms", "x-should-retry"})
_RETURNED_PARTS = ("request-id", "ratelimit", "openai-")


@dataclass(frozen=True)
class Server:
    """The server of a vendor's calls, and its key."""

    base_url: str
    key: str = field(repr=False)


class CallCounter(Protocol):
    """Counter of an attempt's model calls.

    Attributes:
        latest: The outcome of the latest call.
    """

    latest: LatestCall

    def spend(self, usage: Usage, cost_usd: float | None) -> None:
        """Report a call to the meter."""
        ...

    def mark(self, flag: str, note: str) -> None:
        """Flag the trial's result, and keep a line for its log."""
        ...

    def keep(self, sent: Sent, answered: Answered) -> None:
        """Write down the call's request and reply."""
        ...


class ProxiedCall:
    """A call from its request to its count."""

    def __init__(
        self,
        call: Call,
        headers: Mapping[str, str],
        raw: bytes,
        body: dict[str, Any],
        server: Server,
        prices: Prices | None,
        trial: CallCounter,
    ) -> None:
        self.call = call
        self._trial = trial
        self._headers = headers
        self._body = body
        self._raw = raw
        self._server = server
        self._prices = prices
        self._added_usage = self._ask_for_usage()
        self._seen = StreamUsage(call.provider)
        self._answered = False  # whether the provider has begun to serve it
        self._counted = not call.paid
        self._sent = read_sent(f"{call.provider}:{call.model or body.get('model')}", body)
        self._message = StreamedAnswer()
        self._usage = Usage()
        self._error: str | None = None

    def _ask_for_usage(self) -> bool:
        """Have a stream of Chat Completions say its usage; return whether the agent did not ask."""
        options = self._body.get("stream_options") or {}
        if self.call.provider != "openai-chat" or not self._body.get("stream"):
            return False
        if not isinstance(options, dict) or options.get("include_usage"):
            return False
        self._body["stream_options"] = {**options, "include_usage": True}
        self._raw = json.dumps(self._body).encode()
        return True

    async def run(self, client: httpx.AsyncClient, responder: Responder) -> None:
        """Forward the call, answer it and count it exactly once, even on errors."""
        import httpx  # loaded by the proxy

        try:
            if self._body.get("background"):
                message = "a response in the background costs what no one here could count"
                await self._refuse(responder, "request", message)
                self._counted = True
                return
            self._trial.latest.began(self._sent.model)
            await asyncio.wait_for(self._forward(client, responder), _CALL_S)
        except (httpx.HTTPError, httpx.InvalidURL, asyncio.TimeoutError, OSError) as error:
            reason = f"{type(error).__name__}: {error}".rstrip(": ")
            reason = self._clean(reason.encode()).decode()
            lost = isinstance(error, httpx.ReadTimeout | asyncio.TimeoutError)
            if not self._answered and not lost:
                self._count(Usage(requests=1), 0.0)  # providers charge nothing for it
            self._failed("timeout" if lost else "connection", reason)
            self._error = f"the provider does not answer: {reason}"
            await self._refuse(responder, "upstream", self._error)
        finally:
            self._count_bound()
            if self.call.paid:
                reply = read_answered(self._message.data)
                self._trial.keep(self._sent, replace(reply, usage=self._usage, error=self._error))

    async def _refuse(self, responder: Responder, why: Any, message: str) -> None:
        status, body = error_body(self.call.api.vendor, why, message)
        await responder.whole(status, body, {"content-type": "application/json"})

    async def _forward(self, client: httpx.AsyncClient, responder: Responder) -> None:
        headers = {
            k: v for k, v in self._headers.items() if k in _SENT or k.startswith(_SENT_PREFIXES)
        }
        headers.pop("x-goog-api-key", None)
        headers |= {"accept-encoding": "identity", **self.call.api.headers(self._server.key)}
        url = self._server.base_url.rstrip("/") + self.call.path
        async with client.stream("POST", url, content=self._raw, headers=headers) as answer:
            kept = {
                name: value
                for name, value in answer.headers.items()
                if name in _RETURNED or any(part in name for part in _RETURNED_PARTS)
            }
            self._answered = answer.is_success
            if answer.is_success and "text/event-stream" in answer.headers.get("content-type", ""):
                await responder.begin(answer.status_code, kept)
                await self._stream(answer.aiter_bytes(), responder)
                self._count_bound()
                await responder.end()
            else:
                whole = await _all_of(answer.aiter_bytes())
                self._count_whole(answer.status_code, whole)
                self._count_bound()
                await responder.whole(answer.status_code, self._clean(whole), kept)

    def _failed(self, kind: ErrorKind, reason: str, status: int | None = None) -> None:
        """Note how the call failed, to decide the trial's outcome."""
        provider, answered = self.call.api.vendor, self._trial.latest.answered
        self._trial.latest.failed(
            ModelError(kind, reason, provider=provider, status=status, answered=answered)
        )

    async def _stream(self, chunks: AsyncIterator[bytes], responder: Responder) -> None:
        """Pass on each event as it comes, and count the call before the event that ends it for the agent."""
        self._trial.latest.served()
        buffer = bytearray()
        async for chunk in chunks:
            buffer += chunk
            if len(buffer) > _MOST_ANSWER:
                raise OSError(f"an event has more than {_MOST_ANSWER} bytes")
            for event in split_events(buffer):
                await self._event(event, responder)
        if buffer:
            await self._event(bytes(buffer), responder)
        self._count_reported()

    async def _event(self, event: bytes, responder: Responder) -> None:
        data = data_of_event(event)
        if data is not None:
            if data.get("error") or data.get("type") == "error":  # it may fail after it has begun
                self._failed(error_kind(None, data), "its stream ended with an error")
            self._seen.read(data)
            self._message.read(data)
            if self._added_usage and data.get("usage") and not data.get("choices"):
                return  # a program that did not ask for it may not know an event without choices
        if ends_answer(event, data):
            self._count_reported()
        await responder.piece(self._clean(event))

    def _count_whole(self, status: int, body: bytes) -> None:
        self._note(status, body)
        found = read_answer(status, _last_of_list(body))
        if found.kind is None:
            self._trial.latest.served()
        else:
            self._failed(found.kind, self._error or found.reason or "", status)
        if found.kind is not None and not self._answered:
            self._count(Usage(requests=1), 0.0)
        elif found.usage is not None:
            self._count_priced(found.usage, found.model)

    def _note(self, status: int, body: bytes) -> None:
        if not self._answered:
            self._error = (
                f"HTTP {status}: {self._clean(body[:_MOST_ERROR]).decode(errors='replace')}"
            )
            return
        try:
            data = json.loads(self._clean(body))
        except (ValueError, RecursionError):
            return
        if isinstance(data, dict):
            self._message.data = data
        for piece in data if isinstance(data, list) else ():  # as Google streams without events
            self._message.read(piece)

    def _count_reported(self) -> None:
        if self._seen.complete and self._seen.usage is not None:
            self._count_priced(self._seen.usage, self._seen.model)

    def _count_priced(self, usage: Usage, model: str | None) -> None:
        asked = self.call.model or self._body.get("model")
        prices = (
            self._prices.price(self.call.provider, str(name), usage)
            for name in (model, asked)
            if name and self._prices
        )
        self._count(usage, next((each.usd for each in prices if each is not None), None))

    def _count(self, usage: Usage, cost_usd: float | None) -> None:
        if not self._counted:
            self._counted = True
            self._usage = usage
            self._trial.spend(usage, cost_usd)

    def _count_bound(self) -> None:
        """Count an upper bound for a call whose usage never came."""
        if self._counted:
            return
        most = upper_bound(self.call.provider, self._body, self._seen.usage)
        note = (
            f"a call of {self._seen.model or self.call.model or self._body.get('model')} ended before it said "
            f"what it used: the most it can be is counted, {most.input_tokens:,} tokens in and "
            f"{most.output_tokens:,} out"
        )
        self._trial.mark(USAGE_BOUNDED, note)
        self._count_priced(most, self._seen.model)

    def _clean(self, data: bytes) -> bytes:
        """Remove the key from a server's answer."""
        key = self._server.key.encode()
        return data.replace(key, MARKER.encode()) if len(key) >= _SHORTEST_SECRET else data


async def _all_of(chunks: AsyncIterator[bytes]) -> bytes:
    found = bytearray()
    async for chunk in chunks:
        found += chunk
        if len(found) > _MOST_ANSWER:
            raise OSError(f"the answer has more than {_MOST_ANSWER} bytes")
    return bytes(found)


def _last_of_list(body: bytes) -> bytes:
    """Return the last piece with usage of an answer that Google streams as one list."""
    if not body.lstrip().startswith(b"["):
        return body
    try:
        pieces = [each for each in json.loads(body) if isinstance(each, dict)]
    except (ValueError, RecursionError):
        return body
    last = next((each for each in reversed(pieces) if "usageMetadata" in each), {})
    return json.dumps(last).encode()
