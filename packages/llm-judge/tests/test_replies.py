from __future__ import annotations

import asyncio
import json
import random
import string
from typing import TYPE_CHECKING, Any

import pytest

from bench_core.models import Model, ScriptedAdapter
from llm_judge import Judge, prepare
from llm_judge.personas import honest
from llm_judge.replies import MalformedReplyError, read_answers
from llm_judge.settling import failed_controls, outcome_of, settle

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from bench_core.judging import JudgeCase
    from llm_judge.briefing import Brief
    from llm_judge.controls import Question

GOOD: dict[str, Any] = {
    "question": "q1",
    "reason": "it is there",
    "evidence": [],
    "verdict": "pass",
    "confidence": 0.9,
}


def reply(**changes: Any) -> str:
    return json.dumps({"answers": [{**GOOD, **changes}]})


def test_a_reply_in_form_is_read() -> None:
    assert read_answers(reply(), ["q1"])["q1"].verdict == "pass"
    assert read_answers(f"```json\n{reply()}\n```", ["q1"])["q1"].verdict == "pass"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "PASS",
        "SUCCESS",
        "UNSUCCESSFUL",
        "The verdict is pass.",
        f"Sure! {reply()}",
        f"{reply()}\n{reply()}",
        reply()[:-1],
        reply(verdict="PASS"),
        reply(verdict="passed"),
        reply(verdict=True),
        reply(verdict=None),
        reply(verdict=["pass"]),
        reply(confidence=95),
        reply(confidence="0.9"),
        reply(confidence=True),
        reply(confidence=None),
        reply(evidence=None),
        reply(evidence={}),
        reply(evidence=["quote"]),
        reply(question="q2"),
        reply(overall_pass=True),
        json.dumps({"answers": []}),
        json.dumps({"answers": [GOOD, GOOD]}),
        json.dumps({"answers": [GOOD, {**GOOD, "verdict": "fail"}]}),
        json.dumps({"answers": [GOOD], "overall_pass": True}),
        json.dumps([GOOD]),
        json.dumps({"answers": {"q1": GOOD}}),
        '{"answers":[{"question":"q1","reason":"r","evidence":[],"verdict":"fail","verdict":"pass","confidence":1}]}',
        '{"answers":[{"question":"q1","reason":"r","evidence":[],"verdict":"pass","confidence":NaN}]}',
        reply(reason="\ud800"),
        "[" * 200_000,
        "9" * 10_000,
        '{"verdict": "pass", "confidence": 1.0}',
        "null",
    ],
)
def test_a_reply_that_is_not_in_form_is_no_verdict(text: str) -> None:
    with pytest.raises(MalformedReplyError):
        read_answers(text, ["q1"])


def passing(brief: Brief) -> dict[str, Any]:
    """The reply by which the sample passes."""
    reply = honest(brief.prompt.request(1_000))["data"]
    assert isinstance(reply, dict)
    return reply


def hostile_replies(good: dict[str, Any], rng: random.Random) -> Iterator[str]:
    """Yield replies that must not pass, one of each kind in turn."""
    text = json.dumps(good)
    kinds: list[Callable[[], str]] = [
        lambda: text[: rng.randrange(len(text))],
        lambda: text[rng.randrange(1, len(text)) :],
        lambda: "".join(rng.choices(string.printable, k=rng.randrange(300))),
        lambda: f"{rng.choice(['PASS', 'Sure: ', 'verdict: pass', '<think>'])}{text}",
        lambda: f"{text}{rng.choice([text, ' PASS', '}', ']', 'x'])}",
        lambda: _structural(good, rng),
        lambda: _wrong_types(good, rng),
        lambda: _contradicting(good, rng),
        lambda: _unproven(good, rng),
        lambda: "[" * rng.randrange(1, 3_000) + text,
        lambda: json.dumps({"answers": good}) if rng.random() < 0.5 else json.dumps([good]),
        lambda: text.replace('"verdict"', '"Verdict"', rng.randrange(1, 3)),
    ]
    while True:
        for kind in kinds:
            yield kind()


def _structural(good: dict[str, Any], rng: random.Random) -> str:
    reply = json.loads(json.dumps(good))
    answers = reply["answers"]
    change = rng.randrange(5)
    if change == 0:
        answers.pop(rng.randrange(len(answers)))
    elif change == 1:
        answers.append(rng.choice(answers))
    elif change == 2:
        rng.choice(answers)["question"] = rng.choice(["q99", "", "Q1", "time"])
    elif change == 3:
        answer = rng.choice(answers)
        del answer[rng.choice(list(answer))]
    else:
        rng.choice([reply, *answers])[rng.choice(["overall_pass", "pass", "ok"])] = True
    return json.dumps(reply)


def _wrong_types(good: dict[str, Any], rng: random.Random) -> str:
    reply = json.loads(json.dumps(good))
    answer = rng.choice(reply["answers"])
    wrong = {
        "question": [1, None, ["q1"]],
        "reason": [1, None, ["r"], {}],
        "evidence": [None, "x", {}, [1], ["x"], [{}], [[]]],
        "verdict": [
            "PASS",
            "Pass",
            "success",
            1,
            True,
            None,
            ["pass"],
            {"verdict": "pass"},
            "pass ",
        ],
        "confidence": ["0.9", 9, -1, None, [], True],
    }
    key = rng.choice(list(wrong))
    answer[key] = rng.choice(wrong[key])
    return json.dumps(reply)


def _contradicting(good: dict[str, Any], rng: random.Random) -> str:
    reply = json.loads(json.dumps(good))
    passed = [each for each in reply["answers"] if each["verdict"] == "pass"]
    answer = rng.choice(passed)
    change = rng.randrange(4)
    if change == 0:
        answer["confidence"] = rng.uniform(0, 0.49)
    elif change == 1:
        answer["reason"] = rng.choice(["Verdict: fail", "my verdict is unknown", "result = FAIL"])
    elif change == 2:
        answer["reason"] = " " * rng.randrange(3)
    else:
        for each in reply["answers"]:
            each["verdict"] = "pass"
    return json.dumps(reply)


def _unproven(good: dict[str, Any], rng: random.Random) -> str:
    reply = json.loads(json.dumps(good))
    answer = rng.choice([each for each in reply["answers"] if each["evidence"]])
    evidence = rng.choice(answer["evidence"])
    change = rng.randrange(4)
    if change == 0:
        answer["evidence"] = []
    elif change == 1:
        evidence["pointer"] = rng.choice(["/x", "x", None, "/tablely/finalstate/bookings/9/time"])
    elif change == 2:
        evidence["quote"] = rng.choice([None, "", evidence["quote"] + "x", "confirmed!"])
    else:
        evidence["screenshot"] = "s1"
    return json.dumps(reply)


def verdict_of(brief: Brief, text: str) -> str:
    """What the judge makes of a reply, without the model call around it."""
    questions = brief.prompt.questions
    try:
        answers = read_answers(text, [each.name for each in questions])
    except MalformedReplyError:
        return "error"
    wrong = failed_controls(brief.court, questions, answers)
    asked: list[Question] = [each for each in questions if each.criterion is not None]
    return outcome_of([settle(brief.court, each, answers[each.name], "m") for each in asked], wrong)


def test_the_reply_that_the_fuzzing_starts_from_passes(case: JudgeCase) -> None:
    brief = prepare(case)
    assert verdict_of(brief, json.dumps(passing(brief))) == "pass"


@pytest.mark.parametrize("count", [10_000, pytest.param(100_000, marks=pytest.mark.slow)])
def test_no_hostile_reply_passes_or_raises(case: JudgeCase, count: int) -> None:
    brief = prepare(case)
    replies = hostile_replies(passing(brief), random.Random(count))  # noqa: S311  # not cryptography
    found = {"pass": 0}
    for _ in range(count):
        text = next(replies)
        outcome = verdict_of(brief, text)
        assert outcome != "pass", text
        found[outcome] = found.get(outcome, 0) + 1
    assert found["pass"] == 0
    assert found["error"] > count / 2
    assert found["abstain"] > count / 20
    assert found["void"] > count / 100


def test_a_hostile_reply_becomes_an_error_or_an_abstention(case: JudgeCase) -> None:
    brief = prepare(case)
    replies = hostile_replies(passing(brief), random.Random(5))  # noqa: S311  # not cryptography
    for _ in range(120):
        text = next(replies)
        judge = Judge(Model(ScriptedAdapter(lambda _, text=text: text)))
        verdict = asyncio.run(judge.judge(case))
        assert verdict.outcome in {"error", "abstain", "void"}
        assert verdict.passed is None
        assert verdict.model_dump_json()
