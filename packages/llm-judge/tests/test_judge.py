from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any

import pytest
from PIL import Image
from test_support.scripted_judges import (
    blanket_fail,
    fabricator,
    honest,
    rubber_stamp,
    undecided,
)

from bench_core.budgets import Budget, RunBudget
from bench_core.discovery import load_plugin
from bench_core.errors import InputError
from bench_core.models import (
    Cassette,
    Model,
    ModelError,
    PriceList,
    PriceRow,
    ReplyCache,
    ScriptedAdapter,
)
from bench_core.records.judge import Criterion, CriterionVerdict, JudgeCase, Screenshot, Verdict
from bench_core.testing import JudgeConformance
from llm_judge import Judge, JudgePolicy, prepare, samples, verify
from llm_judge.model_calls.calls import is_model

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from bench_core.models import ModelRequest

PNG = (
    b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x00\x00\x08\x00\x00\x00\x08\x08\x02\x00\x00\x00"
    b"Km)\xdc\x00\x00\x00\x0cIDATx\x9cc`\x18\x14\x00\x00\x00\xc8\x00\x01\x83\x1e\xf7\xf6\x00\x00"
    b"\x00\x00IEND\xaeB`\x82"
)


def judged(judge: Judge, case: JudgeCase) -> Verdict:
    return asyncio.run(judge.judge(case))


def with_time(case: JudgeCase, time: str) -> JudgeCase:
    state = json.loads(json.dumps(case.state))
    for record in (
        state["tablely"]["finalstate"]["bookings"][1],
        state["tablely"]["differences"]["bookings"]["added"][0],
    ):
        record["time"] = time
    return case.model_copy(update={"state": state})


class TestConformance(JudgeConformance):
    @pytest.fixture
    def judge(self) -> Judge:
        return Judge(Model(ScriptedAdapter(honest)))

    @pytest.fixture
    def failing_judge(self) -> Judge:
        down = ModelError("auth", "no such key", provider="scripted")
        return Judge(Model(ScriptedAdapter([down])))


def test_the_judge_is_found_by_its_name() -> None:
    assert load_plugin("judge", "llm-judge") is Judge


@pytest.mark.parametrize(
    ("script", "good", "bad"),
    [
        (honest, "pass", "fail"),
        (rubber_stamp, "void", "void"),
        (blanket_fail, "fail", "fail"),
        (fabricator, "abstain", "abstain"),
        (undecided, "abstain", "abstain"),
    ],
)
def test_judges_end_as_they_should(
    case: JudgeCase, judge_by: Callable[..., Judge], script: Any, good: str, bad: str
) -> None:
    assert judged(judge_by(script), case).outcome == good
    assert judged(judge_by(script), with_time(case, "6:00 PM")).outcome == bad


def test_a_pass_without_evidence_is_an_opinion_and_says_why(
    case: JudgeCase, judge_by: Callable[..., Judge]
) -> None:
    verdict = judged(judge_by(fabricator), case)
    assert [(each.verdict, each.kind) for each in verdict.criteria] == [("pass", "opinion")] * 2
    assert verdict.criteria[0].doubt == (
        "what is quoted is not there: /confirmation/status: nothing stands there"
    )
    assert (verdict.outcome, verdict.kind, verdict.usage.requests) == ("abstain", "unknown", 2)


def test_a_quotation_that_is_not_there_is_asked_about_once_with_the_reason(case: JudgeCase) -> None:
    requests: list[ModelRequest] = []

    def told(request: ModelRequest) -> str:
        return request.messages[2].text

    def answer(request: ModelRequest) -> dict[str, Any]:
        requests.append(request)
        reply = honest(request)
        if len(requests) == 1:
            for each in reply["data"]["answers"]:
                for quote in each["evidence"]:
                    quote["pointer"] = quote["pointer"].replace("/1/", "/8/")
            return reply
        asked = [json.loads(line)["question"] for line in told(request).splitlines()[1:]]
        kept = [each for each in reply["data"]["answers"] if each["question"] in asked]
        return {"data": {"answers": kept}}

    verdict = judged(Judge(Model(ScriptedAdapter(answer))), case)
    assert (verdict.outcome, verdict.kind) == ("pass", "supported")
    assert len(requests) == 2
    assert "/tablely/finalstate/bookings/8/time: nothing stands there" in told(requests[1])
    assert "8:30 PM" not in told(requests[1])  # what the state holds is not given away


def test_a_claim_decides_first_and_a_model_is_asked_about_the_rest(case: JudgeCase) -> None:
    def proven(verdict: Any) -> Any:
        decided = CriterionVerdict(criterion_id="time", verdict=verdict, kind="proven")
        return lambda _case, _state: {"time": decided}

    asked: list[ModelRequest] = []

    def answer(request: ModelRequest) -> dict[str, Any]:
        asked.append(request)
        return honest(request)

    verdict = judged(Judge(Model(ScriptedAdapter(answer)), claims=proven("pass")), case)
    assert (verdict.outcome, verdict.kind) == ("pass", "supported")
    assert [each.kind for each in verdict.criteria] == ["proven", "supported"]
    assert "bookings/1/time is" not in (asked[0].system or "")
    failed = judged(Judge(Model(ScriptedAdapter(["no", "no"])), claims=proven("fail")), case)
    assert (failed.outcome, failed.kind) == ("fail", "proven")
    one = case.model_copy(update={"criteria": case.criteria[:1]})
    alone = judged(Judge(Model(ScriptedAdapter([])), claims=proven("pass")), one)
    assert (alone.outcome, alone.kind, alone.usage.requests) == ("pass", "proven", 0)


def test_a_scripted_model_that_ends_is_an_error_and_no_exception(case: JudgeCase) -> None:
    verdict = judged(Judge(Model(ScriptedAdapter([]))), case)
    assert verdict.error is not None
    assert (verdict.outcome, verdict.error.kind) == ("error", "no_reply")
    assert "has ended after 0 replies" in verdict.error.message


def test_one_proven_fail_fails_the_whole(case: JudgeCase, judge_by: Callable[..., Judge]) -> None:
    verdict = judged(judge_by(honest), with_time(case, "6:00 PM"))
    assert [each.verdict for each in verdict.criteria] == ["fail", "pass"]
    assert verdict.passed is False


def answering(**verdicts: str) -> Callable[[ModelRequest], dict[str, Any]]:
    """An honest model, except about the criteria whose text holds a given word."""

    def answer(request: ModelRequest) -> dict[str, Any]:
        reply = honest(request)
        asked = (request.system or "").partition("The questions:\n")[2].splitlines()
        texts = {each["question"]: each["text"] for each in map(json.loads, asked)}
        for each in reply["data"]["answers"]:
            for word, verdict in verdicts.items():
                if f"bookings/1/{word} is" in texts[each["question"]]:
                    each["verdict"] = verdict
        return reply

    return answer


@pytest.mark.parametrize(
    ("first", "second", "outcome"),
    [
        (honest, honest, "pass"),
        (honest, answering(time="unknown"), "abstain"),
        (honest, answering(time="fail"), "abstain"),
        (honest, rubber_stamp, "void"),
        (honest, ["nonsense", "nonsense"], "error"),
        (answering(time="fail"), [], "fail"),
        (answering(time="unknown"), [], "abstain"),
        (rubber_stamp, [], "void"),
    ],
)
def test_without_the_second_models_agreement_nothing_passes(
    case: JudgeCase, judge_by: Callable[..., Judge], first: Any, second: Any, outcome: str
) -> None:
    # an empty script raises when it is asked: where it stands, the second model must not be
    assert judged(judge_by(first, second), case).outcome == outcome


def test_a_vote_of_each_model_is_kept(case: JudgeCase, judge_by: Callable[..., Judge]) -> None:
    verdict = judged(judge_by(honest, answering(time="unknown")), case)
    time = verdict.criteria[0]
    assert [(each.model, each.verdict) for each in time.votes] == [
        ("scripted:script", "pass"),
        ("scripted:other", "unknown"),
    ]
    assert time.doubt == "no agreement (scripted:script: pass, scripted:other: unknown)"


@pytest.mark.parametrize(("margin", "asked"), [(0.95, True), (0.7, False)])
def test_a_low_margin_makes_the_second_model_look(
    case: JudgeCase, judge_by: Callable[..., Judge], margin: float, asked: object
) -> None:
    verdict = judged(judge_by(honest, honest, second_on_pass=False, low_margin=margin), case)
    assert (verdict.usage.requests == 2) is asked


def test_a_doubtful_case_makes_the_second_model_look(
    case: JudgeCase, judge_by: Callable[..., Judge]
) -> None:
    doubtful = case.model_copy(update={"metadata": {"apps": ["tablely", "mail"]}})
    for given, requests in ((case, 1), (doubtful, 2)):
        verdict = judged(judge_by(honest, honest, second_on_pass=False), given)
        assert verdict.usage.requests == requests


def test_samples_of_one_model_must_agree(case: JudgeCase, judge_by: Callable[..., Judge]) -> None:
    turns = iter([honest, answering(time="unknown"), honest])

    def changing(request: ModelRequest) -> dict[str, Any]:
        script = next(turns)
        return script(request)

    assert judged(judge_by(changing, samples=3), case).outcome == "abstain"
    assert judged(judge_by(honest, samples=3), case).usage.requests == 3


def test_a_model_is_no_second_to_itself() -> None:
    with pytest.raises(InputError, match="would agree with itself"):
        Judge(Model(ScriptedAdapter([])), second=Model(ScriptedAdapter([])))


def test_a_truncated_reply_is_asked_again_with_more_room(case: JudgeCase) -> None:
    asked: list[int] = []

    def answer(request: ModelRequest) -> dict[str, Any]:
        asked.append(request.max_output_tokens)
        return {"text": '{"answers": [', "stop": "length"} if len(asked) == 1 else honest(request)

    assert judged(Judge(Model(ScriptedAdapter(answer))), case).outcome == "pass"
    assert asked == [8_000, 16_000]


@pytest.mark.parametrize(
    ("reply", "outcome", "kind"),
    [
        ({"text": "", "stop": "refusal", "refusal": "no"}, "abstain", None),
        ({"text": "{", "stop": "length"}, "error", "truncated"),
        ({"text": "{", "stop": "context_window"}, "error", "truncated"),
        ({"text": "PASS"}, "error", "malformed"),
        ({"text": "", "stop": "other"}, "error", "malformed"),
        ({"tool_calls": [{"name": "pass"}]}, "error", "malformed"),
        ({"text": "x", "model_reported": "another-model"}, "error", "other_model"),
        (ModelError("timeout", "slow", provider="scripted"), "error", "timeout"),
    ],
)
def test_nothing_a_provider_does_is_a_fail(
    case: JudgeCase, reply: Any, outcome: str, kind: str | None
) -> None:
    policy = {"policy": JudgePolicy()}
    adapter = ScriptedAdapter(lambda _: reply)
    verdict = judged(
        Judge(Model(adapter, policy=None), **policy), case.model_copy(update={"deadline_s": 0.5})
    )
    assert verdict.outcome == outcome
    assert (verdict.error.kind if verdict.error else None) in {
        kind,
        "deadline" if kind == "timeout" else kind,
    }
    assert verdict.passed is None


@pytest.mark.parametrize(
    ("asked", "reported", "same"),
    [
        ("claude-sonnet-5-5", "claude-sonnet-5-5-20260901", True),
        ("gemini-3.8-flash", "models/gemini-3.8-flash-001", True),
        ("gpt-6.1", "gpt-6.1-2026-10-01", True),
        ("gpt-6.1", "gpt-6.1-mini", False),
        ("gpt-5", "gpt-5.2", False),
        ("claude-opus-5-5", "claude-haiku-5-5", False),
        ("claude-sonnet-latest", "claude-sonnet-20260901", True),
        ("qwen3-8b", "/models/Qwen3-8B-Q4.gguf", False),
        ("qwen3-8b", "/models/qwen3-8b.gguf", True),
        ("./models/qwen3-8b.gguf", "qwen3-8b", True),
        ("Qwen/Qwen3-8B", "qwen3-8b", True),
    ],
)
def test_a_dated_version_is_the_same_model_and_a_smaller_one_is_not(
    asked: str, reported: str, same: object
) -> None:
    assert is_model(asked, reported) is same


def test_another_model_is_accepted_when_that_is_meant(case: JudgeCase) -> None:
    adapter = ScriptedAdapter(lambda request: {**honest(request), "model_reported": "another"})
    verdict = judged(Judge(Model(adapter), policy=JudgePolicy(any_model=True)), case)
    assert (verdict.outcome, verdict.model_reported) == ("pass", "another")


def test_a_case_without_criteria_or_state_is_undecided(judge_by: Callable[..., Judge]) -> None:
    nothing = JudgeCase(case_id="a", goal="x")
    assert judged(judge_by([]), nothing).outcome == "abstain"
    blind = JudgeCase(case_id="a", goal="x", criteria=(Criterion(id="c", text="y"),))
    verdict = judged(judge_by([]), blind)
    assert (verdict.outcome, verdict.findings[0].code) == ("abstain", "state.empty")


def test_two_criteria_of_one_id_are_refused(
    case: JudgeCase, judge_by: Callable[..., Judge]
) -> None:
    twice = case.model_copy(update={"criteria": case.criteria[:1] * 2})
    with pytest.raises(InputError, match="two criteria have the same id"):
        judged(judge_by([]), twice)


def test_the_places_that_a_benchmarks_queries_name_are_shown(case: JudgeCase) -> None:
    query = "length(tablely.finalstate.bookings[0].place) > `3` && tablely.finalstate.orders[0]"
    asked = case.model_copy(update={"metadata": {"queries": [query]}})
    text = prepare(asked).prompt.text
    assert '"is":"there","value":{"id":"b0","place":"Old Mill"' in text


def test_the_time_zone_of_the_applications_is_told_where_it_is_known(case: JudgeCase) -> None:
    known = case.model_copy(update={"timezone": "America/Denver"})
    assert '{"timezone":"America/Denver","note":' in prepare(known).prompt.system
    assert "timezone" not in prepare(case).prompt.system


def test_the_agents_answer_is_shown_only_when_asked_for(case: JudgeCase) -> None:
    answered = case.model_copy(update={"agent_answer": "I booked it, trust me"})
    assert "trust me" not in prepare(answered).prompt.text
    assert "trust me" in prepare(answered, JudgePolicy(agent_text=True)).prompt.text


def test_the_same_case_gets_the_same_prompt_and_another_state_another_hash(case: JudgeCase) -> None:
    one, two = prepare(case).prompt, prepare(case).prompt
    assert (one.system, one.text) == (two.system, two.text)
    assert prepare(with_time(case, "6:00 PM")).prompt.evidence_hash != one.evidence_hash


def test_the_fingerprint_names_judge_prompt_and_evidence(
    case: JudgeCase, judge_by: Callable[..., Judge]
) -> None:
    one, two = judged(judge_by(honest), case), judged(judge_by(honest, chars=8_000), case)
    assert one.fingerprint["evidence"] == two.fingerprint["evidence"]
    assert one.fingerprint["policy"] != two.fingerprint["policy"]
    assert one.fingerprint["replayed"] == "false"


def test_a_cached_reply_is_not_paid_for_again(case: JudgeCase, tmp_path: Path) -> None:
    cache = ReplyCache(tmp_path)
    first = judged(Judge(Model(ScriptedAdapter(honest), cache=cache)), case)
    again = judged(Judge(Model(ScriptedAdapter([]), cache=cache)), case)
    assert (first.outcome, again.outcome) == ("pass", "pass")
    assert (first.usage.requests, again.usage.requests) == (1, 0)
    assert again.fingerprint["replayed"] == "true"


def test_a_recorded_judgement_replays_to_the_same_verdict(case: JudgeCase, tmp_path: Path) -> None:
    recorded = tmp_path / "tape.jsonl"
    recording = Model(ScriptedAdapter(honest), cassette=Cassette(recorded, "record"))
    first = judged(Judge(recording), case)
    again = judged(Judge(f"replay:{recorded}"), case)
    assert again.criteria == first.criteria
    assert "example" not in recorded.read_text()


PRICES = PriceList([PriceRow(model="anthropic:m", input=10, output=50)])


@pytest.mark.parametrize(
    ("limit", "kind"), [(0.0001, "budget"), (10.0, None)], ids=["too little", "enough"]
)
def test_a_call_that_may_cost_too_much_is_not_made(
    case: JudgeCase, limit: float, kind: str | None
) -> None:
    adapter = ScriptedAdapter(honest, provider="anthropic", model="m")
    judge = Judge(Model(adapter, prices=PRICES), prices=PRICES)
    verdict = judged(judge, case.model_copy(update={"max_cost_usd": limit}))
    assert (verdict.error.kind if verdict.error else None) == kind
    assert verdict.usage.requests == (0 if kind else 1)


def test_dollars_cannot_be_kept_where_the_price_is_unknown(case: JudgeCase) -> None:
    adapter = ScriptedAdapter(honest, provider="anthropic", model="unheard-of")
    verdict = judged(
        Judge(Model(adapter), prices=PRICES), case.model_copy(update={"max_cost_usd": 1.0})
    )
    assert verdict.outcome == "error"
    assert verdict.error is not None
    assert "price of anthropic:unheard-of is unknown" in verdict.error.message


def test_a_runs_meter_hears_of_the_call_and_may_stop_it(case: JudgeCase) -> None:
    run = RunBudget(Budget(max_tokens=1))
    reply = {"usage": {"input_tokens": 500, "output_tokens": 20}}
    adapter = ScriptedAdapter(lambda request: {**honest(request), **reply})
    verdict = asyncio.run(Judge(Model(adapter)).judge(case, run.meter()))
    assert verdict.outcome == "error"
    assert run.spent.usage.total_tokens == 520


def test_judging_works_where_an_event_loop_is_running() -> None:
    async def in_a_notebook() -> Verdict:
        await asyncio.sleep(0)
        return Judge(f"replay:{samples.cassette()}").judge_now(samples.case())

    assert asyncio.run(in_a_notebook()).outcome == "pass"


def test_pictures_alone_decide_only_where_there_is_no_state(tmp_path: Path) -> None:
    shot = tmp_path / "end.png"
    picture = Image.new("RGB", (10, 10), "white")
    picture.putpixel((8, 8), (20, 20, 20))
    picture.save(shot)
    criterion = Criterion(id="dark", text="The desktop is in dark mode.")

    def answer(request: ModelRequest) -> dict[str, Any]:
        asked = (request.system or "").partition("The questions:\n")[2].splitlines()
        quote = {
            "kind": "present",
            "pointer": None,
            "quote": None,
            "screenshot": "s1 desk",
            "region": region,
        }
        answers = []
        for each in map(json.loads, asked):
            real = "dark mode" in each["text"]
            answers.append(
                {"question": each["question"], "reason": "seen", "evidence": [quote] if real else [],
                 "verdict": "pass" if real else "unknown", "confidence": 0.9}
            )  # fmt: skip
        return {"data": {"answers": answers}}

    bare = JudgeCase(
        case_id="a", goal="Turn dark mode on", criteria=(criterion,),
        screenshots=(Screenshot(path=str(shot), label="desk"),),
    )  # fmt: skip
    judge = Judge(Model(ScriptedAdapter(answer)), policy=JudgePolicy(controls=False))
    region = "0,0,10,10"
    assert judged(judge, bare).outcome == "pass"
    region = "0,0,4,4"
    assert "the region shows nothing" in (judged(judge, bare).criteria[0].doubt or "")
    region = None
    assert judged(judge, bare).criteria[0].kind == "opinion"
    region = "0,0,10,10"
    verdict = judged(judge, bare.model_copy(update={"state": {"theme": "light"}}))
    assert verdict.outcome == "abstain"
    assert verdict.criteria[0].doubt == "only a picture is quoted, and there is a state"


def test_an_old_verdict_is_verified_without_a_model(
    case: JudgeCase, judge_by: Callable[..., Judge]
) -> None:
    verdict = judged(judge_by(honest), case)
    assert verify(verdict, case.state, case).outcome == "holds"
    assert verify(verdict, with_time(case, "6:00 PM").state, case).outcome == "broken"
    unsure = judged(judge_by(undecided), case)
    assert verify(unsure, case.state, case).outcome == "undecided"
