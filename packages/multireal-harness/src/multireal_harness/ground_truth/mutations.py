"""Wrong end states made from right ones, so that evaluators are also tried on failures.

States that were kept because an evaluator passed them are all successes, and do not show how often it
passes failures. Each mutation breaks one thing that the task asks for.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any

from multireal_harness.definitions import Definition
from multireal_harness.eval_rules.queries import QueryError, compile_query
from multireal_harness.lint.syntax import walk
from multireal_harness.states.health import has_changes

# Replacing shorter texts would change unrelated words.
_SHORTEST = 3
_CHANGED = "(changed)"
_STATE_PARTS = ("finalstate", "state")


def negatives_of(definition: Definition, states: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Return wrong variants of a right end state by the name of the mutation.

    `undone-APP` reverts all changes of one app; `altered-N` replaces the N-th text that the task's
    queries ask for.
    """
    found: dict[str, dict[str, Any]] = {}
    for app, state in states.items():
        if has_changes(state):
            found[f"undone-{app}"] = {**copy.deepcopy(dict(states)), app: undone(state)}
    texts: dict[str, None] = {}
    for one in definition.evals:
        if one.kind != "jmespath" or one.expected_value is not True:
            continue
        try:
            parsed: Any = compile_query(one.query).parsed
        except QueryError:
            continue
        for each in walk(parsed):
            value = each.get("value")
            if each["type"] == "literal" and isinstance(value, str) and len(value) >= _SHORTEST:
                texts[value] = None
    for number, text in enumerate(texts, 1):
        altered = {app: _altered(state, text) for app, state in states.items()}
        if altered != dict(states):
            found[f"altered-{number}"] = altered
    return found


def undone(state: Mapping[str, Any]) -> dict[str, Any]:
    """Return an app's end state with all changes undone."""
    initial = state.get("initialstate", {})
    emptied = {
        name: _emptied(part)
        for name, part in state.items()
        if name in {"differences", "initialfinaldiff"} or name.endswith("Diff")
    }
    return {**state, **dict.fromkeys(_STATE_PARTS, initial), **emptied}


def _emptied(value: Any) -> Any:
    """Return the same containers without content."""
    if not isinstance(value, dict):
        return [] if isinstance(value, list) else value
    branches = {"added", "deleted", "updated"}
    if branches & set(value):
        return {name: [] if isinstance(each, list) else {} for name, each in value.items()}
    return {name: _emptied(each) for name, each in value.items()}


def _altered(state: Any, text: str) -> Any:
    if not isinstance(state, dict):
        return state
    kept = {"initialstate", "actionhistory"}
    return {name: part if name in kept else _replaced(part, text) for name, part in state.items()}


def _replaced(value: Any, text: str) -> Any:
    if isinstance(value, str):
        return value.replace(text, _CHANGED)
    if isinstance(value, list):
        return [_replaced(each, text) for each in value]
    if isinstance(value, dict):
        return {name: _replaced(each, text) for name, each in value.items()}
    return value
