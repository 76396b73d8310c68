"""What tests of the browser tower share: what runs, what is left, programs that misbehave."""

from __future__ import annotations

import asyncio
import stat
import time
from typing import TYPE_CHECKING

import pytest

from bench_core.process_table import command_lines

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


@pytest.fixture
def mentions() -> Callable[[Path], list[int]]:
    """Ids of running processes whose command line names a path."""
    return lambda path: [pid for pid, line in command_lines() if str(path) in line]


@pytest.fixture
def program(tmp_path: Path) -> Callable[[str], Path]:
    """Write a shell script that stands in for a broken browser."""

    def write(body: str) -> Path:
        path = tmp_path / "broken-browser"
        path.write_text(f"#!/bin/sh\n{body}\n", encoding="utf-8")
        path.chmod(path.stat().st_mode | stat.S_IXUSR)
        return path

    return write


@pytest.fixture
def within() -> Callable[[float, Callable[[], bool]], bool]:
    """Wait until a condition holds; False when it does not in time."""

    def wait(seconds: float, holds: Callable[[], bool]) -> bool:
        end = time.monotonic() + seconds
        while not holds():
            if time.monotonic() > end:
                return False
            time.sleep(0.02)
        return True

    return wait


@pytest.fixture
def eventually(within: Callable[[float, Callable[[], bool]], bool]) -> Callable[..., object]:
    """As `within`, for asynchronous tests."""

    async def wait(seconds: float, holds: Callable[[], bool]) -> bool:
        return await asyncio.to_thread(within, seconds, holds)

    return wait
