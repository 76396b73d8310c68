"""A local model server that speaks the wire formats of three providers.

It takes the place of Anthropic's Messages, OpenAI's Responses and Chat Completions and Google's
generateContent: the real SDKs talk to it over a socket. What it says is scripted; what it was asked
is kept. The replies are written by hand after the providers' documented formats.
"""

from __future__ import annotations

import contextlib
import json
import socket
import struct
import threading
import time
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

from bench_core.serving import BoundedHandler, BoundedServer
from test_support.model_requests import Seen
from test_support.model_streams import events_of, is_streamed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from types import TracebackType

    from typing_extensions import Self

    from test_support.model_rules import Rules

__all__ = ["Answer", "ModelServer", "Seen"]

_CREATED = 1_700_000_000


@dataclass(frozen=True)
class Answer:
    """What the server says to one request, whatever API it came by.

    Attributes:
        toolset: The provider's own tool that the calls are for: Claude's toolset, or OpenAI's `computer`, whose calls
            are the actions of one call.
        safety_checks: What OpenAI asks to have acknowledged.
        stop: `end`, `tool_use`, `length` or `refusal`.
        status: HTTP status; from 400 on an error body of the API in question.
        raw: Send this body as it is (an HTML page, half a document).
        hang_s: Wait before answering; the connection is dropped when the server stops.
        reset: Drop the connection instead of answering.
        cut_after: Drop the connection after so many bytes of a whole answer's body.
        stalls_after: So many events of a streamed answer are sent, and then nothing until the server stops.
    """

    text: str = ""
    thinking: str | None = None
    tool_calls: tuple[tuple[str, dict[str, Any]], ...] = ()
    toolset: str | None = None
    safety_checks: tuple[str, ...] = ()
    stop: str = "end"
    model: str | None = None
    input_tokens: int = 100
    cached_tokens: int = 40
    output_tokens: int = 20
    reasoning_tokens: int = 0
    status: int = 200
    message: str = "the server says no"
    headers: dict[str, str] = field(default_factory=dict)
    raw: str | None = None
    content_type: str = "application/json"
    hang_s: float = 0.0
    reset: bool = False
    stalls_after: int | None = None
    cut_after: int | None = None


class ModelServer:
    """A loopback server; a context manager.

    With `rules` it refuses what the providers refuse. Who asks for the description of a model, which is not
    kept among the requests, gets it; an error instead where `look_up` is one.

    >>> with ModelServer([Answer(text="hello")]) as server:
    ...     server.base_url("openai").startswith("http://127.0.0.1:")
    True
    """

    def __init__(
        self,
        answers: Iterable[Answer] | Callable[[Seen], Answer] = (),
        *,
        rules: Rules | None = None,
        look_up: Answer | None = None,
    ) -> None:
        self.rules = rules
        self.look_up = look_up or Answer()
        self.requests: list[Seen] = []
        self._answer = answers if callable(answers) else None
        self._answers = [] if callable(answers) else list(answers)
        self._lock = threading.Lock()
        self.stopping = threading.Event()
        self._arrived = threading.Event()
        self._server = _Server(("127.0.0.1", 0), _Handler)
        self._server.owner = self

    def base_url(self, provider: str) -> str:
        """Return the base URL to give the SDK of `provider`."""
        root = f"http://127.0.0.1:{self._server.server_address[1]}"
        return f"{root}/v1" if provider.startswith("openai") else root

    def say(self, *answers: Answer) -> None:
        """Add answers to the script."""
        with self._lock:
            self._answers.extend(answers)

    def take(self, seen: Seen) -> Answer:
        """Note a request and return what to say; a script that has ended answers 500."""
        with self._lock:
            self.requests.append(seen)
            self._arrived.set()
            refused = self.rules.refusal(seen) if self.rules else None
            if refused is not None:
                return Answer(status=refused[0], message=refused[1])
            if self._answer is not None:
                return self._answer(seen)
            if self._answers:
                return self._answers.pop(0)
        return Answer(status=500, message="the server's script has ended")

    def wait_for_request(self, timeout_s: float = 10.0) -> Seen:
        """Wait until a request has arrived and return the latest.

        Raises:
            TimeoutError: None came.
        """
        if not self._arrived.wait(timeout_s):
            raise TimeoutError(f"no request within {timeout_s} s")
        return self.requests[-1]

    def __enter__(self) -> Self:
        self._server.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stopping.set()
        self._server.stop()


class _Server(BoundedServer):
    owner: ModelServer


class _Handler(BoundedHandler):
    server: _Server
    most_body = 64 * 1024 * 1024  # Anthropic takes 32 MB, OpenAI and Google 50 MB and less

    def do_POST(self) -> None:
        try:
            body = json.loads(self.body or b"{}")
        except (ValueError, RecursionError):
            body = None
        if not isinstance(body, dict):
            self.send_error(HTTPStatus.BAD_REQUEST, explain="the body is no JSON object")
            return
        headers = {key.lower(): value for key, value in self.headers.items()}
        seen = Seen(self.path, headers, body, time.monotonic())
        owner = self.server.owner
        answer = owner.take(seen)
        if answer.hang_s:
            owner.stopping.wait(answer.hang_s)
        if answer.reset or owner.stopping.is_set():
            self._drop()
        elif answer.status == HTTPStatus.OK and answer.raw is None and is_streamed(seen):
            self._stream(answer, events_of(json.loads(_body(answer, seen)), seen))
        else:
            self._send(answer, _body(answer, seen))

    def do_GET(self) -> None:
        """Describe a model, as all three providers do for nothing."""
        owner, name = self.server.owner, self.path.partition("?")[0].rpartition("/")[2]
        answer = owner.look_up
        if answer.hang_s:
            owner.stopping.wait(answer.hang_s)
        described = {"id": name, "object": "model", "type": "model", "name": f"models/{name}",
                     "display_name": name, "created": _CREATED, "owned_by": "a test",
                     "created_at": "2026-01-01T00:00:00Z"}  # fmt: skip
        body: Any = described
        if answer.status >= 400:  # HTTP errors
            error = {"message": answer.message, "type": "error", "code": answer.status}
            body = {"type": "error", "error": error}
        self._send(answer, json.dumps(body) if answer.raw is None else answer.raw)

    def _stream(self, answer: Answer, events: Iterable[bytes]) -> None:
        try:
            self.send_response(answer.status)
            self.send_header("content-type", "text/event-stream")
            self.send_header("transfer-encoding", "chunked")
            self.end_headers()
            for number, event in enumerate(events):
                if number == answer.stalls_after:
                    self.server.owner.stopping.wait()
                    self._drop()
                    return
                self.wfile.write(b"%x\r\n%b\r\n" % (len(event), event))
                self.wfile.flush()
            self.wfile.write(b"0\r\n\r\n")
        except OSError:
            self.close_connection = True  # the client gave up

    def _drop(self) -> None:
        # Linger 0 makes close() send RST instead of FIN.
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.close_connection = True
        self.connection.close()

    def _send(self, answer: Answer, body: str) -> None:
        data = body.encode("utf-8")
        try:
            self.send_response(answer.status)
            self.send_header("content-type", answer.content_type)
            self.send_header("content-length", str(len(data)))
            for name, value in answer.headers.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(data[: answer.cut_after])
        except OSError:
            self.close_connection = True  # the client gave up; that is what some tests want
        if answer.cut_after is not None:
            self._drop()

    def finish(self) -> None:
        with contextlib.suppress(OSError, ValueError):  # dropped on purpose
            super().finish()


def _body(answer: Answer, seen: Seen) -> str:
    if answer.raw is not None:
        return answer.raw
    if seen.path.startswith("/v1/messages"):
        reply = _anthropic
    elif seen.path.startswith("/v1/responses"):
        reply = _openai_responses
    elif seen.path.startswith("/v1/chat/completions"):
        reply = _openai_chat
    else:
        reply = _google
    return json.dumps(reply(answer, seen))


def _anthropic(answer: Answer, seen: Seen) -> dict[str, Any]:
    if answer.status >= 400:  # HTTP errors
        error = {"type": "api_error", "message": answer.message}
        return {"type": "error", "error": error, "request_id": "req_1"}
    content: list[dict[str, Any]] = []
    if answer.thinking is not None:
        thinking = {"type": "thinking", "thinking": answer.thinking, "signature": "c2lnbmVk"}
        content.append(thinking)
    if answer.text:
        content.append({"type": "text", "text": answer.text})
    for number, (name, arguments) in enumerate(answer.tool_calls):
        made = f"toolu_{_turns(seen, 'messages')}{number}"
        block = {"type": "tool_use", "id": made, "name": name, "input": arguments}
        content.append({**block, "toolset_name": answer.toolset} if _own(answer, name) else block)
    stops = {"end": "end_turn", "length": "max_tokens"}
    return {
        "id": "msg_1", "type": "message", "role": "assistant",
        "model": answer.model or seen.body["model"], "content": content,
        "stop_reason": stops.get(answer.stop, answer.stop), "stop_sequence": None,
        "usage": {
            "input_tokens": answer.input_tokens - answer.cached_tokens,
            "cache_read_input_tokens": answer.cached_tokens, "cache_creation_input_tokens": 0,
            "output_tokens": answer.output_tokens,
            "output_tokens_details": {"thinking_tokens": answer.reasoning_tokens},
        },
    }  # fmt: skip


def _own(answer: Answer, name: str) -> bool:
    """Whether a call is of the provider's own tool, and not of the tools that agents add."""
    # Claude's toolset for browsers has a `switch_tab` of its own
    added = {"done", "fail", "goto", "back"} | (
        set() if answer.toolset == "browser" else {"switch_tab"}
    )
    return answer.toolset is not None and name not in added


def _turns(seen: Seen, key: str) -> str:
    """Return what makes the ids of a conversation's later calls others than those of its first."""
    turns = len(seen.body.get(key) or ())
    return f"{turns}_" if turns > 1 else ""


def _computer_call(answer: Answer, actions: list[dict[str, Any]], made: str) -> dict[str, Any]:
    checks = [{"id": each, "code": each, "message": each} for each in answer.safety_checks]
    call = {"type": "computer_call", "id": f"cu_{made}", "call_id": f"call_{made}",
            "status": "completed", "pending_safety_checks": checks}  # fmt: skip
    if answer.toolset == "computer_use_preview":
        return {**call, "action": actions[0]}
    return {**call, "actions": actions}


def _openai_error(answer: Answer) -> dict[str, Any]:
    error = {"message": answer.message, "type": "error", "param": None, "code": None}
    return {"error": error}


def _openai_responses(answer: Answer, seen: Seen) -> dict[str, Any]:
    if answer.status >= 400:  # HTTP errors
        return _openai_error(answer)
    output: list[dict[str, Any]] = []
    if answer.thinking is not None:
        encrypted = "reasoning.encrypted_content" in (seen.body.get("include") or ())
        thought: dict[str, Any] = {"type": "reasoning", "id": "rs_1", "summary": []}
        output.append({**thought, "encrypted_content": "c2VjcmV0"} if encrypted else thought)
    content: list[dict[str, Any]] = []
    if answer.stop == "refusal":
        content.append({"type": "refusal", "refusal": answer.text or "I cannot help with that."})
    elif answer.text:
        content.append({"type": "output_text", "text": answer.text, "annotations": []})
    if content:
        turn = {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed"}
        output.append({**turn, "content": content})
    own = [{"type": name, **args} for name, args in answer.tool_calls if _own(answer, name)]
    if own:
        output.append(_computer_call(answer, own, f"{_turns(seen, 'input')}c"))
    for number, (name, arguments) in enumerate(answer.tool_calls):
        if _own(answer, name):
            continue
        made = f"{_turns(seen, 'input')}{number}"
        call = {"type": "function_call", "id": f"fc_{made}", "call_id": f"call_{made}"}
        output.append({**call, "name": name, "arguments": json.dumps(arguments)})
    short = answer.stop == "length"
    return {
        "id": "resp_1", "object": "response", "created_at": _CREATED,
        "model": answer.model or seen.body["model"], "output": output,
        "status": "incomplete" if short else "completed", "error": None,
        "incomplete_details": {"reason": "max_output_tokens"} if short else None,
        "instructions": None, "metadata": {}, "parallel_tool_calls": True, "temperature": 1.0,
        "tool_choice": "auto", "tools": [], "top_p": 1.0,
        "usage": {
            "input_tokens": answer.input_tokens,
            "input_tokens_details": {"cached_tokens": answer.cached_tokens},
            "output_tokens": answer.output_tokens,
            "output_tokens_details": {"reasoning_tokens": answer.reasoning_tokens},
            "total_tokens": answer.input_tokens + answer.output_tokens,
        },
    }  # fmt: skip


def _openai_chat(answer: Answer, seen: Seen) -> dict[str, Any]:
    if answer.status >= 400:  # HTTP errors
        return _openai_error(answer)
    refused = answer.stop == "refusal"
    message: dict[str, Any] = {
        "role": "assistant",
        "content": None if refused else answer.text or None,
        "refusal": (answer.text or "I cannot help with that.") if refused else None,
    }
    if answer.tool_calls:
        message["tool_calls"] = [
            {
                "id": f"call_{_turns(seen, 'messages')}{number}", "type": "function",
                "function": {"name": name, "arguments": json.dumps(arguments)},
            }
            for number, (name, arguments) in enumerate(answer.tool_calls)
        ]  # fmt: skip
    stops = {"end": "stop", "tool_use": "tool_calls", "refusal": "stop"}
    choice = {
        "index": 0, "message": message, "logprobs": None,
        "finish_reason": stops.get(answer.stop, answer.stop),
    }  # fmt: skip
    return {
        "id": "chatcmpl_1", "object": "chat.completion", "created": _CREATED,
        "model": answer.model or seen.body["model"], "choices": [choice],
        "usage": {
            "prompt_tokens": answer.input_tokens, "completion_tokens": answer.output_tokens,
            "total_tokens": answer.input_tokens + answer.output_tokens,
            "prompt_tokens_details": {"cached_tokens": answer.cached_tokens},
            "completion_tokens_details": {"reasoning_tokens": answer.reasoning_tokens},
        },
    }  # fmt: skip


def _google(answer: Answer, seen: Seen) -> dict[str, Any]:
    if answer.status >= 400:  # HTTP errors
        error = {"code": answer.status, "message": answer.message, "status": "UNAVAILABLE"}
        return {"error": error}
    parts: list[dict[str, Any]] = []
    if answer.thinking is not None:
        parts.append({"text": answer.thinking, "thought": True, "thoughtSignature": "c2lnbmVk"})
    if answer.text and answer.stop != "refusal":
        parts.append({"text": answer.text})
    for name, arguments in answer.tool_calls:
        parts.append({"functionCall": {"name": name, "args": arguments}})
    stops = {"end": "STOP", "tool_use": "STOP", "length": "MAX_TOKENS", "refusal": "SAFETY"}
    candidate: dict[str, Any] = {
        "content": {"role": "model", "parts": parts}, "finishReason": stops[answer.stop],
        "index": 0,
    }  # fmt: skip
    if answer.stop == "refusal":
        candidate["finishMessage"] = answer.text or "I cannot help with that."
    return {
        "candidates": [candidate],
        "modelVersion": answer.model or seen.path.rpartition("/")[2].partition(":")[0],
        "responseId": "gen_1",
        "usageMetadata": {
            "promptTokenCount": answer.input_tokens,
            "cachedContentTokenCount": answer.cached_tokens,
            "candidatesTokenCount": answer.output_tokens - answer.reasoning_tokens,
            "thoughtsTokenCount": answer.reasoning_tokens,
            "totalTokenCount": answer.input_tokens + answer.output_tokens,
        },
    }
