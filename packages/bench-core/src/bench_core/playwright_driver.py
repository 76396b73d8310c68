"""Playwright's driver, a Node of its own: start it, or say why it does not run on this machine."""

from __future__ import annotations

import asyncio
import re
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib.util import find_spec
from typing import Any, NamedTuple

from bench_core.errors import BrowserError, MissingExtraError

__all__ = ["open_playwright"]

_START_S = 60.0
_ANEW = "install it anew: pip install --force-reinstall playwright"
_MISSING_LIBRARY = re.compile(r"error while loading shared libraries: (\S+):")
_PACKAGES = {"libatomic.so.1": "libatomic1 on Debian and Ubuntu, libatomic on Fedora"}
"""The library that minimal systems lack, and the packages that contain it."""


class DriverProblem(NamedTuple):
    """Why Playwright's driver does not start, and the remedy."""

    what: str
    fix: str

    def __str__(self) -> str:
        return f"{self.what}; {self.fix}"


@asynccontextmanager
async def open_playwright(purpose: str) -> AsyncIterator[Any]:
    """Start Playwright; it ends with the context.

    Raises:
        BrowserError: Its driver does not start; names the remedy.
        MissingExtraError: It is not installed, and `purpose` needs it.
    """
    require_playwright(purpose)
    from playwright.async_api import async_playwright

    try:
        playwright = await async_playwright().start()
    except Exception as error:  # it raises nothing narrower if its driver ends at once
        problem = await asyncio.to_thread(driver_problem)
        raise BrowserError(f"Playwright does not start: {problem or error}") from error
    try:
        yield playwright
    finally:
        stopping = asyncio.ensure_future(playwright.stop())
        try:
            await asyncio.shield(stopping)
        except asyncio.CancelledError:
            await asyncio.wait([stopping])  # its Node would outlive the event loop
            raise


def require_playwright(purpose: str = "a shared Chromium") -> None:
    """Raise MissingExtraError if Playwright is not installed, which `purpose` needs."""
    if find_spec("playwright") is None:
        raise MissingExtraError(purpose, "Playwright", "bench-core", "playwright")


def driver_problem() -> DriverProblem | None:
    """Start Playwright's driver alone; return why it does not start, None if it does."""
    command = [sys.executable, "-m", "playwright", "--version"]
    try:
        done = subprocess.run(  # noqa: S603  # our words
            command, capture_output=True, text=True, errors="replace", timeout=_START_S, check=False,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return DriverProblem(f"its driver does not answer within {_START_S:.0f} s", _ANEW)
    if done.returncode == 0:
        return None
    if missing := _MISSING_LIBRARY.search(done.stderr):
        package = _PACKAGES.get(missing[1], f"what has {missing[1]} on this system")
        return DriverProblem(f"its driver needs {missing[1]}", f"install {package}")
    last = "".join(done.stderr.strip().splitlines()[-1:])[:500]
    return DriverProblem(f"its driver ended with exit code {done.returncode}: {last}", _ANEW)
