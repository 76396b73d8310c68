"""Whether two URLs are the same page."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from urllib.parse import urlparse, urlunparse


def same_url(first: Any, second: Any) -> bool:
    """Compare URLs, ignoring the case of scheme and host, `www.`, a missing scheme and a lone slash.

    A URL without a scheme has its host in its path, so `a.com` and `http://a.com` differ.

    Raises:
        ValueError: One of them cannot be a URL.
    """
    if first is None or second is None:
        return bool(first == second)
    return bool(_normal(first) == _normal(second))


def same_pages(expected: Sequence[Any], found: Sequence[Any]) -> bool:
    """Whether as many pages are open as expected, including each expected one."""
    if len(expected) != len(found):
        return False
    return all(any(same_url(each, other) for other in found) for each in expected)


def _normal(url: Any) -> Any:
    parts = urlparse(url)
    return urlunparse(
        parts._replace(
            scheme=(parts.scheme or "http").lower(),
            netloc=parts.netloc.lower().replace("www.", ""),
            path=parts.path if parts.path != "/" else "",
        )
    )
