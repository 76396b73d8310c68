"""Whether the records quoted hold every fact of a criterion, and what could not be checked."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from llm_judge.evidence.fact_match import match_fact

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from llm_judge.evidence.judged_state import JudgedState, ResolvedEvidence
    from llm_judge.language.statements import Fact

_NAMES = frozenset({"text", "name", "address"})


class FactCoverage(NamedTuple):
    """Which facts the records hold.

    Attributes:
        doubt: What they do not hold; `None` where nothing is missing.
        unchecked: What could not be checked.
        named: Whether a name or text of the criterion is held, which ties them to it.
    """

    doubt: str | None
    unchecked: tuple[str, ...] = ()
    named: bool = False


def check_facts(
    judged: JudgedState,
    facts: Sequence[Fact],
    records: Sequence[ResolvedEvidence],
    *,
    asks_text: bool,
    cited: Collection[str] = (),
) -> FactCoverage:
    """Return whether `records` together hold `facts`; of alternatives one is enough.

    Args:
        judged: The state that evidence is checked against.
        facts: What a criterion states.
        records: A quotation from each record.
        asks_text: Whether the criterion is about what was written.
        cited: The pointers of all quotations.
    """
    fields = [
        replace(each, cited=each.pointer in cited) for one in records for each in judged.fields(one)
    ]
    counts = judged.counts(records)
    groups: dict[int, list[Fact]] = {}
    # a fact without alternatives is a group of its own
    for number, fact in enumerate(facts):
        groups.setdefault(fact.choice or -1 - number, []).append(fact)
    unchecked: list[str] = []
    named = False
    for group in groups.values():
        found = [
            (fact, match_fact(fact, fields, counts=counts, text_asked=asks_text)) for fact in group
        ]
        outcomes = {held.outcome for _, held in found}
        if "held" in outcomes:
            named |= any(fact.kind in _NAMES for fact in group)
        elif "unchecked" in outcomes:
            unchecked += [fact.text for fact, held in found if held.outcome == "unchecked"]
        else:
            fact, held = found[0]
            instead = f", but {held.instead!r}" if held.instead else ""
            kept = "" if fact.relation == "is" else f"{fact.relation} "
            doubt = f"the record quoted does not hold {kept}{fact.text!r}{instead}"
            return FactCoverage(doubt, tuple(unchecked), named)
    return FactCoverage(None, tuple(unchecked), named)
