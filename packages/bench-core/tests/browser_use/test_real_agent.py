"""The tower's parts together: a real Agent in a real Chromium on a real page."""

from __future__ import annotations

import asyncio
import gc
import logging
import threading
import weakref
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any

import pytest
from browser_use import Agent, BrowserProfile, BrowserSession
from gateway_browser import until
from pydantic import BaseModel

from bench_core.browser import launch_chromium, open_gateway, websocket_url
from bench_core.browser_use import ScriptedChat, fan_out, release_session, without_signal_handlers
from bench_core.browser_use.scripted_chat import answer, click, fill, go

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator
    from pathlib import Path

pytestmark = pytest.mark.browser

PAGE = """<!doctype html><title>Form</title>
<form action="/done"><input name="word"><button>Send</button></form>
<p id="path"></p><script>path.textContent = location.pathname + location.search</script>"""


class Result(BaseModel):
    heading: str


class _Page(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.end_headers()
        self.wfile.write(PAGE.encode())

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture
def page_url() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), _Page) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()
        thread.join()


@pytest.fixture(params=["gateway", "direct"])
async def session(tmp_path: Path, request: pytest.FixtureRequest) -> AsyncIterator[Any]:
    async with launch_chromium() as chromium, open_gateway(chromium.cdp_url) as gateway:
        given = gateway if request.param == "gateway" else chromium
        with fan_out(), without_signal_handlers():
            session = await _new_session(given.cdp_url, tmp_path)
            yield session
            await release_session(session)


async def _new_session(cdp_url: str, folder: Path) -> Any:
    profile = BrowserProfile(
        cdp_url=await websocket_url(cdp_url),
        keep_alive=True,
        downloads_path=folder / "downloads",
        user_data_dir=folder / "profile",
    )
    return BrowserSession(browser_profile=profile)


async def _play(script: Any, session: Any) -> Any:
    chat = ScriptedChat(script)
    chat.attach(session)
    agent: Any = Agent(
        task="play",
        llm=chat,
        browser_session=session,
        output_model_schema=Result,
        use_judge=False,
    )
    return await agent.run(max_steps=8)


async def test_nothing_of_a_released_session_goes_on_or_stays_in_memory(
    page_url: str, tmp_path: Path
) -> None:
    def script() -> Any:
        yield go(page_url)
        yield answer({"heading": "seen"})

    async with launch_chromium() as chromium:
        before = asyncio.all_tasks()
        with fan_out(), without_signal_handlers():
            session = await _new_session(chromium.cdp_url, tmp_path)
            await _play(script(), session)
            known = weakref.ref(session)
            await release_session(session)
        del session
        await until(lambda: not asyncio.all_tasks() - before)
        gc.collect()
        assert known() is None


async def test_a_script_fills_a_form_and_reads_the_page(page_url: str, session: Any) -> None:
    def script() -> Any:
        yield go(page_url)
        page = yield (fill("hello", name="word"), click("Send"))
        yield answer({"heading": page.text.split()[-1]})

    history = await _play(script(), session)

    assert history.structured_output == Result(heading="/done?word=hello")
    assert history.usage.total_tokens == 0


async def test_no_tab_waits_in_vain_for_its_page_to_be_ready(
    page_url: str, session: Any, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING, "browser_use")
    await session.start()
    first = session.agent_focus_target_id
    await session.navigate_to(page_url, new_tab=True)
    await session._navigate_and_wait(f"{page_url}again", first)

    assert [each for each in caplog.messages if "readiness" in each or "lifecycle" in each] == []
