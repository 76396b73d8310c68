"""An agent that speaks the protocol itself, as programs in other languages do: it imports no bench_core."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

PROTOCOL = int(os.environ.get("RAW_PROTOCOL", "1"))


def send(**message: Any) -> None:
    sys.stdout.write(json.dumps(message) + "\n")
    sys.stdout.flush()


def spend(number: int) -> bool:
    usage = {"requests": 1, "input_tokens": 100, "output_tokens": 10}
    send(type="spend", id=number, source="agent", usage=usage, cost_usd=0.25)
    return bool(json.loads(sys.stdin.readline())["go"])


def work(order: dict[str, Any]) -> None:
    task, context = order["task"], order["context"]
    Path(context["folder"], "raw_notes.txt").write_text(f"working on {task['task_id']}")
    sys.stderr.write("a line for the log\n")
    deed = task["task_id"]
    if deed == "dies":
        spend(1)
        os._exit(9)
    if deed == "raises":
        return send(type="error", kind="ToolError", message="a bug of its own")
    if deed == "garbage":
        sys.stdout.write("this is no JSON\n")
        return None
    calls = 0
    while calls < (100 if deed == "spends-on" else 2):
        calls += 1
        if not spend(calls):
            return send(type="error", kind="Stopped", message="told to", claims="budget")
    send(type="log", level=20, name="raw", text="nearly done")
    answer = {**os.environ} if deed == "inspect" else 4
    send(type="result", value={"status": "completed", "answer": answer, "steps": calls})
    return None


send(type="hello", protocol=PROTOCOL)
for line in sys.stdin:
    message = json.loads(line)
    if message["type"] == "describe":
        send(type="result", value={"name": "raw", "environments": ["text"]})
    elif message["type"] == "work":
        work(message)
        break
