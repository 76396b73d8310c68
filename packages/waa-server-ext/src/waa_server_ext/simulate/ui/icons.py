"""Small pictures drawn from shapes: folders, files, window buttons and the tiles of apps."""

from __future__ import annotations

import functools
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from PIL import ImageDraw

    from waa_server_ext.simulate.ui.geometry import Rect

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
    """Draw an icon inside a rectangle; for `app:#color:letter` draw the tile, as the painter adds the letter."""
    kind, _, argument = icon.partition(":")
    box = rect.centered(min(rect.width, rect.height), min(rect.width, rect.height))
    if box.empty:
        return
    if kind == "app":
        corners = (box.left, box.top, box.right - 1, box.bottom - 1)
        pen.rounded_rectangle(corners, max(box.width // 6, 1), argument.split(":")[0])
        return
    for shape, points, *style in _shapes().get(kind, _shapes()["unknown"]):
        # points of the unit square become pixels that stay inside the box
        place = [
            (box.left + int(x * (box.width - 1)), box.top + int(y * (box.height - 1)))
            for x, y in points
        ]
        getattr(pen, shape)(place, *(argument if each == "given" else each for each in style))


@functools.cache
def _shapes() -> dict[str, Any]:
    """Load the shapes of each icon: an `ImageDraw` method, its points, its fill and further arguments."""
    shapes: dict[str, Any] = json.loads(Path(__file__).with_name("icons.json").read_text("utf-8"))
    return shapes
