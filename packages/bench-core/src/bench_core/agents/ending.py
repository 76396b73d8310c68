"""The end of a task: the tools by which a model ends it, and the check of the answer's form."""

from __future__ import annotations

import json
from typing import Any

from pydantic import JsonValue

from bench_core.models.records import Tool
from bench_core.models.schema import parse_json
from bench_core.records import AgentTask

_ANY: dict[str, JsonValue] = {"description": "what was asked for; null if nothing"}
_MOST_SHOWN = 400


def ending_tools(task: AgentTask) -> tuple[Tool, ...]:
    """Return the tools by which a model ends `task`: `done` with the benchmark's form, `fail` if allowed."""
    schema = task.answer_schema
    if schema is None:
        schema = {"type": "object", "properties": {"answer": _ANY}}
    elif not _has_fields(schema):
        schema = {"type": "object", "properties": {"answer": schema}, "required": ["answer"]}
    done = Tool(name="done", description="End: the task is done.", parameters=schema)
    reason = {
        "type": "object",
        "properties": {"reason": {"type": "string"}},
        "required": ["reason"],
    }
    fail = Tool(name="fail", description="End: the task cannot be done.", parameters=reason)
    return (done, fail) if task.can_fail else (done,)


def answer_of(task: AgentTask, arguments: dict[str, Any]) -> JsonValue:
    """Return the answer that a call of `done` gives."""
    if task.answer_schema is not None and _has_fields(task.answer_schema):
        return arguments or None
    return arguments.get("answer")


def answer_from_text(task: AgentTask, text: str) -> JsonValue:
    """Return the answer in a model's final text: its JSON if the benchmark wants fields."""
    if task.answer_schema is None or not task.answer_schema.get("properties"):
        return text
    try:
        value: JsonValue = parse_json(text)
    except ValueError:
        return text
    return value


def answer_form(task: AgentTask) -> str:
    """Return the form of the answer in words, for models that end with a text rather than a tool."""
    schema = task.answer_schema
    if schema is None:
        return "what was asked for, if anything"
    if not schema.get("properties"):
        return (
            "nothing"
            if _has_fields(schema)
            else f"a value of this JSON Schema: {json.dumps(schema)}"
        )
    return f"one JSON object of this JSON Schema: {json.dumps(schema, ensure_ascii=False)}"


def answer_problem(task: AgentTask, answer: JsonValue) -> str | None:
    """Return the fault in an answer's form, in words for the agent; None if it fits."""
    schema = task.answer_schema
    if schema is None or (answer is None and not schema.get("required")):
        return None
    if _has_fields(schema) and not schema.get("properties"):
        return None  # none is asked for, and none is read
    from jsonschema.exceptions import best_match  # slow to import
    from jsonschema.validators import Draft202012Validator

    wrong = best_match(Draft202012Validator(schema).iter_errors(answer))
    if wrong is None:
        return None
    where = f"{wrong.json_path.removeprefix('$.').removeprefix('$')}: ".removeprefix(": ")
    return f"the answer does not have the form asked for: {where}{wrong.message[:_MOST_SHOWN]}"


def _has_fields(schema: dict[str, JsonValue]) -> bool:
    return schema.get("type") == "object"
