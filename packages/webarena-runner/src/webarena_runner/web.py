"""A small HTTP client for the sites, with cookies, redirects, loopback names and a hard deadline.

It is written here because the standard cookie jar turns `localhost` into `localhost.local`, and because
`*.localhost`, which every browser resolves to this machine, does not resolve in Python everywhere.
"""

from __future__ import annotations

import http.client
import socket
import ssl
import time
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass, field
from email.utils import parsedate_to_datetime
from urllib.parse import urlencode, urljoin, urlsplit

from bench_core.errors import EnvironmentFaultError
from bench_core.serving import is_loopback

__all__ = ["Cookie", "FetchedPage", "WebClient", "parse_cookie"]

_MAX_BODY = 8 * 1024 * 1024
_MAX_HOPS = 10
_CHUNK = 64 * 1024
_REDIRECTS = frozenset({301, 302, 303, 307, 308})
# Browsers repeat a POST for these, and send a GET for the other redirects.
_KEEPS_METHOD = frozenset({307, 308})


@dataclass(frozen=True)
class Cookie:
    """One cookie with the fields that browsers store; `expires` is seconds since the epoch."""

    name: str
    value: str = field(repr=False)
    domain: str
    path: str = "/"
    host_only: bool = True
    expires: float | None = None
    secure: bool = False
    http_only: bool = False
    same_site: str | None = None

    def goes_to(self, url: str) -> bool:
        """Return whether a request for `url` carries this cookie."""
        parts = urlsplit(url)
        host = (parts.hostname or "").lower()
        same_host = host == self.domain
        below = not self.host_only and host.endswith("." + self.domain)
        base = self.path.rstrip("/") + "/"
        in_path = (parts.path or "/") == self.path or (parts.path or "/").startswith(base)
        # as browsers do: they send these to this machine in clear text, too
        safe = not self.secure or parts.scheme == "https" or is_loopback(host)
        return (same_host or below) and in_path and safe


@dataclass(frozen=True)
class FetchedPage:
    """The page at the end of a request's redirects."""

    url: str
    status: int
    text: str
    headers: Mapping[str, str] = field(default_factory=dict)

    def header(self, name: str) -> str:
        """Return a header's value in any spelling of its name; "" if there is none."""
        return next((v for k, v in self.headers.items() if k.lower() == name), "")


class WebClient:
    """HTTP client that fetches pages like a browser with an empty profile, without running scripts.

    Args:
        timeout_s: Longest time one call may take, redirects and slow bodies included.
        headers: Sent with every request in addition to the client's own.

    Attributes:
        at: The URL of the last request.
    """

    def __init__(self, timeout_s: float = 20.0, headers: Mapping[str, str] | None = None) -> None:
        self.timeout_s = timeout_s
        self._extra = dict(headers or {})
        self.cookies: list[Cookie] = []
        self.at = ""

    def get(self, url: str) -> FetchedPage:
        """Fetch a page, following redirects.

        Raises:
            EnvironmentFaultError: The site does not answer, or not in time, or not in HTTP.
        """
        return self._follow("GET", url, None)

    def post(self, url: str, form: list[tuple[str, str]]) -> FetchedPage:
        """Send a form and follow the redirects; raises like `get`."""
        return self._follow("POST", url, urlencode(form).encode())

    def _follow(self, method: str, url: str, body: bytes | None) -> FetchedPage:
        deadline = time.monotonic() + self.timeout_s
        first = url
        for _ in range(_MAX_HOPS + 1):
            self.at = url
            page = self._exchange(method, url, body, deadline)
            location = page.header("location")
            if page.status not in _REDIRECTS or not location:
                return page
            url = urljoin(url, location)
            if page.status not in _KEEPS_METHOD:
                method, body = "GET", None
        raise EnvironmentFaultError(f"{first} redirects more than {_MAX_HOPS} times")

    def _exchange(self, method: str, url: str, body: bytes | None, deadline: float) -> FetchedPage:
        parts = urlsplit(url)
        target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        try:
            with closing(_connection(url, _left(deadline))) as connection:
                connection.request(method, target, body, self._headers(url, body))
                response = connection.getresponse()
                for line in response.msg.get_all("Set-Cookie") or []:
                    self._keep(parse_cookie(line, url))
                text = _read(response, connection, deadline)
                return FetchedPage(url, response.status, text, dict(response.getheaders()))
        except TimeoutError as error:
            raise EnvironmentFaultError(
                f"{url} accepted the connection but did not answer within {self.timeout_s:g} s"
            ) from error
        except (OSError, http.client.HTTPException) as error:
            reason = str(error) or type(error).__name__
            raise EnvironmentFaultError(f"{url} cannot be reached: {reason}") from error

    def _keep(self, cookie: Cookie | None) -> None:
        """Keep a cookie in place of an earlier one; an expired one only takes its place away."""
        if cookie is None:
            return
        same = (cookie.name, cookie.domain, cookie.path)
        self.cookies = [c for c in self.cookies if (c.name, c.domain, c.path) != same]
        if cookie.expires is None or cookie.expires > time.time():
            self.cookies.append(cookie)

    def _headers(self, url: str, body: bytes | None) -> dict[str, str]:
        headers = {
            "Accept": "text/html,application/xhtml+xml",
            "Connection": "close",
            "User-Agent": "Mozilla/5.0 (X11; Linux x86_64) webarena-runner",
            **self._extra,
        }
        # by host only, as browsers do: cookies ignore ports
        sent = [cookie for cookie in self.cookies if cookie.goes_to(url)]
        if sent:
            headers["Cookie"] = "; ".join(f"{cookie.name}={cookie.value}" for cookie in sent)
        if body is not None:
            headers["Content-Type"] = "application/x-www-form-urlencoded"
            headers["Referer"] = url
        return headers


def parse_cookie(line: str, url: str) -> Cookie | None:
    """Read one `Set-Cookie` line received from `url` (RFC 6265, section 5.2); None if unusable."""
    pair, *rest = line.split(";")
    name, equals, value = pair.partition("=")
    if not equals or not name.strip():
        return None
    attributes = {}
    for each in rest:
        key, _, content = each.partition("=")
        attributes[key.strip().lower()] = content.strip()
    parts = urlsplit(url)
    # a dot at the beginning has no meaning (RFC 6265, section 5.2.3)
    domain = attributes.get("domain", "").lstrip(".").lower()
    # the default is the path up to its last slash (RFC 6265, section 5.1.4)
    path = attributes.get("path", "")
    return Cookie(
        name=name.strip(),
        value=value.strip(),
        domain=domain or (parts.hostname or "").lower(),
        path=path if path.startswith("/") else parts.path.rpartition("/")[0] or "/",
        host_only=not domain,
        expires=_expiry(attributes),
        secure="secure" in attributes,
        http_only="httponly" in attributes,
        same_site=attributes.get("samesite") or None,
    )


def _expiry(attributes: dict[str, str]) -> float | None:
    # Max-Age has precedence over Expires (RFC 6265, section 5.3)
    age = attributes.get("max-age", "")
    if age.lstrip("-").isdecimal():
        return time.time() + int(age)
    try:
        return parsedate_to_datetime(attributes["expires"].replace("-", " ")).timestamp()
    except (KeyError, ValueError, TypeError):
        return None


class _SiteConnection(http.client.HTTPConnection):
    """A connection that goes to this machine for `*.localhost`, without asking the resolver."""

    def connect(self) -> None:
        own = self.host.lower().endswith(".localhost")
        address = ("127.0.0.1" if own else self.host, self.port)
        self.sock = socket.create_connection(address, self.timeout)


class _TlsConnection(_SiteConnection):
    default_port = http.client.HTTPS_PORT

    def connect(self) -> None:
        super().connect()
        context = ssl.create_default_context()
        self.sock = context.wrap_socket(self.sock, server_hostname=self.host)


def _connection(url: str, timeout_s: float) -> _SiteConnection:
    parts = urlsplit(url)
    kind = _TlsConnection if parts.scheme == "https" else _SiteConnection
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        raise EnvironmentFaultError(f"{url!r} is not an address of a page")
    return kind(parts.hostname, parts.port, timeout=timeout_s)


def _read(response: http.client.HTTPResponse, connection: _SiteConnection, deadline: float) -> str:
    """Read a body that may arrive slowly: each read gets the remaining time of the whole call."""
    body = bytearray()
    while len(body) < _MAX_BODY:
        if connection.sock is not None:
            connection.sock.settimeout(_left(deadline))
        chunk = response.read1(_CHUNK)
        if not chunk:
            break
        body += chunk
    return body.decode(response.headers.get_content_charset("utf-8"), errors="replace")


def _left(deadline: float) -> float:
    left = deadline - time.monotonic()
    if left <= 0:
        raise TimeoutError
    return left
