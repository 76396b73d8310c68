"""Evaluate JMESPath queries on end states exactly as the benchmark does, compiled once."""

from __future__ import annotations

import functools
import json
from typing import TYPE_CHECKING, Any, Literal, get_args

import jmespath
from jmespath.exceptions import JMESPathError

from bench_core.errors import InputError
from bench_core.records import Check, Record

if TYPE_CHECKING:
    from jmespath.parser import ParsedResult
    from pydantic import JsonValue

    from multireal_harness.definitions import Definition, Eval

__all__ = [
    "MATCHES",
    "Match",
    "QueryResult",
    "compile_query",
    "evaluate_query",
    "matches",
    "query_checks",
    "shown",
]

Match = Literal["equals", "truthy", "exists", "strict"]
"""When a result meets an expectation: Python's `==` (the benchmark's rule), truth, not null, `==`
of the same JSON type."""

MATCHES: tuple[str, ...] = get_args(Match)

_KEPT = 4096
_SHOWN = 300


class QueryResult(Record):
    """What a query gave: a value, or the reason it raised."""

    value: Any = None
    error: str | None = None


@functools.lru_cache(maxsize=_KEPT)
def compile_query(text: str) -> ParsedResult:
    """Return the compiled query; jmespath's own cache forgets after 128 of them.

    Raises:
        InputError: It is not JMESPath.
    """
    try:
        return jmespath.compile(text)
    except JMESPathError as error:
        reason = str(error).splitlines()[0]
        raise InputError(f"the query {shown(text)!r} does not compile: {reason}") from error


def evaluate_query(text: str, state: JsonValue) -> QueryResult:
    """Return what the query finds in `state`; what it raises is part of the result."""
    try:
        return QueryResult.model_construct(value=compile_query(text).search(state), error=None)
    except (JMESPathError, InputError) as error:
        # the message of a type error holds the whole value, which may be megabytes
        return QueryResult.model_construct(
            value=None, error=f"{type(error).__name__}: {shown(str(error))}"
        )


def matches(actual: Any, expected: Any, match: Match = "equals") -> bool:
    """Return whether a result meets the expectation.

    >>> matches(1, True), matches(1, True, "strict"), matches([], True, "exists")
    (True, False, True)
    """
    if match == "exists":
        return actual is not None
    if match == "truthy":
        return bool(actual) == bool(expected)
    equal = bool(actual == expected)
    return equal and (match == "equals" or _kind(actual) == _kind(expected))


def query_checks(
    definition: Definition, state: JsonValue, match: Match = "equals"
) -> tuple[Check, ...]:
    """Return one check per JMESPath eval of a task, in the task's order."""
    return tuple(_check(each, state, match) for each in definition.evals if each.kind == "jmespath")


def shown(value: Any) -> str:
    """Return a value as text that is short enough for a log line."""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    if len(text) <= _SHOWN:
        return text
    return f"{text[:_SHOWN]}... ({len(text)} characters)"


def _check(one: Eval, state: JsonValue, match: Match) -> Check:
    found = evaluate_query(one.query, state)
    passed = found.error is None and matches(found.value, one.expected_value, match)
    return Check(
        criterion=one.criterion,
        expected=one.expected_value,
        actual=_short(found.value),
        passed=passed,
        reason=found.error,
    )


def _short(value: Any) -> JsonValue:
    """Keep a small value as it is and a large one as the beginning of its text."""
    if isinstance(value, bool | int | float) or value is None:
        return value
    text = shown(value)
    whole = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    kept: JsonValue = value if text == whole else text
    return kept


def _kind(value: Any) -> str:
    if isinstance(value, bool):
        return "boolean"
    return "number" if isinstance(value, int | float) else type(value).__name__
