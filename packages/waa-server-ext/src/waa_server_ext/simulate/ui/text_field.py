"""Editable text with caret, selection, words, clipboard and undo, as in every Windows edit box."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable

MAX_TEXT = 1_000_000
"""Characters that a field holds; more are dropped, so that endless input cannot fill memory."""

_MAX_UNDO = 50


class TextField:
    """A string with a caret; `anchor` differs from `caret` while text is selected."""

    def __init__(
        self,
        text: str = "",
        *,
        multiline: bool = False,
        allow: Callable[[str], bool] | None = None,
        changed: Callable[[], object] | None = None,
    ) -> None:
        self.text = text
        self.caret = len(text)
        self.anchor = self.caret
        self.multiline = multiline
        self.scroll_line = 0
        self._allow = allow
        self._changed = changed
        self._undo: list[tuple[str, int]] = []
        self._redo: list[tuple[str, int]] = []
        self._starts: list[int] | None = None

    def set(self, text: str, *, select: bool = False) -> None:
        """Replace the text; put the caret at the end, or select everything."""
        self._replace(text, len(text))
        self._undo.clear()
        self._redo.clear()
        self.scroll_line = 0
        if select:
            self.anchor = 0

    @property
    def selection(self) -> tuple[int, int]:
        """Start and end of the selection; equal if nothing is selected."""
        return min(self.caret, self.anchor), max(self.caret, self.anchor)

    @property
    def selected(self) -> str:
        """The selected text."""
        start, end = self.selection
        return self.text[start:end]

    @property
    def starts(self) -> list[int]:
        """The index each line starts at."""
        if self._starts is None:
            self._starts = [0]
            if self.multiline:
                self._starts += [i + 1 for i, char in enumerate(self.text) if char == "\n"]
        return self._starts

    def line(self, number: int) -> str:
        """Return a line without its break."""
        starts = self.starts
        if number + 1 < len(starts):
            return self.text[starts[number] : starts[number + 1] - 1]
        return self.text[starts[number] :] if number < len(starts) else ""

    def place(self, index: int) -> tuple[int, int]:
        """Return line and column of an index."""
        number = bisect_right(self.starts, index) - 1
        return number, index - self.starts[number]

    def index(self, line: int, column: int) -> int:
        """Return the index of a line and column, each moved into range."""
        line = min(max(line, 0), len(self.starts) - 1)
        return self.starts[line] + min(max(column, 0), len(self.line(line)))

    def insert(self, text: str) -> None:
        """Type `text` over the selection."""
        if not self.multiline:
            text = text.replace("\r", "").split("\n")[0]
        text = text.replace("\r\n", "\n").replace("\r", "\n")
        start, end = self.selection
        room = MAX_TEXT - (len(self.text) - (end - start))
        new = self.text[:start] + text[:room] + self.text[end:]
        if self._allow is None or self._allow(new):
            self._edit(new, start + len(text[:room]))

    def press(self, key: str, mods: frozenset[str]) -> bool:
        """Handle a key; return false if the field has no use for it."""
        ctrl, shift = "ctrl" in mods, "shift" in mods
        if "alt" in mods or "win" in mods:
            return False
        if ctrl and key in {"a", "z", "y"}:
            {"a": self.select_all, "z": self.undo, "y": self.redo}[key]()
            return True
        if key in {"backspace", "delete"}:
            forward = key == "delete"
            start, end = self.selection
            if start == end:
                if ctrl:
                    other = self._word(1 if forward else -1)
                else:
                    other = min(max(self.caret + (1 if forward else -1), 0), len(self.text))
                start, end = sorted((self.caret, other))
            if start != end:
                self._edit(self.text[:start] + self.text[end:], start)
            return True
        target = self._target(key, word=ctrl)
        if target is None:
            return False
        start, end = self.selection
        if not shift and start != end and key in {"left", "right"} and not ctrl:
            target = start if key == "left" else end
        self.move(target, select=shift)
        return True

    def move(self, index: int, *, select: bool = False) -> None:
        """Put the caret at an index; with `select`, extend the selection to it."""
        self.caret = min(max(index, 0), len(self.text))
        if not select:
            self.anchor = self.caret

    def select_all(self) -> None:
        """Select everything."""
        self.anchor, self.caret = 0, len(self.text)

    def select_word(self) -> None:
        """Select the word around the caret, as a double click does."""
        start = end = min(self.caret, max(len(self.text) - 1, 0))
        while start > 0 and _in_word(self.text[start - 1]):
            start -= 1
        while end < len(self.text) and _in_word(self.text[end]):
            end += 1
        self.anchor, self.caret = start, end

    def select_line(self) -> None:
        """Select the line of the caret, as a triple click does."""
        line, _ = self.place(self.caret)
        self.anchor, self.caret = self.index(line, 0), self.index(line, len(self.text))

    def undo(self) -> None:
        """Undo the last edit."""
        if self._undo:
            self._redo.append((self.text, self.caret))
            self._replace(*self._undo.pop())

    def redo(self) -> None:
        """Redo the last undone edit."""
        if self._redo:
            self._undo.append((self.text, self.caret))
            self._replace(*self._redo.pop())

    def follow_caret(self, visible_lines: int) -> None:
        """Scroll so that the caret's line is among `visible_lines`."""
        line = self.place(self.caret)[0]
        if line < self.scroll_line:
            self.scroll_line = line
        elif line >= self.scroll_line + visible_lines:
            self.scroll_line = line - visible_lines + 1

    def _target(self, key: str, *, word: bool) -> int | None:
        line, column = self.place(self.caret)
        simple = {
            "left": self._word(-1) if word else self.caret - 1,
            "right": self._word(1) if word else self.caret + 1,
            "home": 0 if word else self.index(line, 0),
            "end": len(self.text) if word else self.index(line, 10**9),
        }
        if key in simple:
            return simple[key]
        steps = {"up": -1, "down": 1, "pageup": -20, "pagedown": 20}
        if self.multiline and key in steps:
            return self.index(line + steps[key], column)
        return None

    def _word(self, step: int) -> int:
        at = self.caret
        look = -1 if step < 0 else 0
        edge = 0 if step < 0 else len(self.text)
        while at != edge and not _in_word(self.text[at + look]):
            at += step
        while at != edge and _in_word(self.text[at + look]):
            at += step
        return at

    def _edit(self, text: str, caret: int) -> None:
        if text == self.text:
            self.move(caret)
            return
        self._undo.append((self.text, self.caret))
        # bounds the memory of the undo history: one step for a megabyte, fifty for a small text
        keep = max(1, min(_MAX_UNDO, MAX_TEXT // (len(text) + 1)))
        del self._undo[:-keep]
        self._redo.clear()
        self._replace(text, caret)

    def _replace(self, text: str, caret: int) -> None:
        self.text, self._starts = text, None
        self.move(caret)
        if self._changed is not None:
            self._changed()


def _in_word(char: str) -> bool:
    return char.isalnum() or char == "_"
