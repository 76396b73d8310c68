"""Contradictions in records that hold what a criterion states: flags, statuses, other kinds, other values."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from llm_judge.evidence.fact_match import SIDES, touches
from llm_judge.language.negation import without_examples
from llm_judge.language.synonyms import ATTRIBUTES, meanings, stem, stems
from llm_judge.language.values import words

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from llm_judge.evidence.fields import Field
    from llm_judge.evidence.judged_state import JudgedState, ResolvedEvidence
    from llm_judge.language.statements import Fact, Statement
    from llm_judge.language.values import ParsedValue
    from llm_judge.states.locations import Location

NEGATION = re.compile(r"\b(?:no|not|never|without)\b|n't\b", re.IGNORECASE)
_PARTICIPLE = re.compile(r"\w+ed|done|draft|made|paid|sent|won")
_IS_A = re.compile(r"\b(?:is|are|was|were)\s+an?\s+((?:[a-z][\w-]*\s+){1,3})([a-z]+)\b")
_PREDICATE = re.compile(
    r"\b(?:are|be|been|is|was|were)\s+(?:now\s+|\w+ly\s+)?([a-z]+)\b", re.IGNORECASE
)
_STATUS_KEYS = frozenset({"stage", "state", "status"})
_REFUSED, _OPEN = -1, 0
_STATUS = {
    word: stage
    for stage, names in {
        _REFUSED: "canceled cancelled declined denied expired failed refused rejected withdrawn",
        _OPEN: "draft new open pending requested unconfirmed unpaid waiting",
        1: "accepted active approved confirmed granted paid placed processing published scheduled shipped",
        2: "closed completed delivered finished resolved",
    }.items()
    for word in names.split()
}
"""How far a thing has come, by the word for its status."""
_PREPOSITIONS = frozenset({"at", "by", "for", "in", "of", "on", "the", "to", "with"})
_KINDS = frozenset({"item", "restaurant", "stay"})
_IDENTIFYING = ATTRIBUTES | {"confirmation", "content", "date", "item", "restaurant", "time"}
"""Meanings of keys whose values identify a record."""
_PARTS = ATTRIBUTES - {"end", "people", "quantity", "start"} | {"content"}
_NOT_PARTS = frozenset(
    [
        "detail",
        "details",
        "from",
        "include",
        "includes",
        "including",
        "list",
        "lists",
        "message",
        "messages",
        "to",
        "where",
    ]
)
_SHORT = 40
"""Longest text that is taken for a time or a day alone."""


def contradiction(
    judged: JudgedState,
    statement: Statement,
    quoted: Sequence[ResolvedEvidence],
    records: Sequence[ResolvedEvidence],
) -> str | None:
    """Return what contradicts a statement although its facts are held; `None` where nothing does.

    Args:
        judged: The state that evidence is checked against.
        statement: What the criterion states.
        quoted: The sound quotations.
        records: One of them from each record.
    """
    fields = [each for one in records for each in judged.fields(one)]
    found = (
        _contradicted(statement.facts, quoted, judged.parse)
        or _denied(statement.text, records, fields)
        or _other_kind(statement, fields)
    )
    if found is None and not _is_to_the_point(statement.text, statement.facts, quoted, fields):
        return "what is quoted does not say what the criterion is about"
    return found


def element_pointer(location: Location) -> str:
    """Return the pointer of the innermost element of a list around a location, else of its record."""
    below = location.pointer[len(location.record) :].split("/")
    last = max((n for n, each in enumerate(below[:-1]) if each.isdecimal()), default=-1)
    return location.record + "/".join(below[: last + 1])


def _is_to_the_point(
    text: str, facts: Sequence[Fact], quoted: Sequence[ResolvedEvidence], fields: Sequence[Field]
) -> bool:
    """Whether a value that was quoted is itself one the criterion is about, not only beside it."""
    pointers = tuple(each.location.pointer for each in quoted)
    below = tuple(f"{each}/" for each in pointers)
    cited = [each for each in fields if each.pointer in pointers or each.pointer.startswith(below)]
    if any(touches(fact, each) for fact in facts for each in cited):
        return True
    asked = words(without_examples(text))
    meant = {m for word in asked if word not in _NOT_PARTS for m in meanings(word)}
    parts = meant & _PARTS & {own for each in fields for own in each.own}
    if parts and (not facts or any(parts & each.own for each in cited)):
        return any(parts & each.own for each in cited)
    sides = meant & SIDES
    counted = all(fact.kind == "number" for fact in facts)
    return any(
        _IDENTIFYING & each.own or (counted and _is_spoken(each, text))
        for each in cited
        if not isinstance(each.value, bool) or each.keys[-1] in asked
        if not (sides and each.means & SIDES) or sides & each.means
    )


def _is_spoken(cited: Field, text: str) -> bool:
    value = "" if str(cited.value).startswith(("/", "http")) else str(cited.value)
    shown = stems(cited.pointer.rpartition("/")[2]) | stems(value)
    return bool(stems(text) & shown)


def _denied(text: str, records: Sequence[ResolvedEvidence], fields: Sequence[Field]) -> str | None:
    """Return a flag or status of the record that denies the criterion: `"sent": false` of what was sent."""
    if NEGATION.search(text):
        return None
    stated = {each for each in words(text) if _PARTICIPLE.fullmatch(each)}
    listed = {word for one in records for word in map(stem, words(" ".join(one.location.path)))}
    wanted = [
        _STATUS[each]
        for each in map(str.lower, _PREDICATE.findall(text))
        if each in _STATUS and stem(each) not in listed  # in a list of what was cancelled
    ]
    for each in fields:
        parent = each.pointer.rpartition("/")[0]
        inner = parent in {element_pointer(one.location) for one in records}
        whole = parent in {one.location.record for one in records}
        if each.value is False and (inner or whole) and stated & set(each.keys[-1:]):
            return f"the record quoted says that {each.keys[-1]!r} is false"
        status = _STATUS.get(str(each.value).lower()) if each.keys[-1] in _STATUS_KEYS else None
        if inner and status is not None and any(_is_not(status, each) for each in wanted):
            return f"the record quoted says that it is {each.value!r}"
    return None


def _is_not(stage: int, wanted: int) -> bool:
    """Whether something at one stage has not reached the stage that a criterion states."""
    return stage != wanted if wanted in {_REFUSED, _OPEN} else stage < wanted


def _other_kind(statement: Statement, fields: Sequence[Field]) -> str | None:
    """Return a kind that a criterion states and the record does not show: `is a pizza restaurant`."""
    for found in _IS_A.finditer(statement.text):
        kind, thing = words(found[1]), found[2]
        meaningful = [each for each in kind if len(each) > 2 and not meanings(each)]
        other = set(kind) & _PREPOSITIONS or set(kind) & set(statement.vague)
        if not _KINDS & meanings(thing) or not meaningful or other:
            continue
        held = {
            stem(word) for each in fields for word in words(f"{each.value} {' '.join(each.keys)}")
        }
        if not any(stem(each) in word for each in meaningful for word in held):
            return f"the record quoted does not say {' '.join(meaningful)!r}"
    return None


def _contradicted(
    facts: Sequence[Fact],
    quoted: Sequence[ResolvedEvidence],
    parse: Callable[[Any, Location], ParsedValue],
) -> str | None:
    """Return which quotation is itself another time or day than the one stated."""
    # the record may hold the right time elsewhere; what is quoted as proof must not be another one
    for kind in ("clock", "day"):
        wanted = [each for each in facts if each.kind == kind and each.relation == "is"]
        parsed = [
            (each, parse(each.value, each.location))
            for each in quoted
            if not isinstance(each.value, dict | list)
        ]
        moments = [
            (each, one)
            for each, one in parsed
            if (one.clocks if kind == "clock" else one.days) and len(one.raw) < _SHORT
        ]  # a time, not a text
        if kind == "clock":
            agree = any(one.clocks & fact.parsed.clocks for _, one in moments for fact in wanted)
        else:
            agree = any(
                a.agrees(b)
                for _, one in moments
                for fact in wanted
                for a in one.days
                for b in fact.parsed.days
            )
        if wanted and moments and not agree:
            return f"what is quoted is {moments[0][1].raw!r}, not {wanted[0].text!r}"
    return None
