"""Which records matter to a goal: shared words, weighed by how rare they are among the records."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from importlib.resources import files

_WORD = re.compile(r"[^\W_]+(?:[:.'-][^\W_]+)*")
_CLOCK = re.compile(r"\b(\d{1,2})(?::(\d{2}))?\s*([ap])\.?m\b", re.IGNORECASE)
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_DAY = re.compile(rf"\b({'|'.join(_MONTHS)})[a-z]*\.?\s+(\d{{1,2}})\b", re.IGNORECASE)
_COMMON = frozenset((files("llm_judge.prompts") / "common_in_goals.txt").read_text("utf-8").split())
_WORD_BORDER = re.compile(r"[\W_]+|(?<=[a-z0-9])(?=[A-Z])")
_LEAST = 3
_MAX_TERMS = 80  # `relevance` looks each of them up in every record


def keywords(*texts: str) -> tuple[str, ...]:
    """Return the keywords of some texts, lower case; clock times and days in other forms too.

    >>> keywords("Reserve a table for 3 at 8:30 PM on July 18")[-3:]
    ('18', '20:30', '-07-18')
    """
    found: dict[str, None] = {}
    for text in texts:
        for word in _WORD.findall(text.lower()):
            if (len(word) >= _LEAST or word.isdigit()) and word not in _COMMON:
                found.setdefault(word)
    for text in texts:
        for form in machine_forms(text):
            found.setdefault(form)
    return tuple(found)[:_MAX_TERMS]


def relevance(records: Sequence[str], wanted: Sequence[str]) -> list[float]:
    """Return for each record how much of what is wanted it holds, from 0 to 1.

    A word counts once however often a record repeats it, so a record cannot push itself forward.
    """
    if not wanted:
        return [0.0] * len(records)
    lowered = [record.lower() for record in records]
    scores = [0.0] * len(records)
    total = 0.0
    for term in wanted:
        holders = [i for i, record in enumerate(lowered) if term in record]
        # the 0.1: a word that every record holds still counts a little
        weight = math.log((1 + len(records)) / (1 + len(holders))) + 0.1
        total += weight
        for i in holders:
            scores[i] += weight
    return [score / total for score in scores]


def spelled(name: str) -> str:
    """Return the words of a key.

    >>> spelled("pickupTime"), spelled("pick_up")
    ('pickup time', 'pick up')
    """
    return " ".join(_WORD_BORDER.sub(" ", name).lower().split())


def machine_forms(text: str) -> list[str]:
    """Return clock times and days in `text` as machines write them.

    >>> machine_forms("8:30 PM on July 18")
    ['20:30', '-07-18']
    """
    forms = []
    for hour, minute, half in _CLOCK.findall(text):
        late = int(hour) % 12 + (12 if half.lower() == "p" else 0)
        forms.append(f"{late:02d}:{minute or '00'}")
    for month, day in _DAY.findall(text):
        forms.append(f"-{_MONTHS.index(month.lower()) + 1:02d}-{int(day):02d}")
    return forms
