"""Remove keys from text: everything that leaves the process as text goes through here.

Two kinds of secrets are removed. *Known values*: those of the environment variables that hold keys
and of `remember_secrets`, in the encodings of `bench_core.secret_forms`. *Key
shapes*: strings that look like a provider's key, and the value of a header that carries one. Evidence
(HAR, end states) loses known values only, because the stored files are scored and a site's
own tokens may look like keys.
"""

from __future__ import annotations

import json
import logging
import os
import re
import traceback
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from typing import Any, TypeAlias
from urllib.parse import unquote, urlsplit

from bench_core.secret_forms import forms_of, wrapped_forms_of
from bench_core.secret_shapes import HEADERS, SHAPES

__all__ = ["RedactingFilter", "Redactor", "is_secret_name"]

MARKER = "[REDACTED]"
"""Stands in for a secret."""

# Shorter values, and those of few different letters, would blank words of ordinary text.
_MIN_LENGTH = 8
_SHORTEST_NEEDLE = 4
_MIN_DISTINCT = 4
_MIN_DIGITS = 16
_SECRET_NAME = re.compile(
    r"(?:API_?KEY|ACCESS_?KEY|SECRET_?KEY|PRIVATE_?KEY|TOKEN|SECRETS?|PASSWORD|PASSWD|PASSPHRASE"
    r"|CREDENTIALS?|CREDS|COOKIE|JWT|BEARER|CONNECTION_STRING|WEBHOOK"
    r"|_KEY|_PAT|(?:^|_)AUTH|_PASS|_PW|_PWD|_DSN)(?:_\d+)?$|_KEY_|PASSWORD_|SECRET_",
    re.IGNORECASE,
)
_LOGIN = re.compile(r"(?:password|pwd|accountkey)=([^\s;]+)", re.IGNORECASE)
"""A password in a variable like `POSTGRES_DSN`, which need not be a URL."""
_URL_NAME = re.compile(r"(?:_|^)(?:URL|URI|DSN)(?:_\d+)?$", re.IGNORECASE)
"""Variables like `DATABASE_URL`: secret if the URL has a password in it."""
_LONG_USER = 16
"""From here on the user of a URL without password is a key, as in `SENTRY_DSN`."""
_COMMON = frozenset({"password", "changeme", "disabled", "undefined", "anonymous", "localhost"})

_RARE = "%\\&+=~@!?$^|;<>#'*()/JQXKYVWGUHNMBFDLPRSOIECAzqxjkvwy"
"""Characters that records seldom have (dates have T and Z), the rarest first."""

_SHARED = ("passw", "secret", "_key", "token", "key")
"""Parts that many strings share, so that one search stands for all of them."""


def is_secret_name(name: str) -> bool:
    """Return whether a variable of that name holds a secret.

    >>> is_secret_name("OPENAI_API_KEY"), is_secret_name("SHOP_URL")
    (True, False)
    """
    return _SECRET_NAME.search(name) is not None


_Sieve: TypeAlias = "list[tuple[str, list[tuple[str, list[str]]]]]"


def _sieve(needles: Iterable[str]) -> _Sieve:
    """Arrange strings so that a text that has none is known by few searches, most for one character.

    A search for one character takes a tenth of one for a word, and most records lack those in which
    encoded values are rich.
    """
    groups: dict[str, dict[str, list[str]]] = {}
    for each in needles:
        rare = next((character for character in _RARE if character in each), "")
        shared = next((part for part in _SHARED if part in each), each[:2])
        groups.setdefault(rare, {}).setdefault(shared, []).append(each)
    return [
        (rare, [(part if len(alike) > 1 else alike[0], alike) for part, alike in parts.items()])
        for rare, parts in groups.items()
    ]


def _passes(sieve: _Sieve, text: str) -> bool:
    """Return whether one of a sieve's strings is in `text`."""
    for rare, starts in sieve:
        if rare in text:
            for start, needles in starts:
                if start in text:
                    for needle in needles:  # any() takes three times as long here
                        if needle in text:
                            return True
    return False


def _anchors(*, exact: bool) -> _Sieve:
    shapes = [shape for shape in SHAPES if shape.exact is exact]
    return _sieve(dict.fromkeys(anchor for shape in shapes for anchor in shape.anchors))


_EXACT_ANCHORS = _anchors(exact=True)
_ANCHORS = _anchors(exact=False)


class Redactor:
    """Removes secrets from text and JSON; redacting twice is the same as once.

    Example:
        >>> redactor = Redactor(["correct horse battery"])
        >>> redactor.redact("login with correct%20horse%20battery or sk-ant-api03-abcdefghijkl")
        'login with [REDACTED] or [REDACTED]'
        >>> redactor.redact("session sk-ant-api03-abcdefghijkl", evidence=True)
        'session sk-ant-api03-abcdefghijkl'
    """

    def __init__(self, values: Iterable[str] = ()) -> None:
        self._values = tuple(dict.fromkeys(values))
        variants = {variant for value in self._values for variant in forms_of(value)}
        # the inner letters of a short value's base64 are too few to name it, or none at all
        needles = {variant for variant in variants if len(variant) >= _SHORTEST_NEEDLE}
        # longest first, so that a value is removed before one it contains
        self._needles = _sieve(sorted(needles, key=lambda each: (-len(each), each)))
        self._wrapped = [each for value in self._values for each in wrapped_forms_of(value)]
        signs = dict.fromkeys(sign for wrapped in self._wrapped for sign in wrapped.signs)
        self._signs = _sieve(signs)
        # a pattern is longer than its match: each letter of a value, and any line ending there
        patterns = (len(each.pattern.pattern) for each in self._wrapped)
        self._longest = max((*map(len, needles), *patterns), default=0)

    @classmethod
    def from_environment(cls, environment: Mapping[str, str] | None = None) -> Redactor:
        """Know the values of all variables whose names say that they hold a secret.

        The password of a URL is known, too, and all values of `remember_secrets`. Values that are short,
        too common, or the path of a file are left out.
        """
        variables = os.environ if environment is None else environment
        return _knowing(tuple(variables.items()), tuple(_remembered))

    def knowing(self, values: Iterable[str]) -> Redactor:
        """Return a redactor that also knows `values`."""
        return Redactor((*self._values, *values))

    def __repr__(self) -> str:
        return f"<Redactor of {len(self._values)} known values>"

    def redact(self, text: str, *, evidence: bool = False) -> str:
        """Return `text` without secrets; of `evidence` only known values are removed."""
        if not evidence and not self._suspects(text):
            return text
        pieces = text.split(MARKER)
        for needle in self._found_in(text):
            pieces = [part for piece in pieces for part in piece.split(needle)]
        for wrapped in self._wrapped:
            if any(sign in text for sign in wrapped.signs):
                pieces = [part for piece in pieces for part in _cut(wrapped.pattern, piece)]
        if not evidence:
            lowered = text.lower()
            for shape in SHAPES:
                if shape.may_be_in(text, lowered):
                    pieces = [part for piece in pieces for part in _cut(shape.pattern, piece)]
        return MARKER.join(pieces)

    def redact_stream(self, pieces: Iterable[str]) -> Iterator[tuple[str, str]]:
        """Yield evidence that is too long for memory in parts, each as it was and without known values.

        No value is missed because it lies in two of `pieces`.
        """
        text = ""
        for piece in pieces:
            text += piece
            end = self._safe_cut(text)
            if end > 0:
                yield text[:end], self.redact(text[:end], evidence=True)
                text = text[end:]
        yield text, self.redact(text, evidence=True)

    def _safe_cut(self, text: str) -> int:
        """Return the place where a growing text can be cut, so that no value lies on both sides."""
        end = len(text) - self._longest
        while end > 0:
            start = max(0, end - self._longest)
            near = text[start : end + self._longest]
            found = [
                start + match.start()
                for pattern in (
                    *(re.compile(re.escape(each)) for each in self._found_in(near)),
                    *(each.pattern for each in self._wrapped),
                )
                for match in pattern.finditer(near)
                if match.start() < end - start < match.end()
            ]
            if not found:
                return end
            end = min(found)
        return 0

    def redact_json(
        self, value: Any, *, evidence: bool = False, keep: frozenset[str] = frozenset()
    ) -> Any:
        """Return the JSON `value` without secrets in strings and names.

        The value under a name in `keep` (an id, say) is left alone. The value of a member, or of
        a `{"name": ..., "value": ...}` pair, that is named like a header of keys goes as a whole.
        """
        if isinstance(value, str):
            return self.redact(value, evidence=evidence)
        if isinstance(value, list | tuple):
            return [self.redact_json(each, evidence=evidence, keep=keep) for each in value]
        if isinstance(value, dict):
            return self._redact_members(value, evidence=evidence, keep=keep)
        return value

    def redact_line(self, text: str, *, keep: frozenset[str] = frozenset()) -> str:
        """Return the JSON text `text` without secrets, unparsed when there are none."""
        # Parsing and writing each record again costs more than looking for a first sign of a
        # secret.
        if not self._suspects(text):
            return text
        clean = self.redact_json(json.loads(text), keep=keep)
        return json.dumps(clean, ensure_ascii=False, separators=(",", ":"))

    def _suspects(self, text: str) -> bool:
        """Whether something in `text` is worth a closer look; the cost of most records."""
        return (
            _passes(self._needles, text)
            or _passes(self._signs, text)
            or _passes(_EXACT_ANCHORS, text)
            or _passes(_ANCHORS, text.lower())
        )

    def _found_in(self, text: str) -> list[str]:
        """Return the forms of known values that are in `text`, the longest first."""
        found = [
            needle
            for rare, starts in self._needles
            if rare in text
            for start, needles in starts
            if start in text
            for needle in needles
            if needle in text
        ]
        return sorted(found, key=lambda each: (-len(each), each))

    def _redact_members(
        self, members: dict[Any, Any], *, evidence: bool, keep: frozenset[str]
    ) -> dict[str, Any]:
        clean: dict[str, Any] = {}
        pair = not evidence and _is_header(members.get("name"))
        for name, value in members.items():
            if name in keep:
                clean[name] = value
            elif (
                isinstance(value, str)
                and not evidence
                and (_is_header(name) or (pair and name == "value"))
            ):
                clean[name] = MARKER
            else:
                safe = self.redact(str(name), evidence=evidence)
                clean[_free_name(safe, clean)] = self.redact_json(
                    value, evidence=evidence, keep=keep
                )
        return clean


@lru_cache(maxsize=4)  # each trial asks several times
def _knowing(variables: tuple[tuple[str, str], ...], remembered: tuple[str, ...]) -> Redactor:
    found = [secret for name, value in variables for secret in _secrets_in(name, value)]
    return Redactor([*found, *remembered])


class RedactingFilter(logging.Filter):
    """Removes secrets from log records: message, arguments, traceback and stack.

    Add it to handlers, not to loggers: the filters of a logger do not see its children's records.
    """

    def __init__(self, redactor: Redactor) -> None:
        super().__init__()
        self._redactor = redactor

    def filter(self, record: logging.LogRecord) -> bool:
        """Clean the record in place; never drop one."""
        redact = self._redactor.redact
        record.msg, record.args = redact(record.getMessage()), ()
        if record.exc_info and not record.exc_text:
            record.exc_text = "".join(traceback.format_exception(*record.exc_info)).rstrip()
        if record.exc_text:
            record.exc_text = redact(record.exc_text)
        record.exc_info = None
        if record.stack_info:
            record.stack_info = redact(record.stack_info)
        return True


_remembered: dict[str, None] = {}


def remember_secrets(values: Iterable[str]) -> None:
    """Let every redactor that is made in this process from now on know `values`.

    Raises:
        ValueError: One has fewer than four characters, and would blank words of ordinary text.
    """
    for value in values:
        if len(value) < _SHORTEST_NEEDLE:
            raise ValueError(
                f"a value of {len(value)} characters is too short to be removed from text"
            )
        _remembered[value] = None


def remembered_secrets() -> tuple[str, ...]:
    """Return the secrets given to `remember_secrets` in this process."""
    return tuple(_remembered)


def _secrets_in(name: str, value: str) -> Iterator[str]:
    """Yield the secret parts of a variable."""
    value = value.strip()
    login = _login_in(name, value)
    if login:
        yield from dict.fromkeys(
            each for each in (value, login, unquote(login)) if _is_secret(each)
        )
    # a URL without a login is an address
    elif is_secret_name(name) and _is_secret(value) and not _is_address(name, value):
        yield value


def _is_address(name: str, value: str) -> bool:
    return "://" in value and _URL_NAME.search(name) is not None


def _login_in(name: str, value: str) -> str | None:
    """Return the password in a URL or other address of a server, or a user that is a key."""
    is_url_name = _URL_NAME.search(name) is not None
    if "://" not in value:
        found = _LOGIN.search(value) if is_url_name or is_secret_name(name) else None
        return found[1] if found else None
    try:
        parts = urlsplit(value)
    except ValueError:
        return None
    user = parts.username or ""
    return parts.password or (user if is_url_name and len(user) >= _LONG_USER else None)


def _is_secret(value: str) -> bool:
    if len(value) < _MIN_LENGTH or len(set(value)) < _MIN_DISTINCT:
        return False
    if value.isdigit() and len(value) < _MIN_DIGITS:
        return False
    # GOOGLE_APPLICATION_CREDENTIALS and its like name a file, which is not a secret
    return value.lower() not in _COMMON and not os.path.isfile(value)  # noqa: PTH113  # never raises


def _is_header(name: object) -> bool:
    return isinstance(name, str) and name.lower() in HEADERS


def _cut(pattern: re.Pattern[str], text: str) -> Iterator[str]:
    start = 0
    for match in pattern.finditer(text):
        yield text[start : match.start(1)]
        start = match.end(1)
    yield text[start:]


def _free_name(name: str, taken: Mapping[str, object]) -> str:
    number, free = 1, name
    while free in taken:
        number += 1
        free = f"{name} {number}"
    return free
