"""Check quoted evidence against a state, without a model: does the quotation stand at its pointer?

Small slips are repaired: the spelling of a pointer, case, white space, quotation marks, the
notation of a number. A quotation is never moved to another record.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from bench_core.records.judge import Evidence, JudgeCase
from llm_judge.states.effects import compact
from llm_judge.states.pointers import MISSING, child, leaves, resolve, tokens

_PASSAGE = 12  # shorter texts stand in others by chance
_MOST_LEAVES = 80  # a larger object is a part of the state, not a record
_LONGEST_NUMBER = 40
# a part of a picture: left, top, width and height in pixels
_REGION = re.compile(r"\s*(\d{1,5})\s*,\s*(\d{1,5})\s*,\s*(\d{1,5})\s*,\s*(\d{1,5})\s*")
# a step of a path as models write them: a.b["c d"][0]
_STEP = re.compile(r'\["?([^\]"]+)"?\]|([^.\[\]]+)')
# the sign with which a model leaves out words of a quotation: ... or […]
_ELISION = re.compile(r"\s*(?:\[?\.\.\.\]?|\[?\u2026\]?)\s*")
_MARKS = str.maketrans(
    {"\u2019": "'", "\u2018": "'", "\u201c": '"', "\u201d": '"', "\u2013": "-", "\u2014": "-"}
)
_MONEY = "(?:[A-Z]{3}|[$\u00a2-\u00a5\u20a0-\u20c0])?"
# an amount of money: USD 1,200.50, $1,200 or 1.200 €
_AMOUNT = re.compile(rf"{_MONEY}\s?([+-]?)\s?(\d[\d.,' ]*)\s?{_MONEY}")

_OF_AGENT = frozenset({"agent_answer", "actions"})
_IN_GROUPS = re.compile(r"(?<=\d)[' ](?=\d{3}(?!\d))")
_OF_NUMBERS = frozenset("0123456789.,")


def check_evidence(
    state: Any,
    evidence: Evidence,
    *,
    pictures: dict[str, tuple[int, int]],
    initial: Any = None,
    roots: Sequence[str] = (),
    beside: Mapping[str, Any] | None = None,
) -> Evidence:
    """Return `evidence` with the result of the check; its pointer is the repaired one.

    Args:
        state: The whole state, even if only a part of it was shown.
        evidence: The judge's quotation.
        pictures: Width and height of the screenshots by label.
        initial: The state from before, if stored apart.
        roots: Pointers to the apps' snapshots, for pointers that start inside one.
        beside: The agent's words and acts, quoted as if they stood in the state; see `agent_texts`.
    """
    if evidence.screenshot is not None:
        verified, status = _picture(evidence, pictures)
        return evidence.model_copy(update={"verified": verified, "status": status})
    if evidence.pointer is None:
        return evidence.model_copy(update={"verified": False, "status": "names no place"})
    if is_of_agent(state, evidence.pointer):
        state, initial, roots = beside or {}, None, ()
    found = evidence.pointer, False, "no such pointer"
    for pointer in _spellings(state, evidence.pointer, roots):
        found = _at(state, pointer, evidence.kind, evidence.quote)
        if found[1]:
            break
    if not found[1] and initial is not None and evidence.kind != "absent":
        before = _at(initial, evidence.pointer, evidence.kind, evidence.quote)
        found = (before[0], True, "before the run") if before[1] else found
    pointer, verified, status = found
    return evidence.model_copy(update={"pointer": pointer, "verified": verified, "status": status})


def agent_texts(case: JudgeCase) -> dict[str, Any]:
    """Return the agent's answer and actions by the names under which evidence may point to them."""
    return {"agent_answer": case.agent_answer, "actions": list(case.actions)}


def is_of_agent(state: Any, pointer: str) -> bool:
    """Whether a pointer leads to the agent's answer or actions, and not to the state.

    >>> is_of_agent({}, "/agent_answer/price"), is_of_agent({"actions": []}, "/actions/0")
    (True, False)
    """
    first = next(
        (one or other for one, other in _STEP.findall(pointer.strip("#$/ ").replace("/", "."))), ""
    )
    return first in _OF_AGENT and not (isinstance(state, dict) and first in state)


def quote_match(value: Any, quote: str) -> str | None:
    """Return how `quote` matches `value`, `None` when it does not.

    >>> quote_match("Steakhouse 101", "Steakhouse 101"), quote_match("Steakhouse 101", "steakhouse  101")
    ('exact', 'repaired')
    >>> quote_match(1250, "$1,250.00"), quote_match("Steakhouse 101", "Steakhouse")
    ('repaired', None)
    """
    if isinstance(value, dict | list):
        return (
            _in_container(value, quote) if value else "empty" if quote in ("", "{}", "[]") else None
        )
    text = value if isinstance(value, str) else compact(value)
    if quote in (text, compact(value), json.dumps(value, ensure_ascii=False)):
        return "exact"
    if f'"{quote}"' == compact(value):  # with its escapes
        return "exact"
    if _plain(quote) == _plain(text) or (_numbers(quote) & _numbers(text)):
        return "repaired"
    return "passage" if isinstance(value, str) and _is_passage(value, quote) else None


def _at(state: Any, pointer: str, kind: str, quote: str | None) -> tuple[str, bool, str]:
    value = resolve(state, pointer)
    empty = value in ("", None, {}, [])  # `0 == False` is not among them, and is a value
    how = None if quote is None or value is MISSING else quote_match(value, quote)
    if kind != "absent" and how is not None:
        return pointer, True, how
    if kind == "absent" or not (quote or "").strip():
        return (pointer, *_absent(state, pointer, value, quote, empty=empty, said=kind == "absent"))
    if value is MISSING:
        return pointer, False, "nothing stands there"
    if isinstance(value, dict | list):
        below = next(iter(_holding(value, pointer, quote or "")), None)
        return (below, True, "repaired") if below else (pointer, False, "it does not hold that")
    return pointer, False, "something else stands there"


def _absent(
    state: Any, pointer: str, value: Any, quote: str | None, *, empty: bool, said: bool
) -> tuple[bool, str]:
    if empty:
        return True, "empty"
    if value is MISSING:
        # something can be missing next to a record of the same collection; elsewhere it always is
        holder = pointer.rpartition("/")[0]
        beside = said and holder and isinstance(resolve(state, holder), dict | list)
        return (True, "nothing stands there") if beside else (False, "there is no such place")
    if not said:
        return False, "quotes nothing"
    if not (quote or "").strip() or not isinstance(value, dict | list):
        return False, "something stands there"
    wanted = _plain(quote or "")
    held = any(wanted in _plain(f"{place} {each}") for place, each in leaves(value))
    return (False, "it does stand there") if held else (True, "absent")


def _spellings(state: Any, pointer: str, roots: Sequence[str]) -> Iterator[str]:
    """Yield a pointer as it is given, then in other spellings that lead somewhere."""
    yield pointer
    plain = pointer.strip().removeprefix("#").removeprefix("$").strip()
    steps = tokens(plain.rstrip("/")) if plain.startswith("/") else None
    if steps is None:
        steps = [one or other for one, other in _STEP.findall(plain.replace("/", "."))]
    for root in ("", *roots):
        found = _walked(state, [*(tokens(root) or []), *steps])
        if steps and found is not None and found != pointer:
            yield found


def _walked(state: Any, steps: Sequence[str]) -> str | None:
    """Return the pointer that some steps lead to, in the case of the state's keys."""
    pointer = ""
    for step in steps:
        value = resolve(state, pointer)
        if isinstance(value, dict) and step not in value:
            alike = [key for key in value if key.casefold() == step.strip().casefold()]
            pointer = child(pointer, alike[0] if len(alike) == 1 else step)
        else:
            pointer = child(pointer, step)
        if resolve(state, pointer) is MISSING:
            return None
    return pointer


def _holding(value: Any, pointer: str, quote: str) -> list[str]:
    """Return the pointer of a quotation below the record that it points to."""
    found = []
    # "key": value is how a record shows its field
    key, colon, rest = quote.partition(":")
    for number, (below, each) in enumerate(leaves(value, pointer)):
        if number == _MOST_LEAVES:
            return []
        named = colon and (tokens(below) or [""])[-1] == key.strip().strip('"')
        if quote_match(each, quote) in ("exact", "repaired") or (
            named and quote_match(each, rest.strip().rstrip(",")) in ("exact", "repaired")
        ):
            found.append(below)
    return found


def _plain(text: str) -> str:
    folded = unicodedata.normalize("NFKC", text).translate(_MARKS).casefold()
    return " ".join(folded.split()).strip("\"'` ")


def _numbers(text: str) -> set[float]:
    """Return the numbers that a text may stand for: `1.250` is 1.25 or 1250."""
    found = _AMOUNT.fullmatch(text.strip()) if len(text) <= _LONGEST_NUMBER else None
    if found is None:
        return set()
    sign, digits = -1.0 if found[1] == "-" else 1.0, _IN_GROUPS.sub("", found[2].strip())
    if not set(digits) <= _OF_NUMBERS:  # digits in other groups are a telephone's, or a card's
        return set()
    readings = set()
    for thousands, point in ((",", "."), (".", ",")):
        grouped = re.fullmatch(rf"\d{{1,3}}(?:\{thousands}\d{{3}})+(?:\{point}\d*)?", digits)
        if grouped or thousands not in digits:
            plain = digits.replace(thousands, "").replace(point, ".")
            readings |= {sign * float(plain)} if plain.count(".") <= 1 else set()
    return readings


def _is_passage(value: str, quote: str) -> bool:
    """Whether a text holds a quotation between word borders, its elided parts in order."""
    text, at = _plain(value), 0
    parts = [_plain(each) for each in _ELISION.split(quote) if each.strip()]
    if not parts or max(map(len, parts)) < _PASSAGE:
        return False
    for part in parts:
        start = text.find(part, at)
        while start >= 0 and (_in_word(text, start) or _in_word(text, start + len(part))):
            start = text.find(part, start + 1)
        if start < 0:
            return False
        at = start + len(part)
    return True


def _in_word(text: str, at: int) -> bool:
    """Whether a cut at `at` would go through a word or number."""
    return 0 < at < len(text) and text[at - 1].isalnum() and text[at].isalnum()


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


def region_of(evidence: Evidence) -> tuple[int, int, int, int] | None:
    """Return x, y, width and height of the part of a picture that is quoted."""
    numbers = _REGION.fullmatch(evidence.region or "")
    return (
        None
        if numbers is None
        else (int(numbers[1]), int(numbers[2]), int(numbers[3]), int(numbers[4]))
    )


def _picture(evidence: Evidence, pictures: dict[str, tuple[int, int]]) -> tuple[bool | None, str]:
    size = pictures.get(evidence.screenshot or "")
    if size is None:
        return False, "no such picture"
    box = region_of(evidence)
    if box is None:
        return False, "no region x,y,width,height of it is named"
    x, y, width, height = box
    inside = width > 0 and height > 0 and x + width <= size[0] and y + height <= size[1]
    return (
        (None, "region, pixels not read")
        if inside
        else (False, "the region is outside the picture")
    )
