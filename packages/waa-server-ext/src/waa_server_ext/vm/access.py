"""Access control: the bearer of the token or, without a token, this machine."""

from __future__ import annotations

from dataclasses import dataclass

from bench_core.serving import check_token, host_name, is_loopback, same_token

TOKEN_VARIABLE = "WAA_SERVER_TOKEN"  # noqa: S105  # the name of a variable
VM_TOKEN_VARIABLE = "WAA_VM_TOKEN"  # noqa: S105  # the name of a variable
"""The token that a simulated VM requires; a real one does not have any."""


@dataclass(frozen=True)
class Access:
    """The rule of one server.

    Raises:
        InputError: The token is so short that it can be guessed.
    """

    token: str | None = None

    def __post_init__(self) -> None:
        check_token(self.token)

    def refusal(self, authorization: str | None, peer: str | None, host: str | None) -> str | None:
        """Return the reason to refuse a request; None lets it in.

        Without a token only this machine may ask, under one of its own names, so that no web page
        gets in by a name that resolves to it (DNS rebinding).
        """
        if self.token is not None:
            right = same_token(authorization, f"Bearer {self.token}")
            return None if right else f"send 'Authorization: Bearer ...' with ${TOKEN_VARIABLE}"
        if not is_loopback(peer or ""):
            return f"only this machine may ask a server without a token: set ${TOKEN_VARIABLE}"
        if not is_loopback(host_name(host or "")):
            return f"only a loopback name may be asked without a token: set ${TOKEN_VARIABLE}"
        return None
