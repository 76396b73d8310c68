from __future__ import annotations

import asyncio
import json
import os
import signal
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING, Any

import pytest
from playwright.async_api import Error, async_playwright

from bench_core.errors import EnvironmentFaultError
from bench_core.playwright_driver import open_playwright
from bench_core.records import AgentOutcome, Limits, Status
from bench_core.run_folder import read_json
from bench_core.trial import AgentLimits
from multireal_harness.agents.scripted_agent import ScriptedAgent
from multireal_harness.environment import EnvironmentSettings
from multireal_harness.states.capture import CaptureSettings, close_pages
from multireal_harness.world import load_solutions

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable

    from bench_core.browser import TrialBrowser
    from bench_core.protocols import TrialContext
    from bench_core.records import AgentTask, Task

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]

TASK = "dining-mail-1"


class Doing:
    """An agent that carries out the good solution and then something else."""

    name = "doing"

    def __init__(self, then: Callable[[TrialBrowser, Any], Awaitable[Any]], *, alone: bool) -> None:
        self.in_process = not alone
        self._then = then

    async def run(self, task: AgentTask, environment: Any, context: TrialContext) -> AgentOutcome:
        outcome = await ScriptedAgent(load_solutions(TASK)[0]).run(task, environment, context)
        other = await self._then(environment.live.browser, task)
        return other if isinstance(other, AgentOutcome) else outcome


def after_the_good_solution(
    then: Callable[[TrialBrowser, Any], Awaitable[Any]], *, alone: bool = False
) -> Callable[[Task, TrialContext], Doing]:
    return lambda *_: Doing(then, alone=alone)


def states_of(runner: Any, name: str) -> set[str]:
    return set(read_json(runner.folder / name / "finish_state.json.gz"))


@pytest.mark.parametrize(("kind", "value"), [("drop", 0), ("status", 451), ("status", 500)])
async def test_app_that_is_down_at_the_start_is_no_failure_of_the_agent(
    runner: Any, kind: Any, value: float
) -> None:
    runner.world.fail("dining", kind, value=value)
    with pytest.raises(EnvironmentFaultError, match="'dining' is down"):
        await runner.run(TASK)


@pytest.mark.parametrize(
    ("kind", "reason"),
    [
        ("drop", "cannot be read"),
        ("status", "status 503"),
        ("invalid_json", "no JSON"),
        ("no_pre", "no <pre>"),
    ],
)
async def test_app_without_a_state_at_the_end_leaves_no_score_but_the_other_states(
    runner: Any, kind: Any, reason: str
) -> None:
    runner.world.fail("dining", kind, "/finish", value=503)
    result = await runner.run(TASK, name="broken")
    assert (result.status, result.score) == (Status.ENVIRONMENT_ERROR, None)
    assert {"incomplete_state", "not_retried"} <= set(result.flags)
    assert reason in str(result.error)
    assert states_of(runner, "broken") == {"mail"}
    tries = {each["app"]: each["tries"] for each in result.details["captures"]}
    assert tries == {"dining": 5, "mail": 1}


@pytest.mark.parametrize("kind", ["status", "invalid_json"])
async def test_app_is_asked_again_until_it_gives_its_state(runner: Any, kind: Any) -> None:
    runner.world.fail("dining", kind, "/finish", times=3, value=503)
    result = await runner.run(TASK)
    assert result.score == 1.0
    tries = {each["app"]: each["tries"] for each in result.details["captures"]}
    assert tries == {"dining": 4, "mail": 1}


async def test_app_that_closes_connections_is_asked_again(runner: Any) -> None:
    runner.world.fail("dining", "drop", "/finish", times=4)  # Chromium repeats some by itself
    result = await runner.run(TASK)
    assert result.score == 1.0


@pytest.mark.slow
async def test_app_that_takes_forty_seconds_is_waited_for(runner: Any) -> None:
    runner.world.fail("dining", "slow", "/finish", value=40)
    settings = EnvironmentSettings(track=False, capture=CaptureSettings())
    result = await runner.run(TASK, environment=settings)
    assert result.score == 1.0
    assert result.timings_s["capture"] >= 40


async def test_app_slower_than_the_limit_is_an_environment_error(runner: Any) -> None:
    runner.world.fail("dining", "stall", "/finish")
    capture = CaptureSettings(app_s=1.5, quiet_s=1)
    result = await runner.run(TASK, environment=EnvironmentSettings(track=False, capture=capture))
    assert (result.status, result.score) == (Status.ENVIRONMENT_ERROR, None)
    assert "did not answer within" in str(result.error) or "cannot be read" in str(result.error)


@pytest.mark.parametrize(("pages", "state"), [(1, "unknown"), (6, "flagged")])
async def test_agent_that_leaves_too_many_pages_for_a_capture_is_flagged(
    runner: Any, pages: int, state: str
) -> None:
    runner.world.fail("dining", "drop", "/finish")

    async def open_pages(lease: TrialBrowser, task: Any) -> None:
        del task
        for _ in range(pages):
            await lease.context.new_page()

    capture = CaptureSettings(app_s=1.5, quiet_s=1, many_pages=6)
    result = await runner.run(
        TASK,
        agent_for=after_the_good_solution(open_pages),
        environment=EnvironmentSettings(track=False, capture=capture),
    )
    assert (result.status, result.score) == (Status.ENVIRONMENT_ERROR, None)
    assert result.integrity.state == state
    found = {each.code for each in result.integrity.findings}
    assert found == ({"resource_limit", "void_suspect"} if state == "flagged" else set())


@pytest.mark.parametrize(
    "path", ["/finish", "/config?task_id=x", "//finish/", "/%66inish", "/submit"]
)
async def test_visit_of_a_guarded_path_is_refused_and_noted(runner: Any, path: str) -> None:
    answered: list[int] = []

    async def visit(lease: TrialBrowser, task: Any) -> None:
        page = await lease.context.new_page()
        answer = await page.goto(task.inputs["apps"]["Mail"] + path)
        answered.append(answer.status)

    result = await runner.run(TASK, agent_for=after_the_good_solution(visit))
    assert answered == [403]
    assert (result.score, result.flags) == (1.0, ("guarded_path",))
    visits = result.details["guarded_visits"]
    assert [each["how"] for each in visits] == ["request"]


async def test_guarded_path_reached_without_a_request_is_noted_and_undone(runner: Any) -> None:
    async def push(lease: TrialBrowser, task: Any) -> None:
        page = lease.context.pages[0]
        await page.evaluate("history.pushState({}, '', '/finish')")
        for _ in range(600):
            if not page.url.endswith("/finish"):
                return
            await asyncio.sleep(0.1)

    result = await runner.run(TASK, agent_for=after_the_good_solution(push))
    assert result.flags == ("guarded_path",)
    assert [each["how"] for each in result.details["guarded_visits"]] == ["in-page"]


@pytest.mark.parametrize("alone", [False, True])
async def test_closed_tabs_do_not_cost_the_state(runner: Any, alone: bool) -> None:
    async def close(lease: TrialBrowser, task: Any) -> None:
        for page in lease.context.pages[:-1] if alone else lease.context.pages:
            await page.close()

    result = await runner.run(TASK, agent_for=after_the_good_solution(close, alone=alone))
    assert (result.status, result.score) == (Status.COMPLETED, 1.0)


@asynccontextmanager
async def attached(lease: TrialBrowser) -> AsyncIterator[Any]:
    """Attach as an agent does that connects by CDP URL."""
    async with open_playwright("this test") as driver:
        yield await driver.chromium.connect_over_cdp(lease.cdp_url)


async def command(lease: TrialBrowser, method: str) -> None:
    async with attached(lease) as browser:
        session = await browser.new_browser_cdp_session()
        with suppress(Error):  # the browser may have ended
            await session.send(method)


@pytest.mark.parametrize("method", ["Browser.close"])
@pytest.mark.parametrize("stays", [True, False], ids=["stays", "returns-at-once"])
async def test_agent_that_ends_its_browser_has_failed(
    runner: Any,
    method: str,
    stays: bool,
) -> None:
    async def leave(lease: TrialBrowser, task: Any) -> None:
        await command(lease, method)
        await asyncio.sleep(30 if stays else 0)

    result = await runner.run(TASK, agent_for=after_the_good_solution(leave, alone=True))
    assert (result.status, result.score) == (Status.AGENT_ERROR, 0.0)
    assert "closed_browser" in result.flags
    assert method in str(result.error)
    assert result.details["confidence"] == "low"


async def test_agent_that_disconnects_from_its_browser_has_done_nothing_wrong(runner: Any) -> None:
    async def let_go(lease: TrialBrowser, task: Any) -> None:
        async with attached(lease) as browser:
            await browser.close()

    result = await runner.run(TASK, agent_for=after_the_good_solution(let_go, alone=True))
    assert (result.status, result.score) == (Status.COMPLETED, 1.0)


async def test_agent_that_closes_every_tab_keeps_its_states(runner: Any) -> None:
    async def close(lease: TrialBrowser, task: Any) -> None:
        async with attached(lease) as browser:
            for page in browser.contexts[0].pages:
                await page.close()

    result = await runner.run(TASK, agent_for=after_the_good_solution(close, alone=True))
    assert (result.status, result.score) == (Status.COMPLETED, 1.0)


async def test_tab_whose_document_has_just_begun_is_closed(runner: Any) -> None:
    runner.world.fail("mail", "status", "/nothing", value=503)

    async def leave(lease: TrialBrowser, task: Any) -> None:
        for _ in range(12):  # Chromium 156 lost 1 of 12 requests to close
            page = await lease.context.new_page()
            await page.goto(task.inputs["apps"]["Mail"] + "/nothing", wait_until="commit")
            async with asyncio.timeout(30):
                await close_pages(lease.context)
            assert page.is_closed()

    result = await runner.run(TASK, agent_for=after_the_good_solution(leave))
    assert (result.status, result.score) == (Status.COMPLETED, 1.0)


async def test_agent_that_crashes_a_tab_is_scored_by_what_it_left(runner: Any) -> None:
    async def crash(lease: TrialBrowser, task: Any) -> None:
        async with attached(lease) as browser:
            session = await browser.contexts[0].new_cdp_session(browser.contexts[0].pages[0])
            with suppress(Error, TimeoutError):
                await asyncio.wait_for(session.send("Page.crash"), 5)

    result = await runner.run(TASK, agent_for=after_the_good_solution(crash, alone=True))
    assert result.status.scored
    assert result.score is not None


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL], ids=["term", "kill"])
@pytest.mark.parametrize("after", ["waits", "raises", "returns"])
async def test_browser_ended_from_outside_is_no_failure_of_the_agent(
    runner: Any, number: signal.Signals, after: str
) -> None:
    async def work_on(lease: TrialBrowser, task: Any) -> None:
        async with attached(lease) as browser:
            os.kill(lease.chromium.pid, number)
            while after != "returns" and browser.is_connected():  # noqa: ASYNC110  # Playwright's word
                await asyncio.sleep(0.01)
            if after == "raises":
                raise RuntimeError("the browser is gone")
            await asyncio.sleep(30 if after == "waits" else 0)

    result = await runner.run(TASK, agent_for=after_the_good_solution(work_on, alone=True))
    assert (result.status, result.score) == (Status.ENVIRONMENT_ERROR, None)
    assert "closed_browser" not in result.flags
    if after != "returns":  # the work of one that had returned is not paid for again
        assert "not_retried" not in result.flags
        assert "died" in str(result.error)


async def test_nothing_of_the_agent_reaches_the_browser_after_its_end(runner: Any) -> None:
    kept = []

    async def linger(lease: TrialBrowser, task: Any) -> None:
        driver = await async_playwright().start()
        browser = await driver.chromium.connect_over_cdp(lease.cdp_url)
        kept.extend([driver, browser])

    result = await runner.run(TASK, agent_for=after_the_good_solution(linger, alone=True))
    driver, browser = kept
    assert not browser.is_connected()
    await driver.stop()
    assert result.score == 1.0


async def test_crashed_browser_is_no_failure_of_the_agent(runner: Any) -> None:
    async def crash(lease: TrialBrowser, task: Any) -> None:
        lease.chromium.kill()
        await asyncio.sleep(30)

    result = await runner.run(TASK, agent_for=after_the_good_solution(crash))
    assert (result.status, result.score) == (Status.ENVIRONMENT_ERROR, None)
    assert "died" in str(result.error)
    assert result.steps == len(load_solutions(TASK)[0].steps)
    assert (await runner.run(TASK, name="next")).score == 1.0  # the next trial gets another browser


async def test_agent_out_of_time_is_scored_by_what_it_left(runner: Any) -> None:
    async def dawdle(lease: TrialBrowser, task: Any) -> None:
        await asyncio.sleep(60)

    result = await runner.run(
        TASK,
        agent_for=after_the_good_solution(dawdle),
        limits=Limits(time_limit_s=20),
        patience=AgentLimits(overtime_s=0.5, stop_s=1),
    )
    assert result.status is Status.TIME_LIMIT
    assert result.score == 1.0


async def test_agent_out_of_steps_is_scored_by_what_it_left(runner: Any) -> None:
    result = await runner.run(TASK, limits=Limits(max_steps=3))
    assert (result.status, result.score, result.steps) == (Status.STEP_LIMIT, 0.0, 3)


async def test_agent_that_raises_is_scored_by_what_it_left(runner: Any) -> None:
    async def stumble(lease: TrialBrowser, task: Any) -> None:
        raise KeyError("oops")

    result = await runner.run(TASK, agent_for=after_the_good_solution(stumble))
    assert (result.status, result.score) == (Status.AGENT_ERROR, 1.0)
    assert result.error is not None
    assert result.error.kind == "KeyError"


async def test_outage_of_the_model_leaves_no_score_but_the_states(runner: Any) -> None:
    async def outage(lease: TrialBrowser, task: Any) -> None:
        raise EnvironmentFaultError("the model server answers with status 500")

    result = await runner.run(TASK, agent_for=after_the_good_solution(outage), name="outage")
    assert (result.status, result.score) == (Status.ENVIRONMENT_ERROR, None)
    assert "not_retried" not in result.flags
    assert states_of(runner, "outage") == {"dining", "mail"}


@pytest.mark.slow
async def test_state_of_fifteen_megabytes_is_captured_and_scored(runner: Any) -> None:
    config = (("latency", "0"), ("removePopup", "true"), ("padding_mb", "15"))
    result = await runner.run(
        TASK, environment=EnvironmentSettings(config=config, track=False), name="large"
    )
    assert result.score == 1.0
    captures = {each["app"]: each["characters"] for each in result.details["captures"]}
    assert min(captures.values()) > 15_000_000
    stored = (runner.folder / "large" / "finish_state.json.gz").stat().st_size
    assert stored < 1_000_000


async def test_rescoring_needs_no_browser_and_gives_the_same(runner: Any) -> None:
    result = await runner.run(TASK, name="kept")
    assert await runner.rescore(TASK, result, "kept") == result
    evaluation = json.loads((runner.folder / "kept" / "evaluation.json").read_text())
    assert evaluation["official"] == {"points": 2, "reward": 2}


@pytest.mark.parametrize("alone", [False, True], ids=["shared", "alone"])
async def test_browser_that_hangs_at_the_end_is_no_failure_of_the_agent(
    runner: Any,
    alone: bool,
) -> None:
    async def stop(lease: TrialBrowser, task: Any) -> None:
        os.killpg(lease.chromium.pid, signal.SIGSTOP)

    capture = CaptureSettings(app_s=2, quiet_s=1)
    async with asyncio.timeout(120):
        result = await runner.run(
            TASK,
            agent_for=after_the_good_solution(stop, alone=alone),
            environment=EnvironmentSettings(track=False, capture=capture),
        )
    assert (result.status, result.score) == (Status.ENVIRONMENT_ERROR, None)
    assert result.steps
    assert (await runner.run(TASK, name="next")).score == 1.0
