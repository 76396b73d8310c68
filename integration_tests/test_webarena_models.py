"""A model server that fails is nobody's failure, and what it echoes is written nowhere."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from bench_core import exit_codes

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

pytestmark = [pytest.mark.browser, pytest.mark.slow]

BIN = Path(sys.executable).parent
KEY = "sk-proj-planted-9f8e7d6c5b4a39281706"


class ModelHandler(BaseHTTPRequestHandler):
    """Speaks just enough of OpenAI's API to fail in the way the server was told."""

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers.get("Content-Length") or 0))
        self.server.behave(self)  # type: ignore[attr-defined]

    def reply(self, status: int, body: str, content_type: str = "application/json") -> None:
        data = body.encode()
        self.send_response(status)
        self.send_header("Content-Type", content_type)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    @property
    def echo(self) -> str:
        """What a careless proxy puts into its error pages: the headers, the key among them."""
        return f"you sent {self.headers['Authorization']}"

    def log_message(self, *args: object) -> None:
        pass


def error_500(handler: ModelHandler) -> None:
    handler.reply(500, json.dumps({"error": {"message": handler.echo}}))


def html(handler: ModelHandler) -> None:
    handler.reply(200, f"<html><body>Welcome! {handler.echo}</body></html>", "text/html")


def unauthorized(handler: ModelHandler) -> None:
    handler.reply(401, json.dumps({"error": {"message": f"bad key: {handler.echo}"}}))


def silence(handler: ModelHandler) -> None:
    handler.server.over.wait()  # type: ignore[attr-defined]


def hang_up(handler: ModelHandler) -> None:
    handler.close_connection = True


def declare(handler: ModelHandler) -> None:
    """Finish at once with an answer that holds the key."""
    done = {
        "data": {
            "task_type": "NAVIGATE",
            "status": "SUCCESS",
            "retrieved_data": None,
            "error_details": f"{handler.echo}",
        },
        "success": True,
    }
    output = {
        "thinking": f"my key is {KEY}",
        "evaluation_previous_goal": "",
        "memory": "",
        "next_goal": "",
        "action": [{"done": done}],
    }
    choice = {"index": 0, "finish_reason": "stop",
              "message": {"role": "assistant", "content": json.dumps(output)}}  # fmt: skip
    usage = {"prompt_tokens": 11, "completion_tokens": 7, "total_tokens": 18}
    reply = {"id": "x", "object": "chat.completion", "created": 0, "model": "fake",
             "choices": [choice], "usage": usage}  # fmt: skip
    handler.reply(200, json.dumps(reply))


@pytest.fixture
def serve() -> Iterator[Callable[[Any], str]]:
    servers: list[tuple[ThreadingHTTPServer, threading.Thread]] = []

    def start(behave: Any) -> str:
        server = ThreadingHTTPServer(("127.0.0.1", 0), ModelHandler)
        server.behave, server.over = behave, threading.Event()  # type: ignore[attr-defined]
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        servers.append((server, thread))
        return f"http://127.0.0.1:{server.server_port}/v1"

    yield start
    for server, thread in servers:
        server.over.set()  # type: ignore[attr-defined]
        server.shutdown()
        thread.join()
        server.server_close()


def run_task(url: str, out: Path, *more: str) -> tuple[subprocess.CompletedProcess[str], Any]:
    """Run one built-in task with browser-use's own ChatOpenAI and return the last result."""
    command = [
        BIN / "webarena-runner", "run", "--world", "built-in", "--task", "44", "--model",
        "openai:gpt-4.1-mini", "--chat", "browser-use", "--attempts", "1", "--out", out, *more,
    ]  # fmt: skip
    environment = {**os.environ, "OPENAI_API_KEY": KEY, "OPENAI_BASE_URL": url}
    ran = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    lines = (out / "results.jsonl").read_text().splitlines()
    return ran, json.loads(lines[-1])


def files_holding(folder: Path, text: str) -> list[Path]:
    files = [path for path in folder.rglob("*") if path.is_file()]
    return [path for path in files if text.encode() in path.read_bytes()]


@pytest.mark.parametrize(
    ("behave", "words"),
    [
        (error_500, "failed (status 500)"),
        (html, "did not answer in its API's format"),
        (unauthorized, "refuses the key"),
        (hang_up, "model server"),
        (silence, "did not answer"),
    ],
)
def test_failing_model_server_gives_no_score_and_a_clear_message(
    serve: Callable[[Any], str], tmp_path: Path, behave: Any, words: str
) -> None:
    ran, result = run_task(serve(behave), tmp_path / "run", "--time-limit", "45")
    said = ran.stdout + ran.stderr
    # a key that is refused would be refused in every other trial, too: the run stops
    assert ran.returncode == (exit_codes.ABORTED if behave is unauthorized else 1), said
    assert (result["status"], result.get("score")) == ("environment_error", None)
    assert words in result["error"]["message"]
    assert "Traceback" not in said
    assert KEY not in said
    assert files_holding(tmp_path, KEY) == []


def test_key_in_the_models_answer_is_written_nowhere(
    serve: Callable[[Any], str], tmp_path: Path
) -> None:
    ran, result = run_task(serve(declare), tmp_path / "run")
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert (result["status"], result["score"]) == ("completed", 0.0)
    assert (result["usage"]["input_tokens"], result["usage"]["output_tokens"]) == (11, 7)
    assert KEY not in ran.stdout + ran.stderr
    assert files_holding(tmp_path, KEY) == []


def test_missing_key_is_refused_before_anything_starts(tmp_path: Path) -> None:
    command = [
        BIN / "webarena-runner", "run", "--world", "built-in", "--task", "44",
        "--model", "openai:gpt-4.1-mini", "--out", tmp_path / "run",
    ]  # fmt: skip
    environment = {k: v for k, v in os.environ.items() if not k.startswith("OPENAI_")}
    ran = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    assert ran.returncode == 2
    assert "OPENAI_API_KEY" in ran.stderr
    assert not (tmp_path / "run").exists()
