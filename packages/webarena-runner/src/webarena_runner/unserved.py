"""Which recorded answers no site has given: someone else answered in its place."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any
from urllib.parse import urldefrag, urlsplit


def unserved(har: Mapping[str, Any], served: Collection[tuple[str, str]]) -> list[tuple[str, str]]:
    """Return method and URL of recorded answers of a site that it was never asked for.

    Args:
        har: The recording.
        served: Method and URL of what the sites were asked; hosts that are none of these are left out.

    Example:
        >>> entry = {"request": {"method": "GET", "url": "http://a.test/x"}, "response": {"status": 200}}
        >>> unserved({"log": {"entries": [entry]}}, {("GET", "http://a.test/y")})
        [('GET', 'http://a.test/x')]
    """
    known, homes = set(served), {urlsplit(url).netloc for _, url in served}
    found = []
    for entry in har["log"]["entries"]:
        asked = entry["request"]["method"], urldefrag(entry["request"]["url"]).url
        # status 0 and -1 are requests without an answer
        answered = int(entry["response"].get("status") or 0) > 0
        if answered and urlsplit(asked[1]).netloc in homes and asked not in known:
            found.append(asked)
    return found
