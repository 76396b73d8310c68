"""Evaluation of JMESPath queries on end states, exactly as the benchmark does it.

The library is jmespath, because rjmespath parses the state anew for each search: 1183 ms for 24 evals,
compared with 0.7 ms.
"""

from __future__ import annotations

import functools
import json
from typing import Any, Literal, get_args

import jmespath
from jmespath.exceptions import JMESPathError
from jmespath.parser import ParsedResult
from pydantic import JsonValue

from bench_core.errors import InputError
from bench_core.records import Check, Record
from multireal_harness.definitions import Eval

Match = Literal["equals", "truthy", "exists", "strict"]
"""How a result is compared with an expectation: by Python's `==` (the benchmark's rule), by truth, as not
null, by `==` of the same JSON type.

By `==` the number 1 equals true, on which 11 of the published evals depend.
"""

MATCHES: tuple[str, ...] = get_args(Match)

_KEPT = (
    4096  # more than the 230 published queries, for which jmespath's own cache of 128 is too small
)
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
    """A text that is not JMESPath; `reason` is the parser's message in one line."""

    def __init__(self, query: str, error: Exception) -> None:
        self.reason = shown(str(error).splitlines()[0])
        super().__init__(f"the query {shown(query)!r} does not compile: {self.reason}")


class QueryResult(Record):
    """The value of a query, or the error that it raised."""

    value: Any = None
    error: str | None = None


@functools.lru_cache(maxsize=_KEPT)
def compile_query(text: str) -> ParsedResult:
    """Return the compiled query, from a cache.

    Raises:
        QueryError: It is not JMESPath, or nests too deeply.
    """
    try:
        return jmespath.compile(text)
    except _RAISED as error:
        raise QueryError(text, error) from error


def evaluate_query(text: str, state: JsonValue) -> QueryResult:
    """Return the value of the query on `state`, or the error that it raises.

    The benchmark counts a query that raises anything as not satisfied.
    """
    try:
        return QueryResult.model_construct(value=compile_query(text).search(state), error=None)
    except (*_RAISED, QueryError) as error:
        # the message of a type error holds the whole value: one had 184,430 characters
        return QueryResult.model_construct(
            value=None, error=f"{type(error).__name__}: {shown(str(error))}"
        )


def matches(actual: Any, expected: Any, match: Match = "equals") -> bool:
    """Return whether a result meets the expectation by a rule of `Match`.

    >>> matches(1, True), matches(1, True, "strict"), matches([], True, "exists")
    (True, False, True)
    """
    if match == "exists":
        return actual is not None
    if match == "truthy":
        return bool(actual) == bool(expected)
    equal = bool(actual == expected)
    return equal and (match == "equals" or _kind(actual) == _kind(expected))


def shown(value: Any) -> str:
    """Return a value as text of at most 300 characters, with half surrogate pairs escaped."""
    text = value if isinstance(value, str) else _json(value)
    start = text[:_SHOWN].encode(errors="backslashreplace").decode()
    return start if len(text) <= _SHOWN else f"{start}... ({len(text)} characters)"


def query_check(one: Eval, state: JsonValue, match: Match = "equals") -> Check:
    """Return the check of an end state by a query."""
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
    """Return a small value as it is, and of a large one the beginning of its text."""
    if isinstance(value, bool | int | float) or value is None:
        return value
    if isinstance(value, str):
        return shown(value)
    text = _json(value)
    kept: JsonValue = json.loads(text) if len(text) <= _SHOWN else shown(text)
    return kept


def _json(value: Any) -> str:
    """Return a query's result as JSON; for `&...` jmespath returns an object that JSON does not know."""
    try:
        return json.dumps(value, ensure_ascii=False, default=lambda _: "an expression")
    except RecursionError:
        return '"nested too deeply to be shown"'


def _kind(value: Any) -> str:
    if isinstance(value, bool):
        return "boolean"
    return "number" if isinstance(value, int | float) else type(value).__name__
