"""The frame of a window: its title bar with the buttons, and dragging it."""

from __future__ import annotations

from collections.abc import Callable

from waa_server_ext.simulate.ui.builder import Builder
from waa_server_ext.simulate.ui.geometry import Area, Rect
from waa_server_ext.simulate.ui.nodes import Node, Style
from waa_server_ext.simulate.ui.windows import Window

TITLE_HEIGHT = 32


def framed(window: Window) -> Node:
    """Return the tree of a window: its frame, title bar and contents."""
    rect = window.frame
    fill = Style(fill=window.background, border="#a8a8a8", radius=0 if window.maximized else 7)
    root = Node("window", rect, window.title, window.cls, key="window", style=fill, native=True)
    root.states = {"minimized": window.minimized, "maximized": window.maximized}
    desktop = window.desktop
    focus = window.focus if desktop.focused_surface is window else None
    ui = Builder(desktop, root, focus=focus, cues=desktop.keys.cues)
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
