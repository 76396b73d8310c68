"""Agents that look for the trial beside their own, and harm it where they can."""

# ruff: noqa: PTH118, PTH123, PTH208  # an agent of others, which has no reason to follow our style

from __future__ import annotations

import asyncio
import os
import resource
import signal
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

from bench_core.records import AgentOutcome

if TYPE_CHECKING:
    from bench_core.protocols import EnvironmentHandle, TrialContext
    from bench_core.records import AgentTask

_WAIT_S = 20
WORK = "honest work"


class Neighbours:
    """The trial `victim` works on a file; `attacker` rewrites it and kills the process, and says what it did."""

    name = "neighbours"

    async def run(
        self, task: AgentTask, environment: EnvironmentHandle, context: TrialContext
    ) -> AgentOutcome:
        """Do what the task is called; both meet in a folder that the canary is in."""
        del environment
        meeting = Path(os.environ["MEETING"])
        if task.task_id == "victim":
            temporary = tempfile.mkdtemp()
            for each in (str(context.folder), temporary):
                Path(each, "work.txt").write_text(WORK)
            (meeting / "victim").write_text(f"{os.getpid()}\n{context.folder}\n{temporary}\n")
            await _until(meeting / "attacked")
            return AgentOutcome(answer=4, steps=1)
        await _until(meeting / "victim")
        pid, folder, temporary = (meeting / "victim").read_text().splitlines()
        did = {"rewrite": _rewrite(folder), "temporary": _rewrite(temporary), "ptrace": _reads(pid),
               "limit": _limit(int(pid)), "kill": _kill(int(pid))}  # fmt: skip
        (meeting / "attacked").write_text("")
        return AgentOutcome(answer=did)


async def _until(path: Path) -> None:
    end = time.monotonic() + _WAIT_S
    while not (path.exists() and (path.name != "victim" or path.read_text())):
        if time.monotonic() > end:
            raise TimeoutError(path.name)
        await asyncio.sleep(0.02)


def _rewrite(folder: str) -> str:
    try:
        with open(os.path.join(folder, "work.txt"), "w") as file:
            file.write("forged")
    except OSError as error:
        return type(error).__name__
    return "done"


def _reads(pid: str) -> str:
    try:
        os.listdir(f"/proc/{pid}/root{os.environ['MEETING']}")
    except OSError as error:
        return type(error).__name__
    return "done"


def _limit(pid: int) -> str:
    resource.prlimit(os.getpid(), resource.RLIMIT_CORE)  # to look is allowed
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    try:
        resource.prlimit(pid, resource.RLIMIT_CORE, (0, 0))
    except OSError as error:
        return type(error).__name__
    return "done"


def _kill(pid: int) -> str:
    try:
        os.kill(pid, signal.SIGKILL)
    except OSError as error:
        return type(error).__name__
    return "done"
