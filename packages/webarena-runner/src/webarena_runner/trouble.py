"""What went wrong around an agent, as its traffic shows it: login lost, site errors, dead pages.

Only requests to the task's sites count, and pages a site sent the browser to. Where the trouble was
decides what follows from it (`failures`): on a request the task expects, on a page that never
opened afterwards either, or elsewhere, which sites in good order have, too.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal
from urllib.parse import urldefrag, urljoin, urlsplit

from bench_core.codec import decode_json
from bench_core.records import Record
from webarena_runner.recording.entries import UNFINISHED
from webarena_runner.sites import SITE_FACTS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

    from webarena_runner.config import EnvironmentConfig
    from webarena_runner.expectations import ExpectedRequest
    from webarena_runner.sites import SiteFacts

__all__ = ["RecordedRequest", "Trouble", "decisive_trouble", "recorded_requests", "trouble_in"]

Kind = Literal["login_lost", "site_error", "navigation_blocked"]

_GRAVEST: tuple[Kind, ...] = ("login_lost", "site_error", "navigation_blocked")
_REFUSAL, _UNAUTHORIZED, _TOO_MANY, _SITE_ERROR = 400, 401, 429, 500
_REFUSALS = (403, 419, 422)
_STALLED_MS = 10_000
# What the page or the agent's browser did itself; every other failure is the network's or the site's.
_LEFT = ("ERR_ABORTED", "was left before")
_REFUSED = ("ERR_BLOCKED", "ERR_UNSAFE_PORT", "ERR_INVALID_URL", "_URL_SCHEME", "csp", "Origin")


class Trouble(Record):
    """A kind of trouble, the line of the recording that shows it, and what it was on.

    `expected` is a request that the task's checks look for, `page` a page of its sites that did not
    open later either, `other` anything else.
    """

    kind: Kind
    evidence: str
    on: Literal["expected", "page", "other"] = "other"


@dataclass(frozen=True)
class RecordedRequest:
    """A request to one of the task's sites, or to where one of them sent the browser.

    Attributes:
        url: Beginning with `__SITE__`, as in a definition, where it is below the site's URL.
        is_refused: Whether the site did not let it through, which may be for want of a login.
    """

    site: str | None
    method: str
    url: str
    is_page: bool
    is_refused: bool
    trouble: Trouble | None


def trouble_in(
    har: Path,
    config: EnvironmentConfig,
    sites: Sequence[str],
    expected: Iterable[ExpectedRequest] = (),
) -> Trouble | None:
    """Return the trouble in a recording that explains most, null when there is none."""
    try:
        entries = decode_json(har.read_text(encoding="utf-8"))["log"]["entries"]
        readable = [each for each in entries if isinstance(each["response"]["status"], int)]
        requests = recorded_requests(readable, config, sites)
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None  # the evaluator has said what is wrong with such a recording
    return decisive_trouble(requests, expected)


def decisive_trouble(
    requests: Sequence[RecordedRequest], expected: Iterable[ExpectedRequest]
) -> Trouble | None:
    """Return the trouble that explains most: on what is expected, on pages, on anything."""
    for on, found in (
        ("expected", [_met(each, requests) for each in expected]),
        ("page", [each.trouble for each in _unopened(requests)]),
        ("other", [each.trouble for each in requests]),
    ):
        for kind in _GRAVEST:
            first = next((each for each in found if each is not None and each.kind == kind), None)
            if first is not None:
                return first.model_copy(update={"on": on})
    return None


def recorded_requests(
    entries: Iterable[dict[str, Any]], config: EnvironmentConfig, sites: Sequence[str]
) -> list[RecordedRequest]:
    """Return the requests of a HAR that went to `sites` or to where one of them sent the browser."""
    reader = _Reader(config, sites)
    return [found for entry in entries if (found := reader.read(entry)) is not None]


def _met(expected: ExpectedRequest, requests: Sequence[RecordedRequest]) -> Trouble | None:
    """Return the trouble that an expected request met with.

    The last one counts, as for the evaluator. Where any will do and one did, all must have met
    with trouble: a site that asks for a login anew answers 302, which many tasks expect.
    """
    asked = [each for each in requests if expected.matches(each.method, each.url)]
    if not asked or (expected.passed and expected.is_any and any(not e.trouble for e in asked)):
        return None
    last = asked[-1]
    if last.trouble is None and last.is_refused:
        lost = (each.trouble for each in requests if each.site == last.site and each.trouble)
        return next((each for each in lost if each.kind == "login_lost"), None)
    return last.trouble


def _unopened(requests: Sequence[RecordedRequest]) -> Iterator[RecordedRequest]:
    """Yield the pages in trouble that were not opened later on."""
    opened: set[str] = set()
    for each in reversed(requests):
        address = each.url.partition("?")[0]
        if each.is_page and each.trouble is None:
            opened.add(address)
        elif each.is_page and address not in opened:
            yield each


class _Reader:
    """Reads one entry after the other; an agent that logged out has lost no login."""

    def __init__(self, config: EnvironmentConfig, sites: Sequence[str]) -> None:
        self._roots = [
            (name, url)
            for name in sites
            if not config.missing([name])
            for url in sorted(config.site(name).urls, key=len, reverse=True)
        ]
        self._sent_to: set[str] = set()
        self._logged_out: set[str] = set()

    def read(self, entry: dict[str, Any]) -> RecordedRequest | None:
        """Return the request, null where it is none of the sites' concern."""
        request, response = entry["request"], entry["response"]
        url = urldefrag(request["url"]).url
        name, root = self._home(url)
        if name is None and url not in self._sent_to:
            return None
        if name is not None and response.get("redirectURL"):
            self._sent_to.add(urldefrag(urljoin(url, response["redirectURL"])).url)
        lost = None if name is None else self._login_lost(name, root, entry)
        return RecordedRequest(
            site=name,
            method=request["method"],
            url=f"__{name.upper()}__{url[len(root) :]}" if name and _is_below(url, root) else url,
            is_page=_is_page(request),
            is_refused=response["status"] in _REFUSALS,
            trouble=lost or _site_error(entry) or _unanswered(entry),
        )

    def _home(self, url: str) -> tuple[str | None, str]:
        """Return the site that `url` belongs to and the URL it is known by there."""
        host = urlsplit(url).netloc
        here = [(name, root) for name, root in self._roots if urlsplit(root).netloc == host]
        below = [(name, root) for name, root in here if _is_below(url, root)]
        return next(iter([*below, *here]), (None, ""))

    def _login_lost(self, name: str, root: str, entry: dict[str, Any]) -> Trouble | None:
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
        elif facts.login_field is not None and facts.login_field in shown:
            how, is_lost = "showed the login form", request["method"] == "GET"
        else:
            how, is_lost = "was answered with status 401", response["status"] == _UNAUTHORIZED
        return _trouble("login_lost", entry, how) if is_lost else None


def _site_error(entry: dict[str, Any]) -> Trouble | None:
    status = entry["response"]["status"]
    if status < _SITE_ERROR and status != _TOO_MANY:
        return None
    return _trouble("site_error", entry, f"was answered with status {status}")


def _unanswered(entry: dict[str, Any]) -> Trouble | None:
    """Find a request without a whole answer.

    One that the page or the agent left soon does not count, nor does an answer that was still
    coming, nor an error's: Chromium calls one without a body a failure.
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
    return _trouble("navigation_blocked", entry, f"{how}: {why}")


def _trouble(kind: Kind, entry: dict[str, Any], how: str) -> Trouble:
    request = entry["request"]
    return Trouble(kind=kind, evidence=f"{request['method']} {request['url']} {how}")


def _is_login(url: str, page: str, facts: SiteFacts) -> bool:
    """Tell the login page; Magento adds to its address where to go afterwards."""
    address = url.partition("?")[0].rstrip("/")
    return address == page or (bool(facts.login_path) and _is_below(address, page))


def _is_below(url: str, root: str) -> bool:
    root = root.rstrip("/")
    return url == root or url.startswith((f"{root}/", f"{root}?"))


def _is_page(request: dict[str, Any]) -> bool:
    headers = {each["name"].lower(): each["value"] for each in request["headers"]}
    return headers.get("sec-fetch-dest", "document") == "document" and str(
        headers.get("accept", "")
    ).startswith("text/html")
