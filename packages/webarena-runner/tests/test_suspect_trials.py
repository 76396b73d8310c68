"""Trials on the built-in sites whose pages fail exactly where the task leads: score and suspicion."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest
from cdp_use.client import CDPClient

from bench_core.browser import websocket_url
from bench_core.protocols import TrialContext
from bench_core.records import AgentOutcome, Limits
from bench_core.trial import AgentLimits, rescore_trial, run_trial
from webarena_runner.benchmark import WebArenaBenchmark
from webarena_runner.environment import EnvironmentSettings
from webarena_runner.recording import RecordingLimits
from webarena_runner.tasks import load_tasks
from webarena_runner.world import BuiltInWorld
from webarena_runner.world.launch import environment_of

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable
    from pathlib import Path

    from bench_core.records import AgentTask, TrialResult

    Deed = Callable[["Page", BuiltInWorld], Awaitable[None]]

pytestmark = pytest.mark.browser

BIOGRAPHY, TODOS = 399, 44
TODO_PAGE = "/dashboard/todos"
FORM = "/user/MarvelsGrantMan136/edit_biography"
TELL = """(() => {
  document.querySelector('[name="user_biography[biography]"]').value = 'I am a robot';
  document.documentElement.dataset.left = 'yes';
  document.forms[document.forms.length - 1].submit();
})()"""
TYPES = {BIOGRAPHY: "MUTATE", TODOS: "NAVIGATE"}


class Page:
    """The first tab of a trial's browser."""

    def __init__(self, cdp: CDPClient, session: str) -> None:
        self._cdp = cdp
        self._session = session

    async def open(self, url: str) -> None:
        """Ask for a page and give it a moment; it may never come."""
        order = self._cdp.send_raw("Page.navigate", {"url": url}, self._session)
        navigation = asyncio.create_task(order)
        await asyncio.wait({navigation}, timeout=10)
        await asyncio.sleep(0.5)

    async def run(self, script: str) -> None:
        """Run a script, and wait until the page has gone where it was sent."""
        await self._ask(script)
        while not await self._ask("!document.documentElement.dataset.left"):  # noqa: ASYNC110  # asks the page
            await asyncio.sleep(0.05)
        await asyncio.sleep(0.5)

    async def _ask(self, script: str) -> Any:
        question = {"expression": script, "returnByValue": True}
        try:
            answer = await self._cdp.send_raw("Runtime.evaluate", question, self._session)
        except RuntimeError:  # between two documents
            return None
        return answer["result"].get("value")


class Doer:
    """Does one thing in the first tab and says that all is done."""

    name = "doer"

    def __init__(self, deed: Deed, world: BuiltInWorld) -> None:
        self._deed = deed
        self._world = world

    async def run(self, task: AgentTask, environment: Any, context: TrialContext) -> AgentOutcome:
        async with CDPClient(await websocket_url(environment.cdp_url)) as cdp:
            targets = (await cdp.send_raw("Target.getTargets"))["targetInfos"]
            tab = next(each["targetId"] for each in targets if each["type"] == "page")
            order = {"targetId": tab, "flatten": True}
            session = (await cdp.send_raw("Target.attachToTarget", order))["sessionId"]
            await self._deed(Page(cdp, session), self._world)
        answer = {"task_type": TYPES[int(task.task_id)], "status": "SUCCESS"}
        return AgentOutcome(answer=answer, steps=1)


@pytest.fixture
async def world() -> AsyncIterator[BuiltInWorld]:
    world = BuiltInWorld()
    await world.start()
    yield world
    await world.stop()


async def attempt(
    world: BuiltInWorld, folder: Path, deed: Deed, task_id: int, **more: Any
) -> TrialResult:
    settings = EnvironmentSettings(close_s=1.0, stop_recorder_s=2.0, **more)
    benchmark = WebArenaBenchmark(environment_of(world), settings=settings)
    limits = Limits(time_limit_s=120.0)
    context = TrialContext(run_id="r", folder=folder, agent="doer", world="built-in", limits=limits)
    task = load_tasks()[task_id]
    result = await run_trial(benchmark, task, context, Doer(deed, world), limits=AgentLimits())
    if result.score is not None:
        assert await rescore_trial(benchmark, task, result, folder) == result
    return result


def summary(result: TrialResult) -> tuple[float | None, str | None, tuple[str, ...]]:
    return result.score, result.failure_mode, tuple(each.value for each in result.suspect)


def with_fault(kind: Any, path: str, times: int | None = None) -> Deed:
    async def deed(page: Page, world: BuiltInWorld) -> None:
        world.faults["gitlab"].switch_on(kind, path, times)
        await page.open(f"{world.urls['gitlab']}{TODO_PAGE}")

    return deed


@pytest.mark.parametrize(
    ("kind", "cause"),
    [("error", "site_error"), ("drop", "navigation_blocked"), ("stall", "navigation_blocked")],
)
async def test_the_expected_page_fails(
    world: BuiltInWorld, tmp_path: Path, kind: str, cause: str
) -> None:
    result = await attempt(world, tmp_path, with_fault(kind, TODO_PAGE), TODOS)
    assert summary(result) == (0.0, cause, (cause,))
    assert result.status == "completed"


@pytest.mark.parametrize(
    ("first", "status", "score"),
    [("/explore", "completed", 0.0), (TODO_PAGE, "evaluation_error", None)],
)
async def test_too_many_requests_leave_a_zero_and_no_success(
    world: BuiltInWorld, tmp_path: Path, first: str, status: str, score: float | None
) -> None:
    async def swarm(page: Page, world: BuiltInWorld) -> None:
        await page.open(f"{world.urls['gitlab']}{first}")
        await page.run("Promise.all([...Array(40)].map((_, n) => fetch(`/explore?n=${n}`)))")

    limits = RecordingLimits(entries=20)
    result = await attempt(world, tmp_path, swarm, TODOS, recording=limits)
    assert (result.status, result.score) == (status, score)
    assert "recording_full" in result.flags


async def test_the_expected_page_fails_once_and_then_opens(
    world: BuiltInWorld, tmp_path: Path
) -> None:
    async def try_twice(page: Page, world: BuiltInWorld) -> None:
        await with_fault("error", TODO_PAGE, 1)(page, world)
        await page.open(f"{world.urls['gitlab']}{TODO_PAGE}")

    assert summary(await attempt(world, tmp_path, try_twice, TODOS)) == (1.0, None, ())


async def test_the_login_ends_before_the_expected_page(world: BuiltInWorld, tmp_path: Path) -> None:
    async def after_expiry(page: Page, world: BuiltInWorld) -> None:
        world.sites["gitlab"].expire_sessions()
        await page.open(f"{world.urls['gitlab']}{TODO_PAGE}")

    result = await attempt(world, tmp_path, after_expiry, TODOS)
    assert summary(result) == (0.0, "login_lost", ("login_lost",))


async def test_the_login_ends_between_the_form_and_its_request(
    world: BuiltInWorld, tmp_path: Path
) -> None:
    async def fill_in(page: Page, world: BuiltInWorld) -> None:
        url = f"{world.urls['reddit']}{FORM}"
        await page.open(url)
        world.sites["reddit"].expire_sessions()
        await page.run(TELL)
        await page.open(url)

    result = await attempt(world, tmp_path, fill_in, BIOGRAPHY)
    assert summary(result) == (0.0, "login_lost", ("login_lost",))


async def test_the_expected_change_fails_on_the_server(world: BuiltInWorld, tmp_path: Path) -> None:
    async def fill_in(page: Page, world: BuiltInWorld) -> None:
        await page.open(f"{world.urls['reddit']}{FORM}")
        world.faults["reddit"].switch_on("error", FORM)
        await page.run(TELL)

    result = await attempt(world, tmp_path, fill_in, BIOGRAPHY)
    assert summary(result) == (0.0, "site_error", ("site_error",))


async def test_a_script_of_the_page_fails_and_the_agent_does_nothing_more(
    world: BuiltInWorld, tmp_path: Path
) -> None:
    async def look(page: Page, world: BuiltInWorld) -> None:
        await page.open(f"{world.urls['reddit']}{FORM}")
        world.faults["reddit"].switch_on("error", "/poll")
        await page.run("fetch('/poll').catch(() => 0)")

    result = await attempt(world, tmp_path, look, BIOGRAPHY)
    assert summary(result) == (0.0, "missing_action", ())


async def test_an_address_that_is_not_there_is_the_agents_mistake(
    world: BuiltInWorld, tmp_path: Path
) -> None:
    async def stray(page: Page, world: BuiltInWorld) -> None:
        await page.open(f"{world.urls['gitlab']}/no/such/page")

    assert summary(await attempt(world, tmp_path, stray, TODOS)) == (0.0, "wrong_action", ())
