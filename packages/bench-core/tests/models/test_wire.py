"""Calls of model APIs by foreign code: what they used up, and whether the provider was there."""

from __future__ import annotations

import json
from typing import Any

import pytest

from bench_core.faults import FaultEvidence, fault_of
from bench_core.models.wire import is_model_call, provider_error, read_answer
from bench_core.records import Usage

CHAT = {
    "object": "chat.completion", "model": "gpt-x",
    "usage": {
        "prompt_tokens": 100, "completion_tokens": 10, "prompt_tokens_details": {"cached_tokens": 40}
    },
}  # fmt: skip
RESPONSE = {
    "object": "response", "model": "gpt-x", "usage": {"input_tokens": 100, "output_tokens": 10}
}  # fmt: skip
MESSAGE = {
    "type": "message", "model": "claude-x",
    "usage": {"input_tokens": 60, "cache_read_input_tokens": 40, "output_tokens": 10},
}  # fmt: skip
CONTENT = {
    "modelVersion": "gemini-x", "usageMetadata": {"promptTokenCount": 100, "candidatesTokenCount": 10}
}  # fmt: skip


@pytest.mark.parametrize(
    ("answer", "provider", "model", "cached"),
    [
        (CHAT, "openai-chat", "gpt-x", 40),
        (RESPONSE, "openai", "gpt-x", 0),
        (MESSAGE, "anthropic", "claude-x", 40),
        (CONTENT, "google", "gemini-x", 0),
    ],
    ids=["chat", "responses", "messages", "generate"],
)
def test_the_usage_of_every_api_is_read(
    answer: dict[str, Any], provider: str, model: str, cached: int
) -> None:
    found = read_answer(200, json.dumps(answer).encode(), "application/json")
    assert (found.outcome, found.provider, found.model) == ("answered", provider, model)
    assert found.usage == Usage(
        requests=1, input_tokens=100, cached_input_tokens=cached, output_tokens=10
    )


@pytest.mark.parametrize(
    ("status", "body", "kind", "outcome"),
    [
        (200, None, "application/json", "unread"),
        (200, b"data: {}", "text/event-stream; charset=utf-8", "unread"),
        (200, b'{"choices": []}', "application/json", "unread"),
        (200, b'{"usage": {"prompt_tokens": "many"}}', "application/json", "unread"),
        (200, b"<html>proxy</html>", "text/html", "failed"),
        (200, b"[]", "application/json", "failed"),
        (400, b"{}", "application/json", "refused"),
        (413, b"{}", "application/json", "refused"),
        (401, b"{}", "application/json", "failed"),
        (429, b"{}", "application/json", "failed"),
        (500, b"", "text/plain", "failed"),
        (529, b"", "text/plain", "failed"),
    ],
)
def test_an_answer_says_whose_doing_it_is(
    status: int, body: bytes | None, kind: str, outcome: str
) -> None:
    assert read_answer(status, body, kind).outcome == outcome


@pytest.mark.parametrize(
    ("url", "asks"),
    [
        ("https://x.openai.azure.com/openai/deployments/d/chat/completions?api-version=1", True),
        ("https://api.openai.com/v1/responses", True),
        ("https://api.anthropic.com/v1/messages", True),
        ("https://g.com/v1beta/models/gemini-x:generateContent", True),
        ("https://api.openai.com/v1/models", False),
        ("https://example.org/messages/7", False),
    ],
)
def test_models_are_asked_on_known_paths(url: str, asks: bool) -> None:  # the expected
    assert is_model_call("POST", url) is asks
    assert not is_model_call("GET", url)


def raised(
    library: str, name: str, base: type[Exception] = Exception, **facts: object
) -> Exception:
    return type(name, (base,), {"__module__": f"{library}.errors", **facts})("no")


class Answered:
    def __init__(self, status_code: int) -> None:
        self.status_code = status_code


@pytest.mark.parametrize(
    ("error", "failed"),
    [
        (raised("openai", "APIConnectionError"), True),
        (raised("anthropic", "InternalServerError", status_code=529), True),
        (raised("openai", "BadRequestError", status_code=400), False),
        (raised("requests", "HTTPError", OSError, response=Answered(503)), True),
        (raised("requests", "HTTPError", OSError, response=Answered(400)), False),
        (raised("requests", "ConnectionError", OSError), True),
        (raised("requests", "MissingSchema", ValueError), False),
        (raised("my_agent", "ConnectionError", OSError), False),
        (ConnectionError("of whatever"), False),
        (KeyError("choices"), False),
    ],
)
def test_an_sdks_error_says_whether_the_provider_failed(
    error: Exception, failed: bool
) -> None:  # the expected
    assert _failed(error) is failed
    wrapped = RuntimeError("the plan could not be made")
    wrapped.__cause__ = error
    assert _failed(wrapped) is failed


def _failed(error: Exception) -> bool:
    said = provider_error(error)
    return said is not None and not fault_of(FaultEvidence(said, answered=True)).scored
