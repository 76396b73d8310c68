"""Small pictures drawn from shapes: folders, files, window buttons and the tiles of apps."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from PIL import ImageDraw

    from waa_server_ext.simulate.ui.geometry import Rect

__all__ = ["draw_icon", "icon_of_file"]

_DARK = "#404040"
_STAR = (
    (0.5, 0.05), (0.62, 0.38), (0.97, 0.38), (0.68, 0.58), (0.8, 0.93),
    (0.5, 0.72), (0.2, 0.93), (0.32, 0.58), (0.03, 0.38), (0.38, 0.38),
)  # fmt: skip
"""The corners of a star with five points, in the unit square."""
_EXTENSIONS = {
    ".txt": "file:#8a8a8a", ".log": "file:#8a8a8a", ".docx": "file:#2b579a", ".odt": "file:#2b579a",
    ".xlsx": "file:#217346", ".csv": "file:#217346", ".pptx": "file:#b7472a", ".pdf": "file:#a03020",
    ".png": "picture", ".jpg": "picture", ".jpeg": "picture", ".bmp": "picture", ".gif": "picture",
    ".zip": "archive", ".7z": "archive", ".lnk": "shortcut", ".py": "file:#3a6ea5",
    ".json": "file:#a07a10", ".mp4": "file:#7a4aa0", ".mp3": "file:#7a4aa0",
}  # fmt: skip


def icon_of_file(extension: str, *, folder: bool = False) -> str:
    """Return the icon for a file name extension, with its dot."""
    return "folder" if folder else _EXTENSIONS.get(extension.casefold(), "file:#bdbdbd")


def draw_icon(pen: ImageDraw.ImageDraw, icon: str, rect: Rect) -> None:
    """Draw an icon inside a rectangle; `app:#color:letter` is a tile, its letter drawn by others."""
    kind, _, argument = icon.partition(":")
    box = rect.centered(min(rect.width, rect.height), min(rect.width, rect.height))
    if box.empty:
        return
    if kind == "app":
        color = argument.split(":")[0]
        pen.rounded_rectangle(_corners(box), max(box.width // 6, 1), color)
    elif kind == "file":
        _file(pen, box, argument)
    else:
        _SHAPES.get(kind, _unknown)(pen, box)


def _corners(box: Rect) -> tuple[int, int, int, int]:
    return box.left, box.top, box.right - 1, box.bottom - 1


def _at(box: Rect, *points: tuple[float, float]) -> list[tuple[int, int]]:
    """Scale points of the unit square to pixels that stay inside the box."""
    return [
        (box.left + int(x * (box.width - 1)), box.top + int(y * (box.height - 1)))
        for x, y in points
    ]


def _folder(pen: ImageDraw.ImageDraw, box: Rect) -> None:
    pen.polygon(
        _at(box, (0.05, 0.2), (0.4, 0.2), (0.5, 0.32), (0.95, 0.32), (0.95, 0.85), (0.05, 0.85)),
        "#e0a72e",
    )
    pen.polygon(_at(box, (0.05, 0.42), (0.95, 0.42), (0.95, 0.85), (0.05, 0.85)), "#ffd679")


def _file(pen: ImageDraw.ImageDraw, box: Rect, color: str) -> None:
    pen.polygon(
        _at(box, (0.18, 0.04), (0.62, 0.04), (0.84, 0.26), (0.84, 0.96), (0.18, 0.96)),
        "#ffffff",
        "#8a8a8a",
    )
    (left, top), (right, bottom) = _at(box, (0.3, 0.45), (0.72, 0.55))
    pen.rectangle((left, top, right, bottom), color)
    (left, top), (right, bottom) = _at(box, (0.3, 0.68), (0.72, 0.76))
    pen.rectangle((left, top, right, bottom), color)


def _picture(pen: ImageDraw.ImageDraw, box: Rect) -> None:
    (left, top), (right, bottom) = _at(box, (0.04, 0.14), (0.96, 0.86))
    pen.rectangle((left, top, right, bottom), "#cfe6fa", "#8a8a8a")
    pen.polygon(_at(box, (0.1, 0.8), (0.4, 0.42), (0.6, 0.66), (0.72, 0.54), (0.9, 0.8)), "#4f9d5b")


def _archive(pen: ImageDraw.ImageDraw, box: Rect) -> None:
    _folder(pen, box)
    (left, top), (right, bottom) = _at(box, (0.44, 0.32), (0.56, 0.85))
    pen.rectangle((left, top, right, bottom), "#7a5c12")


def _shortcut(pen: ImageDraw.ImageDraw, box: Rect) -> None:
    _file(pen, box, "#0067c0")
    pen.line(_at(box, (0.1, 0.95), (0.45, 0.6)), "#0067c0", 2)
    pen.line(_at(box, (0.2, 0.6), (0.45, 0.6), (0.45, 0.85)), "#0067c0", 2)


def _bin(pen: ImageDraw.ImageDraw, box: Rect) -> None:
    pen.polygon(_at(box, (0.2, 0.25), (0.8, 0.25), (0.7, 0.95), (0.3, 0.95)), "#dbe8f2", "#6d8aa0")
    pen.line(_at(box, (0.12, 0.18), (0.88, 0.18)), "#6d8aa0", 2)


def _drive(pen: ImageDraw.ImageDraw, box: Rect) -> None:
    (left, top), (right, bottom) = _at(box, (0.05, 0.35), (0.95, 0.7))
    pen.rectangle((left, top, right, bottom), "#c6ccd2", "#707880")


def _computer(pen: ImageDraw.ImageDraw, box: Rect) -> None:
    (left, top), (right, bottom) = _at(box, (0.05, 0.12), (0.95, 0.72))
    pen.rectangle((left, top, right, bottom), "#3a96dd", "#404040")
    pen.line(_at(box, (0.3, 0.88), (0.7, 0.88)), _DARK, 2)


def _start(pen: ImageDraw.ImageDraw, box: Rect) -> None:
    for x, y in ((0.08, 0.08), (0.54, 0.08), (0.08, 0.54), (0.54, 0.54)):
        (left, top), (right, bottom) = _at(box, (x, y), (x + 0.38, y + 0.38))
        pen.rectangle((left, top, right, bottom), "#0078d4")


def _lines(
    *strokes: tuple[tuple[float, float], ...],
) -> Callable[[ImageDraw.ImageDraw, Rect], None]:
    def draw(pen: ImageDraw.ImageDraw, box: Rect) -> None:
        for stroke in strokes:
            pen.line(_at(box, *stroke), _DARK, 1)

    return draw


def _maximize(pen: ImageDraw.ImageDraw, box: Rect) -> None:
    (left, top), (right, bottom) = _at(box, (0.2, 0.2), (0.8, 0.8))
    pen.rectangle((left, top, right, bottom), None, _DARK)


def _restore(pen: ImageDraw.ImageDraw, box: Rect) -> None:
    (left, top), (right, bottom) = _at(box, (0.15, 0.35), (0.65, 0.85))
    pen.rectangle((left, top, right, bottom), None, _DARK)
    pen.line(_at(box, (0.35, 0.2), (0.8, 0.2), (0.8, 0.65)), _DARK, 1)


def _search(pen: ImageDraw.ImageDraw, box: Rect) -> None:
    (left, top), (right, bottom) = _at(box, (0.15, 0.15), (0.65, 0.65))
    pen.ellipse((left, top, right, bottom), None, _DARK)
    pen.line(_at(box, (0.6, 0.6), (0.9, 0.9)), _DARK, 2)


def _ellipse(pen: ImageDraw.ImageDraw, box: Rect) -> None:
    (left, top), (right, bottom) = _at(box, (0.1, 0.1), (0.9, 0.9))
    pen.ellipse((left, top, right, bottom), None, _DARK)


def _star(pen: ImageDraw.ImageDraw, box: Rect) -> None:
    pen.polygon(_at(box, *_STAR), None, _DARK)


def _filled_star(pen: ImageDraw.ImageDraw, box: Rect) -> None:
    pen.polygon(_at(box, *_STAR), "#0067c0")


def _unknown(pen: ImageDraw.ImageDraw, box: Rect) -> None:
    pen.rectangle(_corners(box), "#bdbdbd")


_SHAPES: dict[str, Callable[[ImageDraw.ImageDraw, Rect], None]] = {
    "folder": _folder,
    "picture": _picture,
    "archive": _archive,
    "shortcut": _shortcut,
    "bin": _bin,
    "drive": _drive,
    "computer": _computer,
    "start": _start,
    "search": _search,
    "star": _star,
    "filled-star": _filled_star,
    "minimize": _lines(((0.2, 0.5), (0.8, 0.5))),
    "maximize": _maximize,
    "restore": _restore,
    "close": _lines(((0.2, 0.2), (0.8, 0.8)), ((0.8, 0.2), (0.2, 0.8))),
    "back": _lines(((0.9, 0.5), (0.1, 0.5), (0.45, 0.15)), ((0.1, 0.5), (0.45, 0.85))),
    "forward": _lines(((0.1, 0.5), (0.9, 0.5), (0.55, 0.15)), ((0.9, 0.5), (0.55, 0.85))),
    "up": _lines(((0.5, 0.9), (0.5, 0.1), (0.15, 0.45)), ((0.5, 0.1), (0.85, 0.45))),
    "more": _lines(
        ((0.15, 0.5), (0.25, 0.5)), ((0.45, 0.5), (0.55, 0.5)), ((0.75, 0.5), (0.85, 0.5))
    ),
    "add": _lines(((0.5, 0.1), (0.5, 0.9)), ((0.1, 0.5), (0.9, 0.5))),
    "reload": _ellipse,
    "play": _lines(((0.25, 0.1), (0.85, 0.5), (0.25, 0.9), (0.25, 0.1))),
    "pause": _lines(((0.3, 0.1), (0.3, 0.9)), ((0.7, 0.1), (0.7, 0.9))),
    "ellipse": _ellipse,
    "rectangle": _maximize,
    "line": _lines(((0.1, 0.9), (0.9, 0.1))),
    "pencil": _lines(((0.15, 0.85), (0.75, 0.25)), ((0.15, 0.85), (0.3, 0.8))),
    "brush": _lines(((0.2, 0.8), (0.8, 0.2)), ((0.25, 0.85), (0.85, 0.25))),
    "fill": _lines(((0.2, 0.5), (0.5, 0.2), (0.8, 0.5), (0.5, 0.8), (0.2, 0.5))),
    "eraser": _lines(((0.2, 0.7), (0.6, 0.2), (0.85, 0.45), (0.5, 0.85), (0.2, 0.7))),
}
