"""Checks of a supposedly good end state against its task's goal and evals, without a model."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from bench_core.discovery import find_plugins, load_plugin
from bench_core.records.judge import JudgeCase
from multireal_harness.definitions import Definition, Eval
from multireal_harness.states.health import Symptom, has_changes

__all__ = ["goal_symptoms"]

_DONE = re.compile(
    r"\bw(?:as|ere) (?:\w+ )?(?:added|booked|created|made|ordered|placed|posted|reserved|saved|sent)\b",
    re.IGNORECASE,
)
_NOT_DONE = re.compile(r"\b(?:no|not|never|without|none|if)\b", re.IGNORECASE)


def goal_symptoms(definition: Definition, states: Mapping[str, Any]) -> list[Symptom]:
    """Return parts of a task's goal that supposedly good end states lack.

    An app must have changed if an eval says that something was done in it. Installed judges with a
    `doubts` method, such as `llm-judge`, compare the goal's texts, addresses and bounds with the states.
    """
    known = {app: state for app, state in states.items() if state}
    found = []
    for app, state in known.items():
        wanted = next((each for each in definition.evals if _asks_for_change(each, app)), None)
        if wanted is not None and not has_changes(state):
            message = f'nothing has changed in it, and an eval says: "{wanted.description}"'
            found.append(Symptom(code="goal_violated", app=app, message=message))
    case = JudgeCase(
        case_id=definition.id,
        goal=definition.goal,
        state=known,
        metadata={"apps": list(definition.apps)},
    )
    for plugin in find_plugins("judge") if known else ():
        doubts = getattr(load_plugin("judge", plugin.name), "doubts", None)
        found += [
            Symptom(code="goal_violated", app=plugin.name, message=each.message)
            for each in (doubts(case) if doubts is not None else ())
        ]
    return found


def _asks_for_change(one: Eval, app: str) -> bool:
    text = one.description
    named = app.casefold() in text.casefold()
    return named and _DONE.search(text) is not None and _NOT_DONE.search(text) is None
