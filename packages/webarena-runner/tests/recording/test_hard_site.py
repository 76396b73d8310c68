"""Every request of a hard site is in the recording, or named in it as one that may be missing."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jsonschema
import pytest
from haralyzer import HarParser
from hard_site import drive, hard_site

from webarena_runner.recording import HarRecorder

if TYPE_CHECKING:
    from collections.abc import Callable

    from bench_core.browser import Chromium

pytestmark = [pytest.mark.browser, pytest.mark.full_chromium]

SCHEMA = Path(__file__).with_name("har-1.2.schema.json").read_text(encoding="utf-8")


class Driver:
    """A tab that chooses files, too."""

    def __init__(self, tab: Any) -> None:
        self.go, self.run, self.loaded = tab.go, tab.run, tab.loaded
        self._send = tab.send

    async def choose(self, file: Path) -> None:
        found = await self._send(
            "Runtime.evaluate", expression="document.querySelector('[type=file]')"
        )
        chosen = found["result"]["objectId"]
        await self._send("DOM.setFileInputFiles", files=[str(file)], objectId=chosen)


async def test_every_request_is_recorded_or_named(
    browser: Chromium, opened: Callable[[str], Any], tmp_path: Path
) -> None:
    file = tmp_path / "chosen.txt"
    file.write_text("what the file contains")
    with hard_site(tmp_path) as site:
        async with HarRecorder(browser.cdp_url) as recorder, opened(browser.cdp_url) as tab:
            await drive(Driver(tab), site, file)
            har = await recorder.stop(10)
    seen = Counter((each.method, each.url) for each in site.seen)
    assert sum(seen.values()) >= 300
    assert {each.version for each in site.seen} == {"1.1", "2"}

    recorded = Counter((each["request"]["method"], each["request"]["url"]) for each in har.entries)
    named = {each["url"] for each in har.document["log"]["_unreported"]}
    assert {url for _, url in seen - recorded} <= named
    assert named <= {each.url for each in site.seen}
    for key in recorded - seen:  # answered by a worker or not answered at all
        entries = [e for e in har.entries if (e["request"]["method"], e["request"]["url"]) == key]
        assert any(
            each.get("_fetchedViaServiceWorker") or each["response"]["status"] == -1
            for each in entries
        ), key

    posts = {(each.method, each.url): each.body for each in site.seen if each.body}
    notes = Counter()
    for each in har.entries:
        data, key = (
            each["request"].get("postData"),
            (each["request"]["method"], each["request"]["url"]),
        )
        body = posts.get(key, b"")
        assert (data is None) == (not body), key
        if data is not None and data["text"].encode() != body:
            notes[data["comment"]] += 1
    assert notes == {
        "the browser gives no body of a streamed upload": 3,
        "270 of 292 bytes: the browser leaves out files": 2,
    }

    jsonschema.Draft202012Validator(json.loads(SCHEMA)).validate(har.document)
    parsed = HarParser(har.document)
    assert sum(len(page.entries) for page in parsed.pages) == len(har.entries)
    assert all(page.url for page in parsed.pages if page.page_id != "unknown")
    began = [each["startedDateTime"] for each in har.entries]
    assert began == sorted(began)
    assert min(each["time"] for each in har.entries) >= 0
