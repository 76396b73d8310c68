from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest
from browser_use.llm.exceptions import ModelProviderError
from browser_use.llm.messages import UserMessage
from pydantic import BaseModel

from bench_core.browser_use import ModelWatch, Patience, chat_for
from bench_core.errors import BudgetExceededError, EnvironmentFaultError
from bench_core.models import PriceList
from bench_core.models.prices import PriceRow
from bench_core.protocols import LatestCall
from bench_core.records import Usage

if TYPE_CHECKING:
    from conftest import ModelServer

IMPATIENT = Patience(retries=1, backoff_s=0.0, call_timeout_s=60.0)


class Reply(BaseModel):
    number: int


def _watched(url: str, **options: Any) -> tuple[Any, ModelWatch]:
    chat = chat_for("openai:local-1", base_url=url, environment={})
    watch = ModelWatch(**{"patience": IMPATIENT, **options})
    watch.attach(chat)
    return chat, watch


async def _ask(chat: Any) -> Any:
    return await chat.ainvoke([UserMessage(content="hi")], Reply)


async def test_an_answer_is_counted(model_server: ModelServer) -> None:
    model_server.content = '{"number": 7}'
    told: list[Usage] = []
    chat, watch = _watched(model_server.url, on_call=lambda usage, _cost: told.append(usage))

    answer = await _ask(chat)

    assert answer.completion == Reply(number=7)
    assert watch.usage == Usage(requests=1, input_tokens=11, output_tokens=7)
    assert told == [watch.usage]
    assert watch.cost_usd is None
    assert watch.fault is None


@pytest.mark.parametrize(
    ("mode", "words"),
    [
        ("error", "failed .status 500.*out of order"),
        ("html", "not answer in its API's format"),
        ("nothing", "not answer in its API's format"),
        ("refuse", "refuses the key"),
    ],
)
async def test_an_outage_is_no_failure_of_the_agent(
    model_server: ModelServer, mode: str, words: str
) -> None:
    model_server.mode = mode
    stopped: list[bool] = []
    chat, watch = _watched(model_server.url, on_fault=lambda: stopped.append(True))

    with pytest.raises(ModelProviderError):
        await _ask(chat)

    assert isinstance(watch.fault, EnvironmentFaultError)
    assert stopped == [True]
    with pytest.raises(EnvironmentFaultError, match=words):
        raise watch.fault


async def test_a_server_that_is_not_there_is_an_outage() -> None:
    chat, watch = _watched("http://127.0.0.1:9/v1")

    with pytest.raises(ModelProviderError):
        await _ask(chat)

    assert isinstance(watch.fault, EnvironmentFaultError)


async def test_a_server_that_never_answers_is_an_outage(model_server: ModelServer) -> None:
    model_server.content = '{"number": 7}'
    await _ask(_watched(model_server.url)[0])  # loads the SDK
    model_server.mode = "hang"
    chat, watch = _watched(model_server.url, patience=Patience(2, 0.0, 2.0))

    with pytest.raises(asyncio.TimeoutError):
        await _ask(chat)

    assert "not sent again because it may have been paid for" in str(watch.fault)
    assert len(model_server.asked) == 2


@pytest.mark.parametrize("content", ["not JSON", '{"number": "many"}', "{}"])
async def test_an_unusable_answer_is_the_agents_own_failure(
    model_server: ModelServer, content: str
) -> None:
    model_server.content = content
    chat, watch = _watched(model_server.url)

    with pytest.raises(ModelProviderError):
        await _ask(chat)

    assert watch.fault is None
    assert len(watch.bad_answers) == 1
    assert len(model_server.asked) == 1


async def test_a_server_that_recovers_is_asked_again(model_server: ModelServer) -> None:
    model_server.mode, model_server.content = "error", '{"number": 7}'
    waits: list[tuple[float, str]] = []
    latest = LatestCall()

    async def recover(seconds: float) -> None:
        waits.append((seconds, getattr(latest.waited_for, "fault", "")))
        model_server.mode = "answer"

    chat, watch = _watched(
        model_server.url, patience=Patience(2, 1.5, 60.0), sleep=recover, latest=latest
    )

    assert (await _ask(chat)).completion == Reply(number=7)
    assert waits == [(1.5, "server")]  # what a time limit that runs out now is for
    assert latest.waited_for is None
    assert watch.fault is None


async def test_a_refused_key_is_not_tried_again(model_server: ModelServer) -> None:
    model_server.mode = "refuse"
    chat, _ = _watched(model_server.url)

    with pytest.raises(ModelProviderError):
        await _ask(chat)

    assert len(model_server.asked) == 1


async def test_a_spent_budget_stops_the_agent(model_server: ModelServer) -> None:
    model_server.content = '{"number": 7}'

    def refuse(usage: Usage, _cost: float | None) -> None:
        raise BudgetExceededError(f"{usage.total_tokens} tokens are too many")

    chat, watch = _watched(model_server.url, on_call=refuse)

    with pytest.raises(BudgetExceededError):
        await _ask(chat)

    assert isinstance(watch.fault, BudgetExceededError)
    assert watch.usage.total_tokens == 18


async def test_a_first_call_under_way_is_seen(model_server: ModelServer) -> None:
    model_server.mode = "hang"
    latest = LatestCall()
    chat, _ = _watched(model_server.url, latest=latest)

    call = asyncio.create_task(_ask(chat))
    await asyncio.to_thread(model_server.was_asked.wait, 60)
    call.cancel()
    await asyncio.wait({call})

    assert "did not answer once" in str(latest.waited_for)


async def test_calls_of_browser_uses_own_classes_are_priced_by_a_table(
    model_server: ModelServer,
) -> None:
    model_server.content = '{"number": 7}'
    row = PriceRow(model="openai:local-1", input=1_000_000, output=2_000_000)
    told: list[float | None] = []
    chat, watch = _watched(
        model_server.url, prices=PriceList([row]), on_call=lambda _usage, cost: told.append(cost)
    )

    await _ask(chat)

    assert watch.cost_usd == 11 + 2 * 7
    assert told == [25.0]
