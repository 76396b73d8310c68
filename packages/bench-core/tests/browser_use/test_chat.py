"""browser-use's calls through our model adapters, by real SDKs against a local server."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from browser_use.llm.exceptions import ModelProviderError
from browser_use.llm.messages import (
    AssistantMessage,
    ContentPartImageParam,
    ContentPartTextParam,
    ImageURL,
    SystemMessage,
    UserMessage,
)
from browser_use.llm.views import ChatInvokeCompletion, ChatInvokeUsage
from pydantic import BaseModel, ValidationError
from test_support.model_server import Answer, ModelServer

from bench_core.browser_use import ModelChat, ModelWatch, model_chat
from bench_core.browser_use.agent import open_chat
from bench_core.browser_use.chat import is_known_model, keep_calls, request_of
from bench_core.budgets import TRIAL_METER, Budget, RunBudget
from bench_core.errors import BudgetExceededError, InputError
from bench_core.models import Cassette, ModelError, PriceList, RetryPolicy, open_model
from bench_core.models.prices import PriceRow
from bench_core.protocols import TrialContext
from bench_core.records import ModelCall

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from bench_core.records import Usage

ONCE = RetryPolicy(attempts=1, deadline_s=120)  # the first call of an SDK loads it
PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR4nGNgYGD4DwABBAEAX+XDSwAAAABJRU5ErkJggg=="
PRICES = PriceList([PriceRow(model="m-1", input=10.0, cached_input=1.0, output=100.0)])


class Number(BaseModel):
    number: int


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with ModelServer() as server:
        yield server


def chat_on(server: ModelServer, provider: str = "openai-chat", **options: Any) -> ModelChat:
    model = open_model(
        f"{provider}:m-1",
        api_key="a-key-of-the-test",
        base_url=server.base_url(provider),
        **{"policy": ONCE, "prices": PRICES, **options},
    )
    return ModelChat(model)


async def ask(chat: ModelChat) -> Any:
    return await chat.ainvoke(
        [SystemMessage(content="be brief"), UserMessage(content="7?")], Number
    )


@pytest.mark.parametrize("provider", ["anthropic", "openai", "openai-chat", "google"])
async def test_every_provider_gives_browser_use_its_format_tokens_and_price(
    server: ModelServer, provider: str
) -> None:
    server.say(Answer(text='{"number": 7}', model="m-1-dated"))
    chat = chat_on(server, provider)
    watch = ModelWatch()
    watch.attach(chat)

    answer = await ask(chat)
    await chat.aclose()

    assert answer.completion == Number(number=7)
    assert (answer.usage.prompt_tokens, answer.usage.prompt_cached_tokens) == (100, 40)
    assert watch.usage.requests == 1
    assert watch.model_reported == "m-1-dated"
    assert watch.cost_usd == pytest.approx((60 * 10 + 40 * 1 + 20 * 100) / 1e6)
    assert "number" in json.dumps(server.requests[0].body)


async def test_anthropic_is_asked_to_cache_the_prompt(server: ModelServer) -> None:
    server.say(Answer(text='{"number": 7}'))
    chat = chat_on(server, "anthropic")
    await ask(chat)
    await chat.aclose()
    assert server.requests[0].body["cache_control"] == {"type": "ephemeral"}


@pytest.mark.parametrize("text", ["seven", '{"number": "seven"}'])
async def test_an_answer_out_of_format_is_the_agents_and_paid_for(
    server: ModelServer, text: str
) -> None:
    server.say(Answer(text=text))
    chat = chat_on(server)
    watch = ModelWatch(patience=chat.patience)
    watch.attach(chat)

    with pytest.raises((ModelProviderError, ValidationError)):
        await ask(chat)
    await chat.aclose()

    assert len(watch.bad_answers) == 1
    assert watch.fault is None
    assert watch.usage.output_tokens == 20
    assert watch.cost_usd is not None


async def test_an_outage_ends_the_trial_as_nobodys_failure(server: ModelServer) -> None:
    server.say(Answer(status=500))
    chat = chat_on(server)
    watch = ModelWatch(patience=chat.patience)
    watch.attach(chat)

    with pytest.raises(ModelError):
        await ask(chat)
    await chat.aclose()

    assert isinstance(watch.fault, ModelError)


async def test_a_prompt_that_is_too_long_is_the_agents(server: ModelServer) -> None:
    server.say(Answer(status=400, message="prompt is too long: 300000 tokens > 200000 maximum"))
    chat = chat_on(server)
    watch = ModelWatch(patience=chat.patience)
    watch.attach(chat)

    with pytest.raises(ModelError):
        await ask(chat)
    await chat.aclose()

    assert watch.fault is None
    assert len(watch.bad_answers) == 1
    assert watch.refused is not None
    assert watch.refused.kind == "context_window"


async def test_a_restart_of_the_provider_is_waited_for(server: ModelServer) -> None:
    server.say(Answer(status=503), Answer(reset=True), Answer(text='{"number": 7}'))
    chat = chat_on(server, policy=RetryPolicy(first_wait_s=0.01))
    assert (await ask(chat)).completion == Number(number=7)
    await chat.aclose()


async def test_a_spent_budget_stops_the_agent(server: ModelServer) -> None:
    server.say(Answer(text='{"number": 7}'))
    stopped: list[bool] = []
    budget = RunBudget(Budget(max_tokens=1))
    meter = budget.meter()
    TRIAL_METER.set(meter)
    chat = chat_on(server)
    watch = ModelWatch(on_call=meter.spend, on_fault=lambda: stopped.append(True))
    watch.attach(chat)

    with pytest.raises(BudgetExceededError):
        await ask(chat)
    await chat.aclose()

    assert budget.spent.usage.requests == 1
    assert stopped == [True]


async def test_a_recorded_call_is_replayed_for_free(server: ModelServer, tmp_path: Path) -> None:
    server.say(Answer(text='{"number": 7}'))
    recording = chat_on(server, cassette=Cassette(tmp_path / "calls.jsonl", "record"))
    await ask(recording)
    await recording.aclose()
    spent: list[Usage] = []
    chat = model_chat(f"replay:{tmp_path / 'calls.jsonl'}")
    watch = ModelWatch(on_call=lambda usage, _cost: spent.append(usage))
    watch.attach(chat)

    again = await ask(chat)

    assert again.completion == Number(number=7)
    assert (len(server.requests), spent, watch.cost_usd) == (1, [], 0.0)


def test_messages_keep_their_order_pictures_and_roles() -> None:
    url = f"data:image/png;base64,{PIXEL}"
    request = request_of(
        [
            SystemMessage(content="rules"),
            UserMessage(
                content=[
                    ContentPartTextParam(text="look"),
                    ContentPartImageParam(image_url=ImageURL(url=url)),
                ]
            ),
            AssistantMessage(content="seen"),
            UserMessage(content="go on"),
        ]
    )
    assert request.system == "rules"
    assert [each.role for each in request.messages] == ["user", "assistant", "user"]
    assert [part.type for part in request.messages[0].parts] == ["text", "image"]
    assert request.messages[0].parts[1].media_type == "image/png"


def test_a_picture_by_link_is_refused() -> None:
    picture = ContentPartImageParam(image_url=ImageURL(url="https://example.org/a.png"))
    with pytest.raises(InputError, match="inline"):
        request_of([UserMessage(content=[picture])])


def test_models_of_other_providers_are_left_to_browser_use() -> None:
    assert is_known_model("anthropic:claude-x")
    assert not is_known_model("groq:llama")


async def test_the_agent_s_option_names_the_server_of_its_model(
    server: ModelServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "a-key-of-the-test")
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:1")
    server.say(Answer(text='{"number": 7}'))
    url = server.base_url("openai")
    context = TrialContext(
        run_id="test", folder=tmp_path, model="openai:m-1", config={"base_url": url}
    )
    chat = open_chat(context)
    answer = await ask(chat)
    await chat.aclose()
    assert (answer.completion, len(server.requests)) == (Number(number=7), 1)
    own = {**context.config, "chat": "browser-use"}
    assert open_chat(context.model_copy(update={"config": own})).base_url == url


def kept_in(folder: Path) -> list[ModelCall]:
    lines = (folder / "conversation.jsonl").read_text(encoding="utf-8").splitlines()
    return [ModelCall.model_validate_json(line) for line in lines]


async def test_the_agent_s_calls_are_kept_with_the_trial(
    server: ModelServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "a-key-of-the-test")
    server.say(Answer(text='{"number": 7}'))
    config = {"base_url": server.base_url("openai")}
    context = TrialContext(run_id="test", folder=tmp_path, model="openai:m-1", config=config)
    chat = open_chat(context)
    await ask(chat)
    await chat.aclose()
    (call,) = kept_in(tmp_path)
    assert call.turns[-1].parts[-1].text
    assert [part.text for part in call.reply] == ['{"number": 7}']
    assert call.usage.output_tokens == 20


async def test_calls_of_browser_use_s_own_classes_are_kept_with_the_trial(tmp_path: Path) -> None:
    class OwnChat:
        provider, model = "groq", "llama"

        async def ainvoke(self, messages: Any, output_format: Any = None) -> Any:
            if len(messages) > 1:
                raise ValueError("too long")
            usage = ChatInvokeUsage(
                prompt_tokens=11,
                prompt_cached_tokens=None,
                prompt_cache_creation_tokens=None,
                prompt_image_tokens=None,
                completion_tokens=7,
                total_tokens=18,
            )
            return ChatInvokeCompletion(completion=output_format(number=7), usage=usage)

    chat = OwnChat()
    keep_calls(chat, tmp_path)
    hi = UserMessage(content="hi")
    assert (await chat.ainvoke([hi], Number)).completion == Number(number=7)
    with pytest.raises(ValueError, match="too long"):
        await chat.ainvoke([hi, UserMessage(content="more")], Number)
    first, second = kept_in(tmp_path)
    assert (first.model, first.turns[0].parts[0].text) == ("groq:llama", "hi")
    assert first.reply[0].text == '{"number":7}'
    assert (first.usage.input_tokens, first.usage.output_tokens) == (11, 7)
    assert ([turn.at for turn in second.turns], second.error) == ([1], "too long")
