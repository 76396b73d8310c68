"""Notepad: a text, its file, menus, and Find and Replace."""

from __future__ import annotations

import ntpath
from collections.abc import Callable, Sequence
from typing import Any

from waa_server_ext.simulate.machine.filesystem import normal
from waa_server_ext.simulate.ui.builder import Builder
from waa_server_ext.simulate.ui.dialogs import FileDialog, MessageBox, show_message
from waa_server_ext.simulate.ui.geometry import Area
from waa_server_ext.simulate.ui.menus import MenuItem
from waa_server_ext.simulate.ui.nodes import Style
from waa_server_ext.simulate.ui.text_field import TextField
from waa_server_ext.simulate.ui.windows import Desktop, Window

_TYPES = (("Text documents (*.txt)", ".txt"), ("All files (*.*)", ""))


class Notepad(Window):
    """A window of Notepad with one document."""

    exe = "notepad.exe"
    cls = "Notepad"
    icon = "app:#4b8fc4:N"
    size = (820, 560)

    def __init__(self, desktop: Desktop, path: str | None = None) -> None:
        super().__init__(desktop)
        self.path = path
        self.text = TextField(multiline=True)
        self.kept = ""
        self.focus = "document"
        self.find_open = self.replace_open = False
        self.wanted, self.instead = TextField(), TextField()
        self.found = ""
        self.zoom = 14
        if path is not None:
            self._load(path)

    @property
    def title(self) -> str:
        """The file's name and the program, with a star while there are unsaved changes."""
        name = ntpath.basename(self.path) if self.path else "Untitled"
        return f"{'*' if self.text.text != self.kept else ''}{name} - Notepad"

    def build(self, ui: Builder) -> None:
        """Show the menus, the search bar if it is open, the text and the status line."""
        area = Area(self.frame.inset(1))
        area.top(32)
        menus = Area(area.top(32).inset(6, 2))
        with ui.group(menus.rect, "", "MenuBar"):
            for name, items in (("File", self._file), ("Edit", self._edit), ("View", self._view)):
                ui.menu_button(
                    menus.left(56, gap=2),
                    name,
                    items,
                    style=Style(align="center", radius=4, padding=4),
                )
        if self.find_open:
            rows = 2 if self.replace_open else 1
            bar = Area(area.top(36 * rows).inset(8, 4))
            first = Area(bar.top(28, gap=8))
            ui.edit(
                first.left(300, gap=8),
                "Find",
                self.wanted,
                key="find",
                style=Style(radius=3, hint="Find"),
            )
            ui.button(first.left(100, gap=8), "Find next", self._next)
            ui.label(first.rect, self.found, size=12)
            if self.replace_open:
                second = Area(bar.top(28))
                ui.edit(
                    second.left(300, gap=8),
                    "Replace",
                    self.instead,
                    key="replace",
                    style=Style(radius=3, hint="Replace"),
                )
                ui.button(second.left(100, gap=8), "Replace", self._replace_one, key="replace-one")
                ui.button(second.left(100, gap=8), "Replace all", self._replace_all)
        status = Area(area.bottom(26))
        ui.edit(area.rect, "Text editor", self.text, key="document", cls="RichEditD2DPT", native=True,
                style=Style(border="", size=self.zoom))  # fmt: skip
        with ui.group(status.rect, "", "StatusBar", style=Style(fill="#f3f3f3")):
            line, column = self.text.place(self.text.caret)
            ui.label(status.left(160).inset(10, 0), f"Ln {line + 1}, Col {column + 1}", size=12)
            ui.label(status.left(200), f"{len(self.text.text)} characters", size=12)
            ui.label(status.right(80), "UTF-8", size=12)
            ui.label(status.right(150), "Windows (CRLF)", size=12)

    def shortcut(self, key: str, mods: frozenset[str]) -> bool:
        """Handle Notepad's own keys."""
        ctrl: dict[str, Callable[[], object]] = {
            "s": self.save, "o": self._open, "n": self._new, "f": self._find, "h": self._replace,
            "+": lambda: self._zoom(2), "=": lambda: self._zoom(2), "-": lambda: self._zoom(-2), "w": self.request_close,
        }  # fmt: skip
        if mods == {"ctrl"} and key in ctrl:
            ctrl[key]()
        elif mods == {"ctrl", "shift"} and key == "s":
            self.save_as()
        elif key == "f3":
            self._next()
        elif key == "f5" and not mods:
            self._insert_time()
        elif key == "escape" and self.find_open:
            self.find_open, self.focus = False, "document"
        elif key == "enter" and self.focus in {"find", "replace"}:
            self._next()
        else:
            return False
        return True

    def save(self) -> None:
        """Write the file, or ask for its name."""
        if self.path is None:
            self.save_as()
        else:
            self._write(self.path)

    def save_as(self) -> None:
        """Ask for a name and write the file."""
        name = ntpath.basename(self.path) if self.path else "*.txt"
        folder = ntpath.dirname(self.path) if self.path else ""
        extra = {"folder": folder} if folder else {}
        self.desktop.open(
            FileDialog(self, "Save As", self._write, name=name, types=_TYPES, **extra)
        )

    def request_close(self) -> None:
        """Close, asking first if there are unsaved changes."""
        if self.text.text == self.kept:
            self.close()
            return
        name = ntpath.basename(self.path) if self.path else "Untitled"

        def save_then() -> None:
            if self.path is None:
                self.save_as()
            else:
                self._write(self.path)
                self.close()

        choices = [("Save", save_then), ("Don't save", self.close), ("Cancel", lambda: None)]
        self.desktop.open(
            MessageBox(self, "Notepad", f"Do you want to save changes to {name}?", choices)
        )

    def saved_state(self) -> dict[str, Any]:
        """Return the file's path and the text, which may be unsaved."""
        return {"path": self.path, "text": self.text.text}

    def restore_state(self, state: dict[str, Any]) -> None:
        """Restore the text."""
        self.text.set(str(state.get("text", self.text.text)))

    def _load(self, path: str) -> None:
        try:
            data = self.machine.files.read(path)
        except OSError as error:
            self.path = None
            show_message(self, "Notepad", f"{path}\n{error.strerror}")
            return
        text = data.decode("utf-8-sig", "replace").replace("\r\n", "\n")
        self.text.set(text)
        self.text.move(0)
        self.path, self.kept = path, text

    def _write(self, path: str) -> None:
        text = self.text.text
        try:
            self.machine.files.write(path, text.replace("\n", "\r\n").encode())
        except OSError as error:
            show_message(self, "Notepad", f"{path}\n{error.strerror}")
            return
        self.path, self.kept = normal(path), text

    def _file(self) -> Sequence[MenuItem]:
        return [
            MenuItem("New", self._new, "Ctrl+N"),
            MenuItem("Open", self._open, "Ctrl+O"),
            MenuItem("Save", self.save, "Ctrl+S"),
            MenuItem("Save as", self.save_as, "Ctrl+Shift+S"),
            MenuItem("-"),
            MenuItem("Exit", self.request_close),
        ]

    def _edit(self) -> Sequence[MenuItem]:
        text, clipboard = self.text, self.machine.clipboard

        def cut() -> None:
            clipboard.copy_text(text.selected)
            text.insert("")

        some = bool(text.selected)
        return [
            MenuItem("Undo", text.undo, "Ctrl+Z"),
            MenuItem("-"),
            MenuItem("Cut", cut, "Ctrl+X", enabled=some),
            MenuItem("Copy", lambda: clipboard.copy_text(text.selected), "Ctrl+C", enabled=some),
            MenuItem(
                "Paste", lambda: text.insert(clipboard.text), "Ctrl+V", enabled=bool(clipboard.text)
            ),
            MenuItem("-"),
            MenuItem("Find", self._find, "Ctrl+F"),
            MenuItem("Find next", self._next, "F3"),
            MenuItem("Replace", self._replace, "Ctrl+H"),
            MenuItem("-"),
            MenuItem("Select all", text.select_all, "Ctrl+A"),
            MenuItem("Time/Date", self._insert_time, "F5"),
        ]

    def _view(self) -> Sequence[MenuItem]:
        return [
            MenuItem("Zoom in", lambda: self._zoom(2), "Ctrl++"),
            MenuItem("Zoom out", lambda: self._zoom(-2), "Ctrl+-"),
            MenuItem("Status bar", checked=True),
        ]

    def _find(self) -> None:
        self.find_open, self.focus = True, "find"
        self.wanted.set(self.text.selected or self.wanted.text, select=True)

    def _replace(self) -> None:
        self._find()
        self.replace_open = True

    def _next(self) -> None:
        wanted = self.wanted.text.casefold()
        if not wanted:
            return
        whole = self.text.text.casefold()
        start = self.text.selection[1]
        at = whole.find(wanted, start)
        at = whole.find(wanted) if at < 0 else at
        count = whole.count(wanted)
        self.found = f"{count} found" if count else f'Cannot find "{self.wanted.text}"'
        if at >= 0:
            self.text.move(at)
            self.text.move(at + len(wanted), select=True)
            self.text.follow_caret(10)

    def _replace_one(self) -> None:
        if self.text.selected.casefold() == self.wanted.text.casefold() != "":
            self.text.insert(self.instead.text)
        self._next()

    def _replace_all(self) -> None:
        wanted = self.wanted.text
        if not wanted:
            return
        changed, low, at = [], self.text.text.casefold(), 0
        while (found := low.find(wanted.casefold(), at)) >= 0:
            changed += [self.text.text[at:found], self.instead.text]
            at = found + len(wanted)
        whole = "".join([*changed, self.text.text[at:]])
        self.text.select_all()
        self.text.insert(whole)

    def _insert_time(self) -> None:
        now = self.machine.clock.now()
        half = "AM" if now.hour < 12 else "PM"  # noon
        self.text.insert(
            f"{now.hour % 12 or 12}:{now.minute:02d} {half} {now.month}/{now.day}/{now.year}"
        )

    def _zoom(self, by: int) -> None:
        self.zoom = min(max(self.zoom + by, 8), 40)

    def _new(self) -> None:
        self.desktop.open(Notepad(self.desktop))

    def _open(self) -> None:
        def opened(path: str) -> None:
            if self.path is None and not self.text.text:
                self._load(path)
            else:
                self.desktop.open(Notepad(self.desktop, path))

        self.desktop.open(FileDialog(self, "Open", opened, types=_TYPES))


def open_notepad(desktop: Desktop, arguments: Sequence[str]) -> Window:
    """Open Notepad, with a file if one is named; bring forward a window that already shows it."""
    path = normal(" ".join(arguments)) if arguments else None
    for window in desktop.windows:
        if (
            isinstance(window, Notepad)
            and path
            and (window.path or "").casefold() == path.casefold()
        ):
            if window.text.text == window.kept:
                window._load(path)  # its own module
            desktop.activate(window)
            return window
    if path is not None and not desktop.machine.files.is_file(path):
        path = path if path.casefold().endswith(".txt") else None
        if path is not None:
            window = Notepad(desktop)
            window.path = path
            return window
    return Notepad(desktop, path)
