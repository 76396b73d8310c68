"""JSON pointers (RFC 6901): how evidence names a place in a state."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any


class _Missing:
    def __repr__(self) -> str:
        return "MISSING"


MISSING: Any = _Missing()
"""The result of `resolve` for a pointer that leads nowhere; `None` is a value (JSON's null)."""

_MAX_INDEX_DIGITS = 9


def child(pointer: str, token: str | int) -> str:
    """Return the pointer to a member.

    >>> child("/a", "b/c")
    '/a/b~1c'
    """
    return f"{pointer}/{str(token).replace('~', '~0').replace('/', '~1')}"


def tokens(pointer: str) -> list[str] | None:
    """Return the unescaped parts of a pointer, `None` when it is not one.

    >>> tokens("/a/b~1c/0")
    ['a', 'b/c', '0']
    """
    if pointer == "":
        return []
    if not pointer.startswith("/"):
        return None
    return [each.replace("~1", "/").replace("~0", "~") for each in pointer[1:].split("/")]


def resolve(document: Any, pointer: str) -> Any:
    """Return the value at `pointer`, `MISSING` if it leads nowhere.

    >>> resolve({"rides": [{"fare": 12}]}, "/rides/0/fare")
    12
    >>> resolve({"rides": []}, "/rides/0")
    MISSING
    """
    parts = tokens(pointer)
    if parts is None:
        return MISSING
    for part in parts:
        document = _step(document, part)
        if document is MISSING:
            return MISSING
    return document


def nearest(document: Any, pointer: str) -> tuple[str, Any]:
    """Return the nearest ancestor of `pointer` that exists, with its value."""
    reached = ""
    for part in tokens(pointer) or []:
        below = _step(document, part)
        if below is MISSING:
            break
        document, reached = below, child(reached, part)
    return reached, document


def leaves(value: Any, pointer: str = "") -> Iterator[tuple[str, Any]]:
    """Yield pointer and value of each scalar and of each empty container below `value`.

    >>> list(leaves({"a": [1, {}], "b": "x"}))
    [('/a/0', 1), ('/a/1', {}), ('/b', 'x')]
    """
    if isinstance(value, dict) and value:
        for key, each in value.items():
            yield from leaves(each, child(pointer, key))
    elif isinstance(value, list) and value:
        for index, each in enumerate(value):
            yield from leaves(each, child(pointer, index))
    else:
        yield pointer, value


def _step(document: Any, part: str) -> Any:
    if isinstance(document, dict):
        return document.get(part, MISSING)
    if isinstance(document, list) and part.isdecimal() and part.isascii():
        # "007" and an index of a million digits lead nowhere; the digits are a model's
        canonical = len(part) <= _MAX_INDEX_DIGITS and (part == "0" or part[0] != "0")
        if canonical and int(part) < len(document):
            return document[int(part)]
    return MISSING
