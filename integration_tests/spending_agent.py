"""An agent without bench_core that makes model calls until it is killed, and keeps a ledger of those permitted."""

from __future__ import annotations

import json
import os
import random
import signal
import sys
import threading
from pathlib import Path
from typing import Any

USD = 0.01


def send(**message: Any) -> None:
    """Write a line to the run."""
    sys.stdout.write(json.dumps(message) + "\n")
    sys.stdout.flush()


def work(order: dict[str, Any]) -> None:
    """Make calls; after a random time a thread kills the process, wherever it is then."""
    ledger = os.open(os.environ["SPENDING_LEDGER"], os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    task = order["task"]["task_id"]
    delay_s = random.Random(task).uniform(0.0, 0.3)  # noqa: S311  # when it dies, not a secret
    threading.Timer(delay_s, os.kill, (os.getpid(), signal.SIGKILL)).start()
    for number in range(1, 1_000_000):
        send(type="spend", id=number, source="agent", usage={"requests": 1}, cost_usd=USD)
        if json.loads(sys.stdin.readline())["go"]:
            os.write(ledger, f"{task}\n".encode())


def main() -> None:
    """Answer the run."""
    send(type="hello", protocol=1)
    for line in sys.stdin:
        message = json.loads(line)
        if message["type"] == "describe":
            send(type="result", value={"name": Path(__file__).stem})
        elif message["type"] == "work":
            work(message)


if __name__ == "__main__":
    main()
