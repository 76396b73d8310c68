"""The gateway before a real Chromium: clients work unchanged, and blame has evidence."""

from __future__ import annotations

import json
import os
import signal
import urllib.request
from typing import TYPE_CHECKING, Any

import pytest
from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed, InvalidStatus

from bench_core.browser import (
    RuleBook,
    TrialBrowser,
    launch_chromium,
    open_gateway,
    websocket_url,
)
from bench_core.errors import BrowserError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from bench_core.browser import Chromium, Gateway

pytestmark = [pytest.mark.browser, pytest.mark.full_chromium]


@pytest.fixture
async def chromium() -> AsyncIterator[Chromium]:
    async with launch_chromium() as running:
        yield running


@pytest.fixture
async def gateway(chromium: Chromium) -> AsyncIterator[Gateway]:
    async with open_gateway(chromium.cdp_url, RuleBook(())) as running:
        yield running


def fetched(url: str, method: str = "GET", host: str | None = None) -> Any:
    headers = {} if host is None else {"Host": host}
    request = urllib.request.Request(url, method=method, headers=headers)  # noqa: S310  # loopback
    with urllib.request.urlopen(request, timeout=30) as answer:  # noqa: S310  # same
        return json.load(answer)


async def test_playwright_works_unchanged_and_letting_go_ends_nothing(
    chromium: Chromium, gateway: Gateway
) -> None:
    playwright = pytest.importorskip("playwright.async_api", reason="Playwright is an extra")
    async with playwright.async_playwright() as driver:
        browser = await driver.chromium.connect_over_cdp(gateway.cdp_url)
        page = await browser.contexts[0].new_page()
        await page.goto("data:text/html,<title>Hi</title><button>Send</button>")
        assert await page.title() == "Hi"
        assert await page.evaluate("text => text.length", "x" * 3_000_000) == 3_000_000
        assert len(await page.screenshot()) > 1000
        await page.close()
        await browser.close()
    assert chromium.alive
    assert gateway.log.ending is None
    assert gateway.log.counts["Page.captureScreenshot"] == 1
    assert gateway.fault is None


async def test_requests_of_the_http_port_are_answered(chromium: Chromium, gateway: Gateway) -> None:
    # from this very loop, as an agent's blocking client would
    version = fetched(f"{gateway.cdp_url}/json/version")
    assert version["webSocketDebuggerUrl"] == chromium.ws_url.replace(
        chromium.cdp_url[len("http://") :], gateway.cdp_url[len("http://") :]
    )
    assert version["Browser"].startswith(("Chrome/", "HeadlessChrome/"))
    (listed,) = [each for each in fetched(f"{gateway.cdp_url}/json/list") if each["type"] == "page"]
    async with connect(listed["webSocketDebuggerUrl"], compression=None, proxy=None) as page:
        await page.send('{"id": 1, "method": "Runtime.evaluate", "params": {"expression": "6*7"}}')
        assert json.loads(await page.recv())["result"]["result"]["value"] == 42


async def test_pages_of_other_sites_are_kept_out(gateway: Gateway) -> None:
    with pytest.raises(urllib.error.HTTPError) as refused:
        fetched(f"{gateway.cdp_url}/json/version", host="evil.test")
    refused.value.close()
    with pytest.raises(InvalidStatus):
        async with connect(
            await websocket_url(gateway.cdp_url), origin="http://evil.test", proxy=None
        ):
            pass


async def told(gateway: Gateway, method: str, **params: Any) -> dict[str, Any]:
    """Let an agent send one command; return its result, nothing if the browser ended first."""
    async with connect(await websocket_url(gateway.cdp_url), proxy=None) as browser:
        await browser.send(json.dumps({"id": 1, "method": method, "params": params}))
        try:
            while (answer := json.loads(await browser.recv())).get("id") != 1:
                pass
        except ConnectionClosed:
            return {}
    return dict(answer.get("result", {}))


async def why_ended(chromium: Chromium, gateway: Gateway) -> str | None:
    return await TrialBrowser(chromium, lambda *_: None, gateway=gateway).why_ended()


@pytest.mark.parametrize("method", ["Browser.close", "Browser.crash"])
async def test_browser_that_its_agent_ends_is_its_agents_doing(
    chromium: Chromium, gateway: Gateway, method: str
) -> None:
    await told(gateway, method)
    assert await why_ended(chromium, gateway) == f"the agent ended its browser: it sent {method}"
    assert not chromium.alive


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL], ids=["term", "kill"])
async def test_browser_ended_from_outside_is_nobodys_doing(
    chromium: Chromium, gateway: Gateway, number: signal.Signals
) -> None:
    async with connect(await websocket_url(gateway.cdp_url), proxy=None) as browser:
        await browser.send('{"id": 1, "method": "Target.closeTarget", "params": {"targetId": "x"}}')
        await browser.recv()
        assert chromium.pid is not None
        os.kill(chromium.pid, number)
        with pytest.raises(ConnectionClosed):
            await browser.recv()
    # the agent hears of it before the process is gone
    with pytest.raises(BrowserError, match="died"):
        await why_ended(chromium, gateway)
    assert gateway.log.ending is None


async def test_browser_that_runs_has_not_ended(chromium: Chromium, gateway: Gateway) -> None:
    await told(gateway, "Target.getTargets")
    assert await why_ended(chromium, gateway) is None
    assert not gateway.hung_up


async def test_mistake_of_the_gateway_is_not_the_agents(
    chromium: Chromium, gateway: Gateway
) -> None:
    gateway.fault = ValueError("a mistake")
    with pytest.raises(BrowserError, match="a mistake"):
        await why_ended(chromium, gateway)


async def test_last_tab_is_known_as_the_last(chromium: Chromium, gateway: Gateway) -> None:
    pages = [
        each["id"] for each in fetched(f"{gateway.cdp_url}/json/list") if each["type"] == "page"
    ]
    other = (await told(gateway, "Target.createTarget", url="about:blank"))["targetId"]
    await told(gateway, "Target.closeTarget", targetId=pages[0])
    assert gateway.log.ending is None
    await told(gateway, "Target.closeTarget", targetId=other)
    assert str(gateway.log.ending) == f"Target.closeTarget {other}"
    assert await why_ended(chromium, gateway) is None  # without a window it stays, with its pipe
