"""Agents that call models with a client of their own, and know nothing but their environment."""

from __future__ import annotations

import http.client
import json
import os
import signal
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bench_core.records import AgentOutcome, Usage

if TYPE_CHECKING:
    from bench_core.protocols import EnvironmentHandle, TrialContext
    from bench_core.records import AgentTask

ADDRESS = os.environ.get("ANTHROPIC_BASE_URL", "")
SECRET = os.environ.get("ANTHROPIC_API_KEY", "")
"""Read when the module is imported, as many programs do."""


def call(*, stream: bool = False) -> http.client.HTTPResponse:
    body: dict[str, Any] = {
        "model": "claude-test", "max_tokens": 300, "stream": stream,
        "messages": [{"role": "user", "content": "What is 2 + 2?"}],
    }  # fmt: skip
    connection = http.client.HTTPConnection(ADDRESS.removeprefix("http://"), timeout=300)
    connection.request("POST", "/v1/messages", json.dumps(body), {"x-api-key": SECRET})
    return connection.getresponse()


class Caller:
    """Does what the id of its task says."""

    name = "caller"
    environments = ("text",)

    async def run(
        self, task: AgentTask, environment: EnvironmentHandle, context: TrialContext
    ) -> AgentOutcome:
        del environment
        kind = task.task_id.partition(".")[0]
        if kind == "stubborn":  # whatever the answers are
            statuses = [call().read() and 1 for _ in range(20)]
            return AgentOutcome(answer=4, steps=len(statuses))
        if kind == "killed":
            call(stream=True).readline()
            os.kill(os.getpid(), signal.SIGKILL)
        if kind == "looks":
            seen = {"environment": dict(os.environ), "base_url": context.agent_option("base_url")}
            (context.folder / "seen.json").write_text(json.dumps(seen), encoding="utf-8")
            environ = Path("/proc/self/environ").read_text(encoding="utf-8", errors="replace")
            (context.folder / "environ.txt").write_text(environ, encoding="utf-8")
        answer = call()
        if answer.status != 200:
            raise RuntimeError(f"HTTP {answer.status}")
        if kind == "reports":
            context.meter.spend(Usage(requests=1, input_tokens=100, output_tokens=20), 0.5)
            context.meter.spend(Usage(requests=1, input_tokens=7), 0.25)  # by a way of its own
        return AgentOutcome(answer=4, steps=1)
