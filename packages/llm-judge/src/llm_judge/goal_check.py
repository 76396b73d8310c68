"""Whether an end state holds what its goal names: texts, addresses, and bounds on ratings and prices.

Checked without a model, so that a state that is said to be good is doubted where it shows otherwise. What a
goal only names in some case ("if there is none, ...") is left out, and so is what no rule reads.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from llm_judge.concepts import concepts, stem
from llm_judge.effects import app_effects
from llm_judge.grounds import Grounds
from llm_judge.matching import hold
from llm_judge.pointers import leaves
from llm_judge.readings import words
from llm_judge.relevance import terms

if TYPE_CHECKING:
    from collections.abc import Iterator

    from llm_judge.stated import Fact

__all__ = ["goal_doubts"]

_CASES = re.compile(
    r"(?:\A|(?<=[.!?]\s))[^.!?]*\b(?:if|otherwise|unless|either)\b.*", re.IGNORECASE | re.DOTALL
)
_BOUNDED = frozenset({"price", "rating"})


def goal_doubts(state: Any, goal: str, *, initial: Any = None) -> Iterator[tuple[str, str]]:
    """Yield code and message for what a goal names and an end state does not hold.

    Codes: `state.goal_missing` for a text or address that stands nowhere, `state.goal_violated` for a
    bound that no record made by the run keeps.

    >>> state = {"shop": {"before": {"orders": []}, "after": {"orders": [{"item": "Lamp", "rating": 4.1}]}}}
    >>> [code for code, _ in goal_doubts(state, "Order a lamp with at least 4.5 stars as 'Gift for Ana'.")]
    ['state.goal_missing', 'state.goal_violated']
    """
    grounds = Grounds(state, goal, initial)
    facts = grounds.statement(_CASES.sub(" ", goal)).facts
    named = [each for each in facts if each.kind in {"text", "address"}]
    if named:
        held = [_stems(str(value)) for value in _texts(grounds)]
        for fact in named:
            if not any(_stems(fact.text) <= each for each in held):
                yield (
                    "state.goal_missing",
                    f"the goal names {fact.text!r}, and the end state does not",
                )
    for fact in facts:
        bounded = {meant for word in fact.near[:3] for meant in concepts(word)} & _BOUNDED
        if fact.kind == "number" and fact.relation != "is" and bounded:
            yield from _broken(grounds, fact, bounded)


def _broken(grounds: Grounds, fact: Fact, bounded: set[str]) -> Iterator[tuple[str, str]]:
    made = {}
    for app in grounds.around.apps:
        for effect in app_effects(app) if app.recorded else ():
            place = grounds.around.place(effect.pointer)
            if effect.kind in {"added", "listed"} and not grounds.around.is_interface(
                place, frozenset()
            ):
                made[place.record] = place
    instead = []
    for place in made.values():
        evidence = grounds.at(place.record)
        fields = [each for each in grounds.fields(evidence) if bounded & each.own]
        found = hold(fact, fields) if fields else None
        if found is not None and found.outcome == "held":
            return
        if found is not None and found.outcome == "violated":
            instead.append(found.instead)
    if instead:
        said = ", ".join(dict.fromkeys(instead))
        message = (
            f"the goal asks for {fact.relation} {fact.text!r}, and what the run made has {said}"
        )
        yield "state.goal_violated", message


def _texts(grounds: Grounds) -> Iterator[Any]:
    for app in grounds.around.apps:
        for part in (*app.after, *app.changes):
            yield from dict.fromkeys(
                value for _, value in leaves(part.value) if isinstance(value, str) and value
            )


def _stems(text: str) -> frozenset[str]:
    """Stems of the words of a text, those without meaning left out unless there are no others."""
    told = terms(text) or tuple(words(text))
    return frozenset(
        stem(word)
        for each in (*told, *words(text))
        for word in words(each)
        if word in " ".join(told)
    )
