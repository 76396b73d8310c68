"""Getters and steps that speak to the VM's browser, against a real Chromium."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import http.server
import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest
import pytest_asyncio
from test_support.own_port import OWN_PORT, own_port

from bench_core.browser import launch_chromium
from waa_server_ext.evaluation.evaluators import EvaluatorSettings
from waa_server_ext.fixture import FixtureVm
from waa_server_ext.native import NativeEvaluator
from waa_server_ext.server.rescore import replayed
from waa_server_ext.server.startup import evaluator_settings
from waa_server_ext.vm.client import BodyStore
from waa_server_ext.vm.state import VmState

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator
    from pathlib import Path

    from waa_server_ext.evaluation.verdicts import SetupReport, Verdict

pytest.importorskip("websockets", reason="needs the extra [browser]")
pytestmark = pytest.mark.browser

PAGES = {
    "/cart": "<!doctype html><title>Cart</title><p>The Dota 2 Official Soundtrack</p>",
    "/thread": "<!doctype html><title>Thread</title><p>banter</p>",
    "/busy": "<!doctype html><title>Busy</title><script>fetch('/never')</script>",
    "/leaving": "<!doctype html><title>Leaving</title><script>addEventListener('pagehide', () => "
    "{ const since = Date.now(); while (Date.now() - since < 400); })</script>",
}
BAR = (
    '<desktop xmlns:val="uri:deskat:value.at-spi.gnome.org"><chrome_widgetwin_1 name="w">'
    '<view name="Address and search bar" val:value="{}"/></chrome_widgetwin_1></desktop>'
)


class Pages(http.server.BaseHTTPRequestHandler):
    over = threading.Event()

    def do_GET(self) -> None:
        if self.path == "/never":
            self.over.wait(120)
        body = PAGES.get(self.path.partition("?")[0], "").encode()
        self.send_response(200 if body else 404)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        pass


@pytest.fixture
def site() -> Iterator[str]:
    Pages.over.clear()
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Pages)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    Pages.over.set()
    server.shutdown()
    thread.join()
    server.server_close()


@dataclass
class Machine:
    """A VM on whose port 9222 a real Chromium debugs."""

    host: str
    cache: Path

    async def evaluate(self, evaluator: dict[str, Any], state: dict[str, Any]) -> Verdict:
        task = {"id": "live", "instruction": "look", "evaluator": evaluator}
        with FixtureVm(VmState.load(state), host=self.host) as vm:
            native = NativeEvaluator(EvaluatorSettings(cache=self.cache, skip_sleeps=True))
            return await asyncio.to_thread(native.evaluate, task, [], vm=vm.address)

    async def evaluate_again(self, evaluator: dict[str, Any], before: Verdict) -> Verdict:
        """Score the transcript of an evaluation, without browser and VM."""
        task = {"id": "live", "instruction": "look", "evaluator": evaluator}
        bodies = BodyStore(self.cache / "bodies")
        native = NativeEvaluator(EvaluatorSettings(cache=self.cache / "again", skip_sleeps=True))
        with replayed(before.transcript, bodies) as vm:
            return await asyncio.to_thread(native.evaluate, task, [], vm=vm.address, replayed=True)

    async def set_up(self, *steps: dict[str, Any]) -> SetupReport:
        task = {
            "id": "live",
            "instruction": "x",
            "config": steps,
            "evaluator": {"func": "infeasible"},
        }
        with FixtureVm(host=self.host) as vm:
            native = NativeEvaluator(EvaluatorSettings(cache=self.cache, skip_sleeps=True))
            return await asyncio.to_thread(native.set_up, task, vm=vm.address)


@pytest_asyncio.fixture
async def machine(next_vm_host: Callable[[], str], tmp_path: Path) -> AsyncIterator[Machine]:
    host = next_vm_host()
    async with launch_chromium(OWN_PORT) as chromium:
        port = await own_port(chromium)
        server = await asyncio.start_server(lambda r, w: forward(r, w, port), host, 9222)
        async with server:
            yield Machine(host, tmp_path)


async def forward(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, port: int) -> None:
    """Pass on what comes to the VM's port, as Caddy does there."""
    other_reader, other_writer = await asyncio.open_connection("127.0.0.1", port)
    await asyncio.gather(pump(reader, other_writer), pump(other_reader, writer))


async def pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with contextlib.suppress(OSError), contextlib.closing(writer):
        while data := await reader.read(65536):
            writer.write(data)
            await writer.drain()


@pytest.mark.parametrize("path", ["/cart", "/thread"])
@pytest.mark.parametrize("name", ["open_tabs_info", "page_info", "active_tab_info"])
async def test_what_a_browser_answered_is_scored_again(
    machine: Machine, site: str, name: str, path: str
) -> None:
    await machine.set_up(
        {"type": "chrome_open_tabs", "parameters": {"urls_to_open": [f"{site}/cart"]}}
    )
    asked = {
        "open_tabs_info": judged(
            {"type": name}, "is_expected_tabs", {"type": "url", "urls": [f"{site}{path}"]}
        ),
        "page_info": judged(
            {"type": name, "url": f"{site}{path}"},
            "is_added_to_steam_cart",
            {"items": ["The Dota 2 Official Soundtrack"]},
        ),
        "active_tab_info": judged(
            {"type": name, "goto_prefix": "http://"},
            "is_expected_active_tab",
            {"type": "url", "url": f"{site}{path}"},
        ),
    }[name]
    bar = BAR.format(f"{site.removeprefix('http://')}/cart")
    before = await machine.evaluate(asked, {"accessibility": {"uia": bar}})
    assert before.score == float(path == "/cart")
    after = await machine.evaluate_again(asked, before)
    assert (after.score, after.metrics) == (before.score, before.metrics)


async def test_a_printed_page_is_compared_again(machine: Machine, site: str) -> None:
    pytest.importorskip("pymupdf", reason="needs the extra [pdf-agpl]")
    evaluator, state = printing(site)
    before = await machine.evaluate(evaluator, state)
    after = await machine.evaluate_again(evaluator, before)
    assert (before.score, after.score) == (1.0, 1.0)


async def test_a_browser_that_gave_no_answer_gives_none_again(machine: Machine) -> None:
    page = {"type": "page_info", "url": "http://127.0.0.1:1/nothing"}
    cart = judged(page, "is_added_to_steam_cart", {"items": ["x"]})
    before = await machine.evaluate(cart, {})
    after = await machine.evaluate_again(cart, before)
    assert (before.score, after.score) == (0.0, 0.0)
    assert after.metrics == before.metrics


async def test_a_transcript_without_its_browser_leaves_no_score(
    machine: Machine, site: str
) -> None:
    rules = {"type": "url", "urls": [f"{site}/cart"]}
    tabs = judged({"type": "open_tabs_info"}, "is_expected_tabs", rules)
    before = await machine.evaluate(tabs, {})
    calls = tuple(each for each in before.transcript if each.target != "browser")
    after = await machine.evaluate_again(tabs, before.model_copy(update={"transcript": calls}))
    assert (before.score, after.score) == (0.0, None)


def judged(getter: dict[str, Any], metric: str, rules: dict[str, Any]) -> dict[str, Any]:
    return {"func": metric, "result": getter, "expected": {"type": "rule", "rules": rules}}


async def test_open_tabs_are_those_that_the_setup_opened(machine: Machine, site: str) -> None:
    urls = [f"{site}/cart", f"{site}/thread"]
    report = await machine.set_up(
        {"type": "chrome_open_tabs", "parameters": {"urls_to_open": urls}}
    )
    rules = {"type": "url", "urls": urls}
    verdict = await machine.evaluate(
        judged({"type": "open_tabs_info"}, "is_expected_tabs", rules), {}
    )
    assert (report.steps[0].error, verdict.score) == (None, 1.0)


async def test_a_closed_tab_is_no_longer_open(machine: Machine, site: str) -> None:
    urls = [f"{site}/cart", f"{site}/thread"]
    await machine.set_up(
        {"type": "chrome_open_tabs", "parameters": {"urls_to_open": urls}},
        {"type": "chrome_close_tabs", "parameters": {"urls_to_close": urls[:1]}},
    )
    for wanted, score in ((urls, 0.0), (urls[1:], 1.0)):
        rules = {"type": "url", "urls": wanted}
        tabs = judged({"type": "open_tabs_info"}, "is_expected_tabs", rules)
        assert (await machine.evaluate(tabs, {})).score == score


async def test_a_tab_that_is_slow_to_leave_is_not_closed_twice(machine: Machine, site: str) -> None:
    urls = [f"{site}/leaving", f"{site}/leaving", f"{site}/cart"]
    await machine.set_up(
        {"type": "chrome_open_tabs", "parameters": {"urls_to_open": urls}},
        {"type": "chrome_close_tabs", "parameters": {"urls_to_close": urls[:2]}},
    )
    rules = {"type": "url", "urls": urls[2:]}
    tabs = judged({"type": "open_tabs_info"}, "is_expected_tabs", rules)
    assert (await machine.evaluate(tabs, {})).score == 1.0


@pytest.mark.parametrize(
    ("item", "score"), [("The Dota 2 Official Soundtrack", 1.0), ("Other", 0.0)]
)
async def test_a_page_is_opened_and_read(
    machine: Machine, site: str, item: str, score: float
) -> None:
    page = {"type": "page_info", "url": f"{site}/cart", "load_state": "networkidle"}
    cart = judged(page, "is_added_to_steam_cart", {"items": [item]})
    assert (await machine.evaluate(cart, {})).score == score


@pytest.mark.parametrize(("path", "score"), [("/thread", 1.0), ("/cart", 0.0)])
async def test_the_active_tab_is_the_page_in_the_address_bar(
    machine: Machine, site: str, path: str, score: float
) -> None:
    bar = BAR.format(f"{site.removeprefix('http://')}{path}")
    rules = {"type": "url", "url": f"{site}/thread"}
    getter = {"type": "active_tab_info", "goto_prefix": "http://"}
    tab = judged(getter, "is_expected_active_tab", rules)
    assert (await machine.evaluate(tab, {"accessibility": {"uia": bar}})).score == score


async def test_an_active_tab_that_cannot_be_opened_again_is_none(machine: Machine) -> None:
    bar = BAR.format("127.0.0.1:1/nothing")
    tab = judged(
        {"type": "active_tab_info", "goto_prefix": "http://"},
        "is_expected_active_tab",
        {"type": "url", "url": "http://127.0.0.1:1/nothing"},
    )
    verdict = await machine.evaluate(tab, {"accessibility": {"uia": bar}})
    assert (verdict.score, verdict.metrics[0].actual) == (0.0, None)


def printing(site: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return an evaluator that prints a page, and a VM with the right file."""
    pymupdf = pytest.importorskip("pymupdf", reason="needs the extra [pdf-agpl]")
    document = pymupdf.open()
    document.new_page().insert_text((72, 72), "banter")
    saved = base64.b64encode(document.tobytes()).decode()
    path = r"C:\Users\Docker\Desktop\a.pdf"
    evaluator = {
        "func": "compare_pdfs",
        "result": {"type": "vm_file", "path": path, "dest": "a.pdf"},
        "expected": {"type": "pdf_from_url", "path": f"{site}/thread", "dest": "gold.pdf"},
    }
    return evaluator, {"files": {path: {"b64": saved}}}


async def test_a_page_is_printed_and_compared_with_the_saved_one(
    machine: Machine, site: str
) -> None:
    evaluator, state = printing(site)
    assert (await machine.evaluate(evaluator, state)).score == 1.0


@pytest.mark.slow
async def test_a_page_that_never_rests_counts_by_its_url(machine: Machine, site: str) -> None:
    urls = [f"{site}/busy"]
    await machine.set_up({"type": "chrome_open_tabs", "parameters": {"urls_to_open": urls}})
    tabs = judged({"type": "open_tabs_info"}, "is_expected_tabs", {"type": "url", "urls": urls})
    verdict = await machine.evaluate(tabs, {})
    assert verdict.score == 1.0
    assert "Error encountered" in str(verdict.metrics[0].actual)


@pytest.mark.parametrize("cdp", [None, "127.0.0.1:9"])
def test_another_vms_browser_is_never_taken_for_this_ones(tmp_path: Path, cdp: str | None) -> None:
    task = {
        "id": "x", "instruction": "x",
        "evaluator": {"func": "is_expected_tabs", "result": {"type": "open_tabs_info"},
                      "expected": {"type": "rule", "rules": {"type": "url", "urls": []}}},
    }  # fmt: skip
    with FixtureVm(port=0) as vm:
        given = {"vm": vm.address, "cdp": cdp, "checkout": None, "assets": None, "cache": tmp_path, "fidelity": None,
                 "offline": True, "allow_hosts": (), "max_download": 1}  # fmt: skip
        settings = evaluator_settings(given).model_copy(update={"skip_sleeps": True})
        verdict = NativeEvaluator(settings).evaluate(task, [], vm=vm.address)
    if cdp is None:
        assert verdict.score is None
        assert "pass it as --cdp" in str(verdict.evaluation_error)
    else:
        assert verdict.score == 1.0  # no browser runs where it was said to be
