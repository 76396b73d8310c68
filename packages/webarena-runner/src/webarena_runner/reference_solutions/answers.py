"""The answers that tasks' definitions expect."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from webarena_runner.patterns import is_pattern
from webarena_runner.reference_solutions.examples import example

if TYPE_CHECKING:
    from pydantic import JsonValue

    from bench_core.records import Task

__all__ = ["answer_for"]


def answer_for(task: Task) -> dict[str, JsonValue]:
    """Return the expected answer in the response format; of alternatives, the first.

    Raises:
        ValueError: It contains a pattern for which no example is found.
    """
    definitions: Any = task.config["eval"]
    wanted = next(each for each in definitions if each["evaluator"] == "AgentResponseEvaluator")
    expected = wanted["expected"]
    schema = wanted.get("results_schema") or {}
    data = expected.get("retrieved_data")
    return {
        "task_type": str(expected["task_type"]).upper(),
        "status": str(expected["status"]).upper(),
        "retrieved_data": None if data is None else [_item(each, schema) for each in data],
        "error_details": None,
    }


def _item(value: Any, schema: Any) -> Any:
    """Return one expected item; a list is alternatives unless the schema says that it is a list."""
    inner = schema.get("items", {}) if isinstance(schema, dict) else {}
    return _plain(value, inner)


def _plain(value: Any, schema: Any) -> Any:
    kind = schema.get("type") if isinstance(schema, dict) else None
    if isinstance(value, dict):
        fields = schema.get("properties", {}) if isinstance(schema, dict) else {}
        return {key: _plain(each, fields.get(key, {})) for key, each in value.items()}
    if isinstance(value, list):
        if kind == "array":
            return [_plain(each, schema.get("items", {})) for each in value]
        return _plain(value[0], schema)
    return example(value) if is_pattern(value) else value
