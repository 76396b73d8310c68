"""Windows: a frame with a title bar, what an app puts in it, and how to build that."""

from __future__ import annotations

from abc import ABC, abstractmethod
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from waa_server_ext.simulate.geometry import Area, Rect
from waa_server_ext.simulate.menus import Menu
from waa_server_ext.simulate.nodes import Node, Role, Style

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from waa_server_ext.simulate.desktop import Desktop
    from waa_server_ext.simulate.machine import Machine
    from waa_server_ext.simulate.menus import MenuItem
    from waa_server_ext.simulate.text_field import TextField

__all__ = ["TITLE_HEIGHT", "Builder", "OkCancel", "Window"]

TITLE_HEIGHT = 32

_CLASSES: dict[str, str] = {
    "pane": "Pane", "button": "Button", "label": "TextBlock", "edit": "TextBox",
    "checkbox": "CheckBox", "radio": "RadioButton", "toggle": "ToggleSwitch", "combo": "ComboBox",
    "item": "ListViewItem", "header": "HeaderItem", "tab": "TabViewItem", "menuitem": "MenuBarItem",
    "slider": "Slider", "image": "Image", "icon": "Image", "canvas": "Canvas",
    "progress": "ProgressBar", "window": "Window",
}  # fmt: skip

PLAIN = Style()
BUTTON = Style(fill="#fbfbfb", border="#d0d0d0", radius=4, align="center")
PRIMARY = Style(fill="#0067c0", color="#ffffff", radius=4, align="center")
FLAT = Style(align="center", radius=4)
LINK = Style(color="#0067c0")


class Window:
    """An open window of the simulated desktop. An app is a subclass that says what is in it.

    Attributes:
        exe: The process it belongs to; windows of one app share it.
        cls: Its window class, the tag in the accessibility tree.
        modal: Whether its owner waits for it.
    """

    exe = "app.exe"
    cls = "Window"
    icon = "app:#5d5d5d:A"
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
        self.rect = self._first_rect()
        self.pid = 0

    @property
    def machine(self) -> Machine:
        """The computer it runs on."""
        return self.desktop.machine

    @property
    def title(self) -> str:
        """What the title bar says."""
        return self.exe.removesuffix(".exe").title()

    def build(self, ui: Builder) -> None:
        """Put the window's elements into `ui`."""

    def shortcut(self, key: str, mods: frozenset[str]) -> bool:
        """Handle a key before what has the focus does; false where it means nothing here."""
        del key, mods
        return False

    def fallback(self, key: str, mods: frozenset[str]) -> bool:
        """Handle a key that what has the focus has no use for."""
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
        """Clean up after the window went away."""

    def saved_state(self) -> dict[str, Any]:
        """Return what a snapshot needs to open the same window again."""
        return {}

    def restore_state(self, state: dict[str, Any]) -> None:
        """Take over what `saved_state` gave."""

    @property
    def frame(self) -> Rect:
        """Where the window is on the screen."""
        return self.desktop.work_area if self.maximized else self.rect

    def toggle_maximized(self) -> None:
        """Maximise, or go back to the former size."""
        if self.resizable:
            self.maximized = not self.maximized

    def _first_rect(self) -> Rect:
        area = self.desktop.work_area
        width, height = min(self.size[0], area.width), min(self.size[1], area.height)
        if self.owner is not None:
            rect = self.owner.frame.centered(width, height)
        else:
            step = 26 * (len(self.desktop.windows) % 8)
            rect = Rect.sized(area.left + 90 + step, area.top + 50 + step, width, height)
        dx = min(0, area.right - rect.right) + max(0, area.left - rect.left)
        dy = min(0, area.bottom - rect.bottom) + max(0, area.top - rect.top)
        return rect.moved(dx, dy)


class OkCancel(Window, ABC):
    """A window that Enter confirms and Escape gives up."""

    @abstractmethod
    def confirm(self) -> None:
        """Do what its OK button does."""

    def fallback(self, key: str, mods: frozenset[str]) -> bool:
        """Confirm with Enter, give up with Escape."""
        del mods
        if key == "enter":
            self.confirm()
        elif key == "escape":
            self.close()
        return key in {"enter", "escape"}


class Builder:
    """Builds a window's tree: each method adds one element and returns it."""

    def __init__(self, window: Window, root: Node) -> None:
        self.window = window
        self._parents = [root]
        self._keys: dict[str, int] = {}
        self._has_keys = window.desktop.focused_surface is window

    def add(self, node: Node) -> Node:
        """Add a node below the current parent: clipped by it, with a class, a key and its focus."""
        parent = self._parents[-1]
        node.clip = node.rect.clipped(parent.shown)
        node.cls = node.cls or _CLASSES[node.role]
        if not node.key:
            base = f"{node.role}:{node.name}"
            number = self._keys.get(base, 0)
            self._keys[base] = number + 1
            node.key = f"{base}:{number}" if number else base
        node.focused = self._has_keys and node.key == self.window.focus
        node.cue = node.focused and self.window.desktop.keyboard.cues
        parent.children.append(node)
        return node

    @contextmanager
    def group(
        self, rect: Rect, name: str = "", cls: str = "", *, role: Role = "pane", **more: Any
    ) -> Iterator[Node]:
        """Add a container; what is added inside the block is clipped to it."""
        with self.inside(self.add(Node(role, rect, name, cls, **more))) as node:
            yield node

    @contextmanager
    def inside(self, node: Node) -> Iterator[Node]:
        """Add what follows in the block to a node that is there already."""
        self._parents.append(node)
        try:
            yield node
        finally:
            self._parents.pop()

    def pane(self, rect: Rect, fill: str, border: str | None = None, radius: int = 0) -> Node:
        """Add a coloured area without a meaning."""
        return self.add(Node("pane", rect, style=Style(fill=fill, border=border, radius=radius)))

    def label(self, rect: Rect, text: str, **style: Any) -> Node:
        """Add text."""
        cls = style.pop("cls", "")
        return self.add(Node("label", rect, text, cls, style=Style(**style)))

    def button(  # noqa: PLR0913  # keywords with defaults
        self, rect: Rect, name: str, do: Callable[[], object], *,
        style: Style = BUTTON, enabled: bool = True, key: str = "", **more: Any,
    ) -> Node:  # fmt: skip
        """Add a button."""
        return self.add(
            Node("button", rect, name, style=style, enabled=enabled, click=do, key=key, **more)
        )

    def icon_button(
        self, rect: Rect, name: str, icon: str, do: Callable[[], object], **more: Any
    ) -> Node:
        """Add a button that shows only a picture."""
        style = Style(icon=icon, radius=4, padding=0)
        return self.button(rect, name, do, style=style, value="", **more)

    def edit(self, rect: Rect, name: str, text: TextField, **more: Any) -> Node:
        """Add an edit box."""
        style = more.pop("style", Style(radius=3))
        return self.add(Node("edit", rect, name, text=text, style=style, **more))

    def checkbox(
        self, rect: Rect, name: str, do: Callable[[], object], *, on: bool, **more: Any
    ) -> Node:
        """Add a check box."""
        return self.add(Node("checkbox", rect, name, checked=on, click=do, **more))

    def radio(
        self, rect: Rect, name: str, do: Callable[[], object], *, on: bool, **more: Any
    ) -> Node:
        """Add a radio button."""
        return self.add(Node("radio", rect, name, selected=on, click=do, **more))

    def toggle(
        self, rect: Rect, name: str, do: Callable[[], object], *, on: bool, **more: Any
    ) -> Node:
        """Add an on-off switch."""
        return self.add(Node("toggle", rect, name, checked=on, click=do, **more))

    def combo(
        self, rect: Rect, name: str, value: str, options: Sequence[str],
        choose: Callable[[str], None], **more: Any,
    ) -> Node:  # fmt: skip
        """Add a drop-down list."""
        desktop = self.window.desktop

        def drop() -> None:
            desktop.show_menu(Menu.of_options(options, value, choose), rect, role="item")

        return self.add(Node("combo", rect, name, value=value, click=drop, expanded=False, **more))

    def menu_button(
        self, rect: Rect, name: str, items: Callable[[], Sequence[MenuItem]], **more: Any
    ) -> Node:
        """Add a button or menu-bar entry that opens a menu below itself."""
        desktop = self.window.desktop

        def drop() -> None:
            desktop.show_menu(Menu(items()), rect)

        role: Role = more.pop("role", "menuitem")
        return self.add(Node(role, rect, name, click=drop, expanded=False, **more))


def framed(window: Window) -> Node:
    """Return the tree of a window: its frame, title bar and contents."""
    rect = window.frame
    fill = Style(fill=window.background, border="#a8a8a8", radius=0 if window.maximized else 7)
    root = Node("window", rect, window.title, window.cls, key="window", style=fill, native=True)
    root.states = {"minimized": window.minimized, "maximized": window.maximized}
    ui = Builder(window, root)
    area = Area(rect.inset(1))
    if window.framed:
        _title_bar(window, ui, Area(area.top(TITLE_HEIGHT)))
    with ui.group(area.rect, "", "ContentPane") as content:
        window.build(ui)
    root.children.remove(content)
    root.children += content.children
    return root


def _title_bar(window: Window, ui: Builder, bar: Area) -> None:
    desktop, suffix = window.desktop, window.frame_suffix
    close = bar.right(44)
    middle = bar.right(44) if window.resizable else None
    lowest = bar.right(44) if window.owner is None else None
    caption = ui.label(bar.rect.inset(1, 0), "", cls="TitleBar", padding=0)
    caption.name, caption.role = "", "pane"
    caption.pointer = _mover(window)
    caption.double = window.toggle_maximized
    bar.left(10)
    with_icon = bar.left(18)
    ui.add(
        Node(
            "icon",
            with_icon.centered(16, 16),
            style=Style(icon=window.icon),
            pointer=_mover(window),
            double=window.toggle_maximized,
        )
    )
    bar.left(8)
    ui.add(
        Node(
            "label",
            bar.rect.inset(0, 6),
            window.title,
            "TitleText",
            key="title",
            style=Style(size=12),
            pointer=_mover(window),
            double=window.toggle_maximized,
        )
    )
    if lowest is not None:
        ui.icon_button(
            lowest,
            f"Minimize{suffix}",
            "minimize",
            lambda: desktop.minimize(window),
            key="minimize",
        )
    if middle is not None:
        name = f"Restore{suffix}" if window.maximized else f"Maximize{suffix}"
        ui.icon_button(
            middle,
            name,
            "restore" if window.maximized else "maximize",
            window.toggle_maximized,
            key="maximize",
        )
    ui.icon_button(close, f"Close{suffix}", "close", window.request_close, key="close")


def _mover(window: Window) -> Callable[[str, int, int], None]:
    grip: list[tuple[int, int]] = []

    def move(phase: str, x: int, y: int) -> None:
        if phase == "down":
            grip[:] = [(x, y)]
        elif grip and phase in {"move", "up"} and not window.maximized:
            dx, dy = x - grip[0][0], y - grip[0][1]
            screen = window.desktop.work_area
            moved = window.rect.moved(dx, dy)
            top = min(max(moved.top, screen.top), screen.bottom - TITLE_HEIGHT)
            left = min(max(moved.left, screen.left + 60 - moved.width), screen.right - 60)
            window.rect = Rect.sized(left, top, moved.width, moved.height)
            grip[:] = [(x, y)]

    return move
