"""Tokens of servers: made by default, and handed to this user's programs in a private file."""

from __future__ import annotations

import contextlib
import hmac
import os
import secrets
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from html import escape
from pathlib import Path

from bench_core.errors import InputError
from bench_core.files import user_cache
from bench_core.serving.hosts import address_of, is_loopback

_SHORTEST = 8
_OWN = frozenset({"localhost", "127.0.0.1", "::1", "0.0.0.0", "::"})  # noqa: S104  # as servers are given it


def check_token(token: str | None) -> None:
    """Refuse a token that can be guessed.

    Raises:
        InputError: It has less than eight characters.
    """
    if token is not None and len(token) < _SHORTEST:
        raise InputError(
            f"a token of {len(token)} characters can be guessed: it needs {_SHORTEST} or more"
        )


def same_token(given: str | None, token: str) -> bool:
    """Compare in a time that says nothing about the token."""
    return hmac.compare_digest((given or "").encode("utf-8", "replace"), token.encode())


def behind_token(path: str, token: str | None) -> str | None:
    """Return the rest of a request's path after the token; None if it begins with another one.

    >>> behind_token("/secret/act", "secret"), behind_token("/act", "secret"), behind_token("/act", None)
    ('/act', None, '/act')
    """
    if token is None:
        return path
    first, slash, rest = path.removeprefix("/").partition("/")
    return f"{slash}{rest}" if same_token(first, token) else None


@dataclass(frozen=True)
class ServerToken:
    """The token of one server.

    Attributes:
        value: The token that clients send; None if every program of this machine is answered.
        variable: The environment variable by which a user sets it.
    """

    value: str | None
    variable: str

    @classmethod
    def choose(
        cls, variable: str, *, host: str = "127.0.0.1", without: bool = False
    ) -> ServerToken:
        """Return the variable's token, else a new one.

        Args:
            variable: The environment variable that users set.
            host: The server's address.
            without: Require no token, on loopback only.

        Raises:
            InputError: The token can be guessed, or other machines could ask without one.
        """
        if without and not is_loopback(host):
            raise InputError(f"{host} can be reached from elsewhere: serve it with a token")
        token = None if without else os.environ.get(variable) or secrets.token_urlsafe(24)
        check_token(token)
        return cls(token, variable)

    @contextlib.contextmanager
    def handed(self, url: str, *, page: bool = False) -> Iterator[str]:
        """Give a newly made token to this user's programs, in a file, while the server at `url` runs.

        Yields how to send requests, in words. With `page` the file is a page that leads a browser to `url`,
        which has the token.

        Raises:
            InputError: The file cannot be written.
        """
        if self.value is None:
            yield "every program of this machine is answered"
        elif self.value == os.environ.get(self.variable) and not page:
            yield f"clients send the token in ${self.variable} as `Authorization: Bearer`"
        else:
            path = token_file(url, page=page)
            leads = f'<meta http-equiv="refresh" content="0; url={escape(url)}">\n'
            _write_privately(path, leads if page else self.value)
            try:
                how = (
                    "open it in a browser" if page else "clients send it as `Authorization: Bearer`"
                )
                yield f"the token is in {path}, which only you can read: {how}"
            finally:
                path.unlink(missing_ok=True)


def token_for(url: str, variable: str, environ: Mapping[str, str] = os.environ) -> str | None:
    """Return the token for `url`: the variable's, else one that a server of this user handed over.

    Agents do not see these files (`bench_core.sealing`), nor the variable.
    """
    if environ.get(variable):
        return environ[variable]
    with contextlib.suppress(OSError):
        return token_file(url).read_text(encoding="utf-8")
    return None


def token_folder() -> Path:
    """Return where the tokens of this user's servers are while they run."""
    return user_cache() / "tokens"


def token_file(url: str, *, page: bool = False) -> Path:
    """Return where the token of the server at `url` is handed over, or the page that leads there."""
    host, port = address_of(url)
    # one server has several names on this machine
    name = "localhost" if host in _OWN else host.replace(":", "-")
    return token_folder() / f"{name}-{port}{'.html' if page else ''}"


def _write_privately(path: Path, text: str) -> None:
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        path.unlink(missing_ok=True)  # of a server that was killed
        # private from its creation on, and never through a link that someone put there
        with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
            file.write(text)
    except OSError as error:
        raise InputError(
            f"the token cannot be handed over in {path}: {error.strerror or error}"
        ) from error
