"""Model calls of agents with a client of their own: passed on, counted and bounded, without the key."""

from __future__ import annotations

import asyncio
import http.client
import importlib.util
import json
import select
import socket
import threading
from typing import TYPE_CHECKING, Any

import pytest
from test_support.model_server import Answer, ModelServer

from bench_core.budgets import Budget, RunBudget, TrialMeter
from bench_core.errors import InputError
from bench_core.models import MissingKeyError, PriceList, PriceRow
from bench_core.models.kept_calls import PROXIED_CALLS
from bench_core.models.proxy import LoopbackModelProxy, TrialProxy, open_model_proxy
from bench_core.models.stream_usage import USAGE_BOUNDED
from bench_core.models.wire_turns import StreamedAnswer, read_answered, read_sent
from bench_core.records import ModelCall

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("httpx") is None, reason="the proxy needs httpx"
)

KEY = "sk-planted-0123456789abcdef-planted"
HELLO = Answer(text="one two three", model="m-1", input_tokens=100, cached_tokens=40)
COUNTED = {"requests": 1, "input_tokens": 100, "cached_input_tokens": 40, "output_tokens": 20}
PRICES = PriceList(
    [
        PriceRow(model=name, input=10, cached_input=1, cache_write=12.5, output=100)
        for name in ("m-1", "m")
    ]
)
COST = (60 * 10 + 40 * 1 + 20 * 100) / 1e6
PATHS = {
    "anthropic": "/v1/messages",
    "openai": "/v1/responses",
    "openai-chat": "/v1/chat/completions",
    "google": "/v1beta/models/m:generateContent",
}
BODIES: dict[str, dict[str, Any]] = {
    "anthropic": {"model": "m", "max_tokens": 500, "messages": [{"role": "user", "content": "hi"}]},
    "openai": {"model": "m", "max_output_tokens": 500, "input": "hi"},
    "openai-chat": {
        "model": "m",
        "max_tokens": 500,
        "messages": [{"role": "user", "content": "hi"}],
    },
    "google": {
        "contents": [{"role": "user", "parts": [{"text": "hi"}]}],
        "generationConfig": {"maxOutputTokens": 500},
    },
}
APIS = tuple(PATHS)
WAYS = ("whole", "streamed")


class Session:
    """A proxy before a scripted server, and one trial's part of it."""

    def __init__(self, proxy: LoopbackModelProxy, server: ModelServer, budget: Budget) -> None:
        self.proxy = proxy
        self.server = server
        self.meter: TrialMeter = RunBudget(budget).meter()
        self.calls: TrialProxy = proxy.trial(self.meter)

    @property
    def usage(self) -> dict[str, int]:
        return self.meter.spent.usage.model_dump(exclude_defaults=True)

    def post(
        self, provider: str, *, stream: bool = False, secret: str | None = None, **more: Any
    ) -> tuple[int, bytes]:
        connection = self.send(provider, stream=stream, secret=secret, **more)
        try:
            answer = connection.getresponse()
            return answer.status, answer.read()
        finally:
            connection.close()

    def send(
        self, provider: str, *, stream: bool = False, secret: str | None = None, **more: Any
    ) -> http.client.HTTPConnection:
        path, body = PATHS[provider], {**BODIES[provider], **more}
        if stream and provider == "google":
            path = path.replace(":g", ":streamG") + "?alt=sse"
        elif stream:
            body["stream"] = True
        connection = http.client.HTTPConnection(self.proxy.url.removeprefix("http://"), timeout=300)
        headers = {"content-type": "application/json", "x-api-key": secret or self.calls.secret}
        connection.request("POST", path, json.dumps(body), headers)
        return connection

    def close(self) -> None:
        asyncio.run(self.calls.close())


@pytest.fixture
def session(
    server: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Callable[..., Session]]:
    opened = []

    def open_(provider: str, drain_s: float = 60.0, **budget: Any) -> Session:
        vendor = provider.partition("-")[0]
        for name in ("ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GEMINI_API_KEY"):
            monkeypatch.setenv(name, KEY)
        url = {
            "anthropic": "ANTHROPIC_BASE_URL",
            "openai": "OPENAI_BASE_URL",
            "google": "GOOGLE_GEMINI_BASE_URL",
        }
        monkeypatch.setenv(url[vendor], server.base_url(provider))
        way = open_model_proxy(f"{provider}:m", None, drain_s=drain_s)
        proxy = way.__enter__()
        proxy._prices = PRICES
        opened.append(way)
        return Session(proxy, server, Budget(**budget))

    yield open_
    for each in opened:
        each.__exit__(None, None, None)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("provider", APIS)
def test_a_call_is_passed_on_with_the_key_and_counted(
    provider: str, way: str, session: Callable[..., Session], server: ModelServer
) -> None:
    server.say(HELLO)
    own = session(provider)
    status, body = own.post(provider, stream=way == "streamed")
    own.close()
    assert (status, b"one" in body, b"three" in body) == (200, True, True)
    assert own.usage == COUNTED
    assert own.meter.spent.cost_usd == pytest.approx(COST)
    sent = json.dumps(server.requests[0].headers)
    assert KEY in sent
    assert own.calls.secret not in sent
    assert own.meter.flags == {}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("provider", APIS)
def test_an_agent_with_a_raw_client_stops_within_one_call_of_its_budget(
    provider: str, way: str, session: Callable[..., Session], server: ModelServer
) -> None:
    server.say(*[HELLO] * 10)
    own = session(provider, max_tokens=300)
    answers = [own.post(provider, stream=way == "streamed") for _ in range(6)]
    own.close()
    assert [status for status, _ in answers] == [200, 200, 200, 403, 403, 403]
    assert (len(server.requests), own.meter.spent.usage.total_tokens) == (3, 360)
    error = json.loads(answers[-1][1])["error"]
    assert "360 of 300 tokens are used" in error["message"]
    kind = {"anthropic": ("type", "permission_error"), "google": ("status", "PERMISSION_DENIED")}
    name, value = kind.get(provider, ("code", "insufficient_quota"))
    assert error[name] == value
    assert own.calls.refused is not None
    assert own.meter.stopped


def test_many_calls_at_once_do_not_go_beyond_a_budget_together(
    session: Callable[..., Session], server: ModelServer
) -> None:
    server.say(*[HELLO] * 20)
    own = session("anthropic", max_cost_usd=COST * 2)
    statuses: list[int] = []
    threads = [
        threading.Thread(target=lambda: statuses.append(own.post("anthropic")[0]))
        for _ in range(10)
    ]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert (sorted(statuses), len(server.requests)) == ([200] * 2 + [403] * 8, 2)


def test_what_another_trial_spent_stops_this_one_too(
    session: Callable[..., Session], server: ModelServer
) -> None:
    server.say(*[HELLO] * 2)
    own = session("openai")
    run = RunBudget(Budget(max_tokens=100))
    one, other = run.meter(), run.meter()
    first, second = own.proxy.trial(one), own.proxy.trial(other)
    assert own.post("openai", secret=first.secret)[0] == 200
    assert own.post("openai", secret=second.secret)[0] == 403
    assert (one.stopped, other.stopped, len(server.requests)) == (True, True, 1)
    assert first.refused is None


def sdk_call(provider: str, variables: dict[str, str], *, stream: bool) -> str:
    """Call a model as an agent does that knows nothing but its environment."""
    call = {"anthropic": ask_claude, "google": ask_gemini, "openai": ask_gpt, "openai-chat": chat}
    return call[provider](variables, stream)


def ask_claude(variables: dict[str, str], stream: object) -> str:
    import anthropic

    client = anthropic.Anthropic(
        api_key=variables["ANTHROPIC_API_KEY"], base_url=variables["ANTHROPIC_BASE_URL"]
    )
    asked: Any = {"model": "m", "max_tokens": 50, "messages": [{"role": "user", "content": "hi"}]}
    if stream:
        with client.messages.stream(**asked) as events:
            return str(events.get_final_text())
    return str(client.messages.create(**asked).content[0].text)


def ask_gemini(variables: dict[str, str], stream: object) -> str:
    from google import genai

    client = genai.Client(
        api_key=variables["GEMINI_API_KEY"],
        http_options={"base_url": variables["GOOGLE_GEMINI_BASE_URL"]},
    )
    if stream:
        pieces = client.models.generate_content_stream(model="m", contents="hi")
        return "".join(str(each.text or "") for each in pieces)
    return str(client.models.generate_content(model="m", contents="hi").text)


def ask_gpt(variables: dict[str, str], stream: object) -> str:
    gpt = openai_client(variables)
    if stream:
        with gpt.responses.stream(model="m", input="hi") as events:
            return str(events.get_final_response().output_text)
    return str(gpt.responses.create(model="m", input="hi").output_text)


def chat(variables: dict[str, str], stream: object) -> str:
    gpt = openai_client(variables)
    said: Any = {"model": "m", "messages": [{"role": "user", "content": "hi"}]}
    if stream:
        # as many programs do, which an event without choices would break
        chunks = gpt.chat.completions.create(**said, stream=True)
        return "".join(each.choices[0].delta.content or "" for each in chunks)
    return str(gpt.chat.completions.create(**said).choices[0].message.content)


def openai_client(variables: dict[str, str]) -> Any:
    import openai

    return openai.OpenAI(api_key=variables["OPENAI_API_KEY"], base_url=variables["OPENAI_BASE_URL"])


@pytest.mark.parametrize("way", WAYS)
def test_the_real_sdks_work_and_do_not_try_again_what_is_refused(
    provider: str, way: str, session: Callable[..., Session], server: ModelServer
) -> None:
    server.say(*[HELLO] * 5)
    own = session(provider, max_tokens=120)
    variables = dict(own.calls.variables)
    assert sdk_call(provider, variables, stream=way == "streamed") == "one two three"
    assert own.usage == COUNTED
    with pytest.raises(Exception, match="tokens are used"):
        sdk_call(provider, variables, stream=way == "streamed")
    assert len(server.requests) == 1
    assert KEY not in json.dumps(variables)


@pytest.mark.parametrize("provider", APIS)
def test_an_agent_is_told_that_a_stream_has_ended_once_the_call_is_counted(
    provider: str, session: Callable[..., Session], server: ModelServer
) -> None:
    server.say(HELLO)
    own = session(provider)
    sent, counted = threading.Event(), threading.Event()
    had: list[bytes] = []

    def look(_source: str, _spent: object) -> None:
        assert sent.wait(60)
        there, _, _ = select.select([connection.sock], [], [], 0)
        had.append(connection.sock.recv(1 << 20, socket.MSG_PEEK) if there else b"")
        counted.set()

    own.meter.on_spend = look
    connection = own.send(provider, stream=True)
    sent.set()
    assert counted.wait(60)
    answer = connection.getresponse().read()
    connection.close()
    end = {
        "anthropic": b"message_stop",
        "openai": b"response.completed",
        "openai-chat": b"[DONE]",
        "google": b"finishReason",
    }[provider]
    assert end in answer
    assert not any(end in each for each in had) or provider == "google"
    assert [each.endswith(b"0\r\n\r\n") for each in had] == [False]


@pytest.mark.parametrize("provider", APIS)
def test_a_stream_that_its_agent_leaves_is_counted_from_above_and_says_so(
    provider: str, session: Callable[..., Session], server: ModelServer
) -> None:
    server.say(
        Answer(text="one two three", model="m-1", stalls_after=4 if provider != "google" else 2)
    )
    own = session(provider, drain_s=0.2)
    connection = own.send(provider, stream=True)
    answer = connection.getresponse()
    assert answer.readline()  # what has come is passed on before the rest is there
    answer.close()
    connection.close()
    own.close()
    known = provider in {"anthropic", "google"}
    assert own.meter.spent.usage.output_tokens == 500
    assert (own.meter.spent.usage.input_tokens == 100) == known
    assert own.meter.spent.usage.input_tokens >= 100
    assert list(own.meter.flags) == [USAGE_BOUNDED]
    assert "the most it can be is counted" in own.calls.notes[0]


def test_a_stream_that_its_agent_leaves_and_that_ends_soon_is_counted_as_reported(
    session: Callable[..., Session], server: ModelServer
) -> None:
    server.say(Answer(text="one two three", model="m-1", hang_s=0.3))
    own = session("anthropic")
    own.send("anthropic", stream=True).close()
    server.wait_for_request(60)
    own.close()
    assert (own.usage, own.meter.flags) == (COUNTED, {})


def test_failures_of_the_provider_are_passed_on_and_cost_nothing(
    session: Callable[..., Session], server: ModelServer
) -> None:
    server.say(
        Answer(status=529, message=f"overloaded, {KEY}", headers={"retry-after": "7"}),
        Answer(status=400, message="no"),
        Answer(reset=True),
        HELLO,
    )
    own = session("anthropic")
    status, body = own.post("anthropic")
    assert (status, KEY.encode() in body) == (529, False)
    faults = [own.calls.latest.unserved]
    assert own.post("anthropic")[0] == 400
    faults.append(own.calls.latest.unserved)
    assert own.post("anthropic")[0] == 502
    faults.append(own.calls.latest.unserved)
    assert [each.fault for each in faults if each] == ["overloaded", "bad_request", "connection"]
    assert KEY not in "".join(map(str, faults))
    assert own.post("anthropic")[0] == 200
    own.close()
    assert own.calls.latest.unserved is None
    assert own.usage == {**COUNTED, "requests": 4}
    assert own.meter.spent.cost_usd == pytest.approx(COST)


def test_a_key_that_a_server_sends_back_is_removed(
    session: Callable[..., Session], server: ModelServer
) -> None:
    server.say(Answer(text=f"it is {KEY} so"), Answer(text=f"it is {KEY} so"))
    own = session("openai-chat")
    for stream in (False, True):
        status, body = own.post("openai-chat", stream=stream)
        assert (status, b"[REDACTED]" in body, KEY.encode() in body) == (200, True, False)


def test_an_answer_without_usage_counts_the_most_it_can_be(
    session: Callable[..., Session], server: ModelServer
) -> None:
    server.say(Answer(raw='{"id": "x", "choices": []}'))
    own = session("openai-chat")
    assert own.post("openai-chat", n=2)[0] == 200
    assert own.meter.spent.usage.output_tokens == 1000
    assert list(own.meter.flags) == [USAGE_BOUNDED]


def test_a_program_that_asks_for_usage_gets_it(
    session: Callable[..., Session], server: ModelServer
) -> None:
    server.say(HELLO, HELLO)
    own = session("openai-chat")
    asked = {"stream_options": {"include_usage": True}}
    assert b'"prompt_tokens": 100' in own.post("openai-chat", stream=True, **asked)[1]
    assert b'"prompt_tokens": 100' not in own.post("openai-chat", stream=True)[1]
    assert own.meter.spent.usage.total_tokens == 240


def raw(session: Session, data: bytes) -> bytes:
    import socket

    host, _, port = session.proxy.url.removeprefix("http://").partition(":")
    with socket.create_connection((host, int(port)), timeout=60) as connection:
        connection.sendall(data)
        found = b""
        while part := connection.recv(65536):
            found += part
    return found


@pytest.mark.parametrize(
    ("head", "status"),
    [
        ("GET /v1/models HTTP/1.1\r\nx-api-key: {secret}", 404),
        ("POST /v1/files HTTP/1.1\r\nx-api-key: {secret}\r\ncontent-length: 2", 404),
        ("POST /v1/messages/batches HTTP/1.1\r\nx-api-key: {secret}", 404),
        ("POST /v1/responses HTTP/1.1\r\nauthorization: Bearer {secret}\r\ncontent-length: 2", 403),
        ("POST /v1/messages HTTP/1.1\r\nx-api-key: guessed\r\ncontent-length: 2", 401),
        ("POST /v1/messages HTTP/1.1\r\ncontent-length: 2", 401),
        ("POST /v1/messages HTTP/1.1\r\nx-api-key: {secret}\r\ncontent-length: 2", 400),
        ("POST /v1/messages HTTP/1.1\r\nx-api-key: {secret}", 400),
        ("POST /v1/messages HTTP/1.1\r\nx-api-key: {secret}\r\ntransfer-encoding: chunked", 400),
        ("POST /v1/messages HTTP/1.1\r\nx-api-key: {secret}\r\ncontent-length: 99999999", 413),
        ("POST /v1/messages HTTP/1.1\r\nx-api-key: {secret}\r\nx-api-key: {secret}", 400),
        ("POST /v1/messages HTTP/1.1\r\nfiller: " + "x" * 100_000, 413),
        ("hello", 400),
        ("POST /v1/messages HTTP/1.1\r\nhost: [::1]evil\r\nx-api-key: {secret}", 400),
        ("POST /v1/messages HTTP/1.1\r\nhost: evil.example\r\nx-api-key: {secret}", 400),
    ],
)
def test_what_is_no_call_of_the_trials_model_is_refused(
    head: str, status: int, session: Callable[..., Session], server: ModelServer
) -> None:
    own = session("anthropic")
    host = "" if "host:" in head else "\r\nhost: 127.0.0.1"
    said = head.replace("{secret}", own.calls.secret) + host
    answer = raw(own, (said + "\r\n\r\n[]").encode())
    assert answer.startswith(f"HTTP/1.1 {status} ".encode())
    assert (server.requests, own.usage) == ([], {})


def test_a_trial_that_is_over_has_no_secret(
    session: Callable[..., Session], server: ModelServer
) -> None:
    own = session("anthropic")
    own.close()
    assert own.post("anthropic")[0] == 401
    assert server.requests == []


def test_a_response_in_the_background_is_refused(
    session: Callable[..., Session], server: ModelServer
) -> None:
    own = session("openai")
    status, body = own.post("openai", background=True)
    assert (status, b"no one here could count" in body) == (400, True)
    assert (server.requests, own.usage) == ([], {})


def test_counting_tokens_costs_nothing(
    session: Callable[..., Session], server: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.say(Answer(raw='{"input_tokens": 7}'))
    own = session("anthropic")
    monkeypatch.setitem(PATHS, "anthropic", "/v1/messages/count_tokens")
    assert own.post("anthropic") == (200, b'{"input_tokens": 7}')
    assert (own.usage, own.meter.flags) == ({}, {})


def test_a_provider_without_a_key_or_an_api_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GEMINI_API_KEY", "GOOGLE_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(MissingKeyError), open_model_proxy("anthropic:m"):
        pass
    with (
        pytest.raises(InputError, match="not of 'scripted:x'"),
        open_model_proxy("scripted:x"),
    ):
        pass
    with pytest.raises(InputError, match="no key to pass calls on with"), open_model_proxy():
        pass


@pytest.mark.parametrize("model", ["openai-chat:m", None])
def test_a_server_that_the_environment_names_needs_no_key(
    server: ModelServer, monkeypatch: pytest.MonkeyPatch, model: str | None
) -> None:
    for name in ("ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GEMINI_API_KEY", "GOOGLE_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("OPENAI_BASE_URL", server.base_url("openai"))
    server.say(HELLO)
    with open_model_proxy(model) as proxy:
        own = Session(proxy, server, Budget())
        assert own.post("openai")[0] == 200
        own.close()


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("provider", APIS)
def test_what_went_through_is_kept_in_the_trial_s_folder(
    session: Callable[..., Session], server: ModelServer, provider: str, way: str, tmp_path: Path
) -> None:
    server.say(HELLO, Answer(status=400, message="no such thing"))
    own = session(provider)
    own.calls = own.proxy.trial(own.meter, tmp_path)
    assert own.post(provider, stream=way == "streamed")[0] == 200
    assert own.post(provider)[0] == 400
    own.close()
    lines = (tmp_path / PROXIED_CALLS).read_text(encoding="utf-8").splitlines()
    first, second = map(ModelCall.model_validate_json, lines)
    assert [part.text for turn in first.turns for part in turn.parts] == ["hi"]
    assert "".join(part.text for part in first.reply) == "one two three"
    assert first.usage.model_dump(exclude_defaults=True) == COUNTED
    assert (first.model, first.model_reported) == (f"{provider}:m", "m-1")
    assert first.stop is not None
    assert (second.turns, second.length, second.reply) == ((), 1, ())
    assert second.error.startswith("HTTP 400: ")
    assert "no such thing" in second.error
    assert own.calls.secret not in "".join(lines)


@pytest.mark.parametrize(
    ("body", "parts"),
    [
        (
            {"messages": [{"role": "user", "content": [
                {"type": "tool_result", "tool_use_id": "t1", "is_error": True, "content": "gone"},
                {"type": "image", "source": {"type": "base64", "data": "QUJD" * 60}}]}]},
            [("result", "t1", True), ("picture", None, False)],
        ),
        (
            {"messages": [{"role": "assistant", "content": None, "tool_calls": [
                {"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{}"}}]},
                {"role": "tool", "tool_call_id": "c1", "content": "ok"}]},
            [("call", "c1", False), ("result", "c1", False)],
        ),
        (
            {"input": [{"type": "function_call", "call_id": "c1", "name": "f", "arguments": "{"},
                {"type": "function_call_output", "call_id": "c1", "output": "ok"},
                {"type": "reasoning", "encrypted_content": "x"}]},
            [("call", "c1", False), ("result", "c1", False), ("other", None, False)],
        ),
        (
            {"contents": [{"role": "model", "parts": [{"functionCall": {"name": "f", "args": {}}}]},
                {"parts": [{"functionResponse": {"name": "f", "response": {"output": "ok"}}}]}]},
            [("call", None, False), ("result", None, False)],
        ),
        ({"messages": [7, {"role": "user", "content": [{"type": "tool_use", "function": 3}]}]},
            [("other", None, False), ("other", None, False)]),
    ],
    ids=["anthropic", "openai-chat", "openai", "google", "nonsense"],
)  # fmt: skip
def test_turns_of_every_api_are_read(body: dict[str, Any], parts: list[Any]) -> None:
    sent = read_sent("m", body)
    found = [part for turn in sent.turns for part in sent.read(turn)[1]]
    assert [(part.type, part.call_id, part.failed) for part in found] == parts


@pytest.mark.parametrize("provider", APIS)
def test_streamed_calls_of_tools_are_put_together(provider: str) -> None:
    events: dict[str, list[dict[str, Any]]] = {
        "anthropic": [
            {"type": "message_start", "message": {"model": "m"}},
            {"type": "content_block_start", "content_block": {"type": "tool_use", "id": "c", "name": "f", "input": {}}},
            {"type": "content_block_delta", "delta": {"type": "input_json_delta", "partial_json": '{"x"'}},
            {"type": "content_block_delta", "delta": {"type": "input_json_delta", "partial_json": ": 7}"}},
            {"type": "content_block_delta", "delta": 3},
            {"type": "message_delta", "delta": {"stop_reason": "tool_use"}},
        ],
        "openai": [{"type": "response.completed", "response": {"status": "completed", "output": [
            {"type": "function_call", "call_id": "c", "name": "f", "arguments": '{"x": 7}'}]}}],
        "openai-chat": [
            {"choices": [{"delta": {"tool_calls": [{"id": "c", "function": {"name": "f", "arguments": '{"x"'}}]}}]},
            {"choices": [{"delta": {"tool_calls": [{"function": {"arguments": ": 7}"}}]}, "finish_reason": "tool_calls"}]},
        ],
        "google": [{"candidates": [{"content": {"parts": [{"functionCall": {"id": "c", "name": "f", "args": {"x": 7}}}]}, "finishReason": "STOP"}]}],
    }  # fmt: skip
    said = StreamedAnswer()
    for event in events[provider]:
        said.read(event)
    answered = read_answered(said.data)
    (call,) = answered.parts
    assert (call.type, call.name, call.call_id, call.arguments) == ("call", "f", "c", {"x": 7})
    assert answered.stop
