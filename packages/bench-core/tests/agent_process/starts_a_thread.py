"""An agent's module whose import starts a thread that holds a lock for ever."""

from __future__ import annotations

import threading
import time
from typing import Any

from bench_core.records import AgentOutcome

LOCK = threading.Lock()


def hold() -> None:
    with LOCK:
        while True:
            time.sleep(0.01)
            if FREE.wait(0.01):
                return


FREE = threading.Event()
HOLDER = threading.Thread(target=hold, daemon=True)
HOLDER.start()


class Locked:
    """Needs the lock that the thread gives back when it is told to."""

    name = "locked"

    async def run(self, task: Any, environment: Any, context: Any) -> AgentOutcome:
        del task, environment, context
        FREE.set()
        with LOCK:
            return AgentOutcome(answer=4)
