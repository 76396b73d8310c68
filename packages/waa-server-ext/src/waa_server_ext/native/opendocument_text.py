"""Reading OpenDocument texts: their paragraphs and styles."""

from __future__ import annotations

import zipfile
from collections.abc import Iterator
from typing import Any

from waa_server_ext.native.refusals import check_archive, parse_xml, read_member

_OFFICE = "{urn:oasis:names:tc:opendocument:xmlns:office:1.0}"
_STYLE = "{urn:oasis:names:tc:opendocument:xmlns:style:1.0}"
TEXT = "{urn:oasis:names:tc:opendocument:xmlns:text:1.0}"
_FO = "{urn:oasis:names:tc:opendocument:xmlns:xsl-fo-compatible:1.0}"
_YELLOW = "#ffff00"


def paragraphs(path: str) -> list[str]:
    """Return the text of each paragraph, without the contents of tabs, notes and nested spans.

    Raises:
        KeyError: The file is not in OpenDocument format.
    """
    return [_own_text(paragraph) for paragraph in body(path).iter(f"{TEXT}p")]


def _own_text(paragraph: Any) -> str:
    pieces = [paragraph.text or ""]
    for child in paragraph:
        if child.tag == f"{TEXT}span":
            pieces += [child.text or "", *(inner.tail or "" for inner in child)]
        pieces.append(child.tail or "")
    return "".join(pieces)


def _part(path: str, name: str) -> Any:
    with zipfile.ZipFile(check_archive(path)) as archive:
        return parse_xml(name, read_member(archive, name))


def body(path: str) -> Any:
    """Return the element tree of the text.

    Raises:
        KeyError: The file is not in OpenDocument format.
    """
    return _part(path, "content.xml")


def yellow_styles(path: str) -> Iterator[str | None]:
    """Yield the names of the automatic styles whose background is yellow."""
    for name in ("styles.xml", "content.xml"):
        try:
            part = _part(path, name)
        except KeyError:
            continue
        for styles in part.iter(f"{_OFFICE}automatic-styles"):
            for style in styles:
                if any(prop.get(f"{_FO}background-color") == _YELLOW for prop in style):
                    yield style.get(f"{_STYLE}name")
