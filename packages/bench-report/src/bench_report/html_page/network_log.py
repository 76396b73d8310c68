"""A trial's network recording (HAR) in a few lines: hosts, failures, sizes."""

from __future__ import annotations

import gzip
import os
import zlib
from collections import Counter, defaultdict
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from pydantic_core import from_json

from bench_core.errors import RefusedFileError
from bench_core.files import open_inside
from bench_report.text.untrusted import inline

_NAMES = ("network.har", "network.har.gz")
_MAX_BYTES = 32 * 2**20
_HOSTS = 8
_FAILURES = 12
_URL = 300
_FAILED = 400
_DAY_MS = 86_400_000
_PARTS_OF_PAGES = (
    ".css", ".js", ".png", ".jpg", ".jpeg", ".gif", ".svg", ".webp", ".ico", ".woff", ".woff2", ".ttf",
)  # fmt: skip


def read_calls(folder: Path) -> list[HarRequest] | str | None:
    """Return the requests of a trial's HAR file, or its fault; `None` if there is none."""
    file = next((folder / name for name in _NAMES if os.path.lexists(folder / name)), None)
    if file is None:
        return None
    entries = _entries(file)
    if isinstance(entries, str):
        return f"{file.name}: {entries}"
    return [HarRequest(entry) for entry in entries if isinstance(entry, dict)]


def summary_of(calls: list[HarRequest] | str | None) -> dict[str, Any] | None:
    """Summarize the requests of a trial; `None` if none were recorded.

    Returns:
        `note` when they cannot be read; else `requests`, `failed`, `bytes`, the most frequent `methods` and
        `hosts` (name, requests, failed), and the first `failures` (status, method, URL).
    """
    if calls is None:
        return None
    if isinstance(calls, str):
        return {"note": calls}
    failures = [call for call in calls if call.failed]
    hosts: defaultdict[str, list[int]] = defaultdict(lambda: [0, 0])
    for call in calls:
        hosts[call.host][0] += 1
        hosts[call.host][1] += call.failed
    busiest = sorted(hosts.items(), key=lambda item: (-item[1][0], item[0]))[:_HOSTS]
    return {
        "requests": len(calls),
        "failed": len(failures),
        "bytes": sum(call.size for call in calls),
        "methods": dict(Counter(call.method for call in calls).most_common(_HOSTS)),
        "hosts": [[host, *counts] for host, counts in busiest],
        "failures": [[call.status, call.method, call.url] for call in failures[:_FAILURES]],
    }


def _entries(file: Path) -> list[Any] | str:
    """Return the entries, or the fault of the file."""
    try:
        with open_inside(file.parent, file.name) as plain:
            opened = gzip.GzipFile(fileobj=plain) if file.suffix == ".gz" else plain
            # Bounded after unpacking: a small gzip file can contain gigabytes. The byte more shows that it goes on.
            data = opened.read(_MAX_BYTES + 1)
    except RefusedFileError as refused:
        return refused.problem
    except (OSError, EOFError, zlib.error) as error:
        return f"cannot be read: {error}"
    if len(data) > _MAX_BYTES:
        return f"more than {_MAX_BYTES // 2**20} MB, too much to summarise here"
    try:
        found = from_json(data)
    except ValueError:
        return "not JSON"
    log = found.get("log") if isinstance(found, dict) else None
    entries = log.get("entries") if isinstance(log, dict) else None
    return entries if isinstance(entries, list) else "not a HAR file"


class HarRequest:
    """One request, read leniently: recorders omit different fields."""

    def __init__(self, entry: dict[str, Any]) -> None:
        request, response = (_object(entry.get(name)) for name in ("request", "response"))
        self.method = inline(str(request.get("method", "?")), 20)
        self.url = inline(str(request.get("url", "")), _URL)
        status = response.get("status")
        self.status = status if isinstance(status, int) else 0
        sizes = (response.get("bodySize"), _object(response.get("content")).get("size"))
        # HAR writes -1 for an unknown size; content is the size after unpacking
        self.size = next((size for size in sizes if isinstance(size, int) and size > 0), 0)
        self.sent: float | None = None
        with suppress(TypeError, ValueError, OverflowError, OSError):
            self.sent = datetime.fromisoformat(entry.get("startedDateTime", "")).timestamp()
        took = entry.get("time")
        self.ms = took if isinstance(took, int | float) and 0 <= took < _DAY_MS else None

    @property
    def failed(self) -> bool:
        """Whether it got no answer, or one with an error status."""
        return self.status == 0 or self.status >= _FAILED

    @property
    def weight(self) -> int:
        """How soon it is left out of a short list: 0 for changes and failures, 1 others, 2 parts of a page."""
        if self.failed or self.method not in {"GET", "HEAD", "OPTIONS"}:
            return 0
        path = self.url.partition("?")[0].lower()
        return 2 if path.endswith(_PARTS_OF_PAGES) else 1

    @property
    def host(self) -> str:
        """The host and port that were asked."""
        try:
            return urlsplit(self.url).netloc or "?"
        except ValueError:
            return "?"


def _object(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}
