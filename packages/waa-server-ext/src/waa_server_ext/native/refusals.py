"""Limits on files from a VM, and the one place that swallows a parser's exceptions.

Everything from the VM is hostile until shown otherwise. A refusal is never a score: it
passes through every place where vanilla turns an exception into a zero.
"""

from __future__ import annotations

import re
import zipfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

from bench_core.errors import EvaluationError, InputError

MAX_DOCUMENT_BYTES = 64 * 1024 * 1024
"""The limit for a parsed file, and for one part of an archive."""

MAX_ARCHIVE_BYTES = 256 * 1024 * 1024
"""The limit for all unpacked parts of an archive."""

MAX_MARKUP_BYTES = 48 * 1024 * 1024
"""The limit for the unpacked XML of an office document; its tree takes some ten times as much."""

MAX_TEXT_BYTES = 32 * 1024 * 1024

MAX_IMAGE_PIXELS = 40_000_000
"""For comparison: a 5K screen has 15 million."""

_MAX_MEMBERS = 10_000
_METHODS = {zipfile.ZIP_BZIP2: "bzip2", zipfile.ZIP_LZMA: "LZMA", 9: "deflate64", 93: "Zstandard"}
_PIECE, _MAX_PLAIN_PIECES = 1024 * 1024, 4
_MARKUP = (".xml", ".rels", ".vml")
_DOCTYPE = re.compile(rb"<!(DOCTYPE|ENTITY)|<\x00!\x00D\x00O\x00C|\x00<\x00!\x00D\x00O\x00C")

Value = TypeVar("Value")


class RefusedFileError(EvaluationError):
    """A file is too large or too dangerous to open."""

    def __init__(self, file: str, reason: str) -> None:
        self.file = file
        self.reason = reason
        super().__init__(f"{file} is not looked into: {reason}")


NOT_SWALLOWED = (EvaluationError, InputError, MemoryError)
"""The errors that leave a task without a score; all others keep their meaning in vanilla."""


def or_else(default: Value, function: Callable[..., Any], *args: Any) -> Value | Any:
    """Return `function`'s result, or `default` if it raises an error that vanilla swallows."""
    try:
        return function(*args)
    except NOT_SWALLOWED:
        raise
    except Exception:  # noqa: BLE001  # a border: parsers raise anything on broken files
        return default


def check_size(path: str | Path, limit: int = MAX_DOCUMENT_BYTES) -> str:
    """Return `path` if the file is small enough to parse.

    Raises:
        RefusedFileError: It is larger than `limit` bytes.
        OSError: The file does not exist.
    """
    size = Path(path).stat().st_size
    if size > limit:
        raise RefusedFileError(Path(path).name, f"{size} bytes are more than {limit}")
    return str(path)


def check_archive(path: str | Path, *, markup: bool = True) -> str:
    """Return `path` if the ZIP archive is safe to unpack: not a bomb, and without entities.

    The declared sizes bound the output, because `zipfile` does not read further.

    Raises:
        RefusedFileError: The archive is not safe.
        zipfile.BadZipFile: The file is not a ZIP archive.
    """
    name = Path(check_size(path)).name
    with zipfile.ZipFile(path) as archive:
        infos = archive.infolist()
        if len(infos) > _MAX_MEMBERS:
            raise RefusedFileError(name, f"{len(infos)} parts are more than {_MAX_MEMBERS}")
        _check_packing(name, infos, Path(path).stat().st_size)
        _check_total(name, sum(info.file_size for info in infos), MAX_ARCHIVE_BYTES)
        texts = [info for info in infos if markup and info.filename.lower().endswith(_MARKUP)]
        _check_total(name, sum(info.file_size for info in texts), MAX_MARKUP_BYTES)
        for info in texts:
            _check_markup(name, archive, info)
    return str(path)


def read_member(archive: zipfile.ZipFile, name: str, limit: int = MAX_DOCUMENT_BYTES) -> bytes:
    """Return one part of an archive, unpacked.

    Raises:
        RefusedFileError: It is larger than `limit` bytes.
        KeyError: The archive does not have a part of that name.
    """
    info = archive.getinfo(name)
    if info.file_size > limit:
        raise RefusedFileError(name, f"{info.file_size} bytes unpacked are more than {limit}")
    return archive.read(info)


def parse_xml(name: str, data: bytes | str) -> Any:
    """Parse XML from the VM and return its root.

    Raises:
        RefusedFileError: It declares a document type: entities may grow without end.
        xml.etree.ElementTree.ParseError: It is not XML.
    """
    from defusedxml import DefusedXmlException
    from defusedxml.ElementTree import fromstring

    try:
        return fromstring(data, forbid_dtd=True)
    except DefusedXmlException as error:
        raise _doctype_refusal(name) from error


def refuse_doctype(name: str, tree: Any) -> None:
    """Refuse a tree that lxml parsed without resolving entities if it declares a document type.

    Raises:
        RefusedFileError: It declares one.
    """
    if tree.getroottree().docinfo.doctype:
        raise _doctype_refusal(name)


def _doctype_refusal(name: str) -> RefusedFileError:
    return RefusedFileError(name, "it declares a document type or entities")


def _check_packing(name: str, infos: Sequence[zipfile.ZipInfo], size: int) -> None:
    """Refuse parts whose declared size or method is dangerous to `zipfile`."""
    for info in infos:
        if info.compress_size > size:
            raise RefusedFileError(
                name, f"{info.filename} declares {info.compress_size} bytes in a file of {size}"
            )
        if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            method = _METHODS.get(info.compress_type, f"method {info.compress_type}")
            raise RefusedFileError(name, f"{info.filename} is packed by {method}, not by deflate")


def _check_total(name: str, size: int, limit: int) -> None:
    if size > limit:
        raise RefusedFileError(name, f"{size} bytes unpacked are more than {limit}")


def _check_markup(name: str, archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> None:
    """Refuse entities and endless tags.

    openpyxl feeds a part to expat in pieces, and expat restarts an open tag with every piece.
    """
    try:
        with archive.open(info) as part:
            head = part.read(_PIECE)
            plain_pieces, piece = 0, head
            while piece and plain_pieces < _MAX_PLAIN_PIECES:
                plain_pieces = 0 if b"<" in piece or b">" in piece else plain_pieces + 1
                piece = part.read(_PIECE)
    except (zipfile.BadZipFile, OSError, NotImplementedError, RuntimeError, ValueError, EOFError):
        return  # damaged or encrypted: the parser decides what follows
    except Exception as error:
        if type(error).__module__ == "zlib":
            return
        raise
    # a document type precedes the first element, so the start of a part is enough
    if _DOCTYPE.search(head):
        raise RefusedFileError(name, f"{info.filename} declares a document type or entities")
    if plain_pieces == _MAX_PLAIN_PIECES:
        limit = _PIECE * _MAX_PLAIN_PIECES
        raise RefusedFileError(name, f"{info.filename} has no tag within {limit} bytes")
