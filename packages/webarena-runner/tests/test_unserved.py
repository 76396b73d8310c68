"""Answers in the recording that no site gave."""

from __future__ import annotations

import base64
import urllib.error
import urllib.request
from typing import Any

import pytest

from webarena_runner.unserved import Served, digest_of, unserved
from webarena_runner.world.messages import Request, html
from webarena_runner.world.server import SiteServer

PAGE, REFUSAL = b"<p>voted</p>", b"<p>log in first</p>"
SERVED = {
    Served("GET", "http://a.test/", 200, digest_of(PAGE)),
    Served("GET", "http://a.test/", 304, digest_of(b"")),
    Served("POST", "http://a.test/vote?x=1", 403, digest_of(REFUSAL)),
}


def entry(method: str, url: str, status: int, **content: str) -> dict[str, Any]:
    return {
        "request": {"method": method, "url": url},
        "response": {"status": status, "content": content},
    }


def found(*entries: dict[str, Any]) -> list[str]:
    return [url for _, url in unserved({"log": {"entries": list(entries)}}, SERVED)]


def test_answers_as_the_sites_gave_them_are_served() -> None:
    encoded = base64.b64encode(PAGE).decode()
    assert not found(
        entry("GET", "http://a.test/#part", 200, text=PAGE.decode()),
        entry("GET", "http://a.test/", 200),
        entry("GET", "http://a.test/", 200, text=encoded, encoding="base64"),
        entry("GET", "http://me@a.test:80/", 200),
        entry("POST", "http://a.test/vote?x=1", 403, text=REFUSAL.decode()),
        entry("GET", "http://a.test/gone", 0),
        entry("GET", "http://a.test/gone", -1),
        entry("GET", "http://elsewhere.test/", 200),
    )


@pytest.mark.parametrize(
    "forged",
    [
        pytest.param(entry("GET", "http://a.test/x", 200), id="an address never asked for"),
        pytest.param(entry("POST", "http://a.test/", 200), id="another method"),
        pytest.param(entry("POST", "http://a.test/vote?x=1", 200), id="another status"),
        pytest.param(entry("GET", "http://a.test/", 200, text="<p>no</p>"), id="another body"),
        pytest.param(entry("GET", "http://a.test/", 200, text=""), id="no body"),
        pytest.param(entry("GET", "http://a.test/", 304, text=PAGE.decode()), id="body of another"),
        pytest.param(entry("GET", "http://me@a.test:80/x", 200), id="another spelling of the host"),
    ],
)
def test_what_differs_from_what_the_site_gave_is_unserved(forged: dict[str, Any]) -> None:
    assert found(forged) == [forged["request"]["url"]]


@pytest.mark.parametrize("status", [413, 414, 431])
def test_a_request_that_is_too_large_is_refused_before_a_site_reads_it(status: int) -> None:
    assert not found(entry("POST", "http://a.test/upload", status))
    assert found(entry("POST", "http://a.test/upload", 415)) == ["http://a.test/upload"]


def test_a_site_writes_down_what_it_answered_and_not_only_what_it_was_asked() -> None:
    class Site:
        def handle(self, request: Request) -> Any:
            return html("voted", 200) if request.path == "/" else html("log in first", 403)

    server = SiteServer(Site(), "localhost")
    server.start()
    try:
        urllib.request.urlopen(server.origin + "/").close()  # noqa: S310  # loopback
        with pytest.raises(urllib.error.HTTPError) as refused:
            urllib.request.urlopen(server.origin + "/vote")  # noqa: S310  # loopback
        served = server.served_since(0.0)
        body = refused.value.read()
    finally:
        server.stop()
    assert Served("GET", server.origin + "/vote", 403, digest_of(body)) in served
    assert {(each.url.rpartition("/")[2], each.status) for each in served} == {
        ("", 200),
        ("vote", 403),
    }
