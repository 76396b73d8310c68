"""Whether evidence shows that something is not there: the complete list, empty or without it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from llm_judge.evidence.coverage import check_facts
from llm_judge.language.synonyms import stem, stems
from llm_judge.language.values import words
from llm_judge.states.effects import app_effects
from llm_judge.states.pointers import MISSING, leaves, resolve, tokens

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bench_core.records.judge import Evidence
    from llm_judge.evidence.judged_state import JudgedState
    from llm_judge.language.statements import Statement
    from llm_judge.states.locations import Location

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
"""Wordings about the whole state: a list of what the run changed cannot answer them."""
_OF_REMOVAL = re.compile(r"\b(?:cancel|clear|delet|drop|los|remov|unsav|vanish)", re.IGNORECASE)
_OF_CHANGE = re.compile(
    r"\b(?:alter|chang|edit|modif|mov|renam|reschedul|updat|unchanged|untouched)", re.IGNORECASE
)


def doubt_of_absence(
    judged: JudgedState,
    statement: Statement,
    absent: Sequence[Evidence],
    present: Sequence[Evidence],
) -> str | None:
    """Return why evidence does not show that something is not there; `None` where it does."""
    text = statement.text
    quoted = [
        each
        for each in present
        if isinstance(resolve(judged.state, each.pointer or ""), dict | list)
    ]
    for each in (*absent, *quoted):
        location = judged.index.locate(each.pointer or "")
        value = resolve(judged.state, each.pointer or "")
        if (
            not _is_list(value, location)
            or not judged.in_named_app(location, text)
            or not _is_of(location, text)
            or (location.role == "changes" and _OF_STATE.search(text))
        ):
            continue
        if each.kind == "absent" and each.quote:
            return None
        # "no other booking": the one that was asked for may be there
        if _OTHER.search(text) and _records(value) <= 1:
            return None
        if not any(one not in ({}, [], None) for _, one in leaves(value)):
            elsewhere = (
                None if _OTHER.search(text) else _made_elsewhere(judged, statement, location)
            )
            if elsewhere is None:
                return None
            return f"the list quoted is empty, but {elsewhere} is there"
    if _is_gone(judged, statement, present) or _is_denied(judged, statement, present):
        return None
    return "that something is not there needs the complete list of it, empty or without it"


def _is_denied(judged: JudgedState, statement: Statement, present: Sequence[Evidence]) -> bool:
    """Whether a flag of the record itself is false: `"sent": false` for `was not sent`."""
    denied = {stem(each.lower()) for each in _DENIED.findall(statement.text)}
    quoted = [
        each
        for each in map(judged.resolve, present)
        if each.value is False
        and set(map(stem, words((tokens(each.location.pointer) or [""])[-1]))) <= denied
        and judged.of_app(each, statement.text)
    ]
    held = check_facts(judged, statement.facts, quoted, asks_text=True)
    return bool(quoted) and held.doubt is None


def _is_list(value: Any, location: Location) -> bool:
    return (
        value is not MISSING
        and (value is None or isinstance(value, dict | list))
        and location.role not in {"before", "actions", "beside"}
    )


def _is_of(location: Location, text: str) -> bool:
    """Whether a list is of what a criterion says is not there."""
    below = set(tokens(location.pointer) or []) if location.role in {"changes", "gone"} else set()
    # a list of what was added shows nothing about removals, and the other way round
    if below & {"deleted", "removed"} and not _OF_REMOVAL.search(text):
        return False
    if below & {"updated", "changed"} and not _OF_CHANGE.search(text):
        return False
    if "added" in below and _OF_REMOVAL.search(text):
        return False
    if location.role == "changes" and _ANYTHING.search(text):
        return True
    return _overlap(location.path, text) > 0


def _overlap(path: Sequence[str], text: str) -> int:
    named = [each for each in path if not each.isdecimal()]
    return len(stems(" ".join(named[-2:])) & stems(text)) if named else 1


def _closeness(path: Sequence[str], text: str) -> int:
    """How much the name of a list alone has in common with a text."""
    named = [each for each in path if not each.isdecimal() and each.lower() not in _GENERAL]
    return _overlap(named[-1:], text)


def _made_elsewhere(judged: JudgedState, statement: Statement, location: Location) -> str | None:
    """Return where the run made what the criterion denies: the empty list quoted may be another one."""
    if (
        location.app is None
        or statement.facts
        or _OF_REMOVAL.search(statement.text)
        or _OF_CHANGE.search(statement.text)
    ):
        return None
    least = _closeness(location.path, statement.text)
    for effect in app_effects(location.app):
        if effect.kind not in {"added", "listed"}:
            continue
        made = judged.index.locate(effect.pointer)
        if (
            made.role not in {"after", "changes"}
            or made.collection is None
            or judged.index.is_interface(made, frozenset())
        ):
            continue
        path = judged.index.locate(made.collection).path
        if judged.index.is_new(made) and _closeness(path, statement.text) >= least:
            return made.record
    return None


def _is_gone(judged: JudgedState, statement: Statement, present: Sequence[Evidence]) -> bool:
    """Whether what should be gone is quoted from the app's own list of what was removed."""
    quoted = [judged.resolve(each) for each in present]
    gone = [
        each
        for each in quoted
        if each.location.role == "gone" and judged.of_app(each, statement.text)
    ]
    held = check_facts(judged, statement.facts, gone, asks_text=True)
    return bool(gone and statement.facts) and held.doubt is None


def _records(value: Any) -> int:
    """How many records a list, or the lists of what was added and changed in it, hold."""
    if value is None:
        return 0
    if isinstance(value, dict) and set(value) & {"added", "updated", "deleted"}:
        return sum(len(each) for each in value.values() if isinstance(each, dict | list))
    return len(value)
