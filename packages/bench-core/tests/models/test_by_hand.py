"""A person in the place of a model: the page, and what its server accepts."""

from __future__ import annotations

import asyncio
import json
import urllib.error
import urllib.request
from typing import TYPE_CHECKING, Any

import pytest

from bench_core.models import Message, ModelRequest, TextPart, Tool, open_model
from bench_core.models.by_hand import DESK_VARIABLE
from bench_core.models.by_hand.desk import desk_url
from bench_core.models.records import ImagePart

if TYPE_CHECKING:
    from collections.abc import Iterator

CLICK = Tool(
    name="click",
    description="Click an element.",
    parameters={
        "type": "object",
        "properties": {"element": {"type": "string"}, "count": {"type": "integer"}},
        "required": ["element"],
    },
)
DONE = Tool(name="done", parameters={"type": "object", "properties": {"answer": {}}})
PIXEL = ImagePart.from_bytes(
    bytes.fromhex(
        "89504e470d0a1a0a0000000d4948445200000001000000010802000000907753de0000000c49444154"
        "08d763f8cfc000000301010018dd8db00000000049454e44ae426082"
    )
)
REQUEST = ModelRequest(
    messages=(Message.user(TextPart(text="Task: <b>press</b> 7"), PIXEL),),
    system="You operate a computer.",
    tools=(CLICK, DONE),
)


@pytest.fixture
def desk(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    monkeypatch.delenv(DESK_VARIABLE, raising=False)
    url = desk_url()
    yield url
    monkeypatch.delenv(DESK_VARIABLE, raising=False)


async def fetch(url: str, body: Any = None) -> Any:
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(url, data=data)  # noqa: S310  # the server of this test

    def ask() -> Any:
        try:
            with urllib.request.urlopen(request, timeout=30) as answer:  # noqa: S310  # same
                return json.load(answer)
        except urllib.error.HTTPError as error:
            error.close()
            raise

    return await asyncio.to_thread(ask)


async def open_requests(desk: str, number: int) -> list[dict[str, Any]]:
    for _ in range(200):
        waiting = [each for each in await fetch(desk + "list") if each["waits"]]
        if len(waiting) == number:
            return waiting
        await asyncio.sleep(0.05)
    raise AssertionError(f"{number} requests never waited")


async def test_a_person_sees_the_request_and_answers_in_the_model_s_place(desk: str) -> None:
    async with open_model("by-hand") as model:
        asked = asyncio.create_task(model.complete(REQUEST))
        ((waits),) = await open_requests(desk, 1)
        key = waits["conversation"]
        await fetch(desk + "take", {"conversation": key, "person": "Ann"})
        shown = await fetch(f"{desk}request/{key}/0")
        assert shown["request"]["system"] == "You operate a computer."
        text, picture = shown["request"]["messages"][0]["parts"]
        assert text["text"] == "Task: <b>press</b> 7"
        assert picture == {"type": "image", "picture": PIXEL.sha256}
        call = {"name": "click", "arguments": {"element": "7"}}
        reply = {
            "conversation": key,
            "turn": shown["turn"],
            "text": "7 it is",
            "tool_calls": [call],
        }
        await fetch(desk + "reply", reply)
        got = await asked
    assert (got.text, got.tool_calls[0].name, got.tool_calls[0].arguments) == (
        "7 it is", "click", {"element": "7"},
    )  # fmt: skip
    assert (got.provider, got.model, got.model_reported, got.cost_usd) == (
        "by-hand", "human", "human Ann", 0.0,
    )  # fmt: skip


async def test_what_one_person_has_taken_nobody_else_takes(desk: str) -> None:
    async with open_model("by-hand") as model:
        asked = asyncio.create_task(model.complete(REQUEST))
        ((waits),) = await open_requests(desk, 1)
        await fetch(desk + "take", {"conversation": waits["conversation"], "person": "Ann"})
        with pytest.raises(urllib.error.HTTPError, match="409"):
            await fetch(desk + "take", {"conversation": waits["conversation"], "person": "Bo"})
        asked.cancel()


async def test_a_request_that_was_given_up_is_offered_to_nobody(desk: str) -> None:
    async with open_model("by-hand") as model:
        asked = asyncio.create_task(model.complete(REQUEST))
        ((waits),) = await open_requests(desk, 1)
        asked.cancel()
        await open_requests(desk, 0)
        late = {"conversation": waits["conversation"], "turn": 1, "text": "too late"}
        with pytest.raises(urllib.error.HTTPError, match="409"):
            await fetch(desk + "reply", late)


@pytest.mark.parametrize(
    "reply",
    [
        {},
        {"text": "   "},
        {"tool_calls": [{}]},
        {"tool_calls": [{"name": "click", "arguments": "7"}]},
        {"tool_calls": 7},
        {"text": "x", "turn": "first"},
    ],
)
async def test_a_reply_that_says_nothing_or_makes_no_sense_is_refused(
    desk: str, reply: dict[str, Any]
) -> None:
    async with open_model("by-hand") as model:
        asked = asyncio.create_task(model.complete(REQUEST))
        ((waits),) = await open_requests(desk, 1)
        with pytest.raises(urllib.error.HTTPError, match="400"):
            await fetch(desk + "reply", {"conversation": waits["conversation"], "turn": 1, **reply})
        assert not asked.done()
        asked.cancel()


@pytest.mark.parametrize("path", ["list", "", "page.js", "request/x/0", "ask"])
async def test_without_the_token_nothing_is_shown(desk: str, path: str) -> None:
    elsewhere = desk.rstrip("/").rpartition("/")[0] + "/not-the-token/" + path
    with pytest.raises(urllib.error.HTTPError, match="404"):
        await fetch(elsewhere)


@pytest.mark.browser
async def test_a_person_answers_by_keyboard_alone(desk: str) -> None:
    async_api = pytest.importorskip("playwright.async_api")
    from bench_core.browser import find_chromium  # beside Playwright

    async with open_model("by-hand") as model, async_api.async_playwright() as playwright:
        asked = asyncio.create_task(model.complete(REQUEST))
        browser = await playwright.chromium.launch(
            executable_path=str(find_chromium()), args=["--no-sandbox"]
        )
        page = await browser.new_page()
        problems: list[str] = []
        page.on("pageerror", lambda error: problems.append(str(error)))
        page.on(
            "console", lambda line: problems.append(line.text) if line.type == "error" else None
        )
        await page.goto(desk)
        await page.locator("#conversations button").wait_for()
        keys = page.keyboard
        for press in ("Tab", "A", "n", "n", "Tab", "Enter"):
            await keys.press(press)
        await page.locator("#request .turn").wait_for()
        seen = await page.locator("#request").inner_text()
        assert "Task: <b>press</b> 7" in seen
        assert "You operate a computer." in seen
        assert await page.locator("#request b").count() == 0
        assert await page.evaluate("document.activeElement.id") == "tool"
        for press in ("Tab", "7", "Tab", "2", "Control+Enter"):
            await keys.press(press)
        reply = await asyncio.wait_for(asked, 30)
        await browser.close()
    assert (reply.tool_calls[0].arguments, reply.model_reported) == (
        {"element": "7", "count": 2}, "human Ann",
    )  # fmt: skip
    assert problems == []
