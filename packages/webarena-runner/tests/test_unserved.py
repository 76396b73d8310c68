"""Answers in the recording that no site gave."""

from __future__ import annotations

from webarena_runner.unserved import unserved


def entry(method: str, url: str, status: int) -> dict[str, object]:
    return {"request": {"method": method, "url": url}, "response": {"status": status}}


def test_only_answers_that_no_site_gave_are_unserved() -> None:
    served = {("GET", "http://a.test/"), ("POST", "http://a.test/vote?x=1")}
    entries = [
        entry("GET", "http://a.test/#part", 200),
        entry("POST", "http://a.test/vote?x=1", 200),
        entry("GET", "http://a.test/gone", 0),
        entry("GET", "http://elsewhere.test/", 200),
        entry("GET", "http://a.test/forged", 200),
    ]
    assert unserved({"log": {"entries": entries}}, served) == [("GET", "http://a.test/forged")]
