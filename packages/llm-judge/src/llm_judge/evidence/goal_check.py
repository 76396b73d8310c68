"""Whether an end state holds the facts its goal names: quoted texts, addresses, bounds on ratings and prices.

Checked without a model, so that a state that counts as good is doubted if it shows otherwise. Facts
that a goal names only conditionally ("if there is none, ...") are left out.
"""

from __future__ import annotations

import contextlib
import operator
import re
import unicodedata
from collections.abc import Iterator, Sequence
from typing import Any

from llm_judge.states.effects import Effect, app_effects
from llm_judge.states.pointers import leaves
from llm_judge.states.snapshots import find_apps

# sentences with a condition: what they ask for may rightly not have happened
_CASES = re.compile(
    r"(?:\A|(?<=[.!?]\s))[^.!?]*\b(?:if|otherwise|unless|either)\b.*", re.IGNORECASE | re.DOTALL
)
_QUOTED = re.compile(
    r"[\"\u201c]([^\"\u201d]{3,80})[\"\u201d]|(?<!\w)['\u2018]([^'\u2019]{3,80})['\u2019](?!\w)"
)
_ADDRESS = re.compile(r"[\w.+-]+@[\w-]+\.[\w.-]*\w")

_NUMBER = r"\$?(?P<value>\d+(?:,\d{3})*(?:\.\d+)?)"
_RATED, _OR_MORE = (
    r"\b(?:rated|ratings?(?: of| is)?)",
    r"(?:\+| (?:or|and) (?:better|higher|above|more|up)\b)",
)
_BOUNDS = [
    (re.compile(pattern, re.IGNORECASE), field, keeps)
    for pattern, field, keeps in (
        (rf"\bat least (?:an? )?{_NUMBER}[- ]?(?:stars?|ratings?)\b", "rating", operator.ge),
        (rf"{_RATED} at least (?:an? )?{_NUMBER}", "rating", operator.ge),
        (rf"{_RATED} {_NUMBER}(?:[- ]stars?)?{_OR_MORE}", "rating", operator.ge),
        (rf"{_NUMBER}[- ]stars?(?: ratings?)?{_OR_MORE}", "rating", operator.ge),
        (rf"\b(?:at most|no more than|up to) (?=\$){_NUMBER}", "price", operator.le),
    )
]
"""Bounds as goals write them, with the name of the field that they are on."""
_MADE = frozenset({"added", "changed", "listed"})


def goal_doubts(state: Any, goal: str, *, initial: Any = None) -> Iterator[tuple[str, str]]:
    """Yield code and message for each fact that a goal names and an end state does not hold.

    Codes: `state.goal_missing` for a text or address that is not in the state, `state.goal_violated`
    for a bound that none of the run's changes keeps.

    >>> state = {"mail": {"before": {"sent": []}, "after": {"sent": [{"subject": "Gift for Ben"}]}}}
    >>> list(goal_doubts(state, "Send an email titled 'Gift for Ana'."))
    [('state.goal_missing', "the goal names 'Gift for Ana', and the end state does not")]
    """
    plain = _CASES.sub(" ", goal)
    named = [one or other for one, other in _QUOTED.findall(plain)] + _ADDRESS.findall(plain)
    apps = find_apps(state, initial)
    made = [each for app in apps if app.recorded for each in app_effects(app)]
    yield from _broken(plain, [each for each in made if each.kind in _MADE])
    if not named:
        return
    parts = [part for app in apps for part in (*app.after, *app.changes)]
    held = _words("\n".join(str(each) for part in parts for _, each in leaves(part.value)))
    for text in dict.fromkeys(named):
        if _words(text) not in held:
            yield "state.goal_missing", f"the goal names {text!r}, and the end state does not"


def _broken(goal: str, made: Sequence[Effect]) -> Iterator[tuple[str, str]]:
    for pattern, name, keeps in _BOUNDS:
        for found in pattern.finditer(goal):
            bound = float(found["value"].replace(",", ""))
            there = [value for each in made for value in _numbers_in(each, name)]
            # one record that keeps the bound is enough
            if there and not any(keeps(each, bound) for each in there):
                values = ", ".join(f"{each:g}" for each in dict.fromkeys(there))
                yield (
                    "state.goal_violated",
                    f"the goal asks for {found[0]!r}, and what the run made has {values}",
                )


def _numbers_in(effect: Effect, name: str) -> Iterator[float]:
    value = effect.value
    if effect.first_row is not None:
        value = [dict(zip(value["columns"], row, strict=False)) for row in value["rows"]]
    for pointer, each in leaves(value):
        # changed values are keyed by relative pointers, whose slashes become ~1
        if re.split("/|~1", pointer)[-1].casefold() == name and not isinstance(each, bool):
            with contextlib.suppress(TypeError, ValueError):
                yield float(str(each).strip("$ ").replace(",", ""))


def _words(text: str) -> str:
    folded = unicodedata.normalize("NFKD", text).casefold()
    return " ".join(re.findall(r"\w+", folded))
