"""Trials that share a Chromium: each finds it as it would find a new one, and is watched as in one of its own."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import pytest

from bench_core.errors import MissingExtraError
from bench_core.protocols import TrialContext
from bench_core.records import AgentOutcome, IntegrityCode, Limits, Status
from bench_core.trial import run_trial
from webarena_runner.benchmark import WebArenaBenchmark
from webarena_runner.environment import EnvironmentSettings
from webarena_runner.tasks import load_tasks
from webarena_runner.world import BuiltInWorld
from webarena_runner.world.launch import environment_of

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable
    from pathlib import Path

    from bench_core.records import AgentTask, TrialResult

    Deed = Callable[[Any], Awaitable[object]]

pytestmark = pytest.mark.browser

ANSWER = {"task_type": "NAVIGATE", "status": "SUCCESS", "retrieved_data": None}
BIOGRAPHY = 399
LEAVE = """async () => {
  document.cookie = 'left=1; max-age=9999; path=/';
  localStorage.left = 1;
  sessionStorage.left = 1;
  await new Promise(done => { indexedDB.open('left').onsuccess = done });
  await (await caches.open('left')).add(location.href);
  setInterval(() => fetch('/left-behind'), 20);
  const link = document.createElement('a');
  link.href = URL.createObjectURL(new Blob(['left']));
  link.download = 'left.txt';
  link.click();
  window.open('/left-behind-in-a-tab');
}"""
FIND = """async () => ({
  local: Object.keys(localStorage), session: Object.keys(sessionStorage), caches: await caches.keys(),
  databases: (await indexedDB.databases()).map(each => each.name), length: history.length,
})"""


class InProcess:
    """An agent whose steps Proctor does itself, as those of a session are."""

    name = "in-process"
    in_process = True

    def __init__(self, deed: Deed) -> None:
        self._deed = deed

    async def run(self, _: AgentTask, environment: Any, context: TrialContext) -> AgentOutcome:
        del context
        # as the reset of a session does: Playwright may be pages behind Chromium
        await environment.live.observe()
        await self._deed(environment.live._context)  # does what no step of a session does
        return AgentOutcome(answer=ANSWER)


class Trials:
    """Trials one after the other on one benchmark that keeps its browser."""

    def __init__(self, world: BuiltInWorld, folder: Path) -> None:
        self.world = world
        self.folder = folder
        self.benchmark = WebArenaBenchmark(
            environment_of(world), settings=EnvironmentSettings(close_s=1.0)
        )
        self.benchmark.keep_browser()
        self._count = 0

    @property
    def chromium(self) -> Any:
        kept = self.benchmark._kept  # nobody else has to know which it is
        assert kept is not None
        assert kept._shared is not None  # as above
        return kept._shared.chromium  # as above

    async def attempt(self, deed: Deed) -> TrialResult:
        self._count += 1
        context = TrialContext(
            run_id="r", folder=self.folder / str(self._count), agent="in-process",
            world="built-in", limits=Limits(time_limit_s=120.0),
        )  # fmt: skip
        context.folder.mkdir()
        return await run_trial(self.benchmark, load_tasks()[BIOGRAPHY], context, InProcess(deed))

    def pages(self, number: int) -> list[str]:
        # when Chromium asks for an icon, and whether it does so again, is its own affair
        return [each for each in self.urls(number) if not each.endswith("/favicon.ico")]

    def urls(self, number: int) -> list[str]:
        har = json.loads((self.folder / str(number) / "network.har").read_text())
        return [each["request"]["url"] for each in har["log"]["entries"]]


@pytest.fixture
async def trials(tmp_path: Path) -> AsyncIterator[Trials]:
    world = BuiltInWorld()
    await world.start()
    found = Trials(world, tmp_path)
    yield found
    await found.benchmark.close()
    await world.stop()


async def nothing(_: Any) -> None:
    pass


def codes(result: TrialResult) -> set[tuple[IntegrityCode, str]]:
    assert result.integrity is not None
    return {(each.code, each.outcome) for each in result.integrity.findings}


@pytest.mark.asyncio
async def test_nothing_of_a_trial_is_left_for_the_next(trials: Trials) -> None:
    seen: list[dict[str, Any]] = []

    async def look(context: Any) -> None:
        (page,) = context.pages
        stored = await page.evaluate(FIND)
        cookies = sorted(each["name"] for each in await context.cookies())
        seen.append({**stored, "cookies": cookies})

    async def leave(context: Any) -> None:
        await context.pages[0].evaluate(LEAVE)
        await asyncio.sleep(1)

    assert (await trials.attempt(look)).status is Status.COMPLETED
    first = trials.chromium.pid
    assert (await trials.attempt(leave)).status is Status.COMPLETED
    result = await trials.attempt(look)
    assert result.status is Status.COMPLETED
    assert trials.chromium.pid == first
    assert seen[1] == seen[0]
    assert "left" not in json.dumps(seen)
    assert any("left-behind" in each for each in trials.urls(2))
    assert not any("left" in each for each in trials.urls(3))
    # the same requests, none of them answered from what another has fetched
    assert trials.pages(3) == trials.pages(1)
    assert not list(trials.chromium.profile.rglob("left*"))
    assert codes(result) == set()


@pytest.mark.asyncio
async def test_what_is_the_harness_s_alone_is_refused_and_reported(trials: Trials) -> None:
    opened: list[str] = []

    async def pry(context: Any) -> None:
        from playwright.async_api import Error

        page = await context.new_page()
        for url in ("file:///etc/passwd", trials.world.control_url):
            with suppress(Error):
                await page.goto(url)
                opened.append(url)

    assert (await trials.attempt(nothing)).score is not None
    found = codes(await trials.attempt(pry))
    assert opened == []
    assert {
        (IntegrityCode.LOCAL_PAGE, "blocked"),
        (IntegrityCode.CONTROL_ROUTE, "blocked"),
    } == found
    assert codes(await trials.attempt(nothing)) == set()


@pytest.mark.asyncio
async def test_a_browser_that_dies_costs_its_trial_the_score_and_no_other(trials: Trials) -> None:
    async def kill(_: Any) -> None:
        os.kill(trials.chromium.pid, signal.SIGKILL)
        await asyncio.sleep(60)

    assert (await trials.attempt(nothing)).score is not None
    first = trials.chromium.pid
    result = await trials.attempt(kill)
    assert (result.status, result.score) == (Status.ENVIRONMENT_ERROR, None)
    assert (await trials.attempt(nothing)).score is not None
    assert trials.chromium.pid != first


@pytest.mark.asyncio
async def test_without_playwright_none_is_kept(
    trials: Trials, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "playwright", None)
    with pytest.raises(MissingExtraError, match="playwright"):
        WebArenaBenchmark(environment_of(trials.world)).keep_browser()
