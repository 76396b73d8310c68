"""Files from the web that tasks refer to: from the assets if they are there, else bounded downloads.

Only hosts of the task set, of the VM and those the user allows are contacted, redirects included, so a
task in a request cannot make the server request arbitrary URLs.
"""

from __future__ import annotations

import functools
import ssl
import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from urllib.parse import urljoin, urlsplit

from bench_core.errors import EnvironmentFaultError
from waa_server_ext.evaluation.assets import AssetStore
from waa_server_ext.evaluation.evaluators import EvaluatorSettings
from waa_server_ext.vm.client import BodyStore, vm_address
from waa_server_ext.vm.exchanges import VmExchange

TASK_HOSTS = (
    "drive.google.com",
    "drive.usercontent.google.com",  # where the former redirects to
    "lilianweng.github.io",
    "raw.githubusercontent.com",
)
"""The hosts that the 154 tasks download from: gold files, setup files, one page made into a PDF."""

_MAX_REDIRECTS = 5


class DownloadError(EnvironmentFaultError):
    """A file could not be fetched: host refused, transport failed, too large. Never a score."""

    def __init__(self, url: str, reason: str) -> None:
        self.url = url
        self.reason = reason
        super().__init__(f"{url}: {reason}")


class HttpStatusError(Exception):
    """The host answered with an error status; `requests` calls this HTTPError."""

    def __init__(self, url: str, status: int) -> None:
        self.url = url
        self.status = status
        super().__init__(f"{status} for url: {url}")


@dataclass(frozen=True)
class HostRule:
    """The hosts that may be contacted."""

    hosts: frozenset[str]

    @classmethod
    def of(cls, settings: EvaluatorSettings, vm: str, more: Iterable[str] = ()) -> HostRule:
        """Return the rule of settings and VM."""
        host, _ = vm_address(vm)
        return cls(frozenset((*TASK_HOSTS, *settings.allow_hosts, host.strip("[]"), *more)))

    def check(self, url: str) -> None:
        """Refuse other hosts and schemes.

        Raises:
            DownloadError: Names the host and the way to allow it.
        """
        try:
            parts = urlsplit(url)
            host = parts.hostname
        except ValueError as error:
            raise DownloadError(url[:200], f"is no URL: {error}") from error
        if parts.scheme not in ("http", "https") or not host:
            raise DownloadError(url[:200], "is not an http(s) URL")
        if host not in self.hosts:
            raise DownloadError(
                url[:200],
                f"{host!r} is not a host of the task set; allow it with --allow-host {host}",
            )


def remember(settings: EvaluatorSettings, url: str, status: int, data: bytes) -> None:
    """Keep a file of the task set among the assets, so that it is fetched only once.

    Files of other hosts (the VM, hosts that the user allows) may change and are fetched each time.
    """
    is_of_task_set = urlsplit(url).hostname in TASK_HOSTS
    if settings.assets is not None and status == 200 and is_of_task_set:  # HTTP
        AssetStore(settings.assets).add(url, data)


@dataclass
class Downloads:
    """Fetches files for one evaluation or setup; records like `VmHttp`."""

    settings: EvaluatorSettings
    rule: HostRule
    deadline: float | None = None
    record: list[VmExchange] = field(default_factory=list)
    bodies: BodyStore = field(default_factory=BodyStore)

    def fetch(self, url: str) -> bytes:
        """Return the file at `url`.

        Raises:
            DownloadError: It could not be fetched.
            HttpStatusError: The host answered with a status from 400.
        """
        started = time.monotonic()
        status: int | None = None
        data, fault = b"", None
        try:
            status, data = self._answer(url)
        except DownloadError as error:
            fault = error.reason
            raise
        finally:
            body = self.bodies.keep(data) if status is not None else None
            seconds = round(time.monotonic() - started, 6)
            self.record.append(
                VmExchange(
                    target="web", method="GET", path=url, status=status, body=body,
                    seconds=seconds, error=fault,
                )
            )  # fmt: skip
        if status >= 400:  # HTTP
            raise HttpStatusError(url, status)
        return data

    def _answer(self, url: str) -> tuple[int, bytes]:
        held = AssetStore(self.settings.assets).read(url) if self.settings.assets else None
        if held is not None:
            return 200, held
        self.rule.check(url)
        if self.settings.offline:
            raise DownloadError(
                url, "is not among the assets, and the web is not asked when offline"
            )
        until = time.monotonic() + self.settings.web_timeout_s
        until = min(until, self.deadline) if self.deadline is not None else until
        asked = url
        for _ in range(_MAX_REDIRECTS):
            status, data, location = self._ask(url, until)
            if location is None:
                remember(self.settings, asked, status, data)
                return status, data
            url = urljoin(url, location)
            self.rule.check(url)
        raise DownloadError(url, f"more than {_MAX_REDIRECTS} redirects")

    def _ask(self, url: str, until: float) -> tuple[int, bytes, str | None]:
        import httpx  # slow to import

        left = until - time.monotonic()
        if left <= 0:
            raise DownloadError(url, "the time is used up")
        pieces, size = [], 0
        try:
            with httpx.stream(
                "GET", url, timeout=httpx.Timeout(min(left, 30.0)), verify=_certificates()
            ) as response:
                if response.has_redirect_location:
                    return response.status_code, b"", response.headers["location"]
                for piece in response.iter_bytes():
                    pieces.append(piece)
                    size += len(piece)
                    if size > self.settings.max_download:
                        raise DownloadError(url, f"more than {self.settings.max_download} bytes")
                    if time.monotonic() > until:
                        raise DownloadError(url, "took too long")
                return response.status_code, b"".join(pieces), None
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise DownloadError(url, f"{type(error).__name__}: {error}") from error


@functools.cache
def _certificates() -> ssl.SSLContext:
    """Load the certificates once: loading them takes longer than a download from nearby."""
    import httpx  # slow to import

    return httpx.create_ssl_context()
