"""Replies that must never pass: broken, contradicting, unproven, oversized, streamed; drawn by seed."""

from __future__ import annotations

import json
import string
from typing import TYPE_CHECKING, Any

from llm_judge.prompts.answers import MalformedReplyError, read_answers
from llm_judge.verdicts.verdict_rules import decide_criterion, failed_controls, overall_outcome
from test_support.scripted_judges import honest

if TYPE_CHECKING:
    import random
    from collections.abc import Callable, Iterator

    from llm_judge.prepared_case import PreparedCase
    from llm_judge.prompts.controls import Question

__all__ = ["hostile_replies", "outcome_of_reply", "passing_reply"]

_HALF = 0.5


def passing_reply(prepared: PreparedCase) -> dict[str, Any]:
    """Return the reply of an honest model, from which hostile ones are made."""
    reply: dict[str, Any] = honest(prepared.prompt.request(1_000))["data"]
    return reply


def outcome_of_reply(prepared: PreparedCase, text: str) -> str:
    """Return what the judge makes of a reply, without the model call around it."""
    questions = prepared.prompt.questions
    try:
        answers = read_answers(text, [each.name for each in questions])
    except MalformedReplyError:
        return "error"
    wrong = failed_controls(questions, answers)
    asked: list[Question] = [each for each in questions if each.criterion is not None]
    return overall_outcome(
        [decide_criterion(prepared.context, each, answers[each.name], "m") for each in asked], wrong
    )


def hostile_replies(good: dict[str, Any], rng: random.Random) -> Iterator[str]:
    """Yield replies that must not pass, one of each kind in turn."""
    text = json.dumps(good)
    kinds: list[Callable[[], str]] = [
        lambda: text[: rng.randrange(len(text))],
        lambda: text[rng.randrange(1, len(text)) :],
        lambda: "".join(rng.choices(string.printable, k=rng.randrange(300))),
        lambda: f"{rng.choice(['PASS', 'PASS. ', 'verdict: pass ', '<think>', 'So'])}{text}",
        lambda: f"{text}{rng.choice([text, ' PASS', '}', ']', 'x'])}",
        lambda: _structural(good, rng),
        lambda: _wrong_types(good, rng),
        lambda: _contradicting(good, rng),
        lambda: _unproven(good, rng),
        lambda: "[" * rng.randrange(1, 3_000) + text,
        lambda: json.dumps({"answers": good}) if rng.random() < _HALF else json.dumps([good]),
        lambda: text.replace('"verdict"', '"Verdict"', rng.randrange(1, 3)),
        lambda: _streamed(text, rng),
        lambda: _oversized(text, rng),
    ]
    while True:
        for kind in kinds:
            yield kind()


def _streamed(text: str, rng: random.Random) -> str:
    """A stream that a proxy passed on as it came, perhaps cut, perhaps sent twice."""
    size = rng.randrange(5, 200)
    pieces = [text[at : at + size] for at in range(0, len(text), size)]
    events = [f"data: {json.dumps({'delta': each})}\n\n" for each in pieces]
    if rng.random() < _HALF:
        return "".join(events[: rng.randrange(1, len(events) + 1)])
    return "".join([*pieces[: rng.randrange(1, len(pieces) + 1)], *pieces])


def _oversized(text: str, rng: random.Random) -> str:
    """More than any answer holds, around or inside it."""
    padding = rng.choice([" ", "\n", "x", "[", "\u00e9"]) * rng.choice([1_000_000, 1_500_000])
    return rng.choice([padding + text, text + padding, text[:-1] + padding + text[-1:]])


def _structural(good: dict[str, Any], rng: random.Random) -> str:
    reply = json.loads(json.dumps(good))
    answers = reply["answers"]
    change = rng.choice(("fewer", "more", "renamed", "cut"))
    if change == "fewer":
        answers.pop(rng.randrange(len(answers)))
    elif change == "more":
        answers.append(rng.choice(answers))
    elif change == "renamed":
        rng.choice(answers)["question"] = rng.choice(["q99", "", "Q1", "time"])
    else:
        answer = rng.choice(answers)
        del answer[rng.choice(list(answer))]
    return json.dumps(reply)


def _wrong_types(good: dict[str, Any], rng: random.Random) -> str:
    reply = json.loads(json.dumps(good))
    answer = rng.choice(reply["answers"])
    wrong: dict[str, list[Any]] = {
        "question": [1, None, ["q1"]],
        "reason": [1, None, ["r"], {}],
        "evidence": [None, "x", {}, [1], ["x"], [{}], [[]]],
        "verdict": [
            "success",
            "pass or fail",
            1,
            True,
            None,
            ["pass"],
            {"verdict": "pass"},
        ],
        "confidence": ["high", "9", 9, -1, None, [], True],
    }
    key = rng.choice(list(wrong))
    answer[key] = rng.choice(wrong[key])
    return json.dumps(reply)


def _contradicting(good: dict[str, Any], rng: random.Random) -> str:
    reply = json.loads(json.dumps(good))
    passed = [each for each in reply["answers"] if each["verdict"] == "pass"]
    answer = rng.choice(passed)
    change = rng.choice(("doubtful", "otherwise", "silent", "all"))
    if change == "doubtful":
        answer["confidence"] = rng.uniform(0, 0.49)
    elif change == "otherwise":
        answer["reason"] = rng.choice(["Verdict: fail", "my verdict is unknown", "result = FAIL"])
    elif change == "silent":
        answer["reason"] = " " * rng.randrange(3)
    else:
        for each in reply["answers"]:
            each["verdict"] = "pass"
    return json.dumps(reply)


def _unproven(good: dict[str, Any], rng: random.Random) -> str:
    reply = json.loads(json.dumps(good))
    answer = rng.choice([each for each in reply["answers"] if each["evidence"]])
    evidence = rng.choice(answer["evidence"])
    change = rng.choice(("nothing", "elsewhere", "misquoted", "picture"))
    if change == "nothing":
        answer["evidence"] = []
    elif change == "elsewhere":
        evidence["pointer"] = rng.choice(["/x", "x", None, "/tablely/finalstate/bookings/9/time"])
    elif change == "misquoted":
        evidence["quote"] = rng.choice([None, "", evidence["quote"] + "x", "confirmed!"])
    else:
        evidence["screenshot"] = "s1"
    return json.dumps(reply)
