from __future__ import annotations

from typing import TYPE_CHECKING, Any

import jmespath
import pytest
from jmespath.exceptions import JMESPathError

from bench_core.errors import InputError
from multireal_harness.definitions import Definition
from multireal_harness.queries import compile_query, evaluate_query, matches, query_checks
from multireal_harness.states import load_states
from multireal_harness.tasks import load_definitions

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


def test_results_on_recorded_states_are_those_of_jmespath_and_equality(
    shared_tasks: Path, shared_states: Path
) -> None:
    states = {each.task_id: each.apps for each in load_states(shared_states)}
    compared = 0
    for definition in load_definitions(shared_tasks):
        if definition.id not in states:
            continue
        checks = query_checks(definition, states[definition.id])
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
    check = query_checks(definition, {"mail": {"text": "x" * 100_000}})[0]
    assert check.passed is False
    assert check.reason is not None
    assert check.reason.startswith("JMESPathTypeError")
    assert len(check.reason) < 500


def test_large_result_is_shortened_in_the_record(a_task: Callable[..., dict[str, Any]]) -> None:
    definition = Definition.model_validate(
        a_task(evals=[{"query": "mail", "expected_value": True}])
    )
    check = query_checks(definition, {"mail": ["y" * 10_000]})[0]
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
