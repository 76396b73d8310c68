"""Whether the fields of quoted records hold one fact of a criterion."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from itertools import combinations
from typing import TYPE_CHECKING, Any, Literal

from llm_judge.language.statements import CLAUSE
from llm_judge.language.synonyms import ATTRIBUTES, meanings, stem
from llm_judge.language.values import WEEKDAYS, Day, words
from llm_judge.states.locations import is_id_key

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from llm_judge.evidence.fields import Field
    from llm_judge.language.statements import Fact

MatchOutcome = Literal["held", "missing", "violated", "unchecked"]

# when a record was written is not when what it is about takes place
_TIMESTAMP_WORDS = frozenset(
    {
        "created",
        "updated",
        "modified",
        "timestamp",
        "edited",
        "seen",
        "expires",
        "expiry",
        "expiration",
    }
)
# their digits count nothing
_NOT_AMOUNTS = frozenset(
    {
        "phone",
        "tel",
        "telephone",
        "zip",
        "zipcode",
        "postal",
        "cvv",
        "card",
        "number",
        "version",
        "security",
        "lat",
        "lng",
    }
)
_ENDS = frozenset({"end", "checkout", "return", "dropoff"})
_ENDPOINTS = frozenset({"pickup", "dropoff", "recipient", "sender", "cc"})
SIDES = frozenset(
    {"arrive", "checkin", "checkout", "depart", "dropoff", "end", "pickup", "return", "start"}
)
_LINKING = frozenset({"from", "to", "until"})
_COPULAS = frozenset({"are", "as", "is", "was", "were"})
_FILLERS = _COPULAS | {"a", "an", "main", "only", "primary", "the"}
_MOVED = frozenset(
    {"brought", "changed", "delayed", "moved", "postponed", "put", "rescheduled", "set", "shifted"}
)
_NO_PLURALS = frozenset({"this", "less", "plus", "always", "across"})
_TOLERANCE = 1e-9
_MONEY_TOLERANCE = 0.005  # half a cent
_SHORT_CODE = 3


@dataclass(frozen=True)
class FactMatch:
    """Whether a fact is held by the records, and what stands there instead."""

    outcome: MatchOutcome
    instead: str = ""


def match_fact(
    fact: Fact,
    fields: Sequence[Field],
    *,
    counts: Iterable[tuple[int, int]] = (),
    text_asked: bool = False,
) -> FactMatch:
    """Return whether `fields` hold `fact`.

    Args:
        fact: What a criterion states.
        fields: The scalars of the records quoted.
        counts: For each collection, the least and the most records that may be meant.
        text_asked: Whether the criterion is about what was written: then free text counts.
    """
    readable = [each for each in fields if text_asked or not each.free]
    if fact.kind == "length":
        return _length(fact, readable)
    if fact.kind in {"text", "name", "address"}:
        return _text(fact, readable)
    candidates = [each for each in readable if _values(fact, each)]
    if fact.kind == "number":
        return _number(fact, candidates, readable, counts)
    if text_asked and any("content" in meanings(word) for word in fact.near):
        chosen = candidates
    else:
        kept = [each for each in candidates if not _TIMESTAMP_WORDS & set(each.keys)]
        chosen = [each for each in kept if not each.free] or kept or candidates
    near = _near(fact.near, chosen)
    named = near is not None
    if near is None:  # "at 8:30 PM" is when something begins
        near = [
            each for each in chosen if not _ENDS & each.means or "start" in each.means
        ] or chosen
        if fact.kind in {"day", "weekday"} or fact.relation != "is":
            near = chosen
    return _compared(fact, near, named=named)


def _compared(fact: Fact, fields: Sequence[Field], *, named: bool = False) -> FactMatch:
    """Compare a fact with fields that may hold it; where the criterion `named` them, a bound holds for all quoted."""
    if not fields:
        return FactMatch("missing" if fact.relation == "is" else "unchecked")
    bound = [each for each in fields if each.cited] if named and fact.relation != "is" else []
    if bound:
        beyond = [
            each for each in bound if not any(_stands(fact, value) for value in _values(fact, each))
        ]
        return FactMatch("violated", str(beyond[0].value)[:40]) if beyond else FactMatch("held")
    for each in fields:
        if any(_stands(fact, value) for value in _values(fact, each)):
            return FactMatch("held")
    shown = ", ".join(dict.fromkeys(str(each.value)[:40] for each in fields[:3]))
    return FactMatch("violated", shown)


def _values(fact: Fact, field: Field) -> Sequence[Any]:
    parsed = field.parsed
    if fact.kind == "clock":
        return sorted(parsed.clocks)
    if fact.kind == "day":
        return [*parsed.days, *_days_before(field)]
    if fact.kind == "weekday":
        named = [
            name
            for name in WEEKDAYS
            if f" {name} " in parsed.text or f" {name[:3]} " in parsed.text
        ]
        return [*named, *(WEEKDAYS[each.date.weekday()] for each in parsed.days if each.date)]
    numeric = not (
        is_id_key(field.keys[-1] if field.keys else "")
        or _NOT_AMOUNTS & set(field.keys[-2:])
        or field.means & {"phone"}
    )
    return sorted(parsed.numbers) if numeric else []


def _stands(fact: Fact, value: Any) -> bool:
    if fact.kind == "weekday":
        return str(value) in fact.parsed.text
    if fact.kind == "day":
        return _day_stands(fact, value)
    if fact.kind == "clock":
        wanted = min(fact.parsed.clocks)
        return _relates(float(value), float(wanted), fact)
    return _relates(float(value), min(fact.parsed.numbers), fact)


def _day_stands(fact: Fact, value: Any) -> bool:
    wanted = next(iter(fact.parsed.days))
    if fact.relation == "is":
        return any(bool(each.agrees(value)) for each in fact.parsed.days)
    other = (
        (value.month, value.day)
        if None in {wanted.year, value.year}
        else (value.year, value.month, value.day)
    )
    bound = (
        (wanted.month, wanted.day)
        if None in {wanted.year, value.year}
        else (wanted.year, wanted.month, wanted.day)
    )
    return _order(other, bound, fact.relation)


def _order(value: Any, bound: Any, relation: str) -> bool:
    return bool(
        {
            "at most": value <= bound,
            "below": value < bound,
            "at least": value >= bound,
            "above": value > bound,
        }.get(relation, value == bound)
    )


def _relates(value: float, wanted: float, fact: Fact) -> bool:
    if fact.relation == "is":
        return abs(value - wanted) <= _TOLERANCE
    if fact.relation == "between":
        most = max(fact.other.numbers) if fact.other else wanted
        return wanted - _MONEY_TOLERANCE <= value <= most + _MONEY_TOLERANCE
    return _order(value, wanted, fact.relation)


def _near(
    near: Sequence[str], fields: Sequence[Field], *, ranked: bool = False
) -> list[Field] | None:
    """Return the fields that the nearest meaningful word names, `None` where none does."""
    for number, word in enumerate(_heads(near)):
        if number and word in _LINKING:  # "added to Daybook for 9 PM" is no end
            continue
        meant = meanings(word) & ATTRIBUTES
        chosen = [each for each in fields if meant & each.own] or [
            each for each in fields if meant & each.means
        ]
        if chosen and ranked:  # "final price": finalPrice rather than a price of something else
            given = set(map(stem, near))
            shared = [len(_last_words(each) & given) for each in chosen]
            most = max(shared)
            chosen = [
                each for each, n in zip(chosen, shared, strict=True) if n == most or each.cited
            ]
        if chosen:
            return _of_side(_heads(near)[number + 1 :], chosen)
    return None


def _of_side(near: Sequence[str], fields: list[Field]) -> list[Field]:
    """Of the addresses, times or names keep those of the end that is named: `pickup location`."""
    for word in near:
        meant = meanings(word) & SIDES
        chosen = [] if word in _LINKING else [each for each in fields if meant & each.means]
        if chosen:
            return chosen
    return fields


def _days_before(field: Field) -> list[Day]:
    """What ends at midnight ends on the day before."""
    if "end" not in field.means or 0 not in field.parsed.clocks:
        return []
    dates = [each.date - timedelta(days=1) for each in field.parsed.days if each.date]
    return [Day(each.month, each.day, each.year) for each in dates]


def _last_words(field: Field) -> set[str]:
    return set(map(stem, words(field.pointer.rpartition("/")[2])))


def _number(
    fact: Fact,
    candidates: Sequence[Field],
    readable: Sequence[Field],
    counts: Iterable[tuple[int, int]],
) -> FactMatch:
    linked = _links(fact, readable)
    if linked is not None:
        return linked
    near = _near(fact.near, candidates, ranked=True)
    if near is not None:
        # a party of 4 may be kept as 2 adults and 2 children
        total = [each for each in near if "people" in each.means and isinstance(each.value, int)]
        if total and _relates(
            float(sum(each.value for each in total)), min(fact.parsed.numbers), fact
        ):
            return FactMatch("held")
        return _compared(fact, near, named=True)
    return _counted(fact, candidates, list(counts))


def _counted(
    fact: Fact, candidates: Sequence[Field], ranges: Sequence[tuple[int, int]]
) -> FactMatch:
    """A number with no field of its own: of records, of what was bought, or any number there is."""
    wanted = min(fact.parsed.numbers)
    if any(_count_may_be(fact, wanted, least, most) for least, most in ranges):
        return FactMatch("held")
    amounts = [each for each in candidates if "quantity" in each.means]
    if ranges and not amounts and _counts_records(fact, candidates):
        cited = [each for each in candidates if each.cited]
        if fact.relation == "is" and any(_stands(fact, v) for c in cited for v in _values(fact, c)):
            return FactMatch("held")
        return FactMatch("violated", f"{ranges[0][1]:g}")
    if fact.relation == "is":
        return _compared(fact, amounts or candidates)
    if amounts:
        return _compared(fact, amounts)
    return FactMatch("unchecked")


def _counts_records(fact: Fact, candidates: Sequence[Field]) -> bool:
    """Whether a number is of things (`four listings`), not of a field (`four bedrooms`)."""
    if "price" in fact.near[:1]:
        return False
    for word in fact.near[:2]:
        if word.endswith("s") and len(word) > _SHORT_CODE and word not in _NO_PLURALS:
            named = any(stem(word) in map(stem, _last_words(each)) for each in candidates)
            return not named and not meanings(word) & ATTRIBUTES
    return False


def _links(fact: Fact, readable: Sequence[Field]) -> FactMatch | None:
    """Count web addresses where a criterion counts links; `None` where it does not."""
    if not any("link" in meanings(word) for word in fact.near[:3]):
        return None
    found = max((each.parsed.raw.lower().count("http") for each in readable), default=0)
    if not found:
        return None
    enough = _relates(float(found), min(fact.parsed.numbers), fact)
    return FactMatch("held" if enough else "violated", f"{found} links")


def _count_may_be(fact: Fact, wanted: float, least: int, most: int) -> bool:
    if fact.relation == "is":
        return least <= wanted <= most if wanted == 1 else wanted in {least, most}
    return any(_relates(float(each), wanted, fact) for each in (least, most))


def _text(fact: Fact, fields: Sequence[Field]) -> FactMatch:
    wanted = fact.parsed.text
    candidates = [each for each in fields if wanted in each.parsed.text]
    if not candidates and fact.kind == "name" and wanted.endswith("s "):  # "2 Desks"
        candidates = [each for each in fields if f"{wanted[:-2]} " in each.parsed.text]
    if not candidates and any(
        "content" in meanings(word) for word in fact.near
    ):  # "contains 'http'"
        candidates = [each for each in fields if fact.text.casefold() in each.parsed.raw.casefold()]
    if fact.kind == "name" and candidates and _is_elsewhere(fact, fields, candidates):
        return FactMatch("violated", str(candidates[0].value)[:40])
    near = _near(_before(fact.near), fields)
    if near is not None and fact.kind != "name":
        held = any(each in candidates or _names(each, candidates) for each in near)
        if held or not candidates or _is_named_by(fact, near):
            return (
                FactMatch("held")
                if held
                else FactMatch("violated", ", ".join(str(each.value)[:40] for each in near[:2]))
            )
    if candidates or any(
        f" {' '.join(each.keys)} " == wanted and each.value is True for each in fields
    ):
        return FactMatch("held")
    whole = " ".join(each.parsed.text for each in fields)
    parts = wanted.split()
    # first and last name may stand in fields of their own
    scattered = fact.kind == "name" and len(parts) > 1 and not any(each.isdigit() for each in parts)
    if scattered and all(f" {part} " in whole for part in parts):
        return FactMatch("held")
    if fact.kind == "name" and any(
        _joined(wanted) in _joined(each.parsed.text)
        for each in fields
        if len(_joined(wanted)) > _SHORT_CODE
    ):  # short codes are in many words
        return FactMatch("held")
    return FactMatch("missing")


def _names(address: Field, candidates: Sequence[Field]) -> bool:
    """Whether the name beside an address is the one stated: `1 Hotel`, 8 Mission Street."""
    beside = [each for each in candidates if "name" in each.own and "address" in address.own]
    return any(
        each.pointer.rpartition("/")[0] == address.pointer.rpartition("/")[0] for each in beside
    )


def _is_elsewhere(fact: Fact, fields: Sequence[Field], candidates: Sequence[Field]) -> bool:
    """Whether a name stands where something goes to, and the criterion says that it comes from there."""
    meant = (meanings(fact.near[0]) if fact.near else frozenset()) & _ENDPOINTS
    other = [
        each for each in fields if meant & each.means and not each.parsed.clocks | each.parsed.days
    ]
    return bool(meant and other) and all(
        each.means & _ENDPOINTS and not each.means & meant for each in candidates
    )


def _is_named_by(fact: Fact, near: Sequence[Field]) -> bool:
    """Whether the nearest word before a quotation says that the field is it: `titled 'X'`."""
    heads = _heads(_before(fact.near))
    word = next(iter(heads), "")
    if (
        CLAUSE not in fact.near and fact.near[:1] and fact.near[0] in _COPULAS
    ):  # "X is in copy (CC)"
        word = next((each for each in heads if meanings(each) & ATTRIBUTES), "")
    meant = frozenset() if stem(word) == "list" else meanings(word) & ATTRIBUTES
    return bool(meant) and any(meant & each.means for each in near)


def _before(near: Sequence[str]) -> Sequence[str]:
    """The words before a fact."""
    return near[: near.index(CLAUSE)] if CLAUSE in near else near


def _heads(near: Sequence[str]) -> Sequence[str]:
    """Words around a fact from the one that it is about: in `the subject of the note is` the subject."""
    rest = [each for each in near if each not in _FILLERS]
    if rest[:1] == ["to"] and "link" in meanings("".join(rest[1:2])):  # "links to" is no recipient
        return rest[2:]
    if rest[:1] == ["to"] and rest[1:2] and rest[1] in _MOVED:
        return rest[1:]
    if "content" in meanings("".join(rest[:1])) and meanings("".join(rest[1:2])) & ATTRIBUTES:
        return rest[1:]  # "the title includes"
    if near[:1] and near[0] in _COPULAS and "of" in rest[:3]:
        return rest[rest.index("of") + 1 :]
    return rest


def _joined(text: str) -> str:
    return text.replace(" ", "")


def _length(fact: Fact, fields: Sequence[Field]) -> FactMatch:
    wanted = fact.minutes or 0.0
    lengths = [
        each for each in fields if each.means & {"duration", "night"} and each.parsed.numbers
    ]
    # records seldom name the unit: minutes, hours or days
    units = {1.0, 60.0, 1440.0}
    for each in lengths:
        if any(abs(number * unit - wanted) < 1 for number in each.parsed.numbers for unit in units):
            return FactMatch("held")
    found = [*_of_moments(fields), *_of_clocks(fields), *_of_days(fields)]
    if fact.near[:1] in {("night",), ("day",), ("week",)}:
        # two nights from 3 PM to 11 AM last 44 hours; a trip of 3 days from the 1st ends on the 3rd
        found = [round(each / 1440) * 1440 for each in found if each >= 1440 / 2]
        found += [each + 1440 for each in found] if fact.near[:1] == ("day",) else []
    if not found and not lengths:
        return FactMatch("unchecked")
    ordered = {"is": lambda v: abs(v - wanted) < 1, "at most": lambda v: v <= wanted, "below": lambda v: v < wanted,
               "at least": lambda v: v >= wanted, "above": lambda v: v > wanted}  # fmt: skip
    test: Callable[[float], bool] = ordered.get(fact.relation, ordered["is"])
    if any(test(each) for each in found):
        return FactMatch("held")
    return FactMatch("violated", ", ".join(f"{each:g} minutes" for each in dict.fromkeys(found)))


def _of_moments(fields: Sequence[Field]) -> list[float]:
    stamps = [
        each.parsed.moments[0]
        for each in fields
        if each.parsed.moments and not _TIMESTAMP_WORDS & set(each.keys)
    ]
    return [
        abs((other - one).total_seconds()) / 60
        for one, other in combinations(stamps, 2)
        if one != other
    ]


def _of_clocks(fields: Sequence[Field]) -> list[float]:
    plain = [
        each for each in fields if each.parsed.clocks and not each.parsed.moments and not each.free
    ]
    starts = [min(each.parsed.clocks) for each in plain if "start" in each.means]
    ends = [min(each.parsed.clocks) for each in plain if "end" in each.means]
    return [float((end - start) % 1440) for start in starts for end in ends]


def _of_days(fields: Sequence[Field]) -> list[float]:
    days = [
        day.date
        for each in fields
        if not each.parsed.moments and not each.free
        for day in each.parsed.days
        if day.date
    ]
    return [
        abs((other - one).days) * 1440.0 for one, other in combinations(days, 2) if one != other
    ]


def touches(fact: Fact, field: Field) -> bool:
    """Return whether a value is of what a fact states, so that quoting it is relevant."""
    parsed = field.parsed
    if fact.kind == "name":
        return any(f" {word} " in parsed.text for word in fact.parsed.text.split()) or (
            _joined(fact.parsed.text) in _joined(parsed.text)
        )
    if fact.kind in {"text", "address"}:
        named = f" {' '.join(field.keys)} " == fact.parsed.text
        return (
            named
            or fact.parsed.text in parsed.text
            or fact.text.casefold() in parsed.raw.casefold()
        )
    if fact.kind == "length":
        timed = parsed.clocks or parsed.days
        return bool(timed or (parsed.numbers and field.means & {"duration", "night"}))
    if fact.kind == "number" and any("link" in meanings(word) for word in fact.near[:3]):
        return "http" in parsed.raw.lower()
    if fact.kind == "number":
        return not _counts_records(fact, [field]) and any(
            _stands(fact, each) for each in _values(fact, field)
        )
    return bool(parsed.clocks if fact.kind == "clock" else parsed.days)
