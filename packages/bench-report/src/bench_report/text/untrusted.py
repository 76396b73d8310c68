"""Text of unknown origin, made safe to show: nothing hidden, nothing endless."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence

from pydantic import JsonValue

# C0 and C1 controls but tab and newline, bidi controls, zero-width and other invisible formatting,
# line and paragraph separators, unpaired surrogates, tags and variation selectors supplement.
_HIDDEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f"
    "\ufeff\ufff9-\ufffb\ud800-\udfff\U000e0000-\U000e01ef]"
)
# More than four combining characters on one letter are drawn over the lines above and below.
_COMBINING_RUN = re.compile(
    "([\u0300-\u036f\u0483-\u0489\u1ab0-\u1aff\u20d0-\u20ff]{4})[\u0300-\u036f\u0483-\u0489\u1ab0-\u1aff\u20d0-\u20ff]+"
)
_MARKDOWN = re.compile(r"[\\`*_\[\]<>|&~$]")
# Headings, lists and the lines that make one of the line above; elsewhere these characters are text.
_MARKDOWN_START = re.compile(r"^(\d*)([#\-+=.)])")
# GitHub makes links of bare addresses, `www.` and `@name`; no backslash prevents that, an empty comment does.
_MARKDOWN_LINK = re.compile(r"(?i)(:)(?=//)|(www)(?=\.)|(@)(?=\w)")
_FLAT = json.JSONEncoder(ensure_ascii=False)
_FLAT_LENGTH = 60
_INDENTED = json.JSONEncoder(ensure_ascii=False, indent=1)
_WORDS = {None: "null", True: "true", False: "false"}
_C0_END = 0x20
_DELETE = 0x7F


def _picture(match: re.Match[str]) -> str:
    code = ord(match.group())
    if code < _C0_END:
        return chr(0x2400 + code)
    return "\u2421" if code == _DELETE else f"[U+{code:04X}]"


def visible(text: str) -> str:
    r"""Show characters that hide, reorder or command: `ESC` as a symbol, bidi controls by number.

    >>> visible("a\x1b[31mb")
    'a␛[31mb'
    """
    # nearly all texts, and far sooner than by the patterns
    if text.isprintable() and text.isascii():
        return text
    text = text.replace("\r\n", "\n")
    return _COMBINING_RUN.sub(r"\1", _HIDDEN.sub(_picture, text))


def clip(text: str, limit: int) -> str:
    """Return `text` made visible and no longer than about `limit`, with the number of characters left out."""
    if len(text) <= limit:
        return visible(text)
    return f"{visible(text[:limit])}… ({len(text) - limit:,} more characters)"


def inline(text: str, limit: int) -> str:
    """Return `clip` of the text on one line."""
    # a text of 10 MB is not split for one line
    return clip(" ".join(text[: 4 * limit].split()), limit)


def shown_json(value: JsonValue, limit: int) -> str:
    """Return JSON for people: strings bare, small values on a line, at most about `limit` long."""
    if isinstance(value, str):
        return clip(value, limit)
    if value is None or isinstance(value, bool):
        return _WORDS[value]
    flat = _FLAT.encode(value)
    return clip(flat if len(flat) <= _FLAT_LENGTH else _INDENTED.encode(value), limit)


def markdown(text: str, limit: int = 200) -> str:
    r"""Return one line of text that Markdown shows as it is, also inside a table cell.

    Nothing in it becomes a link or mentions an account.

    >>> markdown("# [a](https://b) <i>@all")
    '\\# \\[a\\](https:<!-- -->//b) \\<i\\>@<!-- -->all'
    """
    line = _MARKDOWN.sub(r"\\\g<0>", inline(text, limit))
    line = _MARKDOWN_START.sub(r"\1\\\2", line)
    return _MARKDOWN_LINK.sub(r"\g<0><!-- -->", line)


def markdown_table(
    head: Sequence[str],
    rows: Iterable[Sequence[str]],
    *,
    words: int = 1,
    numbers_from: int | None = None,
) -> str:
    """Return a table whose first `words` columns are escaped here, and the others written as they are.

    Columns from `numbers_from` on, by default those after the words, are aligned right.
    """
    right = words if numbers_from is None else numbers_from
    rules = ["---" if place < right else "---:" for place in range(len(head))]
    cells = [[*map(markdown, row[:words]), *row[words:]] for row in rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in [head, rules, *cells])
