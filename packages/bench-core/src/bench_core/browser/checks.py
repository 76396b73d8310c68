"""The checks of `doctor` that every benchmark in a browser has."""

from __future__ import annotations

from bench_core.browser.executable import find_chromium, install_command
from bench_core.cli.doctor import Check, CheckResult, failed, ok, warned
from bench_core.errors import BrowserError, MissingExtraError
from bench_core.playwright_driver import driver_problem, require_playwright


def browser_checks() -> list[Check]:
    """Return the checks for a Chromium, and whether Playwright's driver starts where it is installed."""
    return [Check("Chromium", _chromium), Check("Playwright", _playwright)]


def _chromium() -> CheckResult:
    try:
        return ok(str(find_chromium()))
    except BrowserError as error:
        return failed(str(error), install_command())


def _playwright() -> CheckResult:
    try:
        require_playwright("an agent in a browser")
    except MissingExtraError as error:
        adds = f"pip install '{error.distribution}[{error.extra}]'"
        return warned("not installed; our own agents need it in a browser", adds)
    problem = driver_problem()
    return failed(problem.what, problem.fix) if problem else ok("its driver starts")
