"""Texts that match the patterns of task definitions."""

from __future__ import annotations

import re
from collections.abc import Callable
from re import _parser  # type: ignore[attr-defined]  # the tree of a pattern, kept since Python 2
from typing import Any

_LIKELY = "a1 -_/.?=&xA:"
_MAY_REPEAT = ("MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT")


def example(pattern: str, filler: str = "") -> str:
    """Return a text that `pattern` matches as a whole; `filler` stands for each `.` that may be absent (`.*`).

    The text of a positive look-ahead is written in its place, that of a negative one is left out, which
    suffices where a part that matches anything follows.

    Raises:
        ValueError: The text found does not match, or none was found.
        re.error: `pattern` is not a regular expression.

    >>> example(r"^.*toothpaste.* has been added( to your cart)?$")
    'toothpaste has been added'
    """
    text = _ExampleWriter(filler).all(_parser.parse(pattern))
    if not re.fullmatch(pattern, text, re.IGNORECASE):
        raise ValueError(f"no text for {pattern!r}: {text!r} does not match it")
    return text


class _ExampleWriter:
    """Writer of a text for the parts of a pattern."""

    def __init__(self, filler: str) -> None:
        self._filler = filler

    def all(self, body: Any) -> str:
        return "".join(self._part(str(name), argument) for name, argument in body)

    def _part(self, kind: str, argument: Any) -> str:  # noqa: PLR0911  # one for each kind
        if kind == "LITERAL":
            return chr(argument)
        if kind in _MAY_REPEAT:
            return self._repeated(*argument)
        if kind == "SUBPATTERN":
            return self.all(argument[-1])
        if kind == "BRANCH":
            return self.all(argument[1][0])
        if kind == "ASSERT":
            return self.all(argument[1])
        if kind in {"IN", "ANY", "NOT_LITERAL"}:
            return _one_of(kind, argument)
        return ""  # AT, ASSERT_NOT: nothing is written

    def _repeated(self, least: int, _most: int, body: Any) -> str:
        if len(body) == 1 and str(body[0][0]) == "ANY":
            return _LIKELY[0] * least or self._filler
        return self.all(body) * least


def _one_of(kind: str, argument: Any) -> str:
    """Return the first likely character that the class matches, nothing if none does."""
    if kind == "ANY":
        return "."  # a point that was meant, and not escaped
    if kind == "NOT_LITERAL":
        return next((each for each in _LIKELY if ord(each) != argument), "")
    (first_kind, first), *_ = argument
    if str(first_kind) == "LITERAL":
        return chr(first)
    if str(first_kind) == "RANGE":
        return chr(first[0])
    return next((each for each in _LIKELY if _takes(argument, each)), "")


def _takes(members: Any, character: str) -> bool:
    negated = str(members[0][0]) == "NEGATE"
    found = any(_is_member(str(name), value, character) for name, value in members)
    return found is not negated


def _is_member(kind: str, value: Any, character: str) -> bool:
    if kind == "LITERAL":
        return ord(character) == int(value)
    if kind == "RANGE":
        return bool(value[0] <= ord(character) <= value[1])
    if kind == "CATEGORY":
        return _CATEGORIES[str(value)](character)
    return False


_CATEGORIES: dict[str, Callable[[str], bool]] = {
    "CATEGORY_DIGIT": str.isdecimal,
    "CATEGORY_NOT_DIGIT": lambda each: not each.isdecimal(),
    "CATEGORY_SPACE": str.isspace,
    "CATEGORY_NOT_SPACE": lambda each: not each.isspace(),
    "CATEGORY_WORD": lambda each: each.isalnum() or each == "_",
    "CATEGORY_NOT_WORD": lambda each: not (each.isalnum() or each == "_"),
}
