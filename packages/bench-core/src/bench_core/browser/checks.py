"""The checks of `doctor` that every benchmark in a browser has."""

from __future__ import annotations

from pathlib import Path

from bench_core.browser.chromium import launch_chromium
from bench_core.browser.executable import find_chromium, install_command
from bench_core.browser.options import ChromiumOptions
from bench_core.cli.coroutines import run_coroutine
from bench_core.cli.doctor import Check, CheckResult, failed, ok, warned
from bench_core.errors import BenchError, BrowserError, MissingExtraError, pip_install
from bench_core.files.temporary import temporary_folder
from bench_core.playwright_driver import driver_problem, require_playwright


def browser_checks() -> list[Check]:
    """Return the checks for a Chromium, and whether Playwright's driver starts where it is installed."""
    return [Check("Chromium", _chromium), Check("Playwright", _playwright)]


def _chromium() -> CheckResult:
    try:
        executable = find_chromium()
    except BrowserError as error:
        return failed(str(error), install_command())
    try:
        with temporary_folder():  # where that of a run starts
            run_coroutine(_start(executable))
    except (BenchError, OSError) as error:
        return failed(str(error), "let it start: what it printed says what it lacks")
    return ok(f"{executable} starts")


async def _start(executable: Path) -> None:
    async with launch_chromium(ChromiumOptions(executable=executable)):
        pass


def _playwright() -> CheckResult:
    try:
        require_playwright("an agent in a browser")
    except MissingExtraError as error:
        adds = pip_install(f"{error.distribution}[{error.extra}]")
        return warned("not installed; our own agents need it in a browser", adds)
    problem = driver_problem()
    return failed(problem.what, problem.fix) if problem else ok("its driver starts")
