"""The desktop's windows in their order, its menus, and the visible part of both."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from PIL import Image

from waa_server_ext.simulate.desktop.programs import Programs
from waa_server_ext.simulate.desktop.shell_windows import Background, RunDialog, StartMenu, Taskbar
from waa_server_ext.simulate.machine.computer import Machine
from waa_server_ext.simulate.ui.frame import framed
from waa_server_ext.simulate.ui.geometry import Rect
from waa_server_ext.simulate.ui.held_keys import HeldKeys
from waa_server_ext.simulate.ui.menus import Menu, Popup
from waa_server_ext.simulate.ui.nodes import Node, Role, hit, walk
from waa_server_ext.simulate.ui.painter import Painter
from waa_server_ext.simulate.ui.windows import Window

SCREEN = (1440, 900)  # WAA's VM; its images also offer 1280x720
TASKBAR_HEIGHT = 48
MAX_WINDOWS = 20
"""The most open windows; one more closes the oldest, so that endless input cannot fill memory."""


class WindowManager:
    """A screen with windows on it, and the machine behind them.

    `revision` grows with every change that may affect a pixel; the picture and the trees are computed on
    demand and cached until then.
    """

    def __init__(self, machine: Machine, size: tuple[int, int] = SCREEN) -> None:
        self.machine = machine
        self.size = size
        self.screen = Rect(0, 0, *size)
        self.revision = 0
        self.windows: list[Window] = []
        self.keys = HeldKeys()
        self.popups: list[Popup] = []
        self.programs = Programs(self)
        self.background = Background(self)
        self.start_open = False
        self.start_menu = StartMenu(self, self.programs, self.close_start)
        self.taskbar = Taskbar(self, self.programs, self.toggle_start)
        self._next_pid = 4000
        self._trees: tuple[int, dict[Window, Node]] = (-1, {})
        self._picture: tuple[int, Image.Image] | None = None

    # -- windows

    @property
    def work_area(self) -> Rect:
        """The screen without the taskbar."""
        return Rect(0, 0, self.size[0], self.size[1] - TASKBAR_HEIGHT)

    @property
    def active(self) -> Window | None:
        """The window with the focus; `None` when the desktop itself has it."""
        shown = [window for window in self.windows if not window.minimized]
        return shown[-1] if shown and not self.background.has_focus else None

    @property
    def focused_surface(self) -> Window:
        """The surface that keys go to: the Start menu, the active window, or the desktop."""
        if self.start_open:
            return self.start_menu
        return self.active or self.background

    @property
    def active_title(self) -> str:
        """The title that pyautogui gives for the foreground window."""
        return self.active.title if self.active else "Program Manager"

    def open(self, window: Window) -> Window:
        """Put a window in front."""
        same = [each for each in self.windows if each.exe == window.exe]
        window.pid = same[0].pid if same else self._take_pid()
        self.windows.append(window)
        while len(self.windows) > MAX_WINDOWS:
            self.close(self.windows[0])
        self.hide_popups()
        self.start_open = False
        self.background.has_focus = False
        self.touch()
        return window

    def close(self, window: Window) -> None:
        """Close a window and the dialogs it owns."""
        for each in [each for each in self.windows if each.owner is window]:
            self.close(each)
        if window in self.windows:
            self.windows.remove(window)
            window.closed()
        self.hide_popups()
        self.touch()

    def close_all(self) -> None:
        """Close every window without asking."""
        for window in list(self.windows):
            self.close(window)

    def activate(self, window: Window) -> None:
        """Bring a window to the front, with the dialogs it waits for on top of it."""
        if window is self.background:
            self.background.has_focus = True
        elif window in self.windows:
            self.background.has_focus = False
            window.minimized = False
            for each in (window, *[w for w in self.windows if w.owner is window]):
                self.windows.remove(each)
                self.windows.append(each)
        self.touch()

    def minimize(self, window: Window) -> None:
        """Hide a window; the next one gets the focus."""
        window.minimized = True
        self.hide_popups()
        self.touch()

    def minimize_all(self) -> None:
        """Show the desktop."""
        for window in self.windows:
            window.minimized = True
        self.background.has_focus = True
        self.touch()

    def with_title(self, part: str) -> list[Window]:
        """Return the windows whose title contains `part` in any case, front ones first."""
        return [w for w in reversed(self.windows) if part.casefold() in w.title.casefold()]

    def modal_above(self, window: Window) -> Window | None:
        """Return the dialog that a window waits for, or `None`."""
        return next((w for w in reversed(self.windows) if w.owner is window and w.modal), None)

    def close_start(self) -> None:
        """Close the Start menu."""
        self.start_open = False

    def toggle_start(self) -> None:
        """Open the Start menu with an empty search, or close it."""
        self.start_open = not self.start_open
        self.start_menu.clear()
        self.hide_popups()

    def run_dialog(self) -> None:
        """Open the Run box."""
        self.open(RunDialog(self, self.programs))

    # -- menus

    def show_menu(
        self, menu: Menu, anchor: Rect, *, role: Role = "menuitem", side: bool = False
    ) -> None:
        """Open a menu below `anchor`; with `side`, to its right, keeping the open ones."""
        if not side:
            self.hide_popups()
        self.popups.append(Popup.beside(menu, anchor, self.screen, role, side=side))
        self.touch()

    def show_menu_at(self, menu: Menu, x: int, y: int) -> None:
        """Open a context menu at a point."""
        self.show_menu(menu, Rect(x, y, x + 1, y))

    def has_menu_at(self, anchor: Rect) -> bool:
        """Return whether the element at `anchor` has its menu open."""
        return any(each.anchor == anchor for each in self.popups)

    def hide_popups(self) -> None:
        """Close every menu."""
        self.popups.clear()
        self.touch()

    def choose(self, popup: Popup, number: int) -> None:
        """Choose a line of an open menu."""
        item = popup.menu.items[number]
        if not item.usable:
            return
        if item.items:
            del self.popups[self.popups.index(popup) + 1 :]
            popup.menu.at = popup.open_item = number
            row = next(n for n in self._popup_tree(popup).children if n.key == f"menuitem:{number}")
            self.show_menu(Menu(popup.menu.items[number].items), row.rect, side=True)
            return
        self.hide_popups()
        if item.do is not None:
            item.do()
        self.touch()

    def _popup_tree(self, popup: Popup) -> Node:
        def scroll(by: int) -> None:
            popup.first = min(max(popup.first + by, 0), max(len(popup.menu.items) - popup.most, 0))
            self.touch()

        return popup.build(lambda number: self.choose(popup, number), scroll)

    # -- trees and pixels

    def touch(self) -> None:
        """Note that the look of something may have changed."""
        self.revision += 1

    def trees(self) -> list[Node]:
        """Return the trees of everything on the screen, from back to front."""
        return [tree for _, tree in self.front_surfaces()][::-1]

    def front_surfaces(self) -> Iterator[tuple[Window | None, Node]]:
        """Yield each surface with its tree, from the front to the back; menus have no window."""
        for popup in reversed(self.popups):
            yield None, self._popup_tree(popup)
        for window in reversed(self._windows_shown()):
            yield window, self._tree(window)

    def _windows_shown(self) -> list[Window]:
        shown: list[Window] = [self.background]
        shown += [window for window in self.windows if not window.minimized]
        return [*shown, self.taskbar, *([self.start_menu] if self.start_open else [])]

    def _tree(self, window: Window) -> Node:
        if self._trees[0] != self.revision:
            self._trees = (self.revision, {})
        known = self._trees[1].get(window)
        if known is None:
            known = self._trees[1][window] = self._built(window)
        return known

    def _built(self, window: Window) -> Node:
        node = framed(window)
        node.focused = window is self.active
        # parts beyond the edge of the screen are neither drawn nor clickable
        for each in walk(node):
            each.clip = each.shown.clipped(self.screen)
        return node

    def hit(self, x: int, y: int) -> tuple[Window | None, Node] | None:
        """Return the element at a point and the window it is in."""
        for window, tree in self.front_surfaces():
            found = hit(tree, x, y)
            if found is not None:
                return window, found
        return None

    def tree_of(self, window: Window) -> Node | None:
        """Return the tree of a window that is shown, or `None`."""
        return self._tree(window) if window in self._windows_shown() else None

    def focused_node(self) -> tuple[Window, Node | None]:
        """Return the window that keys go to and its focused element."""
        window = self.focused_surface
        tree = self.tree_of(window)
        focus = window.focus
        if tree is None or focus is None:
            return window, None
        return window, next((node for node in walk(tree) if node.key == focus), None)

    def picture(self) -> Image.Image:
        """Return the screen as it looks now, without the pointer; callers must not draw on it."""
        if self._picture is None or self._picture[0] != self.revision:
            image = Image.new("RGB", self.size)
            painter = Painter(image)
            for tree in self.trees():
                painter.draw(tree)
            self._picture = (self.revision, image)
        return self._picture[1]

    def after(self, do: Callable[[], object] | None) -> None:
        """Run an element's action and redraw."""
        if do is not None:
            do()
        self.touch()

    def _take_pid(self) -> int:
        self._next_pid += 4
        return self._next_pid
