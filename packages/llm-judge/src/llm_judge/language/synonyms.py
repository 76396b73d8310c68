"""Words of criteria and keys of records that mean the same: `party` of 3 and `guests`.

English words of everyday applications, none of any one application.
"""

from __future__ import annotations

import json
from functools import cache

from llm_judge.language.values import words
from llm_judge.language.word_files import word_file, word_list

# a word may be in several groups: `to` is an end, a destination and a recipient
_GROUPS: dict[str, str] = json.loads(word_file("meanings.json"))
ATTRIBUTES = word_list("attributes")
"""Meanings of words that say which field of a record holds a value."""

_COMMON = word_list("common_in_criteria")
_LEAST = 3
_LEAST_STEM = 4  # shorter stems are in too many words
_SUFFIXES = ("ations", "ation", "ings", "ing", "ies", "ied", "ers", "er", "ed", "es", "s", "e", "y")


def _of_words() -> dict[str, frozenset[str]]:
    found: dict[str, set[str]] = {}
    for meaning, members in _GROUPS.items():
        for word in members.split():
            found.setdefault(word, set()).add(meaning)
    return {word: frozenset(meant) for word, meant in found.items()}


_MEANINGS = _of_words()


@cache
def stem(word: str) -> str:
    """Return what is left of an English word without its ending.

    >>> stem("lamps"), stem("cancelled"), stem("cancellation")
    ('lamp', 'cancel', 'cancel')
    """
    for suffix in _SUFFIXES:
        if word.endswith(suffix) and len(word) - len(suffix) >= _LEAST:
            word = word[: -len(suffix)]
            break
    return word[:-1] if len(word) > _LEAST and word[-1] == word[-2] else word


_BY_STEM = {
    stem(word): meant for word, meant in _MEANINGS.items() if len(stem(word)) >= _LEAST_STEM
}


def meanings(word: str) -> frozenset[str]:
    """Return what a word may mean; empty for words without a group."""
    return _MEANINGS.get(word, _BY_STEM.get(stem(word), frozenset()))


def stems(text: str) -> frozenset[str]:
    """Return stems and meanings (`=price`) of the words of a text or name, common words left out."""
    found: set[str] = set()
    for word in words(text):
        if word not in _COMMON and (len(word) >= _LEAST or meanings(word)):
            found.add(stem(word))
            found |= {f"={each}" for each in meanings(word)}
    return frozenset(found)
