"""Who may ask: the bearer of the token, or, where there is none, this machine."""

from __future__ import annotations

import hmac
import ipaddress
from dataclasses import dataclass

__all__ = ["TOKEN_VARIABLE", "Access", "is_loopback"]

TOKEN_VARIABLE = "WAA_SERVER_TOKEN"  # noqa: S105  # the name of a variable


@dataclass(frozen=True)
class Access:
    """The rule of one server."""

    token: str | None = None

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
        if not is_loopback(_name(host or "")):
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


def _name(host: str) -> str:
    """Return a Host header without its port."""
    if host.startswith("["):
        return host.partition("]")[0] + "]"
    return host.partition(":")[0]
