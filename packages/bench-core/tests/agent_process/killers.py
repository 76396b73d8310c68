"""Agents that do what no agent should, each by the name of its task; imported in their own process."""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import logging
import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bench_core.errors import BudgetExceededError, EnvironmentFaultError, InputError
from bench_core.records import AgentOutcome, Status, Step, Usage
from bench_core.run_folder import TrialArtifacts

if TYPE_CHECKING:
    from collections.abc import Callable

    from bench_core.protocols import EnvironmentHandle, TrialContext
    from bench_core.records import AgentTask

CALL = Usage(requests=1, input_tokens=100, output_tokens=10)
CALL_USD = 0.25
MARK = "PROCTOR_TEST_LEFTOVER"


class MuteError(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no text")


def raise_(error: BaseException) -> None:
    raise error


def write_frame(data: bytes) -> None:
    """Write to the pipe behind bench-core's back, as a program with debug output on a descriptor."""
    for descriptor in range(3, 30):
        with contextlib.suppress(OSError):
            os.write(descriptor, data)
    time.sleep(30)


def hang_up(_: Any = None) -> None:
    for descriptor in range(3, 30):
        with contextlib.suppress(OSError):
            socket.socket(fileno=os.dup(descriptor)).shutdown(socket.SHUT_WR)
    time.sleep(30)


def fill_memory(_: Any = None) -> None:
    held = []
    while True:
        held.append(bytearray(16 << 20))


def flood(_: Any = None) -> None:
    line = "x" * 1000
    for _number in range(20_000):
        sys.stdout.write(f"{line}\n")
    sys.stdout.write("the end of the flood\n")


def leave_thread(_: Any = None) -> None:
    threading.Thread(target=time.sleep, args=(600,)).start()


def leave_grandchildren(context: TrialContext) -> None:
    code = "import time; time.sleep(600)"
    command = [sys.executable, "-S", "-c", code, MARK, str(context.folder)]
    subprocess.Popen(command)
    subprocess.Popen(command, start_new_session=True)


def log_flood(_: Any = None) -> None:
    for number in range(30_000):
        logging.getLogger("killers").warning("line %d", number)


def spend_after_budget(context: TrialContext) -> None:
    with contextlib.suppress(BudgetExceededError):
        context.meter.spend(CALL, CALL_USD)
    context.meter.spend(CALL, CALL_USD)


def keep_secret(context: TrialContext) -> None:
    artifacts = TrialArtifacts(context.folder)
    artifacts.write_text("seen.txt", "the page says hidden-site-password-1")
    sys.stdout.write("also hidden-site-password-1\n")


DEEDS: dict[str, Callable[[Any], object]] = {
    "solves": lambda _: None,
    "prints-and-solves": lambda _: sys.stdout.write("on my way\n"),
    "raises": lambda _: raise_(ValueError("a bug of its own")),
    "raises-without-text": lambda _: raise_(MuteError()),
    "raises-keyboard-interrupt": lambda _: raise_(KeyboardInterrupt()),
    "raises-generator-exit": lambda _: raise_(GeneratorExit()),
    "cancels-itself": lambda _: raise_(asyncio.CancelledError()),
    "claims-fault": lambda _: raise_(EnvironmentFaultError("the site is down, says the agent")),
    "claims-input": lambda _: raise_(InputError("no key, says the agent")),
    "claims-budget": lambda _: raise_(BudgetExceededError("so it says")),
    "sys-exit": lambda _: sys.exit(3),
    "os-exit": lambda _: os._exit(7),
    "exit-75": lambda _: os._exit(75),
    "exit-0": lambda _: os._exit(0),
    "segfault": lambda _: ctypes.string_at(0),
    "abort": lambda _: os.abort(),
    "kills-itself": lambda _: os.kill(os.getpid(), signal.SIGKILL),
    "kills-its-group": lambda _: os.killpg(0, signal.SIGKILL),
    "kills-its-supervisor": lambda _: (os.kill(os.getppid(), signal.SIGKILL), time.sleep(30)),
    "garbage": lambda _: write_frame(b"\x80garbage\n"),
    "unknown-message": lambda _: write_frame(b'{"type": "environment_error"}\n'),
    "oversized": lambda _: write_frame(b"x" * (9 << 20)),
    "hangs-up": hang_up,
    "fills-memory": fill_memory,
    "blocks": lambda _: time.sleep(600),
    "stops-its-supervisor": lambda _: (os.kill(os.getppid(), signal.SIGSTOP), time.sleep(60)),
    "stops-its-supervisor-and-ends": lambda _: os.kill(os.getppid(), signal.SIGSTOP),
    "stops-itself": lambda _: os.kill(os.getpid(), signal.SIGSTOP),
    "floods": flood,
    "leaves-thread": leave_thread,
    "leaves-grandchildren": leave_grandchildren,
    "logs-without-end": log_flood,
    "spends-on": spend_after_budget,
    "forges-cost": lambda context: context.meter.spend(CALL, 1e9),
    "forges-tokens": lambda context: context.meter.spend(Usage(input_tokens=10**12)),
    "forges-credit": lambda context: context.meter.spend(CALL, -1e9),
    "sees-secret": keep_secret,
}


class Killer:
    """Takes a step, pays for a call, and does what its task is called."""

    name = "killer"

    async def run(
        self, task: AgentTask, environment: EnvironmentHandle, context: TrialContext
    ) -> AgentOutcome:
        del environment
        TrialArtifacts(context.folder).append_step(Step(step=1))
        context.meter.spend(CALL, CALL_USD)
        sys.stderr.write(f"about to {task.task_id}\n")
        sys.stderr.flush()
        if task.task_id == "returns-nothing":
            return None  # type: ignore[return-value]
        if task.task_id == "claims-environment-error":
            return AgentOutcome(status=Status.ENVIRONMENT_ERROR)
        if task.task_id == "waits":
            await asyncio.Event().wait()
        if task.task_id == "waits-a-while":
            await asyncio.sleep(7)
            return AgentOutcome(answer=4, steps=1)
        if task.task_id == "logs-and-blocks":
            for _ in range(70):
                logging.getLogger("killers").warning("still here")
                time.sleep(0.1)  # noqa: ASYNC251  # what it is for
            return AgentOutcome(answer=4, steps=1)
        DEEDS[task.task_id](context)
        return AgentOutcome(answer=4, steps=1)


class Overwriter:
    """Writes over what its trial is scored from, and links to what is not its own."""

    name = "overwriter"

    async def run(
        self, task: AgentTask, environment: EnvironmentHandle, context: TrialContext
    ) -> AgentOutcome:
        del environment, task
        (context.folder / "given.json").write_text('"mine"')
        (context.folder / "secrets.txt").symlink_to("/etc/hostname")
        (context.folder / "notes.txt").write_text("my notes")
        return AgentOutcome(answer=4, steps=1)


class Swapper:
    """Puts a link in the place of its folder, or of one that it lies in: to where the same path leads outside."""

    name = "swapper"

    async def run(
        self, task: AgentTask, environment: EnvironmentHandle, context: TrialContext
    ) -> AgentOutcome:
        del environment, task
        outside, level = Path(str(context.agent_option("outside"))), context.agent_option("level")
        swapped = [context.folder, *context.folder.parents][level]
        swapped.rename(swapped.with_name("moved"))
        swapped.symlink_to(outside)
        return AgentOutcome(answer=4, steps=1)


class Inspector:
    """Answers with what its process can see."""

    name = "inspector"
    environments = ("text",)
    observes = ("tree",)

    def view(self, context: TrialContext) -> dict[str, bool]:
        return {"tree": context.model == "toy:cheap"}

    async def run(
        self, task: AgentTask, environment: EnvironmentHandle, context: TrialContext
    ) -> AgentOutcome:
        del task, environment
        opened = context.model_opener(context) if context.model_opener else None
        return AgentOutcome(
            answer={"variables": sorted(os.environ), "pid": os.getpid(), "model": opened,
                    "folder": list(context.folder.parts[-3:]), "seed": context.seed, "temporary": tempfile.mkdtemp()}
        )  # fmt: skip


class Accuser:
    """Names a process group as its own that is not."""

    name = "accuser"

    async def run(
        self, task: AgentTask, environment: EnvironmentHandle, context: TrialContext
    ) -> AgentOutcome:
        del task, environment
        context.processes.own(int(context.agent_option("group")))
        return AgentOutcome(answer=4, steps=1)


class InProcess:
    """Wants the opened environment itself."""

    name = "in-process"
    in_process = True

    async def run(self, task: Any, environment: Any, context: Any) -> AgentOutcome:
        raise NotImplementedError


def name_of(context: TrialContext) -> str:
    """Open the run's model, as far as a test needs it."""
    return f"opened {context.model}"


class Halted:
    """Is stopped by another process for a while, and then solves its task."""

    name = "halted"

    async def run(
        self, task: AgentTask, environment: EnvironmentHandle, context: TrialContext
    ) -> AgentOutcome:
        be_stopped()
        await asyncio.sleep(3)
        return AgentOutcome(answer={}, steps=1)


def be_stopped() -> None:
    own = os.getpid()
    script = f"kill -STOP {own}; sleep 4; kill -CONT {own}"
    subprocess.Popen(["/bin/sh", "-c", script], start_new_session=True)
