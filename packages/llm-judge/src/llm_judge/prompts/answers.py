"""Read a model's answers: either every question answered once and in form, or none.

What stands around the JSON does no harm, but a verdict is never read from prose: elsewhere "UNSUCCESSFUL"
was read as a success, and the text "false" as true.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from bench_core.records.judge import Decision, Evidence
from llm_judge.states.effects import compact

_MAX_CHARS = 1_000_000  # no answer is as long, and parsing more would cost memory
_VERDICT = re.compile(r"\b(?:PASS|FAIL)\b|\bverdict\W{0,3}(?:is\W)?\W{0,3}(?:pass|fail|unknown)\b")
_FORM = ConfigDict(extra="ignore", strict=True, frozen=True)


class MalformedReplyError(ValueError):
    """The reply is not in the form that was asked for."""


def _worded(given: Any) -> Any:
    """Return a word in lower case and without the marks around it."""
    return given.strip().strip("*_`.").lower() if isinstance(given, str) else given


def _probability(given: Any) -> Any:
    """Return a number that was written as text, or in percent."""
    found = (
        re.fullmatch(r"\s*(\d{1,3}(?:\.\d{1,9})?)\s*(%?)\s*", given)
        if isinstance(given, str)
        else None
    )
    if found is None:
        return given
    return float(found[1]) / 100 if found[2] else float(found[1])


def _text(given: Any) -> Any:
    """Return a quoted number, flag, object or list as the text it is shown as."""
    return given if given is None or isinstance(given, str) else compact(given)


def _several(given: Any) -> Any:
    return [given] if isinstance(given, dict) and given else given


# The docstrings and descriptions of these classes are part of the schema that is sent: a changed word makes
# old calibrations and cassettes void.
class Quotation(BaseModel):
    """One piece of evidence."""

    model_config = _FORM

    kind: Annotated[Literal["present", "passage", "absent"], BeforeValidator(_worded)] = Field(
        default="present",
        description="present: the quote is the value at the pointer. passage: a part of a long text "
        "there. absent: nothing stands there, or the quote occurs nowhere below it",
    )
    pointer: str | None = Field(description="JSON pointer into the state, or null for a picture")
    quote: Annotated[str | None, BeforeValidator(_text)] = Field(
        default=None, description="character for character"
    )
    screenshot: str | None = Field(default=None, description="name of the picture, or null")
    region: str | None = Field(default=None, description="x,y,width,height in pixels, or null")

    def evidence(self) -> Evidence:
        """Return it as a record to be checked."""
        return Evidence(**self.model_dump())


class Answer(BaseModel):
    """The answer to one question: reason and evidence first, verdict last."""

    model_config = _FORM

    # with constrained decoding the model writes the fields in this order: it reasons before it decides
    question: str
    reason: str = Field(description="one or two sentences")
    evidence: Annotated[list[Quotation], BeforeValidator(_several)]
    verdict: Annotated[Decision, BeforeValidator(_worded)]
    confidence: Annotated[float, Field(ge=0, le=1), BeforeValidator(_probability)] = Field(
        description="probability from 0 to 1 that the verdict is right"
    )


class Answers(BaseModel):
    """One answer per question."""

    model_config = _FORM

    answers: list[Answer]


def read_answers(text: str, questions: Collection[str]) -> dict[str, Answer]:
    """Return the answers by question.

    Prose, fences and thinking around the JSON, other keys, case, and numbers as text do no harm.

    Raises:
        MalformedReplyError: There is no JSON of the form or more than one, it answers a question twice or
            not at all, or answers one that was not asked.
    """
    try:
        answers = Answers.model_validate(_answers_in(_parse(text))).answers
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(map(str, first["loc"])) or "the reply"
        raise MalformedReplyError(f"{where}: {first['msg']}") from error
    asked = list(questions)
    found = [each.question for each in answers]
    if sorted(found) != sorted(asked):
        shown = ", ".join(repr(each[:40]) for each in found[:12]) or "none"
        raise MalformedReplyError(
            f"asked {len(asked)} questions ({', '.join(asked[:12])}), got answers to {shown}"
        )
    return {each.question: each for each in answers}


def _answers_in(data: Any) -> Any:
    """Return the list of answers where a reply leaves out what is around it."""
    if (
        isinstance(data, dict)
        and isinstance(data.get("answers"), dict)
        and "answers" not in data["answers"]
    ):
        data = data["answers"]
    if isinstance(data, list):
        return {"answers": data}
    if isinstance(data, dict) and "answers" not in data and data:
        if {"question", "verdict"} <= data.keys():  # one question, one answer
            return {"answers": [data]}
        if all(isinstance(each, dict) for each in data.values()):  # by the name of the question
            return {"answers": [{"question": key, **each} for key, each in data.items()]}
    return data


def _parse(text: str) -> Any:
    if len(text) > _MAX_CHARS:
        raise MalformedReplyError(f"{len(text)} characters are no answer")
    try:
        data = json.loads(_json_in(text), object_pairs_hook=_object, parse_constant=_constant)
        json.dumps(data, ensure_ascii=False).encode()  # half a surrogate pair is no text
    except (ValueError, RecursionError) as error:
        raise MalformedReplyError(f"not JSON: {ascii(str(error))[:200]}") from error
    return data


def _json_in(text: str) -> str:
    """Return the one JSON value of a reply, without the thinking, the fence and the prose around it."""
    text = text.strip().removeprefix("\ufeff").strip()
    if text[:1] in {"{", "["}:
        inner, before, after = text, "", ""
    else:
        head, closed, rest = text.partition("</think>")
        text = rest if closed and not re.search(r"[{\[]", head.partition("<think>")[0]) else text
        start = min((at for at in map(text.find, "{[") if at >= 0), default=0)
        inner, before, after = text[start:], text[:start], ""
    end = max(inner.rfind("}"), inner.rfind("]")) + 1
    inner, after = inner[:end], inner[end:]
    # prose with a verdict of its own is a second answer, and which one is meant is unknown
    if _VERDICT.search(before) or _VERDICT.search(after):
        raise ValueError("there is a verdict beside the JSON")
    if before[-1:].isalnum() or after[:1].isalnum():
        raise ValueError("something is glued to the JSON")
    if "<think>" in before:
        raise ValueError("the thinking does not end")
    return inner


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Refuse a key that stands twice: `json` keeps the second, and planted text may have added it."""
    keys = dict(pairs)
    if len(keys) != len(pairs):
        raise ValueError("a key stands twice in one object")
    return keys


def _constant(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")
