"""The text and the pages of PDF files."""

from __future__ import annotations

import base64
import io
import operator
import warnings
from collections.abc import Mapping
from difflib import SequenceMatcher
from typing import Any

from waa_server_ext.native.decoder import isolated
from waa_server_ext.native.refusals import RefusedFileError, check_size, or_else
from waa_server_ext.native.registry import metric

_MAX_CHARACTERS = 2_000_000  # comparing texts takes the product of their lengths
_MAX_PAGES = 2000
_SAME = 0.95  # upstream's threshold
_COMPARE = {
    "eq": operator.eq, "ne": operator.ne, "lt": operator.lt, "le": operator.le,
    "gt": operator.gt, "ge": operator.ge,
}  # fmt: skip


@metric("chrome.py", needs=("pymupdf", "rapidfuzz"))
def compare_pdfs(pdf1_path: Any, pdf2_path: Any) -> float:
    """How similar the texts of two PDF files are, from 0 to 1.

    Fails as: 0.0 for anything but a PDF; None has no text.

    Oddities: The score is the similarity itself; lists give the mean.
    """
    if type(pdf2_path) is not list:
        pdf1_path, pdf2_path = [pdf1_path], [pdf2_path]
    scores = [or_else(0.0, _similarity, *pair) for pair in zip(pdf1_path, pdf2_path, strict=False)]
    return float(sum(scores) / len(pdf2_path))


@metric("pdf.py", needs=("pypdf",))
def check_pdf_pages(pdf_file: str | None, rules: Mapping[str, Any]) -> float:
    """Whether the number of pages stands in the relation to a value.

    Fails as: 0.0 for None; anything but a PDF raises.
    """
    if pdf_file is None:
        return 0.0
    from pypdf import PdfReader

    pages = len(PdfReader(check_size(pdf_file)).pages)
    return float(_COMPARE[rules["relation"]](pages, rules["ref_value"]))


def similar_text(first: bytes, second: bytes) -> bool:
    """Whether the texts of two PDF files agree to 95 %.

    Raises:
        ValueError: One of them cannot be read.
    """
    found = [
        isolated("pdfs:plain_text", base64.b64encode(content).decode(), of="a PDF in an archive")
        for content in (first, second)
    ]
    if found[0] == found[1]:
        return True
    return SequenceMatcher(None, found[0], found[1]).ratio() >= _SAME


def texts(paths: list[str | None]) -> list[str]:
    """Return the text of PDF files; runs in a child."""
    import pymupdf

    pymupdf.TOOLS.mupdf_display_errors(False)  # its own interface
    found = []
    for path in paths:
        if path is None:  # PyMuPDF opens None as an empty document
            found.append("")
            continue
        with pymupdf.open(path) as document:
            if document.page_count > _MAX_PAGES:
                raise RefusedFileError(path, f"more than {_MAX_PAGES} pages")
            found.append("".join(page.get_text() for page in document).strip())
    return found


def plain_text(content: str) -> str:
    """Return the text of a PDF file, given in base64; runs in a child."""
    from pypdf import PdfReader

    pieces, size = [], 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # pypdf warns of repairs
        for page in PdfReader(io.BytesIO(base64.b64decode(content))).pages:
            pieces.append(page.extract_text())
            size += len(pieces[-1])
            if size > _MAX_CHARACTERS // 20 or len(pieces) > _MAX_PAGES:
                raise RefusedFileError("a PDF in the archive", "too much text to compare")
    return "".join(pieces)


def _similarity(first: str | None, second: str | None) -> float:
    from rapidfuzz import fuzz

    found = isolated("pdfs:texts", [path and check_size(path) for path in (first, second)])
    for path, text in zip((first, second), found, strict=True):
        if len(text) > _MAX_CHARACTERS:
            raise RefusedFileError(str(path), f"more than {_MAX_CHARACTERS} characters")
    return fuzz.ratio(*found) / 100
