"""The relay between agent and browser, before a stand-in that keeps what reaches it."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import random
import urllib.error
import urllib.request
from collections import Counter
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import pytest

from bench_core.browser import RuleBook, open_gateway, websocket_url
from bench_core.browser.frames import FrameError, read_frame
from bench_core.errors import BrowserError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable

    from bench_core.browser import Gateway

    Talk = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]

MESSAGES = 10_000
SEED = os.environ.get("GATEWAY_SEED", "0")
"""Which messages the law is tried on; the campaign asks for others."""

UPGRADE = (
    "GET {path} HTTP/1.1\r\nHost: {host}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
    "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n"
    "Sec-WebSocket-Extensions: permessage-deflate\r\nX-Own: kept\r\n\r\n"
)
SWITCHED = b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n"


def frame(
    payload: bytes, opcode: int = 1, *, final: bool = True, key: bytes | None = b"\1\2\3\4"
) -> bytes:
    """Write a frame as a client does, or as a server where there is no key."""
    masked = 0x80 if key is not None else 0
    size = len(payload)
    if size < 126:
        length = bytes([masked | size])
    elif size < 1 << 16:
        length = bytes([masked | 126]) + size.to_bytes(2, "big")
    else:
        length = bytes([masked | 127]) + size.to_bytes(8, "big")
    body = payload
    if key is not None:
        body = bytes(each ^ key[place % 4] for place, each in enumerate(payload))
    return bytes([(0x80 if final else 0) | opcode]) + length + (key or b"") + body


def command(method: str, **params: Any) -> bytes:
    return json.dumps({"id": 1, "method": method, "params": params}).encode()


class Browser:
    """Speaks DevTools' HTTP and lets `talk` have every websocket."""

    def __init__(self, talk: Talk | None = None, pages: tuple[str, ...] = ("A",)) -> None:
        self.heads: list[str] = []
        self.pages = list(pages)
        self.received = bytearray()
        self.cut = 0
        self._talk = talk or self._keep

    @asynccontextmanager
    async def serving(self, rules: RuleBook | None = None) -> AsyncIterator[Gateway]:
        """Serve behind a gateway that passes everything, or what `rules` let pass."""
        server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        try:
            async with open_gateway(f"http://127.0.0.1:{port}", rules or RuleBook(())) as gateway:
                yield gateway
        finally:
            server.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            head = (await reader.readuntil(b"\r\n\r\n")).decode()
            self.heads.append(head)
            if "Upgrade: websocket" in head:
                writer.write(SWITCHED)
                await self._talk(reader, writer)
            else:
                body = json.dumps(self._told(head)).encode()
                writer.write(b"HTTP/1.1 200 OK\r\nContent-Length:%d\r\n\r\n" % len(body) + body)
                await reader.read()  # as Chromium does, it leaves closing to the other side
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            self.cut += 1
            writer.close()

    def _told(self, head: str) -> Any:
        path = head.split(" ")[1] if " " in head else ""
        host = head.partition("Host: ")[2].partition("\r\n")[0]
        if path == "/json/list":
            return [{"id": each, "type": "page"} for each in self.pages]
        return {"path": path, "webSocketDebuggerUrl": f"ws://{host}/devtools/browser/1"}

    async def _keep(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while chunk := await reader.read(1 << 16):
            self.received += chunk


@asynccontextmanager
async def websocket(
    gateway: Gateway, path: str = "/devtools/browser/1"
) -> AsyncIterator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
    host = gateway.cdp_url.removeprefix("http://")
    name, port = host.split(":")
    reader, writer = await asyncio.open_connection(name, int(port))
    try:
        writer.write(UPGRADE.format(path=path, host=host).encode())
        assert await reader.readuntil(b"\r\n\r\n") == SWITCHED
        yield reader, writer
    finally:
        writer.close()


def request(url: str, method: str = "GET") -> None:
    asked = urllib.request.Request(url, method=method)  # noqa: S310  # loopback
    try:
        with urllib.request.urlopen(asked, timeout=30) as answer:  # noqa: S310  # same
            answer.read()
    except urllib.error.HTTPError as error:
        error.close()  # it is an answer, which holds its connection
        raise


async def until(holds: Callable[[], bool], seconds: float = 30) -> None:
    for _ in range(int(seconds / 0.01)):
        if holds():
            return
        await asyncio.sleep(0.01)
    raise AssertionError("it never came to that")


def drawn(chance: random.Random, *, masked: bool) -> tuple[bytes, str]:
    """Draw one message as DevTools has them, and its method: in parts now and then, with pings."""
    size = chance.choice([0, 1, 40, 125, 126, 200, 1000])
    if chance.random() < 0.02:
        size = chance.choice([5000, 65_535, 65_536, 1_000_000])
    method = chance.choice(["Page.navigate", "Runtime.evaluate", "Input.x", "é", ""])
    told = {"id": chance.randrange(1 << 31), "method": method, "params": {"x": "ü" * (size // 2)}}
    payload = json.dumps(told, ensure_ascii=chance.random() < 0.5).encode()
    if chance.random() < 0.1:
        payload, method = chance.randbytes(size), "(unreadable)"
    key = chance.randbytes(4) if size <= 1000 else bytes(4)  # zeros cost no time to apply
    cuts = sorted(chance.randrange(len(payload) + 1) for _ in range(chance.choice([0, 0, 0, 1, 4])))
    places = list(zip([0, *cuts], [*cuts, len(payload)], strict=True))
    wire = bytearray()
    for number, (start, end) in enumerate(places, 1):
        opcode, final = 1 if number == 1 else 0, number == len(places)
        part = payload[start:end]
        wire += frame(part, opcode, final=final, key=key if masked else None)
        if chance.random() < 0.05:
            wire += frame(chance.randbytes(5), 9, key=key if masked else None)
    return bytes(wire), method


async def send(writer: asyncio.StreamWriter, seed: str, whole: bytes) -> None:
    """Write bytes, cut where nothing begins or ends."""
    chance, place = random.Random(seed), 0  # noqa: S311  # reproducible, not secret
    while place < len(whole):
        size = chance.choice([1, 10, 1000, 100_000, 1_000_000])
        writer.write(whole[place : place + size])
        await writer.drain()
        place += size


@pytest.mark.slow
@pytest.mark.parametrize("connections", [1, 4], ids=["one-connection", "four-connections"])
async def test_law_every_message_passes_byte_for_byte_and_in_order(connections: int) -> None:
    chance = random.Random(f"{SEED} {connections}")  # noqa: S311  # reproducible, not secret
    count = MESSAGES // (2 * connections)
    answers = [
        b"".join(drawn(chance, masked=False)[0] for _ in range(count)) for _ in range(connections)
    ]
    told = [[drawn(chance, masked=True) for _ in range(count)] for _ in range(connections)]
    orders = [b"".join(wire for wire, _ in each) for each in told]
    heard: dict[int, bytes] = {}

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        number = int((await read_frame(reader, 10)).payload)
        writing = asyncio.ensure_future(send(writer, f"browser {number}", answers[number]))
        heard[number] = await reader.readexactly(len(orders[number]))
        await writing

    async def agent(gateway: Gateway, number: int) -> None:
        async with websocket(gateway) as (reader, writer):
            writer.write(frame(b"%d" % number))
            sending = asyncio.ensure_future(send(writer, f"agent {number}", orders[number]))
            assert await reader.readexactly(len(answers[number])) == answers[number]
            await sending

    async with Browser(talk).serving() as gateway:
        await asyncio.gather(*(agent(gateway, number) for number in range(connections)))
        await until(lambda: len(heard) == connections)
    assert all(heard[number] == orders[number] for number in range(connections))
    methods = Counter(method for each in told for _, method in each)
    assert gateway.log.counts - Counter({"(unreadable)": connections}) == methods
    assert gateway.fault is None


@pytest.mark.slow
async def test_one_message_of_a_hundred_megabytes_passes() -> None:
    screenshot = b"x" * 100_000_000

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        asked = await read_frame(reader, 1 << 30)
        writer.write(frame(asked.payload, key=None))
        await reader.read()

    async with Browser(talk).serving() as gateway, websocket(gateway) as (reader, writer):
        writer.write(b"\x81\xff" + len(screenshot).to_bytes(8, "big") + bytes(4) + screenshot)
        answer = await read_frame(reader, 1 << 30)
    assert answer.payload == screenshot


@pytest.mark.parametrize(
    "bad",
    [b"\x81\xff" + (1 << 40).to_bytes(8, "big") + bytes(4), b"\xc1\x80" + bytes(4)],
    ids=["terabyte", "unknown-extension"],
)
async def test_frames_that_cannot_be_looked_at_reach_nobody(bad: bytes) -> None:
    browser = Browser()
    async with browser.serving() as gateway, websocket(gateway) as (reader, writer):
        writer.write(bad)
        assert await reader.read() == b""
    assert browser.received == b""
    assert gateway.fault is None


async def test_addresses_lead_through_the_gateway() -> None:
    browser = Browser()
    async with browser.serving() as gateway:
        host = gateway.cdp_url.removeprefix("http://")
        assert await websocket_url(gateway.cdp_url) == f"ws://{host}/devtools/browser/1"
    assert gateway.cdp_url not in browser.heads[0].split(" ")[1]


@pytest.mark.parametrize("method", ["GET", "PUT", "HEAD"])
async def test_requests_pass_with_their_method(method: str) -> None:
    browser = Browser()
    async with browser.serving() as gateway:
        await asyncio.to_thread(request, f"{gateway.cdp_url}/json/new?http://x/", method)
    assert browser.heads[0].startswith(f"{method} /json/new?http://x/ HTTP/1.1\r\n")
    assert [str(each) for each in gateway.log.recent] == ["/json/new http://x/"]


async def test_compression_is_not_offered_and_other_headers_stay() -> None:
    browser = Browser()
    async with browser.serving() as gateway, websocket(gateway):
        await until(lambda: bool(browser.heads))
    assert "Sec-WebSocket-Extensions" not in browser.heads[0]
    assert "X-Own: kept" in browser.heads[0]


@pytest.mark.parametrize(
    "said", [b"", b"\0\xff" * 40, b"GET\r\n\r\n", b"\r\n\r\n", b"x" * 3_000_000],
    ids=["nothing", "binary", "no-path", "empty-head", "endless-head"],
)  # fmt: skip
async def test_garbage_ends_one_connection_and_nothing_else(said: bytes) -> None:
    async with Browser().serving() as gateway:
        name, port = gateway.cdp_url.removeprefix("http://").split(":")
        reader, writer = await asyncio.open_connection(name, int(port))
        writer.write(said)
        with contextlib.suppress(OSError):  # the gateway may have ended it already
            writer.write_eof()
        writer.close()
        del reader
        assert await websocket_url(gateway.cdp_url)
    assert gateway.fault is None


async def test_browser_that_is_gone_is_told_as_gone() -> None:
    browser = Browser()
    async with browser.serving() as gateway:
        gateway._chromium = ("127.0.0.1", 9)  # nobody listens there
        with pytest.raises(BrowserError, match="502"):
            await websocket_url(gateway.cdp_url)


async def test_what_follows_a_close_frame_is_no_message() -> None:
    browser = Browser()
    begun = frame(b'{"method": "Browser', final=False) + frame(b"", 9)
    async with browser.serving() as gateway, websocket(gateway) as (_, writer):
        writer.write(begun + frame(b"\x03\xe8", 8) + frame(b'.close"}', 0) + frame(b"late"))
        await until(lambda: len(browser.received) > len(begun))
        writer.write_eof()
        await until(lambda: browser.cut == 1)
    assert bytes(browser.received) == begun + frame(b"\x03\xe8", 8)
    assert gateway.log.counts == {}


async def test_when_the_browser_ends_the_agent_is_cut() -> None:
    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(frame(b"last words", key=None))

    async with Browser(talk).serving() as gateway, websocket(gateway) as (reader, _):
        assert (await read_frame(reader, 100)).payload == b"last words"
        assert await reader.read() == b""


async def test_when_the_agent_ends_the_browser_hears_all_it_said() -> None:
    browser = Browser()
    said = [frame(command("Input.insertText", text=str(number))) for number in range(2000)]
    async with browser.serving() as gateway:
        async with websocket(gateway) as (_, writer):
            writer.write(b"".join(said))
        await until(lambda: len(browser.received) == len(b"".join(said)))
        assert bytes(browser.received) == b"".join(said)
        await until(lambda: browser.cut == 1)


async def test_closing_cuts_every_connection_and_takes_no_more() -> None:
    browser = Browser()
    async with (
        browser.serving() as gateway,
        websocket(gateway) as (first, writer),
        websocket(gateway) as (second, _),
    ):
        writer.write(frame(command("Page.enable")))
        await until(lambda: bool(browser.received))
        await gateway.close()
        for reader in (first, second):
            with pytest.raises((ConnectionError, asyncio.IncompleteReadError)):
                await reader.readexactly(1)
        with pytest.raises(BrowserError):
            await websocket_url(gateway.cdp_url)
        await until(lambda: browser.cut == 2)
        await gateway.close()  # once more does nothing


ENDINGS: dict[str, tuple[list[bytes], tuple[str, ...], str | None]] = {
    "close": ([command("Browser.close")], ("A",), "Browser.close"),
    "crash": ([command("Browser.crash")], ("A",), "Browser.crash"),
    "graphics": ([command("Browser.crashGpuProcess")], ("A",), "Browser.crashGpuProcess"),
    "quit": (
        [command("Page.navigate", url="chrome://quit")], ("A",), "Page.navigate chrome://quit",
    ),
    "last-tab": ([command("Target.closeTarget", targetId="A")], ("A",), "Target.closeTarget A"),
    "one-of-two-tabs": ([command("Target.closeTarget", targetId="A")], ("A", "B"), None),
    "tab-that-is-not": ([command("Target.closeTarget", targetId="C")], ("A",), None),
    "both-tabs": (
        [command("Target.closeTarget", targetId=each) for each in "AB"],
        ("A", "B"),
        "Target.closeTarget B",
    ),
    "tab-of-a-session": ([command("Page.close")], ("A",), "Page.close"),
    "new-tab-after": (
        [command("Target.closeTarget", targetId="A"), command("Target.createTarget", url="x")],
        ("A",),
        None,
    ),
    "close-then-new-tab": (
        [command("Browser.close"), command("Target.createTarget", url="x")], ("A",), "Browser.close",
    ),
    "tab-crash": ([command("Page.crash")], ("A",), None),
    "ordinary": ([command("Page.navigate", url="http://x/chrome://quit")], ("A",), None),
    "nonsense": ([b"Browser.close", b"[]", b"{}", b'{"method": 1}', b"[" * 9999], ("A",), None),
}  # fmt: skip


@pytest.mark.parametrize(("said", "pages", "ending"), ENDINGS.values(), ids=ENDINGS.keys())
async def test_what_ends_a_browser_is_evidence(
    said: list[bytes], pages: tuple[str, ...], ending: str | None
) -> None:
    browser = Browser(pages=pages)
    async with browser.serving() as gateway, websocket(gateway) as (_, writer):
        wire = b"".join(map(frame, said))
        writer.write(wire)
        await until(lambda: bytes(browser.received) == wire)
    assert (str(gateway.log.ending) if gateway.log.ending else None) == ending


async def test_tab_closed_on_its_own_connection_or_by_request_is_evidence() -> None:
    async with (
        Browser().serving() as gateway,
        websocket(gateway, "/devtools/page/A") as (_, writer),
    ):
        writer.write(frame(command("Page.close")))
        await until(lambda: gateway.log.ending is not None)
    assert str(gateway.log.ending) == "Page.close A"
    async with Browser().serving() as gateway:
        await asyncio.to_thread(request, f"{gateway.cdp_url}/json/close/A")
    assert str(gateway.log.ending) == "/json/close A"


async def test_log_of_commands_stays_small() -> None:
    browser = Browser()
    async with browser.serving() as gateway, websocket(gateway) as (_, writer):
        for number in range(3000):
            writer.write(frame(command(f"Own.method{number}" + "x" * 500, url="y" * 5000)))
            await writer.drain()
        await until(lambda: sum(gateway.log.counts.values()) == 3000)
    assert len(gateway.log.counts) <= 501
    assert len(gateway.log.recent) == 1000
    assert max(len(name) for name in gateway.log.counts) <= 200


async def test_frame_that_is_cut_short_or_too_large_is_refused() -> None:
    reader = asyncio.StreamReader()
    reader.feed_data(frame(b"hello")[:-1])
    reader.feed_eof()
    with pytest.raises(EOFError):
        await read_frame(reader, 100)
    reader = asyncio.StreamReader()
    reader.feed_data(frame(b"hello"))
    with pytest.raises(FrameError):
        await read_frame(reader, 4)


def judged(chance: random.Random, number: int) -> tuple[bytes, str]:
    """Draw one message that names its number, and what the rules for agents make of it."""
    mark = {"mark": f"<{number}>", "text": "ü" * chance.choice([0, 3, 200, 70_000])}
    told, does = chance.choice([
        ({"method": "Runtime.evaluate", "params": mark}, "pass"),
        ({"method": "Page.navigate", "params": {**mark, "url": "http://shop.test/file:///x"}}, "pass"),
        ({"method": "Target.createTarget", "params": {**mark, "url": "about:blank"}}, "pass"),
        ({"method": "Fetch.continueRequest", "params": {**mark, "requestId": "1"}}, "pass"),
        ({"method": "Page.navigate", "params": {**mark, "url": "fI\nle:///etc/passwd"}}, "refuse"),
        ({"method": "Target.createTarget", "params": {**mark, "url": "chrome://version"}}, "refuse"),
        ({"method": "DOM.setFileInputFiles", "params": {**mark, "files": ["/x"]}}, "refuse"),
        ({"method": "Extensions.loadUnpacked", "params": mark}, "refuse"),
        ({"method": "Target.sendMessageToTarget", "params": mark}, "refuse"),
        ({"method": 7, "params": mark}, "refuse"),
        ({"method": "Fetch.fulfillRequest", "params": {**mark, "requestId": "1"}}, "rewrite"),
    ])  # fmt: skip
    payload = json.dumps({"id": number, **told}, ensure_ascii=chance.random() < 0.5)
    if chance.random() < 0.05:  # which of two keys counts is the reader's choice
        payload, does = payload[:-1] + ', "method": "Runtime.enable"}', "refuse"
    return payload.encode(), does


def in_parts(chance: random.Random, payload: bytes) -> bytes:
    cut = chance.randrange(len(payload) + 1)
    if chance.random() < 0.7:
        return frame(payload, key=bytes(4))
    return frame(payload[:cut], final=False, key=bytes(4)) + frame(payload[cut:], 0, key=bytes(4))


@pytest.mark.slow
async def test_law_what_is_allowed_passes_in_order_and_what_is_refused_never_does() -> None:
    chance = random.Random(f"{SEED} rules")  # noqa: S311  # reproducible, not secret
    drawn_ones = [judged(chance, number) for number in range(MESSAGES // 10)]
    wires = [(in_parts(chance, payload), payload, does) for payload, does in drawn_ones]
    allowed = [wire for wire, _, does in wires if does == "pass"]
    heard: list[bytes] = []

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        raw = b""
        while True:
            part = await read_frame(reader, 1 << 30)
            raw += part.raw
            if part.final:
                heard.append(raw)
                raw = b""

    async with Browser(talk).serving(RuleBook()) as gateway, websocket(gateway) as (reader, writer):
        answers = asyncio.ensure_future(reader.read())
        await send(writer, "rules", b"".join(wire for wire, _, _ in wires))
        passed = sum(does != "refuse" for _, _, does in wires)
        await until(lambda: len(heard) >= passed, 300)
        answers.cancel()
    rewritten = sum(does == "rewrite" for _, _, does in wires)
    assert len(heard) == passed
    known = set(allowed)
    assert [each for each in heard if each in known] == allowed
    others = [json.loads((await _payload(each)).decode()) for each in heard if each not in known]
    assert len(others) == rewritten
    assert {each["method"] for each in others} == {"Fetch.continueRequest"}
    assert gateway.fault is None


async def _payload(raw: bytes) -> bytes:
    reader = asyncio.StreamReader()
    reader.feed_data(raw)
    reader.feed_eof()
    return (await read_frame(reader, 1 << 30)).payload


@pytest.mark.parametrize(
    ("path", "codes"),
    [("/setup/screenshot", []), ("/", []), ("/json/new?http://x/", ["refused_command"]),
     ("/json/new?file:///etc/hostname", ["local_page"]), ("/json/protocol", ["refused_command"])],
)  # fmt: skip
async def test_only_what_devtools_would_answer_is_recorded_as_the_agents(
    path: str, codes: list[str]
) -> None:
    found: list[str] = []
    browser = Browser()
    async with browser.serving(RuleBook()) as gateway:
        gateway._found = lambda code, _blocked, _command: found.append(str(code))
        with pytest.raises(urllib.error.HTTPError, match="403"):
            await asyncio.to_thread(request, f"{gateway.cdp_url}{path}")
    assert (browser.heads, found) == ([], codes)
