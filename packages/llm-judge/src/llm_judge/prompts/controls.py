"""Questions whose answers are known, put among the real ones.

A model that passes everything, or that planted text orders to pass everything, passes the one that
is false; one that fails everything fails the one that is true. Either way its verdict is void. They
are made of the case's own records and worded like its criteria, so that they do not stand out.
"""

from __future__ import annotations

import hashlib
import json
import random
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from llm_judge.evidence.provenance import is_free_text
from llm_judge.language.values import CLOCK, MOMENT, SLASHED, words
from llm_judge.states.locations import INTERFACE, STRUCTURE, is_id_key
from llm_judge.states.pointers import leaves, tokens

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bench_core.records.judge import Criterion
    from llm_judge.prompts.evidence_pack import EvidencePack

_ALPHABET = "23456789ABCDEFGHJKLMNPQRSTUVWXYZ"  # no 0 and O, no 1 and I: they look alike
TEMPLATES = (
    "one of the {things} in {app} has the {key} {value}.",
    "there is an entry among the {things} of {app} whose {key} is {value}.",
    "{app} holds, among its {things}, one with the {key} {value}.",
    "the {key} of an entry in the {things} of {app} is {value}.",
)
_TOO_PLAIN = frozenset({"0", "1"})  # in most records: a pass would show no look-up
_ELEMENT = re.compile(r"\d+|(?=[\w-]*\d)[\w-]{6,}", re.ASCII)
_NUMBER = re.compile(r"\d{1,6}(?:\.\d{1,2})?")
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9 ]{1,30}")


class _PlainValue(NamedTuple):
    pointer: str
    app: str
    things: str
    key: str
    value: str


@dataclass(frozen=True)
class ControlQuestion:
    """A question with a known answer; `pointer` is where the true one's evidence stands."""

    text: str
    holds: bool
    pointer: str | None = None
    quote: str | None = None


@dataclass(frozen=True)
class Question:
    """What a model is asked: a criterion or a control, under a name that does not show which."""

    name: str
    text: str
    criterion: Criterion | None = None
    control: ControlQuestion | None = None


def controls_for(
    evidence: EvidencePack, seed: str, criteria: Sequence[Criterion] = ()
) -> tuple[ControlQuestion, ...]:
    """Return one control that is false and, if the evidence holds a plain value, one that is true.

    Both follow from the evidence, the criteria and `seed` alone. They carry only times, days and
    numbers of the evidence into the instructions, never words that an agent may have written.
    """
    # from the evidence, too: who does not know all of it cannot foresee what is asked
    digest = hashlib.sha256(f"{seed}\n{evidence.text}".encode()).digest()
    rng = random.Random(digest)  # noqa: S311  # not cryptography
    asked = " ".join(each.text for each in criteria)
    verify = bool(criteria) and all(each.text.startswith("Verify") for each in criteria)
    values = [
        _plain(pointer, value, about.app)
        for line, about in zip(evidence.text.splitlines(), evidence.lines, strict=False)
        if about.kind in {"added", "present", "listed"}
        for shown in [json.loads(line)]
        for pointer, value in leaves(shown.get("value"), shown["at"])
    ]
    plain = sorted({each for each in values if each is not None})
    if not plain:
        code = "".join(rng.choices(_ALPHABET, k=8))
        return (
            ControlQuestion(
                f"The end state holds a record with the reference {code}.", holds=False
            ),
        )
    # about an app that the criteria name, so that the false one does not stand out
    named = [each for each in plain if each.app.lower() in asked.lower()] or plain
    true, other = rng.choice(plain), rng.choice(named)
    false = _another(other.value, evidence.text, rng)
    return (
        ControlQuestion(_worded(other, false, rng, verify=verify), holds=False),
        ControlQuestion(
            _worded(true, true.value, rng, verify=verify),
            holds=True,
            pointer=true.pointer,
            quote=true.value,
        ),
    )


def mix_questions(
    criteria: Sequence[Criterion], controls: Sequence[ControlQuestion], seed: str
) -> tuple[Question, ...]:
    """Return criteria and controls as questions, in an order that does not show which is which."""
    items: list[tuple[str, str, Criterion | None, ControlQuestion | None]] = [
        *((f"{each.id}\n{each.text}", each.text, each, None) for each in criteria),
        *((each.text, each.text, None, each) for each in controls),
    ]
    items.sort(key=lambda item: hashlib.sha256(f"{seed}\n{item[0]}".encode()).hexdigest())
    return tuple(
        Question(f"q{number}", text, criterion, control)
        for number, (_, text, criterion, control) in enumerate(items, 1)
    )


def _worded(about: _PlainValue, value: str, rng: random.Random, *, verify: bool) -> str:
    text = rng.choice(TEMPLATES).format(
        app=about.app, things=about.things, key=about.key, value=value
    )
    return f"Verify that {text}" if verify else f"{text[0].upper()}{text[1:]}"


def _another(value: str, shown: str, rng: random.Random) -> str:
    """Return a value of the same kind that stands nowhere in the evidence."""
    for _ in range(1_000):
        other = _varied(value, rng)
        if other != value and other not in shown:
            break
    return other


def _varied(value: str, rng: random.Random) -> str:
    if CLOCK.fullmatch(value):
        minute = rng.randrange(1, 60)
        half = re.search(r"\s*[ap]\.?m\.?\Z", value, re.IGNORECASE)
        return (
            f"{rng.randrange(1, 12)}:{minute:02d}{half[0]}"
            if half
            else f"{rng.randrange(24):02d}:{minute:02d}"
        )
    if MOMENT.fullmatch(value):
        return f"{value[:4]}-{rng.randrange(1, 13):02d}-{rng.randrange(1, 29):02d}{value[10:]}"
    if SLASHED.fullmatch(value):
        return f"{rng.randrange(1, 13)}/{rng.randrange(1, 29)}{value[value.rindex('/') :]}"
    return str(rng.randrange(2, 99_999))


def _plain(pointer: str, value: Any, app: str) -> _PlainValue | None:
    """Return a time, day or number that stands directly in a record of a collection."""
    path = tokens(pointer) or [""]
    key = path[-1]
    if isinstance(value, bool) or key.isdecimal() or is_id_key(key) or is_free_text(key):
        return None
    text = value if isinstance(value, str) else json.dumps(value)
    if text in _TOO_PLAIN or not any(
        each.fullmatch(text) for each in (CLOCK, MOMENT, SLASHED, _NUMBER)
    ):
        return None
    holders = [
        each for each in path[:-2] if not each.isdecimal() and each not in STRUCTURE and each != app
    ]
    things = " ".join(words(holders[-1])) if holders else ""
    if not (_ELEMENT.fullmatch(path[-2]) if len(path) > 1 else None) or INTERFACE & set(
        words(pointer)
    ):
        return None
    named = " ".join(words(key))
    plain = all(_NAME.fullmatch(each) for each in (things, named, app or "the state"))
    return _PlainValue(pointer, app or "the state", things, named, text) if plain else None
