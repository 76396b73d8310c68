"""Sessions of a group whose Chromium, or Playwright's driver, is killed: only theirs fail, and begin anew."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path
from typing import Any

import pytest

from bench_core import sessions

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(sys.platform != "linux", reason="processes are found in /proc"),
]

# solved by one click, and an answer that says so
TASK = "258"
CLICK = {"kind": "click", "target": {"element": "Public projects"}}
DONE = {"kind": "done", "answer": {"task_type": "NAVIGATE", "status": "SUCCESS"}}


def of_proc(pid: int, name: str) -> str:
    """Return a file of a process in /proc; nothing where it has ended."""
    try:
        return Path(f"/proc/{pid}/{name}").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


def is_ours(pid: int) -> bool:
    """Return whether a process was started by this one, or by one that it started."""
    fields = of_proc(pid, "stat").rpartition(")")[2].split()
    return bool(fields) and (int(fields[1]) == os.getpid() or is_ours(int(fields[1])))


def running() -> set[int]:
    return {int(each.name) for each in Path("/proc").iterdir() if each.name.isdigit()}


def kill_one(program: str, others: set[int]) -> None:
    """Kill the first process of ours that runs `program`, `others` last, and none that Chromium has started."""
    lines = {pid: of_proc(pid, "cmdline") for pid in running() if is_ours(pid)}
    fits = [pid for pid, line in lines.items() if program in line and "--type=" not in line]
    os.kill(min(fits, key=lambda pid: (pid in others, pid)), signal.SIGKILL)


def rewards(seen: list[Any]) -> list[float | str]:
    return [each.kind if isinstance(each, sessions.EpisodeError) else each.reward for each in seen]


def test_a_killed_world_costs_only_its_own_session_its_reward() -> None:
    """Chromium is killed when all is done, and Playwright's driver before the click; the same group goes on."""
    others = running()  # a browser of earlier tests may still run
    with sessions.open_many("webarena", 2) as group:
        for program, before in (("--remote-debugging-pipe", DONE), ("playwright/driver", CLICK)):
            seen: list[Any] = group.reset([TASK] * 2)  # each session has a world, also after a kill
            for action in (CLICK, DONE):
                if action is before:
                    kill_one(program, others)
                alive = [isinstance(each, sessions.SessionStep) for each in seen]
                done = group.step([action if each else None for each in alive])
                seen = [
                    new if each else old for old, new, each in zip(seen, done, alive, strict=True)
                ]
            assert sorted(map(str, rewards(seen))) == ["1.0", "environment_error"], (program, seen)
        group.reset([TASK] * 2)
        group.step([CLICK] * 2)
        assert rewards(group.step([DONE] * 2)) == [1.0, 1.0]
