"""Dialogs that apps share: a message, a single question, and Open and Save As."""

from __future__ import annotations

import ntpath
from collections.abc import Callable, Sequence
from functools import partial
from typing import Literal

from waa_server_ext.simulate.machine.filesystem import HIDDEN, HOME, normal
from waa_server_ext.simulate.ui.builder import BUTTON, PRIMARY, Builder
from waa_server_ext.simulate.ui.geometry import Area, Rect
from waa_server_ext.simulate.ui.icons import icon_of_file
from waa_server_ext.simulate.ui.nodes import Style
from waa_server_ext.simulate.ui.text_field import TextField
from waa_server_ext.simulate.ui.windows import OkCancel, Window

PLACES = ("Desktop", "Downloads", "Documents", "Pictures", "Music", "Videos")
_ROW = 26


class Dialog(Window):
    """A window that its owner waits for."""

    cls = "#32770"
    modal = True
    resizable = False
    background = "#f3f3f3"

    def __init__(self, owner: Window) -> None:
        super().__init__(owner.desktop, owner)
        self.exe = owner.exe
        self.icon = owner.icon


class MessageBox(Dialog):
    """A text with a row of buttons; Escape means the last of them, Enter the first."""

    size = (440, 190)

    def __init__(
        self,
        owner: Window,
        title: str,
        text: str,
        choices: Sequence[tuple[str, Callable[[], object]]],
    ) -> None:
        super().__init__(owner)
        self.caption, self._text, self._choices = title, text, list(choices)
        self.focus = f"button:{self._choices[0][0]}"

    def build(self, ui: Builder) -> None:
        """Show the text and the buttons."""
        area = Area(self.frame.inset(20, 14))
        area.top(28)
        buttons = Area(area.bottom(32))
        width = min(110, (buttons.rect.width + 8) // max(len(self._choices), 1) - 8)
        for number, (name, do) in reversed(list(enumerate(self._choices))):
            style = BUTTON if number else PRIMARY
            ui.button(buttons.right(width, gap=8), name, partial(self._answer, do), style=style)
        ui.label(area.rect, self._text, wrap=True, size=13)

    def fallback(self, key: str, mods: frozenset[str]) -> bool:
        """Answer with Escape or Enter."""
        if key in {"escape", "enter"} and not mods:
            self._answer(self._choices[-1 if key == "escape" else 0][1])
            return True
        return False

    def request_close(self) -> None:
        """Answer with the last choice."""
        self._answer(self._choices[-1][1])

    def _answer(self, do: Callable[[], object]) -> None:
        self.close()
        do()


def show_message(owner: Window, title: str, text: str) -> None:
    """Show a message with an OK button."""
    owner.desktop.open(MessageBox(owner, title, text, [("OK", lambda: None)]))


class PromptBox(OkCancel, Dialog):
    """One line to fill in."""

    size = (400, 180)

    def __init__(
        self, owner: Window, title: str, label: str, accept: Callable[[str], None], text: str = ""
    ) -> None:
        super().__init__(owner)
        self.caption, self._label, self._accept = title, label, accept
        self._field = TextField(text)
        self._field.select_all()
        self.focus = f"edit:{label}"

    def build(self, ui: Builder) -> None:
        """Show the label, the edit box and the buttons."""
        area = Area(self.frame.inset(20, 14))
        area.top(30)
        buttons = Area(area.bottom(30))
        ui.button(buttons.right(90, gap=8), "Cancel", self.close)
        ui.button(buttons.right(90), "OK", self.confirm, style=PRIMARY)
        ui.label(area.top(22), self._label)
        ui.edit(area.top(30), self._label, self._field)

    def confirm(self) -> None:
        """Pass the line on."""
        text = self._field.text
        self.close()
        self._accept(text)


class FileDialog(OkCancel, Dialog):
    """Open or Save As: a place, the files there, a name and a type.

    The name may itself be a path, with or without quotes, as in Windows.
    """

    size = (760, 480)

    def __init__(
        self, owner: Window, mode: Literal["Open", "Save As"], accept: Callable[[str], None], *,
        folder: str = f"{HOME}\\Documents", name: str = "", types: Sequence[tuple[str, str]] = (),
    ) -> None:  # fmt: skip
        super().__init__(owner)
        self.mode = mode
        self._accept = accept
        self._types = list(types) or [("All files (*.*)", "")]
        self.type = 0
        self.folder = folder if self.machine.files.is_folder(folder) else HOME
        self.name = TextField(name)
        self.name.select_all()
        self.chosen: str | None = None
        self._first = 0
        self.focus = "name"

    @property
    def title(self) -> str:
        """`Open` or `Save as`."""
        return "Save as" if self.mode == "Save As" else self.mode

    def build(self, ui: Builder) -> None:
        """Show the address, the places, the files and the name and type fields."""
        area = Area(self.frame.inset(1))
        area.top(32)
        bar = Area(area.top(40).inset(10, 5))
        up = partial(self._go_to, ntpath.dirname(self.folder))
        ui.icon_button(bar.left(30, gap=8), "Up", "up", up)
        address = "  " + self.folder.replace("\\", "  \u203a  ")
        ui.label(bar.rect, address, cls="Breadcrumb", border="#d0d0d0", fill="#ffffff")
        bottom = Area(area.bottom(112).inset(14, 8))
        row = Area(bottom.top(28, gap=6))
        ui.label(row.left(110), "File name:")
        ui.edit(row.rect, "File name:", self.name, key="name", cls="Edit", native=True)
        row = Area(bottom.top(28, gap=6))
        ui.label(row.left(110), "Save as type:" if self.mode == "Save As" else "File type:")
        names = [name for name, _ in self._types]
        ui.combo(row.rect, "Save as type:", names[self.type], names, self._choose_type)
        ui.button(bottom.right(90, gap=8), "Cancel", self.close, native=True)
        accept = "Save" if self.mode == "Save As" else "Open"
        ui.button(bottom.right(90), accept, self.confirm, style=PRIMARY, native=True)
        self._build_places(ui, Area(area.left(160)))
        self._build_files(ui, area.rect)

    def _build_places(self, ui: Builder, area: Area) -> None:
        with ui.group(area.rect, "Navigation Pane", "SysTreeView32", native=True):
            for name in PLACES:
                path = f"{HOME}\\{name}"
                ui.button(
                    area.top(_ROW), name, partial(self._go_to, path), key=f"place:{name}", cls="TreeItem",
                    style=Style(icon="folder", padding=14), selected=self.folder == path,
                )  # fmt: skip

    def _build_files(self, ui: Builder, rect: Rect) -> None:
        files = self.machine.files
        wanted = self._types[self.type][1]
        names = [
            (each.path, each.is_folder)
            for each in files.children(self.folder)
            if self.machine.show_hidden or not each.attributes & HIDDEN
            if each.is_folder or each.path.casefold().endswith(wanted)
        ]
        shown = sorted(names, key=lambda each: not each[1])
        rows = max(rect.height // _ROW, 1)
        self._first = min(self._first, max(len(shown) - rows, 0))

        def scroll(by: int) -> None:
            self._first = min(max(self._first + by, 0), max(len(shown) - rows, 0))

        with ui.group(rect, "Items View", "UIItemsView", style=Style(fill="#ffffff"), wheel=scroll):
            area = Area(rect)
            for path, folder in shown[self._first : self._first + rows]:
                name = ntpath.basename(path)
                style = Style(
                    icon=icon_of_file(ntpath.splitext(name)[1], folder=folder), padding=12
                )
                node = ui.button(
                    area.top(_ROW),
                    name,
                    partial(self._pick, path, folder=folder),
                    style=style,
                    cls="UIItem",
                    key=f"file:{name}",
                )
                node.role, node.selected = "item", self.chosen == path
                node.double = partial(self._open_entry, path, folder=folder)

    def _choose_type(self, name: str) -> None:
        self.type = [each for each, _ in self._types].index(name)

    def _go_to(self, path: str) -> None:
        if self.machine.files.is_folder(path):
            self.folder, self.chosen, self._first = path, None, 0

    def _pick(self, path: str, *, folder: bool) -> None:
        self.chosen = path
        if not folder:
            self.name.set(ntpath.basename(path))

    def _open_entry(self, path: str, *, folder: bool) -> None:
        if folder:
            self._go_to(path)
        else:
            self.name.set(ntpath.basename(path))
            self.confirm()

    def confirm(self) -> None:
        """Open or save the named file; go to it if it is a folder."""
        text = self.name.text.strip()
        quoted = text.startswith('"')
        text = text.strip('"')
        if not text:
            if self.chosen is not None:
                self._go_to(self.chosen)
            return
        path = normal(self.machine.expand(text), self.folder)
        files = self.machine.files
        if files.is_folder(path):
            self._go_to(path)
            self.name.set("")
            return
        if self.mode == "Open":
            self._open(path)
            return
        extension = self._types[self.type][1]
        if extension and not quoted and not path.casefold().endswith(extension):
            path += extension
        self._save(path)

    def _open(self, path: str) -> None:
        if not self.machine.files.is_file(path):
            show_message(
                self,
                "Open",
                f"{ntpath.basename(path)}\nFile not found.\nCheck the file name and try again.",
            )
            return
        self._finish(path)

    def _save(self, path: str) -> None:
        if not self.machine.files.is_folder(ntpath.dirname(path)):
            show_message(
                self, "Save as", f"{path}\nPath does not exist.\nCheck the path and try again."
            )
            return
        if self.machine.files.is_file(path):
            text = f"{ntpath.basename(path)} already exists.\nDo you want to replace it?"
            choices = [("Yes", lambda: self._finish(path)), ("No", lambda: None)]
            self.desktop.open(MessageBox(self, "Confirm Save As", text, choices))
            return
        self._finish(path)

    def _finish(self, path: str) -> None:
        self.close()
        try:
            self._accept(path)
        except OSError as error:
            show_message(self.owner or self, self.title, f"{path}\n{error.strerror or error}")
