"""The Properties dialog of a file or folder: attributes, tags, and users with read-only access."""

from __future__ import annotations

import ntpath
from collections.abc import Sequence
from functools import partial
from typing import Any

from waa_server_ext.simulate.machine.filesystem import HIDDEN, READ_ONLY, FileEntry
from waa_server_ext.simulate.ui.builder import PRIMARY, Builder
from waa_server_ext.simulate.ui.dialogs import Dialog, show_message
from waa_server_ext.simulate.ui.file_labels import shown_size, shown_time, type_name
from waa_server_ext.simulate.ui.geometry import Area
from waa_server_ext.simulate.ui.nodes import Node, Style
from waa_server_ext.simulate.ui.text_field import TextField
from waa_server_ext.simulate.ui.windows import OkCancel, Window


class PropertiesDialog(OkCancel, Dialog):
    """Changes take effect with OK or Apply, on all of `paths` if there are several."""

    size = (400, 520)

    def __init__(self, owner: Window, paths: Sequence[str]) -> None:
        super().__init__(owner)
        entry = self.machine.files.entry(paths[0])
        self.path, self.others = entry.path, paths[1:]
        self.name = TextField(entry.name)
        self.attributes = entry.attributes
        self.tags = TextField("; ".join(entry.tags))
        self.readers = set(entry.readers)
        self.user = self.machine.users[0]
        self.page = "General"

    @property
    def title(self) -> str:
        """The name and the dialog."""
        return f"{ntpath.basename(self.path)}{', ...' if self.others else ''} Properties"

    def build(self, ui: Builder) -> None:
        """Show the tabs, the open page and the buttons."""
        area = Area(self.frame.inset(12, 10))
        area.top(28)
        tabs = Area(area.top(30))
        entry = self.machine.files.find(self.path)
        pages = (
            ["General", "Sharing", "Security", "Details"]
            if entry and entry.is_folder
            else ["General", "Security", "Details"]
        )
        for page in pages:
            choose = partial(setattr, self, "page", page)
            style = Style(padding=8, align="center")
            node = Node("tab", tabs.left(86), page, "TabItem", style=style, click=choose)
            node.selected = self.page == page
            ui.add(node)
        buttons = Area(area.bottom(38).inset(0, 4))
        ui.button(buttons.right(84, gap=6), "Apply", self._apply)
        ui.button(buttons.right(84, gap=6), "Cancel", self.close)
        ui.button(buttons.right(84), "OK", self.confirm, style=PRIMARY)
        ui.pane(area.rect, "#ffffff", "#d8d8d8")
        inner = Area(area.rect.inset(16, 14))
        if entry is None:
            return
        {"General": self._general, "Details": self._details}.get(self.page, self._security)(
            ui, inner, entry
        )

    def _general(self, ui: Builder, area: Area, entry: FileEntry) -> None:
        if self.others:
            ui.label(area.top(30, gap=14), f"{len(self.others) + 1} items")
        else:
            ui.edit(area.top(30, gap=14), "Name", self.name, cls="Edit", native=True)
        size = (
            sum(each.size for each in self.machine.files.below(entry.path))
            if entry.is_folder
            else entry.size
        )
        rows = (
            ("Type:", type_name(entry)), ("Location:", ntpath.dirname(entry.path)),
            ("Size:", f"{shown_size(size)} ({size:,} bytes)"), ("Created:", shown_time(entry.created)),
            ("Modified:", shown_time(entry.modified)),
        )  # fmt: skip
        for label, value in rows:
            row = Area(area.top(26, gap=4))
            ui.label(row.left(90), label)
            ui.label(row.rect, value)
        area.top(10)
        row = Area(area.top(28))
        ui.label(row.left(90), "Attributes:")
        for name, bit in (("Read-only", READ_ONLY), ("Hidden", HIDDEN)):
            box = row.left(110)
            flip = partial(setattr, self, "attributes", self.attributes ^ bit)
            ui.checkbox(box, name, flip, on=bool(self.attributes & bit), native=True)

    def _details(self, ui: Builder, area: Area, entry: FileEntry) -> None:
        ui.label(area.top(24, gap=6), "Description", bold=True)
        row = Area(area.top(28, gap=6))
        ui.label(row.left(90), "Tags")
        ui.edit(row.rect, "Tags", self.tags, cls="Edit")
        for label, value in (
            ("Name", entry.name),
            ("Item type", type_name(entry)),
            ("Date modified", shown_time(entry.modified)),
        ):
            row = Area(area.top(26, gap=2))
            ui.label(row.left(90), label)
            ui.label(row.rect, value)

    def _security(self, ui: Builder, area: Area, entry: FileEntry) -> None:
        ui.label(
            area.top(24),
            "People who can open this " + ("folder" if entry.is_folder else "file"),
            bold=True,
        )
        row = Area(area.top(32, gap=8))
        choose = partial(setattr, self, "user")
        ui.combo(row.left(220, gap=8), "User", self.user, self.machine.users, choose)
        ui.button(row.left(90), "Add", lambda: self.readers.add(self.user))
        ui.label(area.top(24), "Name and permission level", size=12)
        for user in sorted(self.readers):
            row = Area(area.top(30, gap=2))
            ui.label(row.left(140), user)
            ui.label(row.left(70), "Read")
            remove = partial(self.readers.discard, user)
            ui.button(row.left(90), f"Remove {user}", remove, value="Remove")

    def _apply(self) -> None:
        files = self.machine.files
        if not files.exists(self.path):
            return
        tags = tuple(tag.strip() for tag in self.tags.text.split(";") if tag.strip())
        now = {"attributes": self.attributes, "tags": tags, "readers": tuple(sorted(self.readers))}
        was = files.entry(self.path)
        changed: dict[str, Any] = {key: now[key] for key in now if now[key] != getattr(was, key)}
        for path in (self.path, *filter(files.exists, self.others)):
            files.update(path, **changed)
        name = self.name.text.strip()
        if name and name != ntpath.basename(self.path):
            try:
                self.path = files.move(self.path, ntpath.join(ntpath.dirname(self.path), name))
            except OSError as error:
                show_message(self, "Rename", f"{name}\n{error.strerror or error}")

    def confirm(self) -> None:
        """Apply the changes."""
        self._apply()
        self.close()
