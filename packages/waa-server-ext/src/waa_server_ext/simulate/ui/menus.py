"""Menus and drop-down lists: their items, their look and how keys move in them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from waa_server_ext.simulate.ui.geometry import Area, Rect
from waa_server_ext.simulate.ui.nodes import Node, Role, Style
from waa_server_ext.simulate.ui.painter import text_width

_ROW = 28
_RULE = 7


@dataclass(frozen=True)
class MenuItem:
    """One line of a menu; the name `-` is a rule between groups."""

    name: str
    do: Callable[[], object] | None = None
    keys: str = ""
    enabled: bool = True
    checked: bool = False
    items: tuple[MenuItem, ...] = ()

    @property
    def usable(self) -> bool:
        """Whether it can be chosen."""
        return self.enabled and self.name != "-"


@dataclass
class Menu:
    """The lines of a menu and the one the keyboard is on."""

    items: Sequence[MenuItem]
    at: int | None = None

    @classmethod
    def of_options(cls, options: Sequence[str], value: str, choose: Callable[[str], None]) -> Menu:
        """Return the drop-down list of a combo box."""

        def choice(option: str) -> Callable[[], object]:
            return lambda: choose(option)

        at = list(options).index(value) if value in options else None
        return cls([MenuItem(each, choice(each)) for each in options], at)

    def step(self, by: int) -> None:
        """Move the keyboard to the next usable line."""
        usable = [i for i, item in enumerate(self.items) if item.usable]
        if not usable:
            return
        if self.at not in usable:
            self.at = usable[0 if by > 0 else -1]
            return
        self.at = usable[(usable.index(self.at) + by) % len(usable)]


@dataclass
class Popup:
    """An open menu at its place on the screen; the wheel or keys scroll to lines beyond `most`."""

    menu: Menu
    rect: Rect
    role: Role = "menuitem"
    most: int = 0
    first: int = 0
    open_item: int | None = None
    anchor: Rect | None = None
    rows: list[tuple[int, Rect]] = field(default_factory=list)

    @classmethod
    def beside(cls, menu: Menu, anchor: Rect, screen: Rect, role: Role, *, side: bool) -> Popup:
        """Return a popup below an anchor (or to its right), shifted to fit on the screen if it can."""
        wide = [text_width(item.name, 13) + text_width(item.keys, 12) for item in menu.items]
        width = min(max([*wide, 100]) + 64, 460)
        if role == "item":
            width = max(anchor.width, min(width, 460))
        most = max(1, (screen.height - 8) // _ROW - 1)  # one row counts the hidden ones
        heights = [_RULE if item.name == "-" else _ROW for item in menu.items[:most]]
        height = 8 + sum(heights) + (_ROW if len(menu.items) > most else 0)
        left, top = (anchor.right - 4, anchor.top - 4) if side else (anchor.left, anchor.bottom + 1)
        if top + height > screen.bottom:
            top = max(screen.top, (anchor.bottom if side else anchor.top) - height)
        left = max(screen.left, min(left, screen.right - width))
        made = cls(menu, Rect.sized(left, top, width, height), role, most, anchor=anchor)
        if role == "item":
            made.show(menu.at or 0)
        return made

    def show(self, number: int) -> None:
        """Scroll until a line is visible."""
        self.first = min(max(self.first, number - self.most + 1), number)

    def build(self, choose: Callable[[int], None], scroll: Callable[[int], None]) -> Node:
        """Return the popup's tree."""
        cls = "ComboLBox" if self.role == "item" else "#32768"
        style = Style(fill="#fbfbfb", border="#b4b4b4", radius=6)
        name = "Context" if self.role == "menuitem" else ""
        root = Node(
            "pane", self.rect, name, cls, key="popup", style=style, native=True, wheel=scroll
        )
        area = Area(self.rect.inset(4))
        last = self.first + self.most
        for number, item in enumerate(self.menu.items):
            if self.first <= number < last and area.rect.height >= _RULE:
                root.children.append(self._line(number, item, area, choose))
        above, below = self.first, max(len(self.menu.items) - last, 0)
        if above or below:
            said = [f"{n} more {where}" for n, where in ((above, "above"), (below, "below")) if n]
            line = self._line(-1, MenuItem(", ".join(said)), area, choose)
            line.click = lambda: scroll(self.most if below else -above)
            root.children.append(line)
        return root

    def _line(self, number: int, item: MenuItem, area: Area, choose: Callable[[int], None]) -> Node:
        if item.name == "-":
            rule = area.top(_RULE).inset(4, 3)
            return Node(
                "pane", rule, "", "Separator", key=f"rule{number}", style=Style(fill="#dcdcdc")
            )
        row = area.top(_ROW)
        cls = "ComboBoxItem" if self.role == "item" else "MenuFlyoutItem"
        node = Node(self.role, row, item.name, cls, key=f"{self.role}:{number}")
        node.value = ("\u203a" if item.items else item.keys) or None
        if self.role == "item":
            node.value = None
        node.style = Style(padding=24 if self.role == "menuitem" else 10, radius=4)
        node.enabled, node.selected = item.enabled, self.menu.at == number
        node.checked = item.checked or None
        node.expanded = (self.open_item == number) if item.items else None
        node.click = lambda: choose(number)
        node.clip = row.clipped(self.rect)
        return node
