"""Each kind of request of a page, with each built-in agent and browser-use: same page, told in trajectory and observation.

Each agent has one kind and each kind one agent; with DIALOGS=all in the environment, all have all.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from asking_pages import GO, KINDS, asking_pages
from built_in_agents import AGENTS, SIZE, built_in, needs_sdk
from test_support.model_server import Answer, ModelServer

from bench_core.agents.dialects.registry import all_dialects
from bench_core.browser.options import ChromiumOptions
from bench_core.browser.places import Places
from bench_core.browser.trial_browser import SharedBrowser, open_own_browser
from bench_core.protocols import BrowserHandle, TrialContext
from bench_core.records import AgentTask, Limits, Status, Step, StepView
from bench_core.run_folder import TRAJECTORY, read_lines

pytest.importorskip("playwright", reason="Playwright is an extra")
pytestmark = [
    pytest.mark.browser,
    # what google-genai 3 does with aiohttp, which browser-use brings, is not ours to change
    pytest.mark.filterwarnings("ignore:Inheritance class AiohttpClientSession:DeprecationWarning"),
    pytest.mark.filterwarnings("ignore:Sending a large body directly:ResourceWarning"),
]

AWAY = (400, 300)
EVERY = os.environ.get("DIALOGS") == "all"


def marks_of(kind: str) -> Any:
    """Chromium's headless shell refuses permissions at once, without a word."""
    return pytest.mark.full_chromium if kind in {"location", "notification", "clipboard"} else ()


def chosen(agents: list[str]) -> list[Any]:
    every = [(agent, kind) for agent in agents for kind in KINDS]
    pairs = every if EVERY else zip(agents, KINDS, strict=False)
    return [pytest.param(agent, kind, marks=marks_of(kind)) for agent, kind in pairs]


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with asking_pages() as served:
        yield served


def ignored(*_: Any) -> None:
    """Take what a guard found."""


def check(kind: str, folder: Path, said: str, pages: int) -> None:
    """Compare what the page shows, and what the agent was told in results and observations."""
    _, words, shown = KINDS[kind]
    assert shown in {None, said}
    assert pages == 1 + (kind == "tab")
    steps = list(read_lines(folder / TRAJECTORY, Step).records)
    views = list(read_lines(folder / "observations.jsonl", StepView).records)
    results = [each for step in steps for each in (*step.results, step.error or "")]
    notices = [each for view in views for each in view.notices]
    assert any(words in each for each in (*results, *notices)), (results, notices)


def test_every_built_in_agent_is_here() -> None:
    assert set(AGENTS) == {"tool-calling", *all_dialects()} - {
        name for name, each in all_dialects().items() if "browser" not in each.environments
    }


@pytest.mark.parametrize(("agent", "kind"), chosen(list(AGENTS)))
async def test_an_agent_is_told_what_a_page_asked_for(
    agent: str, kind: str, url: str, tmp_path: Path
) -> None:
    needs_sdk(agent)
    _, click, end = AGENTS[agent]
    shared = SharedBrowser()
    viewport = {"width": SIZE[0], "height": SIZE[1]}
    opened = shared.open(
        ChromiumOptions(), ignored, Places(), accept_downloads=False, viewport=viewport
    )
    async with opened as browser:
        page = await browser.context.new_page()
        await page.goto(url + kind)
        await browser.arm()
        loop = asyncio.get_running_loop()
        turns = iter([click(GO), click(AWAY), click(AWAY), end])

        def reply(_: Any) -> Answer:
            # a person would wait until the page goes on
            settled = (
                "document.getElementById('said')?.textContent || !document.querySelector('button')"
            )
            turn = next(turns)
            if turn != click(GO):
                waiting = page.wait_for_function(settled)
                asyncio.run_coroutine_threadsafe(waiting, loop).result(60)
            return turn

        with ModelServer(reply) as server:
            async with built_in(agent, server, browser.context) as built:
                outcome = await built.run(
                    AgentTask(task_id="1", benchmark="none", goal="Press Go"),
                    BrowserHandle(cdp_url=browser.cdp_url, viewport=SIZE),
                    TrialContext(run_id="test", folder=tmp_path, limits=Limits(max_steps=6)),
                )
        assert outcome.status is Status.COMPLETED, outcome
        said = await page.evaluate("document.getElementById('said')?.textContent ?? ''")
        check(kind, tmp_path, said, len(browser.context.pages))
    await shared.close()


@pytest.mark.parametrize(
    "kind",
    [
        pytest.param(kind, marks=marks_of(kind))
        for kind in (KINDS if EVERY else ["prompt", "notification"])
    ],
)
async def test_browser_use_is_told_what_a_page_asked_for(
    kind: str, url: str, tmp_path: Path
) -> None:
    pytest.importorskip("browser_use", reason="it needs Python 3.11")
    from bench_core.browser_use import Attempt, ScriptedChat, import_browser_use
    from bench_core.browser_use.scripted_chat import act, click, go

    import_browser_use()
    async with open_own_browser(ChromiumOptions(), ignored, Places(), attached=True) as browser:
        await browser.arm()
        waits = act("wait", seconds=1)
        chat = ScriptedChat(
            iter(
                [go(url + kind), click("Go"), waits, waits, act("done", text="done", success=True)]
            )
        )
        attempt = Attempt(
            chat,
            BrowserHandle(cdp_url=browser.cdp_url, viewport=SIZE),
            TrialContext(run_id="test", folder=tmp_path),
            limits=Limits(max_steps=9),
        )
        outcome = await attempt.run("Press Go")
        assert outcome.status is Status.COMPLETED, outcome
        page = browser.context.pages[0]
        said = await page.evaluate("document.getElementById('said')?.textContent ?? ''")
        check(kind, tmp_path, said, len(browser.context.pages))
