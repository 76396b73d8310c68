"""Trials in which a browser, a site or a provider fails: whose doing that was."""

from __future__ import annotations

import asyncio
import os
import re
import signal
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import pytest
from attempts import NAVIGATED, PICTURES, TODOS, attempt, nothing, urls_in, visit
from cdp_use.client import CDPClient

from bench_core.browser import websocket_url
from bench_core.errors import EnvironmentFaultError
from bench_core.records import AgentOutcome, Status
from webarena_runner.environment import EnvironmentSettings
from webarena_runner.world.launch import environment_of

if TYPE_CHECKING:
    from pathlib import Path

    from bench_core.protocols import BrowserHandle, TrialContext
    from bench_core.records import AgentTask
    from webarena_runner.world import BuiltInWorld

pytestmark = pytest.mark.browser


async def send(browser: BrowserHandle, method: str) -> None:
    """Send one command; a browser that ends does not always answer."""
    async with CDPClient(await websocket_url(browser.cdp_url)) as cdp:
        with suppress(ConnectionError, TimeoutError, RuntimeError):
            await asyncio.wait_for(cdp.send_raw(method), 20)


@pytest.mark.parametrize("method", ["Browser.close"])
@pytest.mark.parametrize("after", ["waits", "raises"])
async def test_ending_the_browser_is_the_agents_failure(
    world: BuiltInWorld, tmp_path: Path, method: str, after: str
) -> None:
    async def end(_task: AgentTask, browser: BrowserHandle, _context: TrialContext) -> AgentOutcome:
        await send(browser, method)
        if after == "waits":
            await asyncio.Event().wait()
        raise EnvironmentFaultError("the browser is gone")

    result = await attempt(world, tmp_path, end)
    assert (result.status, result.score) == (Status.AGENT_ERROR, 0.0)
    assert result.error is not None
    assert method in result.error.message
    assert urls_in(tmp_path)


async def test_agent_that_is_done_may_close_its_browser(
    world: BuiltInWorld, tmp_path: Path
) -> None:
    async def close(
        _task: AgentTask, browser: BrowserHandle, _context: TrialContext
    ) -> AgentOutcome:
        await visit(browser, f"{world.urls['gitlab']}/dashboard/todos")
        await asyncio.sleep(0.5)
        await send(browser, "Browser.close")
        return AgentOutcome(answer=NAVIGATED)

    result = await attempt(world, tmp_path, close, TODOS)
    assert (result.status, result.score) == (Status.COMPLETED, 1.0)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL], ids=["term", "kill"])
@pytest.mark.parametrize("after", ["waits", "raises", "returns"])
async def test_browser_ended_from_outside_is_nobodys_failure(
    world: BuiltInWorld, tmp_path: Path, number: signal.Signals, after: str
) -> None:
    async def work_on(
        _task: AgentTask, browser: BrowserHandle, context: TrialContext
    ) -> AgentOutcome:
        async with CDPClient(await websocket_url(browser.cdp_url)) as cdp:
            await cdp.send_raw("Target.getTargets")
            (group,) = context.processes.alive()
            os.kill(group, number)
            if after == "waits":
                await asyncio.Event().wait()
            with suppress(ConnectionError, RuntimeError):
                while after == "raises":
                    await cdp.send_raw("Target.getTargets")
        if after == "raises":
            raise RuntimeError("the browser is gone")
        return AgentOutcome(answer=NAVIGATED)

    result = await attempt(world, tmp_path, work_on, settings=EnvironmentSettings())
    assert (result.status, result.score) == (Status.ENVIRONMENT_ERROR, None)
    assert result.error is not None
    assert "died" in result.error.message


async def test_tab_that_its_agent_crashes_does_not_save_it_from_failing(
    world: BuiltInWorld, tmp_path: Path
) -> None:
    async def crash(
        _task: AgentTask, browser: BrowserHandle, _context: TrialContext
    ) -> AgentOutcome:
        async with CDPClient(await websocket_url(browser.cdp_url)) as cdp:
            targets = (await cdp.send_raw("Target.getTargets"))["targetInfos"]
            page = next(each["targetId"] for each in targets if each["type"] == "page")
            attached = await cdp.send_raw(
                "Target.attachToTarget", {"targetId": page, "flatten": True}
            )
            with suppress(TimeoutError):
                await asyncio.wait_for(cdp.send_raw("Page.crash", {}, attached["sessionId"]), 3)
            await cdp.send_raw("Target.closeTarget", {"targetId": page})
        return AgentOutcome(answer=NAVIGATED)

    result = await attempt(world, tmp_path, crash)
    assert (result.status, result.score) == (Status.COMPLETED, 0.0)


async def test_crash_of_the_browser_is_nobodys_failure_and_keeps_the_traffic(
    world: BuiltInWorld, tmp_path: Path
) -> None:
    async def shoot(
        _task: AgentTask, _browser: BrowserHandle, context: TrialContext
    ) -> AgentOutcome:
        (group,) = context.processes.alive()
        os.killpg(group, signal.SIGKILL)
        await asyncio.Event().wait()
        raise AssertionError

    result = await attempt(world, tmp_path, shoot)
    assert (result.status, result.score) == (Status.ENVIRONMENT_ERROR, None)
    assert result.error is not None
    assert "died" in result.error.message
    assert urls_in(tmp_path)


async def test_site_that_goes_down_meanwhile_is_nobodys_failure(
    world: BuiltInWorld, tmp_path: Path
) -> None:
    async def break_it(
        _task: AgentTask, _browser: BrowserHandle, _context: TrialContext
    ) -> AgentOutcome:
        world.faults["reddit"].switch_on("error")
        return AgentOutcome(answer=NAVIGATED)

    result = await attempt(world, tmp_path, break_it)
    assert (result.status, result.score) == (Status.ENVIRONMENT_ERROR, None)
    assert result.error is not None
    assert re.search(r"'reddit' is down.*500", result.error.message)


async def test_success_counts_although_the_site_went_down_after_it(
    world: BuiltInWorld, tmp_path: Path
) -> None:
    async def finish(
        _task: AgentTask, browser: BrowserHandle, _context: TrialContext
    ) -> AgentOutcome:
        await visit(browser, f"{world.urls['gitlab']}/dashboard/todos")
        await asyncio.sleep(0.5)
        world.faults["gitlab"].switch_on("error")
        return AgentOutcome(answer=NAVIGATED)

    assert (await attempt(world, tmp_path, finish, TODOS)).score == 1.0


async def test_start_page_that_never_answers_is_an_environment_fault(
    world: BuiltInWorld, tmp_path: Path
) -> None:
    world.faults["reddit"].switch_on("stall", "/f/pics")
    settings = EnvironmentSettings(start_page_s=1.0)
    with pytest.raises(EnvironmentFaultError, match=r"start page .* did not answer within 1 s"):
        await attempt(world, tmp_path, nothing, PICTURES, settings=settings)


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        ("error", "answers with status 500"),
        ("busy", "answers with status 429"),
        ("drop", "cannot be opened"),
        ("garbage", "cannot be opened"),
        ("empty", "is empty"),
    ],
)
async def test_start_page_that_fails_is_an_environment_fault_before_the_agent_begins(
    world: BuiltInWorld, tmp_path: Path, fault: Any, message: str
) -> None:
    world.faults["reddit"].switch_on(fault, "/f/pics")
    with pytest.raises(EnvironmentFaultError, match=rf"start page .*/f/pics {message}"):
        await attempt(world, tmp_path, nothing, PICTURES)


async def test_unreachable_site_is_an_environment_fault_before_any_browser(
    world: BuiltInWorld, tmp_path: Path
) -> None:
    environment = environment_of(world)
    await world.stop()
    with pytest.raises(EnvironmentFaultError, match=r"'reddit'.*cannot be reached"):
        await attempt(world, tmp_path, nothing, environment=environment)
    assert not (tmp_path / "network.har").exists()


async def test_an_outage_of_the_provider_is_not_the_agents_fault(
    world: BuiltInWorld, tmp_path: Path
) -> None:
    async def fail(
        _task: AgentTask, _browser: BrowserHandle, _context: TrialContext
    ) -> AgentOutcome:
        raise EnvironmentFaultError("provider")

    result = await attempt(world, tmp_path, fail)
    assert (result.status, result.score) == (Status.ENVIRONMENT_ERROR, None)
    assert urls_in(tmp_path)


async def test_a_budget_that_only_the_agent_calls_spent_takes_no_failure_away(
    world: BuiltInWorld, tmp_path: Path
) -> None:
    async def stop(
        _task: AgentTask, _browser: BrowserHandle, _context: TrialContext
    ) -> AgentOutcome:
        return AgentOutcome(status=Status.BUDGET_EXCEEDED)

    result = await attempt(world, tmp_path, stop)
    assert (result.status, result.score) == (Status.AGENT_ERROR, 0.0)
