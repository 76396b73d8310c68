"""Folder Options of File Explorer: the page View with hidden files and extensions."""

from __future__ import annotations

from functools import partial

from waa_server_ext.simulate.machine.computer import EXPLORER_ADVANCED
from waa_server_ext.simulate.ui.builder import PRIMARY, Builder
from waa_server_ext.simulate.ui.dialogs import Dialog
from waa_server_ext.simulate.ui.geometry import Area
from waa_server_ext.simulate.ui.windows import OkCancel, Window


class FolderOptions(OkCancel, Dialog):
    """Takes effect with OK or Apply."""

    size = (420, 420)
    caption = "Folder Options"

    def __init__(self, owner: Window) -> None:
        super().__init__(owner)
        self.values = {
            "Hidden": 1 if self.machine.show_hidden else 2,
            "ShowSuperHidden": self.machine.registry.number(
                EXPLORER_ADVANCED, "ShowSuperHidden", 0
            ),
            "HideFileExt": self.machine.registry.number(EXPLORER_ADVANCED, "HideFileExt", 0),
        }

    def build(self, ui: Builder) -> None:
        """Show the settings and the buttons."""
        area = Area(self.frame.inset(18, 12))
        area.top(28)
        buttons = Area(area.bottom(30))
        ui.button(buttons.right(84, gap=6), "Apply", self._apply, native=True)
        ui.button(buttons.right(84, gap=6), "Cancel", self.close, native=True)
        ui.button(buttons.right(84), "OK", self.confirm, style=PRIMARY, native=True)
        ui.label(area.top(30), "Advanced settings", bold=True)
        ui.label(area.top(26), "Hidden files and folders")
        for text, value in (
            ("Don't show hidden files, folders, or drives", 2),
            ("Show hidden files, folders, and drives", 1),
        ):
            ui.radio(
                area.top(28).inset(14, 0),
                text,
                partial(self._choose, "Hidden", value),
                on=self.values["Hidden"] == value,
            )
        hides = not self.values["ShowSuperHidden"]
        ui.checkbox(
            area.top(30),
            "Hide protected operating system files (Recommended)",
            partial(self._choose, "ShowSuperHidden", int(hides)),
            on=hides,
        )
        on = bool(self.values["HideFileExt"])
        ui.checkbox(
            area.top(30),
            "Hide extensions for known file types",
            partial(self._choose, "HideFileExt", int(not on)),
            on=on,
        )

    def _choose(self, name: str, value: int) -> None:
        self.values[name] = value

    def _apply(self) -> None:
        for name, value in self.values.items():
            self.machine.registry.set(EXPLORER_ADVANCED, name, value)

    def confirm(self) -> None:
        """Let the changes take effect."""
        self._apply()
        self.close()
