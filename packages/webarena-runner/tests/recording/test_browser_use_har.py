"""browser-use's own recorder, with its HTTPS filter and without it."""

from __future__ import annotations

import importlib
import json
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

import pytest

from bench_core.browser import launch_chromium
from bench_core.browser_use import import_browser_use
from webarena_runner.recording import HarRecorder, include_http_in_har

if TYPE_CHECKING:
    from contextlib import AbstractContextManager
    from pathlib import Path

WATCHDOG = "browser_use.browser.watchdogs.har_recording_watchdog"


@pytest.fixture
def watchdog() -> Any:
    import_browser_use()
    return importlib.import_module(WATCHDOG)


async def recorded_by_browser_use(
    cdp_url: str, url: str, path: Path, patch: AbstractContextManager[None]
) -> list[dict[str, Any]]:
    """Visit `url` with browser-use, which posts a form that redirects; return its HAR's entries."""
    browser_use = import_browser_use()
    profile = browser_use.BrowserProfile(record_har_path=path, cdp_url=cdp_url)
    session = browser_use.BrowserSession(browser_profile=profile)
    with patch:
        await session.start()
        try:
            page = await session.get_current_page()
            await page.goto(url)
            post = "fetch('/hop/302/json', {method: 'POST', body: 'a=1'}).then(a => a.text())"
            await page.evaluate(f"() => {post}")
        finally:
            await session.kill()
    return entries_of(path)


def entries_of(path: Path) -> list[dict[str, Any]]:
    return list(json.loads(path.read_text(encoding="utf-8"))["log"]["entries"])


def methods_and_statuses(entries: list[dict[str, Any]]) -> set[tuple[str, int]]:
    return {(each["request"]["method"], each["response"]["status"]) for each in entries}


@pytest.mark.browser
@pytest.mark.full_chromium
async def test_browser_use_records_nothing_over_http_until_it_is_patched(
    site: Any, tmp_path: Path
) -> None:
    seen = {}
    for name, patch in (("stock", nullcontext()), ("patched", include_http_in_har())):
        path = tmp_path / f"{name}.har"
        async with launch_chromium() as chromium:
            seen[name] = await recorded_by_browser_use(
                chromium.cdp_url, site.url("/page"), path, patch
            )
    assert seen["stock"] == []
    assert site.url("/page") in {each["request"]["url"] for each in seen["patched"]}


@pytest.mark.browser
@pytest.mark.full_chromium
async def test_the_patched_watchdog_loses_redirects_that_the_recorder_keeps(
    site: Any, tmp_path: Path
) -> None:
    async with launch_chromium() as chromium, HarRecorder(chromium.cdp_url) as recorder:
        theirs = await recorded_by_browser_use(
            chromium.cdp_url, site.url("/page"), tmp_path / "x.har", include_http_in_har()
        )
        ours = (await recorder.stop()).entries
    assert ("POST", 302) in methods_and_statuses(ours)
    assert ("POST", 302) not in methods_and_statuses(theirs)


def test_the_patch_is_undone_when_its_last_user_leaves(watchdog: Any) -> None:
    original = watchdog._is_https
    with include_http_in_har():
        with include_http_in_har():
            assert watchdog._is_https("http://site.test/")
        assert watchdog._is_https("http://site.test/")
        assert not watchdog._is_https("data:,x")
        assert not watchdog._is_https(None)
    assert watchdog._is_https is original
    assert not watchdog._is_https("http://site.test/")


def test_the_option_is_off_when_told_so(watchdog: Any) -> None:
    original = watchdog._is_https
    with include_http_in_har(enabled=False):
        assert watchdog._is_https is original


def test_an_exception_undoes_the_patch_too(watchdog: Any) -> None:
    original = watchdog._is_https

    def fail() -> None:
        with include_http_in_har():
            raise LookupError

    with pytest.raises(LookupError):
        fail()
    assert watchdog._is_https is original
