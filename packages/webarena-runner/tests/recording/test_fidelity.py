"""What the recording says is compared with what the server saw, for random mixes of traffic."""

from __future__ import annotations

import asyncio
import base64
import itertools
import json
import socket
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import jsonschema
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from webarena_runner.recording import HarRecorder

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from bench_core.browser import Chromium

    Settled = Callable[[Callable[[], bool]], Awaitable[None]]

pytestmark = [pytest.mark.browser, pytest.mark.full_chromium]

SCHEMA = Path(__file__).with_name("har-1.2.schema.json").read_text(encoding="utf-8")
HAR_1_2 = jsonschema.Draft202012Validator(json.loads(SCHEMA))
HOP_BY_HOP = {"connection", "keep-alive", "te", "trailer", "transfer-encoding", "upgrade"}
TOKENS = itertools.count(1)

FETCH = "fetch($URL, {method: 'POST', body: $BODY}).then(answer => answer.text())"
FORM = """(() => {
  const frame = Object.assign(document.createElement('iframe'), {name: 'n$NNN'});
  const form = Object.assign(document.createElement('form'),
    {method: 'post', action: $URL, target: '$TARGET'});
  form.append(Object.assign(document.createElement('input'), {name: 'a[b]', value: 'caf\u00e9 &='}));
  document.body.append(frame, form);
  form.submit();
})()"""
FRAME = """new Promise(done => {
  const frame = Object.assign(document.createElement('iframe'), {src: $URL});
  frame.onload = done;
  document.body.append(frame);
}).then(() => 1)"""
WORKER = """new Promise(done => {
  const worker = new Worker('/worker.js?n=$NNN');
  worker.onmessage = event => done(event.data);
  worker.postMessage({url: $URL, body: 'from a worker'});
})"""
XHR = """new Promise(done => {
  const request = new XMLHttpRequest();
  request.open('$METHOD', $URL);
  request.setRequestHeader('X-Test', 'yes');
  request.onloadend = () => done(request.status);
  request.send('$METHOD' === 'GET' ? null : 'x=1');
})"""
ABORT = """(() => {
  globalThis.left = new AbortController();
  fetch($URL, {method: 'POST', body: 'never mind', signal: left.signal}).catch(() => 0);
})()"""
LEAVE = "globalThis.left?.abort()"
REFUSED = "fetch($URL, {method: 'POST', body: 'nobody there'}).catch(() => 0)"
MULTIPART = """(() => {
  const form = new FormData();
  form.append('field', 'value');
  form.append('file', new File([$BODY], 'data.bin', {type: 'application/octet-stream'}));
  return fetch($URL, {method: 'POST', body: form}).then(answer => answer.text());
})()"""
JSON_BODY = """fetch($URL, {method: 'POST', body: JSON.stringify({text: 'h\u00e9 \u4f60\u597d'}),
  headers: {'Content-Type': 'application/json'}}).then(answer => answer.text())"""
POPUP = "void open($URL, '_blank', '$FEATURES')"
BEACON = "navigator.sendBeacon($URL, $BODY)"
KEEPALIVE = "void fetch($URL, {method: 'POST', body: $BODY, keepalive: true})"
CORS = """fetch($URL, {method: 'PUT', body: '{}', headers: {'Content-Type': 'application/json'},
  credentials: 'include'}).then(answer => answer.text())"""

BODIES = {
    "text": "'plain text'",
    "form": "new URLSearchParams({a: '1', b: 'x y&z'})",
    "bytes": "new Uint8Array([0, 1, 128, 255, 13, 10])",
    "blob": "new Blob(['a blob'])",
    "typed blob": "new Blob(['{}'], {type: 'application/json'})",
    "big": "'x'.repeat(300000)",
    "empty": "''",
}


@dataclass(frozen=True)
class Step:
    """Something a page does: a script, where it points, whether it can reach the server."""

    name: str
    script: str
    path: str
    host: str = "127.0.0.1"
    reaches: bool = True


def posts() -> st.SearchStrategy[Step]:
    return st.sampled_from(sorted(BODIES)).map(
        lambda body: Step(f"post {body}", FETCH.replace("$BODY", BODIES[body]), "/json")
    )


def carried(name: str, script: str) -> st.SearchStrategy[Step]:
    bodies = st.sampled_from(["text", "bytes", "blob", "form"])
    return bodies.map(lambda body: Step(name, script.replace("$BODY", BODIES[body]), "/json"))


def redirects() -> st.SearchStrategy[Step]:
    statuses = st.lists(st.sampled_from([301, 302, 303, 307, 308]), min_size=1, max_size=3)
    methods = st.sampled_from(["GET", "POST", "PUT"])

    def step(chain: list[int], method: str) -> Step:
        path = "".join(f"/hop/{status}" for status in chain) + "/json"
        return Step(f"redirect {method} {chain}", XHR.replace("$METHOD", method), path)

    return st.builds(step, statuses, methods)


STEPS = st.one_of(
    posts(),
    redirects(),
    carried("multipart", MULTIPART),
    carried("beacon", BEACON),
    carried("keepalive", KEEPALIVE),
    st.sampled_from(
        [
            Step("json", JSON_BODY, "/json"),
            Step("get", XHR.replace("$METHOD", "GET"), "/gzip"),
            Step("delete", XHR.replace("$METHOD", "DELETE"), "/json"),
            Step("cookie", XHR.replace("$METHOD", "GET"), "/cookie"),
            Step("no content", XHR.replace("$METHOD", "POST"), "/nothing"),
            Step("missing", XHR.replace("$METHOD", "GET"), "/missing"),
            Step("worker", WORKER, "/json"),
            Step("frame", FRAME, "/page"),
            Step("foreign frame", FRAME, "/page", host="localhost"),
            Step("preflight", CORS, "/json", host="localhost"),
            Step("form in a frame", FORM.replace("$TARGET", "n$NNN"), "/hop/302/page"),
            Step("form in a new tab", FORM.replace("$TARGET", "_blank"), "/hop/303/page"),
            Step("new tab", POPUP.replace("$FEATURES", ""), "/page"),
            Step("foreign new tab", POPUP.replace("$FEATURES", "noopener"), "/page", "localhost"),
            Step("aborted", ABORT, "/never"),
            Step("refused", REFUSED, "/json", reaches=False),
        ]
    ),
)


def target(site: Any, step: Step, token: int) -> str:
    if not step.reaches:
        return f"{site.scheme}://127.0.0.1:{closed_port()}{step.path}?n={token}"
    return str(site.url(f"{step.path}?n={token}", host=step.host))


def closed_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


def hops(step: Step) -> int:
    return 1 + step.path.count("/hop/")


def sent(entry: dict[str, Any]) -> bytes:
    data = entry["request"].get("postData", {})
    if "_base64" in data:
        return base64.b64decode(data["_base64"])
    return str(data.get("text", "")).encode()


def header_lines(pairs: list[tuple[str, str]]) -> list[tuple[str, str]]:
    lowered = ((name.lower(), value) for name, value in pairs)
    return sorted(pair for pair in lowered if pair[0] not in HOP_BY_HOP)


def where(entry: dict[str, Any]) -> tuple[str, str]:
    url = urlsplit(entry["request"]["url"])
    return entry["request"]["method"], f"{url.path}?{url.query}" if url.query else url.path


def assert_same(entry: dict[str, Any], logged: Any) -> None:
    """Compare one entry with one line of the server's log."""
    request, response = entry["request"], entry["response"]
    recorded = [(header["name"], header["value"]) for header in request["headers"]]
    assert header_lines(recorded) == header_lines(logged.headers)
    assert sent(entry) == logged.body
    assert response["status"] == logged.status
    kind = response["content"]["mimeType"]
    if logged.method != "OPTIONS" and logged.status == 200 and ("json" in kind or "html" in kind):
        content = logged.answer
        if ("content-encoding", "gzip") in names_and_values(response["headers"]):
            content = json.dumps({"long": "x" * 5000}).encode()
        assert response["content"]["text"].encode() == content


def names_and_values(headers: list[dict[str, str]]) -> set[tuple[str, str]]:
    return {(header["name"].lower(), header["value"]) for header in headers}


@pytest.fixture(params=["plain_site", "secure_site"])
def any_site(request: pytest.FixtureRequest) -> Any:
    return request.getfixturevalue(request.param)


@settings(
    max_examples=20,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(steps=st.lists(STEPS, min_size=1, max_size=6))
async def test_every_request_is_recorded_once_and_as_the_server_saw_it(
    browser: Chromium, tab: Any, any_site: Any, settled: Settled, steps: list[Step]
) -> None:
    site = any_site
    site.log.clear()
    attempted = []
    async with HarRecorder(browser.cdp_url) as recorder:
        await tab.go(site.url(f"/page?n={next(TOKENS)}"))
        for step in steps:
            wanted = hops(step)
            token = next(TOKENS)
            url = target(site, step, token)
            script = step.script.replace("$URL", json.dumps(url)).replace("$NNN", str(token))
            await tab.run(script)
            if step.reaches:
                await settled(lambda t=token, w=wanted: len(of_token(site, t)) >= w)
                await tab.run(LEAVE)  # a request that is aborted has reached the site by now
            else:
                attempted.append(url)
        await asyncio.sleep(0.05)
        har = await recorder.stop()
    entries = [each for each in har.entries if "favicon" not in each["request"]["url"]]
    reached = [each for each in entries if each["request"]["url"] not in attempted]
    log = [each for each in site.log if "favicon" not in each.path]
    assert sorted(map(where, reached)) == sorted((each.method, each.path) for each in log)
    by_place = {(each.method, each.path): each for each in log}
    for entry in reached:
        assert_same(entry, by_place[where(entry)])
    failures = [each for each in entries if each["request"]["url"] in attempted]
    assert [each["request"]["url"] for each in failures] == attempted
    assert [each["response"]["status"] for each in failures] == [-1] * len(attempted)
    assert {sent(each) for each in failures} <= {b"nobody there"}
    assert chains(reached) == chains_of_log(log)
    HAR_1_2.validate(har.document)


def of_token(site: Any, token: int) -> list[Any]:
    return [
        each
        for each in site.log
        if each.path.endswith(f"n={token}")
        and each.method != "OPTIONS"
        and "worker" not in each.path
    ]


def chains(entries: list[dict[str, Any]]) -> dict[str, list[str]]:
    """The order of paths per token: of the hops of one redirect."""
    order: dict[str, list[str]] = {}
    for entry in entries:
        path, _, token = where(entry)[1].rpartition("?n=")
        order.setdefault(token, []).append(path)
    return order


def chains_of_log(log: list[Any]) -> dict[str, list[str]]:
    order: dict[str, list[str]] = {}
    for each in log:
        path, _, token = each.path.rpartition("?n=")
        order.setdefault(token, []).append(path)
    return order
