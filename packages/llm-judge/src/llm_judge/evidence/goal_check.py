"""Whether an end state holds what its goal names: texts, addresses, and bounds on ratings and prices.

Checked without a model, so that a state that counts as good is doubted where it shows otherwise. What a
goal only names in some case ("if there is none, ...") is left out, and so is what no rule reads.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from llm_judge.evidence.fact_match import match_fact
from llm_judge.evidence.judged_state import JudgedState
from llm_judge.language.keywords import keywords
from llm_judge.language.synonyms import meanings, stem
from llm_judge.language.values import words
from llm_judge.states.effects import app_effects
from llm_judge.states.pointers import leaves

if TYPE_CHECKING:
    from collections.abc import Iterator

    from llm_judge.language.statements import Fact

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
    judged = JudgedState(state, goal, initial)
    facts = judged.statement(_CASES.sub(" ", goal)).facts
    named = [each for each in facts if each.kind in {"text", "address"}]
    if named:
        held = [
            _stems(text)
            for app in judged.index.apps
            for part in (*app.after, *app.changes)
            for text in {each: None for _, each in leaves(part.value) if isinstance(each, str)}
            if text
        ]
        for fact in named:
            if not any(_stems(fact.text) <= each for each in held):
                yield (
                    "state.goal_missing",
                    f"the goal names {fact.text!r}, and the end state does not",
                )
    for fact in facts:
        bounded = {meant for word in fact.near[:3] for meant in meanings(word)} & _BOUNDED
        if fact.kind == "number" and fact.relation != "is" and bounded:
            yield from _broken(judged, fact, bounded)


def _broken(judged: JudgedState, fact: Fact, bounded: set[str]) -> Iterator[tuple[str, str]]:
    made = {}
    for app in judged.index.apps:
        for effect in app_effects(app) if app.recorded else ():
            location = judged.index.locate(effect.pointer)
            if effect.kind in {"added", "listed"} and not judged.index.is_interface(
                location, frozenset()
            ):
                made[location.record] = location
    instead = []
    for location in made.values():
        evidence = judged.at(location.record)
        fields = [each for each in judged.fields(evidence) if bounded & each.own]
        found = match_fact(fact, fields) if fields else None
        # one record that keeps the bound is enough
        if found is not None and found.outcome == "held":
            return
        if found is not None and found.outcome == "violated":
            instead.append(found.instead)
    if instead:
        values = ", ".join(dict.fromkeys(instead))
        message = (
            f"the goal asks for {fact.relation} {fact.text!r}, and what the run made has {values}"
        )
        yield "state.goal_violated", message


def _stems(text: str) -> frozenset[str]:
    """Stems of the words of a text, those without meaning left out unless there are no others."""
    meaningful = keywords(text) or tuple(words(text))
    return frozenset(
        stem(word)
        for each in (*meaningful, *words(text))
        for word in words(each)
        if word in " ".join(meaningful)
    )
