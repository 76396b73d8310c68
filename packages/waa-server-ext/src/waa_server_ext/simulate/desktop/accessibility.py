"""The accessibility tree in the shapes of both of pywinauto's backends, as WAA's server gives it.

The root is `desktop`; a tag is the window class in lower case; position and size are in
`cp:screencoord` and `cp:size`. `uia` has every element, `win32` only those with a window handle.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from xml.sax.saxutils import escape, quoteattr

from waa_server_ext.simulate.desktop.composition import Desktop
from waa_server_ext.simulate.ui.nodes import Node

NAMESPACES = {
    "st": "uri:deskat:state.at-spi.gnome.org",
    "attr": "uri:deskat:attributes.at-spi.gnome.org",
    "cp": "uri:deskat:component.at-spi.gnome.org",
    "doc": "uri:deskat:document.at-spi.gnome.org",
    "docattr": "uri:deskat:attributes.document.at-spi.gnome.org",
    "txt": "uri:deskat:text.at-spi.gnome.org",
    "val": "uri:deskat:value.at-spi.gnome.org",
    "act": "uri:deskat:action.at-spi.gnome.org",
    "win": "uri:deskat:uia.windows.microsoft.org",
}

_MAX_DEPTH = 50  # both as in WAA's server
_MAX_CHILDREN = 2048
_NOT_XML = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")
_UIA = "pywinauto.controls.uia_controls"
_WRAPPERS = {
    "button": f"{_UIA}.ButtonWrapper", "checkbox": f"{_UIA}.ButtonWrapper",
    "radio": f"{_UIA}.ButtonWrapper", "toggle": f"{_UIA}.ButtonWrapper",
    "edit": f"{_UIA}.EditWrapper", "combo": f"{_UIA}.ComboBoxWrapper",
    "item": f"{_UIA}.ListItemWrapper", "menuitem": f"{_UIA}.MenuItemWrapper",
    "tab": f"{_UIA}.TabControlWrapper", "slider": f"{_UIA}.SliderWrapper",
    "label": f"{_UIA}.StaticWrapper", "header": f"{_UIA}.HeaderItemWrapper",
}  # fmt: skip
_MAX_VALUE = 20_000


def accessibility_xml(desktop: Desktop, backend: str) -> str:
    """Return the tree of the elements on the screen, front windows first.

    Args:
        desktop: The desktop whose screen is described.
        backend: `uia` or `win32`.
    """
    spaces = "".join(f' xmlns:{name}="{uri}"' for name, uri in NAMESPACES.items())
    parts = [f"<desktop{spaces}>"]
    for tree in reversed(desktop.trees()):
        parts += _element(tree, 1, uia=backend == "uia")
    return "".join([*parts, "</desktop>"])


def tag_name(cls: str) -> str:
    """Return the tag for a window class.

    >>> tag_name("Breadcrumb Parent"), tag_name("#32770"), tag_name("")
    ('breadcrumb-parent', 'tag-32770', 'unknown')
    """
    text = cls.lower().replace(" ", "-")
    name = "".join(c if c.isidentifier() or c == "-" or c.isalnum() else "-" for c in text)
    if not name.strip():
        return "unknown"
    return name if name[0].isalpha() else f"tag{name}"


def _element(node: Node, depth: int, *, uia: bool) -> Iterator[str]:
    tag = tag_name(node.cls)
    text = node.text.text[:_MAX_VALUE] if node.text is not None and not node.secret else ""
    text = "" if text == node.name else text
    attributes = "".join(f" {key}={quoteattr(value)}" for key, value in _attributes(node, uia=uia))
    children: list[str] = []
    if depth < _MAX_DEPTH:
        for child in _children(node, uia=uia):
            children += _element(child, depth + 1, uia=uia)
    if text or children:
        yield f"<{tag}{attributes}>{escape(_clean(text))}"
        yield from children
        yield f"</{tag}>"
    else:
        yield f"<{tag}{attributes}/>"


def _children(node: Node, *, uia: bool) -> Iterator[Node]:
    shown = (each for each in node.children if not each.shown.empty and not _is_decoration(each))
    for number, child in enumerate(shown):
        if number >= _MAX_CHILDREN:
            return
        if uia or child.native:
            yield child
        else:
            # the next ancestor with a handle adopts the handles inside an element without one
            yield from _children(child, uia=False)


def _is_decoration(node: Node) -> bool:
    """Whether a node is mere decoration, which UI Automation's control view omits."""
    return not node.name and not node.children and node.role in {"pane", "icon", "image"}


def _attributes(node: Node, *, uia: bool) -> Iterator[tuple[str, str]]:
    yield "name", _clean(node.name)
    yield "st:enabled", _bool(node.enabled)
    yield "st:visible", _bool(not node.shown.empty)
    if node.role == "window":
        yield "st:active", _bool(node.focused)
        yield "st:minimized", _bool(node.states.get("minimized", False))
        yield "st:maximized", _bool(node.states.get("maximized", False))
        yield "st:normal", _bool(not node.states.get("maximized", False))
    if uia:
        yield "st:keyboard_focused", _bool(node.focused)
    yield from _states(node)
    shown = node.shown
    yield "cp:screencoord", f"({shown.left}, {shown.top})"
    yield "cp:size", f"({shown.width}, {shown.height})"
    value: str | None
    if node.text is not None:
        value = "*" * len(node.text.text) if node.secret else node.text.text
    elif node.span is not None:
        value = str(node.span[2])
    else:
        value = node.value if node.role == "combo" or node.value else None
    if value is not None and uia:
        yield "val:value", _clean(value[:_MAX_VALUE])
    if node.span is not None:
        yield "val:min", str(node.span[0])
        yield "val:max", str(node.span[1])
        yield "val:step", "1"
    wrapper = "pywinauto.controls.hwndwrapper.HwndWrapper"
    if uia:
        wrapper = _WRAPPERS.get(node.role, "pywinauto.controls.uiawrapper.UIAWrapper")
    yield "win:class", f"<class '{wrapper}'>"


def _states(node: Node) -> Iterator[tuple[str, str]]:
    if node.selected is not None or node.role in {"item", "tab", "radio"}:
        yield "st:selected", _bool(bool(node.selected))
    if node.checked is not None:
        yield "st:checked", _bool(node.checked)
    if node.expanded is not None:
        yield "st:expanded", _bool(node.expanded)
        yield "st:collapsed", _bool(not node.expanded)
    if node.role == "edit":
        yield "st:editable", _bool(node.enabled)


def _clean(text: str) -> str:
    return _NOT_XML.sub("", text)


def _bool(value: object) -> str:
    return str(bool(value)).lower()
