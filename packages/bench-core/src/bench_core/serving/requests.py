"""Checks that refuse a request before any part of it is used, the same in every server."""

from __future__ import annotations

import re
from collections.abc import Sequence
from http import HTTPStatus

from bench_core.serving.hosts import host_name, is_loopback

MOST_HEAD = 64 * 1024
"""Bytes of a request's first line and headers together."""

# `int` also takes signs, blanks and underscores, which other readers do not
_LENGTH = re.compile(r"[0-9]{1,15}")


class RefusedRequestError(Exception):
    """A request that is answered only with an error.

    Attributes:
        status: The HTTP status.
        message: One sentence for the sender.
    """

    def __init__(self, status: HTTPStatus, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.message = message

    @property
    def too_large(self) -> bool:
        """Whether a limit of size is the reason."""
        too_large = (
            HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
            HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE,
        )
        return self.status in too_large


def body_length(lengths: Sequence[str], encodings: Sequence[str], most: int) -> int | None:
    """Return the body's length in bytes; None if it comes in chunks.

    Args:
        lengths: Every `Content-Length` of the request.
        encodings: Every `Transfer-Encoding` of it.
        most: The most bytes that a body may have.

    Raises:
        RefusedRequestError: They contradict each other, so that two readers could see two requests, or
            the body is too large.
    """
    if encodings:
        if lengths:
            raise RefusedRequestError(
                HTTPStatus.BAD_REQUEST, "a body has a Content-Length or a Transfer-Encoding"
            )
        if [each.strip().lower() for each in encodings] != ["chunked"]:
            raise RefusedRequestError(
                HTTPStatus.NOT_IMPLEMENTED, "chunked is the only Transfer-Encoding here"
            )
        return None
    if not lengths:
        return 0
    length = lengths[0].strip()
    if len(lengths) > 1 or not _LENGTH.fullmatch(length):
        raise RefusedRequestError(HTTPStatus.BAD_REQUEST, "Content-Length is one number")
    if int(length) > most:
        raise RefusedRequestError(
            HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"a body of {length} bytes is more than {most}"
        )
    return int(length)


def check_host(hosts: Sequence[str]) -> None:
    """Refuse a request that names another machine, as pages do after DNS rebinding to this one.

    Raises:
        RefusedRequestError: It has no host, several, or one that is not of this machine's loopback.
    """
    if len(hosts) != 1:
        raise RefusedRequestError(HTTPStatus.BAD_REQUEST, "a request has one Host")
    if not is_loopback(host_name(hosts[0].strip())):
        raise RefusedRequestError(
            HTTPStatus.FORBIDDEN, "only a name of this machine's loopback is answered"
        )
