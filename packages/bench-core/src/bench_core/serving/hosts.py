"""Hosts and ports of URLs in one spelling, and which of them are this machine's."""

from __future__ import annotations

import contextlib
import ipaddress
import re
import socket
from typing import NamedTuple
from unicodedata import normalize
from urllib.parse import unquote, urlsplit

_HOST = re.compile(r"(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]+)(?::(\d{1,5}))?")
_READING = frozenset({"GET", "HEAD", "OPTIONS"})
_DEFAULT_PORTS = {"http": 80, "https": 443, "ws": 80, "wss": 443, "ftp": 21}
# Chromium drops these from a URL wherever they are, and controls and spaces around it
_DROPPED = re.compile(r"[\t\r\n]")
_AROUND = "".join(map(chr, range(0x21)))
# for these schemes any number of slashes, or none, begins the host
_SLASHES = re.compile(rf"({'|'.join(_DEFAULT_PORTS)}):/*", re.IGNORECASE)


class Address(NamedTuple):
    """Host and port of a URL; the host is empty if it has none, the port None if none is known."""

    host: str
    port: int | None


def address_of(url: str) -> Address:
    """Return host and port of a URL, in one spelling for all URLs that Chromium treats as the same.

    User names, default ports, dots at the end, percent codes, upper case, full-width characters, names
    in Punycode and the many forms of an IP address make no difference.

    >>> address_of("HTTP://me@127.1./x"), address_of("http://[::ffff:7f00:1]:80")
    (Address(host='127.0.0.1', port=80), Address(host='127.0.0.1', port=80))
    """
    plain = _DROPPED.sub("", url).strip(_AROUND).replace("\\", "/")
    try:
        parts = urlsplit(_SLASHES.sub(r"\1://", plain, count=1))
        port = _DEFAULT_PORTS.get(parts.scheme) if parts.port is None else parts.port
    except ValueError:
        return Address("", None)
    return Address(_one_spelling(unquote(parts.hostname or "")), port)


def is_loopback(host: str) -> bool:
    """Return whether a host name or address is this machine's own loopback.

    Names below `localhost` are: browsers ask no name server for them (RFC 6761).
    """
    name = _one_spelling(host.strip("[]"))
    if name == "localhost" or name.endswith(".localhost"):
        return True
    with contextlib.suppress(ValueError):
        return ipaddress.ip_address(name).is_loopback
    return False


def host_name(host: str) -> str:
    """Return a Host header without its port; empty if it is malformed, as in `[::1]evil`."""
    found = _HOST.fullmatch(host)
    return found[1] if found else ""


def foreign_origin(method: str, origin: str | None, host: str | None) -> str | None:
    """Return why a request that changes something is refused for the page it comes from.

    A browser names the page's origin with each such request; programs name none.
    """
    if origin is None or method in _READING:
        return None
    own = {f"http://{host}", f"https://{host}"}
    return None if origin in own else f"a page of {origin[:100]} may change nothing here"


def _one_spelling(host: str) -> str:
    with contextlib.suppress(ValueError):
        address = ipaddress.ip_address(host)
        return str(getattr(address, "ipv4_mapped", None) or address)
    name = normalize("NFKC", host).replace("\u3002", ".").casefold().rstrip(".")
    with contextlib.suppress(UnicodeError):
        name = name.encode("idna").decode("ascii").lower()
    # `127.1`, `2130706433` and `0x7f.1` are addresses, too; the system's reader stops at a blank
    with contextlib.suppress(OSError, ValueError):
        return (
            name if name.split() != [name] else str(ipaddress.IPv4Address(socket.inet_aton(name)))
        )
    return name
