"""Typing of texts: splits them into parts for the keyboard and parts for the clipboard.

`computer.keyboard.write` drops every character that is not ASCII without an error, presses Enter for a
line break and Tab for a tab. So lines of plain ASCII are written, other lines are pasted, and line
breaks and tabs stay key presses, which dialogs need.
"""

from __future__ import annotations

import re
import unicodedata

from bench_core.records import Record

_KEYS = re.compile(r"([\n\t]+)")
# One Enter each: "\r\n" would press it twice.
_LINE_BREAKS = re.compile(r"\r\n|\r|\u2028|\u2029|\x85|\x0b|\x0c")


class Typing(Record):
    """The parts of a typed text.

    Attributes:
        parts: Pieces in order, each with whether it is pasted.
        dropped: Number of control characters left out, because keyboards do not have them.
    """

    parts: tuple[tuple[str, bool], ...] = ()
    dropped: int = 0

    @property
    def arrives(self) -> str:
        """The text as it reaches the VM."""
        return "".join(text for text, _ in self.parts)


def typing_of(text: str, *, us_keyboard: bool = True) -> Typing:
    r"""Return the parts in which `text` is typed.

    With another layout than the United States', only letters, digits and spaces are written, since
    PyAutoGUI presses the US layout's key for other characters, which types something else there.

    >>> typing_of("plain\nGrüße\t1").parts
    (('plain\n', False), ('Grüße', True), ('\t1', False))
    """
    text = _LINE_BREAKS.sub("\n", _joined(text))
    clean = "".join(each for each in text if each in "\n\t" or unicodedata.category(each) != "Cc")
    parts: list[tuple[str, bool]] = []
    for piece in filter(None, _KEYS.split(clean)):
        plain = us_keyboard or piece.replace(" ", "").isalnum() or not piece.strip("\n\t")
        pasted = not (piece.isascii() and plain)
        if parts and not pasted and not parts[-1][1]:
            parts[-1] = (parts[-1][0] + piece, False)
        else:
            parts.append((piece, pasted))
    return Typing(parts=tuple(parts), dropped=len(text) - len(clean))


def _joined(text: str) -> str:
    """Join surrogate pairs that JSON keeps apart; a lone surrogate becomes U+FFFD."""
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
