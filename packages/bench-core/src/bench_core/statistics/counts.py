"""Counts that print the same for equal data."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import TypeVar

Name = TypeVar("Name", bound=str)


def count(values: Iterable[Name]) -> dict[Name, int]:
    """Count values, most frequent first, ties by name.

    >>> count(["b", "a", "b"])
    {'b': 2, 'a': 1}
    """
    return ordered(Counter(values))


def ordered(counts: Counter[Name]) -> dict[Name, int]:
    """Return counts most frequent first, ties by name.

    >>> ordered(Counter({"x": 1, "y": 2}))
    {'y': 2, 'x': 1}
    """
    return dict(sorted(counts.items(), key=lambda item: (-item[1], str(item[0]))))
