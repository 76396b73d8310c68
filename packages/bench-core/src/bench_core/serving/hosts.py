"""Names of this machine in requests, by which a page elsewhere could reach a server of ours."""

from __future__ import annotations

import ipaddress
import re

from bench_core.errors import InputError

_HOST = re.compile(r"(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]+)(?::(\d{1,5}))?")
_SHORTEST = 8
_READING = frozenset({"GET", "HEAD", "OPTIONS"})


def check_token(token: str | None) -> None:
    """Refuse a token that can be guessed.

    Raises:
        InputError: It has less than eight characters.
    """
    if token is not None and len(token) < _SHORTEST:
        raise InputError(
            f"a token of {len(token)} characters can be guessed: it needs {_SHORTEST} or more"
        )


def is_loopback(host: str) -> bool:
    """Return whether a host name or address is this machine's own loopback.

    Names below `localhost` are: browsers ask no name server for them (RFC 6761).
    """
    name = host.lower().rstrip(".")
    if name == "localhost" or name.endswith(".localhost"):
        return True
    try:
        address = ipaddress.ip_address(host.strip("[]"))
    except ValueError:
        return False
    mapped = getattr(address, "ipv4_mapped", None)
    return bool((mapped or address).is_loopback)


def host_name(host: str) -> str:
    """Return a Host header without its port; empty text where it is none, as in `[::1]evil`."""
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
