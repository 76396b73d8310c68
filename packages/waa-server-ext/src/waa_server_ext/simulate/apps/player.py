"""VLC as a window that names the file to play, and a configuration file."""

from __future__ import annotations

import ntpath
from collections.abc import Sequence
from functools import partial
from typing import Any

from waa_server_ext.simulate.machine.filesystem import HOME, normal
from waa_server_ext.simulate.ui.builder import PRIMARY, Builder
from waa_server_ext.simulate.ui.geometry import Area
from waa_server_ext.simulate.ui.nodes import Style
from waa_server_ext.simulate.ui.windows import Desktop, Window

CONFIG = f"{HOME}\\AppData\\Roaming\\vlc\\vlcrc"
_OPTIONS = (
    ("qt-minimal-view", "Start in minimal view mode", 0),
    ("qt-video-autoresize", "Resize interface to video size", 1),
    (
        "one-instance-when-started-from-file",
        "Use only one instance when started from file manager",
        1,
    ),
    ("qt-bgcone", "Display background cone or art", 1),
)


class Player(Window):
    """The window of VLC."""

    exe = "vlc.exe"
    cls = "Qt5QWindowIcon"
    icon = "app:#d97b1a:V"
    size = (760, 520)

    def __init__(self, desktop: Desktop, path: str | None = None) -> None:
        super().__init__(desktop)
        self.path = path
        self.preferences = False

    @property
    def title(self) -> str:
        """The file and the program."""
        name = f"{ntpath.basename(self.path)} - " if self.path else ""
        return f"{name}VLC media player"

    def build(self, ui: Builder) -> None:
        """Show the picture area, or the preferences."""
        area = Area(self.frame.inset(1))
        area.top(32)
        bar = Area(area.top(34).inset(8, 3))
        ui.button(
            bar.left(110),
            "Preferences",
            self._flip,
            style=Style(align="center", radius=4, padding=4),
        )
        if not self.preferences:
            with ui.group(area.rect, "Video", "VideoWidget", style=Style(fill="#101010")):
                ui.label(
                    area.rect.inset(20),
                    ntpath.basename(self.path or "") or "No media",
                    color="#d0d0d0",
                    align="center",
                    size=16,
                )
            return
        inner = Area(area.rect.inset(24, 16))
        ui.label(inner.top(32), "Interface settings", size=16, bold=True)
        for option, text, default in _OPTIONS:
            value = self._value(option, default)
            ui.checkbox(
                inner.top(32), text, partial(self._choose, option, 1 - value), on=value == 1
            )
        ui.button(
            inner.bottom(32)._replace(right=inner.rect.left + 90), "Save", self._flip, style=PRIMARY
        )

    def _flip(self) -> None:
        self.preferences = not self.preferences

    def _lines(self) -> list[str]:
        files = self.machine.files
        return (
            files.read(CONFIG).decode("utf-8", "replace").splitlines()
            if files.is_file(CONFIG)
            else []
        )

    def _value(self, option: str, default: int) -> int:
        for line in self._lines():
            name, _, value = line.partition("=")
            if name == option and value.strip().isdigit():
                return min(int(value), 1)
        return default

    def _choose(self, option: str, value: int) -> None:
        kept = [
            line for line in self._lines() if line.partition("=")[0] not in {option, f"#{option}"}
        ]
        text = "\n".join([*kept, f"{option}={value}", ""])
        self.machine.files.write(CONFIG, text.encode())

    def saved_state(self) -> dict[str, Any]:
        """Return the file."""
        return {"path": self.path}


def open_player(desktop: Desktop, arguments: Sequence[str]) -> Window:
    """Open VLC, with a file if one is named."""
    words = [word for word in arguments if not word.startswith("-")]
    path = normal(" ".join(words).strip('"')) if words else None
    return Player(desktop, path if path and desktop.machine.files.is_file(path) else None)
