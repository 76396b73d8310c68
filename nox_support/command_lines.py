"""The command lines that pages show in their `console`, `bash` and `sh` blocks."""

from __future__ import annotations

import re
import shlex
from itertools import takewhile
from typing import TYPE_CHECKING, NamedTuple

from nox_support.packages import ROOT

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["Line", "lines_of", "pages", "words_of"]

_BLOCK = re.compile(r"^ *```(?:console|bash|sh)\n(.*?)^ *```", re.DOTALL | re.MULTILINE)
_COMMENT = re.compile(r"\s+#\s.*$")
_CODE = re.compile(r"# exit code (\d+)$")
_END = {"|", ";", "&&", ">", "&", "#"}


class Line(NamedTuple):
    """A command line that a page or a help shows.

    Attributes:
        place: Where it is: a page and the number of its line there, or a command's help.
        text: The line as a shell takes it, without a prompt and a comment.
        code: The exit code that a comment behind it promises.
    """

    place: str
    text: str
    code: int | None = None

    @property
    def moves_to(self) -> str | None:
        """The folder in which the lines after this one run; None for a line that does something else."""
        moved = re.fullmatch(r"cd (\S+)", self.text)
        return moved[1] if moved else None

    @property
    def words(self) -> list[str]:
        """The words of its first command."""
        return words_of(self.text)


def pages() -> list[Path]:
    """Return the pages whose command lines a reader may try."""
    found = [*ROOT.glob("docs/**/*.md"), *ROOT.glob("packages/*/README.md")]
    return [ROOT / "README.md", *sorted(found)]


def lines_of(page: Path) -> list[Line]:
    """Return the command lines of a page, in order; a continued one is one, and what was printed is none."""
    text = page.read_text(encoding="utf-8")
    found = []
    for block in _BLOCK.finditer(text):
        before = text[: block.start(1)].count("\n")
        rows = _joined(block[1])
        if any(row.lstrip().startswith("$ ") for _, row in rows):
            rows = [(number, row) for number, row in rows if row.lstrip().startswith("$ ")]
        for number, row in rows:
            promised = _CODE.search(row)
            command = _COMMENT.sub("", row.strip().removeprefix("$ ")).strip()
            if command and not command.startswith("#"):
                place = f"{page.relative_to(ROOT)}:{before + number}"
                found.append(Line(place, command, int(promised[1]) if promised else None))
    return found


def words_of(text: str) -> list[str]:
    """Return the words of a line's first command; its program has no folder, an ellipsis is no word."""
    words = list(takewhile(lambda word: word not in _END, shlex.split(text)))
    if words:
        words[0] = words[0].removeprefix(".venv/bin/")
    return [word for word in words if word != "..."]


def _joined(block: str) -> list[tuple[int, str]]:
    """Return the lines of a block with their numbers from 1; a continued one is one."""
    lines: list[tuple[int, str]] = []
    continued = False
    for number, line in enumerate(block.splitlines(), 1):
        if continued:
            lines[-1] = (lines[-1][0], f"{lines[-1][1].rstrip(chr(92)).rstrip()} {line.strip()}")
        else:
            lines.append((number, line))
        continued = line.endswith("\\")
    return lines
