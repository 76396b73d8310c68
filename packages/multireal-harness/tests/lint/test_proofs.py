"""Findings of `lint` about published queries, each with an end state that shows it where one can be made."""

from __future__ import annotations

import json
import re
from collections import Counter
from datetime import date
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import pytest
from test_support.query_states import is_met, met_states, variants

from multireal_harness.definitions import scoring_state
from multireal_harness.eval_rules.queries import evaluate_query
from multireal_harness.lint.rules import lint_task
from multireal_harness.states.schemas import shipped_schemas
from multireal_harness.states.shapes import ANY
from multireal_harness.tasks import load_definitions, resolve_tasks_dir

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from multireal_harness.definitions import Definition
    from multireal_harness.lint.findings import EvalReport, LintFinding
    from multireal_harness.states.shapes import ValueShape

SCHEMAS = shipped_schemas()
NO_STATE = {
    "past_date": "is about the goal and the clock",
    "todo_expectation": "has no expectation that a state could meet",
}
"""Findings that are about no state."""
BESIDE = {
    "asks_less",
    "date_not_in_goal",
    "first_of_unordered",
    "hard_coded_year",
    "literal_not_in_goal",
    "number_not_in_goal",
}
"""Findings that a state shows which differs from one that meets the query in what the finding names."""


def _why_not(task: Definition, report: EvalReport, found: LintFinding) -> str:
    """Return "" where a state shows that a finding is right, and why none does otherwise."""
    if found.code in NO_STATE:
        return NO_STATE[found.code]
    if found.code in {"null_agent_passes", "raises_on_empty_state"}:
        asked = scoring_state(task, SCHEMAS.untouched(task.apps))
        raises = evaluate_query(report.query, asked).error is not None
        passes = is_met(report.query, asked, report.expected_value)
        shown = raises if found.code == "raises_on_empty_state" else passes
    elif found.code == "either_suffices":
        meant = re.sub(r".*did you mean (.*)\?$", r"\1", found.message)
        near = _near(met_states(meant))
        shown = any(is_met(meant, each) for each in near) and any(
            is_met(found.where, each) and not is_met(meant, each) for each in near
        )
    elif found.code in BESIDE:
        return _why_none_beside(report, found)
    else:
        met = met_states(report.query, report.expected_value)
        right = met_states(report.fix.query, report.fix.expected_value) if report.fix else []
        if not met and not right:
            return "no state was made that meets the query or a rewrite"
        shape = SCHEMAS.of(task).state(task.apps)
        shown = any(
            not is_met(report.query, _as_stored(each, shape), report.expected_value) for each in met
        ) or any(
            is_met(report.fix.query, each, report.fix.expected_value)
            is not is_met(report.query, each, report.expected_value)
            for each in _near(right)
            if report.fix
        )
    return "" if shown else "no such state was found"


def _as_stored(value: Any, shape: ValueShape) -> Any:
    """Return a state that meets a query as the apps store it: without other fields, in their containers and kinds."""
    if shape.unknown:
        return value
    if isinstance(value, dict) and "object" in shape.kinds:
        # an element that `values()` reads has a made up id
        found = {key: shape.name(re.sub(r"^k(?=\d+$)", "", key)) for key in value}
        return {key: _as_stored(value[key], each) for key, each in found.items() if each}
    if isinstance(value, list) and "array" in shape.kinds:
        return [_as_stored(each, shape.item or ANY) for each in value]
    if isinstance(value, list) and "object" in shape.kinds:
        names = [*shape.fields] or [f"k{number}" for number in range(len(value))]
        return _as_stored(dict(zip(names, value, strict=False)), shape)
    if isinstance(value, dict | list | int | float) and "string" in shape.kinds:
        return str(value)
    return None if shape.kinds == {"null"} else value


def _near(states: list[Any]) -> list[Any]:
    return [{}, *states, *(each for state in states for each in variants(state))]


def _why_none_beside(report: EvalReport, found: LintFinding) -> str:
    if "not_in_goal" in found.code and not re.search("the goal has|did you mean", found.message):
        return "the goal has no text like it"
    asked = [(report.query, report.expected_value)]
    asked += [(report.fix.query, report.fix.expected_value)] if report.fix else []
    pairs = [(each, state) for each in asked for state in met_states(*each)]
    if not pairs:
        return "no state was made that meets the query or its rewrite"
    shown = any(
        is_met(query, changed, expected) is (found.code == "asks_less")
        for (query, expected), state in pairs
        for changed in _beside(report, found, state)
    )
    return "" if shown else "no such state was found"


def _beside(report: EvalReport, found: LintFinding, state: Any) -> Iterator[Any]:
    """Yield states that are as right as one that meets the query, or in which what the finding names is missing."""
    text = json.dumps(state, ensure_ascii=False)
    if found.code == "asks_less":
        named = re.sub(r".*criterion names: ", "", found.message)
        if not any(each in text for each in _signs(named)):
            yield state
    elif found.code == "first_of_unordered":
        yield from _with_another_first(state)
    elif found.code == "hard_coded_year":
        changed = re.sub(r"\b20(\d\d)\b", lambda year: f"20{int(year[1]) + 1}", text)
        if changed != text:
            yield json.loads(changed)
    else:
        hint = re.search(r": ([^;]+)(?:, the goal has|; did you mean) ('.*?'|[\d.]+)\??$", found.message)  # fmt: skip
        assert hint is not None, found.message
        changed = text.replace(hint[1].strip("'"), hint[2].strip("'"))
        if changed != text:
            yield json.loads(changed)


def _signs(named: str) -> Iterator[str]:
    """Yield by what one sees in a state what a criterion names: quoted texts, addresses, days, times of day."""
    months = [date(2024, month, 1).strftime("%b") for month in range(1, 13)]
    for month, day in re.findall(r"\b([A-Z][a-z]{2})[a-z]* (\d{1,2})(?:st|nd|rd|th)\b", named):
        yield f"-{months.index(month) + 1:02d}-{int(day):02d}"
    yield from re.findall(r"\d{1,2} ?[AP]M", named)
    yield from re.findall(r"[\w.]+@[\w.]+", named)
    yield from re.findall(r"'([^']+)'", named.strip("'\""))
    if "Verify" not in named:
        yield from named.split(", ")


def _with_another_first(value: Any) -> Iterator[Any]:
    """Yield the same state with one more thing before those of each object whose keys are ids."""
    if not isinstance(value, dict):
        return
    if value and all(re.fullmatch(r"k\d+|\d+", key) for key in value):
        yield {"k0": {"id": "else"}, **value}
    for key, inner in value.items():
        for each in _with_another_first(inner):
            yield {**value, key: each}


def _proofs(folder: Path) -> dict[str, tuple[int, int]]:
    """Return per code how many findings there are and how many of them a state shows; print why others are not."""
    reasons: dict[str, Counter[str]] = {}
    for task in load_definitions(folder):
        for report in lint_task(task, SCHEMAS, date(2026, 11, 28)):
            for found in report.findings:
                reasons.setdefault(found.code, Counter())[_why_not(task, report, found)] += 1
    for code, each in reasons.items():
        print(code, each.total(), "findings,", each[""], "shown:", dict(each))  # noqa: T201  # shown by -rP
    return {code: (each.total(), each[""]) for code, each in reasons.items()}


PUBLISHED = {
    "asks_less": (14, 13),
    "contradictory_use": (1, 0),
    "dead_field": (65, 62),
    "either_suffices": (1, 1),
    "first_of_unordered": (50, 50),
    "hard_coded_year": (32, 31),
    "index_in_projection": (89, 86),
    "inverted_expected": (16, 16),
    "list_op_on_dict": (11, 6),
    "list_result": (13, 13),
    "literal_not_in_goal": (64, 8),
    "never_equal": (6, 6),
    "null_agent_passes": (15, 15),
    "number_result": (11, 11),
    "ordering_of_text": (3, 2),
    "raises_on_empty_state": (29, 29),
    "unknown_function": (2, 0),
    "value_result": (2, 1),
    "wrong_arguments": (2, 0),
    "wrong_number": (6, 6),
}
"""Per code the findings and those that a state shows; the others are notes, or of five
queries that no state meets at all, such as one that calls `all()`."""


def test_findings_about_the_published_tasks_are_shown_by_states(shared_tasks: Path) -> None:
    assert _proofs(shared_tasks) == PUBLISHED


def test_a_query_without_a_fatal_finding_is_met_by_what_the_apps_store(shared_tasks: Path) -> None:
    sound, apart = 0, []
    for task in load_definitions(shared_tasks):
        shape = SCHEMAS.state(task.apps)
        for report in lint_task(task, SCHEMAS):
            met = met_states(report.query, report.expected_value)
            if met and not report.fatal:
                sound += 1
                stored = [_as_stored(each, shape) for each in met]
                if not any(is_met(report.query, each, report.expected_value) for each in stored):
                    apart.append((task.id, report.query, met[0], stored[0]))
    assert (apart, sound) == ([], 100)


@pytest.mark.skipif(find_spec("agisdk") is None, reason="agisdk is not installed (pip install --no-deps agisdk)")  # fmt: skip
@pytest.mark.parametrize(
    ("version", "proofs"),
    [
        (
            "v1",
            {
                "literal_not_in_goal": (44, 1),
                "past_date": (3, 0),
                "hard_coded_year": (6, 6),
                "first_of_unordered": (1, 1),
            },
        ),
        ("v2", {}),
    ],
)
def test_findings_about_agisdks_tasks_are_shown_by_states(
    version: str, proofs: dict[str, tuple[int, int]]
) -> None:
    assert _proofs(resolve_tasks_dir(version)) == proofs
