"""The transport whose replies a person writes."""

from __future__ import annotations

import asyncio
import json
import uuid
from typing import Any
from urllib.parse import urlsplit

from bench_core.models.by_hand.desk import BY_HAND, desk_url
from bench_core.models.errors import ModelError
from bench_core.models.records import ModelRequest, Price, Reply
from bench_core.models.retries import RetryPolicy
from bench_core.models.scripted_model import ScriptedAdapter
from bench_core.records.codec import decode_json

_MONTH_S = 30 * 24 * 3600.0
PATIENCE = RetryPolicy(attempts=1, deadline_s=_MONTH_S, timeout_s=_MONTH_S)
"""No deadline for a person: only the trial's time limit ends the wait."""


class ByHandAdapter(ScriptedAdapter):
    """Puts each request on the desk of this run and returns a person's answer.

    Its requests are one conversation there, which one person takes.
    """

    def __init__(self) -> None:
        super().__init__((), model="human", provider=BY_HAND)
        self._conversation = uuid.uuid4().hex

    async def send(self, request: ModelRequest, timeout_s: float) -> Reply:  # noqa: ARG002  # see PATIENCE
        """Wait for a person's reply; giving up takes the request off the desk.

        Raises:
            ModelError: The page of the run is gone.
        """
        asked = {"conversation": self._conversation, "request": request.model_dump(mode="json")}
        answer = await _post(await asyncio.to_thread(desk_url) + "ask", asked)
        if "error" in answer:
            raise ModelError("unknown", str(answer["error"]), provider=BY_HAND)
        self._calls += 1
        person = str(answer.pop("person", ""))
        reply = self._reply({**answer, "model_reported": f"human {person}".strip()}, request)
        return reply.model_copy(update={"price": Price(usd=0.0, source="by hand")})

    async def verify(self, timeout_s: float) -> None:
        """Show where the page is, before the first trial."""
        del timeout_s
        await asyncio.to_thread(desk_url)


async def _post(url: str, value: dict[str, Any]) -> dict[str, Any]:
    """Send JSON and wait for JSON as long as it takes; ends the connection if it is cancelled."""
    place = urlsplit(url)
    body = json.dumps(value).encode()
    head = f"POST {place.path} HTTP/1.1\r\nHost: {place.netloc}\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n"
    try:
        reader, writer = await asyncio.open_connection(place.hostname, place.port)
        try:
            writer.write(head.encode("ascii") + body)
            await writer.drain()
            reply = await reader.read()
        finally:
            writer.close()
        answer: dict[str, Any] = decode_json(reply.partition(b"\r\n\r\n")[2])
    except (OSError, ValueError) as error:
        raise ModelError(
            "connection", f"the page of `by-hand` does not answer: {error}", provider=BY_HAND
        ) from error
    return answer
