"""Checksums that show that a file of a run was changed after it was written.

They find damage and carelessness. A forger of a run can compute them again; that shows in
the digest which `bench-core check --seal` prints, published elsewhere.

A checksum is the last member of its JSON object, and is the SHA-256 of the text without it. So it
covers every byte, white space included.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import BinaryIO

_MEMBER = re.compile(rb',\s*"checksum":\s*"([0-9a-f]{64})"(\s*\}\s*)\Z')
_TAIL = len(b', "checksum": ""}') + 64 + 32
"""More bytes than the member can take."""
_CHUNK = 1 << 20


def add_checksum(text: bytes, *, indent: bytes = b"") -> bytes:
    """Return the JSON object `text` with its checksum as the last member.

    Args:
        text: One object, which has no such member yet.
        indent: The text before each member, line feed included; for documents of many lines.

    >>> add_checksum(b'{"score":1.0}')[:40]
    b'{"score":1.0,"checksum":"4a0efab20925fd0'
    """
    digest = hashlib.sha256(text).hexdigest().encode()
    end = text.rstrip()[:-1].rstrip()
    space = b" " if indent else b""
    return end + b"," + indent + b'"checksum":' + space + b'"' + digest + b'"' + text[len(end) :]


def checksum_holds(text: bytes) -> bool:
    """Return whether `text` ends with the checksum of the bytes before it.

    >>> line = add_checksum(b'{"score":1.0}')
    >>> checksum_holds(line), checksum_holds(line.replace(b"1.0", b"0.0"))
    (True, False)
    """
    start = max(0, len(text) - _TAIL)
    found = _MEMBER.search(text, start)
    if found is None:
        return False
    plain = text[: found.start()] + found[2]
    return hashlib.sha256(plain).hexdigest().encode() == found[1]


def checksum_in(line: bytes) -> str:
    """Return the checksum of a line that `add_checksum` made."""
    return line[-66:-2].decode()


def file_sha256(path: Path) -> str:
    """Return the SHA-256 of a file, in hexadecimal."""
    return count_lines(path)[1]


def open_sha256(file: BinaryIO) -> str:
    """Return the SHA-256 of the unread rest of an open file, in hexadecimal."""
    digest = hashlib.sha256()
    while chunk := file.read(_CHUNK):
        digest.update(chunk)
    return digest.hexdigest()


def count_lines(path: Path) -> tuple[int, str]:
    """Return how many line feeds a file has, and its SHA-256."""
    count, digest = 0, hashlib.sha256()
    with path.open("rb") as file:
        while chunk := file.read(_CHUNK):
            count += chunk.count(b"\n")
            digest.update(chunk)
    return count, digest.hexdigest()


def line_digests(file: BinaryIO, counts: Sequence[int]) -> Iterator[str | None]:
    """Yield the SHA-256 of the first N lines of an open file for each N of `counts`, which ascend.

    None if it has fewer lines.
    """
    digest, lines, rest = hashlib.sha256(), 0, b""
    for count in counts:
        while lines < count and (rest := rest or file.read(_CHUNK)):
            here, end = rest.count(b"\n"), len(rest)
            if lines + here >= count:
                here, end = count - lines, 0
                for _ in range(here):
                    end = rest.index(b"\n", end) + 1
            digest.update(rest[:end])
            lines, rest = lines + here, rest[end:]
        yield digest.hexdigest() if lines == count else None
