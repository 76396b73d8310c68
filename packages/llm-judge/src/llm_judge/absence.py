"""Whether it is shown that something is not there: the complete list is, and it is not in it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from llm_judge.concepts import stem, stems
from llm_judge.effects import app_effects
from llm_judge.holding import facts_held
from llm_judge.pointers import MISSING, leaves, resolve, tokens
from llm_judge.readings import words

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bench_core.judging import Evidence
    from llm_judge.grounds import Grounds
    from llm_judge.stated import Statement
    from llm_judge.surroundings import Place

__all__ = ["doubt_of_absence"]

_OTHER = re.compile(r"\b(?:other|else|additional|further|another|extra|more)\b", re.IGNORECASE)
_GENERAL = frozenset({"all", "data", "entries", "history", "items", "list", "records"})
_ANYTHING = re.compile(r"\b(?:nothing|anything|unchanged|untouched)\b", re.IGNORECASE)
_DENIED = re.compile(
    r"(?:\bnot|n't|\bnever)\s+(?:(?:actually|already|be|been|being|yet)\s+)*(\w+)", re.IGNORECASE
)
_OF_STATE = re.compile(
    r"\bthere (?:is|are) no\b|\b(?:contains?|holds?|includes?) no\b|\b(?:is|are)(?: not|n't) (?:among|in|on)\b",
    re.IGNORECASE,
)
"""What is not there, whether or not the run had to do with it: a list of changes does not say."""
_OF_REMOVAL = re.compile(r"\b(?:cancel|clear|delet|drop|los|remov|unsav|vanish)", re.IGNORECASE)
_OF_CHANGE = re.compile(
    r"\b(?:alter|chang|edit|modif|mov|renam|reschedul|updat|unchanged|untouched)", re.IGNORECASE
)


def doubt_of_absence(
    grounds: Grounds, statement: Statement, absent: Sequence[Evidence], present: Sequence[Evidence]
) -> str | None:
    """Return why evidence does not show that something is not there; null where it does."""
    text = statement.text
    quoted = [
        each
        for each in present
        if isinstance(resolve(grounds.state, each.pointer or ""), dict | list)
    ]
    for each in (*absent, *quoted):
        place = grounds.around.place(each.pointer or "")
        value = resolve(grounds.state, each.pointer or "")
        if (
            not _is_list(value, place)
            or not grounds.in_named_app(place, text)
            or not _is_of(place, text)
            or (place.role == "changes" and _OF_STATE.search(text))
        ):
            continue
        if each.kind == "absent" and each.quote:
            return None
        if _OTHER.search(text) and _records(value) <= 1:
            return None
        if not any(one not in ({}, [], None) for _, one in leaves(value)):
            elsewhere = None if _OTHER.search(text) else _made_elsewhere(grounds, statement, place)
            if elsewhere is None:
                return None
            return f"the list quoted is empty, but {elsewhere} is there"
    if _is_gone(grounds, statement, present) or _is_denied(grounds, statement, present):
        return None
    return "that something is not there needs the complete list of it, empty or without it"


def _is_denied(grounds: Grounds, statement: Statement, present: Sequence[Evidence]) -> bool:
    """Whether the record says of itself that what is denied is not so: `"sent": false`."""
    denied = {stem(each.lower()) for each in _DENIED.findall(statement.text)}
    quoted = [
        each
        for each in map(grounds.quoted, present)
        if each.value is False
        and set(map(stem, words((tokens(each.place.pointer) or [""])[-1]))) <= denied
        and grounds.of_app(each, statement.text)
    ]
    held = facts_held(grounds, statement.facts, quoted, asks_text=True)
    return bool(quoted) and held.doubt is None


def _is_list(value: Any, place: Place) -> bool:
    return (
        value is not MISSING
        and (value is None or isinstance(value, dict | list))
        and place.role not in {"before", "actions", "beside"}
    )


def _is_of(place: Place, text: str) -> bool:
    """Whether a list is of what a criterion says is not there."""
    below = set(tokens(place.pointer) or []) if place.role in {"changes", "gone"} else set()
    if below & {"deleted", "removed"} and not _OF_REMOVAL.search(text):
        return False
    if below & {"updated", "changed"} and not _OF_CHANGE.search(text):
        return False
    if "added" in below and _OF_REMOVAL.search(text):
        return False
    if place.role == "changes" and _ANYTHING.search(text):
        return True
    return _overlap(place.path, text) > 0


def _overlap(path: Sequence[str], text: str) -> int:
    named = [each for each in path if not each.isdecimal()]
    return len(stems(" ".join(named[-2:])) & stems(text)) if named else 1


def _closeness(path: Sequence[str], text: str) -> int:
    """How much the name of a list alone has in common with a text."""
    named = [each for each in path if not each.isdecimal() and each.lower() not in _GENERAL]
    return _overlap(named[-1:], text)


def _made_elsewhere(grounds: Grounds, statement: Statement, place: Place) -> str | None:
    """Return where the run made what is said not to be there: another list may be empty, too."""
    if (
        place.app is None
        or statement.facts
        or _OF_REMOVAL.search(statement.text)
        or _OF_CHANGE.search(statement.text)
    ):
        return None
    least = _closeness(place.path, statement.text)
    for effect in app_effects(place.app):
        if effect.kind not in {"added", "listed"}:
            continue
        made = grounds.around.place(effect.pointer)
        if (
            made.role not in {"after", "changes"}
            or made.collection is None
            or grounds.around.is_interface(made, frozenset())
        ):
            continue
        path = grounds.around.place(made.collection).path
        if grounds.around.is_new(made) and _closeness(path, statement.text) >= least:
            return made.record
    return None


def _is_gone(grounds: Grounds, statement: Statement, present: Sequence[Evidence]) -> bool:
    """Whether what is said to be gone is quoted from the app's own list of what was removed."""
    quoted = [grounds.quoted(each) for each in present]
    gone = [
        each
        for each in quoted
        if each.place.role == "gone" and grounds.of_app(each, statement.text)
    ]
    held = facts_held(grounds, statement.facts, gone, asks_text=True)
    return bool(gone and statement.facts) and held.doubt is None


def _records(value: Any) -> int:
    """How many records a list, or the lists of what was added and changed in it, hold."""
    if value is None:
        return 0
    if isinstance(value, dict) and set(value) & {"added", "updated", "deleted"}:
        return sum(len(each) for each in value.values() if isinstance(each, dict | list))
    return len(value)
