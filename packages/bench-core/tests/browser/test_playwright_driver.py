"""Playwright where its driver, a Node of its own, does not start."""

from __future__ import annotations

import asyncio
import sys
from typing import TYPE_CHECKING

import pytest

from bench_core.agents.browser import connect_browser
from bench_core.browser import ChromiumOptions, browser_checks
from bench_core.browser.shared import attached_chromium
from bench_core.errors import EnvironmentFaultError, pip_install
from bench_core.playwright_driver import open_playwright
from bench_core.protocols import BrowserHandle

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from bench_core.cli.doctor import CheckResult

pytest.importorskip("playwright", reason="Playwright is an extra")

LIBRARY = "node: error while loading shared libraries: libatomic.so.1: cannot open shared object file: No such file"


@pytest.fixture
def node(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str, int], None]:
    """Put a program in the place of Node that says something and ends."""

    def put(said: str, code: int) -> None:
        program = tmp_path / "node"
        program.write_text(f"#!/bin/sh\necho '{said}' >&2\nexit {code}\n")
        program.chmod(0o755)
        monkeypatch.setenv("PLAYWRIGHT_NODEJS_PATH", str(program))

    return put


def playwright() -> CheckResult:
    (check,) = [each for each in browser_checks() if each.name == "Playwright"]
    return check.run()


async def test_a_library_that_is_missing_is_named_with_its_package(
    node: Callable[[str, int], None],
) -> None:
    node(LIBRARY, 127)
    said = "its driver needs libatomic.so.1; install libatomic1 on Debian"
    with pytest.raises(EnvironmentFaultError, match=f"Playwright does not start: {said}"):
        async with connect_browser(BrowserHandle(cdp_url="ws://127.0.0.1:1")):
            pass
    with pytest.raises(EnvironmentFaultError, match=said):
        async with attached_chromium(ChromiumOptions()):
            pass
    found = playwright()
    assert (found.status, found.detail) == ("fail", "its driver needs libatomic.so.1")
    assert found.fix.startswith("install libatomic1 on Debian")


@pytest.mark.parametrize(
    ("said", "code", "detail"),
    [
        pytest.param("x: error while loading shared libraries: libodd.so.7: gone", 127,
                     "its driver needs libodd.so.7", id="another-library"),
        pytest.param("first\nout of luck", 3, "its driver ended with exit code 3: out of luck", id="other"),
        pytest.param("", 0, "its driver starts", id="starts"),
    ],
)  # fmt: skip
def test_doctor_starts_the_driver_and_says_what_it_said(
    node: Callable[[str, int], None], said: str, code: int, detail: str
) -> None:
    node(said, code)
    found = playwright()
    assert (found.status, found.detail) == ("fail" if code else "ok", detail)
    assert bool(found.fix) == bool(code)


async def test_what_playwright_raised_is_kept_where_its_driver_starts_alone(
    node: Callable[[str, int], None],
) -> None:
    node("", 0)  # it answers nothing to Playwright, and ends well
    with pytest.raises(EnvironmentFaultError, match="Playwright does not start: Connection closed"):
        async with connect_browser(BrowserHandle(cdp_url="ws://127.0.0.1:1")):
            pass


def test_doctor_names_the_extra_where_playwright_is_not_installed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "playwright", None)
    found = playwright()
    assert (found.status, found.fix) == ("warn", pip_install("bench-core[playwright]"))


@pytest.mark.browser
@pytest.mark.full_chromium
async def test_the_driver_ends_though_its_end_is_cancelled() -> None:
    opened, ending = asyncio.Event(), asyncio.Event()
    ended = []

    async def use() -> None:
        async with open_playwright("this test") as playwright:
            stop = playwright.stop

            async def slow_stop() -> None:
                ending.set()
                await asyncio.sleep(0.2)
                await stop()
                ended.append(True)

            playwright.stop = slow_stop
            opened.set()
            await asyncio.sleep(600)

    user = asyncio.create_task(use())
    await asyncio.wait_for(opened.wait(), 60)
    user.cancel()
    await asyncio.wait_for(ending.wait(), 60)
    user.cancel()
    with pytest.raises(asyncio.CancelledError):
        await user
    assert ended == [True]
