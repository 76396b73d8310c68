from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from webarena_runner.recording import HarRecorder

if TYPE_CHECKING:
    from bench_core.browser import Chromium

pytestmark = pytest.mark.browser


async def test_a_form_post_that_redirects_is_two_entries_with_the_evaluators_headers(
    browser: Chromium, tab: Any, site: Any
) -> None:
    async with HarRecorder(browser.cdp_url) as recorder:
        await tab.go(site.url("/page?html=<form method=post action=/hop/302/page><input name=a>"))
        await tab.run("document.forms[0].submit()")
        await tab.loaded(site.url("/page"))
        har = await recorder.stop()
    entries = [each for each in har.entries if "favicon" not in each["request"]["url"]]
    post, document = entries[-2:]
    assert (post["request"]["method"], post["response"]["status"]) == ("POST", 302)
    assert post["request"]["postData"]["text"] == "a="
    assert [cookie["name"] for cookie in post["response"]["cookies"]] == ["hop302"]
    names = {header["name"].lower() for header in document["request"]["headers"]}
    assert {"accept", "cookie", "sec-fetch-dest", "sec-fetch-mode"} <= names
    assert har.complete
