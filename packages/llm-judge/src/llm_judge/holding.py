"""Whether the records quoted hold all that a criterion states, and what could not be checked."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from llm_judge.matching import hold

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from llm_judge.grounds import Grounds, Quoted
    from llm_judge.stated import Fact

__all__ = ["Holding", "facts_held"]

_NAMING = frozenset({"text", "name", "address"})


class Holding(NamedTuple):
    """What records hold.

    Attributes:
        doubt: What they do not hold; null where nothing is missing.
        unchecked: What could not be checked.
        named: Whether a name or text of the criterion is held, which ties them to it.
    """

    doubt: str | None
    unchecked: tuple[str, ...] = ()
    named: bool = False


def facts_held(
    grounds: Grounds,
    facts: Sequence[Fact],
    records: Sequence[Quoted],
    *,
    asks_text: bool,
    cited: Collection[str] = (),
) -> Holding:
    """Return whether `records` together hold `facts`; of alternatives one is enough.

    Args:
        grounds: What evidence is held against.
        facts: What a criterion states.
        records: A quotation from each record.
        asks_text: Whether the criterion is about what was written.
        cited: The pointers of all quotations.
    """
    fields = [
        replace(each, cited=each.pointer in cited)
        for one in records
        for each in grounds.fields(one)
    ]
    counts = grounds.counts(records)
    groups: dict[int, list[Fact]] = {}
    for number, fact in enumerate(facts):
        groups.setdefault(fact.choice or -1 - number, []).append(fact)
    unchecked: list[str] = []
    named = False
    for group in groups.values():
        found = [(fact, hold(fact, fields, counts=counts, text_asked=asks_text)) for fact in group]
        outcomes = {held.outcome for _, held in found}
        if "held" in outcomes:
            named |= any(fact.kind in _NAMING for fact in group)
        elif "unchecked" in outcomes:
            unchecked += [fact.text for fact, held in found if held.outcome == "unchecked"]
        else:
            fact, held = found[0]
            instead = f", but {held.instead!r}" if held.instead else ""
            kept = "" if fact.relation == "is" else f"{fact.relation} "
            doubt = f"the record quoted does not hold {kept}{fact.text!r}{instead}"
            return Holding(doubt, tuple(unchecked), named)
    return Holding(None, tuple(unchecked), named)
