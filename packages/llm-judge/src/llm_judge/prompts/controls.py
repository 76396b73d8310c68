"""A question whose answer is known to be no, put among the real ones.

A model that passes everything, or that planted text orders to pass everything, passes it, and its verdict
is void. A careful one answers `fail` or `unknown`; either is right, so that no right verdict is lost by it.
It is made of one of the case's own records and worded like its criteria.
"""

from __future__ import annotations

import hashlib
import json
import random
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from bench_core.records.judge import Criterion
from llm_judge.prompts.evidence_pack import EvidencePack
from llm_judge.prompts.keywords import spelled
from llm_judge.states.pointers import leaves, tokens

_ALPHABET = "23456789ABCDEFGHJKLMNPQRSTUVWXYZ"  # no 0 and O, no 1 and I: they look alike
TEMPLATES = (
    "one of the {things} in {app} has the {key} {value}.",
    "there is an entry among the {things} of {app} whose {key} is {value}.",
    "{app} holds, among its {things}, one with the {key} {value}.",
    "the {key} of an entry in the {things} of {app} is {value}.",
)
_FACT = "The agent's answer says this: {}"
_CODE = "The end state holds a record with the reference {code}."
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9 ]{1,30}")
_DAY = re.compile(r"\d{4}-\d{2}-\d{2}")
_PLAIN = re.compile(
    r"\d{1,6}(?:\.\d{1,2})?|\d{1,2}:\d{2}(?:\s?[AaPp][Mm])?|\d{4}-\d{2}-\d{2}(?:T[\d:.]+Z?)?"
)


@dataclass(frozen=True)
class Question:
    """What a model is asked, under a name that does not show whether it is a criterion or a control."""

    name: str
    text: str
    criterion: Criterion | None = None


def false_question(evidence: EvidencePack, seed: str, criteria: Sequence[Criterion] = ()) -> str:
    """Return a question that the evidence answers with no.

    It follows from the evidence, the criteria and `seed` alone, and carries no words that an agent may have
    written into the instructions, only the keys of a record and digits.
    """
    # from the evidence, too: who does not know all of it cannot foresee what is asked
    digest = hashlib.sha256(f"{seed}\n{evidence.text}".encode()).digest()
    rng = random.Random(digest)  # noqa: S311  # not cryptography
    plain = sorted(
        {
            found
            for line, about in zip(evidence.text.splitlines(), evidence.lines, strict=False)
            if about.kind in {"added", "present", "listed", "there"}
            for shown in [json.loads(line)]
            for pointer, value in leaves(shown.get("value"), str(shown.get("at")))
            if (found := _plain(pointer, value, about.app)) is not None
        }
    )
    if not plain:
        return _CODE.format(code="".join(rng.choices(_ALPHABET, k=8)))
    app, things, key, value = rng.choice(plain)
    for _ in range(1_000):
        other = _varied(value, rng)
        if other not in evidence.text:
            break
    text = rng.choice(TEMPLATES).format(app=app, things=things, key=key, value=other)
    if criteria and all(each.text.startswith("Verify") for each in criteria):
        return f"Verify that {text}"
    return f"{text[0].upper()}{text[1:]}"


def mix_questions(
    criteria: Sequence[Criterion], control: str | None, seed: str
) -> tuple[Question, ...]:
    """Return criteria and control as questions, in an order that does not show which is which.

    A criterion with facts about the answer is a question per fact.
    """
    items: list[tuple[str, str, Criterion | None]] = [
        (f"{each.id}\n{text}", text, each)
        for each in criteria
        for text in ([_FACT.format(fact) for fact in each.facts] or [each.text])
    ]
    items += [] if control is None else [(control, control, None)]
    items.sort(key=lambda item: hashlib.sha256(f"{seed}\n{item[0]}".encode()).hexdigest())
    return tuple(
        Question(f"q{number}", text, criterion)
        for number, (_, text, criterion) in enumerate(items, 1)
    )


def _varied(value: str, rng: random.Random) -> str:
    """Return another number, time or day of the same notation."""
    if _DAY.match(value):
        return f"{value[:5]}{rng.randrange(1, 13):02d}-{rng.randrange(1, 29):02d}{value[10:]}"
    if ":" in value:
        hour, _, rest = value.partition(":")
        return f"{rng.randrange(1, 12):0{len(hour)}d}:{rng.randrange(1, 60):02d}{rest[2:]}"
    return str(rng.randrange(2, 99_999))


def _plain(pointer: str, value: Any, app: str) -> tuple[str, str, str, str] | None:
    """Return app, collection, key and text of a number, time or day that stands directly in a record."""
    path = tokens(pointer) or []
    if isinstance(value, bool) or len(path) < 3 or path[-1].isdecimal():  # collection, element, key
        return None
    text = value if isinstance(value, str) else json.dumps(value)
    named = spelled(app) or "the state", spelled(path[-3]), spelled(path[-1])
    if (
        not path[-2].isdecimal()
        or not _PLAIN.fullmatch(text)
        or not all(map(_NAME.fullmatch, named))
    ):
        return None
    return (app or "the state", named[1], named[2], text)
