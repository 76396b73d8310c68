"""Building a window's tree of elements: buttons, text, boxes, lists and menus."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Protocol

from waa_server_ext.simulate.ui.geometry import Rect
from waa_server_ext.simulate.ui.menus import Menu, MenuItem
from waa_server_ext.simulate.ui.nodes import Node, Role, Style
from waa_server_ext.simulate.ui.text_field import TextField

_CLASSES: dict[str, str] = {
    "pane": "Pane", "button": "Button", "label": "TextBlock", "edit": "TextBox",
    "checkbox": "CheckBox", "radio": "RadioButton", "toggle": "ToggleSwitch", "combo": "ComboBox",
    "item": "ListViewItem", "header": "HeaderItem", "tab": "TabViewItem", "menuitem": "MenuBarItem",
    "slider": "Slider", "image": "Image", "icon": "Image", "canvas": "Canvas",
    "progress": "ProgressBar", "window": "Window",
}  # fmt: skip

BUTTON = Style(fill="#fbfbfb", border="#d0d0d0", radius=4, align="center")
PRIMARY = Style(fill="#0067c0", color="#ffffff", radius=4, align="center")


class MenuHost(Protocol):
    """The part of the desktop that opens a window's menus."""

    def show_menu(
        self, menu: Menu, anchor: Rect, *, role: Role = "menuitem", side: bool = False
    ) -> None:
        """Open a menu below `anchor`; with `side`, to its right, keeping the open ones."""
        ...

    def has_menu_at(self, anchor: Rect) -> bool:
        """Return whether the element at `anchor` has its menu open."""
        ...


class Builder:
    """Builds a window's tree: each method adds one element and returns it.

    `focus` is the key of the focused element, None unless keys go to this window; `cues` says whether
    it is drawn with a border, as Windows does once Tab has been pressed.
    """

    def __init__(
        self, host: MenuHost, root: Node, *, focus: str | None = None, cues: bool = False
    ) -> None:
        self._host = host
        self._parents = [root]
        self._keys: dict[str, int] = {}
        self._focus = focus
        self._cues = cues

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
        node.focused = node.key == self._focus
        node.cue = node.focused and self._cues
        parent.children.append(node)
        return node

    @contextmanager
    def group(
        self, rect: Rect, name: str = "", cls: str = "", *, role: Role = "pane", **more: Any
    ) -> Iterator[Node]:
        """Add a container; elements added inside the block are clipped to it."""
        with self.inside(self.add(Node(role, rect, name, cls, **more))) as node:
            yield node

    @contextmanager
    def inside(self, node: Node) -> Iterator[Node]:
        """Add the elements made in the block to an existing node."""
        self._parents.append(node)
        try:
            yield node
        finally:
            self._parents.pop()

    def pane(self, rect: Rect, fill: str, border: str | None = None, radius: int = 0) -> Node:
        """Add a colored area for decoration."""
        return self.add(Node("pane", rect, style=Style(fill=fill, border=border, radius=radius)))

    def label(self, rect: Rect, text: str, **style: Any) -> Node:
        """Add text."""
        cls = style.pop("cls", "")
        return self.add(Node("label", rect, text, cls, style=Style(**style)))

    def button(
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

        def drop() -> None:
            self._host.show_menu(Menu.of_options(options, value, choose), rect, role="item")

        is_open = self._host.has_menu_at(rect)
        return self.add(
            Node("combo", rect, name, value=value, click=drop, expanded=is_open, **more)
        )

    def menu_button(
        self, rect: Rect, name: str, items: Callable[[], Sequence[MenuItem]], **more: Any
    ) -> Node:
        """Add a button or menu-bar entry that opens a menu below itself."""

        def drop() -> None:
            self._host.show_menu(Menu(items()), rect)

        role: Role = more.pop("role", "menuitem")
        is_open = self._host.has_menu_at(rect)
        return self.add(Node(role, rect, name, click=drop, expanded=is_open, **more))
