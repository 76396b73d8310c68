"""Proper names in English text: runs of capitalised words and the numbers among them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from llm_judge.language.synonyms import stem
from llm_judge.language.values import NUMBER_WORDS, folded
from llm_judge.language.word_files import word_list

if TYPE_CHECKING:
    from collections.abc import Sequence

_CAPITAL = re.compile(r"[A-Z0-9][\w\u2019'&.+-]*")
_STREET = re.compile(
    r"\b(?:Apartments?|Apts?|Avenue|Ave|Blvd|Boulevard|Court|Drive|Dr|Highway|Lane|Ln|Plaza|Rd|Road|Sq|Square|St|Street|Suites?|Terrace|Way)\b"
)
_STREET_NUMBER = re.compile(r"\d+[A-Za-z]?")
# capitalised where a sentence begins, or always, and no names
_NOT_NAMES = word_list("not_names")
# "an Italian restaurant" states a kind, not a name
_ADJECTIVE = re.compile(r"[A-Z][a-z]+(?:ean|ese|ish|ian|can)")


def capital_runs(text: str) -> Sequence[tuple[int, int, str]]:
    """Return names of one or several capitalised words, with the numbers among them."""
    runs: list[tuple[int, int]] = []
    for found in _CAPITAL.finditer(text):
        word = found[0].rstrip(".'")
        start, end = found.start(), found.start() + len(word)
        if not word or (start and text[start - 1] in "$\u20ac\u00a3#"):
            continue
        if not any(each.isalpha() for each in word) and not _STREET_NUMBER.fullmatch(word):
            continue
        if runs and text[runs[-1][1] : start] in {" ", " & ", " of ", " de "}:
            runs[-1] = (runs[-1][0], end)
        else:
            runs.append((start, end))
    found_runs = []
    for start, end in runs:
        first, _, rest = text[start:end].partition(" ")
        if first.lower() in _NOT_NAMES and rest:  # "Verify Brian King's ..."
            start = end - len(rest)  # noqa: PLW2901  # the name begins later
        amount, _, counted = text[start:end].partition(" ")
        number = amount.lower() in NUMBER_WORDS and counted.endswith("s")  # "Two Carnitas Burritos"
        if number or (
            amount.isdecimal() and _is_counted(counted)
        ):  # "6 Desks", not "8 Mission Street"
            start = end - len(counted)  # noqa: PLW2901  # the number is a fact of its own
        name = re.sub(r"'s$", "", text[start:end])
        if folded(name).strip() and not stem(name.lower()).isdigit():
            found_runs.append((start, start + len(name), name))
    return found_runs


def _is_counted(name: str) -> bool:
    """Whether what follows a number are things that are counted."""
    parts = name.split()
    return bool(parts) and (len(parts) == 1 or parts[-1].endswith("s")) and not _STREET.search(name)


def is_name(name: str, start: int, text: str, goal: str) -> bool:
    """Return whether capitalised words at `start` of `text` are a name, not the beginning of a sentence."""
    parts = name.split()
    if not any(each[0].isupper() for each in parts):
        return False
    before = text[:start].rstrip(" ('\"")
    begins = not before or before[-1] in ".!?:;" or before.strip().lower().endswith("verify that")
    if (
        begins and all(each.isdigit() for each in parts[1:]) and len(parts) > 1
    ):  # "Exactly 2 lamps", "Steakhouse 101"
        return name in goal
    if (
        len(parts) > 1
        or any(each.isupper() for each in name[1:])
        or any(each.isdigit() for each in name)
    ):
        return not (len(parts) == 1 and name.lower() in _NOT_NAMES)
    if name.lower() in _NOT_NAMES or len(name) == 1 or _ADJECTIVE.fullmatch(name):
        return False
    return not begins or re.search(rf"(?<=[a-z,] ){re.escape(name)}\b", goal) is not None
