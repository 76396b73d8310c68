"""Measure what recording costs and what it catches: ours, browser-use's, and none.

The same scripted visits to a local site are made in a fresh Chromium with a browser-use session
attached, and recorded in three ways. Rounds alternate between them, so that a machine that is
busy for a while is busy for all. Run it in an environment that holds webarena-runner::

    python packages/webarena-runner/benchmarks/bench_recorder.py --rounds 5
"""

from __future__ import annotations

import asyncio
import json
import statistics
import tempfile
import threading
import time
from contextlib import asynccontextmanager, contextmanager, nullcontext
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import click

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator

    from cdp_use.client import CDPClient

IMAGES = 20
VISIT = """(async () => {
  const post = (url, body, type) => fetch(url,
    {method: 'POST', body, headers: type ? {'Content-Type': type} : {}}).then(a => a.text());
  await post('/hop?form', new URLSearchParams({a: '1'}));
  await post('/json', JSON.stringify({availability: 'busy'}), 'application/json');
  const form = new FormData();
  form.append('choice', '1');
  await post('/multi', form);
  await fetch('http://127.0.0.1:6666/dummy_bin', {method: 'POST', body: '{}'}).catch(() => 0);
  await new Promise(done => {
    const worker = new Worker('/worker.js');
    worker.onmessage = done;
    worker.postMessage('/from-worker');
  });
  const images = [...Array(IMAGES).keys()].map(n => new Promise(done => {
    const image = new Image();
    image.onload = image.onerror = done;
    image.src = '/image.png?' + n + Math.random();
  }));
  await Promise.all(images);
})()""".replace("IMAGES", str(IMAGES))
WORKER = (
    b"onmessage = async e => { await fetch(e.data, {method: 'POST', body: 'w'}); postMessage(1); };"
)


class _Site(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    requests: ClassVar[int] = 0

    def do_GET(self) -> None:
        """Answer by path."""
        type(self).requests += 1
        self.rfile.read(int(self.headers.get("Content-Length") or 0))
        path = self.path.partition("?")[0]
        if path == "/hop":
            self._send(302, "text/html", b"", ("Location", "/landed"))
        elif path == "/worker.js":
            self._send(200, "text/javascript", WORKER)
        elif path == "/image.png":
            self._send(200, "image/png", b"x" * 20_000)
        elif path in ("/json", "/multi", "/from-worker"):
            self._send(200, "application/json", b'{"ok": true}', ("Set-Cookie", "seen=1; Path=/"))
        else:
            self._send(200, "text/html", b"<!doctype html><title>t</title>" + b"<p>text" * 3000)

    do_POST = do_GET  # http.server's name

    def log_message(self, *_: object) -> None:
        """Say nothing."""

    def _send(self, status: int, kind: str, body: bytes, *headers: tuple[str, str]) -> None:
        self.send_response(status)
        for name, value in (("Content-Type", kind), ("Content-Length", str(len(body))), *headers):
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)


@dataclass
class Measured:
    """What the rounds of one way of recording gave."""

    times: list[float] = field(default_factory=list)
    entries: list[dict[str, Any]] = field(default_factory=list)
    reached: int = 0

    def caught(self, holds: Callable[[dict[str, Any]], bool]) -> int:
        """Count entries of the last round."""
        return sum(holds(entry) for entry in self.entries)


@click.command()
@click.option("--rounds", default=5, show_default=True, help="How often each way is measured.")
@click.option("--visits", default=5, show_default=True, help="Visits per round.")
def main(rounds: int, visits: int) -> None:
    """Compare time and catch of three ways to record the same visits."""
    results = {name: Measured() for name in ("none", "browser-use", "ours")}
    with _serve() as url:
        for _ in range(rounds):
            for name, measured in results.items():
                asyncio.run(_round(name, url, visits, measured))
    _report(results, rounds, visits)


async def _round(name: str, url: str, visits: int, measured: Measured) -> None:
    from bench_core.browser import launch_chromium

    with tempfile.TemporaryDirectory() as folder:
        har = Path(folder) / "network.har"
        async with (
            launch_chromium() as chromium,
            _recording(name, chromium.cdp_url, har),
            _driven(chromium.ws_url) as (client, session),
        ):
            await _visit(client, session, url)  # warm up; recorded, but not timed
            _Site.requests = 0
            begun = time.perf_counter()
            for _ in range(visits):
                await _visit(client, session, url)
            measured.times.append((time.perf_counter() - begun) / visits)
            measured.reached = _Site.requests
        # The warm-up visit and what it asked for are the first 1/(visits+1) of the entries.
        entries = _read(har)
        measured.entries = entries[len(entries) // (visits + 1) :]


def _read(har: Path) -> list[dict[str, Any]]:
    return json.loads(har.read_text(encoding="utf-8"))["log"]["entries"] if har.exists() else []


@asynccontextmanager
async def _recording(name: str, cdp_url: str, har: Path) -> AsyncIterator[None]:
    """Keep a browser-use session attached, and record to `har` in the way called `name`."""
    from bench_core.browser_use import import_browser_use
    from webarena_runner.recording import HarRecorder, include_http_in_har

    browser_use = import_browser_use()
    theirs = name == "browser-use"
    profile = browser_use.BrowserProfile(cdp_url=cdp_url, record_har_path=har if theirs else None)
    session = browser_use.BrowserSession(browser_profile=profile)
    with include_http_in_har(enabled=theirs):
        await session.start()
        try:
            async with HarRecorder(cdp_url) if name == "ours" else nullcontext() as recorder:
                yield
                if recorder is not None:
                    (await recorder.stop()).write(har)
        finally:
            await session.kill()


@asynccontextmanager
async def _driven(ws_url: str) -> AsyncIterator[tuple[CDPClient, str]]:
    """Attach to the first tab over a connection of our own."""
    from cdp_use.client import CDPClient

    async with CDPClient(ws_url) as client:
        targets = (await client.send_raw("Target.getTargets"))["targetInfos"]
        target = next(each["targetId"] for each in targets if each["type"] == "page")
        params = {"targetId": target, "flatten": True}
        yield client, (await client.send_raw("Target.attachToTarget", params))["sessionId"]


async def _visit(client: CDPClient, session: str, url: str) -> None:
    await client.send_raw("Page.navigate", {"url": url}, session)
    # Polled, not awaited as an event: listening would add to what is measured.
    ready = "document.readyState === 'complete' && !window.visited && (window.visited = true)"
    while not await _evaluate(client, session, ready):  # noqa: ASYNC110  # asks the page
        await asyncio.sleep(0.002)
    await _evaluate(client, session, VISIT)


async def _evaluate(client: CDPClient, session: str, script: str) -> Any:
    params = {"expression": script, "awaitPromise": True, "returnByValue": True}
    try:
        answer = await client.send_raw("Runtime.evaluate", params, session)
    except RuntimeError:  # between two documents
        return None
    return answer["result"].get("value")


@contextmanager
def _serve() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Site)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
    yield f"http://127.0.0.1:{server.server_address[1]}/page"
    server.shutdown()
    server.server_close()


CATCHES: dict[str, Callable[[dict[str, Any]], bool]] = {
    "POST answered 302": lambda e: (
        e["request"]["method"] == "POST" and e["response"]["status"] == 302
    ),
    "POST with its body": lambda e: bool((e["request"].get("postData") or {}).get("text")),
    "documents with Accept": lambda e: (
        _header(e, "sec-fetch-dest") == "document" and "text/html" in _header(e, "accept")
    ),
    "response cookies": lambda e: bool(e["response"]["cookies"]),
    "failed, status -1": lambda e: e["response"]["status"] == -1,
    "POST by a worker": lambda e: "from-worker" in e["request"]["url"],
    "JSON answers with body": lambda e: (
        "json" in e["response"]["content"]["mimeType"] and "text" in e["response"]["content"]
    ),
}


def _header(entry: dict[str, Any], name: str) -> str:
    values = (each["value"] for each in entry["request"]["headers"] if each["name"].lower() == name)
    return next(values, "")


def _report(results: dict[str, Measured], rounds: int, visits: int) -> None:
    baseline = statistics.median(results["none"].times)
    click.echo(f"{rounds} rounds of {visits} visits; counts are of one round\n")
    header = " | ".join(f"{name:>12}" for name in results)
    click.echo(f"{'':26} | {header}")
    _row(
        "ms per visit (median)",
        [f"{statistics.median(r.times) * 1e3:.1f}" for r in results.values()],
    )
    _row("ratio", [f"{statistics.median(r.times) / baseline:.3f}" for r in results.values()])
    _row("requests at the server", [str(r.reached) for r in results.values()])
    _row("entries recorded", [str(len(r.entries)) for r in results.values()])
    for name, holds in CATCHES.items():
        _row(name, [str(each.caught(holds)) for each in results.values()])


def _row(name: str, cells: list[str]) -> None:
    click.echo(f"{name:26} | " + " | ".join(f"{cell:>12}" for cell in cells))


if __name__ == "__main__":
    main()
