"""A folder of an object store: whole objects are written, and parts of them read, with little in memory."""

from __future__ import annotations

import os
from collections.abc import Iterator
from datetime import timedelta
from typing import Any, BinaryIO
from urllib.parse import quote, unquote

import obstore
from obstore.exceptions import BaseError
from obstore.store import from_url

from bench_core.errors import EnvironmentFaultError

_PART = 5 << 20
"""Least size of a part that S3 takes; larger files are sent in parts."""
# few, as each of them is held in memory
_PARTS_AT_ONCE = 2
_PIECE = 4 << 20
# S3 lists no more objects at once
_LISTED = 1000
_TIMEOUT = {"connect_timeout": "20s", "timeout": "120s"}
"""Limits of one request, which carries a part or a piece, never a whole file."""
_RETRIES: Any = {"max_retries": 10, "retry_timeout": timedelta(minutes=3)}
_SHOWN = 300
_FAILURES = (BaseError, OSError, ValueError)
"""Exceptions of obstore."""
_HTTP = ("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL", "AWS_ENDPOINT")


class ObjectFolder:
    """The objects below a prefix, named as files are.

    Args:
        store: One of obstore's.
        prefix: With `/` between its parts.
    """

    def __init__(self, store: Any, prefix: str) -> None:
        self._store = store
        self._prefix = prefix

    def write(self, name: str, data: bytes | BinaryIO) -> None:
        """Write an object, which is there as a whole or not at all.

        Raises:
            EnvironmentFaultError: The store does not take it.
        """
        try:
            obstore.put(
                self._store, self._key(name), data, chunk_size=_PART, max_concurrency=_PARTS_AT_ONCE
            )
        except _FAILURES as error:
            raise _fault(f"{name} could not be written to", error) from None

    def sizes(self, below: str) -> dict[str, int]:
        """Return the names and sizes of the objects below a folder.

        Raises:
            EnvironmentFaultError: They cannot be listed.
        """
        root = self._key(below)
        try:
            listed = obstore.list(self._store, root, chunk_size=_LISTED)
            found = [(each["path"], each["size"]) for some in listed for each in some]
        except _FAILURES as error:
            raise _fault(f"{below} could not be listed in", error) from None
        return {_name_of(key[len(root) + 1 :]): size for key, size in found}

    def pieces(self, name: str, size: int) -> Iterator[bytes]:
        """Yield the first `size` bytes of an object, or all if it has fewer, a few at a time.

        Raises:
            FileNotFoundError: It is missing.
            EnvironmentFaultError: It cannot be read.
        """
        key, done = self._key(name), 0
        try:
            size = min(size, obstore.head(self._store, key)["size"])
            while done < size:
                length = min(_PIECE, size - done)
                piece = obstore.get_range(self._store, key, start=done, length=length)
                done += length
                yield bytes(piece)
        except FileNotFoundError:
            raise FileNotFoundError(f"{name} is not in the object store") from None
        except _FAILURES as error:
            raise _fault(f"{name} could not be read from", error) from None

    def _key(self, name: str) -> str:
        # stores do not take all characters that files have in their names
        return f"{self._prefix}/{quote(name, safe='/', errors='surrogateescape')}".lstrip("/")


def _name_of(key: str) -> str:
    return unquote(key, errors="surrogateescape")


def opened_folder(url: str) -> ObjectFolder:
    """Return the folder at a URL that `bench_core.run_folder.stored.checked_url` has accepted."""
    scheme, _, rest = url.partition("://")
    bucket, _, prefix = rest.partition("/")
    # obstore refuses stores without TLS unless it is told to; this one the user has named
    plain = any(os.environ.get(name, "").startswith("http://") for name in _HTTP)
    client: Any = {**_TIMEOUT, "allow_http": plain}
    try:
        store = from_url(f"{scheme}://{bucket}", client_options=client, retry_config=_RETRIES)
    except _FAILURES as error:
        raise _fault("nothing can be had of", error) from None
    return ObjectFolder(store, prefix)


def _fault(what: str, error: Exception) -> EnvironmentFaultError:
    """Return an error of one line; the library's own shows its whole configuration."""
    why = str(error).partition("\n")[0][:_SHOWN]
    return EnvironmentFaultError(f"{what} the object store: {why}")
