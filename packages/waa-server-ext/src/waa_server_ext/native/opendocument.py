"""OpenDocument texts: paragraphs and highlighting."""

from __future__ import annotations

import zipfile
from typing import TYPE_CHECKING, Any

from waa_server_ext.native.documents import paragraph_texts, same_texts
from waa_server_ext.native.refusals import check_archive, parse_xml, read_member
from waa_server_ext.native.registry import metric

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["paragraphs"]

_OFFICE = "{urn:oasis:names:tc:opendocument:xmlns:office:1.0}"
_STYLE = "{urn:oasis:names:tc:opendocument:xmlns:style:1.0}"
_TEXT = "{urn:oasis:names:tc:opendocument:xmlns:text:1.0}"
_FO = "{urn:oasis:names:tc:opendocument:xmlns:xsl-fo-compatible:1.0}"
_YELLOW = "#ffff00"


@metric(
    failure="0 for None and for a damaged or changed document",
    source="docs.py",
    needs=("defusedxml", "docx"),
    notes="Only yellow counts, only on spans, and only the first style with it.",
)
def check_highlighted_words(file_path1: str | None, file_path2: str | None) -> int:
    """Whether two documents have the same text and nothing is highlighted in yellow."""
    texts = paragraph_texts(file_path1, file_path2) if file_path1 and file_path2 else None
    if texts is None or not same_texts(*texts):
        return 0
    yellow = set(_yellow_styles(str(file_path1)))
    used = (span.get(f"{_TEXT}style-name") for span in _body(str(file_path1)).iter(f"{_TEXT}span"))
    return int(not any(name in yellow for name in used))


def paragraphs(path: str) -> list[str]:
    """Return the text of each paragraph, without what stands in tabs, notes and nested spans.

    Raises:
        KeyError: It is no OpenDocument file.
    """
    return [_own_text(paragraph) for paragraph in _body(path).iter(f"{_TEXT}p")]


def _own_text(paragraph: Any) -> str:
    pieces = [paragraph.text or ""]
    for child in paragraph:
        if child.tag == f"{_TEXT}span":
            pieces += [child.text or "", *(inner.tail or "" for inner in child)]
        pieces.append(child.tail or "")
    return "".join(pieces)


def _part(path: str, name: str) -> Any:
    with zipfile.ZipFile(check_archive(path)) as archive:
        return parse_xml(name, read_member(archive, name))


def _body(path: str) -> Any:
    return _part(path, "content.xml")


def _yellow_styles(path: str) -> Iterator[str | None]:
    for name in ("styles.xml", "content.xml"):
        try:
            part = _part(path, name)
        except KeyError:
            continue
        for styles in part.iter(f"{_OFFICE}automatic-styles"):
            for style in styles:
                if any(prop.get(f"{_FO}background-color") == _YELLOW for prop in style):
                    yield style.get(f"{_STYLE}name")
