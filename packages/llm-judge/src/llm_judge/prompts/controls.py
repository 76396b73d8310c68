"""A question whose answer is known to be no, put among the real ones.

A model that passes everything, or that planted text orders to pass everything, passes it, and its verdict
is void. A careful one answers `fail` or `unknown`; either is right, so no right verdict is lost by it. The question
is about a thing that the criteria or the goal name, with a value in its record's notation. It is always in English,
so it stands out among German criteria.
"""

from __future__ import annotations

import hashlib
import json
import random
import re
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from bench_core.records.judge import Criterion
from bench_core.seeded import seeded
from llm_judge.prompts.evidence_pack import EvidencePack
from llm_judge.prompts.keywords import spelled
from llm_judge.states.changes import ID_KEYS
from llm_judge.states.pointers import leaves, tokens

_ALPHABET = "23456789ABCDEFGHJKLMNPQRSTUVWXYZ"  # no 0 and O, no 1 and I: they look alike
TEMPLATES = (
    "the {key} of {name} is {value}.",
    "the {key} shown for {name} is {value}.",
    "for {name}, the {key} is {value}.",
)
_NAMELESS = "one of the {things} in {app}"
_FACT = "The agent's answer says this: {}"
_CODE = "The end state holds a record with the reference {code}."
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9 ]{1,30}")
_LEAST_NAME, _LONGEST_NAME = 3, 60
_NEAR = 50  # tries before a number may be much larger
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


def false_question(
    evidence: EvidencePack, seed: str, criteria: Sequence[Criterion] = (), goal: str = ""
) -> str:
    """Return a question that the evidence answers with no.

    It depends only on the evidence, the criteria, the goal and `seed`, and brings no words of the agent into the
    instructions: only names from the criteria or the goal, keys of a record, and digits.
    """
    # the evidence is part of the seed: without knowing all of it, no one can foresee the question
    digest = hashlib.sha256(f"{seed}\n{evidence.text}".encode()).digest()
    rng = seeded(digest)
    told = "\n".join([goal, *(each.text for each in criteria)])
    plain = _said_of_records(evidence, told)
    if not plain:
        return _CODE.format(code="".join(rng.choices(_ALPHABET, k=8)))
    name, key, value = rng.choice(plain)
    other = next(
        (other for n in range(1_000) if (other := _varied(value, rng, n)) not in evidence.text),
        _varied(value, rng, 1_000),
    )
    text = rng.choice(TEMPLATES).format(name=name, key=key, value=other)
    if criteria and all(each.text.startswith("Verify") for each in criteria):
        return f"Verify that {text}"
    return f"{text[0].upper()}{text[1:]}"


def mix_questions(
    criteria: Sequence[Criterion], control: str | None, seed: str
) -> tuple[Question, ...]:
    """Return criteria and control as questions, in an order that does not show which is the control.

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


def _said_of_records(evidence: EvidencePack, told: str) -> list[tuple[str, str, str]]:
    """Return name, key and text of numbers, times and days in records that `told` names, or else in any of a collection."""
    named: set[tuple[str, str, str]] = set()
    nameless: set[tuple[str, str, str]] = set()
    for line, about in zip(evidence.text.splitlines(), evidence.lines, strict=False):
        if about.kind not in {"added", "present", "listed", "there"}:
            continue
        shown = json.loads(line)
        records: dict[str, dict[str, Any]] = defaultdict(dict)
        for pointer, value in leaves(shown.get("value"), str(shown.get("at"))):
            holder, _, key = pointer.rpartition("/")
            records[holder][key] = value
        for pointer, record in records.items():
            things = _things(pointer, about.app)
            names = [each for each in record.values() if _is_named(each, told)]
            for key, value in record.items():
                text = value if isinstance(value, str) else json.dumps(value)
                if _PLAIN.fullmatch(text) and _NAME.fullmatch(spelled(key)):
                    # no criterion would ask for the identifier of a thing that it names
                    if key not in ID_KEYS:
                        named.update((name, spelled(key), text) for name in names)
                    if things:
                        nameless.add((things, spelled(key), text))
    return sorted(named or nameless)


def _varied(value: str, rng: random.Random, tries: int) -> str:
    """Return another number, time or day of the same notation; a number about as large, if there is one."""
    if _DAY.match(value):
        return f"{value[:5]}{rng.randrange(1, 13):02d}-{rng.randrange(1, 29):02d}{value[10:]}"
    if ":" in value:
        hour, _, rest = value.partition(":")
        return f"{rng.randrange(1, 12):0{len(hour)}d}:{rng.randrange(1, 60):02d}{rest[2:]}"
    whole, dot, part = value.partition(".")
    most = 2 * int(whole) + 9 + (10 * tries if tries > _NEAR else 0)
    return f"{rng.randrange(int(whole) // 2, most)}{dot}{part}"


def _is_named(value: Any, told: str) -> bool:
    """Whether a record's text occurs in the criteria or the goal as a name."""
    return (
        isinstance(value, str)
        and _LEAST_NAME <= len(value) <= _LONGEST_NAME
        and not _PLAIN.fullmatch(value)
        and value[:1].isupper()
        and re.search(rf"(?<!\w){re.escape(value)}(?!\w)", told) is not None
    )


def _things(pointer: str, app: str) -> str:
    """Return a record's place in a collection in words; empty if its keys are not plain names."""
    path = tokens(pointer) or []
    if len(path) < 2 or not path[-1].isdecimal():
        return ""
    named = spelled(app) or "the state", spelled(path[-2])
    return (
        _NAMELESS.format(things=named[1], app=app or named[0])
        if all(map(_NAME.fullmatch, named))
        else ""
    )
