"""Whose words a value is: the application's own record, or text that the agent typed.

"Booking confirmed" in a note to oneself proves that a note was written, not that anything was booked.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any

from bench_core.records.judge import Evidence
from llm_judge.evidence.quotations import is_of_agent
from llm_judge.states.pointers import MISSING, leaves, resolve, tokens

_FREE_TEXT = re.compile(
    r"(?:^|_)(?:about|bio|body|caption|comment|content|cover_?letter|description|draft|html|instruction|"
    r"message|note|preview|remark|reply|request|review|snippet|subject|summary|text)s?(?:$|_)"
)
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_TYPED_KEYS = re.compile(r"(?:text|value|typed|input|keys|content|query|string)", re.IGNORECASE)
_LEAST_TYPED = 24  # shorter texts (names, times) an application repeats in its own records


def typed_texts(actions: Iterable[Any]) -> tuple[str, ...]:
    """Return the texts that the agent typed, from its actions; short words are left out."""
    found: dict[str, None] = {}
    for action in actions:
        for pointer, value in leaves(action):
            key = (tokens(pointer) or [""])[-1]
            if isinstance(value, str) and len(value) >= _LEAST_TYPED and _TYPED_KEYS.search(key):
                found.setdefault(_plain(value))
    return tuple(found)


def provenance(state: Any, evidence: Evidence, typed: Sequence[str]) -> str | None:
    """Return who wrote a quoted value: `application` or `agent_text`; `None` for pictures.

    Free text (bodies, notes, descriptions) counts as the agent's, since agents can write it.
    """
    if evidence.pointer is None:
        return None
    if is_of_agent(state, evidence.pointer):
        return "agent_text"
    value = resolve(state, evidence.pointer)
    if not isinstance(value, str) or value is MISSING:
        return "application"
    names = [part for part in tokens(evidence.pointer) or [] if not part.isdecimal()]
    if is_free_text(names[-1] if names else "") or any(
        _plain(value) in text for text in typed if len(value) >= _LEAST_TYPED
    ):
        return "agent_text"
    return "application"


def is_free_text(key: str) -> bool:
    """Return whether people write freely in a field of this name.

    >>> is_free_text("specialRequest"), is_free_text("title")
    (True, False)
    """
    return _FREE_TEXT.search(_CAMEL.sub("_", key).lower()) is not None


def _plain(text: str) -> str:
    return " ".join(text.lower().split())
