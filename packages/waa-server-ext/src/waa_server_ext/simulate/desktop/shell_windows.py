"""The parts of Windows itself: the desktop with its icons, the taskbar, Start and Run."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from functools import partial

from waa_server_ext.simulate.desktop.programs import Programs
from waa_server_ext.simulate.machine.wallpaper import wallpaper
from waa_server_ext.simulate.ui.builder import PRIMARY, Builder
from waa_server_ext.simulate.ui.dialogs import show_message
from waa_server_ext.simulate.ui.file_view import DESKTOP, FileView
from waa_server_ext.simulate.ui.geometry import Area, Rect
from waa_server_ext.simulate.ui.menus import MenuItem
from waa_server_ext.simulate.ui.nodes import Node, Style
from waa_server_ext.simulate.ui.text_field import TextField
from waa_server_ext.simulate.ui.windows import Desktop, OkCancel, Window

_TILE = (92, 96)


class ShellWindow(Window):
    """A frameless surface that is always there."""

    exe = "explorer.exe"
    framed = False
    resizable = False


class Background(ShellWindow):
    """The wallpaper and the icons on it."""

    cls = "Progman"
    caption = "Program Manager"

    def __init__(self, desktop: Desktop) -> None:
        super().__init__(desktop)
        self.has_focus = False
        self.view = FileView(self, DESKTOP)

    @property
    def frame(self) -> Rect:
        """The whole screen."""
        return self.desktop.screen

    def build(self, ui: Builder) -> None:
        """Show the wallpaper, the recycle bin and the items of the Desktop folder."""
        image = ui.add(
            Node("image", self.frame, "Desktop", "SHELLDLL_DefView", key="wallpaper", native=True)
        )
        image.picture = wallpaper(self.machine, self.desktop.size)
        image.right, image.click, image.drop = self._menu, self._clear, self.view.drop_here
        area = self.desktop.work_area.inset(4, 8)
        rows = max(area.height // _TILE[1], 1)
        bin_box = Rect.sized(area.left, area.top, _TILE[0], _TILE[1]).inset(2)
        bin_node = ui.add(Node("item", bin_box, "Recycle Bin", "ListItem", key="recycle-bin"))
        bin_node.style = Style(icon="bin", layout="tile", color="#ffffff", radius=4)
        bin_node.click = self._clear
        bin_node.double = lambda: self.desktop.programs.open_path("shell:RecycleBinFolder")
        columns = max(area.width // _TILE[0], 1)
        for number, entry in enumerate(self.view.items()[: rows * columns - 1], 1):
            left = area.left + number // rows * _TILE[0]
            top = area.top + number % rows * _TILE[1]
            box = Rect.sized(left, top, _TILE[0], _TILE[1]).inset(2)
            node = self.view.node(ui, entry, box, "Large icons", "ListItem")
            node.style = Style(
                icon=node.style.icon,
                layout="tile",
                radius=4,
                color="#1b1b1b" if node.selected else "#ffffff",
            )

    def shortcut(self, key: str, mods: frozenset[str]) -> bool:
        """Handle the keys for the icons."""
        return self.view.press(key, mods)

    def typed(self, text: str) -> bool:
        """Select the first icon whose name begins with `text`; return whether there is one."""
        return self.view.select_by_name(text)

    def _clear(self) -> None:
        if self.view.renaming:
            self.view.finish_rename()
        self.view.selected = set()

    def _menu(self, x: int, y: int) -> None:
        programs = self.desktop.programs
        view = MenuItem(
            "View",
            items=(
                MenuItem("Large icons", checked=True),
                MenuItem("Show desktop icons", checked=True),
            ),
        )
        menu = self.view.folder_menu((view,))
        menu.items = [
            *menu.items,
            MenuItem("-"),
            MenuItem("Display settings", lambda: programs.launch(["ms-settings:display"])),
            MenuItem("Personalize", lambda: programs.launch(["ms-settings:personalization"])),
        ]
        self.desktop.show_menu_at(menu, x, y)


class Taskbar(ShellWindow):
    """Start, search, pinned and running apps, and the clock."""

    cls = "Shell_TrayWnd"
    caption = "Taskbar"
    background = "#e9eef5"

    def __init__(
        self, desktop: Desktop, programs: Programs, toggle_start: Callable[[], object]
    ) -> None:
        super().__init__(desktop)
        self._programs = programs
        self._toggle_start = toggle_start

    @property
    def frame(self) -> Rect:
        """The strip at the bottom."""
        return Rect(0, self.desktop.work_area.bottom, *self.desktop.size)

    def build(self, ui: Builder) -> None:
        """Show the buttons in the middle and the time at the right."""
        groups = self._groups()
        area = Area(self.frame.centered(48 * (len(groups) + 2), self.frame.height).inset(0, 4))
        ui.icon_button(
            area.left(48).inset(2, 0),
            "Start",
            "start",
            self._toggle_start,
            cls="ToggleButton",
        )
        ui.icon_button(
            area.left(48).inset(2, 0),
            "Search",
            "search",
            self._toggle_start,
            cls="ToggleButton",
        )
        for name, icon, windows, launch in groups:
            running = f"{name} - {len(windows)} running window{'s' if len(windows) > 1 else ''}"
            rect = area.left(48).inset(2, 0)
            node = ui.icon_button(
                rect,
                running if windows else f"{name} pinned",
                icon,
                partial(self._show, windows, launch),
                cls="TaskListButton",
            )
            node.style = Style(icon=icon, radius=5, padding=0, fill="#f7fafd" if windows else None)
            node.checked = self.desktop.active in windows if windows else None
        now = self.machine.clock.now()
        hour, half = now.hour % 12 or 12, "AM" if now.hour < 12 else "PM"  # noon
        time, date = f"{hour}:{now.minute:02d} {half}", f"{now.month}/{now.day}/{now.year}"
        area = Area(
            Rect(self.frame.right - 110, self.frame.top, self.frame.right - 12, self.frame.bottom)
        )
        with ui.group(area.rect, f"Clock {time} {date}", "SystemTray.OmniButton"):
            area.top(6)
            ui.label(area.top(18), time, size=12, align="right")
            ui.label(area.top(18), date, size=12, align="right")

    def _groups(self) -> list[tuple[str, str, list[Window], Callable[[], object]]]:
        programs, windows = self._programs, self.desktop.windows
        groups = []
        for program in programs.catalogue:
            own = [w for w in windows if w.exe == program.exe and w.owner is None]
            if own or program.pinned:
                groups.append((program.title, program.icon, own, programs.launcher(program)))
        others = {w.exe for w in windows} - {program.exe for program in programs.catalogue}
        for exe in sorted(others):
            own = [w for w in windows if w.exe == exe]
            groups.append((own[0].title, own[0].icon, own, lambda: None))
        return groups[: (self.frame.width - 360) // 48]

    def _show(self, windows: list[Window], launch: Callable[[], object]) -> None:
        desktop = self.desktop
        if not windows:
            launch()
        elif desktop.active in windows and len(windows) == 1:
            desktop.minimize(windows[0])
        else:
            front = [w for w in desktop.windows if w in windows]
            desktop.activate(front[0] if desktop.active in windows else front[-1])


class StartMenu(ShellWindow):
    """Search and the list of apps."""

    cls = "Windows.UI.Core.CoreWindow"
    caption = "Start"
    exe = "SearchHost.exe"
    background = "#f2f4f8"

    def __init__(self, desktop: Desktop, programs: Programs, close: Callable[[], object]) -> None:
        super().__init__(desktop)
        self._programs = programs
        self._close = close
        self.search = TextField()
        self.focus = "search"

    @property
    def frame(self) -> Rect:
        """A panel above the taskbar."""
        area = self.desktop.work_area
        height = min(620, area.height - 20)
        box = area.centered(min(600, area.width), height)
        return box.moved(0, area.bottom - 10 - box.bottom)

    def clear(self) -> None:
        """Clear the search."""
        self.search.set("")
        self.focus = "search"

    def build(self, ui: Builder) -> None:
        """Show the search box and the apps that match it."""
        area = Area(self.frame.inset(28, 22))
        ui.edit(area.top(36, gap=18), "Search for apps, settings, and documents", self.search,
                key="search", cls="Windows.UI.Xaml.Controls.TextBox", style=Style(padding=14, radius=16, hint="Search for apps, settings, and documents"))  # fmt: skip
        found = self._found()
        if self.search.text:
            ui.label(area.top(26, gap=6), "Best match" if found else "No results", bold=True)
            for name, icon, do in found[:10]:
                ui.button(
                    area.top(44, gap=2),
                    name,
                    partial(self._run, do),
                    style=Style(icon=icon, padding=14, radius=5),
                    cls="ListViewItem",
                )
            return
        ui.label(area.top(26, gap=10), "Pinned", bold=True)
        columns, side = 6, area.rect.width // 6
        for number, (name, icon, do) in enumerate(found[:24]):
            left = area.rect.left + number % columns * side
            top = area.rect.top + number // columns * 92
            style = Style(icon=icon, layout="tile", radius=5, size=12, align="center")
            ui.button(
                Rect.sized(left, top, side, 88).inset(3),
                name,
                partial(self._run, do),
                style=style,
                cls="GridViewItem",
            )

    def fallback(self, key: str, mods: frozenset[str]) -> bool:
        """Open the best match with Enter."""
        del mods
        found = self._found()
        if key == "enter" and self.search.text and found:
            self._run(found[0][2])
            return True
        return False

    def _found(self) -> list[tuple[str, str, Callable[[], object]]]:
        programs, wanted = self._programs, self.search.text.strip().casefold()
        apps = [(p.title, p.icon, programs.launcher(p)) for p in programs.catalogue]
        if not wanted:
            return apps
        names = [
            each for each in apps if wanted in each[0].casefold()
            or any(wanted in alias for alias in programs.aliases_of(each[0]))
        ]  # fmt: skip
        names.sort(key=lambda each: not each[0].casefold().startswith(wanted))
        return [*names, *programs.settings_found(wanted)]

    def _run(self, do: Callable[[], object]) -> None:
        self._close()
        do()


class RunDialog(OkCancel):
    """Win+R: a line that names a program, a folder or a page of Settings."""

    cls = "#32770"
    caption = "Run"
    exe = "explorer.exe"
    size = (420, 210)
    resizable = False
    icon = "app:#0078d4:R"

    def __init__(self, desktop: Desktop, programs: Programs) -> None:
        super().__init__(desktop)
        self._programs = programs
        self.rect = Rect.sized(20, desktop.work_area.bottom - 230, *self.size)
        self.line = TextField()
        self.focus = "edit:Open:"

    def build(self, ui: Builder) -> None:
        """Show the line and the buttons."""
        area = Area(self.frame.inset(20, 14))
        area.top(28)
        buttons = Area(area.bottom(30))
        ui.button(buttons.right(90, gap=8), "Cancel", self.close)
        ui.button(buttons.right(90), "OK", self.confirm, style=PRIMARY)
        ui.label(
            area.top(44),
            "Type the name of a program, folder, document, or Internet resource.",
            wrap=True,
        )
        row = Area(area.top(30))
        ui.label(row.left(60), "Open:")
        ui.edit(row.rect, "Open:", self.line, cls="Edit", native=True)

    def confirm(self) -> None:
        """Open or run the typed line."""
        text = self.machine.expand(self.line.text.strip())
        try:
            words = [word.strip('"') for word in shlex.split(text, posix=False)]
        except ValueError:
            words = [text]
        programs = self._programs
        if words and self.machine.files.exists(text.strip('"')):
            self.close()
            programs.open_path(text.strip('"'))
        elif words and programs.can_start(words[0]):
            self.close()
            programs.launch(words)
        elif words:
            show_message(
                self,
                words[0],
                f"Windows cannot find '{words[0]}'. Make sure you typed the name correctly, and then try again.",
            )
