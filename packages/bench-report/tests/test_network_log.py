"""What a trial's network recording says, whole or damaged."""

from __future__ import annotations

import gzip
import json
from typing import TYPE_CHECKING

import pytest

from bench_report.html_page.network_log import read_calls, summary_of

if TYPE_CHECKING:
    from pathlib import Path

HAR = {
    "log": {
        "entries": [
            {"request": {"method": "GET", "url": "http://gitlab.test/a"},
             "response": {"status": 200, "content": {"size": 2_000_000}}},
            {"request": {"method": "POST", "url": "http://gitlab.test/b"}, "response": {"status": 500}},
            {"request": {"method": "GET", "url": "http://map.test/<script>"}, "response": {"status": 0}},
            {"request": None}, "broken",
        ]
    }
}  # fmt: skip


@pytest.mark.parametrize("name", ["network.har", "network.har.gz"])
def test_the_network_recording_is_summarised(name: str, tmp_path: Path) -> None:
    data = json.dumps(HAR).encode()
    (tmp_path / name).write_bytes(gzip.compress(data) if name.endswith("gz") else data)

    found = summary_of(read_calls(tmp_path))

    assert found is not None
    assert (found["requests"], found["failed"], found["bytes"]) == (4, 3, 2_000_000)
    assert found["hosts"][0] == ["gitlab.test", 2, 1]
    assert found["failures"][0] == [500, "POST", "http://gitlab.test/b"]
    assert found["methods"] == {"GET": 2, "POST": 1, "?": 1}


@pytest.mark.parametrize(
    "text", ["", "{", "[]", '{"log": 1}', '{"log": {"entries": {}}}', "\x1f\x8b"]
)
def test_a_recording_that_cannot_be_read_says_so(text: str, tmp_path: Path) -> None:
    assert summary_of(read_calls(tmp_path)) is None
    for name in ("network.har.gz", "network.har"):
        (tmp_path / name).write_text(text)
        found = summary_of(read_calls(tmp_path))
        assert found is not None
        assert list(found) == ["note"]
