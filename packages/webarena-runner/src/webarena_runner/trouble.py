"""What went wrong around an agent, as its traffic shows it: login lost, site errors, dead pages."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal
from urllib.parse import urljoin, urlsplit

from bench_core.codec import decode_json
from bench_core.records import Record
from webarena_runner.sites import SITE_FACTS

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from webarena_runner.config import EnvironmentConfig

__all__ = ["Trouble", "trouble_in"]

_SITE_ERROR = 500
_GIVEN_UP = "net::ERR_ABORTED"


class Trouble(Record):
    """A kind of trouble and the line of the recording that shows it."""

    kind: Literal["login_lost", "site_error", "navigation_blocked"]
    evidence: str


def trouble_in(har: Path, config: EnvironmentConfig) -> Trouble | None:
    """Return the gravest trouble that a recording shows, null when there is none."""
    try:
        entries = decode_json(har.read_text(encoding="utf-8"))["log"]["entries"]
        readable = [each for each in entries if isinstance(each["response"]["status"], int)]
        return _trouble(readable, config)
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None  # the evaluator has said what is wrong with such a recording


def _trouble(entries: list[dict[str, Any]], config: EnvironmentConfig) -> Trouble | None:
    return _login_lost(entries, config) or _site_error(entries, config) or _blocked(entries)


def _login_lost(entries: Iterable[dict[str, Any]], config: EnvironmentConfig) -> Trouble | None:
    login_pages = {
        f"{url}{SITE_FACTS[name].login_path}".rstrip("/")
        for name, site in config.sites.items()
        if SITE_FACTS[name].login_path is not None
        for url in site.urls
    }
    for each in entries:
        request, response = each["request"], each["response"]
        target = urljoin(request["url"], response.get("redirectURL") or "").partition("?")[0]
        asked = request["url"].partition("?")[0].rstrip("/")
        if response.get("redirectURL") and target.rstrip("/") in login_pages - {asked}:
            line = f"{request['method']} {request['url']} was sent to the login page {target}"
            return Trouble(kind="login_lost", evidence=line)
    return None


def _site_error(entries: Iterable[dict[str, Any]], config: EnvironmentConfig) -> Trouble | None:
    hosts = {urlsplit(url).netloc for site in config.sites.values() for url in site.urls}
    failed = [
        each
        for each in entries
        if each["response"]["status"] >= _SITE_ERROR
        and urlsplit(each["request"]["url"]).netloc in hosts
    ]
    if not failed:
        return None
    request, status = failed[0]["request"], failed[0]["response"]["status"]
    more = f", and {len(failed) - 1} more" if failed[1:] else ""
    line = f"{request['method']} {request['url']} was answered with status {status}{more}"
    return Trouble(kind="site_error", evidence=line)


def _blocked(entries: Iterable[dict[str, Any]]) -> Trouble | None:
    """Find a page that could not be opened; one that the agent left by itself does not count."""
    for each in entries:
        request, response = each["request"], each["response"]
        why = str(response.get("_failureText") or "no answer")
        if _is_page(request) and response["status"] < 0 and _GIVEN_UP not in why:
            line = f"{request['method']} {request['url']} could not be opened: {why}"
            return Trouble(kind="navigation_blocked", evidence=line)
    return None


def _is_page(request: dict[str, Any]) -> bool:
    headers = {each["name"].lower(): each["value"] for each in request["headers"]}
    return headers.get("sec-fetch-dest", "document") == "document" and str(
        headers.get("accept", "")
    ).startswith("text/html")
