"""File Explorer: address, navigation, views and sorting."""

from __future__ import annotations

import ntpath
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from waa_server_ext.simulate.apps.explorer_places import (
    Libraries,
    PlaceWindow,
    RecycleBin,
    build_home,
)
from waa_server_ext.simulate.machine.computer import EXPLORER_ADVANCED
from waa_server_ext.simulate.machine.filesystem import HOME, FileEntry, normal
from waa_server_ext.simulate.ui.builder import Builder
from waa_server_ext.simulate.ui.dialogs import PLACES, show_message
from waa_server_ext.simulate.ui.file_labels import shown_size, shown_time, type_name
from waa_server_ext.simulate.ui.file_view import FileView
from waa_server_ext.simulate.ui.geometry import Area, Rect
from waa_server_ext.simulate.ui.menus import MenuItem
from waa_server_ext.simulate.ui.nodes import Node, Style
from waa_server_ext.simulate.ui.text_field import TextField
from waa_server_ext.simulate.ui.windows import Desktop, Window

BIN = "shell:RecycleBinFolder"
LIBRARIES = "shell:Libraries"
_HOME = "shell:Home"
_COLUMNS = (("Name", 260), ("Date modified", 160), ("Type", 170), ("Size", 90))
_LAYOUTS = ("Large icons", "List", "Details")
_HEADER_PADDING = 10
_ROW = 28
_TILE = (110, 104)
_SHELL_NAMES = {
    "shell:desktop": f"{HOME}\\Desktop", "shell:downloads": f"{HOME}\\Downloads",
    "shell:personal": f"{HOME}\\Documents", "shell:my pictures": f"{HOME}\\Pictures",
    BIN.casefold(): BIN, LIBRARIES.casefold(): LIBRARIES,
}  # fmt: skip


class Explorer(PlaceWindow):
    """One window of File Explorer at one place."""

    exe = "explorer.exe"
    cls = "CabinetWClass"
    icon = "folder"
    size = (980, 600)

    def __init__(self, desktop: Desktop, place: str = _HOME) -> None:
        super().__init__(desktop)
        self.view = FileView(self, place)
        self.back: list[str] = []
        self.ahead: list[str] = []
        self.address = TextField()
        self.search = TextField()
        self.editing_address = False
        self.first = 0
        self.bin = RecycleBin(self)
        self.libraries = Libraries(self)

    @property
    def place(self) -> str:
        """A folder's path, or a `shell:` name."""
        return self.view.folder

    @property
    def place_name(self) -> str:
        """How the place is called in the title and the address."""
        names = {
            BIN: "Recycle Bin",
            LIBRARIES: "Libraries",
            _HOME: "Home",
            "C:\\": "Local Disk (C:)",
        }
        return names.get(self.place) or ntpath.basename(self.place) or self.place

    @property
    def title(self) -> str:
        """The place and the program."""
        return f"{self.place_name} - File Explorer"

    def go(self, place: str, *, remember: bool = True) -> None:
        """Show another place."""
        place = _SHELL_NAMES.get(place.casefold(), place)
        if not place.startswith("shell:"):
            place = normal(place)
            entry = self.machine.files.find(place)
            if entry is None or not entry.is_folder:
                show_message(
                    self,
                    "File Explorer",
                    f"Windows can't find '{place}'. Check the spelling and try again.",
                )
                return
            place = entry.path
        if remember and place != self.place:
            self.back.append(self.place)
            del self.back[:-50]
            self.ahead.clear()
        self.view = FileView(self, place)
        self.first, self.editing_address = 0, False
        self.bin.selected = set()
        self.search.set("")
        self.focus = None

    def build(self, ui: Builder) -> None:
        """Show the address bar, the commands, the navigation pane and the items."""
        area = Area(self.frame.inset(1))
        area.top(32)
        self._build_address(ui, Area(area.top(40).inset(8, 5)))
        bar = Area(area.top(40).inset(8, 4))
        flat = Style(align="center", radius=4, padding=4)
        if self.place == BIN:
            self.bin.build_commands(ui, bar, flat)
        else:
            view, some = self.view, bool(self.view.selected)
            ui.menu_button(bar.left(58, gap=4), "New", self._new_items, style=flat)
            for name, do in (("Cut", view.cut), ("Copy", view.copy)):
                ui.button(bar.left(52, gap=2), name, do, style=flat, enabled=some)
            ui.button(
                bar.left(56, gap=2),
                "Paste",
                view.paste,
                style=flat,
                enabled=bool(self.machine.clipboard.files),
            )
            ui.button(bar.left(70, gap=2), "Rename", view.start_rename, style=flat, enabled=some)
            ui.button(bar.left(60, gap=2), "Delete", view.delete, style=flat, enabled=some)
            ui.menu_button(bar.left(58, gap=2), "Sort", self._sort_items, style=flat)
            ui.menu_button(bar.left(58, gap=2), "View", self._view_items, style=flat)
            ui.menu_button(bar.left(80), "See more", self._more_items, style=flat)
        status = area.bottom(24)
        self._build_navigation(ui, area.left(190))
        with ui.group(
            area.rect, "Shell Folder View", "DUIListView", native=True, style=Style(fill="#ffffff")
        ):
            if self.place == BIN:
                count = self.bin.build(ui, area.rect)
            elif self.place == LIBRARIES:
                count = self.libraries.build(ui, area.rect)
            elif self.place == _HOME:
                count = build_home(self, ui, area.rect)
            else:
                count = self._build_items(ui, area.rect)
        ui.label(
            status.inset(12, 0),
            f"{count} item{'' if count == 1 else 's'}",
            size=12,
            cls="StatusBar",
        )

    def shortcut(self, key: str, mods: frozenset[str]) -> bool:
        """Handle the keys of File Explorer."""
        if self.focus in {"address", "search"}:
            if key == "enter" and self.focus == "address":
                self.go(self.machine.expand(self.address.text.strip().strip('"')))
                return True
            if key == "escape":
                self.editing_address, self.focus = False, None
                return True
            return False
        keys: dict[tuple[str, frozenset[str]], Callable[[], object]] = {
            ("left", frozenset({"alt"})): self.go_back,
            ("right", frozenset({"alt"})): self.go_forward,
            ("up", frozenset({"alt"})): self.go_up,
            ("backspace", frozenset()): self.go_back,
            ("l", frozenset({"ctrl"})): self._edit_address,
            ("d", frozenset({"alt"})): self._edit_address,
            ("enter", frozenset({"alt"})): self.view.properties,
            ("w", frozenset({"ctrl"})): self.close,
            ("n", frozenset({"ctrl"})): lambda: _opened(self.desktop, self.place),
            ("2", frozenset({"ctrl", "shift"})): partial(self._lay_out, "Large icons"),
            ("5", frozenset({"ctrl", "shift"})): partial(self._lay_out, "List"),
            ("6", frozenset({"ctrl", "shift"})): partial(self._lay_out, "Details"),
        }
        if self.view.renaming is None and (key, mods) in keys:
            keys[key, mods]()
            return True
        return not self.place.startswith("shell:") and self.view.press(key, mods)

    def typed(self, text: str) -> bool:
        """Select an item by its name."""
        return self.view.select_by_name(text)

    def saved_state(self) -> dict[str, Any]:
        """Return the current place."""
        return {"place": self.place}

    def restore_state(self, state: dict[str, Any]) -> None:
        """Go back to the saved place."""
        self.go(str(state.get("place", _HOME)))

    def go_back(self) -> None:
        """Go to the previous place."""
        if self.back:
            self.ahead.append(self.place)
            self.go(self.back.pop(), remember=False)

    def go_forward(self) -> None:
        """Go to the next place."""
        if self.ahead:
            self.back.append(self.place)
            self.go(self.ahead.pop(), remember=False)

    def go_up(self) -> None:
        """Go to the folder above."""
        if not self.place.startswith("shell:") and ntpath.dirname(self.place) != self.place:
            self.go(ntpath.dirname(self.place))

    def clear_selection(self) -> None:
        """Select nothing; finish a rename in progress."""
        if self.view.renaming:
            self.view.finish_rename()
        self.view.selected = set()

    # -- the bars

    def _build_address(self, ui: Builder, bar: Area) -> None:
        ui.icon_button(bar.left(30, gap=2), "Back", "back", self.go_back, enabled=bool(self.back))
        ui.icon_button(
            bar.left(30, gap=2), "Forward", "forward", self.go_forward, enabled=bool(self.ahead)
        )
        ui.icon_button(bar.left(30, gap=8), "Up", "up", self.go_up)
        ui.edit(
            bar.right(200),
            f"Search {self.place_name}",
            self.search,
            key="search",
            style=Style(radius=3, hint=f"Search {self.place_name}"),
        )
        bar.right(8)
        if self.editing_address:
            ui.edit(bar.rect, "Address Bar", self.address, key="address", native=True)
            return
        shown = (
            self.place_name
            if self.place.startswith("shell:")
            else self.place.replace("\\", "  \u203a  ")
        )
        style = Style(fill="#ffffff", border="#d0d0d0", radius=3, padding=10)
        ui.button(
            bar.rect,
            "Address Bar",
            self._edit_address,
            style=style,
            value=shown,
            cls="Breadcrumb Parent",
        )

    def _edit_address(self) -> None:
        self.editing_address, self.focus = True, "address"
        self.address.set("" if self.place.startswith("shell:") else self.place, select=True)

    def _new_items(self) -> Sequence[MenuItem]:
        if self.place == LIBRARIES:
            return [MenuItem("Library", self.libraries.new)]
        return [
            MenuItem("Folder", self.view.new_folder),
            MenuItem("Text Document", self.view.new_text),
        ]

    def _sort_items(self) -> Sequence[MenuItem]:
        settings = self.view.settings
        names = [
            MenuItem(name, partial(self._sort_by, name), checked=settings.sort == name)
            for name, _ in _COLUMNS
        ]
        return [
            *names,
            MenuItem("-"),
            *(
                MenuItem(
                    name,
                    partial(setattr, settings, "descending", down),
                    checked=settings.descending is down,
                )
                for name, down in (("Ascending", False), ("Descending", True))
            ),
        ]

    def _view_items(self) -> Sequence[MenuItem]:
        layout = self.view.settings.layout
        choices = [
            MenuItem(name, partial(self._lay_out, name), checked=layout == name)
            for name in _LAYOUTS
        ]
        hidden = MenuItem("Hidden items", self._toggle_hidden, checked=self.machine.show_hidden)
        return [*choices, MenuItem("-"), MenuItem("Show", items=(hidden,))]

    def _more_items(self) -> Sequence[MenuItem]:
        return [
            MenuItem("Select all", self.view.select_all, "Ctrl+A"),
            MenuItem("Select none", self.clear_selection),
            MenuItem("Properties", self.view.properties, enabled=bool(self.view.selected)),
            MenuItem("-"),
            MenuItem("Options", self._options),
        ]

    def _options(self) -> None:
        from waa_server_ext.simulate.apps.folder_options import FolderOptions  # rarely opened

        self.desktop.open(FolderOptions(self))

    # -- the navigation pane

    def _build_navigation(self, ui: Builder, rect: Rect) -> None:
        with ui.group(rect, "Navigation Pane", "SysTreeView32", native=True):
            area = Area(rect.inset(4, 6))
            self._place_button(ui, area, "Home", _HOME, "computer")
            area.top(6)
            for name in PLACES:
                self._place_button(ui, area, name, f"{HOME}\\{name}", "folder")
            area.top(6)
            self._place_button(ui, area, "This PC", "C:\\", "drive")
            self._place_button(ui, area, "Libraries", LIBRARIES, "folder")
            self._place_button(ui, area, "Recycle Bin", BIN, "bin")

    def _place_button(self, ui: Builder, area: Area, name: str, place: str, icon: str) -> None:
        node = ui.button(
            area.top(_ROW), name, lambda: self.go(place), key=f"place:{name}", cls="TreeItem",
            style=Style(icon=icon, padding=14, radius=4), selected=self.place == place,
        )  # fmt: skip
        # its own view
        node.drop = None if place.startswith("shell:") else partial(self.view._drop, place)

    # -- the items

    def _build_items(self, ui: Builder, rect: Rect) -> int:
        wanted = self.search.text.strip().casefold().lstrip("*")
        items = [entry for entry in self.view.items() if wanted in entry.name.casefold()]
        layout = self.view.settings.layout
        with ui.group(rect, "Items View", "UIItemsView") as space:
            space.click, space.right, space.drop = (
                self.clear_selection,
                self._space_menu,
                self.view.drop_here,
            )
            area = Area(rect.inset(6, 4))
            if layout == "Details":
                self._build_header(ui, Area(area.top(26)))
            columns = max(area.rect.width // _TILE[0], 1) if layout == "Large icons" else 1
            height = _TILE[1] if layout == "Large icons" else _ROW
            rows = max(area.rect.height // height, 1)
            last = max((len(items) + columns - 1) // columns - rows, 0)
            self.first = min(self.first, last)
            space.wheel = partial(self._scroll, last)
            for number, entry in enumerate(
                items[self.first * columns : (self.first + rows) * columns]
            ):
                row, column = divmod(number, columns)
                left, top = area.rect.left + column * _TILE[0], area.rect.top + row * height
                width = _TILE[0] - 4 if columns > 1 or layout == "Large icons" else area.rect.width
                box = Rect.sized(left, top, width, height - 2)
                self._item(ui, entry, box, layout)
        return len(items)

    def _item(self, ui: Builder, entry: FileEntry, box: Rect, layout: str) -> None:
        if layout != "Details":
            self.view.node(ui, entry, box, layout)
            return
        row = Area(box)
        cells = [row.left(width) for _, width in _COLUMNS]
        texts = [
            entry.name,
            shown_time(entry.modified),
            type_name(entry),
            "" if entry.is_folder else shown_size(entry.size),
        ]
        node = self.view.node(ui, entry, box, layout)
        if node.role == "item" and self.view.renaming != entry.path:
            # as in Windows, the texts are separate elements, so the row draws only its icon
            node.value = ""
            indents = (34, *[_HEADER_PADDING] * (len(cells) - 1))
            boxes = [
                cell._replace(left=cell.left + indent).clipped(box)
                for cell, indent in zip(cells, indents, strict=True)
            ]
            node.children += [
                _cell(*pair, node) for pair in zip(boxes, texts, strict=True) if pair[1]
            ]

    def _build_header(self, ui: Builder, row: Area) -> None:
        settings = self.view.settings
        with ui.group(row.rect, "Header", "UIColumnHeader"):
            for name, width in _COLUMNS:
                ui.button(
                    row.left(width), name, partial(self._sort_by_column, name), cls="UIColumnHeaderItem", key=f"column:{name}",
                    style=Style(size=12, padding=_HEADER_PADDING, color="#404040"), selected=settings.sort == name,
                )  # fmt: skip

    def _sort_by_column(self, name: str) -> None:
        settings = self.view.settings
        if settings.sort == name:
            settings.descending = not settings.descending
        else:
            self._sort_by(name)

    def _sort_by(self, name: str) -> None:
        settings = self.view.settings
        settings.sort, settings.descending = name, name == "Date modified"

    def _lay_out(self, name: str) -> None:
        self.view.settings.layout = name
        self.first = 0

    def _toggle_hidden(self) -> None:
        self.machine.registry.set(EXPLORER_ADVANCED, "Hidden", 2 if self.machine.show_hidden else 1)

    def _scroll(self, last: int, by: int) -> None:
        self.first = min(max(self.first + by, 0), last)

    def _space_menu(self, x: int, y: int) -> None:
        view = MenuItem("View", items=tuple(self._view_items()[: len(_LAYOUTS)]))
        sort = MenuItem("Sort by", items=tuple(self._sort_items()))
        self.desktop.show_menu_at(self.view.folder_menu((view, sort)), x, y)


def _cell(box: Rect, text: str, row: Node) -> Node:
    """Add a column's text; a click on it counts as one on its row."""
    node = Node(
        "label",
        box,
        text,
        "UIProperty",
        key=f"{row.key}:{box.left}",
        style=Style(
            size=13 if text == row.name else 12, color="#1b1b1b" if text == row.name else "#5d5d5d"
        ),
    )
    node.clip = box.clipped(row.shown)
    node.click, node.double, node.right = row.click, row.double, row.right
    node.payload, node.drop = row.payload, row.drop
    return node


def _opened(desktop: Desktop, place: str) -> None:
    window = Explorer(desktop)
    window.go(place)
    desktop.open(window)


def open_explorer(desktop: Desktop, arguments: Sequence[str]) -> Window:
    """Open File Explorer at a place; `/select,path` opens the folder of `path` with that item selected."""
    window = Explorer(desktop)
    text = " ".join(arguments).strip('"')
    if text.casefold().startswith("/select,"):
        path = normal(text[8:].strip('"'))
        window.go(ntpath.dirname(path))
        window.view.selected = {path}
    elif text and not text.startswith("/"):
        window.go(text if text.casefold().startswith("shell:") else desktop.machine.expand(text))
    return window
