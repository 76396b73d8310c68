from __future__ import annotations

import asyncio
import json
import random
from typing import TYPE_CHECKING, Any

import pytest
from test_support.hostile_replies import hostile_replies, outcome_of_reply, passing_reply

from bench_core.models import Model, ScriptedAdapter
from llm_judge import Judge, prepare
from llm_judge.prompts.answers import MalformedReplyError, read_answers

if TYPE_CHECKING:
    from bench_core.records.judge import JudgeCase

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
        f"PASS. {reply()}",
        f"{reply()} FAIL",
        f"My verdict is pass. {reply()}",
        f"<think>passing {reply()}",
        f"x{reply()}",
        f"{reply()}]",
        reply(confidence="95"),
        f"{reply()}\n{reply()}",
        reply()[:-1],
        reply(verdict="passed"),
        reply(verdict=True),
        reply(verdict=None),
        reply(verdict=["pass"]),
        reply(confidence=95),
        reply(confidence=True),
        reply(confidence=None),
        reply(evidence=["quote"]),
        reply(evidence=None),
        reply(evidence={}),
        reply(evidence=[{}]),
        reply(question="q2"),
        json.dumps({"answers": []}),
        json.dumps({"answers": [GOOD, GOOD]}),
        json.dumps({"answers": [GOOD, {**GOOD, "verdict": "fail"}]}),
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


HARMLESS = {
    "prose before": f"Sure! Here is what I found:\n\n{reply()}",
    "prose after": f"{reply()}\n\nTell me if you need more.",
    "fence in prose": f"Here you are:\n```json\n{reply()}\n```\nDone.",
    "thinking": f"<think>Is it {{really}} a pass? verdict: fail</think>\n{reply()}",
    "thinking without its begin": f"so the verdict is pass.</think>\n\n{reply()}",
    "other keys": reply(overall_pass=True, score=10),
    "other keys outside": json.dumps({"answers": [GOOD], "summary": "fine"}),
    "number as text": reply(confidence="0.9"),
    "percent": reply(confidence="90%"),
    "case": reply(verdict="PASS"),
    "marks": reply(verdict=" **Pass** "),
    "bare list": json.dumps([GOOD]),
    "bare answer": json.dumps(GOOD),
    "by question": json.dumps({"q1": {k: v for k, v in GOOD.items() if k != "question"}}),
    "answers by question": json.dumps({"answers": {"q1": GOOD}}),
    "one quotation without its list": reply(evidence={"pointer": "/a", "quote": 3}),
    "quotation of two fields": reply(evidence=[{"pointer": "/a", "quote": "x"}]),
    "byte order mark": f"\ufeff{reply()}",
}


@pytest.mark.parametrize("name", HARMLESS)
def test_a_harmless_form_of_a_reply_is_read(name: str) -> None:
    answer = read_answers(HARMLESS[name], ["q1"])["q1"]
    assert (answer.verdict, answer.confidence) == ("pass", 0.9)


def test_the_reply_that_the_fuzzing_starts_from_passes(case: JudgeCase) -> None:
    prepared = prepare(case)
    assert outcome_of_reply(prepared, json.dumps(passing_reply(prepared))) == "pass"


def test_no_hostile_reply_passes_or_raises(case: JudgeCase) -> None:
    count = 20_000  # nox -s campaign draws a million
    prepared = prepare(case)
    replies = hostile_replies(passing_reply(prepared), random.Random(7))  # noqa: S311  # not cryptography
    found = {"pass": 0}
    for _ in range(count):
        text = next(replies)
        outcome = outcome_of_reply(prepared, text)
        assert outcome != "pass", text
        found[outcome] = found.get(outcome, 0) + 1
    assert found["pass"] == 0
    assert found["error"] > count / 2
    assert found["abstain"] > count / 20
    assert found["void"] > count / 100


def test_a_hostile_reply_becomes_an_error_or_an_abstention(case: JudgeCase) -> None:
    prepared = prepare(case)
    replies = hostile_replies(passing_reply(prepared), random.Random(5))  # noqa: S311  # not cryptography
    for _ in range(120):
        text = next(replies)
        judge = Judge(Model(ScriptedAdapter(lambda _, text=text: text)))
        verdict = asyncio.run(judge.judge(case))
        assert verdict.outcome in {"error", "abstain", "void"}
        assert verdict.passed is None
        assert verdict.model_dump_json()
