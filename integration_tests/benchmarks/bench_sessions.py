"""What a session costs beside its world: CPU of a desktop step, and a reset beside a cold start.

Steps are counted in CPU seconds, which do not depend on what else the machine does: of the world called directly, of a
session of this process, and of a client of `bench-core serve --openenv`, server and client together. All take turns in
one run. A cold start is the time from the start of a program to the first observation of the session that it
opens; a warm reset that of a further episode in the same session, after one that was scored. The time of a second session in
the same program stands beside them.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from websockets.sync.client import connect

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from integration_tests.served_sessions import TOKEN, served_process  # noqa: E402

from bench_core import sessions  # noqa: E402
from bench_core.cli import render_table  # noqa: E402
from bench_core.protocols import TrialContext  # noqa: E402
from bench_core.records import AgentOutcome, Limits  # noqa: E402
from bench_core.trial import run_trial  # noqa: E402
from waa_client.benchmark import WaaBenchmark  # noqa: E402
from waa_client.tasks import load_tasks  # noqa: E402
from waa_client.world.launch import BuiltInDesktops, built_in_world  # noqa: E402
from waa_server_ext.built_in import SimulatedDesktopWorld  # noqa: E402

if TYPE_CHECKING:
    from collections.abc import Callable

TASKS = {
    "waa": min(SimulatedDesktopWorld.solutions()),
    "multireal": "multi.calendar-travel-1",
    "webarena": "44",
}
STEP_BOUND = 1.15
RESET_BOUND = 1 / 5
STEPS = 20
ROUNDS = 4
RESETS = 5
ACTION = {"kind": "keys", "keys": ["tab"]}


class Direct:
    """Calls the world itself, as any agent of this process can."""

    name = "direct"
    in_process = True
    observes = ("screenshot", "elements", "windows")

    def __init__(self) -> None:
        self.cpu_s = 0.0

    async def run(self, _: Any, environment: Any, context: TrialContext) -> AgentOutcome:
        del context
        action, live = sessions.read_action(ACTION), environment.live
        await live.observe()
        began = time.process_time()
        for _step in range(STEPS):
            await live.act(action)
            await live.observe()
        self.cpu_s = time.process_time() - began
        return AgentOutcome()


def direct_s() -> float:
    """Return the CPU seconds of a step of the world itself."""
    agent = Direct()
    with tempfile.TemporaryDirectory() as folder:
        context = TrialContext(
            run_id="bench", folder=Path(folder), agent=agent.name, world="built-in",
            limits=Limits(max_steps=10 * STEPS),
        )  # fmt: skip
        tasks = {each.task_id: each for each in load_tasks(built_in_world().tasks_folder())}
        task = tasks[TASKS["waa"]]
        benchmark = WaaBenchmark([task], pool=BuiltInDesktops())
        asyncio.run(run_trial(benchmark, task, context, agent))
    return agent.cpu_s / STEPS


def session_s(session: sessions.Session) -> float:
    """Return the CPU seconds of a step of a session of this process."""
    session.reset()
    began = time.process_time()
    for _ in range(STEPS):
        session.step(ACTION)
    return (time.process_time() - began) / STEPS


def served_s(ask: Callable[[str, dict[str, Any]], None], pid: int) -> float:
    """Return the CPU seconds of a step of a served session, of its server and its client together."""
    ask("reset", {"task": TASKS["waa"]})
    began, server = time.process_time(), cpu_of(pid)
    for _ in range(STEPS):
        ask("step", ACTION)
    return (time.process_time() - began + cpu_of(pid) - server) / STEPS


def cpu_of(pid: int) -> float:
    """Return the CPU seconds of a process and of those it has waited for."""
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    return sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")


def steps() -> bool:
    """Measure steps, print them and return whether the bound holds."""
    found: dict[str, list[float]] = {"the world itself": [], "session": [], "OpenEnv": []}
    most = str(10 * STEPS)
    with (
        sessions.open("waa", task=TASKS["waa"], max_steps=10 * STEPS) as session,
        served_process("waa", "--max-steps", most) as (url, server),
        connect(
            url.replace("http://", "ws://") + "/ws", max_size=None, proxy=None,
            additional_headers={"Authorization": f"Bearer {TOKEN}"}, ping_interval=None,
        ) as client,
    ):  # fmt: skip

        def ask(kind: str, data: dict[str, Any]) -> None:
            client.send(json.dumps({"type": kind, "data": data}))
            answer = json.loads(client.recv())
            if answer["type"] == "error":
                raise RuntimeError(answer["data"]["message"])

        for _ in range(ROUNDS):
            found["the world itself"].append(direct_s())
            found["session"].append(session_s(session))
            found["OpenEnv"].append(served_s(ask, server.pid))
    base = statistics.median(found["the world itself"])
    rows, kept = [], True
    for name, each in found.items():
        ratio = statistics.median(each) / base
        kept &= ratio <= STEP_BOUND
        rows.append((name, *(f"{1000 * one:.1f}" for one in each), f"{ratio:.2f}"))
    rounds = (f"round {number + 1}" for number in range(ROUNDS))
    print(render_table(("CPU ms per desktop step", *rounds, "ratio of medians"), rows))
    print(f"promised: at most {STEP_BOUND}\n")
    return kept


def resets() -> bool:
    """Measure resets, print them and return whether the bound holds in every world."""
    rows, kept = [], True
    for name in TASKS:
        began = time.time()
        command = [sys.executable, __file__, "--reset", name]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        found = json.loads(done.stdout)
        cold, warm = found["seen"] - began, statistics.median(found["warm"])
        kept &= warm / cold <= RESET_BOUND
        warms = " ".join(f"{each:.2f}" for each in found["warm"])
        rows.append((name, f"{cold:.2f}", warms, f"{found['second']:.2f}", f"{warm / cold:.2f}"))
    headers = ("world", "cold start s", "warm resets s", "second session s", "median warm / cold")
    print(render_table(headers, rows))
    print(f"promised: median warm / cold at most {RESET_BOUND}")
    return kept


def reset_times(name: str) -> dict[str, Any]:
    """Open a session and return when its first observation came, and what resets take after that."""
    warm = []
    with sessions.open(name, task=TASKS[name]) as session:
        session.reset()
        seen = time.time()
        for number in range(RESETS):
            session.score()
            began = time.perf_counter()
            session.reset(seed=number)
            warm.append(time.perf_counter() - began)
    began = time.perf_counter()
    with sessions.open(name, task=TASKS[name]) as session:
        session.reset()
        second = time.perf_counter() - began
    return {"seen": seen, "warm": warm, "second": second}


def main() -> int:
    """Print the tables; 1 when a bound is missed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--reset", choices=TASKS, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.reset:
        print(json.dumps(reset_times(given.reset)))
        return 0
    within = [steps(), resets()]
    return 0 if all(within) else 1


if __name__ == "__main__":
    sys.exit(main())
