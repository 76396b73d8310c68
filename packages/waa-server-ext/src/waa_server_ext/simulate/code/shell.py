"""The interface between commands and the shell that runs them, and the splitting of command lines."""

from __future__ import annotations

import ntpath
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from typing_extensions import Self

from waa_server_ext.simulate.desktop.composition import Desktop
from waa_server_ext.simulate.machine.computer import Machine


@dataclass(frozen=True)
class Result:
    """A finished process: its exit code, its output and its error output."""

    code: int = 0
    output: str = ""
    error: str = ""


class Shell(Protocol):
    """A shell on a desktop.

    Attributes:
        cwd: The current folder.
        variables: Set by `set`; they take precedence over the machine's environment.
    """

    desktop: Desktop
    cwd: str
    variables: dict[str, str]

    @property
    def machine(self) -> Machine:
        """The computer it runs on."""
        ...

    def fresh(self) -> Self:
        """Return a shell in the state of a new process: at home and without variables from `set`."""
        ...

    def start(self, command: str | Sequence[str]) -> Result:
        """Start a process as CreateProcess does, which knows neither built-in commands nor pipes.

        Raises:
            FileNotFoundError: The program does not exist.
        """
        ...

    def run(self, line: str | Sequence[str]) -> Result:
        """Run a line as `cmd /c` does."""
        ...

    def path(self, text: str) -> str:
        """Return a word as an absolute path."""
        ...


def program_name(word: str) -> str:
    """Return the name of a program without its folder and `.exe`."""
    return (
        ntpath.basename(word.strip('"').replace("/", "\\") if not word.startswith("/") else word)
        .casefold()
        .removesuffix(".exe")
    )


def fits(text: str, wanted: str) -> bool:
    """Return whether `text` matches the pattern `wanted`, in which `*` stands for any text.

    >>> fits("notepad", "n*t*d"), fits("notepad", "n*x*")
    (True, False)
    """
    first, *rest = wanted.split("*")
    if not rest:
        return text == wanted
    *middle, last = rest
    if not text.startswith(first) or not text[len(first) :].endswith(last):
        return False
    place, end = len(first), len(text) - len(last)
    for part in middle:
        found = text.find(part, place, end)
        if found < 0:
            return False
        place = found + len(part)
    return True


def split_line(line: str) -> list[str]:
    """Return the words of a command line by Windows' rules for quotes."""
    words, word, quoted, begun = [], "", False, False
    for char in line:
        if char == '"':
            quoted, begun = not quoted, True
        elif char.isspace() and not quoted:
            if word or begun:
                words.append(word)
            word, begun = "", False
        else:
            word += char
    return [*words, word] if word or begun else words
