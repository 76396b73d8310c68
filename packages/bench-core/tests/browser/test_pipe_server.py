"""DevTools over Chromium's pipe: what clients with the secret path get, and what others do not."""

from __future__ import annotations

import asyncio
import json
import os
import random
import threading
import urllib.error
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import psutil
import pytest
from gateway_browser import request, until
from websockets.asyncio.client import connect
from websockets.exceptions import InvalidStatus

from bench_core.browser import CdpConnection, CdpError, launch_chromium

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

    from bench_core.browser import Chromium

pytestmark = [pytest.mark.browser, pytest.mark.full_chromium]

COMMANDS = int(os.environ.get("PIPE_COMMANDS", "300"))
SEED = int(os.environ.get("PIPE_SEED", "0"))
BUFFERS = {"maxTotalBufferSize": 10_000_000, "maxResourceBufferSize": 5_000_000}
PAGE = "data:text/html,<title>Shop</title>"


@pytest.fixture
async def chromium() -> AsyncIterator[Chromium]:
    async with launch_chromium() as running:
        yield running


@pytest.fixture
def site() -> Iterator[str]:
    class Shop(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.end_headers()
            self.wfile.write(b"<title>Shop</title>")

        def log_message(self, *_: Any) -> None:
            """Say nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Shop) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()


async def attached(connection: CdpConnection, url: str = "about:blank") -> tuple[str, str]:
    """Open a page; return its id and the session that this connection has with it."""
    page = (await connection.call("Target.createTarget", {"url": url}))["targetId"]
    session = await connection.call("Target.attachToTarget", {"targetId": page, "flatten": True})
    return page, session["sessionId"]


async def test_no_process_of_chromium_listens_but_the_server_on_loopback(
    chromium: Chromium,
) -> None:
    assert chromium.pid is not None
    leader = psutil.Process(chromium.pid)
    listening = [
        each.laddr
        for process in (leader, *leader.children(recursive=True))
        for each in process.net_connections("inet")
        if each.status == psutil.CONN_LISTEN
    ]
    assert listening == []
    assert [
        (each.laddr.ip, each.laddr.port)
        for each in leader.parent().net_connections("inet")
        if each.status == psutil.CONN_LISTEN
    ] == [("127.0.0.1", urlsplit(chromium.cdp_url).port)]


@pytest.mark.parametrize(
    "path",
    ["/json/version", "/json/list", "/devtools/browser/all", "", f"/{'0' * 32}/json/version"],
)
async def test_who_does_not_know_the_secret_gets_nothing(chromium: Chromium, path: str) -> None:
    address = urlsplit(chromium.cdp_url)
    with pytest.raises(urllib.error.HTTPError, match="404"):
        await asyncio.to_thread(request, f"http://{address.netloc}{path}")
    with pytest.raises(InvalidStatus):
        async with connect(f"ws://{address.netloc}{path}", proxy=None):
            pytest.fail("it was let in")


async def test_a_page_that_knows_the_secret_gets_nothing(chromium: Chromium) -> None:
    with pytest.raises(InvalidStatus, match="403"):
        async with connect(chromium.ws_url, origin="http://shop.test", proxy=None):
            pytest.fail("it was let in")


async def test_a_path_that_there_is_not_is_not_found(chromium: Chromium) -> None:
    for path in ("/json/new", "/json/protocol", "/x"):
        with pytest.raises(urllib.error.HTTPError, match="404"):
            await asyncio.to_thread(request, f"{chromium.cdp_url}{path}")
    for path in ("/devtools/page/none", "/devtools"):
        with pytest.raises(InvalidStatus, match="404"):
            async with connect(f"ws{chromium.cdp_url[4:]}{path}", proxy=None):
                pytest.fail("it was let in")


async def test_silent_connections_keep_no_client_out(chromium: Chromium) -> None:
    client = await CdpConnection.open(chromium.ws_url)
    address = urlsplit(chromium.cdp_url)
    silent = [await asyncio.open_connection(address.hostname, address.port) for _ in range(300)]
    await asyncio.to_thread(request, f"{chromium.cdp_url}/json/version")
    await client.call("Target.getTargets")
    for _, each in silent:
        each.close()
    await client.close()


async def test_each_client_has_its_own_sessions_and_events(chromium: Chromium) -> None:
    first = await CdpConnection.open(chromium.ws_url)
    second = await CdpConnection.open(chromium.ws_url)
    heard: list[tuple[str, str | None]] = []
    for name, each in (("first", first), ("second", second)):
        each.on("Page.loadEventFired", lambda _, session, name=name: heard.append((name, session)))
        each.on("Target.targetCreated", lambda _, session, name=name: heard.append((name, session)))
    page, session = await attached(first)
    await first.call("Page.enable", session=session)
    with pytest.raises(CdpError, match="Session with given id not found"):
        await second.call("Runtime.evaluate", {"expression": "1"}, session)
    await first.call("Page.reload", session=session)
    await until(lambda: bool(heard))
    assert set(heard) == {("first", session)}
    heard.clear()
    await second.call("Target.setDiscoverTargets", {"discover": True})
    await until(lambda: bool(heard))
    assert set(heard) == {("second", None)}
    await first.close()
    left = (await second.call("Target.getTargets"))["targetInfos"]
    assert page in {each["targetId"] for each in left}  # a page outlives its client
    await second.close()


async def test_bodies_that_a_recorder_has_kept_outlive_another_client(
    chromium: Chromium, site: str
) -> None:
    recorder = await CdpConnection.open(chromium.ws_url)
    agent = await CdpConnection.open(chromium.ws_url)
    ended: list[str] = []
    recorder.on("Network.loadingFinished", lambda event, _: ended.append(event["requestId"]))
    page, own = await attached(recorder)
    await recorder.call("Network.enable", BUFFERS, own)
    await recorder.call("Network.configureDurableMessages", BUFFERS, own)
    order = {"targetId": page, "flatten": True}
    session = (await agent.call("Target.attachToTarget", order))["sessionId"]
    await agent.call("Page.navigate", {"url": site}, session)
    await until(lambda: bool(ended))
    await agent.call("Target.detachFromTarget", {"sessionId": session})
    await agent.close()
    body = await recorder.call("Network.getResponseBody", {"requestId": ended[0]}, own)
    assert body["body"] == "<title>Shop</title>"
    await recorder.close()


async def test_what_ends_with_its_client_ends_with_it(chromium: Chromium) -> None:
    first = await CdpConnection.open(chromium.ws_url)
    second = await CdpConnection.open(chromium.ws_url)
    made = await first.call("Target.createBrowserContext", {"disposeOnDetach": True})
    await first.call(
        "Target.createTarget", {"url": PAGE, "browserContextId": made["browserContextId"]}
    )

    async def contexts() -> list[str]:
        found = await second.call("Target.getTargets")
        return [each.get("browserContextId", "") for each in found["targetInfos"]]

    assert made["browserContextId"] in await contexts()
    await first.close()
    for _ in range(300):
        if made["browserContextId"] not in await contexts():
            break
        await asyncio.sleep(0.05)
    else:
        pytest.fail("its context is still there")
    await second.close()


async def test_a_pages_own_websocket_ends_with_the_page(chromium: Chromium) -> None:
    browser = await CdpConnection.open(chromium.ws_url)
    page, _ = await attached(browser)
    own = await CdpConnection.open(f"ws{chromium.cdp_url[4:]}/devtools/page/{page}")
    answer = await own.call("Runtime.evaluate", {"expression": "6 * 7"})
    assert answer["result"]["value"] == 42
    await browser.call("Target.closeTarget", {"targetId": page})
    await until(own._listener.done)
    await browser.call("Target.getTargets")
    await own.close()
    await browser.close()


@pytest.mark.parametrize(
    "said",
    ["", "[]", "{}", "null", "[" * 50_000, '{"id": "1", "method": "Target.getTargets"}', '{"id": true}',
     '{"id": 1.5}', '{"id": 1, "method": "Target.getTargets", "sessionId": {}}',
     '{"id": 1, "method": "Target.getTargets", "sessionId": null}', '{"id": 1, "sessionId": "0"}'],
)  # fmt: skip
async def test_nonsense_is_answered_with_an_error_and_harms_nothing(
    chromium: Chromium, said: str
) -> None:
    async with connect(chromium.ws_url, proxy=None) as client:
        await client.send(said)
        assert "error" in json.loads(await asyncio.wait_for(client.recv(), 30))
        await client.send('{"id": 7, "method": "Target.getTargets"}')
        assert json.loads(await asyncio.wait_for(client.recv(), 30))["id"] == 7


async def test_a_client_that_does_not_read_holds_up_no_other(chromium: Chromium) -> None:
    lazy = await CdpConnection.open(chromium.ws_url)
    _, session = await attached(lazy)
    lazy._listener.cancel()  # it reads no more
    text = {"expression": "'x'.repeat(2e7)", "returnByValue": True}
    for _ in range(5):
        message = {"id": 1, "method": "Runtime.evaluate", "params": text, "sessionId": session}
        lazy._writer.write(_frame(json.dumps(message)))
    other = await CdpConnection.open(chromium.ws_url)
    for _ in range(20):
        await other.call("Target.getTargets")
    lazy._writer.transport.abort()
    await other.call("Target.getTargets")
    await other.close()


def _frame(text: str) -> bytes:
    from bench_core.browser.frames import encode_frame

    return encode_frame(text.encode(), masked=True)


async def test_law_each_command_has_its_own_answer(chromium: Chromium) -> None:
    chance = random.Random(SEED)  # noqa: S311  # a draw of cases
    browsers = [await CdpConnection.open(chromium.ws_url) for _ in range(4)]
    sessions = [(each, (await attached(each))[1]) for each in browsers for _ in range(2)]

    async def ask(number: int) -> None:
        client, session = chance.choice(sessions)
        size = chance.choice([0, 1, 100, 70_000, 1_000_000])
        asked = {"expression": f"'{number}:' + 'ü'.repeat({size})", "returnByValue": True}
        answer = await client.call("Runtime.evaluate", asked, session, timeout_s=120)
        assert answer["result"]["value"] == f"{number}:{'ü' * size}"

    await asyncio.gather(*map(ask, range(COMMANDS)))
    for each in browsers:
        await each.close()


async def test_clients_are_cut_when_chromium_ends(chromium: Chromium) -> None:
    async with connect(chromium.ws_url, proxy=None) as client:
        await client.send('{"id": 1, "method": "Browser.close"}')
        await asyncio.wait_for(client.wait_closed(), 30)
    await chromium.wait_closed()


async def test_commands_under_way_fail_when_chromium_is_killed(chromium: Chromium) -> None:
    client = await CdpConnection.open(chromium.ws_url)
    _, session = await attached(client)
    never: dict[str, Any] = {"expression": "new Promise(() => 0)", "awaitPromise": True}
    waiting = asyncio.ensure_future(client.call("Runtime.evaluate", never, session, 60))
    await asyncio.sleep(0.2)
    chromium.kill()
    with pytest.raises(Exception, match="gone"):
        await asyncio.wait_for(waiting, 30)
    await client.close()
