"""How long and how often the capture tries, by a clock whose pauses take no real time."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest
from playwright.async_api import Error

from bench_core.scheduling import Backoff
from multireal_harness.definitions import AppSite
from multireal_harness.states.capture import CaptureSettings, capture_states
from multireal_harness.world.faults import ODD_JSON

if TYPE_CHECKING:
    from conftest import PausesAlone

MAIL = AppSite(id="mail", url="http://mail.test")


class Pages:
    """A browser context whose pages answer in turn with a status, a text, or an error."""

    def __init__(self, *answers: int | str | Error) -> None:
        self._answers = list(answers)
        self.asked = 0
        self.alive = True
        self.browser = SimpleNamespace(is_connected=lambda: self.alive)

    async def new_page(self) -> Pages:
        return self

    async def add_init_script(self, script: str) -> None:
        del script

    async def goto(self, url: str, **options: Any) -> Any:
        self.asked += 1
        answer = self._answers.pop(0) if len(self._answers) > 1 else self._answers[0]
        if isinstance(answer, Error):
            raise answer
        self._text = answer if isinstance(answer, str) else ""
        return SimpleNamespace(status=answer if isinstance(answer, int) else 200)

    async def evaluate(self, script: str, arguments: Any) -> str:
        return self._text


def settings(clock: PausesAlone) -> CaptureSettings:
    pauses = Backoff(first_s=0.5, longest_s=15, jitter=0)
    return CaptureSettings(backoff=pauses, clock=clock, sleep=clock.sleep)


async def test_app_that_answers_503_for_a_minute_still_gives_its_state(
    pauses: PausesAlone,
) -> None:
    pages = Pages(
        *[503] * 5, Error("net::ERR_CONNECTION_REFUSED"), "not yet", "[]", '{"finalstate": 1}'
    )
    states, (capture,) = await capture_states(pages, [MAIL], settings(pauses))
    assert states == {"mail": {"finalstate": 1}}
    assert (capture.tries, capture.error) == (9, None)
    assert pauses.pauses == [0.5, 1, 2, 4, 8, 15, 15, 15]


async def test_app_without_a_state_is_given_up_after_ninety_seconds(pauses: PausesAlone) -> None:
    pages = Pages(503)
    states, (capture,) = await capture_states(pages, [MAIL], settings(pauses))
    assert states == {}
    assert (capture.tries, capture.error) == (10, "/finish answers with status 503")
    assert 75 < sum(pauses.pauses) < 90


async def test_browser_that_is_gone_is_not_asked_again(pauses: PausesAlone) -> None:
    pages = Pages(Error("Target page, context or browser has been closed"))
    pages.alive = False
    _, (capture,) = await capture_states(pages, [MAIL], settings(pauses))
    assert (capture.tries, pauses.pauses) == (1, [])


@pytest.mark.parametrize(
    "text", ODD_JSON, ids=["list", "text", "null", "number", "empty", "error", "deep"]
)
async def test_json_that_is_no_state_is_none(text: str, pauses: PausesAlone) -> None:
    states, (capture,) = await capture_states(Pages(text), [MAIL], settings(pauses))
    assert states == {}
    assert "/finish shows JSON" in str(capture.error)
