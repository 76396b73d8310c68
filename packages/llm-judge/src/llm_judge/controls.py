"""Questions whose answers are known, put among the real ones.

A model that passes everything, or that a planted text tells to pass everything, passes the one that
is false; one that fails everything fails the one that is true. Either way its verdict is void.
"""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from llm_judge.pointers import leaves

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from bench_core.judging import Criterion
    from llm_judge.packing import EvidencePack

__all__ = ["Control", "Question", "ask", "controls_for"]

_ALPHABET = "23456789ABCDEFGHJKLMNPQRSTUVWXYZ"
_SHORTEST, _LONGEST, _SHOWN = 4, 60, 3
_PLAIN_POINTER = re.compile(r"(?:/[\w.-]{1,40})+", re.ASCII)


@dataclass(frozen=True)
class Control:
    """A question with a known answer; `pointer` is where the true one's evidence stands."""

    text: str
    holds: bool
    pointer: str | None = None
    quote: str | None = None


@dataclass(frozen=True)
class Question:
    """What a model is asked: a criterion or a control, under a name that does not tell which."""

    name: str
    text: str
    criterion: Criterion | None = None
    control: Control | None = None


def controls_for(evidence: EvidencePack, seed: str) -> tuple[Control, ...]:
    """Return one control that is false and, if the evidence holds a plain value, one that is true.

    Both follow from the evidence and `seed` alone: the same case gets the same questions.
    """
    digest = hashlib.sha256(f"{seed}\n{evidence.text}".encode()).digest()
    code = "".join(_ALPHABET[byte % len(_ALPHABET)] for byte in digest[:8])
    false = Control(f"The end state holds a record with the reference {code}.", holds=False)
    plain = sorted(set(_plain_values(evidence)))
    if not plain:
        return (false,)
    pointer, quote = plain[int.from_bytes(digest[8:16], "big") % len(plain)]
    # only three letters of it: the instructions must not carry what an agent may have written
    text = f"In the end state, the value at {pointer} begins with {json.dumps(quote[:_SHOWN])}."
    return (false, Control(text, holds=True, pointer=pointer, quote=quote))


def ask(
    criteria: Sequence[Criterion], controls: Sequence[Control], seed: str
) -> tuple[Question, ...]:
    """Return criteria and controls as questions in an order that tells nothing."""
    items: list[tuple[Criterion | None, Control | None]] = [
        *((each, None) for each in criteria),
        *((None, each) for each in controls),
    ]
    keyed = sorted(items, key=lambda item: _key(item, seed))
    return tuple(
        Question(f"q{number}", criterion.text if criterion else control.text, criterion, control)  # type: ignore[union-attr]  # one of the two is there
        for number, (criterion, control) in enumerate(keyed, 1)
    )


def _key(item: tuple[Criterion | None, Control | None], seed: str) -> str:
    criterion, control = item
    text = f"{criterion.id}\n{criterion.text}" if criterion else control.text if control else ""
    return hashlib.sha256(f"{seed}\n{text}".encode()).hexdigest()


def _plain_values(evidence: EvidencePack) -> Iterator[tuple[str, str]]:
    for line, about in zip(evidence.text.splitlines(), evidence.lines, strict=False):
        if about.kind in {"added", "present", "listed"}:
            shown: dict[str, Any] = json.loads(line)
            for pointer, value in leaves(shown.get("value"), shown["at"]):
                if (
                    isinstance(value, str)
                    and _is_plain(value)
                    and _PLAIN_POINTER.fullmatch(pointer)
                ):
                    yield pointer, value


def _is_plain(value: str) -> bool:
    fits = _SHORTEST <= len(value) <= _LONGEST
    return fits and value.isascii() and value.isprintable() and '"' not in value
