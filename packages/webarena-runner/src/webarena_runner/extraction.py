"""Responses made from answers in prose, from the goal and the agent's words alone.

Agents that cannot answer in the response format are scored 0.0 unless a run asks for this with
`--extract`. Neither rules nor model see what is expected; results are flagged where it was used.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, Literal

from pydantic import JsonValue, ValidationError

from webarena_runner.agents.declaration import Declaration
from webarena_runner.answers import read_answer

if TYPE_CHECKING:
    from bench_core.models import Model
    from bench_core.protocols import Meter

__all__ = ["EXTRACTIONS", "Extraction", "by_model", "by_rules", "needs_extraction"]

Extraction = Literal["rules", "model"]
EXTRACTIONS = ("rules", "model")

_NAVIGATE = re.compile(r"(?i)^\s*(?:go to|open|navigate|show|view|browse|search for|take me)\b")
_RETRIEVE = re.compile(
    r"(?i)^\s*(?:get|what|which|who|whom|how (?:much|many|long|far)|when|where|list|tell|return|"
    r"find|give|compare|is|are|do|does|among|summarize|calculate|measure)\b|\?\s*$"
)
_REFUSALS = (
    # the general words are last, because they occur in the other sentences, too
    ("PERMISSION_DENIED_ERROR", r"permission|not authori[sz]ed|access (?:is )?denied"),
    ("NOT_FOUND_ERROR", (r"not found|(?:could|can) ?not (?:find|locate)|couldn't (?:find|locate)"
                        r"|(?:does not|doesn't|do not|don't) exist|there (?:is|are|were|was) no\b"
                        r"|no results")),
    ("ACTION_NOT_ALLOWED_ERROR", (r"not (?:allowed|possible|supported)|cannot be (?:done|changed)"
                                 r"|no (?:option|way) to")),
    ("UNKNOWN_ERROR", r"\b(?:failed to|unable to|gave up|could not|couldn't|cannot)\b"),
)  # fmt: skip
_ITEM = re.compile(r"(?m)^\s*(?:[-*\u2022]|\d+[.)])\s+(.+?)\s*$")
_QUOTED = re.compile('["\u201c]([^"\u201c\u201d]+)["\u201d]')
_BOLD = re.compile(r"\*\*([^*]+)\*\*")
_NUMBER = re.compile(r"^[-+]?\d+(?:\.\d+)?$")
_AMOUNT = re.compile(r"[-+]?\$?\d[\d,]*(?:\.\d+)?\b")
_OBJECT = re.compile(r"\{.*\}", re.DOTALL)
_LEAD = re.compile(r"^.{0,120}?(?:\bis|\bare|\bwas|\bwere|:)\s+(.+?)[.!]?\s*$", re.DOTALL)

_TASK = """An agent worked on a task on a web site and reported in its own words. Restate its report \
in the response format. Use nothing but the report: if it names no data, give none; if it says that \
the task could not be done, choose the status that fits.

Task: {goal}

Report:
{text}"""


def needs_extraction(answer: JsonValue) -> bool:
    """Return whether an answer is text that the evaluator cannot read."""
    return (
        isinstance(answer, str) and bool(answer.strip()) and read_answer(answer).problem is not None
    )


def by_rules(goal: str, text: str) -> dict[str, JsonValue]:
    """Derive type, status and data from the words; the same words always give the same response.

    >>> by_rules("Get the best seller", "The best seller is **Band**.")["retrieved_data"]
    ['Band']
    """
    if (embedded := _embedded(text)) is not None:
        return embedded
    status = _status(text)
    kind = _kind(goal)
    wants_data = kind == "RETRIEVE" and status == "SUCCESS"
    return {
        "task_type": kind,
        "status": status,
        "retrieved_data": _data(text) if wants_data else None,
        "error_details": None if status == "SUCCESS" else text.strip(),
    }


async def by_model(
    model: Model, goal: str, text: str, *, meter: Meter | None = None
) -> dict[str, JsonValue]:
    """Have a model restate the report; where it cannot the rules are used.

    Raises:
        ModelError: The provider gave no usable reply in time.
        BudgetExceededError: The run's budget is spent.
    """
    from bench_core.models import Message, ModelRequest, portable_schema  # noqa: PLC0415  # heavy

    question = _TASK.format(goal=goal, text=text)
    schema = portable_schema(Declaration)
    request = ModelRequest(
        messages=(Message.user(question),), output_schema=schema, output_name="response"
    )
    reply = await model.complete(request, meter=meter)
    try:
        return Declaration.model_validate(reply.data).as_response()
    except ValidationError:
        return by_rules(goal, text)


def _embedded(text: str) -> dict[str, JsonValue] | None:
    """Return the response that a text contains, None without one."""
    found = _OBJECT.search(text)
    if found is None or read_answer(found.group()).problem is not None:
        return None
    value: dict[str, JsonValue] = json.loads(found.group())
    return value


def _kind(goal: str) -> str:
    if _NAVIGATE.search(goal):
        return "NAVIGATE"
    return "RETRIEVE" if _RETRIEVE.search(goal) else "MUTATE"


def _status(text: str) -> str:
    for status, words in _REFUSALS:
        if re.search(words, text, re.IGNORECASE):
            return status
    return "SUCCESS"


def _data(text: str) -> list[JsonValue]:
    """Return listed items, else emphasised words, else what follows "is", else numbers, else all."""
    text = text.strip()
    for pattern in (_ITEM, _BOLD, _QUOTED):
        if found := pattern.findall(text):
            return [_value(each) for each in found]
    if lead := _LEAD.match(text):
        return [_value(each) for each in _split(lead.group(1))]
    if amounts := _AMOUNT.findall(text):
        return [_value(each) for each in amounts]
    return [text.rstrip(".")]


def _split(text: str) -> list[str]:
    parts = re.split(r"\s*;\s*|,\s+(?:and\s+)?|\s+and\s+", text)
    return [part for part in parts if part] if len(parts) > 1 and len(text) < 200 else [text]  # noqa: PLR2004  # a sentence is no list


def _value(text: str) -> Any:
    bare = text.strip().strip("\"'`*").rstrip(".").strip()
    return json.loads(bare.lstrip("+")) if _NUMBER.match(bare) and not _padded(bare) else bare


def _padded(text: str) -> bool:
    """Return whether a text has leading zeros, as order numbers such as 000000170 have."""
    digits = text.lstrip("+-")
    return len(digits) > 1 and digits[0] == "0" and not digits.startswith("0.")
