"""The relay between agent and browser, before a stand-in that keeps what reaches it."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import random
import subprocess
import sys
import urllib.error
from collections import Counter
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import pytest
from gateway_browser import Browser, command, frame, request, until, websocket

from bench_core.browser import RuleBook, websocket_url
from bench_core.browser.frames import FrameError, FrameReader
from bench_core.errors import BrowserError

if TYPE_CHECKING:
    from bench_core.browser import Gateway


MESSAGES = int(os.environ.get("GATEWAY_MESSAGES", "2000"))  # the campaign draws more
SEED = os.environ.get("GATEWAY_SEED", "0")
"""Which messages the law is tried on; the campaign asks for others."""


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
        number = int((await reader.readexactly(len(frame(b"0"))))[-1:])
        writing = asyncio.ensure_future(send(writer, f"browser {number}", answers[number]))
        heard[number] = await reader.readexactly(len(orders[number]))
        await writing

    async def agent(gateway: Gateway, number: int) -> None:
        async with websocket(gateway) as (reader, writer):
            writer.write(frame(b"%d" % number, key=bytes(4)))
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
        asked = await FrameReader(reader).read(1 << 30)
        writer.write(frame(asked.payload, key=None))
        await reader.read()

    async with Browser(talk).serving() as gateway, websocket(gateway) as (reader, writer):
        writer.write(b"\x81\xff" + len(screenshot).to_bytes(8, "big") + bytes(4) + screenshot)
        answer = await FrameReader(reader).read(1 << 30)
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
    assert browser.heads[0].startswith("GET /json/version HTTP/1.1\r\n")


@pytest.mark.parametrize(
    "path", ["/json/version", "/devtools/browser/1", f"/{'0' * 32}/json/version", ""]
)
async def test_who_does_not_know_the_secret_path_reaches_no_browser(path: str) -> None:
    browser = Browser()
    async with browser.serving(RuleBook()) as gateway:
        address = urlsplit(gateway.cdp_url)
        with pytest.raises(urllib.error.HTTPError, match="403"):
            await asyncio.to_thread(request, f"http://{address.netloc}{path}")
    assert (browser.heads, gateway.fault) == ([], None)


@pytest.mark.parametrize("method", ["GET", "PUT", "HEAD"])
async def test_requests_pass_with_their_method(method: str) -> None:
    browser = Browser()
    async with browser.serving() as gateway:
        await asyncio.to_thread(request, f"{gateway.cdp_url}/json/new?http://x/", method)
    assert browser.heads[0].startswith(f"{method} /json/new?http://x/ HTTP/1.1\r\n")
    assert [str(each) for each in gateway.log.recent] == ["/json/new http://x/"]


async def test_silent_connections_of_others_keep_no_agent_out() -> None:
    async with Browser().serving() as gateway, websocket(gateway) as (_, writer):
        address = urlsplit(gateway.cdp_url)
        silent = [await asyncio.open_connection(address.hostname, address.port) for _ in range(300)]
        assert await websocket_url(gateway.cdp_url)
        writer.write(frame(command("Page.enable")))
        await until(lambda: gateway.log.counts["Page.enable"] == 1)  # it is still connected
        for _, each in silent:
            each.close()
    assert gateway.fault is None


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
        address = urlsplit(gateway.cdp_url)
        reader, writer = await asyncio.open_connection(address.hostname, address.port)
        writer.write(said)
        with contextlib.suppress(OSError):  # the gateway may have ended it already
            writer.write_eof()
        writer.close()
        del reader
        assert await websocket_url(gateway.cdp_url)
    assert gateway.fault is None


async def test_agent_that_hangs_up_amid_answers_is_no_fault_of_the_gateway() -> None:
    """Also where the gateway waits meanwhile for a browser that takes nothing more."""
    ended = 0

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal ended
        try:
            while True:
                writer.write(frame(b"." * 5000, key=None))
                await writer.drain()
                await asyncio.sleep(0.001)
        finally:
            ended += 1

    said = frame(b"x" * 100_000, key=bytes(4))
    async with Browser(talk).serving() as gateway:
        for size in range(100):  # with some of them all has been read and not all been passed on
            async with websocket(gateway) as (reader, writer):
                await reader.readexactly(1)
                writer.write(said * size)
                with contextlib.suppress(asyncio.TimeoutError):
                    await asyncio.wait_for(writer.drain(), 0.05)
                await asyncio.sleep(0.02)  # in which the gateway reads it
                writer.transport.abort()
        assert await websocket_url(gateway.cdp_url)
    await until(lambda: ended == 100)
    assert not gateway.hung_up  # that is said of the browser


def test_gateway_does_without_uvloop() -> None:
    chosen = "not law and not megabytes and not uvloop"
    program = "import sys; sys.modules['uvloop'] = None; import pytest; sys.exit(pytest.main(sys.argv[1:]))"
    command = [
        sys.executable,
        "-c",
        program,
        "-q",
        "-p",
        "no:cacheprovider",
        "-k",
        chosen,
        __file__,
    ]
    done = subprocess.run(command, capture_output=True, check=False, text=True)
    assert done.returncode == 0, done.stdout


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
        assert (await FrameReader(reader).read(100)).payload == b"last words"
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


async def test_frame_that_is_cut_short_or_too_large_is_refused() -> None:
    reader = asyncio.StreamReader()
    reader.feed_data(frame(b"hello")[:-1])
    reader.feed_eof()
    with pytest.raises(EOFError):
        await FrameReader(reader).read(100)
    reader = asyncio.StreamReader()
    reader.feed_data(frame(b"hello"))
    with pytest.raises(FrameError):
        await FrameReader(reader).read(4)


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
        raw, frames = b"", FrameReader(reader)
        while True:
            part = await frames.read(1 << 30)
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
    return (await FrameReader(reader).read(1 << 30)).payload
