"""What the gateway keeps of what an agent sent."""

from __future__ import annotations

import asyncio
import urllib.error
import urllib.request

import pytest
from gateway_browser import Browser, command, frame, request, until, websocket

from bench_core.browser import RuleBook

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
        for number in range(1200):
            writer.write(frame(command(f"Own.method{number}" + "x" * 500, url="y" * 5000)))
            await writer.drain()
        await until(lambda: sum(gateway.log.counts.values()) == 1200)
    assert len(gateway.log.counts) <= 501
    assert len(gateway.log.recent) == 1000
    assert max(len(name) for name in gateway.log.counts) <= 200


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
