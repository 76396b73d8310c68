"""What a provider's error means: replies as providers and servers write them, read in each form they come in."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from test_support.provider_replies import REPLIES, ProviderReply

from bench_core.faults import FAULTS, error_kind


def test_there_are_replies_of_many_providers() -> None:
    assert len(REPLIES) >= 60
    assert len({each.provider for each in REPLIES}) >= 15
    assert all(each.source for each in REPLIES)


@pytest.mark.parametrize("reply", REPLIES, ids=lambda each: each.name)
def test_a_reply_means_the_same_in_each_form(reply: ProviderReply) -> None:
    written = reply.body if isinstance(reply.body, str) else json.dumps(reply.body)
    forms: list[Any] = [reply.body, written, written.encode()]
    if not isinstance(reply.body, str):
        forms.append(f"Error code: {reply.status} - {reply.body}")  # as SDKs write it into a text
    assert [error_kind(reply.status, form) for form in forms] == [reply.kind] * len(forms)


@pytest.mark.parametrize(
    ("words", "kind"),
    [
        ("Number of input tokens (33000) is larger than the context window (32768)", "context_window"),
        ("Your request is too large: please shorten your messages", "context_window"),
        ("prompt_tokens: 140000 over the maximum of 131072", "context_window"),
        ("The image has 40000000 pixels, which is more than the maximum", "picture_limit"),
        ("You can send at most 20 pictures", "picture_limit"),
        ("Your request was rejected as a result of our safety system.", "model_refusal"),
        ("You have used up your monthly credits", "no_money"),
        ("invalid api key", "auth"),
        ("unknown model foo", "not_found"),
        ("messages: at least one message is required", "bad_request"),
        ("`max_tokens` is too large: 200000. The model supports 65536 output tokens at most", "bad_request"),
        ("This model does not support image input", "bad_request"),
        ("messages.1.content: Input should be less than 4000", "bad_request"),
        ("The conversation takes 251002 tokens and the window holds only 200000", "context_window"),
        ("Invalid 'messages': array too long. Expected at most 2048 items", "context_window"),
        ("Malformed input request: expected maxLength: 2097152, actual: 2300000", "context_window"),
        ("height:12000 or width:9000 of the image must be smaller than 8192", "picture_limit"),
        ("Make sure your image is below 20 MB in size", "picture_limit"),
        ("image has more pixels than the model can take", "picture_limit"),
        ("Your request has 51 images; only 50 are allowed", "picture_limit"),
        ("The limit of images is 1, found 12", "picture_limit"),
        ("Organization has been restricted: spend limit reached", "no_money"),
        ("Budget has been exceeded! Current cost: 10.02", "no_money"),
        ("The model `llama2` has been decommissioned", "not_found"),
        ("foo/bar is not a valid model ID", "not_found"),
        ("Invocation of model ID foo.bar with on-demand throughput isn't supported", "not_found"),
        ("not authorized to perform: InvokeModel", "auth"),
        ("Invalid 'tools[0].function.name': string too long, maximum length 64", "bad_request"),
        ("The thinking budget 64000 is invalid. Choose a value between 512 and 24576.", "bad_request"),
        ("'temperature' must be below 2", "bad_request"),
    ],
)  # fmt: skip
def test_words_are_read_by_what_they_speak_of(words: str, kind: str) -> None:
    assert error_kind(400, {"error": {"message": words}}) == kind


def test_a_quota_of_google_is_a_limit_of_rate_and_one_of_openai_is_money() -> None:
    words = "You exceeded your current quota, please check your plan and billing details."
    assert (
        error_kind(429, {"error": {"status": "RESOURCE_EXHAUSTED", "message": words}})
        == "rate_limit"
    )
    assert error_kind(429, {"error": {"message": words}}) == "no_money"


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


@given(st.none() | st.integers(100, 999), json_values | st.binary(), st.text())
def test_whatever_a_server_sends_is_of_some_kind(status: int | None, body: Any, text: str) -> None:
    assert error_kind(status, body, text=text) in FAULTS


def test_an_answer_nested_without_end_is_read() -> None:
    assert error_kind(400, "[" * 100_000) == "bad_request"
    assert error_kind(503, b"\xff" * 1_000_000) == "overloaded"
