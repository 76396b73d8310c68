"""The places of File Explorer that are not folders: home, the recycle bin and libraries."""

from __future__ import annotations

import ntpath
from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import partial

from waa_server_ext.simulate.machine.filesystem import HOME, Recycled, normal
from waa_server_ext.simulate.ui.builder import Builder
from waa_server_ext.simulate.ui.dialogs import PLACES, PromptBox, show_message
from waa_server_ext.simulate.ui.geometry import Area, Rect
from waa_server_ext.simulate.ui.menus import Menu, MenuItem
from waa_server_ext.simulate.ui.nodes import Node, Style
from waa_server_ext.simulate.ui.windows import Window

_ROW = 28
_MOST = 200


class PlaceWindow(Window, ABC):
    """A window that shows one place after another."""

    @abstractmethod
    def go(self, place: str, *, remember: bool = True) -> None:
        """Show another place: a folder's path, or a `shell:` name."""

    @abstractmethod
    def clear_selection(self) -> None:
        """Select nothing; finish a rename in progress."""


def build_home(window: PlaceWindow, ui: Builder, rect: Rect) -> int:
    """Show the user's folders as tiles; return their number."""
    area = Area(rect.inset(16, 12))
    ui.label(area.top(28, gap=4), "Quick access", bold=True)
    for number, name in enumerate(PLACES):
        box = Rect.sized(
            area.rect.left + number % 4 * 130, area.rect.top + number // 4 * 110, 124, 104
        )
        style = Style(icon="folder", layout="tile", radius=4)
        node = ui.add(Node("item", box, name, "UIItem", key=f"quick:{name}", style=style))
        node.double = partial(window.go, f"{HOME}\\{name}")
        node.click = window.clear_selection
    return len(PLACES)


class RecycleBin:
    """The recycled items, which can be restored or deleted for good."""

    def __init__(self, window: PlaceWindow) -> None:
        self._window = window
        self._files = window.machine.files
        self.selected: set[int] = set()

    def build_commands(self, ui: Builder, bar: Area, style: Style) -> None:
        """Show the recycle bin's buttons."""
        ui.button(bar.left(140, gap=4), "Empty Recycle Bin", self._empty, style=style)
        ui.button(bar.left(150, gap=4), "Restore all items", self._restore_all, style=style)
        ui.button(
            bar.left(190),
            "Restore the selected items",
            self._restore_selected,
            style=style,
            enabled=bool(self.selected),
        )

    def build(self, ui: Builder, rect: Rect) -> int:
        """Show its items; return their number."""
        items = self._files.bin
        with ui.group(rect, "Items View", "UIItemsView") as space:
            space.click = self.selected.clear
            area = Area(rect.inset(6, 4))
            for number, item in enumerate(items[:_MOST]):
                name = ntpath.basename(item.origin)
                icon = "folder" if item.entries[0].is_folder else "file:#8a8a8a"
                style = Style(icon=icon, padding=10)
                box = area.top(_ROW)
                node = ui.add(Node("item", box, name, "UIItem", key=f"bin:{number}", style=style))
                node.value = f"{name}      (from {ntpath.dirname(item.origin)})"
                node.selected = number in self.selected
                node.click = partial(self._pick, number)
                node.right = partial(self._menu, number)
        return len(items)

    def _pick(self, number: int) -> None:
        self.selected = {number}

    def _menu(self, number: int, x: int, y: int) -> None:
        self.selected = {number}
        items = [
            MenuItem("Restore", self._restore_selected),
            MenuItem("Delete", self._delete_selected),
        ]
        self._window.desktop.show_menu_at(Menu(items), x, y)

    def _chosen(self) -> list[Recycled]:
        return [item for number, item in enumerate(self._files.bin) if number in self.selected]

    def _restore_selected(self) -> None:
        self._restore(self._chosen())

    def _restore_all(self) -> None:
        self._restore(list(self._files.bin))

    def _restore(self, items: list[Recycled]) -> None:
        for item in items:
            try:
                self._files.restore(item)
            except FileExistsError:  # noqa: PERF203  # one failure must not stop the others
                show_message(self._window, "Restore", f"{item.origin} exists already.")
        self.selected = set()

    def _delete_selected(self) -> None:
        for item in self._chosen():
            self._files.bin.remove(item)
        self.selected = set()

    def _empty(self) -> None:
        self._files.bin.clear()
        self.selected = set()


class Libraries:
    """Named groups of folders."""

    def __init__(self, window: PlaceWindow) -> None:
        self._window = window
        self._machine = window.machine

    def build(self, ui: Builder, rect: Rect) -> int:
        """Show each library with its folders; return their number."""
        area = Area(rect.inset(16, 12))
        libraries = self._machine.libraries
        for name in sorted(libraries):
            row = Area(area.top(32, gap=2))
            ui.button(
                row.right(130).inset(0, 3),
                f"Include a folder in {name}",
                self._includer(name),
                value="Include a folder",
            )
            style = Style(icon="folder", padding=8)
            node = ui.add(Node("item", row.left(150), name, "UIItem", style=style))
            node.right = partial(self._menu, name)
            node.click = self._window.clear_selection
            ui.label(row.rect.inset(8, 0), "; ".join(libraries[name]), size=12)
        return len(libraries)

    def new(self) -> None:
        """Ask for the name of a new library."""

        def made(name: str) -> None:
            if name.strip():
                self._machine.libraries.setdefault(name.strip(), [])

        self._window.desktop.open(
            PromptBox(self._window, "New library", "Name", made, "New Library")
        )

    def _includer(self, name: str) -> Callable[[], object]:
        def included(path: str) -> None:
            folders = self._machine.libraries[name]
            path = normal(self._machine.expand(path.strip('" ')))
            if not self._machine.files.is_folder(path):
                show_message(self._window, name, f"{path}\nis not a folder.")
            elif path not in folders:
                folders.append(path)

        def ask() -> None:
            self._window.desktop.open(
                PromptBox(self._window, f"Include a folder in {name}", "Folder", included)
            )

        return ask

    def _menu(self, name: str, x: int, y: int) -> None:
        items = [MenuItem("Delete", lambda: self._machine.libraries.pop(name, None) and None)]
        self._window.desktop.show_menu_at(Menu(items), x, y)
