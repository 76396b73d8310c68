from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Any, get_args

import jmespath.functions
import pytest
from hypothesis import given
from hypothesis import strategies as st
from jmespath.exceptions import JMESPathError

from bench_core.errors import InputError
from multireal_harness.definitions import Definition
from multireal_harness.eval_rules.queries import (
    Match,
    compile_query,
    evaluate_query,
    matches,
    query_check,
    shown,
)
from multireal_harness.lint import lint_task
from multireal_harness.states.files import load_states
from multireal_harness.states.schemas import shipped_schemas
from multireal_harness.tasks import load_definitions

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from bench_core.records import Check


def checks_of(definition: Definition, state: Any, match: Match = "equals") -> list[Check]:
    return [query_check(each, state, match) for each in definition.evals]


STATE = {
    "mail": {"name": "Ann", "size": 3, "none": [], "list": [1, 2], "half": "\ud800"},
    "deep": json.loads('{"a":' * 200 + "{}" + "}" * 200),
}
RAISING = {
    "order-of-unlike": 'mail.list[?@ > `"x"`]',
    "merge-of-number": "merge(mail, mail.size)",
    "slice-without-step": "mail.list[::0]",
    "ceiling-of-infinity": "ceil(to_number('inf'))",
    "floor-of-nothing": "floor(to_number('nan'))",
    "too-deep-to-run": " && ".join(["mail"] * 2000),
    "too-deep-to-parse": "(" * 5000 + "mail" + ")" * 5000,
    "too-many-digits": f"mail.list[{'9' * 5000}]",
    "unknown-function": "every(mail)",
    "unlike-kinds": "contains(mail.size, 'x')",
    "no-query": "mail[?",
    "empty": "",
}
"""Queries for which jmespath raises an error when it parses or searches."""


def test_results_on_recorded_states_are_those_of_jmespath_and_equality(
    shared_tasks: Path, shared_states: Path
) -> None:
    states = {each.task_id: each.apps for each in load_states(shared_states)}
    compared = 0
    for definition in load_definitions(shared_tasks):
        if definition.id not in states:
            continue
        checks = checks_of(definition, states[definition.id])
        for one, check in zip(definition.evals, checks, strict=True):
            try:
                plain = jmespath.search(one.query, states[definition.id]) == one.expected_value
            except JMESPathError:
                plain = False
            assert check.passed is plain
            compared += 1
    assert compared == 15


@pytest.mark.parametrize(
    ("actual", "expected", "match", "passed"),
    [
        (True, True, "equals", True),
        (1, True, "equals", True),
        (1, True, "strict", False),
        (1, 1.0, "strict", True),
        ([], True, "equals", False),
        ([], True, "truthy", False),
        (["x"], True, "truthy", True),
        ([], True, "exists", True),
        (None, True, "exists", False),
        (None, None, "equals", True),
        ("a", "A", "equals", False),
        ([1, 2], [2, 1], "equals", False),
    ],
)
def test_when_a_result_meets_the_expectation(
    actual: Any, expected: Any, match: Any, passed: object
) -> None:
    assert matches(actual, expected, match) is passed


def test_query_that_raises_fails_with_a_short_reason(a_task: Callable[..., dict[str, Any]]) -> None:
    definition = Definition.model_validate(
        a_task(evals=[{"query": "contains(mail, 'x')", "expected_value": True}])
    )
    check = checks_of(definition, {"mail": {"text": "x" * 100_000}})[0]
    assert check.passed is False
    assert check.reason is not None
    assert check.reason.startswith("JMESPathTypeError")
    assert len(check.reason) < 500


def test_large_result_is_shortened_in_the_record(a_task: Callable[..., dict[str, Any]]) -> None:
    definition = Definition.model_validate(
        a_task(evals=[{"query": "mail", "expected_value": True}])
    )
    check = checks_of(definition, {"mail": ["y" * 10_000]})[0]
    assert len(str(check.actual)) < 500


def test_more_queries_than_jmespath_remembers_are_compiled_once() -> None:
    first = compile_query("a.b0")
    for number in range(500):
        compile_query(f"a.b{number}")
    assert compile_query("a.b0") is first


def test_what_is_not_jmespath_is_refused() -> None:
    with pytest.raises(InputError, match="does not compile"):
        compile_query("a[?")
    assert "does not compile" in str(evaluate_query("a[?", {}).error)


@pytest.mark.parametrize("query", RAISING.values(), ids=RAISING.keys())
def test_query_that_jmespath_raises_for_fails_with_the_error_as_reason(
    query: str, a_task: Callable[..., dict[str, Any]]
) -> None:
    # an error leaves no value, which is not the null or the false that a task may expect
    expected = (True, False, None)
    evals = [{"query": query, "expected_value": each} for each in expected]
    definition = Definition.model_validate(a_task(evals=evals))
    for match in get_args(Match):
        for check in checks_of(definition, STATE, match):
            assert check.passed is False
            assert check.actual is None
            assert "Error: " in (check.reason or "")
    assert len(check.reason or "") < 500


@pytest.mark.parametrize(
    ("query", "actual"),
    [
        ("&mail", "an expression"),
        ("[&mail, mail.size]", ["an expression", 3]),
        ("[to_number('inf')]", [math.inf]),
        ("mail.half", "\\ud800"),
        ("[mail.none]", [[]]),
    ],
    ids=["expression", "expression-in-list", "infinity", "half-a-pair", "empty"],
)
def test_odd_result_is_kept_as_json(
    query: str, actual: Any, a_task: Callable[..., dict[str, Any]]
) -> None:
    definition = Definition.model_validate(a_task(evals=[{"query": query, "expected_value": True}]))
    check = checks_of(definition, STATE)[0]
    assert (check.passed, check.reason, check.actual) == (False, None, actual)


def test_result_that_cannot_be_written_is_named() -> None:
    deep: list[Any] = []
    for _ in range(100_000):  # Python 3.12 and newer write deeper than sys.getrecursionlimit()
        deep = [deep]
    assert "nested too deeply" in shown(deep)


NAMES = st.sampled_from(["mail", "size", "list", "none", "'x'", "`1`", "`null`", "@", "*"])
FUNCTIONS = sorted(jmespath.functions.Functions.FUNCTION_TABLE)


def grown(parts: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    """Return larger queries of smaller ones, sensible or not."""
    arguments = st.lists(st.one_of(parts, parts.map("&{}".format)), max_size=3)
    calls = st.tuples(st.sampled_from(FUNCTIONS), arguments)
    return st.one_of(
        st.tuples(parts, st.sampled_from(["[0]", "[*]", "[]", "[::0]", ".size", ".*"])).map(
            "".join
        ),
        st.tuples(parts, parts).map(lambda pair: f"{pair[0]}[?{pair[1]}]"),
        st.tuples(parts, st.sampled_from(["==", "<", "&&", "||", "|"]), parts).map(" ".join),
        calls.map(lambda call: f"{call[0]}({', '.join(call[1])})"),
    )


@given(st.one_of(st.recursive(NAMES, grown, max_leaves=8), st.text(max_size=20)))
def test_any_query_gets_a_verdict_and_a_report(query: str) -> None:
    one = {"query": query, "expected_value": True, "description": "Verify."}
    task = {"id": "mail-1", "goal": "Send it.", "websites": [{"id": "mail"}], "evals": [one]}
    definition = Definition.model_validate(task)
    assert checks_of(definition, STATE)[0].passed in {True, False}
    assert len(lint_task(definition, shipped_schemas())) == 1
