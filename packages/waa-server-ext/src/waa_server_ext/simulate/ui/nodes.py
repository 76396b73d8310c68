"""The screen's elements as one tree that is drawn, clicked on and given to assistive software."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, Literal

from waa_server_ext.simulate.ui.geometry import Rect
from waa_server_ext.simulate.ui.text_field import TextField

Role = Literal[
    "window", "pane", "button", "label", "edit", "checkbox", "radio", "toggle", "combo", "item",
    "header", "tab", "menuitem", "slider", "image", "icon", "canvas", "progress",
]  # fmt: skip


@dataclass(frozen=True)
class Style:
    """The look of a node, as far as its role does not decide it."""

    fill: str | None = None
    color: str | None = None
    border: str | None = None
    size: int = 13
    bold: bool = False
    align: Literal["left", "center", "right"] = "left"
    radius: int = 0
    icon: str | None = None
    layout: Literal["row", "tile"] = "row"
    padding: int = 8
    wrap: bool = False
    hint: str = ""


@dataclass
class Node:
    """One element: a rectangle with a name, a look and actions.

    The pixels, the accessibility tree and hit-testing are all derived from it, so they agree.
    `native` marks an element with its own window handle, which the win32 tree shows too.
    `cue` draws the focus, as Windows does once the keyboard has moved it.
    `clip` is the part of `rect` that its parents leave visible.
    """

    role: Role
    rect: Rect
    name: str = ""
    cls: str = ""
    key: str = ""
    value: str | None = None
    style: Style = field(default_factory=Style)
    enabled: bool = True
    selected: bool | None = None
    checked: bool | None = None
    expanded: bool | None = None
    focused: bool = False
    cue: bool = False
    native: bool = False
    text: TextField | None = None
    secret: bool = False
    picture: Any = None
    span: tuple[float, float, float] | None = None
    click: Callable[[], object] | None = None
    double: Callable[[], object] | None = None
    right: Callable[[int, int], None] | None = None
    pointer: Callable[[str, int, int], None] | None = None
    wheel: Callable[[int], None] | None = None
    payload: object = None
    drop: Callable[[object, bool], None] | None = None
    children: list[Node] = field(default_factory=list)
    clip: Rect | None = None
    states: dict[str, bool] = field(default_factory=dict)

    @property
    def shown(self) -> Rect:
        """The visible part of the rectangle, apart from windows that cover it."""
        return self.rect if self.clip is None else self.clip

    @property
    def focusable(self) -> bool:
        """Whether the Tab key stops here."""
        return self.enabled and (self.text is not None or self.click is not None)


def walk(node: Node) -> Iterator[Node]:
    """Yield a node and its descendants, in drawing order."""
    yield node
    for child in node.children:
        yield from walk(child)


def hit(node: Node, x: int, y: int) -> Node | None:
    """Return the topmost, deepest node at a point, or `None`."""
    if not node.shown.holds(x, y):
        return None
    for child in reversed(node.children):
        found = hit(child, x, y)
        if found is not None:
            return found
    return node
