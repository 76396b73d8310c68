"""Finds the places that criteria name: JSON pointers and dotted paths, with or without the app."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from llm_judge.pointers import MISSING, child, resolve

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from bench_core.judging import Criterion

__all__ = ["find_paths"]

_DOTTED = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*|\[\d+\])+")
_POINTER = re.compile(r"(?<![\w/:.])/[^\s,;'\"()]+(?:/[^\s,;'\"()]+)*")
_STEP = re.compile(r"[A-Za-z_]\w*|\d+")


def find_paths(state: Any, criteria: Iterable[Criterion], roots: Sequence[str]) -> tuple[str, ...]:
    """Return pointers to the places named; those that lead nowhere only where that was certain.

    Args:
        state: The document.
        criteria: Their `paths` are taken at their word; in their text only paths whose first step
            exists are taken for paths.
        roots: Where apps stand, for paths that start inside one.
    """
    found: dict[str, None] = {}
    for criterion in criteria:
        for path in criterion.paths:
            for pointer in _pointers(path):
                found.setdefault(_placed(state, pointer, roots) or pointer)
        for pointer in _pointers(criterion.text):
            placed = _placed(state, pointer, roots)
            if placed is not None:
                found.setdefault(placed)
    return tuple(found)


def _pointers(text: str) -> list[str]:
    dotted = ["".join(f"/{step}" for step in _STEP.findall(each)) for each in _DOTTED.findall(text)]
    return [*_POINTER.findall(text), *dotted]


def _placed(state: Any, pointer: str, roots: Sequence[str]) -> str | None:
    """Return the pointer from the root of the document, null when its first step is nowhere."""
    first = pointer.split("/", 2)[1]
    for root in ("", *roots):
        if resolve(state, child(root, first)) is not MISSING:
            return root + pointer
    return None
