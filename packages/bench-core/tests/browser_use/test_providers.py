from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from browser_use.llm.messages import UserMessage

from bench_core.browser_use import chat_for
from bench_core.browser_use.providers import known_providers
from bench_core.errors import InputError

if TYPE_CHECKING:
    from conftest import ModelServer

KEYS = {
    "anthropic": "ANTHROPIC_API_KEY",
    "google": "GEMINI_API_KEY",
    "openai": "OPENAI_API_KEY",
}


@pytest.mark.parametrize("provider", sorted(KEYS))
def test_a_chat_is_found_by_provider_and_model(provider: str) -> None:
    chat = chat_for(f"{provider}:some-model", environment={KEYS[provider]: "planted"})

    assert (chat.provider, chat.model) == (provider, "some-model")
    assert chat.api_key == "planted"
    assert chat.max_retries <= 1


@pytest.mark.parametrize("provider", sorted(KEYS))
def test_a_missing_key_is_named(provider: str) -> None:
    with pytest.raises(InputError, match=KEYS[provider]):
        chat_for(f"{provider}:some-model", environment={})


@pytest.mark.parametrize("model", ["gpt-4.1-mini", "acme:model", "openai:", "", ":x"])
def test_what_is_no_model_is_refused_with_the_known_providers(model: str) -> None:
    with pytest.raises(InputError, match="providers are anthropic"):
        chat_for(model, environment={})


@pytest.mark.parametrize("provider", sorted({*known_providers()} - {"groq", "ollama"}))
def test_every_provider_makes_its_chat(provider: str) -> None:
    keys = {f"{provider.upper()}_API_KEY": "planted"}

    assert chat_for(f"{provider}:m", environment=keys).model == "m"


def test_options_reach_the_chat() -> None:
    chat = chat_for("openai:m", environment={"OPENAI_API_KEY": "planted"}, temperature=0.0)

    assert chat.temperature == 0.0


async def test_any_server_with_openais_api_needs_no_key(model_server: ModelServer) -> None:
    chat = chat_for("openai:local-1", base_url=model_server.url, environment={})

    completion = await chat.ainvoke([UserMessage(content="hi")])

    assert completion.completion == "hello"
    assert model_server.asked[0]["model"] == "local-1"


async def test_the_base_url_may_come_from_the_environment(model_server: ModelServer) -> None:
    chat = chat_for("openai:local-1", environment={"OPENAI_BASE_URL": model_server.url})

    assert (await chat.ainvoke([UserMessage(content="hi")])).completion == "hello"
