"""What windows are made of: elements, text fields, menus, dialogs, and what they may ask of the desktop."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bench_core.lazy_exports import lazy_exports

if TYPE_CHECKING:
    from waa_server_ext.simulate.ui.builder import PRIMARY, Builder
    from waa_server_ext.simulate.ui.dialogs import FileDialog, MessageBox, PromptBox
    from waa_server_ext.simulate.ui.geometry import Area, Rect
    from waa_server_ext.simulate.ui.menus import Menu, MenuItem
    from waa_server_ext.simulate.ui.nodes import Node, Style
    from waa_server_ext.simulate.ui.text_field import TextField
    from waa_server_ext.simulate.ui.windows import Desktop, OkCancel, Window

__all__ = [
    "PRIMARY",
    "Area",
    "Builder",
    "Desktop",
    "FileDialog",
    "Menu",
    "MenuItem",
    "MessageBox",
    "Node",
    "OkCancel",
    "PromptBox",
    "Rect",
    "Style",
    "TextField",
    "Window",
]

__getattr__ = lazy_exports(
    __name__,
    {
        "builder": ("Builder", "PRIMARY"),
        "dialogs": ("FileDialog", "MessageBox", "PromptBox"),
        "geometry": ("Area", "Rect"),
        "menus": ("Menu", "MenuItem"),
        "nodes": ("Node", "Style"),
        "text_field": ("TextField",),
        "windows": ("Desktop", "OkCancel", "Window"),
    },
)
