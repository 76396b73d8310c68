"""What a trial leaves, what its agent finds, and how it ends."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import pytest
from attempts import (
    BIOGRAPHY,
    KEY,
    NAVIGATED,
    SHOP_AND_FORUM,
    TODOS,
    attempt,
    nothing,
    urls_in,
    visit,
)
from cdp_use.client import CDPClient

from bench_core.agents import ending_tools, task_text
from bench_core.browser import websocket_url
from bench_core.records import AgentOutcome, Status
from bench_core.trial import rescore_trial
from webarena_runner.benchmark import WebArenaBenchmark
from webarena_runner.tasks import load_tasks
from webarena_runner.world.launch import Environment, environment_of

if TYPE_CHECKING:
    from pathlib import Path

    from bench_core.protocols import BrowserHandle, TrialContext
    from bench_core.records import AgentTask
    from webarena_runner.world import BuiltInWorld

pytestmark = pytest.mark.browser


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
    told = task_text(seen["task"])
    assert told.count(world.urls["gitlab"]) == 1
    assert "[" not in told  # no list of a program
    assert load_tasks()[TODOS].template not in told
    assert [each.name for each in ending_tools(seen["task"])] == ["done"]
    assert "NOT_FOUND_ERROR" in ending_tools(seen["task"])[0].model_dump_json()
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
