"""One scenario matrix for all providers, through their real SDKs, against a local server."""

from __future__ import annotations

import asyncio
import base64
import socket
import time
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

import pytest
from test_support.model_server import Answer, ModelServer

from bench_core.models import (
    Cassette,
    ImagePart,
    Message,
    Model,
    ModelError,
    ModelRequest,
    Reply,
    RetryPolicy,
    SyncModel,
    TextPart,
    Tool,
    ToolResult,
    adapter,
    open_model,
)

if TYPE_CHECKING:
    from pathlib import Path

PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg=="
)
SCHEMA = {
    "type": "object",
    "properties": {"reason": {"type": "string"}, "passed": {"type": "boolean"}},
    "required": ["reason", "passed"],
    "additionalProperties": False,
}
CLICK = Tool(
    name="click",
    description="Click a point",
    parameters={"type": "object", "properties": {"x": {"type": "integer"}}, "required": ["x"]},
)
Connect = Callable[..., Model]
Complete = Callable[..., Awaitable[Reply]]
HTML = "<!doctype html><html><body>502 Bad Gateway</body></html>"


def ask(*parts: str | ImagePart, **fields: Any) -> ModelRequest:
    return ModelRequest(messages=(Message.user(*(parts or ("hello",))),), **fields)


@pytest.fixture(params=["async", "sync"])
def complete(request: pytest.FixtureRequest, connect: Connect) -> Complete:
    """Call a model either way and return its reply."""

    async def call(provider: str, model_request: ModelRequest, **options: Any) -> Reply:
        deadline = options.pop("deadline_s", None)
        model = connect(provider, **options)
        if request.param == "async":
            async with model:
                return await model.complete(model_request, deadline_s=deadline)
        with SyncModel(model) as sync:
            return await asyncio.to_thread(sync.complete, model_request, deadline_s=deadline)

    return call


async def test_an_answer_carries_text_usage_and_the_reported_model(
    provider: str, server: ModelServer, complete: Complete
) -> None:
    server.say(Answer(text="hi there", model="test-model-2026-01-01", reasoning_tokens=5))
    reply = await complete(provider, ask(system="Be brief."))
    assert (reply.text, reply.stop) == ("hi there", "end")
    assert reply.model_reported == "test-model-2026-01-01"
    assert reply.usage.model_dump(include={"requests", "input_tokens", "output_tokens"}) == {
        "requests": 1,
        "input_tokens": 100,
        "output_tokens": 20,
    }
    assert (reply.usage.cached_input_tokens, reply.usage.reasoning_tokens) == (40, 5)
    assert "Be brief." in str(server.requests[0].body)


async def test_json_of_a_schema_arrives_parsed(
    provider: str, server: ModelServer, complete: Complete
) -> None:
    server.say(Answer(text='{"reason": "it is there", "passed": true}'))
    reply = await complete(provider, ask(output_schema=SCHEMA))
    assert reply.data == {"reason": "it is there", "passed": True}
    assert '"reason"' in str(server.requests[0].body).replace("'", '"')


async def test_fenced_json_is_read_and_broken_json_is_said(
    provider: str, server: ModelServer, complete: Complete
) -> None:
    server.say(Answer(text='```json\n{"reason": "", "passed": false}\n```'), Answer(text="{oops"))
    fenced = await complete(provider, ask(output_schema=SCHEMA))
    broken = await complete(provider, ask(output_schema=SCHEMA))
    assert fenced.data == {"reason": "", "passed": False}
    assert broken.data is None
    assert broken.data_error.startswith("end: ")


async def test_half_a_surrogate_pair_is_replaced(
    provider: str, server: ModelServer, connect: Connect, tmp_path: Path
) -> None:
    server.say(Answer(text="a\ud800b", tool_calls=(("click", {"x": "\udc00"}),), stop="tool_use"))
    async with connect(
        provider, cassette=Cassette(tmp_path / "calls.jsonl", mode="record")
    ) as model:
        reply = await model.complete(ask(tools=(CLICK,)))
    assert (reply.text, reply.tool_calls[0].arguments) == ("a\ufffdb", {"x": "\ufffd"})
    assert (tmp_path / "calls.jsonl").read_text("utf-8")


async def test_tool_calls_arrive_with_their_arguments(
    provider: str, server: ModelServer, complete: Complete
) -> None:
    server.say(Answer(tool_calls=(("click", {"x": 7}), ("click", {"x": 8})), stop="tool_use"))
    reply = await complete(provider, ask(tools=(CLICK,), tool_choice="required"))
    assert reply.stop == "tool_use"
    assert [(call.name, call.arguments) for call in reply.tool_calls] == [
        ("click", {"x": 7}),
        ("click", {"x": 8}),
    ]
    assert len({call.id for call in reply.tool_calls}) == 2


async def test_a_refusal_is_a_value(provider: str, server: ModelServer, complete: Complete) -> None:
    server.say(Answer(stop="refusal"))
    reply = await complete(provider, ask(output_schema=SCHEMA))
    assert (reply.stop, reply.data) == ("refusal", None)
    assert len(server.requests) == 1


async def test_a_truncated_answer_is_a_value_with_its_usage(
    provider: str, server: ModelServer, complete: Complete
) -> None:
    server.say(Answer(text='{"reason": "it', stop="length"))
    reply = await complete(provider, ask(output_schema=SCHEMA))
    assert (reply.stop, reply.data, reply.usage.output_tokens) == ("length", None, 20)
    assert reply.data_error.startswith("length: ")


async def test_thinking_goes_back_unchanged_and_is_not_text(
    provider: str, server: ModelServer, connect: Connect
) -> None:
    server.say(
        Answer(thinking="hm", tool_calls=(("click", {"x": 1}),), stop="tool_use"),
        Answer(text="done"),
    )
    async with connect(provider) as model:
        first = await model.complete(ask("click it", tools=(CLICK,)))
        assert first.text == ""
        call = first.tool_calls[0]
        result = ToolResult(
            call_id=call.id,
            name=call.name,
            content=(TextPart(text="clicked"), ImagePart.from_bytes(PNG)),
        )
        follow_up = ModelRequest(
            messages=(Message.user("click it"), first.message, Message.user(result)),
            tools=(CLICK,),
        )
        second = await model.complete(follow_up)
    assert second.text == "done"
    sent = str(server.requests[1].body)
    assert "clicked" in sent
    assert base64.b64encode(PNG).decode()[:40] in sent
    if provider in {"anthropic", "google"}:
        assert "c2lnbmVk" in sent  # the signature of the thinking block


async def test_a_turn_of_another_provider_is_translated(
    provider: str, server: ModelServer, connect: Connect
) -> None:
    server.say(Answer(text="blue"))
    turns = (Message.user("a colour?"), Message.assistant("red"), Message.user("another?"))
    async with connect(provider) as model:
        reply = await model.complete(ModelRequest(messages=turns))
    assert reply.text == "blue"
    assert "red" in str(server.requests[0].body)


async def test_images_and_a_megabyte_of_text_arrive_whole(
    provider: str, server: ModelServer, complete: Complete
) -> None:
    server.say(Answer(text="seen"))
    words = "lorem ipsum " * 87_382
    reply = await complete(provider, ask(words, ImagePart.from_bytes(PNG)))
    assert reply.text == "seen"
    body = str(server.requests[0].body)
    assert words in body
    assert base64.b64encode(PNG).decode() in body.replace("-", "+").replace("_", "/")


async def test_native_tools_headers_and_body_pass_through(
    provider: str, server: ModelServer, complete: Complete
) -> None:
    server.say(Answer(text="ok"))
    native = {
        "anthropic": {"type": "computer_20251124", "name": "computer", "display_width_px": 1280,
                      "display_height_px": 720},
        "openai": {"type": "web_search"},
        "openai-chat": {"type": "custom", "custom": {"name": "shell"}},
        "google": {"google_search": {}},
    }[provider]  # fmt: skip
    await complete(
        provider, ask(native_tools=(native,), headers={"x-beta": "computer-use"}, body={"hint": 1})
    )
    seen = server.requests[0]
    assert seen.headers["x-beta"] == "computer-use"
    assert seen.body["hint"] == 1
    assert len(seen.body["tools"]) == 1


@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        (Answer(status=500), "server"),
        (Answer(status=503), "overloaded"),
        (Answer(status=529), "overloaded"),
        (Answer(raw=HTML, content_type="text/html"), "malformed"),
        (Answer(raw='{"unfinished'), "malformed"),
        (Answer(reset=True), "connection"),
        (Answer(status=429, headers={"retry-after": "0"}), "rate_limit"),
    ],
    ids=["500", "503", "529", "html", "half-json", "reset", "429"],
)
async def test_passing_faults_are_tried_again(
    provider: str, server: ModelServer, complete: Complete, answer: Answer, kind: str
) -> None:
    server.say(answer, Answer(text="at last"))
    reply = await complete(provider, ask())
    assert (reply.text, reply.attempts) == ("at last", 2)
    server.say(answer, answer, answer)
    with pytest.raises(ModelError) as caught:
        await complete(provider, ask())
    assert (caught.value.kind, caught.value.attempts) == (kind, 3)
    assert len(server.requests) == 5


@pytest.mark.parametrize(
    ("status", "kind"),
    [(400, "bad_request"), (401, "auth"), (404, "not_found"), (413, "context_window")],
)
async def test_lasting_faults_are_not_tried_again(
    provider: str, server: ModelServer, complete: Complete, status: int, kind: str
) -> None:
    server.say(Answer(status=status, message="no model 'test-model'"))
    with pytest.raises(ModelError, match="no model 'test-model'") as caught:
        await complete(provider, ask())
    assert (caught.value.kind, caught.value.status, caught.value.attempts) == (kind, status, 1)
    assert len(server.requests) == 1


async def test_a_retry_after_of_an_hour_is_not_waited_for(
    provider: str, server: ModelServer, complete: Complete
) -> None:
    server.say(Answer(status=429, headers={"retry-after": "3600"}))
    started = time.monotonic()
    with pytest.raises(ModelError) as caught:
        await complete(provider, ask())
    assert caught.value.retry_after_s == 3600
    assert time.monotonic() - started < 600
    assert len(server.requests) == 1


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (Answer(hang_s=30), "timeout: no answer within 1 s; the request was not sent again"),
        (
            Answer(text="half of it", cut_after=20),
            "cut off: the connection broke in the midst of the answer",
        ),
        (Answer(status=504), "may have been paid for"),
    ],
    ids=["no answer", "cut in the answer", "a gateway gave up"],
)
async def test_what_may_have_been_paid_for_is_not_sent_again(
    provider: str, server: ModelServer, connect: Connect, answer: Answer, said: str
) -> None:
    server.say(Answer(text="the SDK is loaded"), answer, Answer(text="a second time"))
    async with connect(provider) as model:
        await model.complete(ask())
        model.policy = model.policy.model_copy(update={"timeout_s": 1.0 if answer.hang_s else 60.0})
        with pytest.raises(ModelError, match=said) as caught:
            await model.complete(ask())
    assert caught.value.maybe_paid
    assert (caught.value.attempts, len(server.requests)) == (1, 2)


async def test_a_connection_that_breaks_while_the_model_thinks_is_not_made_again(
    provider: str, server: ModelServer, complete: Complete, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(adapter, "_AT_WORK_S", 0.0)
    server.say(Answer(reset=True), Answer(text="a second time"))
    with pytest.raises(ModelError, match=r"broke after \d+ s of waiting") as caught:
        await complete(provider, ask())
    assert (caught.value.kind, len(server.requests)) == ("cut_off", 1)


async def test_a_server_that_refuses_connections_is_tried_again(
    provider: str,
) -> None:
    with socket.socket() as taken:  # bound and not listening: connections are refused
        taken.bind(("127.0.0.1", 0))
        root = f"http://127.0.0.1:{taken.getsockname()[1]}"
        base_url = f"{root}/v1" if provider.startswith("openai") else root
        policy = RetryPolicy(attempts=3, first_wait_s=0.0)
        async with open_model(
            f"{provider}:m", api_key="none", base_url=base_url, policy=policy
        ) as model:
            with pytest.raises(ModelError) as caught:
                await model.complete(ask())
    assert (caught.value.kind, caught.value.attempts) == ("connection", 3)


async def test_a_server_that_hangs_ends_at_the_deadline_with_one_request(
    provider: str, server: ModelServer, complete: Complete
) -> None:
    server.say(Answer(text="the SDK is loaded"), Answer(hang_s=30))
    await complete(provider, ask())
    policy = RetryPolicy(attempts=3, timeout_s=20, deadline_s=20)
    with pytest.raises(ModelError) as caught:
        await complete(provider, ask(), policy=policy, deadline_s=5.0)
    assert caught.value.kind == "timeout"
    assert len(server.requests) == 2


async def test_nothing_is_sent_after_cancellation(
    provider: str, server: ModelServer, connect: Connect
) -> None:
    server.say(Answer(status=503), Answer(text="too late"))
    policy = RetryPolicy(attempts=5, first_wait_s=5.0, max_wait_s=5.0)
    async with connect(provider, policy=policy) as model:
        call = asyncio.create_task(model.complete(ask()))
        await asyncio.to_thread(server.wait_for_request, 120)
        await asyncio.sleep(0.1)
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        await asyncio.sleep(0.2)
    assert len(server.requests) == 1


async def test_one_model_serves_several_event_loops(
    provider: str, server: ModelServer, connect: Connect
) -> None:
    server.say(Answer(text="one"), Answer(text="two"))
    model = connect(provider)

    def in_own_loop() -> str:
        async def call() -> str:
            async with model:
                return (await model.complete(ask())).text

        return asyncio.run(call())

    assert [await asyncio.to_thread(in_own_loop) for _ in range(2)] == ["one", "two"]
