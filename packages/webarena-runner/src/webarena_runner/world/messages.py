"""HTTP requests and responses of the stand-in sites."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from email import message_from_bytes
from email.policy import HTTP
from functools import cached_property
from http import HTTPStatus
from http.cookies import CookieError, SimpleCookie
from typing import Any
from urllib.parse import SplitResult, parse_qs, parse_qsl, urlsplit


@dataclass(frozen=True)
class Request:
    """One request; header names are lower case."""

    method: str
    target: str
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""

    @cached_property
    def path(self) -> str:
        """The path without the query."""
        return self._parts.path

    @cached_property
    def query(self) -> dict[str, str]:
        """The query's parameters; the last of equal names wins."""
        return dict(parse_qsl(self._parts.query, keep_blank_values=True))

    @cached_property
    def _parts(self) -> SplitResult:
        try:
            return urlsplit(self.target)
        except ValueError:  # `//[`, which begins as an address
            path, _, query = self.target.partition("?")
            return SplitResult("", "", path, query, "")

    @cached_property
    def cookies(self) -> dict[str, str]:
        """The request's cookies."""
        jar: SimpleCookie = SimpleCookie()
        try:
            jar.load(self.headers.get("cookie", ""))
        except CookieError:
            return {}
        return {name: morsel.value for name, morsel in jar.items()}

    @cached_property
    def form(self) -> dict[str, str]:
        """The fields of an urlencoded or multipart body; empty for any other."""
        kind = self.headers.get("content-type", "")
        if kind.startswith("multipart/form-data"):
            return _multipart(kind, self.body)
        if kind.startswith("application/x-www-form-urlencoded"):
            fields = parse_qs(self.body.decode(errors="replace"), keep_blank_values=True)
            return {name: values[-1] for name, values in fields.items()}
        return {}

    @cached_property
    def json(self) -> Any:
        """The JSON body; None when there is none or it is malformed."""
        try:
            return json.loads(self.body)
        except (ValueError, RecursionError):
            return None


def _multipart(content_type: str, body: bytes) -> dict[str, str]:
    # the standard library parses multipart bodies as e-mail only
    message = message_from_bytes(
        b"Content-Type: " + content_type.encode() + b"\r\n\r\n" + body, policy=HTTP
    )
    fields: dict[str, str] = {}
    for part in message.iter_parts():
        name = part.get_param("name", header="content-disposition")
        payload = part.get_payload(decode=True)
        if isinstance(name, str) and isinstance(payload, bytes):
            fields[name] = payload.decode(errors="replace")
    return fields


@dataclass
class Response:
    """One response; `headers` may repeat names."""

    status: int = HTTPStatus.OK
    body: bytes = b""
    headers: list[tuple[str, str]] = field(default_factory=list)

    def with_cookie(self, name: str, value: str, *, http_only: bool = True) -> Response:
        """Add a session cookie and return the response itself."""
        suffix = "; HttpOnly" if http_only else ""
        self.headers.append(("Set-Cookie", f"{name}={value}; Path=/; SameSite=Lax{suffix}"))
        return self


def html(markup: str, status: int = HTTPStatus.OK) -> Response:
    """Answer with a page."""
    return Response(status, markup.encode(), [("Content-Type", "text/html; charset=UTF-8")])


def json_response(value: Any, status: int = HTTPStatus.OK) -> Response:
    """Answer with JSON."""
    body = json.dumps(value, ensure_ascii=False).encode()
    return Response(status, body, [("Content-Type", "application/json")])


def redirect(location: str) -> Response:
    """Redirect the browser with a 302."""
    return Response(HTTPStatus.FOUND, b"", [("Location", location)])


def not_found() -> Response:
    """Answer with status 404."""
    return html("<!doctype html><title>Not found</title><h1>404: no such page</h1>", 404)
