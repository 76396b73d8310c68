"""Parsing of Cookie and Set-Cookie headers as browsers do it (RFC 6265)."""

from __future__ import annotations

from email.utils import parsedate_to_datetime
from typing import Any

__all__ = ["parse_cookie", "parse_set_cookie"]

_TEXTS = {"path": "path", "domain": "domain", "samesite": "sameSite"}
_FLAGS = {"httponly": "httpOnly", "secure": "secure"}


def parse_cookie(header: str) -> list[dict[str, Any]]:
    """Return HAR cookies of a request's `Cookie` header."""
    pairs = (pair.strip().partition("=") for pair in header.split(";"))
    return [{"name": name, "value": value} for name, separator, value in pairs if separator]


def parse_set_cookie(line: str) -> dict[str, Any] | None:
    """Return the HAR cookie of one `Set-Cookie` line; None when a browser would ignore it."""
    pair, *attributes = line.split(";")
    name, separator, value = pair.partition("=")
    if not separator:
        name, value = "", pair
    if not (name.strip() or value.strip()):
        return None
    cookie: dict[str, Any] = {"name": name.strip(), "value": value.strip()}
    for attribute in attributes:
        key, _, setting = attribute.strip().partition("=")
        _add(cookie, key.strip().lower(), setting.strip())
    return cookie


def _add(cookie: dict[str, Any], key: str, setting: str) -> None:
    if key in _TEXTS:
        cookie[_TEXTS[key]] = setting
    elif key in _FLAGS:
        cookie[_FLAGS[key]] = True
    elif key == "expires":
        try:
            cookie["expires"] = parsedate_to_datetime(setting).isoformat()
        except ValueError:  # not a date: browsers ignore it too
            return
