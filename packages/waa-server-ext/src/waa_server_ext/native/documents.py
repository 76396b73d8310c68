"""Word documents: their text, and the formatting that tasks check."""

from __future__ import annotations

import re
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from waa_server_ext.native.refusals import (
    check_archive,
    check_size,
    or_else,
    parse_xml,
    read_member,
)
from waa_server_ext.native.registry import metric

if TYPE_CHECKING:
    from collections.abc import Mapping

    from docx.document import Document

_W = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
_OOR = "{http://openoffice.org/2001/registry}"
_DEFAULT_FONT = "/org.openoffice.Office.Writer/DefaultFont"


@metric("docs.py", needs=("docx", "defusedxml", "rapidfuzz"))
def compare_docx_files(file1: str | None, file2: str | None, **options: Any) -> float:
    """Whether two documents have the same paragraphs of text; tables are not looked at.

    Fails as: 0 for None, for a damaged file and for other types than a pair of .docx or of .odt.

    Oddities: The names of the local copies decide the type. Blanks and line ends are ignored
    unless `ignore_blanks` is false.
    """
    if not file1 or not file2:
        return 0
    texts = paragraph_texts(file1, file2)
    if texts is None:
        return 0
    if options.get("ignore_order", False):
        texts = sorted(texts[0]), sorted(texts[1])
    if options.get("content_only", False):
        from rapidfuzz import fuzz

        return fuzz.ratio(*(_running(each, options) for each in texts)) / 100.0
    return int(same_texts(*texts, **options))


@metric("docs.py", needs=("docx",))
def compare_docx_lines(file1: str | None, file2: str | None) -> int:
    """Whether two documents have the same lines, in any order and however often.

    Fails as: 0 for None and a damaged file.
    """
    documents = _both(file1, file2)
    if documents is None:
        return 0
    lines = [{p.text.strip() for p in each.paragraphs} - {""} for each in documents]
    return int(lines[0] == lines[1])


@metric("docs.py", needs=("docx", "defusedxml"))
def compare_docx_files_and_ignore_new_lines(
    file1: str | None, file2: str | None, **options: Any
) -> int:
    """Whether two .docx files have the same paragraphs, not counting empty ones.

    Fails as: 0 for None and a damaged file.
    """
    if not file1 or not file2 or not (file1.endswith(".docx") and file2.endswith(".docx")):
        return 0
    texts = paragraph_texts(file1, file2)
    if texts is None:
        return 0
    filled = [[text for text in each if text] for each in texts]
    blanks = options.get("ignore_blanks", True)
    return int(same_texts(*filled, ignore_blanks=blanks))


@metric("docs.py", needs=("docx", "defusedxml"))
def compare_line_spacing(docx_file1: str | None, docx_file2: str | None) -> int:
    """Whether two documents have the same text and each paragraph the same line spacing.

    Fails as: 0 for None and a damaged file.
    """
    if not _same_document(docx_file1, docx_file2):
        return 0
    documents = _opened(docx_file1), _opened(docx_file2)
    if None in documents:
        return 0
    spacings = [[p.paragraph_format.line_spacing for p in each.paragraphs] for each in documents]  # type: ignore[union-attr]
    return int(len(spacings[0]) == len(spacings[1]) and spacings[0] == spacings[1])


@metric("docs.py", needs=("docx",))
def check_tabstops(docx_file1: str | None, docx_file2: str | None, **options: Any) -> float:
    """How close the tab stops of two documents are, provided that `word_number_split_by_tabstop` holds.

    Fails as: 0.0 for None and a damaged file.

    Oddities: The score falls with the distance of tab stops in page widths and may be negative.
    """
    documents = _both(docx_file1, docx_file2)
    if documents is None:
        return 0.0
    filled = [[p for p in each.paragraphs if p.text.strip()] for each in documents]
    if len(filled[0]) != len(filled[1]):
        return 0.0
    number = options.get("word_number_split_by_tabstop")
    if number is not None:
        index = options.get("index", 0)
        if any(_words_before_tab(p.text, index) != number for p in filled[0]):
            return 0.0
    section = documents[1].sections[0]
    width: Any = section.page_width - section.left_margin - section.right_margin
    total = 0.0
    for pair in zip(*filled, strict=True):
        difference = _tab_difference(*pair)
        if difference is None:
            return 0.0
        total += difference / width
    return float(1 - total / len(filled[0]))


@metric("docs.py", needs=("docx",))
def compare_subscript_contains(docx_file1: str | None, docx_file2: str | None) -> int:
    """Whether some run is subscript at the same place in both documents.

    Fails as: 0 for None and a damaged file.
    """
    documents = _both(docx_file1, docx_file2)
    if documents is None:
        return 0
    paragraphs = zip(documents[0].paragraphs, documents[1].paragraphs, strict=False)
    runs = (run for pair in paragraphs for run in zip(pair[0].runs, pair[1].runs, strict=False))
    return int(any(first.font.subscript and second.font.subscript for first, second in runs))


@metric("docs.py", needs=("docx",))
def has_page_numbers_in_footers(docx_file: str | None) -> int:
    """Whether the footer of every section has a digit.

    Fails as: 0 for None and a damaged file.

    Oddities: Only the text of the first paragraph counts: a field that has not been laid out, or
    stands in a frame, does not count as a number.
    """
    document = _opened(docx_file)
    if document is None:
        return 0
    return int(all(_has_digit(_first_text(section.footer)) for section in document.sections))


@has_page_numbers_in_footers.differs("fixed", "a PAGE field anywhere in the footer is a number")
def _page_numbers_fixed(docx_file: str | None) -> int:
    document = _opened(docx_file)
    if document is None:
        return 0
    return int(all(_numbers_pages(section.footer) for section in document.sections))


@metric("docs.py", needs=("docx",))
def compare_font_names(docx_file: str | None, rules: Mapping[str, Any]) -> int:
    """Whether every run has the font.

    Fails as: 0 for None and a damaged file; a document without text passes.

    Oddities: Only fonts set on the runs themselves count, not those of styles.
    """
    document = _opened(docx_file)
    if document is None:
        return 0
    expected = rules["font_name"]
    fonts = (run.font.name for paragraph in document.paragraphs for run in paragraph.runs)
    return int(all(font == expected for font in fonts))


@metric("docs.py", needs=("docx",))
def is_first_line_centered(docx_file: str | None) -> int:
    """Whether the first paragraph is centered.

    Fails as: 0 for None and a damaged file; IndexError for an empty document.
    """
    document = _opened(docx_file)
    if document is None:
        return 0
    from docx.enum.text import WD_PARAGRAPH_ALIGNMENT

    alignment = document.paragraphs[0].paragraph_format.alignment
    return int(alignment == WD_PARAGRAPH_ALIGNMENT.CENTER)


@metric("docs.py", needs=("defusedxml",))
def compare_highlighted_text(file1: str | None, file2: str | None) -> int:
    """Whether the same pieces of text are highlighted.

    Fails as: 0 for None; anything but a .docx raises.

    Oddities: The color does not matter, nor the order, nor how often.
    """
    if not file1 or not file2:
        return 0
    return int(_highlighted(file1) == _highlighted(file2))


@metric("docs.py", needs=("docx", "defusedxml"))
def evaluate_strike_through_last_paragraph(file_path1: str | None, file_path2: str | None) -> int:
    """Whether two documents have the same text and the last paragraph is struck through.

    Fails as: 0 for None and a damaged file; IndexError for an empty document.
    """
    if not _same_document(file_path1, file_path2):
        return 0
    document = _opened(file_path1)
    if document is None:
        return 0
    return int(all(run.font.strike for run in document.paragraphs[-1].runs))


@metric("docs.py", needs=("docx",))
def compare_docx_tables(docx_file1: str | None, docx_file2: str | None) -> int:
    """Whether two documents have the same tables, by the text of their cells.

    Fails as: 0 for None and a damaged file.
    """
    documents = _both(docx_file1, docx_file2)
    if documents is None:
        return 0
    tables = documents[0].tables, documents[1].tables
    if len(tables[0]) != len(tables[1]):
        return 0
    return int(all(_same_table(*pair) for pair in zip(*tables, strict=True)))


@metric("docs.py", needs=("docx", "defusedxml"))
def check_italic_font_size_14(path1: str | None, path2: str | None) -> int:
    """Whether two documents have the same text and all italic runs have 14 points.

    Fails as: 0 for None and a damaged file; a document without italics passes.
    """
    if not _same_document(path1, path2):
        return 0
    document = _opened(path1)
    if document is None:
        return 0
    runs = (run for paragraph in document.paragraphs for run in paragraph.runs)
    sizes = (run.font.size for run in runs if run.italic)
    return int(all(size is not None and size.pt == 14 for size in sizes))  # points


@metric("docs.py", needs=("defusedxml",))
def find_default_font(config_file_path: str | None, rules: Mapping[str, Any]) -> int:
    """Whether Writer's default font, in LibreOffice's registry, is the expected one.

    Fails as: 0.
    """
    expected = rules["font_name"]
    if not config_file_path:
        return 0
    return int(or_else(None, _default_font, config_file_path) == expected)


def paragraph_texts(first: str, second: str) -> tuple[list[str], list[str]] | None:
    """Return the paragraphs of two .docx or two .odt files; None if they are neither or damaged."""
    for suffix, read in ((".docx", _docx_texts), (".odt", _odt_texts)):
        if first.endswith(suffix) and second.endswith(suffix):
            return or_else(None, lambda: (read(first), read(second)))  # noqa: B023  # called at once
    return None


def same_texts(first: list[str], second: list[str], **options: Any) -> bool:
    """Whether two lists of paragraphs are the same, under the options of `compare_docx_files`."""
    if options.get("ignore_blanks", True):
        return _running(first, options) == _running(second, options)
    fold = str.lower if options.get("ignore_case", False) else str
    return [fold(each) for each in first] == [fold(each) for each in second]


def _same_document(first: str | None, second: str | None) -> bool:
    texts = paragraph_texts(first, second) if first and second else None
    return texts is not None and same_texts(*texts)


def _running(paragraphs: list[str], options: Mapping[str, Any]) -> str:
    text = re.sub(r"\s+", " ", "\n".join(paragraphs)).strip()
    return text.lower() if options.get("ignore_case", False) else text


def _opened(path: str | None) -> Document | None:
    """Return a document; None if it is missing or damaged."""
    return or_else(None, _parsed, path) if path else None


def _both(first: str | None, second: str | None) -> tuple[Document, Document] | None:
    documents = (_opened(first), _opened(second)) if first and second else (None, None)
    return None if None in documents else documents


def _parsed(path: str) -> Document:
    import docx

    return docx.Document(check_archive(path))


def _docx_texts(path: str) -> list[str]:
    return [paragraph.text for paragraph in _parsed(path).paragraphs]


def _odt_texts(path: str) -> list[str]:
    from waa_server_ext.native.opendocument_text import paragraphs

    return paragraphs(path)


def _words_before_tab(text: str, index: int) -> int:
    return len([word for word in re.split(r"\s", text.split("\t")[index]) if word.strip()])


def _tab_difference(first: Any, second: Any) -> float | None:
    """Return the total distance between the tab stops of two paragraphs; None if they do not correspond."""
    stops = [
        [stop for stop in each.paragraph_format.tab_stops if not _is_default_stop(stop)]
        for each in (first, second)
    ]
    if len(stops[0]) != len(stops[1]):
        return None
    pairs = list(zip(*stops, strict=True))
    if any(one.alignment != other.alignment for one, other in pairs):
        return None
    return float(sum(abs(one.position - other.position) for one, other in pairs))


def _is_default_stop(stop: Any) -> bool:
    from docx.enum.text import WD_TAB_ALIGNMENT

    at_margin = stop.alignment == WD_TAB_ALIGNMENT.LEFT and stop.position == 0
    return bool(stop.alignment == WD_TAB_ALIGNMENT.CLEAR or at_margin)


def _first_text(footer: Any) -> str:
    return footer.paragraphs[0].text if footer.paragraphs else ""


def _has_digit(text: str) -> bool:
    return any(character.isdigit() for character in text)


def _numbers_pages(footer: Any) -> bool:
    element = footer._element  # fields have no public interface in python-docx
    codes = [each.text or "" for each in element.iter(f"{_W}instrText")]
    codes += [each.get(f"{_W}instr") or "" for each in element.iter(f"{_W}fldSimple")]
    has_field = any(re.match(r"\s*PAGE\b", code) for code in codes)
    return has_field or _has_digit(_first_text(footer))


def _highlighted(path: str) -> set[str | None]:
    with zipfile.ZipFile(check_archive(path)) as archive:
        root = parse_xml(Path(path).name, read_member(archive, "word/document.xml"))
    found = set()
    for run in root.findall(f".//{_W}r"):
        highlight, text = run.find(f".//{_W}highlight"), run.find(f".//{_W}t")
        if highlight is not None and highlight.get(f"{_W}val") != "none" and text is not None:
            found.add(text.text)
    return found


def _same_table(first: Any, second: Any) -> bool:
    rows, columns = len(first.rows), len(first.columns)
    if rows != len(second.rows) or columns != len(second.columns):
        return False
    cells = _cells(first, rows * columns), _cells(second, rows * columns)
    return all(one.text.strip() == other.text.strip() for one, other in zip(*cells, strict=True))


def _cells(table: Any, wanted: int) -> list[Any]:
    """Return the cells row by row; fetching them one by one would take quadratic time."""
    cells: list[Any] = table._cells  # the public accessor rebuilds this list for each cell
    if len(cells) < wanted:
        raise IndexError("list index out of range")
    return cells[:wanted]


def _default_font(path: str) -> str | None:
    # in one piece: when fed in parts, expat restarts a long token with every part
    root = parse_xml(Path(path).name, Path(check_size(path)).read_bytes())
    found = [
        value.text
        for item in root.iter("item")
        if item is not root and item.get(f"{_OOR}path") == _DEFAULT_FONT
        for prop in item.iter("prop")
        if prop is not item and prop.get(f"{_OOR}name") == "Standard"
        for value in prop.findall("value")
    ]
    return found[-1] if found else None
