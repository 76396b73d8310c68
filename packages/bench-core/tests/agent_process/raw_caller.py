"""An agent in no bench_core's language that calls a model with a client of its own, and reports the call, too."""

from __future__ import annotations

import http.client
import json
import os
import sys
from pathlib import Path
from typing import Any


def send(**message: Any) -> None:
    sys.stdout.write(json.dumps(message) + "\n")
    sys.stdout.flush()


def call() -> int:
    body = {
        "model": "claude-test", "max_tokens": 300,
        "messages": [{"role": "user", "content": "What is 2 + 2?"}],
    }  # fmt: skip
    address = os.environ["ANTHROPIC_BASE_URL"].removeprefix("http://")
    connection = http.client.HTTPConnection(address, timeout=300)
    key = {"x-api-key": os.environ["ANTHROPIC_API_KEY"]}
    connection.request("POST", "/v1/messages", json.dumps(body), key)
    answer = connection.getresponse()
    answer.read()
    connection.close()
    return answer.status


def work(order: dict[str, Any]) -> None:
    deed = order["task"]["task_id"].partition(".")[0]
    seen = {"environment": dict(os.environ), "order": order}
    Path(order["context"]["folder"], "seen.json").write_text(json.dumps(seen), encoding="utf-8")
    statuses = [call() for _ in range(20 if deed == "stubborn" else 1)]
    if deed == "reports":
        usage = {"requests": 1, "input_tokens": 100, "output_tokens": 20}
        send(type="spend", id=1, source="agent", usage=usage, cost_usd=0.5)
        sys.stdin.readline()
    send(type="result", value={"status": "completed", "answer": 4, "steps": len(statuses)})


send(type="hello", protocol=1)
for line in sys.stdin:
    message = json.loads(line)
    if message["type"] == "describe":
        send(type="result", value={"name": "raw", "environments": ["text"]})
    elif message["type"] == "work":
        work(message)
        break
