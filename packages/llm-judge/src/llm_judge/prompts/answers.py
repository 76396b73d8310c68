"""Read a model's answers: either every question answered once and in form, or none.

A reply that is not exactly what was asked for is never read as a verdict: elsewhere "UNSUCCESSFUL" was
read as a success, and the text "false" as true.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from bench_core.records.judge import Decision, Evidence

if TYPE_CHECKING:
    from collections.abc import Collection

_MAX_CHARS = 1_000_000  # no answer is as long, and parsing more would cost memory
# some models fence their JSON although a schema was given
_FENCE = re.compile(r"\A\s*```(?:json)?\s*\n(.*)\n\s*```\s*\Z", re.DOTALL)
_STRICT = ConfigDict(extra="forbid", strict=True, frozen=True)


class MalformedReplyError(ValueError):
    """The reply is not in the form that was asked for."""


# The docstrings and descriptions of these classes are part of the schema that is sent: a changed word makes
# old calibrations and cassettes void.
class Quotation(BaseModel):
    """One piece of evidence."""

    model_config = _STRICT

    kind: Literal["present", "passage", "absent"] = Field(
        description="present: the quote is the whole value at the pointer. passage: a part of a "
        "text over 200 characters there. absent: nothing stands there, or the quote, words of the "
        "question, occurs nowhere below it"
    )
    pointer: str | None = Field(description="JSON pointer into the state, or null for a picture")
    quote: str | None = Field(description="character for character")
    screenshot: str | None = Field(description="name of the picture, or null")
    region: str | None = Field(description="x,y,width,height in pixels, or null")

    def evidence(self) -> Evidence:
        """Return it as a record to be checked."""
        return Evidence(**self.model_dump())


class Answer(BaseModel):
    """The answer to one question: reason and evidence first, verdict last."""

    model_config = _STRICT

    # with constrained decoding the model writes the fields in this order: it reasons before it decides
    question: str
    reason: str = Field(description="one or two sentences")
    evidence: list[Quotation]
    verdict: Decision
    confidence: Annotated[float, Field(ge=0, le=1)] = Field(
        description="probability from 0 to 1 that the verdict is right"
    )


class Answers(BaseModel):
    """One answer per question."""

    model_config = _STRICT

    answers: list[Answer]


def read_answers(text: str, questions: Collection[str]) -> dict[str, Answer]:
    """Return the answers by question.

    Raises:
        MalformedReplyError: The text is not JSON of the schema, answers a question twice or not at
            all, or answers one that was not asked.
    """
    data = _parse(text)
    try:
        answers = Answers.model_validate(data).answers
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(map(str, first["loc"])) or "the reply"
        raise MalformedReplyError(f"{where}: {first['msg']}") from error
    asked = list(questions)
    found = [each.question for each in answers]
    if sorted(found) != sorted(asked):
        shown = ", ".join(repr(each[:40]) for each in found[:12]) or "none"
        raise MalformedReplyError(f"asked {len(asked)} questions, got answers to {shown}")
    return {each.question: each for each in answers}


def _parse(text: str) -> Any:
    if len(text) > _MAX_CHARS:
        raise MalformedReplyError(f"{len(text)} characters are no answer")
    fenced = _FENCE.match(text)
    try:
        data = json.loads(
            fenced[1] if fenced else text, object_pairs_hook=_object, parse_constant=_constant
        )
        json.dumps(data, ensure_ascii=False).encode()  # half a surrogate pair is no text
    except (ValueError, RecursionError) as error:
        raise MalformedReplyError(f"not JSON: {ascii(str(error))[:200]}") from error
    return data


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Refuse a key that stands twice: `json` keeps the second, and planted text may have added it."""
    keys = dict(pairs)
    if len(keys) != len(pairs):
        raise ValueError("a key stands twice in one object")
    return keys


def _constant(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")
