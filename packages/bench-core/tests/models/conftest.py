from __future__ import annotations

import importlib.util
from typing import TYPE_CHECKING, Any

import pytest
from test_support.model_server import ModelServer

from bench_core.models import Model, RetryPolicy, open_model

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

PROVIDERS = ("anthropic", "openai", "openai-chat", "google")
SDK = {
    "anthropic": "anthropic",
    "openai": "openai",
    "openai-chat": "openai",
    "google": "google.genai",
}
KEY = "sk-planted-0123456789abcdef-planted"


def sdk_missing(provider: str) -> bool:
    try:
        return importlib.util.find_spec(SDK[provider]) is None
    except ModuleNotFoundError:
        return True


@pytest.fixture(params=PROVIDERS)
def provider(request: pytest.FixtureRequest) -> str:
    if sdk_missing(request.param):
        pytest.skip(f"the SDK of {request.param} is not installed")
    return str(request.param)


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with ModelServer() as running:
        yield running


@pytest.fixture
def connect(server: ModelServer) -> Callable[..., Model]:
    def connect(provider: str, **options: Any) -> Model:
        # the first call loads the SDK, which takes long where others share the machine
        patient = RetryPolicy(attempts=3, first_wait_s=0.01, deadline_s=300, timeout_s=120)
        policy = options.pop("policy", patient)
        return open_model(
            f"{provider}:test-model",
            api_key=KEY,
            base_url=server.base_url(provider),
            policy=policy,
            **options,
        )

    return connect
