"""Faults in the recorded traffic of a trial: lost logins, site errors, pages that did not open.

Only requests to the task's sites count, and pages to which a site redirected. The place of a fault
decides its consequence (`failures`): on a request that the task expects, on a page that did not open
later either, or elsewhere, where faults also happen on working sites. Faults that the known requests of
`site_checks` showed before and after the trial count if the trial made requests that need the same.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, get_args
from urllib.parse import urldefrag, urljoin, urlsplit

from pydantic import TypeAdapter

from bench_core.records import Record
from bench_core.records.codec import decode_json
from bench_core.serving import address_of
from webarena_runner.config import EnvironmentConfig
from webarena_runner.expectations import ExpectedRequest
from webarena_runner.login.http_login import shows_login
from webarena_runner.recording.entries import UNFINISHED
from webarena_runner.site_checks import Concern, SiteFault, foreign_page, told, unlisted_root
from webarena_runner.site_facts import SITE_FACTS, SiteFacts

Kind = Literal[
    "unlisted_host", "login_lost", "site_error", "wrong_page", "navigation_blocked", "site_slow"
]

_GRAVEST: tuple[Kind, ...] = get_args(Kind)
_KIND_OF: dict[Concern, Kind] = {
    "address": "unlisted_host", "answer": "site_error", "page": "wrong_page", "speed": "site_slow"
}  # fmt: skip
HEALTH_FILE = "site_health.json"
"""Faults of the sites of a trial before it or after it; absent if there were none."""
_REFUSAL, _UNAUTHORIZED, _SITE_ERROR = 400, 401, 500
# A server or proxy refuses with these, for any request: late, for another host, too many.
_BY_THE_SERVER = (408, 421, 429)
_TOO_LARGE, _SMALL = 413, 100_000
# They count as a lost login only where the site also asks for a login elsewhere.
_REFUSALS = (403, 419, 422)
# A page that is left sooner than this aborts its requests without any fault of the site.
_STALLED_MS = 10_000
# Failures that the page or the agent's browser caused; all others are the network's or the site's.
_LEFT = ("ERR_ABORTED", "was left before")
_HEALTH = TypeAdapter(list[SiteFault])
_REFUSED_CHANGE = re.compile(
    r"SQLSTATE\[\w+\]|(?i:read.?only (sql )?(database|transaction)|no space left on device)"
)
_CALLED_FORGED = re.compile(
    r"csrf token is invalid|invalid form key|page expired|the change you requested was rejected",
    re.IGNORECASE,
)
# A request without a token is refused rightly.
_TOKEN = re.compile(r"form_key|csrf|token", re.IGNORECASE)
_REFUSED = ("ERR_BLOCKED", "ERR_UNSAFE_PORT", "ERR_INVALID_URL", "_URL_SCHEME", "csp", "Origin")


class TrafficFault(Record):
    """A fault, the line of the recording that shows it, and the request on which it was.

    `expected` is a request that the task's checks look for, `page` a page of its sites that did not
    open later either, `other` anything else.
    """

    kind: Kind
    evidence: str
    on: Literal["expected", "page", "other"] = "other"


@dataclass(frozen=True)
class RecordedRequest:
    """A request to one of the task's sites, or to a target of their redirects.

    Attributes:
        url: With `__SITE__`, as in a definition, if it is below the site's URL.
        path: Its path at the site's host.
        elsewhere: What `url` would be if its host were a site's, with the site and the root to list.
        status: Of its answer; -1 if there is none.
        slow: A page that was answered, but late.
    """

    site: str | None
    method: str
    url: str
    is_page: bool
    status: int
    fault: TrafficFault | None
    path: str = ""
    elsewhere: tuple[tuple[str, str, str], ...] = ()
    slow: TrafficFault | None = None


def traffic_fault_in(
    har: Path,
    config: EnvironmentConfig,
    sites: Sequence[str],
    expected: Iterable[ExpectedRequest] = (),
) -> TrafficFault | None:
    """Return the fault in a recording that explains most, None when there is none."""
    try:
        entries = decode_json(har.read_text(encoding="utf-8"))["log"]["entries"]
        readable = [each for each in entries if isinstance(each["response"]["status"], int)]
        requests = recorded_requests(readable, config, sites)
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None  # the evaluator's own result names the fault in such a recording
    health = har.with_name(HEALTH_FILE)
    known = _HEALTH.validate_json(health.read_bytes()) if health.is_file() else []
    return decisive_fault(requests, list(expected), known)


def note_health(folder: Path, faults: Iterable[SiteFault]) -> None:
    """Add faults of a trial's sites to those in its folder."""
    path = folder / HEALTH_FILE
    known = _HEALTH.validate_json(path.read_bytes()) if path.is_file() else []
    if found := list(dict.fromkeys([*known, *faults])):
        path.write_bytes(_HEALTH.dump_json(found, indent=1))


def decisive_fault(
    requests: Sequence[RecordedRequest],
    expected: Sequence[ExpectedRequest],
    health: Sequence[SiteFault] = (),
) -> TrafficFault | None:
    """Return the fault that explains most: on an expected request, on a page, on any request."""
    needed = {
        each: TrafficFault(kind=_KIND_OF[each.concern], evidence=str(each))
        for each in health
        if _is_needed(each, requests, expected)
    }
    seen = [each.fault for each in requests]
    moved = [e for e in (*seen, *needed.values()) if e is not None and e.kind == "unlisted_host"]
    # a site without data never gives the expected answer
    moved += [fault for each, fault in needed.items() if each.request == "data"]
    missed = any(not each.passed for each in expected)
    for on, found in (
        ("expected", [*(_met(each, requests) for each in expected), *(moved if missed else ())]),
        (
            "page",
            [*(each.fault for each in _unopened(requests)), *_dead(requests), *needed.values()],
        ),
        ("page", [each.slow for each in requests]),
        ("other", seen),
    ):
        for kind in _GRAVEST:
            first = next((each for each in found if each is not None and each.kind == kind), None)
            if first is not None:
                return first.model_copy(update={"on": on})
    return None


def _is_needed(
    fault: SiteFault, requests: Sequence[RecordedRequest], expected: Sequence[ExpectedRequest]
) -> bool:
    """Return whether a trial needed the faulty part of a site."""
    if fault.concern == "address":  # it matters if requests are scored
        return bool(expected)
    known = (each for each in SITE_FACTS[fault.site].known if each.name == fault.request)
    below = next((each.below for each in known), ())
    wanted = (url for each in expected for url in each.urls)
    return (
        not below
        or any(e.site == fault.site and e.path.startswith(below) for e in requests)
        or any(f"__{fault.site.upper()}__{path}" in url for path in below for url in wanted)
    )


def _dead(requests: Sequence[RecordedRequest]) -> Iterator[TrafficFault]:
    """Yield faults of sites' resources for a page's scripts, if no such request was answered."""
    for site in {each.site for each in requests if each.site is not None}:
        for known in SITE_FACTS[site].known:
            of_it = [
                e for e in requests if e.site == site and e.path.startswith(known.below or ("//",))
            ]
            if of_it and all(each.fault is not None for each in of_it):
                yield of_it[-1].fault  # type: ignore[misc]  # all have one


def recorded_requests(
    entries: Iterable[dict[str, Any]], config: EnvironmentConfig, sites: Sequence[str]
) -> list[RecordedRequest]:
    """Return the requests of a HAR, and of those to `sites` or to where one redirected the faults."""
    reader = _Reader(config, sites)
    return [reader.read(entry) for entry in entries]


def _met(expected: ExpectedRequest, requests: Sequence[RecordedRequest]) -> TrafficFault | None:
    """Return the fault of an expected request.

    The last such request counts, as for the evaluator. If any counts and one passed, all must have a
    fault: a site that asks for a new login answers 302, which many tasks expect.
    """
    asked = [each for each in requests if expected.matches(each.method, each.url)]
    for each in () if asked else requests:
        for url, name, root in each.elsewhere:
            if expected.matches(each.method, url):
                evidence = ": ".join(told(name, "what the task expects", each.url, root))
                return TrafficFault(kind="unlisted_host", evidence=evidence)
    if not asked or (expected.passed and expected.is_any and any(not e.fault for e in asked)):
        return None
    last = asked[-1]
    if last.fault is None and last.status in _REFUSALS:
        lost = (each.fault for each in requests if each.site == last.site and each.fault)
        return next((each for each in lost if each.kind == "login_lost"), None)
    return last.fault


def _unopened(requests: Sequence[RecordedRequest]) -> Iterator[RecordedRequest]:
    """Yield the pages with a fault that were not opened later."""
    opened: set[str] = set()
    for each in reversed(requests):
        address = each.url.partition("?")[0]
        if each.is_page and each.fault is None:
            opened.add(address)
        elif each.is_page and address not in opened:
            yield each


class _Reader:
    """Reader of HAR entries in their order; a logout by the agent itself is not a lost login."""

    def __init__(self, config: EnvironmentConfig, sites: Sequence[str]) -> None:
        self._roots = [
            (name, url)
            for name in sites
            if not config.missing([name])
            for url in sorted(config.site(name).urls, key=len, reverse=True)
        ]
        self._config = config
        self._sent_to: dict[str, TrafficFault | None] = {}
        self._logged_out: set[str] = set()
        self._pages: dict[str, str] = {}

    def read(self, entry: dict[str, Any]) -> RecordedRequest:
        """Return the request; one that no site sent the browser to has no fault."""
        request, response = entry["request"], entry["response"]
        url = urldefrag(request["url"]).url
        # Its site, and which of the site's URLs it is below.
        host = address_of(url)
        here = [(name, root) for name, root in self._roots if address_of(root) == host]
        below = [(name, root) for name, root in here if _is_below(url, root)]
        name, root = next(iter([*below, *here]), (None, ""))
        if name is not None and response.get("redirectURL"):
            self._redirected(name, url, urldefrag(urljoin(url, response["redirectURL"])).url)
        lost = None if name is None else self._login_lost(name, root, entry)
        if name is None:
            self._moved_itself(url, request)
        elif _is_page(request):
            self._pages[_after_host(url)] = name
        if name is None and url not in self._sent_to:
            fault = None  # the agent went there by itself
        else:
            moved = self._sent_to.get(url) if response["status"] >= 0 else None
            fault = lost or moved or _site_error(entry) or _unanswered(entry) or _foreign(entry)
        path = _after_host(url)
        elsewhere = [
            (f"__{site.upper()}__{path[len(base) :]}", site, "/".join(url.split("/")[:3]) + base)
            for site, base in sorted({(n, urlsplit(r).path.rstrip("/")) for n, r in self._roots})
            if name is None and path.startswith(base)
        ]
        return RecordedRequest(
            site=name,
            method=request["method"],
            url=f"__{name.upper()}__{path[len(urlsplit(root).path) :]}" if name and below else url,
            path=path,
            elsewhere=tuple(elsewhere),
            is_page=_is_page(request),
            status=response["status"],
            fault=fault,
            slow=_late(entry) if name is not None and fault is None else None,
        )

    def _moved_itself(self, url: str, request: dict[str, Any]) -> None:
        """Find a page that its site left for the same path at another host, by a script or a `<meta>`."""
        name, headers = self._pages.get(_after_host(url)), _headers(request)
        asked = headers.get("referer", "")
        if name is None or not _is_page(request) or url in self._sent_to:
            return
        from_here = any(address_of(root) == address_of(asked) for _, root in self._roots)
        # every site has a page at "/", to which links lead
        ends = {".".join(str(urlsplit(each).hostname).split(".")[-2:]) for each in (asked, url)}
        if from_here and (urlsplit(url).path != "/" or len(ends) == 1):
            self._redirected(name, asked, url)

    def _redirected(self, name: str, url: str, target: str) -> None:
        site = self._config.site(name)
        root = unlisted_root(site, target)
        moved = None
        if root is not None:
            evidence = ": ".join(told(name, url, target, root))
            moved = TrafficFault(kind="unlisted_host", evidence=evidence)
        self._sent_to[target] = moved

    def _login_lost(self, name: str, root: str, entry: dict[str, Any]) -> TrafficFault | None:
        facts, request, response = SITE_FACTS[name], entry["request"], entry["response"]
        if facts.login_path is None or facts.logout_path is None:
            return None
        if _is_below(request["url"], root + facts.logout_path):
            self._logged_out.add(name)
        if name in self._logged_out:
            return None
        page, target = (root + facts.login_path).rstrip("/"), response.get("redirectURL") or ""
        target = urljoin(request["url"], target).partition("?")[0]
        shown = str((response.get("content") or {}).get("text") or "")
        if response.get("redirectURL") and _is_login(target, page, facts):
            how = f"was sent to the login page {target}"
            is_lost = not _is_login(request["url"], page, facts)  # else an attempt that failed
        elif request["method"] == "GET" and "password" in shown and shows_login(shown):
            how = "showed the login form"
            is_lost = not facts.login_path or not _is_login(request["url"], page, facts)
        else:
            how, is_lost = "was answered with status 401", response["status"] == _UNAUTHORIZED
        return _fault("login_lost", entry, how) if is_lost else None


def _site_error(entry: dict[str, Any]) -> TrafficFault | None:
    status = entry["response"]["status"]
    refused = status in _BY_THE_SERVER or (status == _TOO_LARGE and len(_posted(entry)) < _SMALL)
    if status < _SITE_ERROR and not refused:
        return None
    return _fault("site_error", entry, f"was answered with status {status}")


def _unanswered(entry: dict[str, Any]) -> TrafficFault | None:
    """Find a request without a complete answer.

    A request that the page or the agent soon left does not count, nor one whose answer was still
    arriving, nor one with an error status: Chromium reports an error without a body as a failure.
    """
    response = entry["response"]
    status = response["status"]
    excused: tuple[str, ...] = _REFUSED
    if status >= 0:
        excused = (*_REFUSED, *_LEFT, UNFINISHED)
    elif entry.get("time", 0) < _STALLED_MS:
        excused = (*_REFUSED, *_LEFT)
    why = str(response.get("_failureText") or ("" if status >= 0 else "no answer"))
    if not why or status >= _REFUSAL or any(each in why for each in excused):
        return None
    how = "could not be opened" if status < 0 else "was cut off"
    return _fault("navigation_blocked", entry, f"{how}: {why}")


def _foreign(entry: dict[str, Any]) -> TrafficFault | None:
    """Find a response in place of a site's page: one about maintenance, say, or one that is not a page.

    Some sites report a change that their database refused with status 200.
    """
    content = entry["response"].get("content") or {}
    text = str(content.get("text") or "")
    kind = str(content.get("mimeType") or "").partition(";")[0].lower()
    status = entry["response"]["status"]
    if not _is_page(entry["request"]) or status not in {200, *_REFUSALS}:
        return None
    if status == 200 and _headers(entry["response"]).get("content-length") == "0":
        return _fault("wrong_page", entry, "was answered with an empty page")
    if kind == "application/octet-stream":
        return _fault("wrong_page", entry, f"was answered as {kind} instead of a page")
    if entry["request"]["method"] == "POST":
        forged = _CALLED_FORGED.search(text) if _TOKEN.search(_posted(entry)) else None
        if refused := _REFUSED_CHANGE.search(text) or forged:
            return _fault("site_error", entry, f"was answered with {refused.group()!r}")
    title = foreign_page(text)
    return None if title is None else _fault("wrong_page", entry, f"shows a page titled {title!r}")


def _late(entry: dict[str, Any]) -> TrafficFault | None:
    took = entry.get("time", 0)
    if not _is_page(entry["request"]) or took < _STALLED_MS:
        return None
    return _fault("site_slow", entry, f"took {took / 1000:.0f} s")


def _fault(kind: Kind, entry: dict[str, Any], how: str) -> TrafficFault:
    request = entry["request"]
    return TrafficFault(kind=kind, evidence=f"{request['method']} {request['url']} {how}")


def _is_login(url: str, page: str, facts: SiteFacts) -> bool:
    """Return whether a URL is the login page; Magento adds the page to return to to its path."""
    address = url.partition("?")[0].rstrip("/")
    return address == page or (bool(facts.login_path) and _is_below(address, page))


def _is_below(url: str, root: str) -> bool:
    path, start = _after_host(url), urlsplit(root).path.rstrip("/")
    is_inside = path == start or path.startswith((f"{start}/", f"{start}?"))
    return is_inside and address_of(url) == address_of(root)


def _after_host(url: str) -> str:
    parts = urlsplit(url)
    return f"{parts.path}?{parts.query}" if parts.query else parts.path


def _is_page(request: dict[str, Any]) -> bool:
    headers = _headers(request)
    return headers.get("sec-fetch-dest", "document") == "document" and headers.get(
        "accept", ""
    ).startswith("text/html")


def _posted(entry: dict[str, Any]) -> str:
    return str((entry["request"].get("postData") or {}).get("text") or "")


def _headers(message: dict[str, Any]) -> dict[str, str]:
    return {each["name"].lower(): str(each["value"]) for each in message["headers"]}
