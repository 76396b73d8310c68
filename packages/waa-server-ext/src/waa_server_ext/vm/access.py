"""Who may ask: the bearer of the token, or, where there is none, this machine."""

from __future__ import annotations

import hmac
import ipaddress
import re
from dataclasses import dataclass

from bench_core.errors import InputError

__all__ = ["TOKEN_VARIABLE", "Access", "foreign_origin", "host_name", "is_loopback"]

TOKEN_VARIABLE = "WAA_SERVER_TOKEN"  # noqa: S105  # the name of a variable


_SHORTEST = 8
_HOST = re.compile(r"(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]+)(?::(\d{1,5}))?")
_READING = frozenset({"GET", "HEAD", "OPTIONS"})


@dataclass(frozen=True)
class Access:
    """The rule of one server.

    Raises:
        InputError: The token is so short that it can be guessed.
    """

    token: str | None = None

    def __post_init__(self) -> None:
        if self.token is not None and len(self.token) < _SHORTEST:
            raise InputError(
                f"a token of {len(self.token)} characters can be guessed: ${TOKEN_VARIABLE} needs "
                f"{_SHORTEST} or more"
            )

    def refusal(self, authorization: str | None, peer: str | None, host: str | None) -> str | None:
        """Return why a request is refused; None lets it in.

        Without a token only this machine may ask, under a name of this machine, so that no web page
        gets in by a name that resolves to it.
        """
        if self.token is not None:
            sent = (authorization or "").encode("utf-8", "replace")
            right = hmac.compare_digest(sent, f"Bearer {self.token}".encode())
            return None if right else f"send 'Authorization: Bearer ...' with ${TOKEN_VARIABLE}"
        if not is_loopback(peer or ""):
            return f"only this machine may ask a server without a token: set ${TOKEN_VARIABLE}"
        if not is_loopback(host_name(host or "")):
            return f"only a loopback name may be asked without a token: set ${TOKEN_VARIABLE}"
        return None


def is_loopback(host: str) -> bool:
    """Return whether a host name or address is this machine's own loopback."""
    if host.lower().rstrip(".") == "localhost":
        return True
    try:
        address = ipaddress.ip_address(host.strip("[]"))
    except ValueError:
        return False
    mapped = getattr(address, "ipv4_mapped", None)
    return bool((mapped or address).is_loopback)


def host_name(host: str) -> str:
    """Return a Host header without its port; empty text where it is none."""
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
