"""Elements of the screen from the accessibility tree of WAA's server.

Rects come from `cp:screencoord` and `cp:size`, the only places the server writes them. As WAA's own
agent does, leaves that are visible, enabled and not covered by a window above become elements.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, cast
from xml.etree.ElementTree import ParseError, XMLParser

from bench_core.agents import Element

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

__all__ = ["TreeError", "elements_of"]

_STATE = "{uri:deskat:state.at-spi.gnome.org}"
_PLACE = "{uri:deskat:component.at-spi.gnome.org}"
_VALUE = "{uri:deskat:value.at-spi.gnome.org}value"
_PAIR = re.compile(r"\(\s*(-?\d{1,9})\s*,\s*(-?\d{1,9})\s*\)")
_MOST_BYTES = 64 * 1024 * 1024
_MOST_ELEMENTS = 2000
_DEEPEST = 200  # the server itself stops at 50 levels

Rect = tuple[int, int, int, int]
"""Left, top, right, bottom in pixels."""


class TreeError(ValueError):
    """The accessibility tree is not the expected XML."""


@dataclass
class _Node:
    """One node; `rect` is None where the server gives no place."""

    tag: str
    name: str
    value: str | None
    rect: Rect | None
    shown: bool
    usable: bool
    depth: int
    children: list[_Node] = field(default_factory=list)


def elements_of(xml: str, size: tuple[int, int]) -> tuple[Element, ...]:
    """Return the elements on a screen of `size`, ids from 0.

    Those of the front window come first; each window's are in the order of the tree.

    Raises:
        TreeError: The tree is no XML, has a document type, or is too deep or too large.
    """
    root = _parse(xml)
    windows = [each for each in root.children if each.shown]
    found: dict[Rect, _Node] = {}
    above: list[Rect] = []
    # the server lists windows from the top of the screen's pile to its bottom
    for window in windows:
        inside: dict[Rect, _Node] = {}
        for node in _leaves(window):
            rect = _clipped(node.rect, size)
            # a click goes to the window on top, so that a covered element is of no use
            if rect is not None and rect not in found and not _covered(rect, above):
                inside.setdefault(rect, node)
        found |= inside
        if window.rect is not None and _area(window.rect):
            above.append(window.rect)
    placed = list(found.items())[:_MOST_ELEMENTS]
    return tuple(_element(number, *each) for number, each in enumerate(placed))


class _Builder:
    """The target of the parser: it builds nodes and refuses trees that could exhaust memory."""

    def __init__(self) -> None:
        self._open: list[_Node] = []
        self._root: _Node | None = None

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        node = _node(tag, attributes, len(self._open))
        if node.depth > _DEEPEST:
            raise TreeError(f"the tree is deeper than {_DEEPEST} nodes")
        if self._open:
            self._open[-1].children.append(node)
        else:
            self._root = node
        self._open.append(node)

    def end(self, _tag: str) -> None:
        self._open.pop()

    def data(self, text: str) -> None:
        """Use a node's text as its value: the server writes a control's text there where it is not the name."""
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


def _node(tag: str, attributes: dict[str, str], depth: int) -> _Node:
    return _Node(
        tag=tag.rpartition("}")[2],
        name=attributes.get("name", ""),
        value=attributes.get(_VALUE),
        rect=_rect(attributes.get(f"{_PLACE}screencoord"), attributes.get(f"{_PLACE}size")),
        shown=attributes.get(f"{_STATE}visible", "true") == "true"
        and attributes.get(f"{_STATE}minimized", "false") != "true",
        usable=attributes.get(f"{_STATE}enabled", "false") == "true"
        and attributes.get(f"{_STATE}visible", "false") == "true",
        depth=depth,
    )


def _rect(place: str | None, size: str | None) -> Rect | None:
    at, extent = _PAIR.fullmatch(place or ""), _PAIR.fullmatch(size or "")
    if at is None or extent is None:
        return None
    left, top = int(at[1]), int(at[2])
    return left, top, left + int(extent[1]), top + int(extent[2])


def _leaves(node: _Node) -> Iterator[_Node]:
    """Yield the nodes to act on: usable ones with a place and no such node below them."""
    below = [each for child in node.children for each in _leaves(child)]
    if below:
        yield from below
    elif node.usable and node.rect is not None and node.depth > 1:
        yield node


def _clipped(rect: Rect | None, size: tuple[int, int]) -> Rect | None:
    if rect is None:
        return None
    left, top = max(rect[0], 0), max(rect[1], 0)
    right, bottom = min(rect[2], size[0]), min(rect[3], size[1])
    return (left, top, right, bottom) if left < right and top < bottom else None


def _covered(rect: Rect, above: Iterable[Rect]) -> bool:
    """Return whether a window above covers the middle, where a click would go."""
    x, y = (rect[0] + rect[2]) // 2, (rect[1] + rect[3]) // 2
    return any(left <= x < right and top <= y < bottom for left, top, right, bottom in above)


def _area(rect: Rect) -> int:
    return max(0, rect[2] - rect[0]) * max(0, rect[3] - rect[1])


def _element(number: int, rect: Rect, node: _Node) -> Element:
    left, top, right, bottom = rect
    return Element(
        id=str(number),
        role=node.tag,
        name=node.name,
        value=node.value or None,
        rect=(left, top, right - left, bottom - top),
    )
