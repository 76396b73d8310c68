"""The rules for agents, one example of each, and that nothing but its rule stops it."""

from __future__ import annotations

import asyncio
import json
import re
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import TYPE_CHECKING, Any

import pytest

from bench_core.browser import (
    AGENT_RULES,
    CdpConnection,
    CdpError,
    Places,
    Rule,
    RuleBook,
    launch_chromium,
    open_gateway,
    websocket_url,
)
from bench_core.browser.guard import open_guard
from bench_core.browser.places import is_local_page
from bench_core.browser.rules import paused_request
from bench_core.records import IntegrityCode

if TYPE_CHECKING:
    from collections.abc import Iterator

FILE = {"url": "file:///etc/hostname"}
EXAMPLES: dict[str, dict[str, Any]] = {
    "Page.navigate": FILE,
    "Target.createTarget": FILE,
    "Network.loadNetworkResource": FILE,
    "DOM.setFileInputFiles": {"files": ["/etc/hostname"], "backendNodeId": 3},
    "Input.dispatchDragEvent": {"type": "drop", "data": {"items": [], "files": ["/etc/hostname"]}},
    "Browser.setDownloadBehavior": {"behavior": "allow", "downloadPath": "/tmp/x"},  # noqa: S108
    "Page.setDownloadBehavior": {"behavior": "allow", "downloadPath": "/tmp/x"},  # noqa: S108
    "Extensions.*": {"path": "/tmp/extension"},  # noqa: S108
    "PWA.*": {"manifestId": "x"},
    "Fetch.fulfillRequest": {"requestId": "7", "responseCode": 200, "body": "e30="},
    "Fetch.continueRequest": {"requestId": "7", "url": "http://shop.test/other"},
    "Fetch.continueResponse": {"requestId": "7", "responseCode": 200},
    "Network.setRequestInterception": {"patterns": [{}]},
    "Network.continueInterceptedRequest": {"interceptionId": "7", "rawResponse": "x"},
    "Network.setExtraHTTPHeaders": {"headers": {"Referer": "http://shop.test/"}},
    "DOMStorage.setDOMStorageItem": {"key": "state", "value": "{}"},
    "Target.createBrowserContext": {},
    "Browser.crash": {},
    "Browser.crashGpuProcess": {},
    "Page.crash": {},
    "Emulation.setVirtualTimePolicy": {"policy": "pause"},
    "Target.sendMessageToTarget": {"message": '{"id":1,"method":"Browser.crash"}'},
    "Target.exposeDevToolsProtocol": {"targetId": "A"},
    "Target.setRemoteLocations": {"locations": []},
    "Target.openDevTools": {"targetId": "A"},
    "Tethering.*": {"port": 9222},
}


ONE_OF = {"Extensions.*": "loadUnpacked", "PWA.*": "install", "Tethering.*": "bind"}


def message_for(rule: Rule) -> bytes:
    method = rule.method.replace("*", ONE_OF.get(rule.method, ""))
    return json.dumps({"id": 1, "method": method, "params": EXAMPLES[rule.method]}).encode()


@pytest.mark.parametrize(
    "rule", AGENT_RULES, ids=lambda rule: re.sub(r"\W+", "-", rule.method).strip("-")
)
def test_each_rule_does_what_it_says_and_nothing_else_would(rule: Rule) -> None:
    message = message_for(rule)
    decision = RuleBook().decide(message)
    if rule.does == "refuse":
        assert decision.message is None
        assert json.loads(decision.answer or b"")["error"]["message"].endswith(rule.why)
        assert decision.code in {rule.code, IntegrityCode.LOCAL_PAGE}
    elif rule.does == "rewrite":
        assert decision.message not in {None, message}
        assert decision.code is rule.code
    else:
        assert (decision.message, decision.blocked) == (message, False)
    others = RuleBook([each for each in AGENT_RULES if each is not rule])
    assert others.decide(message).message == message


def test_a_forged_answer_lets_the_request_go_on_instead_of_hanging() -> None:
    forged = {"id": 4, "sessionId": "S", "method": "Fetch.fulfillRequest",
              "params": {"requestId": "7", "responseCode": 200}}  # fmt: skip
    decision = RuleBook().decide(json.dumps(forged).encode())
    assert json.loads(decision.message or b"") == {
        "id": 4, "sessionId": "S", "method": "Fetch.continueRequest", "params": {"requestId": "7"},
    }  # fmt: skip


def test_downloads_are_denied_and_the_call_is_answered() -> None:
    told = {"id": 1, "method": "Browser.setDownloadBehavior",
            "params": {"behavior": "allow", "downloadPath": "/x", "eventsEnabled": True}}  # fmt: skip
    decision = RuleBook().decide(json.dumps(told).encode())
    assert json.loads(decision.message or b"")["params"] == {
        "behavior": "deny", "eventsEnabled": True,
    }  # fmt: skip
    assert decision.code is None


@pytest.mark.parametrize(
    "message",
    [b"\xff", b"[]", b'{"id": 1}', b'{"method": 1}', b'{"method": "A.b", "method": "Browser.crash"}',
     b'{"method": "Browser.crash", "method": "A.b"}',
     b'{"method": "A.b", "params": {"x": NaN}}', b"[" * 9999,
     b'{"method": "Page.navigate", "params": {"url": "http://x/", "url": "file:///"}}'],
)  # fmt: skip
def test_what_can_be_read_in_two_ways_or_none_is_refused(message: bytes) -> None:
    assert RuleBook().decide(message).message is None


SITES = Places(sites=("http://shop.test:7770", "http://127.0.0.1:4000"))
ADS, OWN = "https://ads.example/pixel", "http://shop.test:7770/cart"


@pytest.mark.parametrize(
    ("paused", "method", "more", "code"),
    [
        (ADS, "Fetch.fulfillRequest", {"responseCode": 204}, None),
        (ADS, "Fetch.continueRequest", {"headers": [{"name": "X", "value": "1"}]}, None),
        (ADS, "Fetch.continueRequest", {"url": "https://other.example/"}, None),
        (ADS, "Fetch.continueResponse", {"responseCode": 200}, None),
        (ADS, "Fetch.continueRequest", {"url": OWN}, IntegrityCode.FORGED_REQUEST),
        (OWN, "Fetch.continueRequest", {"url": ADS}, IntegrityCode.FORGED_REQUEST),
        (OWN, "Fetch.fulfillRequest", {"responseCode": 204}, IntegrityCode.FORGED_RESPONSE),
        ("http://img.shop.test/", "Fetch.fulfillRequest", {}, IntegrityCode.FORGED_RESPONSE),
        ("http://SHOP.test./", "Fetch.fulfillRequest", {}, IntegrityCode.FORGED_RESPONSE),
        ("http://localhost:1/", "Fetch.fulfillRequest", {}, IntegrityCode.FORGED_RESPONSE),
        ("data:,x", "Fetch.fulfillRequest", {}, IntegrityCode.FORGED_RESPONSE),
        (None, "Fetch.fulfillRequest", {}, IntegrityCode.FORGED_RESPONSE),
    ],
)
def test_what_an_agent_makes_of_requests_to_other_hosts_is_its_own(
    paused: str | None, method: str, more: dict[str, Any], code: IntegrityCode | None
) -> None:
    event = {"method": "Fetch.requestPaused", "sessionId": "S",
             "params": {"requestId": "7", "request": {"url": paused}}}  # fmt: skip
    waits = paused_request(json.dumps(event).encode()) if paused else None
    told = {"id": 4, "sessionId": "S", "method": method, "params": {"requestId": "7", **more}}
    message = json.dumps(told).encode()
    decision = RuleBook(places=SITES).decide(message, dict([waits] if waits else []))
    assert decision.code is code
    assert (decision.message == message) is (code is None)


def test_a_request_that_waits_in_another_session_is_another_one() -> None:
    waits = {"T 7": ADS}
    told = b'{"id": 4, "sessionId": "S", "method": "Fetch.fulfillRequest", "params": {"requestId": "7"}}'
    assert RuleBook(places=SITES).decide(told, waits).code is IntegrityCode.FORGED_RESPONSE
    assert RuleBook().decide(told, {"S 7": ADS}).code is IntegrityCode.FORGED_RESPONSE


@pytest.mark.parametrize(
    "message",
    [
        b'{"method": "Other", "params": {"text": "Fetch.requestPaused"}}', b'["Fetch.requestPaused"]',
        b'{"method": "Fetch.requestPaused"', b'{"method": "Fetch.requestPaused", "params": {}}', b"{}",
    ],
)  # fmt: skip
def test_other_messages_say_of_no_request_that_it_waits(message: bytes) -> None:
    assert paused_request(message) is None


@pytest.mark.parametrize(
    ("headers", "code"),
    [
        ({"Accept-Language": "de", "DNT": "1"}, None),
        ({}, None),
        ({"accept-language": "de", "Referer": "x"}, IntegrityCode.FORGED_REQUEST),
        ({"X-Own": "1"}, IntegrityCode.FORGED_REQUEST),
    ],
)
def test_headers_that_people_set_in_their_browser_are_no_finding(
    headers: dict[str, str], code: IntegrityCode | None
) -> None:
    told = {"id": 1, "method": "Network.setExtraHTTPHeaders", "params": {"headers": headers}}
    assert RuleBook().decide(json.dumps(told).encode()).code is code


@pytest.mark.parametrize(
    ("url", "code"),
    [
        ("view-source:http://mail.test/inbox", None),
        ("chrome://downloads/", None),
        ("view-source:http://mail.test/finish", IntegrityCode.GUARDED_PATH),
        (" view-SOURCE:http://mail.test/finish", IntegrityCode.GUARDED_PATH),
        ("view-source:http://127.0.0.1:9222/json", IntegrityCode.GUARDED_PATH),
        ("view-source:file:///etc/passwd", IntegrityCode.LOCAL_PAGE),
        ("chrome://downloads.x/", IntegrityCode.LOCAL_PAGE),
    ],
)
def test_the_source_of_a_page_is_what_the_page_is(url: str, code: IntegrityCode | None) -> None:
    ports = {9222: IntegrityCode.GUARDED_PATH}
    places = Places(ports, ("http://mail.test",), lambda url: url.endswith("/finish"))
    assert places.code_of(url) is code


def test_a_path_is_guarded_on_the_origins_of_apps_alone() -> None:
    places = Places(origins=("http://mail.test",), guards=lambda url: url.endswith("/finish"))
    assert places.code_of("http://mail.test/finish") is IntegrityCode.GUARDED_PATH
    assert places.code_of("http://shop.test/finish") is None


@pytest.mark.parametrize(
    "url",
    ["file:///etc/passwd", "FILE:/etc/passwd", " \tfi\nle:///", "\x01file:///", "view-source:file:///",
     "view-source:chrome://version", "view-source:view-source:http://x/", "VIEW-source: file:///",
     "chrome://version", "chrome-untrusted://x", "devtools://devtools/x", "filesystem:http://x/t",
     "about:version", "ABOUT:crash", "blob:file:///x", "chrome-extension://x/y", "content://x",
     "chrome://newtab@version/", "chrome://newtab/..//version", "chrome://new-tab-page.x/"],
)  # fmt: skip
def test_local_pages_are_seen_in_any_spelling(url: str) -> None:
    assert is_local_page(url)


@pytest.mark.parametrize(
    "url",
    ["", "http://x/file:///etc", "https://x/", "about:blank", "about:blank#x", "about:srcdoc",
     "data:text/html,x", "blob:http://x/1", "javascript:void 0", "chrome://newtab/", "localhost:80/x",
     "!file:///x", "chrome://new-tab-page", "chrome://new-tab-page-third-party/"],
)  # fmt: skip
def test_other_pages_are_not_local(url: str) -> None:
    assert not is_local_page(url)


PORTS = Places({9222: IntegrityCode.GUARDED_PATH})


@pytest.mark.parametrize(
    "host", ["127.0.0.1", "localhost", "LOCALHOST", "x.localhost", "2130706433", "0x7f.1", "127.1",
             "[::1]", "0.0.0.0"],
)  # fmt: skip
def test_a_port_of_the_harness_is_seen_under_any_name_of_this_machine(host: str) -> None:
    assert PORTS.code_of(f"http://{host}:9222/json/list") is IntegrityCode.GUARDED_PATH
    assert PORTS.code_of(f"http://{host}:9223/json/list") is None


@pytest.mark.parametrize(("scheme", "port"), [("http", 80), ("https", 443)])
def test_a_port_of_the_harness_is_seen_where_a_url_names_none(scheme: str, port: int) -> None:
    places = Places({port: IntegrityCode.GUARDED_PATH})
    assert places.code_of(f"{scheme}://localhost/json/list") is IntegrityCode.GUARDED_PATH


@pytest.fixture(scope="module")
def site() -> Iterator[str]:
    class Page(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.end_headers()
            self.wfile.write(b"<p>a page")

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Page)
    Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


async def shown(connection: CdpConnection, url: str, context: str | None = None) -> str:
    """Open a URL in a new page, past any gateway, and return where it ended."""
    where = {"url": url} if context is None else {"url": url, "browserContextId": context}
    target = (await connection.call("Target.createTarget", where))["targetId"]
    how = {"targetId": target, "flatten": True}
    session = (await connection.call("Target.attachToTarget", how))["sessionId"]
    code = "document.readyState + ' ' + location.href"
    for _ in range(600):
        try:
            found = await connection.call("Runtime.evaluate", {"expression": code}, session)
        except CdpError:  # between two documents
            continue
        state, _, at = str(found["result"].get("value", "")).partition(" ")
        if state == "complete" and at != "about:blank":
            return at
        await asyncio.sleep(0.05)
    raise AssertionError(f"{url} never came to rest")


@pytest.mark.browser
@pytest.mark.full_chromium
async def test_the_guard_refuses_in_every_page_and_context(site: str) -> None:
    found: list[tuple[IntegrityCode, bool, str]] = []
    places = Places(origins=(site,), guards=lambda url: url.endswith("/finish"))
    async with launch_chromium() as chromium:
        past = await CdpConnection.open(chromium.ws_url)
        async with open_guard(chromium.ws_url, places, lambda *each: found.append(each)) as guard:
            assert await shown(past, f"{site}/a") == f"{site}/a"
            context = (await past.call("Target.createBrowserContext"))["browserContextId"]
            named = f"{site.replace('://', '://user:word@')}/finish"
            for url in (
                f"{site}/finish",
                named,
                "file:///etc/hostname",
                "view-source:file:///etc/",
            ):
                assert (await shown(past, url)).startswith("chrome-error:")
                assert (await shown(past, url, context)).startswith("chrome-error:")
            await guard.disarm()
            assert await shown(past, f"{site}/finish") == f"{site}/finish"
        await past.close()
    codes = [(code, blocked) for code, blocked, _ in found]
    assert (
        codes == [(IntegrityCode.GUARDED_PATH, True)] * 4 + [(IntegrityCode.LOCAL_PAGE, True)] * 4
    )


@pytest.mark.browser
@pytest.mark.full_chromium
@pytest.mark.parametrize("hidden", [False, True])
async def test_the_guard_sees_a_page_of_the_browser_itself_whoever_opened_it(
    site: str, *, hidden: bool
) -> None:
    found: list[tuple[IntegrityCode, bool, str]] = []
    async with launch_chromium() as chromium:
        past = await CdpConnection.open(chromium.ws_url)
        async with open_guard(chromium.ws_url, Places(), lambda *each: found.append(each)):
            await shown(past, f"{site}/a")
            assert (await shown(past, "http://127.0.0.1:1/")).startswith("chrome-error:")
            assert found == []
            where = {"url": "chrome://version", "hidden": hidden}
            await past.call("Target.createTarget", where)
            for _ in range(600):
                if found:
                    break
                await asyncio.sleep(0.05)
        await past.close()
    assert found == [(IntegrityCode.LOCAL_PAGE, False, "chrome://version/")]


@pytest.mark.browser
@pytest.mark.full_chromium
async def test_the_gateway_refuses_and_the_connection_goes_on(site: str) -> None:
    found: list[tuple[IntegrityCode, bool]] = []
    async with (
        launch_chromium() as chromium,
        open_gateway(chromium.cdp_url, found=lambda *each: found.append(each[:2])) as gateway,
    ):
        agent = await CdpConnection.open(await websocket_url(gateway.cdp_url))
        with pytest.raises(CdpError, match="is refused"):
            await agent.call("Target.createTarget", FILE)
        with pytest.raises(CdpError, match="is refused"):
            await agent.call("Browser.crash")
        assert await shown(agent, f"{site}/a") == f"{site}/a"
        await agent.close()
    assert found == [(IntegrityCode.LOCAL_PAGE, True), (IntegrityCode.BROWSER_ENDED, True)]
    assert gateway.log.refused == {"Target.createTarget": 1, "Browser.crash": 1}


@pytest.mark.parametrize(
    "url",
    [
        "http://user@shop.test/finish", "http://a:b@shop.test:80/finish", "http://SHOP.test./finish",
        "http://%73hop.test/finish", "http://\uff53hop.test/finish", "http://2130706433:81/finish",
        "http://0x7f.1:81/finish", "http://0177.0.0.1:81/finish", "http://[::ffff:127.0.0.1]:81/finish",
        "http://bücher.test/finish", "http:\\\\u@shop.test\\finish",
    ],
)  # fmt: skip
def test_a_guarded_path_is_one_in_every_spelling_of_its_origin(url: str) -> None:
    origins = ("http://shop.test", "http://127.0.0.1:81", "http://xn--bcher-kva.test")
    places = Places({}, origins, lambda _: True)
    assert places.code_of(url) is IntegrityCode.GUARDED_PATH
    for other in (
        "http://shop.test@evil.test/",
        "http://shop.test:81/",
        "http://127.0.0.2:81/",
        "http://[",
    ):
        assert places.code_of(other) is None
