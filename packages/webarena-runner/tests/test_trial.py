from __future__ import annotations

import asyncio
import json
import os
import re
import signal
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import pytest
from cdp_use.client import CDPClient

from bench_core.browser import websocket_url
from bench_core.errors import EnvironmentFaultError
from bench_core.protocols import TrialContext
from bench_core.records import AgentOutcome, Limits, Status
from bench_core.redaction import Redactor
from bench_core.trial import AgentLimits, rescore_trial, run_trial
from webarena_runner.benchmark import WebArenaBenchmark
from webarena_runner.environment import EnvironmentSettings
from webarena_runner.tasks import load_tasks
from webarena_runner.world import BuiltInWorld
from webarena_runner.world.launch import Environment, environment_of

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from bench_core.protocols import BrowserHandle
    from bench_core.records import AgentTask, TrialResult

pytestmark = pytest.mark.browser

KEY = "sk-planted-0123456789abcdef"
NAVIGATED = {"task_type": "NAVIGATE", "status": "SUCCESS", "retrieved_data": None}
BIOGRAPHY, TODOS, PICTURES, SHOP_AND_FORUM = 399, 44, 615, 671


class Doer:
    """An agent that does one thing."""

    name = "doer"

    def __init__(self, deed: Any) -> None:
        self._deed = deed

    async def run(self, task: AgentTask, environment: Any, context: TrialContext) -> AgentOutcome:
        outcome: AgentOutcome = await self._deed(task, environment, context)
        return outcome


@pytest.fixture
async def world() -> AsyncIterator[BuiltInWorld]:
    world = BuiltInWorld()
    await world.start()
    yield world
    await world.stop()


async def attempt(  # noqa: PLR0913  # keywords with defaults
    world: BuiltInWorld,
    folder: Path,
    deed: Any,
    task_id: int = BIOGRAPHY,
    *,
    time_limit_s: float = 60.0,
    environment: Environment | None = None,
    settings: EnvironmentSettings | None = None,
) -> TrialResult:
    benchmark = WebArenaBenchmark(
        environment or environment_of(world),
        settings=settings or EnvironmentSettings(close_s=1.0),
        redactor=Redactor([KEY]),
    )
    context = TrialContext(
        run_id="r",
        folder=folder,
        agent="doer",
        world="built-in",
        limits=Limits(time_limit_s=time_limit_s),
    )
    patience = AgentLimits(overtime_s=0.2, stop_s=1.0)
    return await run_trial(
        benchmark,
        load_tasks()[task_id],
        context,
        Doer(deed),
        limits=patience,
        redactor=Redactor([KEY]),
    )


async def visit(browser: BrowserHandle, url: str) -> dict[str, Any]:
    """Navigate the first tab and return the browser's answer, without waiting for the page."""
    async with CDPClient(await websocket_url(browser.cdp_url)) as cdp:
        targets = (await cdp.send_raw("Target.getTargets"))["targetInfos"]
        page = next(each for each in targets if each["type"] == "page")
        attached = await cdp.send_raw(
            "Target.attachToTarget", {"targetId": page["targetId"], "flatten": True}
        )
        return await cdp.send_raw("Page.navigate", {"url": url}, attached["sessionId"])


async def nothing(
    _task: AgentTask, _browser: BrowserHandle, _context: TrialContext
) -> AgentOutcome:
    return AgentOutcome(answer=NAVIGATED)


def urls_in(folder: Path) -> list[str]:
    har = json.loads((folder / "network.har").read_text())
    return [entry["request"]["url"] for entry in har["log"]["entries"]]


def files_holding(folder: Path, text: str) -> list[str]:
    files = [path for path in folder.rglob("*") if path.is_file()]
    return [path.name for path in files if text.encode() in path.read_bytes()]


async def test_trial_leaves_what_the_official_tools_need(
    world: BuiltInWorld, tmp_path: Path
) -> None:
    result = await attempt(world, tmp_path, nothing)
    assert (result.status, result.score) == (Status.COMPLETED, 0.0)
    assert result.failure_mode == "not_attempted"
    assert set(result.artifact_paths) >= {
        "agent_response.json",
        "evaluation.json",
        "network.har",
        "run_config.json",
    }
    assert set(result.timings_s) == {
        "reset",
        "environment",
        "agent",
        "capture",
        "evaluation",
        "total",
    }
    assert result.details["browser"]["name"]


async def test_recording_begins_with_the_start_page_and_holds_no_login(
    world: BuiltInWorld, tmp_path: Path
) -> None:
    await attempt(world, tmp_path, nothing)
    urls = urls_in(tmp_path)
    assert urls[0].rstrip("/") == world.urls["reddit"]
    assert not any("login" in url for url in urls)


async def test_agent_finds_itself_logged_in_with_rendered_urls(
    world: BuiltInWorld, tmp_path: Path
) -> None:
    seen: dict[str, Any] = {}

    async def look(task: AgentTask, browser: BrowserHandle, _context: TrialContext) -> AgentOutcome:
        seen.update(task=task, page=await visit(browser, f"{world.urls['gitlab']}/dashboard/todos"))
        await asyncio.sleep(0.5)
        return AgentOutcome(answer=NAVIGATED)

    result = await attempt(world, tmp_path, look, TODOS)
    assert result.score == 1.0  # logged out, it would have been redirected to the login
    assert seen["task"].inputs["start_urls"] == [world.urls["gitlab"]]
    assert "eval" not in seen["task"].model_dump_json()


async def test_sites_of_a_task_get_one_tab_each_in_order(
    world: BuiltInWorld, tmp_path: Path
) -> None:
    tabs: list[str] = []

    async def look(task: AgentTask, browser: BrowserHandle, _context: TrialContext) -> AgentOutcome:
        async with CDPClient(await websocket_url(browser.cdp_url)) as cdp:
            targets = (await cdp.send_raw("Target.getTargets"))["targetInfos"]
        tabs.extend(each["url"] for each in targets if each["type"] == "page")
        assert list(browser.start_urls) == task.inputs["start_urls"]
        return AgentOutcome(answer=NAVIGATED)

    await attempt(world, tmp_path, look, SHOP_AND_FORUM)
    wanted = {world.urls["shopping"], world.urls["reddit"]}
    assert {"/".join(url.split("/")[:3]) for url in tabs} == wanted
    documents = [url for url in urls_in(tmp_path) if url.count("/") == 3 and url.endswith("/")]
    assert [url.rstrip("/") for url in documents[:2]] == [
        world.urls[site] for site in load_tasks()[SHOP_AND_FORUM].inputs["sites"]
    ]


async def test_agent_out_of_time_is_scored_on_what_it_left(
    world: BuiltInWorld, tmp_path: Path
) -> None:
    async def linger(
        _task: AgentTask, browser: BrowserHandle, _context: TrialContext
    ) -> AgentOutcome:
        await visit(browser, f"{world.urls['reddit']}/f/space")
        await asyncio.Event().wait()
        raise AssertionError

    result = await attempt(world, tmp_path, linger, time_limit_s=10.0)
    assert (result.status, result.score) == (Status.TIME_LIMIT, 0.0)
    assert any(url.endswith("/f/space") for url in urls_in(tmp_path))


async def test_deadline_holds_although_a_navigation_never_answers(
    world: BuiltInWorld, tmp_path: Path
) -> None:
    world.faults["reddit"].switch_on("stall", "/never")

    async def wait(
        _task: AgentTask, browser: BrowserHandle, _context: TrialContext
    ) -> AgentOutcome:
        await visit(browser, f"{world.urls['reddit']}/never")
        raise AssertionError

    async with asyncio.timeout(120):
        result = await attempt(world, tmp_path, wait, time_limit_s=10.0)
    assert (result.status, result.score) == (Status.TIME_LIMIT, 0.0)
    assert any(url.endswith("/never") for url in urls_in(tmp_path))


async def test_agent_that_ignores_its_cancellation_does_not_hold_up_the_trial(
    world: BuiltInWorld, tmp_path: Path
) -> None:
    release = asyncio.Event()

    async def stubborn(
        _task: AgentTask, _browser: BrowserHandle, _context: TrialContext
    ) -> AgentOutcome:
        while not release.is_set():
            with suppress(asyncio.CancelledError):
                await release.wait()
        return AgentOutcome()

    async with asyncio.timeout(120):
        result = await attempt(world, tmp_path, stubborn, time_limit_s=1.0)
    release.set()
    assert result.status is Status.TIME_LIMIT


async def test_failing_agent_is_scored_and_its_traceback_kept(
    world: BuiltInWorld, tmp_path: Path
) -> None:
    async def crash(
        _task: AgentTask, _browser: BrowserHandle, _context: TrialContext
    ) -> AgentOutcome:
        raise KeyError("lost")

    result = await attempt(world, tmp_path, crash)
    assert (result.status, result.score) == (Status.AGENT_ERROR, 0.0)
    assert result.error.kind == "KeyError"
    assert "KeyError" in result.error.traceback


async def test_malformed_answer_is_the_agents_failure(world: BuiltInWorld, tmp_path: Path) -> None:
    async def prattle(
        _task: AgentTask, _browser: BrowserHandle, _context: TrialContext
    ) -> AgentOutcome:
        return AgentOutcome(answer={"task_type": None, "status": None})

    result = await attempt(world, tmp_path, prattle)
    assert (result.status, result.score) == (Status.AGENT_ERROR, 0.0)
    assert result.failure_mode == "malformed_answer"
    assert result.details["official"]["status"] == "error"


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


async def test_busy_page_does_not_keep_the_trial_from_ending(
    world: BuiltInWorld, tmp_path: Path
) -> None:
    world.faults["reddit"].switch_on("hang", "/busy")

    async def enter(
        _task: AgentTask, browser: BrowserHandle, _context: TrialContext
    ) -> AgentOutcome:
        await visit(browser, f"{world.urls['reddit']}/busy")
        return AgentOutcome(answer=NAVIGATED)

    async with asyncio.timeout(120):
        result = await attempt(world, tmp_path, enter)
    assert result.score == 0.0


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


async def test_known_keys_reach_no_file_of_the_trial(world: BuiltInWorld, tmp_path: Path) -> None:
    async def leak(
        _task: AgentTask, browser: BrowserHandle, _context: TrialContext
    ) -> AgentOutcome:
        await visit(browser, f"{world.urls['reddit']}/search?q={KEY}")
        return AgentOutcome(answer=f"my key is {KEY}")

    await attempt(world, tmp_path, leak)
    assert files_holding(tmp_path, KEY) == []
    assert any("/search?q=" in url for url in urls_in(tmp_path))


async def test_mutating_trials_find_their_sites_reset(
    world: BuiltInWorld, tmp_path_factory: pytest.TempPathFactory
) -> None:
    asked: list[tuple[str, ...]] = []

    async def reset(sites: Any, _: Any) -> None:
        asked.append(tuple(sites))

    environment = Environment(environment_of(world).config, reset=reset, shared=False)
    for number, task_id in enumerate((BIOGRAPHY, TODOS)):
        folder = tmp_path_factory.mktemp(str(number))
        await attempt(world, folder, nothing, task_id, environment=environment)
    assert asked == [("reddit",)]


async def test_scored_again_from_its_folder_a_trial_scores_the_same(
    world: BuiltInWorld, tmp_path: Path
) -> None:
    result = await attempt(world, tmp_path, nothing)
    again = await rescore_trial(WebArenaBenchmark(), load_tasks()[BIOGRAPHY], result, tmp_path)
    assert again == result
