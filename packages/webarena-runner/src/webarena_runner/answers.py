"""Agents' answers: the file they are stored in, whether they are well formed, and doubtful forms.

The response format is webarena-verified's `{task_type, status, retrieved_data, error_details}`.
Its evaluator reads JSON, or JSON in a fenced block; anything else is a wrong answer. An answer it
cannot read at all is the agent's failure, never the evaluator's.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, Literal

from pydantic import JsonValue

from bench_core.records import Record
from bench_core.records.codec import decode_json
from webarena_runner.patterns import is_pattern

AGENT_STATUSES = (
    "SUCCESS",
    "NOT_FOUND_ERROR",
    "PERMISSION_DENIED_ERROR",
    "ACTION_NOT_ALLOWED_ERROR",
    "DATA_VALIDATION_ERROR",
    "UNKNOWN_ERROR",
)
_TASK_TYPES = ("RETRIEVE", "MUTATE", "NAVIGATE")
_FENCE = re.compile(r"```(?:json)?\s*\n?(.*?)\n?```", re.DOTALL)
_WHOLE_DATE = 3
_SHOWN = 120
_NONE = "there is no answer: task_type and status are missing"

Flag = Literal["regex-answer", "alternatives-answer", "partial-date-answer"]


class AgentAnswer(Record):
    """An agent's answer as the evaluator will read it.

    Attributes:
        problem: Why it is malformed, or None. An absent answer is malformed.
    """

    value: JsonValue = None
    problem: str | None = None

    @property
    def declared(self) -> dict[str, Any]:
        """The answer's fields, empty when it is malformed."""
        return self.value if self.problem is None and isinstance(self.value, dict) else {}


def answer_text(answer: JsonValue) -> str:
    """Return the content of `agent_response.json`: prose stays as it is, the rest is JSON."""
    if isinstance(answer, str):
        return answer
    return json.dumps(answer, ensure_ascii=False, indent=2) + "\n"


def read_answer(text: str) -> AgentAnswer:
    """Read the content of `agent_response.json` the way the evaluator does."""
    found = _FENCE.search(text)
    try:
        value = decode_json(found.group(1) if found else text)
        return AgentAnswer(value=value, problem=_problem(value))
    except ValueError:  # no JSON, or nested too deeply for a record
        words = f"{text.strip()[:_SHOWN]!r}"
        reason = f"the answer is prose, not JSON: {words}" if text.strip() else _NONE
        return AgentAnswer(value=text, problem=reason)


def without_patterns(answer: JsonValue) -> JsonValue:
    """Return `answer` with texts of the form `^…$` escaped, so that they match only themselves.

    The evaluator honours regular expressions from the agent: unescaped, `^.*$` passes all 71 tasks
    that expect plain text.
    """
    if not isinstance(answer, dict) or "retrieved_data" not in answer:
        return answer
    return {**answer, "retrieved_data": _escaped(answer["retrieved_data"])}


def _escaped(value: JsonValue) -> JsonValue:
    if isinstance(value, list):
        return [_escaped(each) for each in value]
    if isinstance(value, dict):
        return {key: _escaped(each) for key, each in value.items()}
    if isinstance(value, str) and is_pattern(value.strip()):
        return f"^{re.escape(value.strip())}$"
    return value


def answer_flags(answer: AgentAnswer, results_schema: JsonValue = None) -> tuple[Flag, ...]:
    """Return flags of answers that make the official evaluator's score doubtful.

    - `regex-answer`: the evaluator honours `^…$` from the agent: `^.*$` matches any text. A run
      stores such answers escaped (`without_patterns`), so that they match themselves only.
    - `alternatives-answer`: it takes a list inside the list as alternatives, any of which may
      match.
    - `partial-date-answer`: it completes a date without day, month or year from today's date, so
      another day may give another score.
    """
    data = answer.declared.get("retrieved_data")
    items = data if isinstance(data, list) else [data]
    strings = list(_strings(items))
    flags: list[Flag] = []
    if any(map(is_pattern, strings)):
        flags.append("regex-answer")
    # one item with a list of all numbers from 0 to 39 passes any task that expects one of them
    # the evaluator compares the values of objects
    values = [
        each for item in items for each in (item.values() if isinstance(item, dict) else [item])
    ]
    if any(isinstance(each, list) for each in values):
        flags.append("alternatives-answer")
    if "date" in _formats(results_schema) and any(map(_is_partial_date, strings)):
        flags.append("partial-date-answer")
    return tuple(flags)


def _problem(value: Any) -> str | None:
    if value is None:
        return _NONE
    if not isinstance(value, dict):
        name, shown = type(value).__name__, json.dumps(value)[:_SHOWN]
        return f"the answer is a JSON {name}, not an object with task_type and status: {shown}"
    if set(value) == {"gave_up"}:
        return f"the agent gave up and declared no status: {str(value['gave_up'])[:_SHOWN]}"
    # the older name, which the evaluator still accepts
    kind = value.get("task_type", value.get("performed_operation"))
    return _bad_word("task_type", kind, _TASK_TYPES) or _bad_word(
        "status", value.get("status"), AGENT_STATUSES
    )


def _bad_word(name: str, word: Any, allowed: tuple[str, ...]) -> str | None:
    if isinstance(word, str) and word.strip().upper() in allowed:
        return None
    return f"{name} is {json.dumps(word)}, not one of {', '.join(allowed)}"


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value.strip()
    elif isinstance(value, list | dict):
        for each in value.values() if isinstance(value, dict) else value:
            yield from _strings(each)


def _formats(schema: Any) -> set[str]:
    if isinstance(schema, dict):
        own = {schema["format"]} if isinstance(schema.get("format"), str) else set()
        return own.union(*(_formats(each) for each in schema.values()))
    return set()


def _is_partial_date(text: str) -> bool:
    """Return whether a date lacks a part, which the evaluator fills in from today's date."""
    numbers = re.findall(r"\d+", text)
    months = re.findall(r"(?i)\b(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*", text)
    packed = len(numbers) == 1 and len(numbers[0]) == len("20240131")
    return bool(numbers or months) and not packed and len(numbers) + len(months) < _WHOLE_DATE
