"""What pages ask their browser for: how it is answered, and that the agent is told."""

from __future__ import annotations

import asyncio
import threading
from typing import TYPE_CHECKING, Any

import pytest
from asking_pages import KINDS, asking_pages

from bench_core.agents import AnswerDialog, Click, ElementRef, Goto
from bench_core.agents.browser import BrowserEnvironment, connect_browser
from bench_core.agents.dialects import Screen
from bench_core.agents.dialects.registry import all_dialects
from bench_core.agents.tool_calling import ToolCalling
from bench_core.browser.options import ChromiumOptions
from bench_core.browser.places import Places
from bench_core.browser.trial_browser import SharedBrowser, open_own_browser
from bench_core.dialogs import FOLLOW, Dialogs
from bench_core.protocols import BrowserHandle
from bench_core.records import AgentTask

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bench_core.agents.records import ActionResult

pytest.importorskip("playwright", reason="Playwright is an extra")


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with asking_pages() as served:
        yield served


def ignored(*_: Any) -> None:
    """Take what a guard found."""


async def pressed(live: BrowserEnvironment, page: str) -> ActionResult:
    await live.act(Goto(url=page))
    seen = await live.observe()
    button = next(each for each in seen.elements if each.name == "Go")
    return await live.act(Click(target=ElementRef(element=button.id)))


async def said(live: BrowserEnvironment) -> str:
    shown: str = await live._tabs.page().evaluate(
        "document.getElementById('said')?.textContent ?? ''"
    )
    return shown


@pytest.mark.browser
@pytest.mark.full_chromium
async def test_refusal_is_told_at_once_also_by_a_page_that_has_no_time_to_report_it(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    *others, (command, script) = FOLLOW
    silent = script["source"].replace(".onchange", ".never")
    assert silent != script["source"]
    follow = (*others, (command, {**script, "source": silent}))
    monkeypatch.setattr("bench_core.agents.page_changes.FOLLOW", follow)
    shared = SharedBrowser()
    async with shared.open(ChromiumOptions(), ignored, Places()) as browser:
        await browser.context.new_page()
        await browser.arm()
        live = BrowserEnvironment(browser.context, (800, 600))
        result = await pressed(live, url + "notification")
        await live._tabs.page().wait_for_function("said.textContent")
        told = (result.changed, *(await live.observe()).notices)
        assert any(KINDS["notification"][1] in each for each in told)
    await shared.close()


@pytest.mark.browser
@pytest.mark.full_chromium  # its headless shell refuses permissions at once, without a word
async def test_what_a_page_asks_for_is_answered_and_told(url: str) -> None:
    shared = SharedBrowser()
    opened = shared.open(ChromiumOptions(), ignored, Places(), accept_downloads=False)
    async with opened as browser:
        await browser.context.new_page()
        await browser.arm()
        live = BrowserEnvironment(browser.context, (800, 600))
        for kind, (_, words, shown) in KINDS.items():
            result = await pressed(live, url + kind)
            told = [result.changed]
            until = asyncio.get_running_loop().time() + 60
            while not any(words in each for each in told):  # a permission is refused after a while
                assert asyncio.get_running_loop().time() < until, (kind, told)
                told += (await live.observe()).notices
            # of what came with a refused password Chromium shows nothing, or all where it had arrived before
            assert shown in {None, await said(live)}, kind
    await shared.close()


@pytest.mark.browser
async def test_the_agent_answers_also_where_the_harness_is_attached_to_the_same_browser(
    url: str,
) -> None:
    others = set(threading.enumerate())  # of other tests
    async with open_own_browser(ChromiumOptions(), ignored, Places(), attached=True) as browser:
        await browser.arm()
        handle = BrowserHandle(cdp_url=browser.cdp_url, start_urls=(url,), viewport=(800, 600))
        async with connect_browser(handle) as live:
            assert "answered with OK" in (await pressed(live, url + "confirm")).changed
            assert await said(live) == "true"
            assert (await live.act(AnswerDialog(accept=False))).text == (
                "the next question of a page will be answered with Cancel"
            )
            assert (
                "answered with Cancel, as you said"
                in (await pressed(live, url + "confirm")).changed
            )
            assert await said(live) == "false"
            await live.act(AnswerDialog(text="Grace"))
            assert "given 'Grace', as you said" in (await pressed(live, url + "prompt")).changed
            assert await said(live) == "Grace"
            asked = browser.context.pages[-1].evaluate("confirm('Now?')")
            await browser.disarm()
            assert await asked is True
    watches = {each for each in threading.enumerate() if each.name == "port watch"}
    assert watches <= others, "the port is watched after its browser has ended"


@pytest.mark.parametrize("accept", [True, False])
def test_a_prepared_answer_is_given_once_and_not_to_an_alert(accept: bool) -> None:
    dialogs = Dialogs()
    dialogs.answer_next(accept=accept, text="Grace")
    assert dialogs.answer("alert", "Saved").accept
    first, second = (dialogs.answer("prompt", "Name?", "Ada") for _ in range(2))
    assert (first.accept, first.text) == (accept, "Grace")
    assert (second.accept, second.text) == (True, "Ada")
    assert dialogs.take() == (
        "the page showed a dialog, which was closed: 'Saved'", first.words, second.words,
    )  # fmt: skip
    assert dialogs.take() == ()


def test_a_page_may_be_kept_from_being_left() -> None:
    dialogs = Dialogs()
    dialogs.answer_next(accept=False, text=None)
    answer = dialogs.answer("beforeunload", "")
    assert (answer.accept, answer.words) == (
        False, "the page asked whether it may be left, which was answered with no, as you said",
    )  # fmt: skip


@pytest.mark.parametrize("name", ["tool-calling", *all_dialects()])
def test_every_built_in_agent_can_answer_dialogs_of_a_browser(name: str) -> None:
    dialect = ToolCalling() if name == "tool-calling" else all_dialects()[name]
    task = AgentTask(task_id="1", benchmark="none", goal="Delete it")
    for browser in (True, False):
        if not browser and name != "tool-calling" and "desktop" not in dialect.environments:
            continue
        offers = frozenset({"click", "answer_dialog"} if browser else {"click"})
        said = dialect.declare(Screen((800, 600), offers, browser, task))
        assert ("answer_dialog" in f"{said.tools}{said.system}") == browser
