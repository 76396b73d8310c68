from __future__ import annotations

import base64
import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from webarena_runner.recording.entries import entry
from webarena_runner.recording.exchanges import (
    Hop,
    HttpExchange,
    Received,
    ReportedResponse,
    SentHeaders,
)
from webarena_runner.recording.har import Har, build_har

if TYPE_CHECKING:
    from pathlib import Path


def hop(**changes: Any) -> Hop:
    facts: dict[str, Any] = {
        "request_id": "1",
        "url": "http://site.test/a?b=c&d",
        "method": "GET",
        "headers": {},
        "kind": "Fetch",
        "frame_id": "tab",
        "loader": "document",
        "page": "tab",
        "wall_time": 1_700_000_000.25,
        "started": 1.0,
        "by_gesture": False,
        "has_body": False,
        "body": None,
        "ended": 1.5,
    }
    return Hop(**{**facts, **changes})


def answer(status: int = 200, **changes: Any) -> ReportedResponse:
    facts: dict[str, Any] = {
        "status": status,
        "status_text": "OK",
        "headers": {},
        "mime_type": "text/html",
        "protocol": "http/1.1",
        "address": "127.0.0.1",
        "connection": 7,
        "timing": None,
        "cache": None,
        "from_service_worker": False,
    }
    return ReportedResponse(**{**facts, **changes})


def exchanged(
    sent: SentHeaders | None = None, received: Received | None = None, **changes: Any
) -> Any:
    return entry(HttpExchange(hop(**changes), sent, received))


def names(headers: list[dict[str, str]]) -> list[str]:
    return [header["name"] for header in headers]


def test_wire_headers_win_over_the_renderers() -> None:
    made = exchanged(
        SentHeaders({"Accept": "*/*", "Cookie": "a=1"}), headers={"accept": "text/html"}
    )
    assert made["request"]["headers"] == [
        {"name": "Accept", "value": "*/*"},
        {"name": "Cookie", "value": "a=1"},
    ]
    assert made["request"]["cookies"] == [{"name": "a", "value": "1"}]


def test_repeated_headers_become_lines_of_their_own_and_cookies_are_parsed() -> None:
    made = exchanged(
        received=Received(302, {"Set-Cookie": "a=1; Path=/\nb=2", "Location": "/x"}, None)
    )
    assert names(made["response"]["headers"]) == ["Set-Cookie", "Set-Cookie", "Location"]
    assert [cookie["name"] for cookie in made["response"]["cookies"]] == ["a", "b"]
    assert made["response"]["redirectURL"] == "/x"


def test_a_request_without_response_has_status_minus_one_and_says_why() -> None:
    made = exchanged(failure="net::ERR_CONNECTION_REFUSED")
    assert made["response"]["status"] == -1
    assert made["response"]["_failureText"] == "net::ERR_CONNECTION_REFUSED"


def test_an_unfinished_request_says_so() -> None:
    made = exchanged(ended=None)
    assert made["response"]["status"] == -1
    assert made["response"]["_failureText"] == "unfinished when the recording ended"


def test_a_response_the_page_may_not_read_keeps_the_servers_status() -> None:
    made = exchanged(received=Received(201, {}, None), failure="net::ERR_FAILED")
    assert made["response"]["status"] == 201


def test_a_revalidated_document_has_the_status_the_page_saw() -> None:
    made = exchanged(received=Received(304, {}, None), response=answer(200))
    assert made["response"]["status"] == 200
    assert made["response"]["_networkStatus"] == 304


@pytest.mark.parametrize(("frame", "dest"), [("tab", "document"), ("inner", "iframe")])
def test_a_cached_document_gets_the_headers_of_a_navigation(frame: str, dest: str) -> None:
    made = exchanged(
        kind="Document", frame_id=frame, by_gesture=True, response=answer(cache="disk")
    )
    headers = {header["name"]: header["value"] for header in made["request"]["headers"]}
    assert headers["Accept"].startswith("text/html")
    assert headers["Sec-Fetch-Mode"] == "navigate"
    assert headers["Sec-Fetch-Dest"] == dest
    assert headers["Sec-Fetch-User"] == "?1"
    assert made["request"]["_synthesisedHeaders"] == list(headers)
    assert made["_fromCache"] == "disk"


def test_a_cached_script_gets_no_invented_headers() -> None:
    made = exchanged(kind="Script", response=answer(cache="disk"))
    assert made["request"]["headers"] == []


def test_posted_text_keeps_the_boundary_of_its_type() -> None:
    kind = "multipart/form-data; boundary=xyz"
    made = exchanged(SentHeaders({"Content-Type": kind}), has_body=True, body=b"--xyz--")
    assert made["request"]["postData"] == {"mimeType": kind, "text": "--xyz--"}


@given(body=st.binary(min_size=1))
def test_posted_bytes_can_always_be_recovered(body: bytes) -> None:
    data = exchanged(has_body=True, body=body)["request"]["postData"]
    kept = base64.b64decode(data["_base64"]) if "_base64" in data else data["text"].encode()
    assert kept == body


def test_a_body_shorter_than_declared_says_so() -> None:
    made = exchanged(SentHeaders({"Content-Length": "9"}), has_body=True, body=b"five5")
    assert made["request"]["postData"]["comment"] == "5 of 9 bytes: the browser leaves out files"


def test_a_body_the_browser_kept_to_itself_says_so() -> None:
    made = exchanged(has_body=True, body=None)
    assert made["request"]["postData"]["comment"] == "the browser did not give the body"


def test_the_server_and_the_connection_are_named() -> None:
    made = exchanged(response=answer(address="[::1]"))
    assert (made["serverIPAddress"], made["connection"]) == ("::1", "7")


def test_binary_content_is_base64_and_text_is_text() -> None:
    text = exchanged(content=b"caf\xc3\xa9", response=answer())["response"]["content"]
    binary = exchanged(content=b"\xff", response=answer())["response"]["content"]
    assert (text["text"], text["size"]) == ("caf\u00e9", 5)
    assert (binary["text"], binary["encoding"]) == ("/w==", "base64")


def test_phases_come_from_the_browsers_clock() -> None:
    timing = {
        "requestTime": 1.1, "dnsStart": -1, "dnsEnd": -1, "connectStart": 1.0, "connectEnd": 3.0,
        "sslStart": -1, "sslEnd": -1, "sendStart": 3.0, "sendEnd": 4.0, "receiveHeadersEnd": 100.0,
    }  # fmt: skip
    made = exchanged(response=answer(timing=timing))
    phases = {name: round(value, 3) for name, value in made["timings"].items()}
    assert phases == {
        "blocked": 101.0, "dns": -1, "connect": 2.0, "ssl": -1, "send": 1.0, "wait": 96.0,
        "receive": 300.0,
    }  # fmt: skip
    assert round(made["time"], 3) == 500.0


def small_har() -> Har:
    return build_har([], browser=("Chromium", "1"), comment="c")


def test_a_har_is_written_whole(tmp_path: Path) -> None:
    path = tmp_path / "network.har"
    small_har().write(path)
    assert json.loads(path.read_text(encoding="utf-8")) == small_har().document
    assert list(tmp_path.iterdir()) == [path]


def test_a_failed_write_leaves_the_old_file_and_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "network.har"
    path.write_text("old", encoding="utf-8")
    with pytest.raises(UnicodeEncodeError):
        small_har().write(path, redact=lambda text: text + "\ud800")
    assert path.read_text(encoding="utf-8") == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_text_is_redacted_on_its_way_out(tmp_path: Path) -> None:
    path = tmp_path / "network.har"
    small_har().write(path, redact=lambda text: text.replace("Chromium", "[REDACTED]"))
    assert "[REDACTED]" in path.read_text(encoding="utf-8")


def test_lone_surrogates_do_not_break_the_file(tmp_path: Path) -> None:
    path = tmp_path / "network.har"
    made = build_har(
        [HttpExchange(hop(url="http://site.test/\ud800"), None, None)],
        browser=("Chromium", "1"),
        comment="c",
    )
    made.write(path)
    assert json.loads(path.read_text(encoding="utf-8")) == made.document


@pytest.mark.parametrize(
    "link",
    [
        '<link rel="search" type="a/b" href="/find.php?a=1&amp;b" title="Wiki (en)"/>',
        "<LINK href='/find.php?a=1&amp;b' REL=search>",
    ],
)
def test_what_chromium_fetches_for_its_address_bar_is_named(link: str) -> None:
    page = hop(
        url="http://site.test/wiki/", kind="Document", content=f"<html>{link}</html>".encode()
    )
    made = build_har([HttpExchange(page, None, None)], browser=("Chromium", "1"), comment="c")
    assert [each["url"] for each in made.document["log"]["_unreported"]] == [
        "http://site.test/find.php?a=1&b"
    ]
    other = replace(page, content=b"<link rel=stylesheet href=/research.css><a rel=search href=/x>")
    made = build_har([HttpExchange(other, None, None)], browser=("Chromium", "1"), comment="c")
    assert made.document["log"]["_unreported"] == []


def test_problems_make_a_recording_incomplete() -> None:
    made = build_har([], browser=("Chromium", "1"), comment="Recorded.", problems=["Lost."])
    assert not made.complete
    assert made.document["log"]["_complete"] is False
    assert made.document["log"]["comment"] == "Recorded. Lost."
