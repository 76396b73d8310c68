from __future__ import annotations

import base64
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from webarena_runner.recording.exchanges import Hop, HttpExchange, ReportedResponse, Traffic

Event = tuple[str, dict[str, Any]]


def request(
    path: str = "/", at: float = 1.0, request_id: str = "1", **changes: Any
) -> tuple[str, dict[str, Any]]:
    """A `requestWillBeSent`; `redirected` is the status of the redirect that led to it."""
    redirected = changes.pop("redirected", None)
    params: dict[str, Any] = {
        "requestId": request_id,
        "loaderId": changes.pop("loader", "document"),
        "frameId": changes.pop("frame", "frame"),
        "timestamp": at,
        "wallTime": 1_700_000_000.0 + at,
        "type": changes.pop("kind", "Fetch"),
        "request": {"url": f"http://site.test{path}", "method": "GET", "headers": {}, **changes},
    }
    if redirected is not None:
        params["redirectResponse"] = {"status": redirected, "headers": {}}
        params["redirectHasExtraInfo"] = True
    return "Network.requestWillBeSent", params


def sent(mark: str, request_id: str = "1") -> Event:
    params = {"requestId": request_id, "headers": {"X-Mark": mark}}
    return "Network.requestWillBeSentExtraInfo", params


def received(status: int, request_id: str = "1") -> Event:
    params = {"requestId": request_id, "statusCode": status, "headers": {}}
    return "Network.responseReceivedExtraInfo", params


def response(status: int = 200, request_id: str = "1", *, wire: bool = True) -> Event:
    params = {"requestId": request_id, "response": {"status": status}, "hasExtraInfo": wire}
    return "Network.responseReceived", params


def finished(at: float = 2.0, request_id: str = "1") -> Event:
    params = {"requestId": request_id, "timestamp": at, "encodedDataLength": 10}
    return "Network.loadingFinished", params


def failed(text: str, request_id: str = "1", **more: Any) -> Event:
    params = {"requestId": request_id, "timestamp": 2.0, "errorText": text, **more}
    return "Network.loadingFailed", params


def traffic(*events: Event, limit: int = 100) -> Traffic:
    seen = Traffic(limit)
    for method, params in events:
        seen.feed(method, params, "session")
    return seen


def wire_headers(exchanges: list[HttpExchange]) -> list[tuple[str, str | None, int | None]]:
    return [
        (
            each.hop.url.removeprefix("http://site.test"),
            each.sent.headers["X-Mark"] if each.sent else None,
            each.received.status if each.received else None,
        )
        for each in exchanges
    ]


def test_each_hop_of_a_redirect_keeps_its_own_headers_and_status() -> None:
    seen = traffic(
        request("/a", 1.0, method="POST"),
        sent("first"),
        received(302),
        request("/b", 1.1, redirected=302),
        sent("second"),
        received(200),
        response(200),
        finished(),
    )
    assert wire_headers(seen.exchanges()) == [("/a", "first", 302), ("/b", "second", 200)]
    assert [each.hop.response.status for each in seen.exchanges() if each.hop.response] == [
        302,
        200,
    ]


@given(wire=st.data())
def test_reports_of_the_wire_find_their_hop_however_the_two_streams_interleave(
    wire: st.DataObject,
) -> None:
    renderer = [
        request("/a", 1.0),
        request("/b", 1.1, redirected=301),
        request("/c", 1.2, redirected=307),
        response(200),
        finished(),
    ]
    network = [sent("a"), received(301), sent("b"), received(307), sent("c"), received(200)]
    events: list[Event] = []
    while renderer or network:
        take_network = not renderer or (network and wire.draw(st.booleans()))
        events.append(network.pop(0) if take_network else renderer.pop(0))
    assert wire_headers(traffic(*events).exchanges()) == [
        ("/a", "a", 301),
        ("/b", "b", 307),
        ("/c", "c", 200),
    ]


def test_a_hop_that_never_touched_the_wire_takes_no_report_from_the_next() -> None:
    upgraded = request("/b", 1.1, redirected=307)
    upgraded[1]["redirectHasExtraInfo"] = False
    seen = traffic(request("/a"), upgraded, sent("b"), received(200), response(200))
    assert wire_headers(seen.exchanges()) == [("/a", None, None), ("/b", "b", 200)]


def test_a_response_from_memory_takes_no_report() -> None:
    cached = ("Network.requestServedFromCache", {"requestId": "1"})
    seen = traffic(request("/a"), cached, response(200, wire=False), finished())
    (exchange,) = seen.exchanges()
    assert exchange.hop.response is not None
    assert exchange.hop.response.cache == "memory"
    assert exchange.sent is None


def test_copies_from_other_sessions_are_not_counted_again() -> None:
    seen = Traffic(100)
    for method, params in (request(), sent("x"), received(200), response(), finished()):
        seen.feed(method, params, "page")
        seen.feed(method, params, "browser")
    assert wire_headers(seen.exchanges()) == [("/", "x", 200)]


def test_a_request_may_begin_in_one_session_and_end_in_another() -> None:
    seen = Traffic(100)
    for session, (method, params) in (
        ("parent", request()),
        ("child", response()),
        ("child", finished()),
    ):
        seen.feed(method, params, session)
    (exchange,) = seen.exchanges()
    assert exchange.hop.ended == 2.0
    assert exchange.hop.response is not None


def test_another_session_takes_over_from_a_detached_one() -> None:
    seen = Traffic(100)
    seen.feed(*request(), "gone")
    seen.forget_session("gone")
    assert seen.feed(*request("/b", 1.1, redirected=302), "stays") is not None
    assert len(seen.exchanges()) == 2


def test_exchanges_come_in_the_order_in_which_they_started() -> None:
    seen = traffic(
        request("/late", 3.0, "late"),
        request("/early", 1.0, "early"),
        request("/between", 2.0, "early", redirected=302),
    )
    assert [each[0] for each in wire_headers(seen.exchanges())] == ["/early", "/between", "/late"]


def test_what_is_not_http_is_left_out_even_as_the_end_of_a_redirect() -> None:
    inline = request(request_id="2")
    inline[1]["request"]["url"] = "data:text/plain,hello"
    app = request(request_id="1", at=1.1, redirected=302)
    app[1]["request"]["url"] = "myapp://open"
    seen = traffic(request("/go"), inline, app, failed("net::ERR_UNKNOWN_URL_SCHEME"))
    (exchange,) = seen.exchanges()
    assert exchange.hop.response is not None
    assert exchange.hop.response.status == 302
    assert exchange.hop.failure is None


def test_a_failure_has_every_reason_the_browser_gave() -> None:
    blocked = failed("net::ERR_FAILED", corsErrorStatus={"corsError": "MissingAllowOriginHeader"})
    (exchange,) = traffic(request(), blocked).exchanges()
    assert exchange.hop.failure == "net::ERR_FAILED MissingAllowOriginHeader"


def test_a_redirect_that_keeps_the_method_keeps_the_body() -> None:
    posted = {"hasPostData": True, "postData": "x=1", "method": "PUT"}
    seen = traffic(request(**posted), request(at=1.1, method="PUT", redirected=308))
    assert [each.hop.body for each in seen.exchanges()] == [b"x=1", b"x=1"]


def test_a_redirect_that_turns_a_post_into_a_get_has_no_body() -> None:
    posted = {"hasPostData": True, "postData": "x=1", "method": "POST"}
    seen = traffic(request(**posted), request(at=1.1, redirected=302))
    assert [each.hop.has_body for each in seen.exchanges()] == [True, False]


def test_posted_bytes_win_over_their_lossy_text() -> None:
    raw = bytes([0, 255])
    entries = [{"bytes": base64.b64encode(raw).decode()}]
    seen = traffic(request(hasPostData=True, postData="\0\ufffd", postDataEntries=entries))
    assert seen.exchanges()[0].hop.body == raw


def test_a_body_of_which_the_event_holds_only_a_part_is_left_to_be_asked_for() -> None:
    entries = [{"bytes": base64.b64encode(b"head").decode()}, {}]
    seen = traffic(request(hasPostData=True, postData="head", postDataEntries=entries))
    hop = seen.exchanges()[0].hop
    assert (hop.has_body, hop.body) == (True, None)


def test_requests_over_the_limit_are_counted_but_not_kept() -> None:
    seen = traffic(*(request(request_id=str(number)) for number in range(5)), limit=3)
    assert len(seen.exchanges()) == 3
    assert seen.dropped == 2


def test_what_is_never_scored_takes_no_room_from_what_is() -> None:
    images = [request(f"/{number}.png?v=1", request_id=f"i{number}") for number in range(5)]
    seen = traffic(*images, *(request(request_id=str(number)) for number in range(3)), limit=3)
    assert len(seen.exchanges()) == 6
    assert seen.dropped == 0


def test_what_a_left_page_asked_for_is_not_waited_for() -> None:
    seen = traffic(
        request("/slow", 1.0, "xhr", loader="old"),
        request("/elsewhere", 1.0, "other", loader="x", frame="other frame"),
        request("/next", 1.1, "new", loader="new", kind="Document"),
        response(request_id="new"),
        finished(request_id="new"),
    )
    assert [hop.url for hop in seen.pending()] == ["http://site.test/elsewhere"]


def test_events_of_requests_that_began_before_the_recording_are_ignored() -> None:
    seen = traffic(response(), finished(), failed("net::ERR_ABORTED"), sent("x"))
    assert seen.exchanges() == []


def unreported(path: str, request_id: str = "1", at: float = 0.5, **changes: Any) -> Hop:
    fields: dict[str, Any] = {
        "request_id": request_id, "url": f"http://site.test{path}", "method": "GET", "headers": {},
        "kind": "Fetch", "frame_id": "frame", "loader": "", "page": "tab", "wall_time": at,
        "started": at, "by_gesture": False, "has_body": False, "body": None, "is_recovered": True,
    }  # fmt: skip
    return Hop(**{**fields, **changes})


def test_a_request_that_is_reported_after_all_is_recorded_once() -> None:
    seen = Traffic(2)
    assert seen.add(unreported("/a"))
    assert seen.add(unreported("/b"))
    for method, params in (request("/a"), request("/b", 1.1, redirected=302)):
        seen.feed(method, params, "session")
    assert [each[0] for each in wire_headers(seen.exchanges())] == ["/a", "/b"]
    assert [each.hop.is_recovered for each in seen.exchanges()] == [False, False]
    assert seen.dropped == 0


def test_an_answer_that_came_before_the_report_of_its_request_is_kept() -> None:
    """Chromium reports a removed frame's beacon late, and then only as aborted."""
    seen = Traffic(10)
    early = unreported("/a")
    seen.add(early)
    early.response = ReportedResponse.of({"status": 201})
    for method, params in (request("/a"), failed("net::ERR_ABORTED")):
        seen.feed(method, params, "session")
    (exchange,) = seen.exchanges()
    hop = exchange.hop
    assert not hop.is_recovered
    assert hop.response is not None
    assert (hop.response.status, hop.failure) == (201, "net::ERR_ABORTED")


def test_an_early_answer_is_that_of_one_hop_and_less_than_the_reported_one() -> None:
    seen = Traffic(10)
    for path, status in (("/a", 302), ("/a", None)):
        early = unreported(path)
        seen.add(early)
        early.response = None if status is None else ReportedResponse.of({"status": status})
    for method, params in (request("/a"), request("/a", 1.1, redirected=307)):
        seen.feed(method, params, "session")
    answers = [each.hop.response for each in seen.exchanges()]
    assert [each and each.status for each in answers] == [307, None]


def test_a_new_document_does_not_end_what_the_old_one_sent_while_it_was_left() -> None:
    seen = Traffic(10)
    seen.add(unreported("/bye", "other"))
    for method, params in (
        request("/next", 1.1, "new", loader="new", kind="Document"),
        finished(request_id="new"),
    ):
        seen.feed(method, params, "session")
    assert [hop.url for hop in seen.pending()] == ["http://site.test/bye"]


def test_unreported_requests_over_the_limit_are_counted_but_not_kept() -> None:
    seen = traffic(request(), limit=1)
    assert not seen.add(unreported("/bye", "other"))
    assert (len(seen.exchanges()), seen.dropped) == (1, 1)
