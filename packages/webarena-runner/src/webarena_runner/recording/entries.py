"""HAR 1.2 entries of exchanges (http://www.softwareishard.com/blog/har-12-spec/)."""

from __future__ import annotations

import base64
import contextlib
from collections.abc import Iterable, Mapping
from datetime import datetime, timezone
from email.utils import parsedate_to_datetime
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from webarena_runner.recording.exchanges import Hop, HttpExchange

Headers = list[dict[str, str]]

NO_RESPONSE = -1
"""The status of a request that got no response, as the evaluator expects it (0 fails)."""

UNFINISHED = "unfinished when the recording ended"
"""Why a request has no end."""
_PROTOCOLS = {"h2": "HTTP/2.0", "h3": "HTTP/3.0", "http/1.1": "HTTP/1.1", "http/1.0": "HTTP/1.0"}
_COOKIE_TEXTS = {"path": "path", "domain": "domain", "samesite": "sameSite"}
_COOKIE_FLAGS = {"httponly": "httpOnly", "secure": "secure"}
_NAVIGATION_ACCEPT = (
    "text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,image/apng,"
    "*/*;q=0.8,application/signed-exchange;v=b3;q=0.7"
)


def entry(exchange: HttpExchange) -> dict[str, Any]:
    """Return the HAR entry of `exchange`; names that start with `_` go beyond HAR 1.2."""
    hop = exchange.hop
    timings = _timings(hop)
    result: dict[str, Any] = {
        "startedDateTime": timestamp(hop.wall_time),
        # in HAR 1.2 the time for TLS is a part of `connect`
        "time": sum(max(0.0, each) for name, each in timings.items() if name != "ssl"),
        "request": _request(exchange),
        "response": _response(exchange),
        "cache": {},
        "timings": timings,
        "_resourceType": hop.kind,
    }
    if hop.page is not None:
        result["pageref"] = hop.page
    if hop.is_recovered:
        result["_recovered"] = True
        result["comment"] = "Chromium's Network domain did not report this request."
    if hop.response is not None:
        result.update(_server(hop))
    return result


def timestamp(wall_time: float) -> str:
    """Return seconds since 1970 as ISO 8601 in UTC with milliseconds."""
    moment = datetime.fromtimestamp(wall_time, tz=timezone.utc)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def parse_cookie(header: str) -> list[dict[str, Any]]:
    """Return HAR cookies of a request's `Cookie` header."""
    pairs = (pair.strip().partition("=") for pair in header.split(";"))
    return [{"name": name, "value": value} for name, separator, value in pairs if separator]


def parse_set_cookie(line: str) -> dict[str, Any] | None:
    """Return the HAR cookie of one `Set-Cookie` line; None when a browser would ignore it."""
    pair, *attributes = line.split(";")
    name, separator, value = pair.partition("=")
    if not separator:
        name, value = "", pair
    if not (name.strip() or value.strip()):
        return None
    cookie: dict[str, Any] = {"name": name.strip(), "value": value.strip()}
    for attribute in attributes:
        name, _, setting = (each.strip() for each in attribute.strip().partition("="))
        key = name.lower()
        if key in _COOKIE_TEXTS:
            cookie[_COOKIE_TEXTS[key]] = setting
        elif key in _COOKIE_FLAGS:
            cookie[_COOKIE_FLAGS[key]] = True
        elif key == "expires":
            with contextlib.suppress(ValueError):  # not a date: browsers ignore it too
                cookie["expires"] = parsedate_to_datetime(setting).isoformat()
    return cookie


def _request(exchange: HttpExchange) -> dict[str, Any]:
    hop = exchange.hop
    headers, synthesised = _request_headers(exchange)
    asked = parse_qsl(urlsplit(hop.url).query, keep_blank_values=True)
    request: dict[str, Any] = {
        "method": hop.method,
        "url": hop.url,
        "httpVersion": _http_version(hop),
        "cookies": [
            cookie for value in _values(headers, "cookie") for cookie in parse_cookie(value)
        ],
        "headers": headers,
        "queryString": [{"name": name, "value": value} for name, value in asked],
        # HAR's word for unknown: the protocol does not tell it
        "headersSize": -1,
        "bodySize": _posted_size(hop, headers),
    }
    if synthesised:
        request["_synthesisedHeaders"] = synthesised
    if exchange.sent is None:
        request["_provisionalHeaders"] = True
    if hop.has_body:
        request["postData"] = _post_data(hop, headers)
    return request


def _request_headers(exchange: HttpExchange) -> tuple[Headers, list[str]]:
    """Return the headers that were sent, and for a document from the cache those that would have been.

    A document from the cache was requested all the same, but has no headers by which the evaluator
    recognises a navigation.
    """
    hop = exchange.hop
    if exchange.sent is not None:
        return _pairs(exchange.sent.headers), []
    headers = _pairs(hop.headers)
    if hop.kind != "Document" or hop.method != "GET":
        return headers, []
    usual = {
        "Accept": _NAVIGATION_ACCEPT,
        "Sec-Fetch-Mode": "navigate",
        "Sec-Fetch-Dest": "document" if hop.frame_id == hop.page else "iframe",
    }
    if hop.by_gesture:
        usual["Sec-Fetch-User"] = "?1"
    known = {header["name"].lower() for header in headers}
    added = {name: value for name, value in usual.items() if name.lower() not in known}
    return headers + _pairs(added), list(added)


def _post_data(hop: Hop, headers: Headers) -> dict[str, Any]:
    types = _values(headers, "content-type")
    # the whole type, because the evaluator needs the boundary to read a multipart body
    data: dict[str, Any] = {"mimeType": types[0] if types else "", "text": ""}
    notes = [hop.body_note] if hop.body_note else []
    if hop.body is None:
        notes = notes or ["the browser did not give the body"]
    else:
        try:
            data["text"] = hop.body.decode()
        except UnicodeDecodeError:
            data["text"] = hop.body.decode(errors="replace")
            data["_base64"] = base64.b64encode(hop.body).decode()
            notes.append("not text: the exact bytes are in _base64")
        declared = _declared_size(headers)
        if declared is not None and declared != len(hop.body) and not hop.body_note:
            # of an uploaded file DevTools has no bytes
            notes.append(f"{len(hop.body)} of {declared} bytes: the browser leaves out files")
    if notes:
        data["comment"] = "; ".join(notes)
    return data


def _response(exchange: HttpExchange) -> dict[str, Any]:
    hop = exchange.hop
    headed = exchange.received or hop.response
    headers = _pairs(headed.headers) if headed else []
    locations = _values(headers, "location")
    # the renderer's status: a revalidated document is 200 for the page and 304 on the wire
    answered = hop.response or exchange.received
    status = answered.status if answered else NO_RESPONSE
    text = exchange.received.text if exchange.received is not None else None
    head = len(text.encode()) if text else -1
    response: dict[str, Any] = {
        "status": status,
        "statusText": hop.response.status_text if hop.response else "",
        "httpVersion": _http_version(hop),
        "cookies": list(
            # the evaluator reads Magento's notices here, not in the headers
            filter(None, (parse_set_cookie(line) for line in _values(headers, "set-cookie")))
        ),
        "headers": headers,
        "content": _content(hop),
        "redirectURL": locations[0] if locations else "",
        "headersSize": head,
        "bodySize": -1 if hop.transferred is None or head < 0 else max(0, hop.transferred - head),
    }
    if hop.failure is not None or hop.is_pending:
        response["_failureText"] = hop.failure or UNFINISHED
    # the page's status is recorded, as by Playwright, the benchmark's own recorder
    if exchange.received is not None and exchange.received.status != status:
        response["_networkStatus"] = exchange.received.status
    if hop.transferred is not None:
        response["_transferSize"] = hop.transferred
    return response


def _content(hop: Hop) -> dict[str, Any]:
    content: dict[str, Any] = {
        "size": len(hop.content) if hop.content is not None else -1,
        "mimeType": _mime_type(hop),
    }
    if hop.content is not None:
        try:
            content["text"] = hop.content.decode()
        except UnicodeDecodeError:
            content["text"] = base64.b64encode(hop.content).decode()
            content["encoding"] = "base64"
    if hop.content_note:
        content["comment"] = hop.content_note
    return content


def _mime_type(hop: Hop) -> str:
    """Return the Content-Type as sent, which has the charset, else the browser's guess."""
    if hop.response is None:
        return "x-unknown"
    types = _values(_pairs(hop.response.headers), "content-type")
    return types[0] if types else hop.response.mime_type


def _server(hop: Hop) -> dict[str, Any]:
    assert hop.response is not None  # noqa: S101  # the caller looked
    server: dict[str, Any] = {}
    if hop.response.address:
        server["serverIPAddress"] = hop.response.address.strip("[]")
    if hop.response.connection:
        server["connection"] = str(hop.response.connection)
    if hop.response.cache:
        server["_fromCache"] = hop.response.cache
    if hop.response.from_service_worker:
        server["_fetchedViaServiceWorker"] = True
    return server


def _timings(hop: Hop) -> dict[str, float]:
    """Return phases in milliseconds; -1 where a phase did not happen, as HAR requires."""
    timing = hop.response.timing if hop.response else None
    end = hop.ended if hop.ended is not None else hop.started
    if not timing:
        wait = max(0.0, (end - hop.started) * 1000)
        return {"blocked": -1, "dns": -1, "connect": -1, "send": 0, "wait": wait, "receive": 0}
    headers_at = timing["requestTime"] + timing["receiveHeadersEnd"] / 1000
    first = next(
        (timing[k] for k in ("dnsStart", "connectStart", "sendStart") if timing[k] >= 0), 0
    )
    return {
        "blocked": max(0.0, (timing["requestTime"] - hop.started) * 1000 + first),
        "dns": _span(timing, "dnsStart", "dnsEnd"),
        "connect": _span(timing, "connectStart", "connectEnd"),
        "ssl": _span(timing, "sslStart", "sslEnd"),
        "send": max(0.0, _span(timing, "sendStart", "sendEnd")),
        "wait": max(0.0, _span(timing, "sendEnd", "receiveHeadersEnd")),
        "receive": max(0.0, (end - headers_at) * 1000),
    }


def _span(timing: Mapping[str, float], start: str, end: str) -> float:
    return timing[end] - timing[start] if timing[start] >= 0 else -1


def _http_version(hop: Hop) -> str:
    protocol = hop.response.protocol.lower() if hop.response else ""
    return _PROTOCOLS.get(protocol, protocol.upper() or "unknown")


def _pairs(headers: Mapping[str, str]) -> Headers:
    """Return name-value pairs; the protocol joins repeated headers with line feeds."""
    return [
        {"name": name, "value": line}
        for name, value in headers.items()
        for line in value.split("\n")
    ]


def _values(headers: Iterable[Mapping[str, str]], name: str) -> list[str]:
    return [header["value"] for header in headers if header["name"].lower() == name]


def _declared_size(headers: Headers) -> int | None:
    sizes = _values(headers, "content-length")
    return int(sizes[0]) if sizes and sizes[0].isdigit() else None


def _posted_size(hop: Hop, headers: Headers) -> int:
    declared = _declared_size(headers)
    if declared is not None:
        return declared
    if not hop.has_body:
        return 0
    return len(hop.body) if hop.body is not None else -1
