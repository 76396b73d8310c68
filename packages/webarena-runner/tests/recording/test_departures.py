"""Requests that Chromium's Network domain does not report: downloads, requests while a page is left, new tabs.

A site logs the requests it served; the recording must have the same ones.
"""

from __future__ import annotations

import asyncio
import json
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import jsonschema
import pytest

from webarena_runner.recording import HarRecorder

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from bench_core.browser import Chromium

    Settled = Callable[[Callable[[], bool]], Awaitable[None]]

pytestmark = [pytest.mark.browser, pytest.mark.full_chromium]

SCHEMA = Path(__file__).with_name("har-1.2.schema.json").read_text(encoding="utf-8")
HAR_1_2 = jsonschema.Draft202012Validator(json.loads(SCHEMA))
TABS = {
    "page": "/page?new",
    "redirected": "/hop/302/hop/302/page?new",
    "download": "/bytes?new",
    "missing": "/missing?new",
}

LINK = "<a href={} download=file style=position:fixed;inset:0>go</a>"
CLICK = "document.querySelector('a').click()"
LEAVING = "addEventListener('{}', () => {{ {} }})"
HIDING = "document.addEventListener('visibilitychange', () => {{ {} }})"
BEACON = "navigator.sendBeacon('{}', new Uint8Array([0, 255, 13]))"
KEEPALIVE = "fetch('{}', {{method: 'POST', body: 'bye', keepalive: true}})"
PIXEL = "new Image().src = '{}'"
OTHER_HOST = "'http://localhost:' + location.port + '/json?foreign'"
FOREIGN = f"""fetch({OTHER_HOST}, {{method: 'PUT', body: '{{}}', keepalive: true,
  headers: {{'Content-Type': 'application/json'}}}})"""
CLOSED = """new Promise(done => {
  const other = open('/page?other');
  const close = () => {
    if (other.location.search !== '?other' || other.document.readyState !== 'complete')
      return setTimeout(close, 100);
    other.addEventListener('pagehide', () => other.navigator.sendBeacon('/json?bye', 'closed'));
    other.close();
    done();
  };
  setTimeout(close, 500);
})"""
REMOVED = """new Promise(done => {
  const frame = Object.assign(document.createElement('iframe'), {src: '/page?frame'});
  document.body.append(frame);
  frame.onload = () => {
    const inside = frame.contentWindow;
    inside.addEventListener('pagehide', () => inside.navigator.sendBeacon('/json?bye', 'removed'));
    frame.remove();
    done();
  };
})"""
LATER = "fetchLater('/json?later', {method: 'POST', body: 'later'})"

DOWNLOADS = {
    "plain": ("/bytes?file", 1),
    "redirected": ("/hop/302/hop/307/json?file", 3),
    "missing": ("/missing?file", 1),
}
FAREWELLS = {
    "beacon at pagehide": (LEAVING.format("pagehide", BEACON.format("/json?bye")), 1),
    "beacon at unload": (LEAVING.format("unload", BEACON.format("/json?bye")), 1),
    "beacon when hidden": (HIDING.format(BEACON.format("/json?bye")), 1),
    "pixel at pagehide": (LEAVING.format("pagehide", PIXEL.format("/json?bye")), 1),
    "keepalive at pagehide": (LEAVING.format("pagehide", KEEPALIVE.format("/json?bye")), 1),
    "keepalive when hidden": (HIDING.format(KEEPALIVE.format("/json?bye")), 1),
    "keepalive before": (LEAVING.format("beforeunload", KEEPALIVE.format("/json?bye")), 1),
    "redirected": (LEAVING.format("pagehide", KEEPALIVE.format("/hop/307/json?bye")), 2),
    "preflighted": (LEAVING.format("pagehide", FOREIGN), 2),
    "answered later": (f"void {KEEPALIVE.format('/slow/0.5?bye')}", 1),
    "two alike": (LEAVING.format("pagehide", "; ".join([BEACON.format("/json?bye")] * 2)), 2),
    "refused": (LEAVING.format("pagehide", KEEPALIVE.format("/missing?bye")), 1),
    "fetch later": (LATER, 1),
}


def served(site: Any) -> list[tuple[Any, ...]]:
    return sorted(
        (each.method, each.path, each.status) for each in site.log if "favicon" not in each.path
    )


def recorded(har: Any) -> list[tuple[Any, ...]]:
    return sorted(map(line, of_site(har)))


def of_site(har: Any) -> list[dict[str, Any]]:
    return [each for each in har.entries if "favicon" not in each["request"]["url"]]


def line(entry: dict[str, Any]) -> tuple[Any, ...]:
    url = urlsplit(entry["request"]["url"])
    path = f"{url.path}?{url.query}" if url.query else url.path
    return entry["request"]["method"], path, entry["response"]["status"]


def header_names(entry: dict[str, Any]) -> set[str]:
    return {each["name"].lower() for each in entry["request"]["headers"]}


@pytest.mark.parametrize("kind", DOWNLOADS)
async def test_a_downloaded_link_is_recorded_and_is_no_navigation(
    browser: Chromium, tab: Any, site: Any, settled: Settled, kind: str
) -> None:
    path, requests = DOWNLOADS[kind]
    async with HarRecorder(browser.cdp_url) as recorder:
        await tab.go(site.url(f"/page?html={LINK.format(path)}"))
        await tab.run(CLICK)
        await settled(lambda: len(site.log) > requests)
        har = await recorder.stop()
    assert recorded(har) == served(site)
    for entry in of_site(har)[1:]:
        assert entry["_recovered"] is True
        assert "accept" not in header_names(entry)  # by which the evaluator recognises a navigation
        assert "referer" in header_names(entry)


@pytest.mark.parametrize("kind", FAREWELLS)
async def test_what_a_page_sends_while_it_is_left_is_recorded(
    browser: Chromium, tab: Any, site: Any, settled: Settled, kind: str
) -> None:
    script, requests = FAREWELLS[kind]
    async with HarRecorder(browser.cdp_url) as recorder:
        await tab.go(site.url("/page?first"))
        await tab.run(script)
        await tab.go(site.url("/page?second"))
        await settled(lambda: len(served(site)) == 2 + requests)
        await settled(lambda: 0 not in [each.status for each in site.log])
        har = await recorder.stop()
    assert recorded(har) == served(site)
    HAR_1_2.validate(har.document)
    bodies = {(each.method, each.path): each.body for each in site.log}
    posts = [each for each in of_site(har) if "postData" in each["request"]]
    assert [len(bodies[line(each)[:2]]) for each in posts] == [
        each["request"]["bodySize"] for each in posts
    ]


@pytest.mark.parametrize("script", [CLOSED, REMOVED], ids=["window", "frame"])
async def test_what_is_sent_when_a_window_or_frame_ends_is_recorded(
    browser: Chromium, tab: Any, site: Any, settled: Settled, script: str
) -> None:
    async with HarRecorder(browser.cdp_url) as recorder:
        await tab.go(site.url("/page?first"))
        await tab.run(script)
        await settled(lambda: len(site.seen("/json?bye")) == 1)
        har = await recorder.stop()
    assert recorded(har) == served(site)


async def test_the_answer_to_a_beacon_of_a_removed_frame_is_waited_for(
    browser: Chromium, tab: Any, site: Any, settled: Settled
) -> None:
    """Chromium calls the beacon aborted when its frame goes; its answer comes a second later."""
    async with HarRecorder(browser.cdp_url) as recorder:
        await tab.go(site.url("/page?first"))
        await tab.run(REMOVED.replace("/json?bye", "/slow/1?bye"))
        await settled(lambda: len(site.seen("/slow")) == 1)
        har = await recorder.stop(deadline_s=60)
    assert ("POST", "/slow/1?bye", 200) in recorded(har)


async def test_what_is_sent_when_a_tab_is_closed_is_recorded(
    browser: Chromium, tab: Any, site: Any, settled: Settled
) -> None:
    async with HarRecorder(browser.cdp_url) as recorder:
        await tab.go(site.url("/page?first"))
        both = f"{BEACON.format('/json?beacon')}; {KEEPALIVE.format('/hop/307/json?bye')}"
        await tab.run(LEAVING.format("pagehide", both))
        await tab.client.send_raw("Target.closeTarget", {"targetId": tab.target})
        await settled(lambda: len(served(site)) == 4)
        har = await recorder.stop()
    assert recorded(har) == served(site)


async def test_the_exact_bytes_of_a_farewell_are_kept(
    browser: Chromium, tab: Any, site: Any, settled: Settled
) -> None:
    async with HarRecorder(browser.cdp_url) as recorder:
        await tab.go(site.url("/page?first"))
        await tab.run(FAREWELLS["beacon at pagehide"][0])
        await tab.go(site.url("/page?second"))
        await settled(lambda: len(site.seen("/json?bye")) == 1)
        har = await recorder.stop()
    (bye,) = [each for each in of_site(har) if "bye" in each["request"]["url"]]
    assert bye["request"]["postData"]["_base64"] == "AP8N"
    assert bye["pageref"] == of_site(har)[0]["pageref"]
    assert [each["name"] for each in bye["response"]["headers"] if each["name"] == "Content-Type"]


@pytest.mark.parametrize("kind", TABS)
async def test_a_tab_the_browser_opens_is_recorded_with_its_redirects(
    browser: Chromium, tab: Any, site: Any, settled: Settled, kind: str
) -> None:
    path = TABS[kind]
    async with HarRecorder(browser.cdp_url) as recorder:
        await tab.go(site.url("/page?first"))
        params = {"url": site.url(path), "browserContextId": tab.context}
        await tab.client.send_raw("Target.createTarget", params)
        await settled(lambda: len(served(site)) == 2 + path.count("/hop/"))
        har = await recorder.stop()
    assert recorded(har) == served(site)
    assert {"accept", "sec-fetch-dest"} <= header_names(of_site(har)[-1])


async def test_a_form_posted_to_a_tab_the_browser_opens_keeps_method_and_body(
    browser: Chromium, tab: Any, site: Any, settled: Settled
) -> None:
    form = (
        "<form method=post action=/hop/303/page><input name=a value=b>"
        "<button style=position:fixed;inset:0>go</button></form>"
    )
    async with HarRecorder(browser.cdp_url) as recorder:
        await tab.go(site.url(f"/page?html={form}"))
        for kind in ("mousePressed", "mouseReleased"):
            await tab.send(
                "Input.dispatchMouseEvent",
                type=kind, x=50, y=50, button="left", clickCount=1, modifiers=2,
            )  # fmt: skip
        await settled(lambda: len(served(site)) == 3)
        har = await recorder.stop()
    assert recorded(har) == served(site)
    (post,) = [each for each in of_site(har) if each["request"]["method"] == "POST"]
    assert post["request"]["postData"]["text"] == "a=b"


async def test_holding_requests_for_a_moment_leaves_downloads_whole(
    browser: Chromium, tab: Any, site: Any, settled: Settled, tmp_path: Any
) -> None:
    path = tmp_path / "downloads"
    params = {"behavior": "allow", "downloadPath": str(path), "browserContextId": tab.context}
    await tab.client.send_raw("Browser.setDownloadBehavior", params)
    async with HarRecorder(browser.cdp_url) as recorder:
        await tab.go(site.url(f"/page?html={LINK.format('/bytes?file')}"))
        await tab.run(CLICK)
        await settled(lambda: [each.suffix for each in path.glob("*")] not in ([], [".crdownload"]))
        await recorder.stop()
    (file,) = path.iterdir()
    assert file.read_bytes() == bytes(range(256))


async def test_pages_go_on_when_the_recorder_leaves_in_the_middle(
    browser: Chromium, tab: Any, site: Any
) -> None:
    async with HarRecorder(browser.cdp_url):
        await tab.go(site.url("/page?first"))
        asked = asyncio.create_task(tab.run("fetch('/slow/1').then(answer => answer.status)"))
        await asyncio.sleep(0.2)
    assert await asyncio.wait_for(asked, 30) == 200


async def test_pages_do_not_wait_for_an_agent_that_keeps_the_event_loop_busy(
    browser: Chromium, tab: Any, site: Any
) -> None:
    """The recorder must not slow down the sites while the agent beside it thinks."""
    async with HarRecorder(browser.cdp_url) as recorder:
        await tab.go(site.url("/page?first"))
        script = "setTimeout(async () => { for (let i = 0; i < 5; i++) await fetch('/json?' + i) })"
        await tab.run(f"void {script}")
        answered = busy_until(lambda: len(site.seen("/json")) == 5)
        await recorder.stop()
    assert answered


def busy_until(holds: Callable[[], bool]) -> bool:
    """Block this thread, and with it the event loop, until `holds`; return whether it ever did."""
    end = time.monotonic() + 60
    while not holds() and time.monotonic() < end:
        time.sleep(0.01)
    return holds()
