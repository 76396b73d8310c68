"""Find out whether this machine can hide files from a process, by trying it once."""

from __future__ import annotations

import functools
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from bench_core.sealing import namespaces

_PROBE_S = 30.0
_ELSEWHERE = "files are hidden from processes on Linux only"
_PROBE = """
import os, sys
try:
    print("open" if os.path.getsize(sys.argv[1]) else "empty")
except OSError:
    print("hidden")
print(os.readlink("/proc/self/ns/user"))
"""


@dataclass(frozen=True)
class Ability:
    """Whether a machine can hide files.

    Attributes:
        way: How files are hidden: `user-namespace` or `mount-namespace`; None if they cannot be.
        reason: Why not.
    """

    way: str | None = None
    reason: str | None = None


@functools.lru_cache(maxsize=1)
def how_to_seal() -> Ability:
    """Run a program that hides a file from itself; return how it did so."""
    if not sys.platform.startswith("linux"):
        return Ability(reason=_ELSEWHERE)
    with tempfile.TemporaryDirectory(prefix="proctor-seal-") as folder:
        canary = Path(folder, "canary")
        canary.write_text("here", encoding="utf-8")
        probe = [sys.executable, "-I", "-S", "-c", _PROBE, str(canary)]
        try:
            done = subprocess.run(  # noqa: S603  # our own program
                sealed_command(probe, [folder]),
                capture_output=True, text=True, check=False, timeout=_PROBE_S,
            )  # fmt: skip
        except (OSError, subprocess.TimeoutExpired) as error:
            return Ability(reason=str(error))
    found, *rest = done.stdout.split("\n")
    if done.returncode != 0 or found != "hidden":
        return Ability(reason=done.stderr.strip()[-300:] or "a hidden file can still be read")
    same = rest[0] == str(Path("/proc/self/ns/user").readlink())
    return Ability(way=namespaces.MOUNTS if same else namespaces.USERS)


def sealed_command(command: Iterable[str], hidden: Iterable[str | Path]) -> list[str]:
    """Return a command that runs `command` with the files in `hidden` out of sight.

    It keeps its process id, and fails to start if files cannot be hidden.
    """
    order = json.dumps([str(each) for each in hidden])
    return [sys.executable, "-I", "-S", namespaces.__file__, order, *command]
