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
    "QueryError",
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
# Comparing, slicing, converting and recursing are left to Python by jmespath, and so are their errors.
_RAISED = (
    JMESPathError,
    TypeError,
    ValueError,
    ArithmeticError,
    LookupError,
    AttributeError,
    RecursionError,
)


class QueryError(InputError):
    """A text that is not JMESPath; `reason` says why in one line."""

    def __init__(self, query: str, error: Exception) -> None:
        self.reason = shown(str(error).splitlines()[0])
        super().__init__(f"the query {shown(query)!r} does not compile: {self.reason}")


class QueryResult(Record):
    """What a query gave: a value, or the reason it raised."""

    value: Any = None
    error: str | None = None


@functools.lru_cache(maxsize=_KEPT)
def compile_query(text: str) -> ParsedResult:
    """Return the compiled query; jmespath's own cache forgets after 128 of them.

    Raises:
        QueryError: It is not JMESPath, or nests too deeply.
    """
    try:
        return jmespath.compile(text)
    except _RAISED as error:
        raise QueryError(text, error) from error


def evaluate_query(text: str, state: JsonValue) -> QueryResult:
    """Return what the query finds in `state`; what it raises is part of the result.

    The benchmark does not count a query that raises, whatever it raises, as satisfied.
    """
    try:
        return QueryResult.model_construct(value=compile_query(text).search(state), error=None)
    except (*_RAISED, QueryError) as error:
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
    """Return a value as text that is short enough for a log line, half surrogate pairs escaped."""
    text = value if isinstance(value, str) else _json(value)
    start = text[:_SHOWN].encode(errors="backslashreplace").decode()
    return start if len(text) <= _SHOWN else f"{start}... ({len(text)} characters)"


def _check(one: Eval, state: JsonValue, match: Match) -> Check:
    found = evaluate_query(one.query, state)
    passed = found.error is None and matches(found.value, one.expected_value, match)
    return Check(
        criterion=one.criterion,
        expected=one.expected_value,
        actual=_short(found.value),
        passed=passed,
        reason=found.error,
        decided_by="query",
    )


def _short(value: Any) -> JsonValue:
    """Keep a small value as it is and a large one as the beginning of its text."""
    if isinstance(value, bool | int | float) or value is None:
        return value
    if isinstance(value, str):
        return shown(value)
    text = _json(value)
    kept: JsonValue = json.loads(text) if len(text) <= _SHOWN else shown(text)
    return kept


def _json(value: Any) -> str:
    """Write a query's result; jmespath gives a `&...` as an object of its own."""
    try:
        return json.dumps(value, ensure_ascii=False, default=lambda _: "an expression")
    except RecursionError:
        return '"nested too deeply to be shown"'


def _kind(value: Any) -> str:
    if isinstance(value, bool):
        return "boolean"
    return "number" if isinstance(value, int | float) else type(value).__name__
