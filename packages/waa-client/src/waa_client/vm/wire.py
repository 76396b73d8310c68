"""A call of the VM's API as a value: the request, and the reader of its answer.

Calls are independent of sockets, so the synchronous and the asynchronous client share them.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from waa_client.errors import RouteMissingError, VmAnswerError

T = TypeVar("T")

_OK = 200
_FAILED = 500
_NOT_FOUND = 404
_SHOWN = 300  # enough for a message; bodies may be pages of HTML
# Werkzeug's words; a handler's own 404, as for a missing wallpaper, has others
_NO_ROUTE = ("404 Not Found: The requested URL", "405 Method Not Allowed")


@dataclass(frozen=True)
class VmAnswer:
    """An answer: its URL, status, type and body."""

    url: str
    status: int
    content: bytes = b""
    content_type: str = ""

    @property
    def ok(self) -> bool:
        """Whether the server reports success."""
        return self.status == _OK

    @property
    def text(self) -> str:
        """The body as text; undecodable bytes are replaced."""
        return self.content.decode("utf-8", "replace")

    def json(self) -> Any:
        """Return the body as JSON.

        Raises:
            VmAnswerError: It is not JSON.
        """
        try:
            return json.loads(self.content)
        except (ValueError, RecursionError) as error:
            raise VmAnswerError(self.url, f"not JSON: {self.shown()} ({error})") from error

    def object(self) -> dict[str, Any]:
        """Return the body as a JSON object.

        Raises:
            VmAnswerError: It is not a JSON object.
        """
        value = self.json()
        if not isinstance(value, dict):
            raise VmAnswerError(self.url, f"not a JSON object: {self.shown()}")
        return value

    def shown(self) -> str:
        """Return the beginning of the body for a message."""
        return repr(self.text[:_SHOWN])

    def demand(self) -> VmAnswer:
        """Return the answer itself if the server reports success.

        Raises:
            VmAnswerError: The server reports a failure.
        """
        if not self.ok:
            raise VmAnswerError(self.url, f"HTTP {self.status}: {refusal(self)}")
        return self


@dataclass(frozen=True)
class VmCall(Generic[T]):
    """One call; `read` converts the answer to the caller's result.

    Attributes:
        repeatable: Whether it may be sent again if it is unknown whether the first one arrived.
        timeout_s: Longest time for the answer.
    """

    method: str
    path: str
    read: Callable[[VmAnswer], T]
    json: Any = None
    form: Mapping[str, str] | None = None
    file: tuple[str, bytes] | None = None
    params: Mapping[str, str] = field(default_factory=dict)
    repeatable: bool = False
    timeout_s: float = 30.0

    def result(self, answer: VmAnswer) -> T:
        """Read an answer.

        Raises:
            RouteMissingError: The server does not have the route.
            VmAnswerError: The answer cannot be used.
        """
        if _route_is_missing(answer):
            raise RouteMissingError(answer.url, f"has no {self.method} {self.path}")
        return self.read(answer)


def refusal(answer: VmAnswer) -> str:
    """Return the server's own reason for a failure, which it puts in several places."""
    try:
        body = json.loads(answer.content)
    except (ValueError, RecursionError):
        return answer.text.strip()[:_SHOWN] or f"HTTP {answer.status}"
    if isinstance(body, dict):
        # most routes have `message`, those about files `error`
        reason = body.get("message") or body.get("error") or answer.text
        return str(reason)[:_SHOWN]
    return answer.text[:_SHOWN]


def _route_is_missing(answer: VmAnswer) -> bool:
    """Return whether the route is missing: WAA's global error handler answers with 500 and the 404 as text."""
    if answer.status == _FAILED:
        # a method that is not allowed means another server, too
        return refusal(answer).startswith(_NO_ROUTE)
    html = answer.content_type.startswith("text/html")
    return answer.status == _NOT_FOUND and html and "<title>404 Not Found</title>" in answer.text
