"""The actions on a folder's items, shared by File Explorer and the desktop."""

from __future__ import annotations

import io
import ntpath
import zipfile
from collections.abc import Callable
from functools import partial

from waa_server_ext.simulate.machine.archives import UNREADABLE
from waa_server_ext.simulate.machine.filesystem import HIDDEN, HOME, FileEntry
from waa_server_ext.simulate.ui.builder import Builder
from waa_server_ext.simulate.ui.dialogs import show_message
from waa_server_ext.simulate.ui.file_labels import type_name
from waa_server_ext.simulate.ui.file_properties import PropertiesDialog
from waa_server_ext.simulate.ui.folder_views import FolderView
from waa_server_ext.simulate.ui.geometry import Rect
from waa_server_ext.simulate.ui.icons import icon_of_file
from waa_server_ext.simulate.ui.menus import Menu, MenuItem
from waa_server_ext.simulate.ui.nodes import Node, Style
from waa_server_ext.simulate.ui.text_field import TextField
from waa_server_ext.simulate.ui.windows import Window

DESKTOP = f"{HOME}\\Desktop"


class FileView:
    """The items of one folder, the selection, and the actions on them."""

    def __init__(self, window: Window, folder: str) -> None:
        self.window = window
        self.folder = folder
        self.selected: set[str] = set()
        self.renaming: str | None = None
        self.rename_field = TextField()

    @property
    def settings(self) -> FolderView:
        """This folder's look, remembered for the next time."""
        views = self.window.desktop.programs.folder_views
        return views.setdefault(self.folder.casefold(), FolderView())

    def items(self) -> list[FileEntry]:
        """Return the visible items in order: folders first, or last if the order is descending."""
        machine = self.window.machine
        if not machine.files.is_folder(self.folder):
            return []
        shown = [
            e
            for e in machine.files.children(self.folder)
            if machine.show_hidden or not e.attributes & HIDDEN
        ]
        view = self.settings
        keys: dict[str, Callable[[FileEntry], object]] = {
            "Name": lambda e: e.name.casefold(),
            "Date modified": lambda e: int(e.modified),
            "Type": type_name,
            "Size": lambda e: e.size,
        }
        shown.sort(key=keys[view.sort], reverse=view.descending)  # type: ignore[arg-type]
        newest_first = view.descending and view.sort == "Date modified"
        return sorted(shown, key=lambda e: e.is_folder if newest_first else not e.is_folder)

    def node(
        self, ui: Builder, entry: FileEntry, rect: Rect, layout: str, cls: str = "UIItem"
    ) -> Node:
        """Add an item, or the edit box it is renamed in."""
        extension = ntpath.splitext(entry.name)[1]
        style = Style(icon=icon_of_file(extension, folder=entry.is_folder), padding=10, radius=4,
                      layout="tile" if layout == "Large icons" else "row")  # fmt: skip
        node = ui.add(Node("item", rect, entry.name, cls, key=f"file:{entry.path}", style=style))
        node.selected = entry.path in self.selected
        node.click, node.double = partial(self._pick, entry.path), (lambda: self.open(entry.path))
        node.right = partial(self._right, entry)
        node.payload = self
        node.drop = partial(self._drop, entry.path) if entry.is_folder else None
        if self.renaming == entry.path:
            height = min(24, rect.height)
            left = rect.left + (2 if layout == "Large icons" else 30)
            box = rect._replace(left=left, top=rect.bottom - height)
            with ui.inside(node):
                field = self.rename_field
                ui.edit(box, "Rename", field, key="rename", cls="Edit", style=Style(padding=3))
        return node

    def press(self, key: str, mods: frozenset[str]) -> bool:
        """Handle the keys that File Explorer and the desktop share."""
        if self.renaming is not None:
            if key == "enter":
                self.finish_rename()
            elif key == "escape":
                self.renaming, self.window.focus = None, None
            else:
                return False
            return True
        plain: dict[str, Callable[[], object]] = {
            "f2": self.start_rename, "delete": self.delete, "enter": self.open_selected,
            "f5": lambda: None, "up": lambda: self._step(-1), "down": lambda: self._step(1),
            "left": lambda: self._step(-1), "right": lambda: self._step(1),
        }  # fmt: skip
        ctrl: dict[str, Callable[[], object]] = {
            "a": self.select_all,
            "c": self.copy,
            "x": self.cut,
            "v": self.paste,
        }
        if not mods and key in plain:
            plain[key]()
        elif mods == {"ctrl"} and key in ctrl:
            ctrl[key]()
        elif mods == {"ctrl", "shift"} and key == "n":
            self.new_folder()
        elif mods == {"shift"} and key == "delete":
            self.delete(forever=True)
        else:
            return False
        return True

    def select_by_name(self, text: str) -> bool:
        """Select the first item whose name begins with the typed text."""
        for entry in self.items():
            if entry.name.casefold().startswith(text.casefold()):
                self.selected = {entry.path}
                return True
        return False

    def select_all(self) -> None:
        """Select everything shown."""
        self.selected = {entry.path for entry in self.items()}

    def open_selected(self) -> None:
        """Open the selected items, at most ten."""
        for path in sorted(self.selected)[:10]:
            self.open(path)

    def open(self, path: str) -> None:
        """Open a file with its app; open a folder in this window if it can show one."""
        go = getattr(self.window, "go", None)
        if go is not None and self.window.machine.files.is_folder(path):
            go(path)
            return
        self.window.desktop.programs.open_path(path)

    def copy(self) -> None:
        """Copy the selected files."""
        self._to_clipboard(cut=False)

    def cut(self) -> None:
        """Cut the selected files."""
        self._to_clipboard(cut=True)

    def paste(self) -> None:
        """Paste the files on the clipboard into this folder."""
        clipboard = self.window.machine.clipboard
        moving = clipboard.cut
        self.take(clipboard.files, move=moving)
        if moving:
            clipboard.copy_text("")

    def take(self, paths: tuple[str, ...], *, move: bool, folder: str | None = None) -> None:
        """Copy or move files into a folder; show a message on failure."""
        files, target = self.window.machine.files, folder or self.folder
        taken = set()
        try:
            for path in paths:
                if not files.exists(path):
                    continue
                name = ntpath.basename(path)
                if move:
                    if ntpath.dirname(path).casefold() != target.casefold():
                        taken.add(files.move(path, ntpath.join(target, name)))
                else:
                    free = files.free_name(target, name, pattern="{stem} - Copy ({n}){ext}")
                    same = ntpath.dirname(path).casefold() == target.casefold()
                    if same and not files.exists(first := ntpath.join(target, _copy_name(name))):
                        free = first
                    taken.add(files.copy(path, free))
        except OSError as error:
            show_message(self.window, "Error", f"{error.filename or ''}\n{error.strerror or error}")
        if target == self.folder:
            self.selected = taken

    def delete(self, *, forever: bool = False) -> None:
        """Move the selected items to the recycle bin, or delete them if `forever`."""
        files = self.window.machine.files
        for path in sorted(self.selected):
            if not files.exists(path):
                continue
            if forever:
                files.remove(path, recursive=True)
            else:
                files.recycle(path)
        self.selected = set()

    def start_rename(self) -> None:
        """Start renaming the selected item in place, with its stem selected."""
        if len(self.selected) != 1:
            return
        self.renaming = next(iter(self.selected))
        name = ntpath.basename(self.renaming)
        self.rename_field.set(name)
        entry = self.window.machine.files.find(self.renaming)
        stem = name if entry is None or entry.is_folder else ntpath.splitext(name)[0]
        self.rename_field.anchor, self.rename_field.caret = 0, len(stem)
        self.window.focus = "rename"

    def finish_rename(self) -> None:
        """Give the item its new name."""
        path, self.renaming = self.renaming, None
        self.window.focus = None
        name = self.rename_field.text.strip()
        if path is None or not name or name == ntpath.basename(path):
            return
        try:
            target = ntpath.join(ntpath.dirname(path), name)
            if "\\" in name or "/" in name:
                raise OSError(22, "A file name can't contain a path", name)  # noqa: TRY301  # one place reports every failure
            self.selected = {self.window.machine.files.move(path, target)}
        except OSError as error:
            show_message(self.window, "Rename", f"{name}\n{error.strerror or error}")

    def new_folder(self) -> None:
        """Create a folder and start renaming it."""
        files = self.window.machine.files
        self._made(files.make_folder(files.free_name(self.folder, "New folder")).path)

    def new_text(self) -> None:
        """Create an empty text document and start renaming it."""
        files = self.window.machine.files
        self._made(files.write(files.free_name(self.folder, "New Text Document.txt"), b"").path)

    def compress(self) -> None:
        """Pack the selected items into a ZIP file in the same folder and start renaming it."""
        files = self.window.machine.files
        if not self.selected:
            return
        packed = io.BytesIO()
        with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
            for path in sorted(self.selected):
                for entry in (
                    files.entry(path),
                    *(files.below(path) if files.is_folder(path) else ()),
                ):
                    inside = entry.path[len(self.folder) :].lstrip("\\").replace("\\", "/")
                    if entry.is_folder:
                        archive.writestr(inside + "/", b"")
                    else:
                        archive.writestr(inside, files.read(entry.path))
        first = ntpath.splitext(ntpath.basename(min(self.selected)))[0]
        self._made(
            files.write(files.free_name(self.folder, f"{first}.zip"), packed.getvalue()).path
        )

    def extract(self, path: str) -> None:
        """Unpack a ZIP file into a folder of its name."""
        files = self.window.machine.files
        folder = files.make_folder(
            files.free_name(self.folder, ntpath.splitext(ntpath.basename(path))[0])
        ).path
        try:
            with zipfile.ZipFile(io.BytesIO(files.read(path))) as archive:
                for info in archive.infolist()[:1000]:
                    target = ntpath.join(
                        folder, *[p for p in info.filename.split("/") if p not in {"", "..", "."}]
                    )
                    files.make_folder(
                        target if info.is_dir() else ntpath.dirname(target),
                        parents=True,
                        exist_ok=True,
                    )
                    if not info.is_dir() and info.file_size <= 2**24:
                        files.write(target, archive.read(info))
        except UNREADABLE:
            show_message(
                self.window, "Extract", "Windows cannot open the folder. The archive is invalid."
            )

    def shortcut_on_desktop(self) -> None:
        """Create shortcuts to the selected items on the desktop."""
        self._shortcut(DESKTOP)

    def _shortcut(self, folder: str) -> None:
        files = self.window.machine.files
        for path in sorted(self.selected):
            name = f"{ntpath.basename(path)} - Shortcut.lnk"
            files.write(files.free_name(folder, name), f"shortcut to {path}".encode())

    def item_menu(self, entry: FileEntry) -> Menu:
        """Return the context menu of an item."""
        zipped = entry.name.casefold().endswith(".zip")
        items = [
            MenuItem("Open", self.open_selected, "Enter"),
            MenuItem("Extract All...", lambda: self.extract(entry.path)) if zipped else None,
            MenuItem("-"),
            MenuItem("Cut", self.cut, "Ctrl+X"),
            MenuItem("Copy", self.copy, "Ctrl+C"),
            MenuItem("Rename", self.start_rename, "F2"),
            MenuItem("Delete", self.delete, "Delete"),
            MenuItem("-"),
            MenuItem("Compress to ZIP file", self.compress),
            MenuItem("Create shortcut", lambda: self._shortcut(self.folder)),
            MenuItem(
                "Send to", items=(MenuItem("Desktop (create shortcut)", self.shortcut_on_desktop),)
            ),
            MenuItem("-"),
            MenuItem("Properties", self.properties, "Alt+Enter"),
        ]
        return Menu([item for item in items if item is not None])

    def folder_menu(self, extra: tuple[MenuItem, ...] = ()) -> Menu:
        """Return the context menu of the folder's empty space."""
        can_paste = bool(self.window.machine.clipboard.files)
        return Menu(
            [
                *extra,
                MenuItem("Refresh", lambda: None, "F5"),
                MenuItem("Paste", self.paste, "Ctrl+V", enabled=can_paste),
                MenuItem("-"),
                MenuItem(
                    "New",
                    items=(
                        MenuItem("Folder", self.new_folder),
                        MenuItem("Text Document", self.new_text),
                    ),
                ),
            ]
        )

    def properties(self) -> None:
        """Open the Properties dialog of the selected items."""
        if self.selected:
            self.window.desktop.open(PropertiesDialog(self.window, sorted(self.selected)))

    def _pick(self, path: str) -> None:
        if self.renaming is not None and self.renaming != path:
            self.finish_rename()
        held = self.window.desktop.keys.names
        if "ctrl" in held:
            self.selected ^= {path}
        elif "shift" in held and self.selected:
            paths = [entry.path for entry in self.items()]
            known = [paths.index(each) for each in self.selected if each in paths]
            if path in paths and known:
                start, end = sorted((min(known), paths.index(path)))
                self.selected = set(paths[start : end + 1])
        else:
            self.selected = {path}

    def _right(self, entry: FileEntry, x: int, y: int) -> None:
        if entry.path not in self.selected:
            self.selected = {entry.path}
        self.window.desktop.show_menu_at(self.item_menu(entry), x, y)

    def _drop(self, folder: str, payload: object, copy: bool) -> None:
        if isinstance(payload, FileView):
            paths = tuple(sorted(payload.selected))
            self.take(tuple(p for p in paths if p != folder), move=not copy, folder=folder)

    def drop_here(self, payload: object, copy: bool) -> None:  # as Node.drop has it
        """Copy or move items dropped on the folder's empty space."""
        self._drop(self.folder, payload, copy)

    def _to_clipboard(self, *, cut: bool) -> None:
        if self.selected:
            self.window.machine.clipboard.copy_files(tuple(sorted(self.selected)), cut=cut)

    def _made(self, path: str) -> None:
        self.selected = {path}
        self.start_rename()

    def _step(self, by: int) -> None:
        paths = [entry.path for entry in self.items()]
        if not paths:
            return
        known = [paths.index(each) for each in self.selected if each in paths]
        at = (known[0] + by) if known else 0
        self.selected = {paths[min(max(at, 0), len(paths) - 1)]}


def _copy_name(name: str) -> str:
    stem, extension = ntpath.splitext(name)
    return f"{stem} - Copy{extension}"
