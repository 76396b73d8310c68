"""A limit on the size of replies, in whichever HTTP library an SDK calls with."""

from __future__ import annotations

from typing import Any

from bench_core.models.errors import ModelError

MOST_REPLY = 64 * 1024 * 1024
"""Bytes of a reply, unpacked; the longest that models can write are a few MB."""

_PACKINGS = ("gzip", "deflate")
"""Encodings that replies may use: one piece as it arrives unpacks to a thousand times its size at most."""


def limit_replies(client: Any, provider: str) -> None:
    """Have an asynchronous client of httpx or httpx2 give up replies that are longer than `MOST_REPLY`.

    The adapters ask for whole replies only, which the SDKs would read to their end, however far that is.
    How long a reply may take is limited where it is awaited. Packings of which a few bytes unpack to gigabytes
    at once (brotli, zstandard, one inside another) are neither asked for nor read.
    """

    async def read(response: Any) -> None:
        packing = response.headers.get("content-encoding", "identity").strip().lower()
        if packing not in {"", "identity", *_PACKINGS}:
            await response.aclose()
            raise ModelError(
                "malformed",
                f"the reply is packed with {packing[:40]!r}, and only {' and '.join(_PACKINGS)} were asked for",
                provider=provider,
                status=response.status_code,
            )
        body = bytearray()
        try:
            async for chunk in response.aiter_bytes():
                body += chunk
                if len(body) > MOST_REPLY:
                    break
        except Exception as error:  # httpx's or httpx2's
            if not response.is_success:
                raise
            # a reply that has begun has been paid for
            text = "the connection broke in the midst of the answer"
            raise ModelError("cut_off", text, provider=provider) from error
        if len(body) > MOST_REPLY:
            await response.aclose()
            raise ModelError(
                "oversized",
                f"the reply is longer than {MOST_REPLY:,} bytes, so the rest was not read",
                provider=provider,
                status=response.status_code,
            )
        # Where `aread()` keeps the body, which the SDK calls next; a hook is given nothing else to set.
        response._content = bytes(body)

    client.headers["accept-encoding"] = ", ".join(_PACKINGS)
    hooks = client.event_hooks
    client.event_hooks = {**hooks, "response": [*hooks["response"], read]}
