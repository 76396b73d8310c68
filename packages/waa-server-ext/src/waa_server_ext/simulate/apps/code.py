"""Visual Studio Code as a text editor with tabs, settings that are files, and extensions as a list."""

from __future__ import annotations

import ntpath
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from waa_server_ext.simulate.machine.filesystem import HOME, normal
from waa_server_ext.simulate.ui.builder import BUTTON, PRIMARY, Builder
from waa_server_ext.simulate.ui.dialogs import FileDialog, show_message
from waa_server_ext.simulate.ui.geometry import Area
from waa_server_ext.simulate.ui.menus import MenuItem
from waa_server_ext.simulate.ui.nodes import Style
from waa_server_ext.simulate.ui.text_field import TextField
from waa_server_ext.simulate.ui.windows import Desktop, Window

SETTINGS = f"{HOME}\\AppData\\Roaming\\Code\\User\\settings.json"
KEYBINDINGS = f"{HOME}\\AppData\\Roaming\\Code\\User\\keybindings.json"
_MARKET = (
    ("Python", "ms-python.python"), ("Pylance", "ms-python.vscode-pylance"),
    ("autoDocstring", "njpwerner.autodocstring"), ("Jupyter", "ms-toolsai.jupyter"),
    ("C/C++", "ms-vscode.cpptools"), ("Prettier", "esbenp.prettier-vscode"),
)  # fmt: skip
_COMMANDS = (
    ("Preferences: Open User Settings (JSON)", "settings"),
    ("Preferences: Open Keyboard Shortcuts (JSON)", "keybindings"),
    ("Extensions: Install Extensions", "extensions"),
)


class Code(Window):
    """A window of Visual Studio Code with one editor, the command palette and the extensions."""

    exe = "Code.exe"
    cls = "Chrome_WidgetWin_1"
    icon = "app:#1f7ac0:V"
    size = (1000, 640)

    def __init__(self, desktop: Desktop, path: str | None = None) -> None:
        super().__init__(desktop)
        self.path: str | None = None
        self.text = TextField(multiline=True)
        self.kept = ""
        self.palette: TextField | None = None
        self.market: TextField | None = None
        self.replacing = False
        self.wanted, self.instead = TextField(), TextField()
        if path is not None:
            self.load(path)

    @property
    def title(self) -> str:
        """The file and the program."""
        dot = "● " if self.text.text != self.kept else ""
        name = (
            ntpath.basename(self.path)
            if self.path
            else ("Untitled-1" if self.text.text else "Welcome")
        )
        return f"{dot}{name} - Visual Studio Code"

    def load(self, path: str) -> None:
        """Open a file in the editor; a missing one starts empty."""
        files = self.machine.files
        data = files.read(path) if files.is_file(path) else b""
        text = data.decode("utf-8", "replace").replace("\r\n", "\n")
        self.text.set(text)
        self.text.move(0)
        self.path, self.kept, self.focus = normal(path), text, "editor"

    def build(self, ui: Builder) -> None:
        """Show the menus, the side bar if it is open, the editor and the palette."""
        area = Area(self.frame.inset(1))
        area.top(32)
        bar = Area(area.top(30).inset(8, 2))
        flat = Style(align="center", radius=4, padding=4)
        ui.menu_button(bar.left(52, gap=2), "File", self._file, style=flat)
        ui.menu_button(bar.left(52, gap=2), "View", self._view, style=flat)
        side = Area(area.left(48))
        ui.button(
            side.top(44).inset(4),
            "Extensions",
            self._open_market,
            style=Style(align="center", radius=4, fill="#e4e4e4"),
            value="Ext",
        )
        if self.market is not None:
            self._build_market(ui, Area(area.left(290).inset(8)), self.market)
        if self.replacing:
            bar = Area(area.top(40).inset(8, 4))
            ui.edit(bar.left(200, gap=6), "Find", self.wanted, key="find")
            ui.edit(bar.left(200, gap=6), "Replace", self.instead, key="replace")
            ui.button(bar.left(100), "Replace All", self._replace_all)
        ui.label(
            area.bottom(22),
            f"  {self.path or ''}",
            size=12,
            fill="#0067c0",
            color="#ffffff",
            cls="StatusBar",
        )
        ui.edit(
            area.rect,
            "Editor content",
            self.text,
            key="editor",
            cls="TextArea",
            style=Style(border="", size=14),
        )
        if self.palette is not None:
            self._build_palette(ui, area, self.palette)

    def shortcut(self, key: str, mods: frozenset[str]) -> bool:
        """Handle the keys of the editor."""
        if self.palette is not None and key in {"enter", "escape"}:
            found = self._commands()
            self.palette = None
            if key == "enter" and found:
                found[0][1]()
            return True
        keys: dict[tuple[str, frozenset[str]], Callable[[], object]] = {
            ("s", frozenset({"ctrl"})): self.save,
            ("n", frozenset({"ctrl"})): self._new,
            ("o", frozenset({"ctrl"})): self._open,
            ("h", frozenset({"ctrl"})): self._replace,
            ("p", frozenset({"ctrl", "shift"})): self._open_palette,
            ("x", frozenset({"ctrl", "shift"})): self._open_market,
            (",", frozenset({"ctrl"})): lambda: self.load(SETTINGS),
            ("f1", frozenset()): self._open_palette,
        }
        if (key, mods) in keys:
            keys[key, mods]()
            return True
        return False

    def save(self) -> None:
        """Write the file, or ask for its name."""
        if self.path is None:
            self.desktop.open(FileDialog(self, "Save As", self._write))
        else:
            self._write(self.path)

    def saved_state(self) -> dict[str, Any]:
        """Return the file's path and the text, which may be unsaved."""
        return {"path": self.path, "text": self.text.text}

    def restore_state(self, state: dict[str, Any]) -> None:
        """Restore the text."""
        self.text.set(str(state.get("text", self.text.text)))

    def _write(self, path: str) -> None:
        try:
            self.machine.files.write(path, self.text.text.encode())
        except OSError as error:
            show_message(self, "Save", f"{path}\n{error.strerror}")
            return
        self.path, self.kept = normal(path), self.text.text

    def _file(self) -> Sequence[MenuItem]:
        return [
            MenuItem("New Text File", self._new, "Ctrl+N"), MenuItem("Open File...", self._open, "Ctrl+O"),
            MenuItem("Save", self.save, "Ctrl+S"), MenuItem("-"),
            MenuItem("Settings (JSON)", lambda: self.load(SETTINGS), "Ctrl+,"),
            MenuItem("Exit", self.close),
        ]  # fmt: skip

    def _view(self) -> Sequence[MenuItem]:
        return [
            MenuItem("Command Palette...", self._open_palette, "Ctrl+Shift+P"),
            MenuItem("Extensions", self._open_market, "Ctrl+Shift+X"),
        ]

    def _build_palette(self, ui: Builder, area: Area, field: TextField) -> None:
        found = self._commands()
        box = area.rect.centered(min(560, area.rect.width), 0)._replace(
            top=area.rect.top, bottom=area.rect.top + 44 + 30 * len(found)
        )
        ui.pane(box, "#f8f8f8", "#b4b4b4", 6)
        inner = Area(box.inset(6))
        ui.edit(inner.top(30), "Type the name of a command to run", field, key="palette")
        for name, do in found:
            ui.button(
                inner.top(30),
                name,
                partial(self._choose, do),
                style=Style(padding=10),
                cls="QuickInputItem",
            )

    def _commands(self) -> list[tuple[str, Callable[[], object]]]:
        does: dict[str, Callable[[], object]] = {
            "settings": lambda: self.load(SETTINGS), "keybindings": lambda: self.load(KEYBINDINGS),
            "extensions": self._open_market,
        }  # fmt: skip
        wanted = (self.palette.text if self.palette else "").lstrip("> ").casefold().split()
        return [
            (name, does[what])
            for name, what in _COMMANDS
            if all(word in name.casefold() for word in wanted)
        ]

    def _choose(self, do: Callable[[], object]) -> None:
        self.palette = None
        do()

    def _open_palette(self) -> None:
        self.palette, self.focus = TextField(">"), "palette"

    def _open_market(self) -> None:
        self.market = None if self.market is not None else TextField()
        self.focus = "market" if self.market is not None else "editor"

    def _build_market(self, ui: Builder, area: Area, field: TextField) -> None:
        ui.edit(area.top(30, gap=8), "Search Extensions in Marketplace", field, key="market")
        wanted = field.text.strip().casefold()
        for name, ident in _MARKET:
            if wanted in name.casefold() or wanted in ident:
                row = Area(area.top(40, gap=2))
                installed = ident in self.machine.extensions
                button = row.right(84).inset(2, 6)
                words, style = ("Uninstall", BUTTON) if installed else ("Install", PRIMARY)
                flip = partial(self._flip_extension, ident)
                ui.button(button, f"{words} {name}", flip, value=words, style=style)
                ui.label(row.rect, name)

    def _flip_extension(self, ident: str) -> None:
        extensions = self.machine.extensions
        if ident in extensions:
            extensions.remove(ident)
        else:
            extensions.append(ident)

    def _replace(self) -> None:
        self.replacing, self.focus = not self.replacing, "find"

    def _replace_all(self) -> None:
        if self.wanted.text:
            text = self.text.text.replace(self.wanted.text, self.instead.text)
            self.text.select_all()
            self.text.insert(text)

    def _new(self) -> None:
        self.text.set("")
        self.path, self.kept, self.focus = None, "", "editor"

    def _open(self) -> None:
        self.desktop.open(FileDialog(self, "Open", self.load))


def open_code(desktop: Desktop, arguments: Sequence[str]) -> Window | None:
    """Open Visual Studio Code; its command line installs and removes extensions without a window."""
    words = list(arguments)
    for flag in ("--install-extension", "--uninstall-extension"):
        if flag in words[:-1]:
            ident = words[words.index(flag) + 1]
            extensions = desktop.machine.extensions
            if flag.startswith("--uninstall") and ident in extensions:
                extensions.remove(ident)
            elif flag.startswith("--install") and ident not in extensions:
                extensions.append(ident)
            return None
    if "--list-extensions" in words:
        return None
    paths = [word for word in words if not word.startswith("-")]
    file = next((path for path in paths if desktop.machine.files.is_file(path)), None)
    return Code(desktop, file)
