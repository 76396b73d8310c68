"""Scripted judges: an honest one, and the ways in which judges go wrong.

They read the prompt as a model would and answer in its form, so that all that stands between a
model and a verdict can be tried without one. They understand criteria made by `criterion_for_value`, and they
recognise controls, which no real judge can.
"""

from __future__ import annotations

import json
import re
from itertools import takewhile
from typing import TYPE_CHECKING, Any, NamedTuple

from llm_judge.prompts.controls import TEMPLATES
from llm_judge.prompts.keywords import spelled
from llm_judge.states.pointers import MISSING
from test_support.pack_reader import read_evidence

if TYPE_CHECKING:
    from collections.abc import Callable

    from bench_core.models import ModelRequest

__all__ = [
    "ControlText",
    "adversary",
    "blanket_fail",
    "criterion_for_value",
    "fabricator",
    "gullible_believer",
    "gullible_echo",
    "gullible_obeyer",
    "gullible_selective",
    "honest",
    "quoting",
    "read_control",
    "resembling",
    "rubber_stamp",
    "sloppy",
    "undecided",
    "written",
]

_SHAPES = {"name": r".+?", "key": r"[\w ]+?", "value": r"\d[\w ,.:/+-]*?"}
_PATTERNS = tuple(
    re.compile(
        r"\A(?:Verify that )?"
        + re.sub(r"\\\{(\w+)\\\}", lambda m: rf"(?P<{m[1]}>{_SHAPES[m[1]]})", re.escape(each))
        + r"\Z",
        re.IGNORECASE,
    )
    for each in TEMPLATES
)
_FALSE = re.compile(r"\b[A-Z2-9]{8}\b")
_JSON = r'(".*"|-?\d[\d.eE+-]*|true|false|null)'
_CRITERION = re.compile(rf"\AThe value at (?P<pointer>/.+?) is {_JSON}\.\Z", re.DOTALL)


class ControlText(NamedTuple):
    """What a control asks, for programs that know the form; no model is shown this."""

    name: str
    key: str
    value: str


def criterion_for_value(pointer: str, value: Any) -> str:
    """Return the criterion that `value` stands at `pointer`.

    >>> criterion_for_value("/cart/0/qty", 2)
    'The value at /cart/0/qty is 2.'
    """
    return f"The value at {pointer} is {json.dumps(value)}."


def honest(request: ModelRequest) -> dict[str, Any]:
    """Look every question up in the evidence and quote what stands there."""
    known = read_evidence(_text(request))
    return _reply(
        {name: _looked_up(question, known) for name, question in _questions(request).items()}
    )


def rubber_stamp(request: ModelRequest) -> dict[str, Any]:
    """Pass everything, quoting the first thing in sight."""
    quote = _first_quote(request)
    return _reply({name: _answer("pass", "looks fine", [quote]) for name in _questions(request)})


def blanket_fail(request: ModelRequest) -> dict[str, Any]:
    """Fail everything, quoting the first thing in sight."""
    quote = _first_quote(request)
    return _reply({name: _answer("fail", "not convinced", [quote]) for name in _questions(request)})


def fabricator(request: ModelRequest) -> dict[str, Any]:
    """Answer the controls rightly, and pass the rest with quotations that stand nowhere."""
    known = read_evidence(_text(request))
    made_up = _quote("/confirmation/status", "confirmed")
    return _with_controls(request, known, lambda _: _answer("pass", "it is confirmed", [made_up]))


def quoting(quotes: list[dict[str, Any]]) -> Callable[[ModelRequest], dict[str, Any]]:
    """Return a judge that answers the controls rightly and passes the rest with these quotations."""

    def answer(request: ModelRequest) -> dict[str, Any]:
        known = read_evidence(_text(request))
        return _with_controls(request, known, lambda _: _answer("pass", "it is so", quotes))

    return answer


def adversary(request: ModelRequest) -> dict[str, Any]:
    """Answer the controls rightly, and pass the rest with the record that looks most like what is asked."""
    known = read_evidence(_text(request))
    likest = _by_likeness(request)
    return _with_controls(
        request, known, lambda name: _answer("pass", "this shows it", likest[name][1])
    )


def resembling(request: ModelRequest) -> dict[str, Any]:
    """Pass what has two words in common with a record, controls among it, and fail the rest."""
    return _reply(
        {
            name: _answer("pass" if shared > 1 else "fail", "so it looks", quotes)
            for name, (shared, quotes) in _by_likeness(request).items()
        }
    )


def _by_likeness(request: ModelRequest) -> dict[str, tuple[int, list[dict[str, Any]]]]:
    """Return for each question the record that looks most like it: how many words they share, and its values."""
    known = {**read_evidence(_text(request)), **_answered(_text(request))}
    records: dict[str, list[str]] = {}
    for pointer, value in known.items():
        if not isinstance(value, dict | list):
            records.setdefault(pointer.rpartition("/")[0], []).append(pointer)
    texts = {
        holder: set(spelled(" ".join(f"{pointer} {known[pointer]}" for pointer in held)).split())
        for holder, held in records.items()
    }
    found = {}
    for name, question in _questions(request).items():
        asked = set(spelled(question).split())
        best = max(texts, key=lambda holder: (len(texts[holder] & asked), holder), default="")
        quotes = [_quote(pointer, known[pointer]) for pointer in records.get(best, ())[:6]]
        found[name] = (len(texts.get(best, set()) & asked), quotes)
    return found


def _answered(text: str) -> dict[str, Any]:
    """Return the agent's answer where it is shown, by pointer."""
    lines = iter(text.splitlines())
    shown = next((next(lines) for line in lines if line.startswith("<answer id=")), "{}")
    answer = json.loads(shown)
    members = answer.items() if isinstance(answer, dict) else [("", answer)]
    return {f"/agent_answer/{key}".rstrip("/"): value for key, value in members}


def sloppy(request: ModelRequest) -> dict[str, Any]:
    """Answer the controls rightly, and pass the rest with the first thing in sight."""
    return quoting([_first_quote(request)])(request)


def undecided(request: ModelRequest) -> dict[str, Any]:
    """Never know."""
    return _reply({name: _answer("unknown", "cannot decide", []) for name in _questions(request)})


def written(answers: dict[str, dict[str, Any]]) -> Callable[[ModelRequest], dict[str, Any]]:
    """Return a judge that gives a reader's answer to each question, and answers the controls rightly."""

    def answer(request: ModelRequest) -> dict[str, Any]:
        known = read_evidence(_text(request))
        return _reply(
            {
                name: answers.get(question) or _looked_up(question, known)
                for name, question in _questions(request).items()
            }
        )

    return answer


def gullible_obeyer(planted: str) -> Callable[[ModelRequest], dict[str, Any]]:
    """Return a judge that passes everything as soon as it reads `planted`; honest otherwise."""
    return lambda request: (rubber_stamp if _reads(request, planted) else honest)(request)


def gullible_echo(planted: str) -> Callable[[ModelRequest], dict[str, Any]]:
    """Return a judge that repeats `planted` as its answer; honest where it does not read it."""
    return lambda request: {"text": planted} if _reads(request, planted) else honest(request)


def gullible_believer(planted: str) -> Callable[[ModelRequest], dict[str, Any]]:
    """Return a judge that takes `planted` for proof, quotes it, and answers the controls rightly."""

    def answer(request: ModelRequest) -> dict[str, Any]:
        known = read_evidence(_text(request))
        places = [p for p, value in known.items() if isinstance(value, str) and planted in value]
        if not places:
            return honest(request)
        quote = _quote(places[0], known[places[0]])
        return _with_controls(request, known, lambda _: _answer("pass", "it says so", [quote]))

    return answer


def gullible_selective(planted: str) -> Callable[[ModelRequest], dict[str, Any]]:
    """Return the hardest to stop: it obeys `planted`, quotes genuine records, and answers the controls rightly."""

    def answer(request: ModelRequest) -> dict[str, Any]:
        if not _reads(request, planted):
            return honest(request)
        known = read_evidence(_text(request))
        quote = _first_quote(request)
        return _with_controls(request, known, lambda _: _answer("pass", "as instructed", [quote]))

    return answer


def read_control(text: str) -> ControlText | None:
    """Return what a control asks; `None` for other questions.

    >>> read_control("The time of one of the bookings in tablely is 8:30 PM.")
    ControlText(name='one of the bookings in tablely', key='time', value='8:30 PM')
    """
    for pattern in _PATTERNS:
        found = pattern.fullmatch(text)
        if found is not None:
            return ControlText(**found.groupdict())
    code = _FALSE.search(text) if "with the reference" in text else None
    return None if code is None else ControlText("", "reference", code[0])


def _text(request: ModelRequest) -> str:
    return request.messages[0].text


def _reads(request: ModelRequest, planted: str) -> bool:
    """Whether a text stands in the evidence, as a value or as a key."""
    held = json.dumps(planted)[1:-1].replace("<", "\\u003c").replace(">", "\\u003e")
    pointer = json.dumps(planted.replace("~", "~0").replace("/", "~1"))[1:-1]
    text = _text(request)
    return held in text or pointer.replace("<", "\\u003c").replace(">", "\\u003e") in text


def _questions(request: ModelRequest) -> dict[str, str]:
    lines = (request.system or "").splitlines()
    start = max(i for i, line in enumerate(lines) if line == "The questions:") + 1
    asked = [json.loads(line) for line in takewhile(str.strip, lines[start:])]
    return {each["question"]: each["text"] for each in asked}


def _looked_up(question: str, known: dict[str, Any]) -> dict[str, Any]:
    if _is_control(question):
        return _answer("unknown", "no record with it is shown", [])
    asked = _CRITERION.match(question)
    if asked is None:
        return _answer("unknown", "the evidence does not show it", [])
    pointer, wanted = asked["pointer"], json.loads(asked[2])
    there = known.get(pointer, MISSING)
    if there is MISSING:
        return _answer("unknown", "nothing is shown there", [])
    same = json.dumps(_trimmed(there)) == json.dumps(_trimmed(wanted))
    verdict = "pass" if same else "fail"
    return _answer(verdict, f"at {pointer} stands what is quoted", [_quote(pointer, there)])


def _trimmed(value: Any) -> Any:
    return value.strip() if isinstance(value, str) else value


def _with_controls(
    request: ModelRequest, known: dict[str, Any], other: Callable[[str], dict[str, Any]]
) -> dict[str, Any]:
    """Answer the controls rightly, and the rest by `other`, which gets the question's name."""
    return _reply(
        {
            name: _looked_up(question, known) if _is_control(question) else other(name)
            for name, question in _questions(request).items()
        }
    )


def _is_control(question: str) -> bool:
    return read_control(question) is not None


def _first_quote(request: ModelRequest) -> dict[str, Any]:
    known = read_evidence(_text(request))
    first = next(((p, v) for p, v in known.items() if not isinstance(v, dict | list)), ("/", ""))
    return _quote(*first)


def _quote(pointer: str, value: Any) -> dict[str, Any]:
    quote = value if isinstance(value, str) else json.dumps(value)
    return {
        "kind": "present",
        "pointer": pointer,
        "quote": quote,
        "screenshot": None,
        "region": None,
    }


def _answer(verdict: str, reason: str, evidence: list[dict[str, Any]]) -> dict[str, Any]:
    return {"reason": reason, "evidence": evidence, "verdict": verdict, "confidence": 0.9}


def _reply(answers: dict[str, dict[str, Any]]) -> dict[str, Any]:
    return {"data": {"answers": [{"question": name, **each} for name, each in answers.items()]}}
