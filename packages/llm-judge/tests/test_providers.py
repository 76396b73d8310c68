"""The real SDKs against a local server: nothing a provider does becomes a verdict on the agent."""

from __future__ import annotations

import asyncio
import importlib.util
import json
from typing import TYPE_CHECKING

import pytest
from test_support.model_server import Answer, ModelServer
from test_support.scripted_judges import honest

from bench_core.models import RetryPolicy, open_model
from llm_judge import Judge, JudgePolicy, prepare
from llm_judge.prompts.prompt import output_schema

if TYPE_CHECKING:
    from bench_core.records.judge import JudgeCase, Verdict

PROVIDERS = ("anthropic", "openai", "openai-chat", "google")
SDK = {"anthropic": "anthropic", "google": "google.genai"}
KEY = "sk-planted-0123456789abcdef-planted"


def _installed(provider: str) -> bool:
    try:
        return importlib.util.find_spec(SDK.get(provider, "openai")) is not None
    except ModuleNotFoundError:
        return False


@pytest.fixture(params=PROVIDERS)
def provider(request: pytest.FixtureRequest) -> str:
    if not _installed(request.param):
        pytest.skip(f"the SDK of {request.param} is not installed")
    return str(request.param)


def good_answer(case: JudgeCase) -> str:
    """What an honest model says to the case."""
    return json.dumps(honest(prepare(case).prompt.request(1_000))["data"])


def judged(
    provider: str,
    case: JudgeCase,
    *answers: Answer,
    deadline_s: float = 300.0,
    timeout_s: float = 120.0,
) -> tuple[Verdict, ModelServer]:
    retries = RetryPolicy(attempts=2, first_wait_s=0.0, max_wait_s=0.0, timeout_s=timeout_s)

    async def once() -> Verdict:
        model = open_model(
            f"{provider}:judge-1", api_key=KEY, base_url=server.base_url(provider), policy=retries
        )
        async with Judge(model, policy=JudgePolicy(deadline_s=deadline_s)) as judge:
            return await judge.judge(case)

    with ModelServer(list(answers) * 4) as server:
        return asyncio.run(once()), server


def test_a_good_answer_passes_over_the_wire(provider: str, case: JudgeCase) -> None:
    verdict, server = judged(provider, case, Answer(text=good_answer(case)))
    assert (verdict.outcome, verdict.model_reported) == ("pass", "judge-1")
    assert verdict.usage.input_tokens == 100
    sent = json.dumps(server.requests[0].body)
    assert json.dumps(output_schema()["properties"]["answers"]["items"]["required"]) in sent
    assert "window seat" in sent


def test_thinking_before_the_answer_is_no_part_of_it(provider: str, case: JudgeCase) -> None:
    answer = Answer(text=good_answer(case), thinking="the verdict is fail, no, pass")
    assert judged(provider, case, answer)[0].outcome == "pass"


FAULTS = {
    "429": (Answer(status=429), "error"),
    "429 with a long wait": (Answer(status=429, headers={"retry-after": "3600"}), "error"),
    "400": (Answer(status=400), "error"),
    "401": (Answer(status=401), "error"),
    "404": (Answer(status=404), "error"),
    "413": (Answer(status=413), "error"),
    "500": (Answer(status=500), "error"),
    "503": (Answer(status=503), "error"),
    "529": (Answer(status=529), "error"),
    "page": (Answer(raw="<html>PASS</html>", content_type="text/html"), "error"),
    "half a document": (Answer(raw='{"id": "msg_1", "content": ['), "error"),
    "empty": (Answer(text=""), "error"),
    "reset": (Answer(reset=True), "error"),
    "truncated": (Answer(text='{"answers": [{"question": "q1",', stop="length"), "error"),
    "refusal": (Answer(text="I cannot help with that.", stop="refusal"), "abstain"),
    "prose": (Answer(text="The task was completed successfully. PASS"), "error"),
    "old form": (Answer(text='{"overall_pass": true, "confidence": 0.99}'), "error"),
    "deep": (Answer(text="[" * 50_000), "error"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_providers_fault_is_an_error_or_an_abstention(
    provider: str, case: JudgeCase, fault: str
) -> None:
    answer, outcome = FAULTS[fault]
    verdict, _ = judged(provider, case, answer)
    assert verdict.outcome == outcome
    assert verdict.passed is None
    assert (verdict.error is not None) is (outcome == "error")
    assert KEY not in verdict.model_dump_json()


def test_a_truncated_pass_is_an_error(provider: str, case: JudgeCase) -> None:
    verdict, _ = judged(provider, case, Answer(text=good_answer(case), stop="length"))
    assert verdict.outcome == "error"
    assert verdict.error is not None
    assert verdict.error.kind == "truncated"


def test_another_model_than_asked_for_is_an_error(provider: str, case: JudgeCase) -> None:
    verdict, _ = judged(provider, case, Answer(text=good_answer(case), model="judge-1-mini"))
    assert verdict.outcome == "error"
    assert verdict.error is not None
    assert verdict.error.kind == "other_model"


def test_a_hanging_provider_is_an_error_within_the_deadline(provider: str, case: JudgeCase) -> None:
    verdict, _ = judged(provider, case, Answer(hang_s=300), deadline_s=2.0, timeout_s=1.0)
    assert verdict.outcome == "error"
    assert verdict.error is not None
    assert verdict.error.kind in {"timeout", "deadline", "budget"}


def test_a_fault_that_passes_is_tried_again(provider: str, case: JudgeCase) -> None:
    verdict, server = judged(provider, case, Answer(status=503), Answer(text=good_answer(case)))
    assert verdict.outcome == "pass"
    assert len(server.requests) == 2


@pytest.mark.parametrize("known", ["json_schema", "json_object", "text"])
def test_a_server_that_knows_no_schema_is_asked_for_less(case: JudgeCase, known: str) -> None:
    if not _installed("openai-chat"):
        pytest.skip("the SDK of openai is not installed")
    forms = ("json_schema", "json_object", "text")
    refused = [Answer(status=400)] * forms.index(known)
    good = Answer(text=f"Here you are:\n{good_answer(case)}")

    async def twice(url: str) -> list[str]:
        async with Judge("openai-chat:judge-1", api_key=KEY, base_url=url) as judge:
            return [(await judge.judge(case)).outcome for _ in range(2)]

    with ModelServer([*refused, good, good]) as server:
        assert asyncio.run(twice(server.base_url("openai-chat"))) == ["pass", "pass"]
        sent = [each.body.get("response_format", {"type": "text"}) for each in server.requests]
    # what the server refused is asked for once
    wanted = [*forms[: forms.index(known) + 1], known]
    assert [each["type"] for each in sent] == wanted
