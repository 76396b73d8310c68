"""Responses made from endings in another form, using only the goal and the agent's words and values.

Agents that do not end in the response format are scored 0.0 unless a run asks for this with
`--extract`. Neither rules nor model see the expected values; results are flagged if it was used.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal

from pydantic import JsonValue, ValidationError

from bench_core.errors import InputError
from bench_core.records import AgentEnding, Record, Status
from bench_core.records.codec import decode_json
from webarena_runner.agents.declaration import Declaration
from webarena_runner.answers import AGENT_STATUSES, read_answer
from webarena_runner.tasks import TASK_TYPES

if TYPE_CHECKING:
    from typing_extensions import Self

    from bench_core.models import Model
    from bench_core.protocols import Meter, TrialContext

NO_MODEL = "--extract model needs a model: add --extract-model provider:model"

_QUOTES = re.compile('["\u201c][^"\u201c\u201d]*["\u201d]')
_ASKS = re.compile(
    r"(?i)^\s*(?:get|what|which|who|whom|how (?:much|many|long|far)|when|where|list|tell|return|"
    r"give|compare|is|are|do|does|among|summarize|calculate|measure|determine|provide)\b|\?\s*$|"
    r"\breturn (?:a|an|the|only|true)\b|(?:^|[,.] )(?:get|what's|how long)\b|\bget me\b"
)
_SHOWS = re.compile(
    r"(?i)^\s*(?:go to|open|navigate|show|view|browse|search for|take me|pull up)\b|"
    r", (?:go to|view|open|show me)\b"
)
_CHANGES = re.compile(
    r"(?i)^\s*open (?:a|an) (?:new )?issue\b|\bcan you\b|"
    r"(?:\band|,|[.?]) (?:create|post|add|write|submit|send|order|buy|change|update|delete|cancel|reply|draft)"
    r" (?:a|an|the|my|it|this|them|in|to|on)\b"
)
_FINDS = re.compile(r"(?i)^\s*find\b")
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
# a number of its own: none in an address, a date or a size
_AMOUNT = re.compile(r"(?<![\w./@*-])[-+]?\$?\d[\d,]*(?:\.\d+)?(?![\w/@*-]|\.\d)")
_DATE = re.compile(r"(?i)^(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\.? \d")
_OBJECT = re.compile(r"\{.*\}", re.DOTALL)
_LEAD = re.compile(r"^.{0,120}?(?:\bis|\bare|\bwas|\bwere|:)\s+(.+?)[.!]?\s*$", re.DOTALL)
_GAVE_UP = "gave_up"

_TASK = """An agent worked on a task on a web site and {ended}. Restate its report in the response format. \
Use nothing but the report: if it names no data, give none; if it says that the task could not be done, choose \
the status that fits.

Task: {goal}

Report:
{report}"""


class Extraction(Record):
    """The means of restating endings in another form.

    Attributes:
        model: The model for the way `model`; by default the trial's own.
    """

    way: Literal["rules", "model"]
    model: str | None = None

    @classmethod
    def of(cls, config: Mapping[str, JsonValue]) -> Self | None:
        """Return the extraction that a run's configuration asks for."""
        if config.get("extract") is None:
            return None
        asked = {"way": config["extract"], "model": config.get("extract_model")}
        return cls.model_validate(asked)


class Restated(Record):
    """A response made from an ending, and which of the two means made it."""

    response: dict[str, JsonValue]
    way: Literal["rules", "model"]

    @property
    def flag(self) -> str:
        """The flag of the trial, whatever its score."""
        return f"answer-extracted-by-{self.way}"


async def restated(
    ending: AgentEnding,
    stored: str,
    goal: str,
    context: TrialContext,
    asked: Extraction,
) -> Restated | None:
    """Restate an agent's own ending if the evaluator cannot read it, else return None.

    Args:
        ending: How it ended; at a limit nothing is restated.
        stored: Its answer as it was stored.
        goal: The agent's goal.
        context: The trial's context.
        asked: The means.

    Raises:
        InputError: The model is missing.
        ModelError: The provider gave no usable reply in time.
        BudgetExceededError: The run's budget is spent.
    """
    read = read_answer(stored)
    if ending.status is not Status.COMPLETED or read.problem is None:
        return None
    # imported trials have no other answer than the stored one
    answer = read.value if ending.answer is None else ending.answer
    gave_up = _GAVE_UP in ending.flags or (isinstance(answer, dict) and set(answer) == {_GAVE_UP})
    if asked.way == "rules":
        return by_rules(goal, answer, gave_up=gave_up)
    from bench_core.models import open_model, published_prices

    name = asked.model or context.model
    if not name:
        raise InputError(NO_MODEL)
    async with open_model(name, seed=context.seed, prices=published_prices()) as opened:
        meter = context.meter.of("answer_extraction")
        return await by_model(opened, goal, answer, gave_up=gave_up, meter=meter)


def by_rules(goal: str, answer: JsonValue, *, gave_up: bool = False) -> Restated:
    """Derive type, status and data from words or values; the same ones always give the same response.

    >>> by_rules("Get the best seller", "The best seller is **Band**.").response["retrieved_data"]
    ['Band']
    """
    answer = _unwrapped(answer)
    if isinstance(answer, str) and (embedded := _embedded(answer)) is not None:
        return Restated(response=_honest(embedded, gave_up=gave_up), way="rules")
    declared = _declared(answer)
    words = answer if isinstance(answer, str) else ""
    status = declared.get("status") or _status(words)
    data = _values(answer)
    kind = declared.get("task_type") or _kind(goal, valued=not isinstance(data, str | None))
    wants_data = kind == "RETRIEVE" and status == "SUCCESS"
    response: dict[str, JsonValue] = {
        "task_type": kind,
        "status": status,
        "retrieved_data": (_data(data) if isinstance(data, str) else data) if wants_data else None,
        "error_details": None if status == "SUCCESS" else words.strip() or None,
    }
    return Restated(response=_honest(response, gave_up=gave_up), way="rules")


async def by_model(
    model: Model,
    goal: str,
    answer: JsonValue,
    *,
    gave_up: bool = False,
    meter: Meter | None = None,
) -> Restated:
    """Have a model restate the report: type, status and data in words; else use the rules.

    Raises:
        ModelError: The provider gave no usable reply in time.
        BudgetExceededError: The run's budget is spent.
    """
    from bench_core.models import Message, ModelRequest, portable_schema

    answer = _unwrapped(answer)
    report = answer if isinstance(answer, str) else json.dumps(answer, ensure_ascii=False)
    ended = "gave up" if gave_up else "ended it as done"
    question = _TASK.format(goal=goal, ended=ended, report=report)
    schema = portable_schema(Declaration)
    request = ModelRequest(
        messages=(Message.user(question),), output_schema=schema, output_name="response"
    )
    reply = await model.complete(request, meter=meter)
    try:
        response = Declaration.model_validate(reply.data).as_response()
    except ValidationError:
        return by_rules(goal, answer, gave_up=gave_up)
    if (response["task_type"], response["status"]) != ("RETRIEVE", "SUCCESS"):
        response["retrieved_data"] = None
    elif not isinstance(answer, str):
        response["retrieved_data"] = _values(answer)  # the agent's own, unchanged
    else:
        response["retrieved_data"] = _with_zeros(response["retrieved_data"], answer)
    return Restated(response=_honest(response, gave_up=gave_up), way="model")


def _honest(response: dict[str, JsonValue], *, gave_up: bool) -> dict[str, JsonValue]:
    """Return a response, never a success if its agent gave up."""
    if not gave_up or response["status"] != "SUCCESS":
        return response
    return {**response, "status": "UNKNOWN_ERROR", "retrieved_data": None}


def _unwrapped(answer: JsonValue) -> JsonValue:
    """Return an answer's content: the value of JSON in a text, the one known field of an object."""
    if isinstance(answer, str):
        if not answer.strip():
            return None
        try:
            value: JsonValue = decode_json(answer)
        except ValueError:
            return answer
        # a number or word in a text is left as it is: "170" may be an id
        return _unwrapped(value) if isinstance(value, dict | list | None) else answer
    if isinstance(answer, dict) and len(answer) == 1:
        for name in (_GAVE_UP, "answer"):
            if name in answer:
                return answer[name]
    return answer


def _declared(answer: JsonValue) -> dict[str, str]:
    """Return the fields of the response format that an object has and that are readable."""
    found = {}
    for name, words in (("task_type", TASK_TYPES), ("status", AGENT_STATUSES)):
        word = answer.get(name) if isinstance(answer, dict) else None
        if isinstance(word, str) and word.strip().upper() in words:
            found[name] = word.strip().upper()
    return found


def _values(answer: JsonValue) -> Any:
    """Return an answer's data as a list; a text as it is, and None if there are none."""
    if isinstance(answer, dict) and "retrieved_data" in answer:
        answer = answer["retrieved_data"]
    elif _declared(answer):
        return None
    return answer if isinstance(answer, str | list | None) else [answer]


def _embedded(text: str) -> dict[str, JsonValue] | None:
    """Return the response that a text contains, None without one."""
    found = _OBJECT.search(text)
    if found is None or read_answer(found.group()).problem is not None:
        return None
    value: dict[str, JsonValue] = json.loads(found.group())
    return value


def _kind(goal: str, *, valued: bool) -> str:
    """Return the type that a goal's words mean; `valued` if the agent gave values rather than words."""
    goal = _QUOTES.sub('""', goal)
    if _CHANGES.search(goal):
        return "MUTATE"
    if _ASKS.search(goal):
        return "RETRIEVE"
    if _SHOWS.search(goal):
        return "NAVIGATE"
    return "RETRIEVE" if valued or _FINDS.search(goal) else "MUTATE"


def _status(text: str) -> str:
    for status, words in _REFUSALS:
        if re.search(words, text, re.IGNORECASE):
            return status
    return "SUCCESS"


def _data(text: str) -> list[JsonValue]:
    """Return listed items, else emphasised words, else the part after "is", else numbers, else all."""
    text = text.strip()
    for pattern in (_ITEM, _BOLD, _QUOTED):
        if found := pattern.findall(text):
            return [_value(each) for each in found]
    if lead := _LEAD.match(text):
        said = lead.group(1)
        parts = re.split(r"\s*;\s*|,\s+(?:and\s+)?|\s+and\s+", said)
        is_list = len(parts) > 1 and len(said) < 200  # a sentence is not a list
        return [_value(each) for each in (filter(None, parts) if is_list else [said])]
    if (amounts := _AMOUNT.findall(text)) and not _DATE.match(text):
        return [_value(each) for each in amounts]
    return [text.rstrip(".")]


def _value(text: str) -> Any:
    bare = text.strip().strip("\"'`*").rstrip(".").strip()
    return json.loads(bare.lstrip("+")) if _NUMBER.match(bare) and not _padded(bare) else bare


def _padded(text: str) -> bool:
    """Return whether a text has leading zeros, as order numbers such as 000000170 have."""
    digits = text.lstrip("+-")
    return len(digits) > 1 and digits[0] == "0" and not digits.startswith("0.")


def _with_zeros(data: Any, text: str) -> Any:
    """Return `data` with each number that has leading zeros in the text as it is there: it is an id."""
    if isinstance(data, list):
        return [_with_zeros(each, text) for each in data]
    if isinstance(data, dict):
        return {name: _with_zeros(each, text) for name, each in data.items()}
    if isinstance(data, int) and not isinstance(data, bool):
        found = re.search(rf"(?<![\d.,])0+{data}(?![\d.,]*\d)", text)
        return found[0] if found and data else data
    return data
