"""Request and response bodies, fetched from the browser within limits."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import Mapping
from typing import Any

from webarena_runner.recording.exchanges import Hop
from webarena_runner.recording.har import RecordingLimits
from webarena_runner.recording.link import CONNECTION_ERRORS, DevToolsLink

# The evaluator reads bodies of JSON and forms only; HTML shows lost logins.
_KEPT_TYPES = ("json", "html", "x-www-form-urlencoded")


class Bodies:
    """Bodies are fetched as soon as the browser has them, because they are lost with a closed page."""

    def __init__(self, link: DevToolsLink, limits: RecordingLimits) -> None:
        self._link = link
        self._limits = limits
        self._kept = 0

    def buffers(self) -> dict[str, int]:
        """Return the sizes of the browser's buffers for bodies."""
        return {
            "maxTotalBufferSize": self._limits.total_bytes,
            "maxResourceBufferSize": self._limits.body_bytes,
        }

    def follow(self, method: str, hop: Hop, session: str | None) -> None:
        """Start the fetch that an event about `hop` requires."""
        if method == "Network.requestWillBeSent" and hop.has_body:
            if hop.body is None:
                self._link.start(self._fetch_posted(hop, session))
            else:
                self._keep_posted(hop, hop.body)
        elif method == "Network.loadingFinished" and self._is_wanted(hop):
            self._link.start(self._fetch_content(hop, session))

    async def _fetch_posted(self, hop: Hop, session: str | None) -> None:
        answer = await self._ask("Network.getRequestPostData", hop, session)
        if hop.body is not None:  # seen meanwhile where the request was held
            return
        if isinstance(answer, str):
            hop.body_note = hop.body_note or f"the browser did not give the body: {answer}"
        else:
            hop.body_note = ""
            self._keep_posted(hop, _decoded(answer, "postData"))

    def held(self, hop: Hop, request: Mapping[str, Any]) -> None:
        """Keep the posted body of a held request: after a redirect the browser no longer returns it."""
        if not request.get("hasPostData"):
            return
        entries = request.get("postDataEntries", ())
        # a file that a user chose has no bytes here either, its form has
        parts = [base64.b64decode(each["bytes"]) for each in entries if "bytes" in each]
        if parts:
            hop.has_body, hop.body_note = True, ""
            self._keep_posted(hop, b"".join(parts))
        elif hop.body is None:
            hop.has_body = True
            hop.body_note = hop.body_note or "the browser gives no body of a streamed upload"

    def _keep_posted(self, hop: Hop, body: bytes) -> None:
        limit = self._limits.post_bytes
        hop.body = body[:limit]
        if len(body) > limit:
            hop.body_note = f"the first {limit} of {len(body)} bytes"

    def _is_wanted(self, hop: Hop) -> bool:
        if hop.response is None:
            return False
        if hop.kind == "Preflight":
            hop.content_note = "the browser keeps no bodies of preflights"
        elif not any(kind in hop.response.mime_type for kind in _KEPT_TYPES):
            hop.content_note = "only bodies of JSON, HTML and forms are recorded"
        elif self._kept >= self._limits.total_bytes:
            hop.content_note = "not recorded: the limit for all bodies together is reached"
        return not hop.content_note

    async def _fetch_content(self, hop: Hop, session: str | None) -> None:
        answer = await self._ask("Network.getResponseBody", hop, session)
        if isinstance(answer, str):
            hop.content_note = f"the browser did not give the body: {answer}"
            return
        content = _decoded(answer, "body")
        if len(content) > self._limits.body_bytes:
            hop.content_note = f"not recorded: {len(content)} bytes are over the limit"
            return
        hop.content = content
        self._kept += len(content)

    async def _ask(self, method: str, hop: Hop, session: str | None) -> dict[str, Any] | str:
        """Return the browser's answer for `hop`, or why there is none."""
        # the id without the worker's name
        call = self._link.call(method, {"requestId": hop.request_id.partition(" ")[0]}, session)
        try:
            return await asyncio.wait_for(call, self._limits.body_s)
        except TimeoutError:
            return f"no answer within {self._limits.body_s:g} s"
        except CONNECTION_ERRORS as error:
            # the browser's own message: cdp_use raises with the whole error object
            detail = error.args[0] if error.args else ""
            return str(detail.get("message", detail)) if isinstance(detail, dict) else str(error)


def _decoded(answer: dict[str, Any], name: str) -> bytes:
    text: str = answer[name]
    if answer.get("base64Encoded"):
        return base64.b64decode(text)
    # scripts can post half surrogate pairs
    return text.encode(errors="surrogatepass")
