"""Checks before a document is opened: archives that explode, XML that refers elsewhere.

Files from a VM or the web may be made to exhaust their readers. The bounds are far above
the needs of any task (the largest document unpacks to 20 MB).
"""

from __future__ import annotations

import io
import re
import zipfile
import zlib

from bench_core.errors import InputError

_MAX_ENTRIES = 20_000
_MAX_UNPACKED = 1024 * 1024 * 1024
_MAX_XML = 64 * 1024 * 1024
_XML_HEAD = 64 * 1024  # declarations precede the first element, so the head is enough
_ENTITY = re.compile(rb"<!ENTITY", re.IGNORECASE)


class UnsafeDocumentError(InputError):
    """A document that must not be opened."""


def check_document(data: bytes) -> None:
    """Refuse archives that unpack to too much and XML that declares entities.

    Raises:
        UnsafeDocumentError: Says which bound it exceeds or what it declares.
    """
    if data.startswith(b"PK\x03\x04"):
        _check_zip(data)
    elif data[:512].lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"<"):
        _check_xml("the document", data[:_XML_HEAD])


def _check_zip(data: bytes) -> None:
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            entries = archive.infolist()
            if len(entries) > _MAX_ENTRIES:
                raise UnsafeDocumentError(f"an archive of {len(entries)} entries")
            unpacked = sum(entry.file_size for entry in entries)
            if unpacked > _MAX_UNPACKED:
                raise UnsafeDocumentError(f"an archive that unpacks to {unpacked} bytes")
            for entry in entries:
                if entry.filename.lower().endswith((".xml", ".rels", ".vml")):
                    if entry.file_size > _MAX_XML:
                        raise UnsafeDocumentError(
                            f"an archive whose {entry.filename!r} has {entry.file_size} bytes"
                        )
                    with archive.open(entry) as file:
                        _check_xml(entry.filename, file.read(_XML_HEAD))
    except (
        zipfile.BadZipFile,
        zlib.error,
        EOFError,
        NotImplementedError,
        RuntimeError,
        ValueError,
    ):
        return  # broken or encrypted: opening it will say so


def _check_xml(name: str, head: bytes) -> None:
    if _ENTITY.search(head):
        raise UnsafeDocumentError(f"{name} declares XML entities, which no office program writes")
