"""Find recorded responses that no site sent."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Collection, Mapping
from typing import Any, NamedTuple
from urllib.parse import urldefrag

from bench_core.serving import Address, address_of

# refused for their size before a site reads them; no task expects such an answer
_TOO_LARGE = frozenset({413, 414, 431})


class Served(NamedTuple):
    """A response that a site sent.

    Attributes:
        status: 0 if it gave none.
        digest: Of its body (`digest_of`).
    """

    method: str
    url: str
    status: int
    digest: str


def digest_of(body: bytes) -> str:
    """Return the digest by which bodies are compared."""
    return hashlib.sha256(body).hexdigest()


def unserved(har: Mapping[str, Any], served: Collection[Served]) -> list[tuple[str, str]]:
    """Return method and URL of recorded responses that no site sent.

    Args:
        har: The recording. A body that is not in it is not compared.
        served: The sites' own log of responses; other hosts are left out.

    Example:
        >>> entry = {"request": {"method": "GET", "url": "http://a.test/x"}, "response": {"status": 200}}
        >>> unserved({"log": {"entries": [entry]}}, {Served("GET", "http://a.test/x", 403, "")})
        [('GET', 'http://a.test/x')]
    """
    homes = {address_of(each.url) for each in served}
    known: dict[tuple[str, Address, str], set[tuple[int, str]]] = {}
    for each in served:
        known.setdefault(_key(each.method, each.url), set()).add((each.status, each.digest))
    found = []
    for entry in har["log"]["entries"]:
        request, response = entry["request"], entry["response"]
        method, url = request["method"], urldefrag(request["url"]).url
        # status 0 and -1 are requests without an answer
        status = int(response.get("status") or 0)
        if status <= 0 or status in _TOO_LARGE or address_of(url) not in homes:
            continue
        given, body = known.get(_key(method, url), set()), _body(response.get("content") or {})
        digests = {digest for answered, digest in given if answered == status}
        if not digests or (body is not None and digest_of(body) not in digests):
            found.append((method, url))
    return found


def _key(method: str, url: str) -> tuple[str, Address, str]:
    return method, address_of(url), url.partition("://")[2].partition("/")[2]


def _body(content: Mapping[str, Any]) -> bytes | None:
    text = content.get("text")
    if not isinstance(text, str):
        return None
    return base64.b64decode(text) if content.get("encoding") == "base64" else text.encode()
