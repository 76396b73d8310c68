"""How long and how often the capture tries, by a clock whose pauses take no real time."""

from __future__ import annotations

import contextlib
import json
import threading
import time
from html import escape
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest
from playwright.async_api import Error

from bench_core.browser import find_chromium
from bench_core.scheduling import Backoff
from multireal_harness.definitions import AppSite
from multireal_harness.states.capture import CaptureSettings, capture_states
from multireal_harness.world.faults import ODD_JSON

if TYPE_CHECKING:
    from collections.abc import Iterator

    from conftest import PausesAlone

    from multireal_harness.browsers import Browsers

MAIL = AppSite(id="mail", url="http://mail.test")


class Pages:
    """A browser context whose pages answer in turn with a status, a text, or an error."""

    def __init__(self, *answers: int | str | Error) -> None:
        self._answers = list(answers)
        self.asked = 0
        self.alive = True
        self.browser = SimpleNamespace(is_connected=lambda: self.alive)

    async def new_page(self) -> Pages:
        return self

    async def add_init_script(self, script: str) -> None:
        del script

    async def goto(self, url: str, **options: Any) -> Any:
        self.asked += 1
        answer = self._answers.pop(0) if len(self._answers) > 1 else self._answers[0]
        if isinstance(answer, Error):
            raise answer
        self._text = answer if isinstance(answer, str) else ""
        return SimpleNamespace(status=answer if isinstance(answer, int) else 200)

    async def wait_for_load_state(self, state: str, **options: Any) -> None:
        pass

    async def evaluate(self, script: str, arguments: Any) -> str:
        return self._text


def settings(clock: PausesAlone) -> CaptureSettings:
    pauses = Backoff(first_s=0.5, longest_s=15, jitter=0)
    return CaptureSettings(backoff=pauses, clock=clock, sleep=clock.sleep)


async def test_app_that_answers_503_for_a_minute_still_gives_its_state(
    pauses: PausesAlone,
) -> None:
    pages = Pages(
        *[503] * 5, Error("net::ERR_CONNECTION_REFUSED"), "not yet", "[]", '{"finalstate": 1}'
    )
    states, (capture,) = await capture_states(pages, [MAIL], settings(pauses))
    assert states == {"mail": {"finalstate": 1}}
    assert (capture.tries, capture.error) == (9, None)
    assert pauses.pauses == [0.5, 1, 2, 4, 8, 15, 15, 15]


async def test_app_without_a_state_is_given_up_after_ninety_seconds(pauses: PausesAlone) -> None:
    pages = Pages(503)
    states, (capture,) = await capture_states(pages, [MAIL], settings(pauses))
    assert states == {}
    assert (capture.tries, capture.error) == (10, "/finish answers with status 503")
    assert 75 < sum(pauses.pauses) < 90


async def test_browser_that_is_gone_is_not_asked_again(pauses: PausesAlone) -> None:
    pages = Pages(Error("Target page, context or browser has been closed"))
    pages.alive = False
    _, (capture,) = await capture_states(pages, [MAIL], settings(pauses))
    assert (capture.tries, pauses.pauses) == (1, [])


@pytest.mark.parametrize(
    "text", ODD_JSON, ids=["list", "text", "null", "number", "empty", "error", "deep"]
)
async def test_json_that_is_no_state_is_none(text: str, pauses: PausesAlone) -> None:
    states, (capture,) = await capture_states(Pages(text), [MAIL], settings(pauses))
    assert states == {}
    assert "/finish shows JSON" in str(capture.error)


BEFORE = {"finalstate": {"config": {"mail": {"task_id": ""}}, "mails": []}, "differences": {}}
STATE = {
    "finalstate": {"config": {"mail": {"task_id": "m1"}}, "mails": ["Hi <b> & you"]},
    "differences": {},
}
PLAIN = {"finalstate": {"mails": []}, "differences": {}}
SHOW = (
    "const show = (each) => { document.querySelector('pre').textContent = JSON.stringify(each); };"
)
ROUTES = {
    "written-into-the-page": "",
    "by-a-script": "show(STATE)",
    "after-its-default-store": "show(BEFORE); setTimeout(() => show(STATE), 200)",
    "after-a-default-store-that-does-not-tell": "show(PLAIN); setTimeout(() => show(STATE), 200)",
    "long-after-its-default-store": "show(BEFORE); setTimeout(() => show(STATE), 1500)",
    "after-an-empty-object": "show({}); setTimeout(() => show(STATE), 1200)",
    "after-an-empty-page": "setTimeout(() => show(STATE), 900)",
    "after-a-word": "document.querySelector('pre').textContent = 'Loading...'; setTimeout(() => show(STATE), 900)",
    "after-an-answer": "show(PLAIN); fetch('/slow').then(() => show(STATE))",
    "in-pieces-that-are-json": "for (let n = 0; n < 8; n++) setTimeout(() => show(n < 7 ? {...STATE, n} : STATE), n * 100)",
    "in-another-pre": "show(PLAIN); setTimeout(() => { document.body.innerHTML = '<pre></pre>'; show(STATE); }, 300)",
    "asking-all-the-time": "show(STATE); setInterval(() => fetch('/poll'), 100)",
}  # fmt: skip
"""Ways in which `/finish` comes to the state that the agent left."""


AGISDK_MISSES = {
    "long-after-its-default-store",
    "after-an-empty-object",
    "after-a-word",
    "after-an-answer",
    "in-pieces-that-are-json",
    "asking-all-the-time",
}
"""Where agisdk 0.3.5 takes what is there first, or nothing: it waits for the network alone and reads once."""


class Finish(BaseHTTPRequestHandler):
    route = ""

    def do_GET(self) -> None:
        if self.path == "/slow":
            time.sleep(0.8)
        script = f"const [BEFORE, PLAIN, STATE] = {json.dumps([BEFORE, PLAIN, STATE])}; {SHOW} {self.route}"
        shown = "" if self.route else escape(json.dumps(STATE))
        body = f"<body><pre>{shown}</pre><script>{script if self.route else ''}</script></body>"
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.end_headers()
        self.wfile.write(body.encode())

    def log_message(self, *_: Any) -> None:
        pass


@contextlib.contextmanager
def served(route: str) -> Iterator[AppSite]:
    handler = type("Handler", (Finish,), {"route": ROUTES[route]})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield AppSite(id="mail", url=f"http://127.0.0.1:{server.server_port}")
        server.shutdown()


@pytest.mark.browser
@pytest.mark.parametrize("route", ROUTES)
async def test_state_is_read_when_the_page_has_come_to_it(route: str, browsers: Browsers) -> None:
    limits = CaptureSettings(quiet_s=2.0 if route == "asking-all-the-time" else 10.0)
    async with browsers.open_context() as opened:
        with served(route) as site:
            states, (capture,) = await capture_states(opened.context, [site], limits)
    assert (states, capture.error) == ({"mail": STATE}, None)


@pytest.mark.browser
@pytest.mark.parametrize("route", sorted(ROUTES.keys() - AGISDK_MISSES))
def test_agisdk_reads_the_same_state(route: str) -> None:
    webclones = pytest.importorskip("agisdk.REAL.browsergym.webclones.base")
    sync = pytest.importorskip("playwright.sync_api")
    with sync.sync_playwright() as playwright, served(route) as site:
        browser = playwright.chromium.launch(executable_path=find_chromium(), args=["--no-sandbox"])
        asking = SimpleNamespace(url=site.url, background_page=browser.new_page())
        read = webclones.AbstractWebCloneTask.get_finish_json(asking)
        browser.close()
    assert read == STATE


async def test_state_that_no_configuration_reached_is_not_taken(pauses: PausesAlone) -> None:
    states, (capture,) = await capture_states(Pages(json.dumps(BEFORE)), [MAIL], settings(pauses))
    assert states == {}
    assert "/config did not reach" in str(capture.error)
