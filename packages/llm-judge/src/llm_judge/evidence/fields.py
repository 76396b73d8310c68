"""The fields of records: a scalar, where it stands, and what the words of its keys may mean."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from llm_judge.language.synonyms import meanings
from llm_judge.language.values import folded, words

if TYPE_CHECKING:
    from llm_judge.language.values import ParsedValue


@dataclass(frozen=True)
class Field:
    """One scalar of a quoted record.

    Attributes:
        keys: The words of its keys below the record.
        means: What these may mean.
        own: What the last of its keys may mean.
        free: Whether people write freely there.
        cited: Whether it is what was quoted, not only beside it.
    """

    pointer: str
    keys: tuple[str, ...]
    means: frozenset[str]
    value: Any
    parsed: ParsedValue
    free: bool
    own: frozenset[str] = frozenset()
    cited: bool = False


def field_of(pointer: str, record: str, value: Any, parsed: ParsedValue, *, free: bool) -> Field:
    """Return a scalar with the words of its keys below its record."""
    below = [each for each in pointer[len(record) :].split("/") if each and not each.isdecimal()]
    if not below:  # the record is the scalar
        below = [pointer.rpartition("/")[2]]
    keys = tuple(word for each in below for word in words(each))
    own = _meant(below[-1])
    return Field(pointer, keys, own.union(*map(_meant, below)), value, parsed, free, own)


def _meant(key: str) -> frozenset[str]:
    found = (*words(key), folded(key).replace(" ", ""))  # "checkIn" is also "checkin"
    return frozenset(meant for word in found for meant in meanings(word))
