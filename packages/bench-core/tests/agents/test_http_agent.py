from __future__ import annotations

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any

import pytest

from bench_core.agents import http_agent
from bench_core.errors import EnvironmentFaultError
from bench_core.records import Status

if TYPE_CHECKING:
    from collections.abc import Iterator

    from drawn import DrawnDesktop

    from bench_core.protocols import DesktopHandle, TrialContext
    from bench_core.records import AgentTask


class _Agent(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        self.server.asked.append((self.path, body))  # type: ignore[attr-defined]
        status, reply = self.server.replies.pop(0)  # type: ignore[attr-defined]
        data = reply.encode() if isinstance(reply, str) else json.dumps(reply).encode()
        self.send_response(status)
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
        """Stay silent."""


@pytest.fixture
def elsewhere() -> Iterator[Any]:
    served = ThreadingHTTPServer(("127.0.0.1", 0), _Agent)
    served.asked, served.replies = [], []  # type: ignore[attr-defined]
    thread = threading.Thread(target=served.serve_forever, args=(0.05,))
    thread.start()
    yield served
    served.shutdown()
    served.server_close()
    thread.join()


def _url(served: Any) -> str:
    return f"http://127.0.0.1:{served.server_port}"


async def test_an_agent_elsewhere_completes_the_drawn_desktop(
    elsewhere: Any,
    desktop: DrawnDesktop,
    handle: DesktopHandle,
    task: AgentTask,
    context: TrialContext,
) -> None:
    note = {"element": "note"}
    elsewhere.replies += [
        (200, {"actions": [{"kind": "type", "text": "hello", "target": note}],
               "usage": {"requests": 1, "input_tokens": 5}}),
        (200, {"actions": [{"kind": "keys", "keys": ["ctrl", "s"]}, {"kind": "done"}]}),
    ]  # fmt: skip
    outcome = await http_agent(_url(elsewhere)).run(task, handle, context)
    assert (outcome.status, desktop.saved, outcome.usage.input_tokens) == (
        Status.COMPLETED,
        "hello",
        5,
    )
    path, second = elsewhere.asked[1]
    assert path == "/act"
    assert second["task"]["goal"] == "Write hello and save it."
    assert second["history"][0]["actions"][0]["text"] == "hello"
    assert "config" not in second["task"]


@pytest.mark.parametrize(
    ("reply", "message"),
    [
        ((200, {"actions": [{"kind": "levitate"}]}), "levitate"),
        ((200, "not json"), "did not answer with JSON"),
        ((500, {"error": "bug"}), "HTTP 500"),
    ],
)
async def test_nonsense_from_the_agent_is_its_failure(
    elsewhere: Any,
    handle: DesktopHandle,
    task: AgentTask,
    context: TrialContext,
    reply: tuple[int, Any],
    message: str,
) -> None:
    elsewhere.replies.append(reply)
    outcome = await http_agent(_url(elsewhere)).run(task, handle, context)
    assert outcome.status is Status.AGENT_ERROR
    assert outcome.error is not None
    assert message in outcome.error.message


async def test_an_agent_that_cannot_be_reached_is_an_environment_fault(
    handle: DesktopHandle, task: AgentTask, context: TrialContext
) -> None:
    with pytest.raises(EnvironmentFaultError, match="does not answer"):
        await http_agent("http://127.0.0.1:9").run(task, handle, context)
