"""Writer documents and its settings."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any

from recipes.common import Call, Drawn, damaged, file, sentence, sometimes, value

if TYPE_CHECKING:
    from random import Random

__all__ = [
    "check_highlighted_words",
    "check_tabstops",
    "compare_docx_files",
    "compare_font_names",
    "find_default_font",
    "one_document",
    "two_documents",
]


def _run(rng: Random) -> Call:
    run: Call = {"text": sentence(rng, 3)}
    for name in ("bold", "italic", "strike", "subscript"):
        if sometimes(rng, 0.2):
            run[name] = sometimes(rng, 0.8)
    if sometimes(rng, 0.3):
        run["size"] = rng.choice([11, 14, 14.5])
    if sometimes(rng, 0.3):
        run["font"] = rng.choice(["Times New Roman", "Arial"])
    if sometimes(rng, 0.2):
        run["highlight"] = rng.choice(["yellow", "green", "none"])
    return run


def _paragraph(rng: Random) -> Call:
    paragraph: Call = {"runs": [_run(rng) for _ in range(rng.randint(0, 3))]}
    if sometimes(rng, 0.4):
        paragraph["spacing"] = rng.choice([1.0, 1.5, 2.0, {"pt": 18}, 2])
    if sometimes(rng, 0.3):
        paragraph["align"] = rng.choice(["left", "center", "right"])
    if sometimes(rng, 0.3):
        kinds = ["left", "center", "right", "decimal", "clear"]
        paragraph["tabs"] = [
            [rng.choice([0, 36, 72, 144.5]), rng.choice(kinds)] for _ in range(rng.randint(1, 2))
        ]
    if sometimes(rng, 0.1):
        paragraph["style"] = "Heading 1"
    return paragraph


def _document(rng: Random) -> Call:
    document: Call = {"paragraphs": [_paragraph(rng) for _ in range(rng.randint(1, 4))]}
    if sometimes(rng, 0.4):
        width = rng.randint(1, 3)
        document["tables"] = [
            [[sentence(rng, 2) for _ in range(width)] for _ in range(rng.randint(1, 3))]
            for _ in range(rng.randint(1, 2))
        ]
    if sometimes(rng, 0.4):
        document["footers"] = rng.choice(
            [["1"], ["Page 2 of 3"], [""], ["none"], ["1", "x"], ["1", "2"]]
        )
    return document


def _edited(rng: Random, document: Call) -> Call:
    """Return a copy with one thing done to it, half of the time nothing."""
    other = copy.deepcopy(document)
    paragraphs = other["paragraphs"]
    paragraph = rng.choice(paragraphs)
    change = rng.randint(0, 13)
    if change == 0:
        paragraph["runs"].append({"text": " more"})
    elif change == 1:
        paragraphs.append({"runs": []})
    elif change == 2:
        rng.shuffle(paragraphs)
    elif change == 3:
        paragraph["spacing"] = rng.choice([1.5, 2.0])
    elif change == 4:
        paragraph["tabs"] = [[72, "left"]]
    elif change == 5 and other.get("tables"):
        other["tables"][0][0][0] += rng.choice([" ", "x"])
    elif change == 6:
        paragraph["runs"] = [{**run, "text": run["text"].upper()} for run in paragraph["runs"]]
    return other


def _docx_pair(rng: Random) -> tuple[Call, Call]:
    document = _document(rng)
    other = _edited(rng, document)
    return (
        damaged(rng, file("actual.docx", docx=document)),
        damaged(rng, file("expected.docx", docx=other))
        if sometimes(rng, 0.3)
        else file("expected.docx", docx=other),
    )


def two_documents(rng: Random) -> Drawn:
    return list(_docx_pair(rng)), {}


def one_document(rng: Random) -> Drawn:
    return [_docx_pair(rng)[0]], {}


def _odt_document(rng: Random) -> list[list[Any]]:
    return [
        [
            sentence(rng, 3)
            if sometimes(rng, 0.5)
            else {
                "text": sentence(rng, 3),
                "background": rng.choice([None, "#ffff00", "#FFFF00", "#00ff00"]),
            }
            for _ in range(rng.randint(0, 3))
        ]
        for _ in range(rng.randint(1, 3))
    ]


def _odt_pair(rng: Random) -> tuple[Call, Call]:
    paragraphs = _odt_document(rng)
    other = copy.deepcopy(paragraphs)
    if sometimes(rng, 0.3):
        other.append(["more"])
    if sometimes(rng, 0.3):
        for parts in other:
            parts[:] = [part if isinstance(part, str) else part["text"] for part in parts]
    return (
        damaged(rng, file("actual.odt", odt={"paragraphs": paragraphs})),
        file("expected.odt", odt={"paragraphs": other}),
    )


def compare_docx_files(rng: Random) -> Drawn:
    pair = list(_docx_pair(rng) if sometimes(rng, 0.7) else _odt_pair(rng))
    if sometimes(rng, 0.05):
        pair[1] = file("expected.txt", text="x")
    names = ("ignore_blanks", "ignore_case", "ignore_order", "content_only")
    return pair, {name: sometimes(rng, 0.5) for name in names if sometimes(rng, 0.4)}


def check_highlighted_words(rng: Random) -> Drawn:
    return list(_odt_pair(rng) if sometimes(rng, 0.9) else _docx_pair(rng)), {}


def check_tabstops(rng: Random) -> Drawn:
    options: Call = {}
    if sometimes(rng, 0.6):
        options = {"word_number_split_by_tabstop": rng.choice([1, 2, 3]), "index": 0}
    if sometimes(rng, 0.4):
        paragraphs = [
            {"runs": [{"text": "one two three\tfour"}], "tabs": [[rng.choice([72, 144]), "left"]]}
            for _ in range(2)
        ]
        document: Call = {"paragraphs": paragraphs}
        other = _edited(rng, document)
        return [file("actual.docx", docx=document), file("expected.docx", docx=other)], options
    return list(_docx_pair(rng)), options


def compare_font_names(rng: Random) -> Drawn:
    document = _document(rng)
    if sometimes(rng, 0.5):
        for paragraph in document["paragraphs"]:
            for run in paragraph["runs"]:
                run["font"] = "Times New Roman"
    rules = {"font_name": "Times New Roman"} if sometimes(rng, 0.95) else {}
    return [damaged(rng, file("actual.docx", docx=document)), value(rules)], {}


_REGISTRY = (
    '<?xml version="1.0" encoding="UTF-8"?>\n<oor:items xmlns:oor='
    '"http://openoffice.org/2001/registry">{items}</oor:items>'
)
_DEFAULT_FONT = (
    '<item oor:path="/org.openoffice.Office.Writer/DefaultFont"><prop oor:name="{name}" '
    'oor:op="fuse"><value>{font}</value></prop></item>'
)


def find_default_font(rng: Random) -> Drawn:
    items = "".join(
        _DEFAULT_FONT.format(
            name=rng.choice(["Standard", "Standard", "Heading"]),
            font=rng.choice(["Times New Roman", "Arial", ""]),
        )
        for _ in range(rng.randint(0, 3))
    )
    actual = damaged(rng, file("registrymodifications.xcu", text=_REGISTRY.format(items=items)))
    rules = (
        {"font_name": "Times New Roman"}
        if sometimes(rng, 0.93)
        else rng.choice([{}, {"font_name": None}])
    )
    return [actual, value(rules)], {}
