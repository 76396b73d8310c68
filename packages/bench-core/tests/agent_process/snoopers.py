"""Agents that look for the answers of their own run, and one that does not."""

# ruff: noqa: PTH108, PTH112, PTH115, PTH123, PTH208  # an agent of others, which has no reason to follow our style

from __future__ import annotations

import ctypes
import os
import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from bench_core.records import AgentOutcome, AgentTask

if TYPE_CHECKING:
    from bench_core.protocols import EnvironmentHandle, TrialContext

NOTES = Path(__file__).with_name("snoopers_notes.txt")
AT_IMPORT: dict[str, str] = {}


def look(path: str) -> str:
    """Return the beginning of a file, or why it cannot be read."""
    try:
        with open(path, "rb") as file:
            return file.read(4096).decode("utf-8", "replace")
    except OSError as error:
        return type(error).__name__


# what an import reads, every trial remembers
if os.environ.get("SNOOP_AT"):
    AT_IMPORT = {each: look(each) for each in os.environ["SNOOP_AT"].split(os.pathsep)}


class Snooper:
    """Reads whatever it can find; its answer says what it saw, by the way it tried."""

    name = "snooper"

    async def run(
        self, task: AgentTask, environment: EnvironmentHandle, context: TrialContext
    ) -> AgentOutcome:
        """Try every way to each file that the configuration names."""
        seen: dict[str, object] = {"canary": look(str(NOTES)), "import": dict(AT_IMPORT)}
        for path in map(str, context.config["targets"]):
            seen[path] = {way: look(place) for way, place in _ways(path).items()}
        seen["others"] = _others()
        seen["written"] = {each: _written(each) for each in _EXECUTED}
        seen["attached"] = _attached()
        seen["unmounted"] = _unmounted(
            [str(Path(each).parent) for each in context.config["targets"]]
        )
        (context.folder / "own.txt").write_text("mine", encoding="utf-8")
        return AgentOutcome(answer=seen)


def _ways(path: str) -> dict[str, str]:
    run = os.getppid()
    harness = int(os.environ["SNOOP_PID"])
    ways = {"path": path, "relative": os.path.relpath(path)}
    for name, pid in (("supervisor", run), ("harness", harness), ("init", 1)):
        ways[f"{name} root"] = f"/proc/{pid}/root{path}"
        ways[f"{name} cwd"] = f"/proc/{pid}/cwd/{os.path.relpath(path, os.environ['SNOOP_CWD'])}"
        if name != "init":
            ways[f"{name} environ"] = f"/proc/{pid}/environ"
    return ways


def _others() -> dict[str, str]:
    """Read what other processes have open and in their environment."""
    found = {}
    for process in os.listdir("/proc"):
        if not process.isdigit() or int(process) == os.getpid():
            continue
        with suppress(OSError):
            for each in os.listdir(f"/proc/{process}/fd"):
                with suppress(OSError):
                    found[f"{process}/fd/{each}"] = os.readlink(f"/proc/{process}/fd/{each}")
        with suppress(OSError), open(f"/proc/{process}/environ", "rb") as file:
            found[f"{process}/environ"] = file.read().decode("utf-8", "replace")
    return found


_EXECUTED = {
    "interpreter": f"{sys.prefix}/bin",
    "environment": sys.prefix,
    "base": f"{sys.base_prefix}/bin",
    "etc": "/etc",
    "kernel": "/proc/sys/kernel/hostname",
    "groups": "/sys/fs/cgroup/cgroup.procs",  # of a mount below a folder
}
"""What the run executes itself, and what root could change."""


def _written(name: str) -> str:
    """Try to make a file in a folder, or to open one of the kernel's, and say how it ended."""
    place = _EXECUTED[name]
    made = os.path.isdir(place)
    path = f"{place}/proctor-probe" if made else place
    try:
        open(path, "xb" if made else "r+b").close()
    except OSError as error:
        return error.strerror or ""
    if made:
        os.unlink(path)
    return "written"


def _attached() -> dict[str, int]:
    """Return what ptrace says to attaching to other processes: 0 is success."""
    libc = ctypes.CDLL(None, use_errno=True)
    found = {}
    for name, pid in (("supervisor", os.getppid()), ("harness", int(os.environ["SNOOP_PID"]))):
        found[name] = libc.ptrace(0x4206, pid, None, None)  # seize: it does not stop it
    return found


def _unmounted(folders: list[str]) -> dict[str, int]:
    libc = ctypes.CDLL(None, use_errno=True)
    return {each: libc.umount2(each.encode(), 2) for each in folders}
