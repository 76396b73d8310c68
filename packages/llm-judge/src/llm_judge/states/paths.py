"""Find the paths that criteria and queries name: JSON pointers, dotted paths, JMESPath, with or without the app."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any

from bench_core.records.judge import Criterion
from llm_judge.states.pointers import MISSING, child, resolve

_IDENTIFIER = r'(?:[A-Za-z_]\w*(?!\w*\s*\()|"(?:[^"\\]|\\.)+")'
_DOTTED = re.compile(rf"(?<![\w.@'])({_IDENTIFIER}(?:\.{_IDENTIFIER}|\[\d+\])+)")
# values in a query may look like paths: 'a.b@c.d'
_LITERAL = re.compile(r"'(?:[^'\\]|\\.)*'|`[^`]*`")
_POINTER = re.compile(r"(?<![\w/:.])/[^\s,;'\"()]+(?:/[^\s,;'\"()]+)*")
_STEP = re.compile(r'"((?:[^"\\]|\\.)+)"|([A-Za-z_]\w*|\d+)')


def find_paths(state: Any, criteria: Iterable[Criterion], roots: Sequence[str]) -> tuple[str, ...]:
    """Return pointers to the places named; a pointer that leads nowhere only if it is certainly one.

    Args:
        state: The document.
        criteria: Their `paths` are taken at their word; in their text only paths whose first step
            exists are taken for paths.
        roots: Pointers to apps, for paths that start inside one.
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


def query_paths(query: str) -> tuple[str, ...]:
    """Return the places that a JMESPath query reads from, up to its first filter or function.

    Indexes are left out: a query of an element counts as one of its list.

    >>> query_paths("length(values(mail.sent.added)[?to=='a.b@c.d']) >= `1` && mail.box.values(@)[0].x")
    ('mail.sent.added', 'mail.box')
    """
    plain = _LITERAL.sub(" ", query)
    found = [re.sub(r"\[\d+\].*", "", each) for each in _DOTTED.findall(plain)]
    return tuple(dict.fromkeys(found))


def _pointers(text: str) -> list[str]:
    return [*_POINTER.findall(text), *map(_pointer, _DOTTED.findall(text))]


def _pointer(dotted: str) -> str:
    return "".join(child("", quoted or plain) for quoted, plain in _STEP.findall(dotted))


def _placed(state: Any, pointer: str, roots: Sequence[str]) -> str | None:
    """Return the pointer from the root of the document, `None` if its first step is nowhere."""
    first = pointer.split("/", 2)[1]
    for root in ("", *roots):
        if resolve(state, child(root, first)) is not MISSING:
            return root + pointer
    return None
