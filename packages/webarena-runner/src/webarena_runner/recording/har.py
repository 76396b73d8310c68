"""Finished recordings: HAR 1.2 documents that are written completely or not at all."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any
from urllib.parse import urljoin

from bench_core.files import write_atomic
from webarena_runner.__about__ import __version__
from webarena_runner.recording.entries import entry, timestamp
from webarena_runner.recording.exchanges import HttpExchange

_MIB = 1024 * 1024

# `<link rel="search" href="...">`, with its attributes in either order
_SEARCH = re.compile(
    rb"""<link\b(?=[^>]*\brel\s*=\s*["']?search\b)[^>]*\bhref\s*=\s*["']?([^"'\s>]+)""",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class RecordingLimits:
    """Limits of one recording; the HAR lists omissions.

    Attributes:
        post_bytes: Longest request body; the rest of a longer one is cut off.
        body_bytes: Longest response body; a longer one is left out.
        total_bytes: All response bodies together; later ones are left out.
        entries: Number of requests, plus as many images, style sheets, scripts and fonts; later ones
            are only counted.
        body_s: Longest time for the browser to return one body.
    """

    post_bytes: int = 8 * _MIB
    body_bytes: int = 2 * _MIB
    total_bytes: int = 64 * _MIB
    entries: int = 20_000
    body_s: float = 5.0

    def describe(self) -> str:
        """Return a sentence for readers of the HAR about the recorded traffic."""
        return (
            "Recorded over the DevTools protocol. Bodies are kept of requests up to "
            f"{self.post_bytes} bytes and of JSON, HTML and form responses up to "
            f"{self.body_bytes} bytes each and {self.total_bytes} bytes together."
        )


@dataclass(frozen=True)
class Har:
    """A recording.

    Attributes:
        document: The HAR as JSON values.
        problems: Sentences on why requests may be missing; empty if all were recorded.
        dropped: Number of requests that were not kept, because there were too many.
    """

    document: dict[str, Any]
    problems: tuple[str, ...] = ()
    dropped: int = 0

    @property
    def entries(self) -> list[dict[str, Any]]:
        """The requests, in the order in which they started."""
        entries: list[dict[str, Any]] = self.document["log"]["entries"]
        return entries

    @property
    def complete(self) -> bool:
        """Whether all requests from start to stop are recorded."""
        return not self.problems and not self.dropped

    def write(self, path: Path, redact: Callable[[str], str] = lambda text: text) -> None:
        """Write to `path` after `redact`; a crash at any point leaves the old file or the new one."""
        text = redact(json.dumps(self.document, separators=(",", ":")))
        write_atomic(path, text.encode("utf-8"))


def build_har(
    exchanges: Sequence[HttpExchange],
    *,
    browser: tuple[str, str],
    comment: str,
    phases: Iterable[tuple[str, float]] = (),
    problems: Sequence[str] = (),
    dropped: int = 0,
    silent: Mapping[str, str] = MappingProxyType({}),
) -> Har:
    """Build a HAR.

    Args:
        exchanges: The requests.
        browser: Its name and version.
        comment: For readers.
        phases: Names and wall-clock seconds of moments.
        problems: Why requests may be missing.
        dropped: Number of requests over the limit.
        silent: URLs that the browser may have requested without a report, and why.
    """
    over = [f"{dropped} later requests were over the limit."] if dropped else []
    log = {
        "version": "1.2",
        "creator": {"name": "webarena-runner", "version": __version__},
        "browser": {"name": browser[0], "version": browser[1]},
        "pages": _pages(exchanges),
        "entries": [entry(each) for each in exchanges],
        "comment": " ".join([comment, *problems, *over]),
        "_marks": [{"name": name, "startedDateTime": timestamp(at)} for name, at in phases],
        "_complete": not problems and not dropped,
        "_unreported": [
            {"url": url, "comment": why} for url, why in {**_searches(exchanges), **silent}.items()
        ],
    }
    return Har({"log": log}, tuple(problems), dropped)


def _searches(exchanges: Iterable[HttpExchange]) -> dict[str, str]:
    """Find the descriptions of search engines that pages name: Chromium itself fetches them."""
    return {
        urljoin(
            each.hop.url, html.unescape(found.decode(errors="replace"))
        ): "named by a page as the description of its search engine"
        for each in exchanges
        if each.hop.kind == "Document"
        for found in _SEARCH.findall(each.hop.content or b"")
    }


def _pages(exchanges: Iterable[HttpExchange]) -> list[dict[str, Any]]:
    """Return one page per tab, with the URL of its first document as title."""
    pages: dict[str, dict[str, Any]] = {}
    for each in exchanges:
        hop = each.hop
        if hop.page is not None and hop.page not in pages:
            pages[hop.page] = {
                "id": hop.page,
                "startedDateTime": timestamp(hop.wall_time),
                "title": hop.url,
                "pageTimings": {},
            }
    return list(pages.values())
