"""Routes from a method and a path to the function that answers."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, TypeVar
from urllib.parse import unquote

Handler = Callable[..., Any]
_H = TypeVar("_H", bound=Handler)
_PLACEHOLDER = re.compile(r"\{(\w+)(:path)?\}")


class Router:
    """Routes in order of registration; `{name}` matches one segment, `{name:path}` any number.

    A trailing slash makes no difference, as on the sites this stands in for.
    """

    def __init__(self) -> None:
        self._routes: list[tuple[str, re.Pattern[str], Handler]] = []

    def get(self, *patterns: str) -> Callable[[_H], _H]:
        """Register a function for GET requests."""
        return self._adder("GET", patterns)

    def post(self, *patterns: str) -> Callable[[_H], _H]:
        """Register a function for POST requests."""
        return self._adder("POST", patterns)

    def put(self, *patterns: str) -> Callable[[_H], _H]:
        """Register a function for PUT requests."""
        return self._adder("PUT", patterns)

    def find(self, method: str, path: str) -> tuple[Handler, dict[str, str]] | None:
        """Return the function for a request and the path's values."""
        for wanted, pattern, handler in self._routes:
            found = pattern.fullmatch(path)
            if found and wanted == method:
                return handler, {k: unquote(v) for k, v in found.groupdict().items()}
        return None

    def _adder(self, method: str, patterns: tuple[str, ...]) -> Callable[[_H], _H]:
        def add(handler: _H) -> _H:
            self._routes.extend((method, _compile(each), handler) for each in patterns)
            return handler

        return add


def _compile(pattern: str) -> re.Pattern[str]:
    regex, end = "", 0
    for found in _PLACEHOLDER.finditer(pattern):
        regex += re.escape(pattern[end : found.start()])
        regex += f"(?P<{found[1]}>{'.+?' if found[2] else '[^/]+'})"
        end = found.end()
    return re.compile((regex + re.escape(pattern[end:])).rstrip("/") + "/?")
