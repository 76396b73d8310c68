"""The recorder with a real Chromium: one kind of traffic or fault at a time."""

from __future__ import annotations

import asyncio
import gc
import json
import os
import signal
import socket
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jsonschema
import pytest

from bench_core.browser import launch_chromium
from bench_core.errors import BrowserError
from webarena_runner.recording import Har, HarRecorder, RecordingLimits

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from bench_core.browser import Chromium

    Settled = Callable[[Callable[[], bool]], Awaitable[None]]

pytestmark = [pytest.mark.browser, pytest.mark.full_chromium]

REGISTER = """navigator.serviceWorker.register('/service.js').then(async () => {
  await navigator.serviceWorker.ready;
  while (!navigator.serviceWorker.controller) await new Promise(done => setTimeout(done, 10));
})"""
ASK_SERVICE_WORKER = """new Promise(done => {
  const channel = new MessageChannel();
  channel.port1.onmessage = event => done(event.data);
  const message = {url: '/json?from=service', body: 'from a service worker'};
  navigator.serviceWorker.controller.postMessage(message, [channel.port2]);
})"""
ASK_SHARED_WORKER = """new Promise(done => {
  const worker = new SharedWorker('/shared.js');
  worker.port.onmessage = event => done(event.data);
  worker.port.postMessage({url: '/json?from=shared', body: 'from a shared worker'});
})"""
CTRL, SHIFT = 2, 8
UPLOAD = (
    "/page?html=<form method=post action=/json enctype=multipart/form-data>"
    "<input name=a value=b><input type=file name=f><input name=z value=y></form>"
)


def of(har: Har, path: str) -> list[dict[str, Any]]:
    """The entries whose path and query begin with `path`."""
    return [
        each
        for each in har.entries
        if each["request"]["url"].split("/", 3)[3].startswith(path.removeprefix("/"))
    ]


def headers(entry: dict[str, Any]) -> dict[str, str]:
    return {header["name"].lower(): header["value"] for header in entry["request"]["headers"]}


async def test_a_form_post_that_redirects_is_two_entries_with_the_evaluators_headers(
    browser: Chromium, tab: Any, site: Any
) -> None:
    async with HarRecorder(browser.cdp_url) as recorder:
        await tab.go(site.url("/page?html=<form method=post action=/hop/302/page><input name=a>"))
        await tab.run("document.forms[0].submit()")
        await tab.loaded(site.url("/page"))
        har = await recorder.stop()
    (post,) = of(har, "/hop/302/page")
    _, document = of(har, "/page")
    assert (post["request"]["method"], post["response"]["status"]) == ("POST", 302)
    assert post["request"]["postData"]["text"] == "a="
    assert [cookie["name"] for cookie in post["response"]["cookies"]] == ["hop302"]
    assert {"accept", "cookie", "sec-fetch-dest", "sec-fetch-mode"} <= set(headers(document))
    assert har.complete


async def test_the_recording_is_valid_har(browser: Chromium, tab: Any, site: Any) -> None:
    async with HarRecorder(browser.cdp_url) as recorder:
        recorder.mark("begin")
        await tab.go(site.url("/page"))
        await tab.run("fetch('/cookie', {method: 'POST', body: 'x'}).then(a => a.text())")
        await tab.run("fetch('/hop/307/gzip', {method: 'POST', body: 'x'}).then(a => a.text())")
        await tab.run("fetch('/bytes').then(answer => answer.arrayBuffer()).then(() => 1)")
        await tab.run("fetch('/reset').catch(() => 0)")
        har = await recorder.stop()
    schema = json.loads(Path(__file__).with_name("har-1.2.schema.json").read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator(schema).validate(har.document)
    pages = {page["id"] for page in har.document["log"]["pages"]}
    assert {each["pageref"] for each in har.entries} == pages
    assert [mark["name"] for mark in har.document["log"]["_marks"]] == ["begin"]
    starts = [each["startedDateTime"] for each in har.entries]
    assert starts == sorted(starts)


async def test_a_document_from_the_cache_still_looks_like_a_navigation(
    browser: Chromium, tab: Any, site: Any
) -> None:
    async with HarRecorder(browser.cdp_url) as recorder:
        for path in ("/cached", "/page", "/cached"):
            await tab.go(site.url(path))
        har = await recorder.stop()
    first, again = of(har, "/cached")
    assert "_fromCache" not in first
    assert again["_fromCache"] == "disk"
    assert headers(again)["accept"].startswith("text/html")
    assert again["response"]["status"] == 200
    assert again["response"]["content"]["text"] == "<p>kept"


async def test_a_revalidated_document_is_200_to_the_page(
    browser: Chromium, tab: Any, site: Any
) -> None:
    async with HarRecorder(browser.cdp_url) as recorder:
        for path in ("/etag", "/page", "/etag"):
            await tab.go(site.url(path))
        har = await recorder.stop()
    assert [each["response"]["status"] for each in of(har, "/etag")] == [200, 200]
    assert of(har, "/etag")[1]["response"]["_networkStatus"] == 304
    assert [each.status for each in site.seen("/etag")] == [200, 304]


async def test_going_back_asks_for_the_page_again(browser: Chromium, tab: Any, site: Any) -> None:
    async with HarRecorder(browser.cdp_url) as recorder:
        await tab.go(site.url("/page?first"))
        await tab.go(site.url("/page?second"))
        await tab.run("history.back()")
        await tab.loaded(site.url("/page?first"))
        har = await recorder.stop()
    assert len(of(har, "/page?first")) == 2


async def test_service_workers_requests_are_recorded_once_each(
    browser: Chromium, tab: Any, site: Any
) -> None:
    async with HarRecorder(browser.cdp_url) as recorder:
        await tab.go(site.url("/page"))
        await tab.run(REGISTER)
        await tab.run(ASK_SERVICE_WORKER)
        await tab.run("fetch('/json?via-sw').then(answer => answer.text())")
        har = await recorder.stop()
    (own,) = of(har, "/json?from=service")
    assert own["request"]["postData"]["text"] == "from a service worker"
    assert "cookie" not in headers(own)
    assert headers(own)["sec-fetch-mode"] == "cors"
    by_page = [each.get("_fetchedViaServiceWorker", False) for each in of(har, "/json?via-sw")]
    assert sorted(by_page) == [False, True]
    assert len(of(har, "/service.js")) == len(site.seen("/service.js")) == 1


async def test_shared_workers_requests_are_recorded(browser: Chromium, tab: Any, site: Any) -> None:
    async with HarRecorder(browser.cdp_url) as recorder:
        await tab.go(site.url("/page"))
        await tab.run(ASK_SHARED_WORKER)
        har = await recorder.stop()
    (posted,) = of(har, "/json?from=shared")
    assert posted["request"]["postData"]["text"] == "from a shared worker"
    assert posted["response"]["status"] == 200
    # Chromium does not report the wire's headers for shared workers.
    assert posted["request"]["_provisionalHeaders"] is True


async def test_the_first_request_of_a_new_tab_is_recorded_with_all_its_headers(
    browser: Chromium, tab: Any, site: Any, settled: Settled
) -> None:
    async with HarRecorder(browser.cdp_url) as recorder:
        await tab.go(site.url("/page?html=<a href=/page?new target=_blank>go</a>"))
        await tab.run("document.querySelector('a').click()")
        await settled(lambda: len(site.seen("/page?new")) == 1)
        har = await recorder.stop()
    (entry,) = of(har, "/page?new")
    assert headers(entry)["sec-fetch-user"] == "?1"
    assert headers(entry)["referer"].startswith(site.url("/"))
    assert entry["response"]["content"]["text"].startswith("<!doctype html>")
    assert entry["pageref"] != of(har, "/page?html=")[0]["pageref"]


@pytest.mark.parametrize("click", [("left", CTRL), ("middle", 0), ("left", SHIFT)])
async def test_a_tab_that_the_browser_opens_for_a_click_is_recorded(
    browser: Chromium, tab: Any, site: Any, settled: Settled, click: tuple[str, int]
) -> None:
    async with HarRecorder(browser.cdp_url) as recorder:
        await tab.go(site.url("/page?html=<a href=/page?new style=position:fixed;inset:0>go</a>"))
        for kind in ("mousePressed", "mouseReleased"):
            await tab.send(
                "Input.dispatchMouseEvent",
                type=kind, x=50, y=50, button=click[0], clickCount=1, modifiers=click[1],
            )  # fmt: skip
        await settled(lambda: len(site.seen("/page?new")) == 1)
        har = await recorder.stop()
    (entry,) = of(har, "/page?new")
    assert entry["response"]["status"] == 200
    assert headers(entry)["accept"].startswith("text/html")
    assert entry["_recovered"] is True


async def test_a_tab_that_is_created_with_its_url_is_recorded(
    browser: Chromium, tab: Any, site: Any, settled: Settled
) -> None:
    async with HarRecorder(browser.cdp_url) as recorder:
        for path in ("/page?created", "/missing?created"):
            params = {"url": site.url(path), "browserContextId": tab.context}
            await tab.client.send_raw("Target.createTarget", params)
        await settled(lambda: len(site.seen("/page?created") + site.seen("/missing")) == 2)
        har = await recorder.stop()
    assert [each["response"]["status"] for each in of(har, "/page?created")] == [200]
    assert [each["response"]["status"] for each in of(har, "/missing?created")] == [404]


async def test_a_created_tab_that_reaches_nobody_is_recorded_as_failed(
    browser: Chromium, tab: Any
) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # refuses connections, and nobody else can open it
        url = f"http://127.0.0.1:{taken.getsockname()[1]}/nobody"
        async with HarRecorder(browser.cdp_url) as recorder:
            params = {"url": url, "browserContextId": tab.context}
            await tab.client.send_raw("Target.createTarget", params)
            har = await recorder.stop()
    assert [each["response"]["status"] for each in of(har, "/nobody")] == [-1]


async def test_a_file_upload_keeps_every_field_and_says_that_the_file_is_left_out(
    browser: Chromium, tab: Any, site: Any, tmp_path: Path
) -> None:
    file = tmp_path / "upload.bin"
    file.write_bytes(bytes(range(256)))
    async with HarRecorder(browser.cdp_url) as recorder:
        await tab.go(site.url(UPLOAD))
        found = await tab.send("Runtime.evaluate", expression="document.forms[0].f")
        chosen = found["result"]["objectId"]
        await tab.send("DOM.setFileInputFiles", files=[str(file)], objectId=chosen)
        await tab.run("document.forms[0].submit()")
        await tab.loaded(site.url("/json"))
        har = await recorder.stop()
    (logged,) = site.seen("/json")
    data = next(each for each in of(har, "/json"))["request"]["postData"]
    assert data["text"].encode() == logged.body.replace(file.read_bytes(), b"")
    assert data["mimeType"] == dict(logged.headers)["Content-Type"]
    assert data["comment"].endswith("the browser leaves out files")


async def test_a_post_answered_without_content_keeps_its_status(
    browser: Chromium, tab: Any, site: Any, settled: Settled
) -> None:
    async with HarRecorder(browser.cdp_url) as recorder:
        await tab.go(site.url("/page?html=<form method=post action=/nothing><input name=a>"))
        await tab.run("document.forms[0].submit()")
        await settled(lambda: len(site.seen("/nothing")) == 1)
        har = await recorder.stop()
    assert [each["response"]["status"] for each in of(har, "/nothing")] == [204]


async def test_a_request_to_a_forbidden_port_keeps_what_the_page_meant_to_send(
    browser: Chromium, tab: Any, site: Any
) -> None:
    async with HarRecorder(browser.cdp_url) as recorder:
        await tab.go(site.url("/page"))
        script = "fetch('http://127.0.0.1:6666/dummy_bin', {method: 'POST', body: '{\"a\":1}'})"
        await tab.run(f"{script}.catch(() => 0)")
        har = await recorder.stop()
    (entry,) = of(har, "/dummy_bin")
    assert entry["response"]["status"] == -1
    assert entry["response"]["_failureText"] == "net::ERR_UNSAFE_PORT"
    assert entry["request"]["postData"]["text"] == '{"a":1}'


async def test_stop_waits_for_the_answer_to_the_last_request(
    browser: Chromium, tab: Any, site: Any
) -> None:
    async with HarRecorder(browser.cdp_url) as recorder:
        await tab.go(site.url("/page"))
        await tab.run("void fetch('/slow/1', {method: 'POST', body: 'x'})")
        har = await recorder.stop(deadline_s=20)
    assert of(har, "/slow/1")[0]["response"]["status"] == 200


async def test_stop_does_not_wait_beyond_its_deadline(
    browser: Chromium, tab: Any, site: Any
) -> None:
    async with HarRecorder(browser.cdp_url) as recorder:
        await tab.go(site.url("/page"))
        await tab.run("void fetch('/never')")
        har = await asyncio.wait_for(recorder.stop(deadline_s=0.5), 60)
    assert of(har, "/never")[0]["response"]["_failureText"].startswith("unfinished")


async def test_tabs_that_were_open_before_are_recorded_too(
    browser: Chromium, tab: Any, site: Any
) -> None:
    await tab.go(site.url("/page?before"))
    async with HarRecorder(browser.cdp_url) as recorder:
        await tab.run("fetch('/json').then(answer => answer.text())")
        har = await recorder.stop()
    assert [each["request"]["url"] for each in har.entries] == [site.url("/json")]


async def test_a_tab_that_hangs_does_not_keep_recordings_from_starting_and_stopping(
    browser: Chromium, tab: Any, site: Any, opened: Callable[[str], Any]
) -> None:
    await tab.go(site.url("/page"))
    hang = asyncio.create_task(tab.run("while (true) {}"))
    async with HarRecorder(browser.cdp_url) as recorder, opened(browser.cdp_url) as other:
        await other.go(site.url("/page?other"))
        har = await asyncio.wait_for(recorder.stop(), 60)
    assert len(of(har, "/page?other")) == 1
    await tab.send("Runtime.terminateExecution")
    with pytest.raises(RuntimeError):
        await hang


async def test_the_agents_own_handlers_keep_their_events(
    browser: Chromium, tab: Any, site: Any
) -> None:
    seen: list[str] = []
    tab.client.register.Network.requestWillBeSent(
        lambda params, _session: seen.append(params["request"]["url"])
    )
    await tab.send("Network.enable")
    async with HarRecorder(browser.cdp_url) as recorder:
        await tab.go(site.url("/page?both"))
        har = await recorder.stop()
    assert site.url("/page?both") in seen
    assert len(of(har, "/page?both")) == 1


async def test_bodies_over_the_limits_are_left_out_with_a_note(
    browser: Chromium, tab: Any, site: Any
) -> None:
    limits = RecordingLimits(post_bytes=1000, body_bytes=50_000)
    async with HarRecorder(browser.cdp_url, limits=limits) as recorder:
        await tab.go(site.url("/page"))
        await tab.run("fetch('/big?size=60000').then(answer => answer.text())")
        await tab.run(
            "fetch('/json', {method: 'POST', body: 'x'.repeat(5000)}).then(a => a.text())"
        )
        har = await recorder.stop()
    content = of(har, "/big")[0]["response"]["content"]
    assert "text" not in content
    assert content["comment"]
    data = of(har, "/json")[0]["request"]["postData"]
    assert data["text"] == "x" * 1000
    assert data["comment"] == "the first 1000 of 5000 bytes"
    assert "50000 bytes each" in har.document["log"]["comment"]


async def test_a_post_of_megabytes_is_recorded_whole(
    browser: Chromium, tab: Any, site: Any
) -> None:
    async with HarRecorder(browser.cdp_url) as recorder:
        await tab.go(site.url("/page"))
        body = "JSON.stringify({text: '\u00e9'.repeat(1500000)})"
        await tab.run(f"fetch('/json', {{method: 'POST', body: {body}}}).then(a => a.text())")
        har = await recorder.stop()
    (logged,) = site.seen("/json")
    assert of(har, "/json")[0]["request"]["postData"]["text"].encode() == logged.body


async def test_what_was_seen_before_the_browser_died_is_kept_and_marked(
    site: Any, opened: Callable[[str], Any]
) -> None:
    async with launch_chromium() as chromium, HarRecorder(chromium.cdp_url) as recorder:
        async with opened(chromium.cdp_url) as tab:
            await tab.go(site.url("/page?last"))
        assert chromium.pid is not None
        os.kill(chromium.pid, signal.SIGKILL)
        har = await asyncio.wait_for(recorder.stop(), 60)
    assert not har.complete
    assert len(of(har, "/page?last")) == 1
    assert "closed the connection" in har.document["log"]["comment"]


async def test_a_halted_browser_is_disconnected_with_nothing_left_open(
    site: Any, opened: Callable[[str], Any]
) -> None:
    async with launch_chromium() as chromium, HarRecorder(chromium.cdp_url) as recorder:
        async with opened(chromium.cdp_url) as tab:
            await tab.go(site.url("/page?last"))
        assert chromium.pid is not None
        os.killpg(chromium.pid, signal.SIGSTOP)
        har = await asyncio.wait_for(recorder.stop(1.0), 60)
        chromium.kill()
    assert not har.complete
    assert len(of(har, "/page?last")) == 1
    gc.collect()  # what is still open warns, and a warning fails the test


async def test_leaving_by_an_exception_keeps_a_snapshot(
    browser: Chromium, tab: Any, site: Any
) -> None:
    recorder = HarRecorder(browser.cdp_url)

    async def fail() -> None:
        async with recorder:
            await tab.go(site.url("/page"))
            raise LookupError

    with pytest.raises(LookupError):
        await fail()
    assert len(of(recorder.snapshot(), "/page")) == 1


async def test_nothing_is_recorded_after_stop(browser: Chromium, tab: Any, site: Any) -> None:
    async with HarRecorder(browser.cdp_url) as recorder:
        await tab.go(site.url("/page"))
        before = await recorder.stop()
        await tab.go(site.url("/page?after"))
    assert recorder.snapshot().entries == before.entries


async def test_an_unreachable_browser_is_a_clear_error() -> None:
    with pytest.raises(BrowserError, match=r"no browser answers at http://127\.0\.0\.1:9"):
        async with HarRecorder("http://127.0.0.1:9"):
            pytest.fail("there is no browser")
    with pytest.raises(BrowserError, match=r"cannot record the browser at ws://127\.0\.0\.1:9"):
        async with HarRecorder("ws://127.0.0.1:9/devtools/browser/none"):
            pytest.fail("there is no browser")
