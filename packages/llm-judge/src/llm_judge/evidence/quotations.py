"""Check quoted evidence against a state, without a model.

A quotation holds when it is, character for character, what stands at its pointer. Only of texts
over 200 characters a passage will do, if it says that it is one and begins and ends where words do.
That nothing stands somewhere, or that a text does not occur there, is looked up in the whole state.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

from llm_judge.language.keywords import machine_forms
from llm_judge.states.effects import compact
from llm_judge.states.pointers import MISSING, leaves, resolve, tokens

if TYPE_CHECKING:
    from bench_core.records.judge import Evidence

_LONG = 200
_PASSAGE = 20  # shorter texts stand in others by chance
_LEAST_TEXT = 3
_REGION = re.compile(r"\s*(\d{1,5})\s*,\s*(\d{1,5})\s*,\s*(\d{1,5})\s*,\s*(\d{1,5})\s*")


def check_evidence(
    state: Any, evidence: Evidence, *, pictures: dict[str, tuple[int, int]], asked: str = ""
) -> Evidence:
    """Return `evidence` with what the check found.

    Args:
        state: The whole state, also where only a part of it was shown.
        evidence: What a judge quoted.
        pictures: Width and height of the screenshots by label.
        asked: Goal and criterion; a text quoted as absent must be one of theirs.
    """
    if evidence.screenshot is not None:
        verified, status = _picture(evidence, pictures)
    elif evidence.pointer is None:
        verified, status = False, "names no place"
    elif evidence.kind == "absent":
        verified, status = _absent(state, evidence.pointer, evidence.quote, asked)
    else:
        part = evidence.kind == "passage"
        verified, status = _present(state, evidence.pointer, evidence.quote, part=part)
    return evidence.model_copy(update={"verified": verified, "status": status})


def quote_match(value: Any, quote: str) -> str | None:
    """Return how `quote` matches `value` (`exact` or `members`), `None` when it does not.

    >>> quote_match("Steakhouse 101", "Steakhouse 101")
    'exact'
    >>> quote_match("Steakhouse 101", "Steakhouse") is None
    True
    """
    if isinstance(value, str):
        # models quote a text as it is, as JSON, or with its escapes
        if quote in (value, compact(value), json.dumps(value, ensure_ascii=False)):
            return "exact"
        return "exact" if f'"{quote}"' == compact(value) else None
    if isinstance(value, dict | list) and value:
        return _in_container(value, quote)
    return "exact" if quote == compact(value) else None


def _present(state: Any, pointer: str, quote: str | None, *, part: bool) -> tuple[bool, str]:
    value = resolve(state, pointer)
    if value is MISSING:
        return False, "no such pointer" if tokens(pointer) is None else "nothing stands there"
    if quote is None:
        return False, "quotes nothing"
    how = quote_match(value, quote)
    if part and how is None and isinstance(value, str) and _is_passage(value, quote):
        how = "passage"
    return (True, how) if how else (False, "something else stands there")


def _is_passage(value: str, quote: str) -> bool:
    if len(value) <= _LONG or len(quote) < _PASSAGE:
        return False
    start = value.find(quote)  # between word borders only: "Work" also stands in "workout"
    while start >= 0:
        end = start + len(quote)
        if not (_is_inside_word(value, start) or _is_inside_word(value, end)):
            return True
        start = value.find(quote, start + 1)
    return False


def _is_inside_word(value: str, at: int) -> bool:
    """Whether a cut at `at` would go through a word or number."""
    return 0 < at < len(value) and value[at - 1].isalnum() and value[at].isalnum()


def _in_container(value: dict[str, Any] | list[Any], quote: str) -> str | None:
    try:
        quoted = json.loads(quote)
    except (ValueError, RecursionError):
        return None
    if _equal(quoted, value):
        return "exact"
    if isinstance(quoted, dict) and isinstance(value, dict) and quoted:
        held = all(key in value and _equal(each, value[key]) for key, each in quoted.items())
        return "members" if held else None
    return None


def _equal(one: Any, other: Any) -> bool:
    # compared as JSON, so that true is not 1
    return json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True)


def _absent(state: Any, pointer: str, quote: str | None, asked: str) -> tuple[bool, str]:
    if tokens(pointer) is None:
        return False, "no such pointer"
    value = resolve(state, pointer)
    if not quote:
        if value is MISSING:
            return False, "there is no such place to be empty"
        empty = value in ("", None) or (isinstance(value, dict | list) and not value)
        return (True, "empty") if empty else (False, "something stands there")
    # of the whole state ("it is nowhere") anything could be denied
    if value is MISSING or not tokens(pointer):
        return False, "there is no such place to look in"
    if not _asked_for(quote, asked):
        return False, "was not asked for"
    forms = {quote.lower(), *machine_forms(quote)}
    texts = (f"{place} {each}".lower() for place, each in leaves(value))
    found = any(form in text for text in texts for form in forms)
    return (False, "it does stand there") if found else (True, "absent")


def _asked_for(quote: str, asked: str) -> bool:
    # a made-up word is absent everywhere and proves nothing
    return len(quote) >= _LEAST_TEXT and quote.lower() in asked.lower()


def _picture(evidence: Evidence, pictures: dict[str, tuple[int, int]]) -> tuple[bool | None, str]:
    size = pictures.get(evidence.screenshot or "")
    if size is None:
        return False, "no such picture"
    if evidence.region is None:
        return None, "whole picture, not checked"
    numbers = _REGION.fullmatch(evidence.region)
    if numbers is None:
        return False, "the region is not x,y,width,height"
    x, y, width, height = map(int, numbers.groups())
    # pixels are not read: a region is at best undecided
    inside = width > 0 and height > 0 and x + width <= size[0] and y + height <= size[1]
    return (None, "region, not checked") if inside else (False, "the region is outside the picture")
