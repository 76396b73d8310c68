"""Text from tasks, agents and errors made safe and tidy for a terminal."""

from __future__ import annotations

import re
import unicodedata
from decimal import Decimal

__all__ = ["counted", "dollars", "duration", "pad", "plain_lines", "plain_text", "shorten", "width"]

_ESCAPES = re.compile(
    r"\x1b(?:\[[0-?]*[ -/]*[@-~]"  # CSI: colours, cursor movement
    r"|[\]PX^_].*?(?:\x1b\\|\x07|$)"  # OSC, DCS and other strings: titles, links, clipboard
    r"|[ -/]*[0-~])",
    re.DOTALL,
)
_HIDDEN_CATEGORIES = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
_PLURALS = {"has": "have", "is": "are", "was": "were"}
_CENT = 0.01
_MINUTE = 60
_HOUR = 3600


def plain_text(text: str) -> str:
    r"""Return `text` on one line without anything a terminal would obey.

    Escape sequences, control characters and invisible formatting (bidirectional overrides too)
    disappear; line breaks and tabs become spaces.

    Example:
        >>> plain_text("\x1b[31mred\x1b[0m\nnext")
        'red next'
    """
    if text.isascii() and text.isprintable():
        return text
    flat = re.sub(r"[\r\n\t\v\f\x85\u2028\u2029]+", " ", _ESCAPES.sub("", text))
    return "".join(c for c in flat if unicodedata.category(c) not in _HIDDEN_CATEGORIES)


def plain_lines(text: str) -> str:
    """Return `text` with each of its lines as `plain_text` makes it."""
    return "\n".join(map(plain_text, text.splitlines()))


def width(text: str) -> int:
    """Return how many terminal cells `text` takes; East Asian wide characters take two."""
    if text.isascii():
        return len(text)
    return sum(_cells(character) for character in text)


def shorten(text: str, cells: int) -> str:
    """Return `text` as one safe line of at most `cells` terminal cells, cut with an ellipsis."""
    line = plain_text(text)
    if width(line) <= cells:
        return line
    kept, used = [], 0
    for character in line:
        used += _cells(character)
        if used > cells - 1:
            break
        kept.append(character)
    return "".join(kept).rstrip() + "…" if cells > 0 else ""


def pad(text: str, cells: int, *, right: bool = False) -> str:
    """Return `text` filled with spaces to `cells`, aligned left or `right`."""
    space = " " * max(0, cells - width(text))
    return space + text if right else text + space


def counted(number: float, noun: str) -> str:
    """Return a whole number and its noun, with its verb if one follows.

    Example:
        >>> [counted(n, "trial") for n in (0, 1, 1200)], counted(2, "old result was")
        (['0 trials', '1 trial', '1,200 trials'], '2 old results were')
    """
    if number != 1:
        name, _, verb = noun.rpartition(" ")
        noun = f"{name}s {_PLURALS[verb]}" if verb in _PLURALS else f"{noun}s"
    return f"{number:,.0f} {noun}"


def dollars(value: float) -> str:
    """Return US dollars: cents from one cent up, two significant digits below.

    Example:
        >>> [dollars(value) for value in (0, 0.00042, 0.5, 1200)]
        ['$0', '$0.00042', '$0.50', '$1,200.00']
    """
    if value == 0:
        return "$0"
    return f"${value:,.2f}" if value >= _CENT else f"${Decimal(f'{value:.2g}'):f}"


def duration(seconds: float) -> str:
    """Return a length of time as people write it.

    Example:
        >>> [duration(s) for s in (0.04, 8.26, 75, 3600 * 26 + 240)]
        ['0.0 s', '8.3 s', '1 min 15 s', '26 h 04 min']
    """
    if seconds < _MINUTE:
        return f"{seconds:.1f} s" if round(seconds, 1) < _MINUTE else "1 min 00 s"
    whole = round(seconds)
    if whole < _HOUR:
        return f"{whole // _MINUTE} min {whole % _MINUTE:02d} s"
    return f"{whole // _HOUR} h {whole % _HOUR // _MINUTE:02d} min"


def _cells(character: str) -> int:
    if unicodedata.combining(character):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1
