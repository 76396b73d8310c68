"""Apps that fail while the agent works: the score stays, and the record shows the likely cause."""

from __future__ import annotations

import asyncio
import os
import signal
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from playwright.async_api import Error

from bench_core.errors import EnvironmentFaultError
from bench_core.playwright_driver import open_playwright
from bench_core.records import AgentOutcome, Status
from multireal_harness.agents.scripted_agent import ScriptedAgent
from multireal_harness.environment import EnvironmentSettings
from multireal_harness.world import load_solutions

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from bench_core.protocols import TrialContext
    from bench_core.records import AgentTask, TrialResult

    Deed = Callable[[Any, str], Awaitable[None]]

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]

TASK = "dining-mail-1"
SETTINGS = EnvironmentSettings(track=False, stalled_s=0.5)


class Visitor:
    """An agent that does something in the first app's page, with `solves` after the right solution."""

    name = "visitor"
    in_process = True

    def __init__(self, deed: Deed, *, solves: bool) -> None:
        self._deed = deed
        self._solves = solves

    async def run(self, task: AgentTask, environment: Any, context: TrialContext) -> AgentOutcome:
        outcome = AgentOutcome(steps=1)
        if self._solves:
            outcome = await ScriptedAgent(load_solutions(TASK)[0]).run(task, environment, context)
        page = await environment.live.browser.context.new_page()
        await self._deed(page, environment.start_urls[0])
        return outcome


async def trial(
    runner: Any, deed: Deed, *, solves: bool = False, settings: EnvironmentSettings = SETTINGS
) -> TrialResult:
    result: TrialResult = await runner.run(
        TASK, agent_for=lambda *_: Visitor(deed, solves=solves), environment=settings, name="trial"
    )
    assert await runner.rescore(TASK, result, "trial") == result
    return result


def summary(result: TrialResult) -> tuple[float | None, str | None, tuple[str, ...]]:
    return result.score, result.failure_mode, tuple(each.value for each in result.suspect)


async def visit(page: Any, url: str, patience_s: float = 60.0) -> None:
    try:
        await page.goto(url, timeout=patience_s * 1000)
    except Error:
        return


def visiting(runner: Any, kind: str, value: float = 0, times: int | None = None) -> Deed:
    async def deed(page: Any, origin: str) -> None:
        runner.world.fail("dining", kind, "/menu", times, value)
        for _ in range(2 if times else 1):
            await visit(page, f"{origin}/menu?day=1", 5.0 if kind == "stall" else 60.0)

    return deed


@pytest.mark.parametrize(
    ("kind", "value", "cause"),
    [
        ("status", 500, "site_error"),
        ("status", 429, "site_error"),
        ("drop", 0, "navigation_blocked"),
        ("garbage", 0, "navigation_blocked"),
        ("stall", 0, "navigation_blocked"),
    ],
)
async def test_app_that_fails_while_the_agent_works_makes_its_failure_suspect(
    runner: Any, kind: str, value: float, cause: str
) -> None:
    result = await trial(runner, visiting(runner, kind, value))
    assert summary(result) == (0.0, cause, (cause,))
    assert result.status is Status.COMPLETED
    assert "/menu" in result.details["suspect_evidence"]


async def test_script_that_an_app_does_not_give_makes_a_failure_suspect(runner: Any) -> None:
    async def load(page: Any, origin: str) -> None:
        runner.world.fail("dining", "status", "/part.js", value=503)
        await page.goto(origin)
        await page.evaluate("import('/part.js').catch(() => 0)")

    assert summary(await trial(runner, load)) == (0.0, "site_error", ("site_error",))


async def test_app_that_answers_on_the_second_try_has_no_fault(runner: Any) -> None:
    result = await trial(runner, visiting(runner, "status", 500, times=1))
    assert summary(result) == (0.0, "wrong_end_state", ())


async def test_right_end_state_is_right_whatever_failed_on_the_way(runner: Any) -> None:
    result = await trial(runner, visiting(runner, "status", 500), solves=True)
    assert summary(result) == (1.0, None, ())


async def test_page_that_is_not_there_is_the_agents_mistake(runner: Any) -> None:
    result = await trial(runner, visiting(runner, "status", 404))
    assert summary(result) == (0.0, "wrong_end_state", ())


async def test_picture_that_is_missing_explains_nothing(runner: Any) -> None:
    async def show(page: Any, origin: str) -> None:
        runner.world.fail("dining", "status", "/logo.png", value=500)
        await page.goto(origin)
        await page.evaluate(
            "new Promise(done => { const i = new Image(); i.onerror = done; i.src = '/logo.png'; })"
        )

    assert summary(await trial(runner, show)) == (0.0, "wrong_end_state", ())


async def test_page_the_agent_leaves_at_once_is_no_fault(runner: Any) -> None:
    async def leave(page: Any, origin: str) -> None:
        runner.world.fail("dining", "stall", "/menu")
        async with page.expect_request(f"{origin}/menu"):
            going = asyncio.create_task(visit(page, f"{origin}/menu"))
        await visit(page, f"{origin}/elsewhere")
        await going

    settings = EnvironmentSettings(track=False, stalled_s=60.0)
    result = await trial(runner, leave, settings=settings)
    assert summary(result) == (0.0, "wrong_end_state", ())


async def test_page_that_crashes_makes_a_failure_suspect(runner: Any) -> None:
    async def crash(page: Any, origin: str) -> None:
        await page.goto(origin)
        crashed = asyncio.get_running_loop().create_future()
        page.on("crash", lambda _: crashed.done() or crashed.set_result(None))
        for pid in renderers(page):
            os.kill(pid, signal.SIGKILL)
        await asyncio.wait_for(crashed, 60)
        await new_page_works(page.context)

    try:
        result = await trial(runner, crash)
    finally:
        await runner.browsers.close()  # its next page may get a process that was killed
    assert summary(result) == (0.0, "wrong_end_state", ("environment_fault",))


class Crasher:
    """An agent that crashes a page of its own Chromium."""

    name = "crasher"

    async def run(self, task: AgentTask, environment: Any, context: TrialContext) -> AgentOutcome:
        async with open_playwright("this test") as driver:
            browser = await driver.chromium.connect_over_cdp(environment.cdp_url)
            page = browser.contexts[0].pages[0]
            session = await browser.contexts[0].new_cdp_session(page)
            crashed = asyncio.get_running_loop().create_future()
            page.on("crash", lambda _: crashed.done() or crashed.set_result(None))
            with suppress(Error, TimeoutError):
                await asyncio.wait_for(session.send("Page.crash"), 5)
            await asyncio.wait_for(crashed, 60)
        return AgentOutcome(steps=1)


async def test_page_that_the_agent_crashes_excuses_nothing(runner: Any) -> None:
    result = await runner.run(TASK, agent_for=lambda *_: Crasher(), environment=SETTINGS)
    assert summary(result) == (0.0, "wrong_end_state", ())


async def new_page_works(context: Any) -> None:
    """Wait until the browser has dropped its spare process for the next page, which was killed."""
    for _ in range(20):
        # a page that the browser gave to the killed process is never there
        with suppress(Error, TimeoutError):
            async with asyncio.timeout(5):
                page = await context.new_page()
            await page.goto("about:blank", timeout=2000)
            await page.close()
            return
        await asyncio.sleep(0.2)


def renderers(page: Any) -> list[int]:
    """The processes that show the pages of a browser of this process."""
    del page
    found = []
    for path in Path("/proc").glob("[0-9]*"):
        try:
            line = (path / "cmdline").read_bytes()
        except OSError:
            continue
        if b"--type=renderer" in line and _is_ours(int(path.name)):
            found.append(int(path.name))
    return found


def _is_ours(pid: int) -> bool:
    while pid > 1:
        if pid == os.getpid():
            return True
        try:
            status = Path(f"/proc/{pid}/stat").read_text()
        except OSError:
            return False
        pid = int(status.rpartition(")")[2].split()[1])
    return False


async def test_app_that_says_something_else_than_its_page_is_not_configured(runner: Any) -> None:
    runner.world.fail("dining", "odd_json", "/config", value=5)
    with pytest.raises(EnvironmentFaultError, match="'dining' is not configured"):
        await runner.run(TASK)


async def test_app_whose_state_is_an_error_gives_no_score(runner: Any) -> None:
    runner.world.fail("dining", "odd_json", "/finish", value=5)
    result = await runner.run(TASK)
    assert (result.status, result.score) == (Status.ENVIRONMENT_ERROR, None)
    assert "out of order" in str(result.error)
    assert "harness_error" not in result.flags
