"""A Chromium from which files are hidden cannot show them, by whatever command it is asked."""

from __future__ import annotations

import asyncio
import json
import urllib.request
from typing import TYPE_CHECKING

import pytest

from bench_core.browser import CdpConnection, ChromiumOptions, launch_chromium, websocket_url
from bench_core.sealing.machine import how_to_seal

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = [
    pytest.mark.browser,
    pytest.mark.full_chromium,
    pytest.mark.skipif(how_to_seal().way is None, reason=f"cannot: {how_to_seal().reason}"),
]


@pytest.fixture
def answers(tmp_path: Path) -> Path:
    folder = tmp_path / "run"
    folder.mkdir()
    (folder / "page.html").write_text("<title>the answer</title>", encoding="utf-8")
    (tmp_path / "open.html").write_text("<title>open</title>", encoding="utf-8")
    return folder


async def title_of(cdp_url: str, file: Path, rounds: int = 600) -> str:
    """Open a file in a new tab past all that watches, and return the title of its page."""
    connection = await CdpConnection.open(await websocket_url(cdp_url))
    tab = (await connection.call("Target.createTarget", {"url": file.as_uri()}))["targetId"]
    await connection.close()
    found = ""
    for _ in range(rounds):
        with await asyncio.to_thread(urllib.request.urlopen, f"{cdp_url}/json/list") as answer:
            found = next(each["title"] for each in json.load(answer) if each["id"] == tab)
        # a page that is not there, or not yet, has its address or name as its title
        if found and "/" not in found and not found.endswith(".html"):
            break
        await asyncio.sleep(0.05)
    return found


async def test_hidden_files_cannot_be_opened_and_others_can(answers: Path) -> None:
    async with launch_chromium(ChromiumOptions(hidden=(answers,))) as chromium:
        assert chromium.sealed == how_to_seal().way
        assert await title_of(chromium.cdp_url, answers.parent / "open.html") == "open"
        assert "the answer" not in await title_of(
            chromium.cdp_url, answers / "page.html", rounds=60
        )


async def test_the_same_files_can_be_opened_where_none_are_hidden(answers: Path) -> None:
    async with launch_chromium(ChromiumOptions()) as chromium:
        assert chromium.sealed is None
        assert await title_of(chromium.cdp_url, answers / "page.html") == "the answer"
