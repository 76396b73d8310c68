"""Elements of the screen from the accessibility tree of WAA's server.

Rects come from `cp:screencoord` and `cp:size`, the only places the server writes them. As with WAA's own
agent, leaves that are visible and not covered by a window above become elements; so do controls that
contain only texts, which describe the control, and controls that contain others.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, cast
from xml.etree.ElementTree import ParseError, XMLParser

from bench_core.agents import Element

_STATE = "{uri:deskat:state.at-spi.gnome.org}"
_PLACE = "{uri:deskat:component.at-spi.gnome.org}"
_VALUE = "{uri:deskat:value.at-spi.gnome.org}value"
_PAIR = re.compile(r"\(\s*(-?\d{1,9})\s*,\s*(-?\d{1,9})\s*\)")
_CLASS = "{uri:deskat:uia.windows.microsoft.org}class"
# pywinauto's name of a control, such as <class 'pywinauto.controls.win32_controls.ButtonWrapper'>
_WRAPPER = re.compile(r"\.(\w+)Wrapper'>$")
_MOST_BYTES = 64 * 1024 * 1024
_MOST_ELEMENTS = 2000
_DEEPEST = 200  # the server itself stops at 50 levels

_TEXTBOX = frozenset(
    {"edit", "textbox", "textarea", "richedit", "richeditd2dpt", "omniboxviewviews"}
)
_ROLES = {
    **dict.fromkeys(_TEXTBOX, "textbox"), "checkbox": "checkbox", "radiobutton": "radio", "toggleswitch": "switch",
    "togglebutton": "button", "tasklistbutton": "button", "splitbutton": "button", "menubaritem": "menuitem",
    "menuflyoutitem": "menuitem", "tabviewitem": "tab", "treeviewitem": "treeitem", "tableview": "table",
    "listview": "list", "syslistview32": "list", "systreeview32": "tree", "hyperlink": "link", "static": "text",
    "textblock": "text", "statusbar": "text", "titletext": "text", "titlebar": "titlebar", "mspaintview": "canvas",
}  # fmt: skip
"""Control classes to the roles shown to agents; a known class says more than its wrapper."""
_WRAPPED = {
    "Edit": "textbox", "Button": "button", "ComboBox": "combobox", "ListItem": "listitem", "MenuItem": "menuitem",
    "Menu": "menu", "TabControl": "tab", "Slider": "slider", "Static": "text", "HeaderItem": "columnheader",
    "Header": "header", "TreeItem": "treeitem", "TreeView": "tree", "ListView": "list", "ListBox": "list",
    "Toolbar": "toolbar", "Tooltip": "tooltip",
}  # fmt: skip
"""pywinauto's wrappers to roles; it has one for each type of control that it knows."""
_KNOWN = frozenset({*_ROLES.values(), *_WRAPPED.values(), "image", "hyperlink", "pane", "window"})
_HOLDING = frozenset(
    {"textbox", "button", "combobox", "listitem", "menuitem", "tab", "treeitem", "link", "checkbox", "radio", "switch"}
)  # fmt: skip
"""Controls that can be acted on although they contain something."""
_SAYING = frozenset({"text", "textbox", "combobox", "pane"})
"""Roles whose names may change with their contents; a button's name is its action."""
_STATES = ("checked", "selected", "expanded", "collapsed")

_SHELLS = {"Program Manager": "Desktop"}
"""Common names for the windows of Windows itself."""

_NOWHERE = (0, 0, 0, 0)
Rect = tuple[int, int, int, int]
"""Left, top, right, bottom in pixels."""


class TreeError(ValueError):
    """The accessibility tree is not the expected XML."""


@dataclass
class _Node:
    """One node; `rect` is None if the server gives no position."""

    role: str
    name: str
    value: str | None
    rect: Rect | None
    shown: bool
    front: bool
    usable: bool
    states: tuple[str, ...]
    depth: int
    path: tuple[tuple[str, str], ...] = ()
    children: list[_Node] = field(default_factory=list)


class NestedElement(NamedTuple):
    """An element, and the roles and names of its ancestors, from its window down."""

    element: Element
    path: tuple[tuple[str, str], ...]


def elements_of(xml: str, size: tuple[int, int]) -> tuple[Element, ...]:
    """Return the elements on a screen of `size`; see `controls_of`."""
    return tuple(each.element for each in controls_of(xml, size))


def same_control(wanted: NestedElement, now: Sequence[NestedElement]) -> NestedElement | None:
    """Find `wanted` in a later tree; None if it is gone or cannot be distinguished from others.

    The match has the same role and name at the same place of the tree. Of several, or if a field or text
    changed its name, the one that has not moved is taken. Window titles may change with the contents.
    """
    _, *inside = wanted.path
    kind = (wanted.element.role, wanted.path[0][0], inside)
    alike = [each for each in now if (each.element.role, each.path[0][0], [*each.path[1:]]) == kind]
    named = [each for each in alike if each.element.name == wanted.element.name]
    there = [each for each in named if each.element.rect == wanted.element.rect]
    if not named and wanted.element.role in _SAYING:
        there = [each for each in alike if each.element.rect == wanted.element.rect]
    same_window = [each for each in named if each.path == wanted.path]
    for found in (there, same_window, named):
        if len(found) == 1:
            return found[0]
    return None


def control_at(xml: str, size: tuple[int, int], point: tuple[float, float]) -> NestedElement | None:
    """Return the control that a press at a point hits, None if the tree has nothing there.

    Raises:
        TreeError: See `controls_of`.
    """
    for window in _parse(xml).children:
        if not window.shown:
            continue
        rects = [(_clipped(each.rect, size), each) for each in _leaves(window)]
        there = [(rect, each) for rect, each in rects if rect is not None and _in(rect, point)]
        if there:
            rect, node = min(there, key=lambda each: _area(each[0]))
            return NestedElement(_element(0, rect, node), node.path)
        if window.rect is not None and _in(window.rect, point):
            return None  # it hides the windows below
    return None


def controls_of(
    xml: str, size: tuple[int, int], *, covered: bool = False
) -> tuple[NestedElement, ...]:
    """Return the elements on a screen of `size`, ids from 0; with `covered` also those below other windows.

    Elements of the focused window and of menus on it come first; each window's are in the order of the tree.

    Raises:
        TreeError: The tree is not XML, has a document type, or is too deep or too large.
    """
    root = _parse(xml)
    windows = [each for each in root.children if each.shown]
    found: list[tuple[_Node, dict[Rect, _Node]]] = []
    known: set[Rect] = set()
    above: list[Rect] = []
    # the server lists windows from the top of the stack to its bottom
    for window in windows:
        inside: dict[Rect, _Node] = {}
        for node in _leaves(window):
            rect = _clipped(node.rect, size)
            # a click goes to the window on top, so a covered element is useless
            if rect is None or rect in known or (_covered(rect, above) and not covered):
                continue
            # a title bar repeats the title in the list of windows
            if node.role != "text" or node.name != window.name or node.value:
                inside.setdefault(rect, node)
        found.append((window, inside))
        known |= inside.keys()
        if window.rect is not None and _area(window.rect):
            above.append(window.rect)
    found.sort(key=_behind(found))
    placed: list[tuple[str, Rect, _Node]] = []
    titles: Counter[str] = Counter()
    for window, inside in found:
        if not inside:
            continue
        title = _SHELLS.get(window.name, window.name) or window.role
        titles[title] += 1
        title += f" ({titles[title]})" if titles[title] > 1 else ""
        placed += [
            (title, rect, node)
            for rect, node in inside.items()
            if node.role != "text" or node.value or node.name.strip()  # a blank text says nothing
        ]
    return tuple(
        NestedElement(_element(number, rect, node, title), node.path)
        for number, (title, rect, node) in enumerate(placed[:_MOST_ELEMENTS])
    )


def numbered(
    before: Iterable[NestedElement], now: Sequence[NestedElement], numbers: Iterator[int]
) -> tuple[NestedElement, ...]:
    """Return the controls of a later tree with their earlier ids; new ones get the next of `numbers`."""
    known = {_identity(each): each for each in before}
    ids: dict[int, str] = {}
    for at, each in enumerate(now):
        if (same := known.pop(_identity(each), None)) is not None:
            ids[at] = same.element.id
    rest = [each for at, each in enumerate(now) if at not in ids]
    places = {id(each): at for at, each in enumerate(now)}
    for each in known.values():
        if (found := same_control(each, rest)) is not None:
            ids.setdefault(places[id(found)], each.element.id)
    return tuple(
        each._replace(
            element=each.element.model_copy(update={"id": ids.get(at) or str(next(numbers))})
        )
        for at, each in enumerate(now)
    )


def _identity(control: NestedElement) -> tuple[object, ...]:
    element = control.element
    return element.role, element.name, element.rect, control.path


class _Builder:
    """The target of the parser: it builds nodes and refuses trees that could exhaust memory."""

    def __init__(self) -> None:
        self._open: list[_Node] = []
        self._root: _Node | None = None

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        depth = len(self._open)
        is_true = {
            key for key, value in attributes.items() if key.startswith(_STATE) and value == "true"
        }
        name, enabled = attributes.get("name", ""), f"{_STATE}enabled" in is_true
        focused = is_true & {f"{_STATE}focused", f"{_STATE}keyboard_focused"}
        role = _role(tag.rpartition("}")[2], attributes)
        states = [name for name in _STATES if f"{_STATE}{name}" in is_true]
        if role in {"checkbox", "switch"} and attributes.get(f"{_STATE}checked") == "false":
            states.append("unchecked")
        node = _Node(
            role=role,
            name=name,
            value=attributes.get(_VALUE),
            rect=_rect(attributes.get(f"{_PLACE}screencoord"), attributes.get(f"{_PLACE}size")),
            shown=attributes.get(f"{_STATE}visible", "true") == "true"
            and f"{_STATE}minimized" not in is_true,
            front=f"{_STATE}active" in is_true,
            usable=f"{_STATE}visible" in is_true and (enabled or bool(name)),
            states=(*states, *(["focused"] if focused else []), *([] if enabled else ["disabled"])),
            depth=depth,
        )
        if node.depth > _DEEPEST:
            raise TreeError(f"the tree is deeper than {_DEEPEST} nodes")
        if self._open:
            above = self._open[-1]
            above.children.append(node)
            node.path = (*above.path, (above.role, above.name)) if above.depth else ()
        else:
            self._root = node
        self._open.append(node)

    def end(self, _tag: str) -> None:
        self._open.pop()

    def data(self, text: str) -> None:
        """Use a node's text as its value: the server writes a control's text there if it differs from the name."""
        if self._open and text.strip() and self._open[-1].value is None:
            self._open[-1].value = text.strip()

    def doctype(self, *_: object) -> None:
        # entities could expand to gigabytes
        raise TreeError("the tree has a document type, which WAA never writes")

    def close(self) -> _Node:
        if self._root is None:
            raise TreeError("the tree is empty")
        return self._root


def _parse(xml: str) -> _Node:
    if len(xml) > _MOST_BYTES:
        raise TreeError(f"the tree has more than {_MOST_BYTES} characters")
    parser = XMLParser(target=_Builder())  # noqa: S314  # the builder refuses document types
    try:
        parser.feed(xml)
        root = cast("_Node", parser.close())
    except ParseError as error:
        raise TreeError(f"the accessibility tree is no XML: {error}") from error
    except UnicodeEncodeError as error:
        raise TreeError(f"the accessibility tree is no text: {error}") from error
    return root


def _role(tag: str, attributes: dict[str, str]) -> str:
    """Return a control's role for agents: WAA's tag is the window class, which may be `richeditd2dpt`."""
    if tag in _ROLES or tag in _KNOWN:
        return _ROLES.get(tag, tag)
    wrapper = _WRAPPER.search(attributes.get(_CLASS, ""))
    known = _WRAPPED.get(wrapper[1]) if wrapper else None
    if known == "listitem" and "tree" in tag:
        return "treeitem"
    return known or "pane"


def _rect(place: str | None, size: str | None) -> Rect | None:
    at, extent = _PAIR.fullmatch(place or ""), _PAIR.fullmatch(size or "")
    if at is None or extent is None:
        return None
    left, top = int(at[1]), int(at[2])
    return left, top, left + int(extent[1]), top + int(extent[2])


def _leaves(node: _Node) -> Iterator[_Node]:
    """Yield the nodes to act on or to read: leaves with a position, and controls."""
    below = [each for child in node.children for each in _leaves(child)]
    if not (node.usable and node.rect is not None and node.depth > 1):
        yield from below
    elif not below:
        yield node
    elif node.role not in _HOLDING:
        yield from below
    elif all(each.role in {"text", "image"} for each in below):
        texts = [each.name for each in below if each.name]
        node.name = node.name or " ".join(texts)
        rest = [each for each in texts if each not in node.name]
        node.value = node.value or " ".join(rest) or None
        yield node
    else:
        yield node
        yield from below


def _clipped(rect: Rect | None, size: tuple[int, int]) -> Rect | None:
    if rect is None:
        return None
    left, top = max(rect[0], 0), max(rect[1], 0)
    right, bottom = min(rect[2], size[0]), min(rect[3], size[1])
    return (left, top, right, bottom) if left < right and top < bottom else None


def _covered(rect: Rect, above: Iterable[Rect]) -> bool:
    """Return whether a window above covers the middle, at which clicks aim."""
    middle = (rect[0] + rect[2]) // 2, (rect[1] + rect[3]) // 2
    return any(_in(each, middle) for each in above)


def _in(rect: Rect, point: tuple[float, float]) -> bool:
    return rect[0] <= point[0] < rect[2] and rect[1] <= point[1] < rect[3]


def _behind(windows: Sequence[tuple[_Node, object]]) -> Callable[[tuple[_Node, object]], bool]:
    """Return whether a window is neither the focused one nor on top of it, as a menu is."""
    front = next((each for each, _ in windows if each.front), None)
    shown = {id(front)}
    for window, _ in windows:
        if window is front:
            break
        if (
            front is not None
            and window.rect is not None
            and _covered(window.rect, [front.rect or _NOWHERE])
        ):
            shown.add(id(window))
    return lambda each: id(each[0]) not in shown


def _area(rect: Rect) -> int:
    return max(0, rect[2] - rect[0]) * max(0, rect[3] - rect[1])


def _element(number: int, rect: Rect, node: _Node, window: str = "") -> Element:
    left, top, right, bottom = rect
    return Element(
        id=str(number),
        role=node.role,
        name=node.name,
        value=node.value or None,
        rect=(left, top, right - left, bottom - top),
        states=node.states,
        window=window,
    )
