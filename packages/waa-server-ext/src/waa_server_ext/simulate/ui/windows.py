"""Windows of the simulated desktop, and the interface of the desktop they are on."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, Protocol

from waa_server_ext.simulate.machine.computer import Machine
from waa_server_ext.simulate.ui.builder import Builder
from waa_server_ext.simulate.ui.folder_views import FolderView
from waa_server_ext.simulate.ui.geometry import Rect
from waa_server_ext.simulate.ui.held_keys import HeldKeys
from waa_server_ext.simulate.ui.menus import Menu
from waa_server_ext.simulate.ui.nodes import Role


class Launcher(Protocol):
    """Starts programs and opens files.

    Attributes:
        folder_views: How each folder is shown, by its path in lower case.
    """

    folder_views: dict[str, FolderView]

    def launch(self, words: Sequence[str]) -> bool:
        """Run a command line; return false if Windows would not find its program."""
        ...

    def open_path(self, path: str) -> bool:
        """Open a file with its program, or a folder in File Explorer; return false if neither exists."""
        ...


class Desktop(Protocol):
    """The part of the desktop that windows may use.

    Apps depend on this protocol rather than on the desktop itself, which imports them.
    """

    machine: Machine
    size: tuple[int, int]
    screen: Rect
    windows: list[Window]
    keys: HeldKeys

    @property
    def programs(self) -> Launcher:
        """The launcher of programs."""
        ...

    @property
    def work_area(self) -> Rect:
        """The screen without the taskbar."""
        ...

    @property
    def active(self) -> Window | None:
        """The window with the focus; `None` when the desktop itself has it."""
        ...

    @property
    def focused_surface(self) -> Window:
        """The surface that keys go to: the Start menu, the active window, or the desktop."""
        ...

    def open(self, window: Window) -> Window:
        """Put a window in front."""
        ...

    def close(self, window: Window) -> None:
        """Close a window and the dialogs it owns."""
        ...

    def activate(self, window: Window) -> None:
        """Bring a window to the front, with the dialogs it waits for on top of it."""
        ...

    def minimize(self, window: Window) -> None:
        """Hide a window; the next one gets the focus."""
        ...

    def show_menu(
        self, menu: Menu, anchor: Rect, *, role: Role = "menuitem", side: bool = False
    ) -> None:
        """Open a menu below `anchor`; with `side`, to its right, keeping the open ones."""
        ...

    def show_menu_at(self, menu: Menu, x: int, y: int) -> None:
        """Open a context menu at a point."""
        ...

    def has_menu_at(self, anchor: Rect) -> bool:
        """Return whether the element at `anchor` has its menu open."""
        ...

    def hide_popups(self) -> None:
        """Close every menu."""
        ...

    def touch(self) -> None:
        """Note that the look of something may have changed."""
        ...


class Window:
    """An open window of the simulated desktop; each app is a subclass that builds its contents.

    Attributes:
        exe: The process it belongs to; windows of one app share it.
        cls: Its window class, the tag in the accessibility tree.
        caption: The title bar's text, if it never changes.
        modal: Whether its owner waits for it.
    """

    exe = "app.exe"
    cls = "Window"
    icon = "app:#5d5d5d:A"
    caption = ""
    size = (900, 600)
    framed = True
    resizable = True
    modal = False
    frame_suffix = ""
    background = "#f9f9f9"

    def __init__(self, desktop: Desktop, owner: Window | None = None) -> None:
        self.desktop = desktop
        self.owner = owner
        self.minimized = False
        self.maximized = False
        self.focus: str | None = None
        area = self.desktop.work_area
        width, height = min(self.size[0], area.width), min(self.size[1], area.height)
        if self.owner is not None:
            rect = self.owner.frame.centered(width, height)
        else:
            step = 26 * (len(self.desktop.windows) % 8)
            rect = Rect.sized(area.left + 90 + step, area.top + 50 + step, width, height)
        dx = min(0, area.right - rect.right) + max(0, area.left - rect.left)
        dy = min(0, area.bottom - rect.bottom) + max(0, area.top - rect.top)
        self.rect = rect.moved(dx, dy)
        self.pid = 0

    @property
    def machine(self) -> Machine:
        """The computer it runs on."""
        return self.desktop.machine

    @property
    def title(self) -> str:
        """The title bar's text."""
        return self.caption or self.exe.removesuffix(".exe").title()

    def build(self, ui: Builder) -> None:
        """Put the window's elements into `ui`."""

    def shortcut(self, key: str, mods: frozenset[str]) -> bool:
        """Handle a key before the focused element does; return false if it means nothing here."""
        del key, mods
        return False

    def fallback(self, key: str, mods: frozenset[str]) -> bool:
        """Handle a key that the focused element did not use; return false if it means nothing here."""
        del key, mods
        return False

    def typed(self, text: str) -> bool:
        """Handle text typed while no edit box has the focus."""
        del text
        return False

    def request_close(self) -> None:
        """Close, or ask first."""
        self.close()

    def close(self) -> None:
        """Close at once."""
        self.desktop.close(self)

    def closed(self) -> None:
        """Clean up after the window has closed."""

    def saved_state(self) -> dict[str, Any]:
        """Return the state that reopens this window from a snapshot."""
        return {}

    def restore_state(self, state: dict[str, Any]) -> None:
        """Restore the state that `saved_state` returned."""

    @property
    def frame(self) -> Rect:
        """The window's rectangle on the screen."""
        return self.desktop.work_area if self.maximized else self.rect

    def toggle_maximized(self) -> None:
        """Maximize, or restore the former size."""
        if self.resizable:
            self.maximized = not self.maximized


class OkCancel(Window, ABC):
    """A window that Enter confirms and Escape cancels."""

    @abstractmethod
    def confirm(self) -> None:
        """Do the action of the OK button."""

    def fallback(self, key: str, mods: frozenset[str]) -> bool:
        """Confirm with Enter, give up with Escape."""
        del mods
        if key == "enter":
            self.confirm()
        elif key == "escape":
            self.close()
        return key in {"enter", "escape"}
