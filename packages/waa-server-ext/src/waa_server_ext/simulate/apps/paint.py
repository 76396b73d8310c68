"""Paint: brush, shapes, fill, colors, resizing and saving."""

from __future__ import annotations

import functools
import io
import ntpath
from collections.abc import Callable, Sequence
from typing import Any

from PIL import Image, ImageColor, ImageDraw, UnidentifiedImageError

from waa_server_ext.simulate.machine.filesystem import HOME, normal
from waa_server_ext.simulate.ui.builder import PRIMARY, Builder
from waa_server_ext.simulate.ui.dialogs import Dialog, FileDialog, MessageBox, show_message
from waa_server_ext.simulate.ui.geometry import Area, Rect
from waa_server_ext.simulate.ui.menus import MenuItem
from waa_server_ext.simulate.ui.nodes import Node, Style
from waa_server_ext.simulate.ui.text_field import TextField
from waa_server_ext.simulate.ui.windows import Desktop, OkCancel, Window

_TYPES = (("PNG (*.png)", ".png"), ("JPEG (*.jpg)", ".jpg"), ("BMP (*.bmp)", ".bmp"))
_FORMATS = {".png": "PNG", ".jpg": "JPEG", ".jpeg": "JPEG", ".bmp": "BMP"}
_TOOLS = ("Pencil", "Brush", "Fill", "Eraser", "Line", "Rectangle", "Oval")
_ICONS = {"Oval": "ellipse"}
_COLORS = {
    "Black": "#000000", "Gray": "#7f7f7f", "Red": "#ed1c24", "Orange": "#ff7f27", "Yellow": "#fff200",
    "Green": "#22b14c", "Blue": "#3f48cc", "Purple": "#a349a4", "White": "#ffffff",
}  # fmt: skip
_WIDTHS = {"1px": 1, "3px": 3, "5px": 5, "8px": 8}
_MAX_SIDE = 4000
_MAX_UNDO = 5


class Paint(Window):
    """A window of Paint with one picture."""

    exe = "mspaint.exe"
    cls = "MSPaintApp"
    icon = "app:#8a5bb5:P"
    size = (1040, 680)

    def __init__(self, desktop: Desktop, path: str | None = None) -> None:
        super().__init__(desktop)
        self.picture = Image.new("RGB", (819, 460), "#ffffff")
        self.path: str | None = None
        self.changed = False
        self.tool, self.color, self.stroke = "Brush", "Black", "5px"
        self.undone: list[Image.Image] = []
        self._start: tuple[int, int] | None = None
        self._last = (0, 0)
        self._origin = (0, 0)
        self._before: Image.Image | None = None
        if path is not None:
            self._load(path)

    @property
    def title(self) -> str:
        """File name and program."""
        return f"{ntpath.basename(self.path) if self.path else 'Untitled'} - Paint"

    def build(self, ui: Builder) -> None:
        """Show the menu, the tools, the colors and the canvas."""
        area = Area(self.frame.inset(1))
        area.top(32)
        menu = Area(area.top(32).inset(8, 2))
        flat = Style(align="center", radius=4, padding=4)
        ui.menu_button(menu.left(56, gap=2), "File", self._file, style=flat)
        ui.button(menu.left(56, gap=2), "Save", self.save, style=flat)
        ui.button(menu.left(56, gap=2), "Undo", self.undo, style=flat, enabled=bool(self.undone))
        self._build_ribbon(ui, Area(area.top(52).inset(8, 4)))
        status = area.bottom(26)
        with ui.group(area.rect, "", "CanvasHost", style=Style(fill="#dfe5ec")) as host:
            inner = host.rect.inset(14)
            box = Rect.sized(inner.left, inner.top, self.picture.width, self.picture.height)
            self._origin = (box.left, box.top)
            # a canvas larger than the window shows its top left part
            shown = box.clipped(inner)
            canvas = ui.add(
                Node(
                    "canvas",
                    shown,
                    "Canvas",
                    "MSPaintView",
                    key="canvas",
                    native=True,
                    style=Style(fill="#ffffff"),
                )
            )
            canvas.picture, canvas.pointer = self.picture, self._draw
        ui.label(
            status.inset(12, 0),
            f"{self.picture.width} x {self.picture.height}px",
            size=12,
            cls="StatusBar",
        )

    def shortcut(self, key: str, mods: frozenset[str]) -> bool:
        """Handle Paint's own keys."""
        keys: dict[str, Callable[[], object]] = {
            "s": self.save, "z": self.undo, "n": self._new, "o": self._open, "w": self._resize, "e": self._canvas_size,
            "c": lambda: self.machine.clipboard.copy_picture(self.picture.copy()), "v": self._paste,
        }  # fmt: skip
        if mods == {"ctrl"} and key in keys:
            keys[key]()
            return True
        if key == "f12":
            self.save_as()
            return True
        return False

    def request_close(self) -> None:
        """Close, asking first if there are unsaved changes."""
        if not self.changed:
            self.close()
            return
        name = ntpath.basename(self.path) if self.path else "Untitled"
        choices = [("Save", self.save), ("Don't save", self.close), ("Cancel", lambda: None)]
        self.desktop.open(
            MessageBox(self, "Paint", f"Do you want to save your work in {name}?", choices)
        )

    def saved_state(self) -> dict[str, Any]:
        """Return the file; the picture is not part of a snapshot."""
        return {"path": self.path}

    def undo(self) -> None:
        """Undo the last stroke."""
        if self.undone:
            self.picture = self.undone.pop()

    def save(self) -> None:
        """Write the file, or ask for its name."""
        if self.path is None:
            self.save_as()
        else:
            self._write(self.path)

    def save_as(self) -> None:
        """Ask for a name and write the file."""
        name = ntpath.basename(self.path) if self.path else "Untitled.png"
        dialog = FileDialog(
            self, "Save As", self._write, folder=f"{HOME}\\Pictures", name=name, types=_TYPES
        )
        self.desktop.open(dialog)

    def _build_ribbon(self, ui: Builder, bar: Area) -> None:
        ui.button(
            bar.left(70, gap=6),
            "Resize",
            self._resize,
            style=Style(align="center", radius=4, border="#dcdcdc", padding=2),
        )
        for tool in _TOOLS:
            icon = _ICONS.get(tool, tool.casefold())
            style = Style(icon=icon, radius=4, padding=0)
            ui.button(
                bar.left(40, gap=2),
                tool,
                functools.partial(setattr, self, "tool", tool),
                style=style,
                value="",
                selected=self.tool == tool,
            )
        bar.left(8)
        ui.combo(
            bar.left(90, gap=14).inset(0, 6),
            "Size",
            self.stroke,
            list(_WIDTHS),
            functools.partial(setattr, self, "stroke"),
        )
        for name, color in _COLORS.items():
            box = bar.left(26, gap=4).centered(20, 20)
            border = "#0067c0" if self.color == name else "#8a8a8a"
            ui.button(
                box,
                name,
                functools.partial(setattr, self, "color", name),
                style=Style(fill=color, border=border, radius=3),
                value="",
                selected=None,
            )

    def _file(self) -> Sequence[MenuItem]:
        kinds = tuple(
            MenuItem(name, functools.partial(self._save_kind, number))
            for number, name in enumerate(("PNG picture", "JPEG picture", "BMP picture"))
        )
        return [
            MenuItem("New", self._new, "Ctrl+N"),
            MenuItem("Open", self._open, "Ctrl+O"),
            MenuItem("Save", self.save, "Ctrl+S"),
            MenuItem("Save as", items=kinds),
            MenuItem("-"),
            MenuItem("Image properties", self._canvas_size, "Ctrl+E"),
            MenuItem("Exit", self.request_close),
        ]

    def _save_kind(self, number: int) -> None:
        dialog = FileDialog(
            self,
            "Save As",
            self._write,
            folder=f"{HOME}\\Pictures",
            name=f"Untitled{_TYPES[number][1]}",
            types=_TYPES,
        )
        dialog.type = number
        self.desktop.open(dialog)

    def _draw(self, phase: str, x: int, y: int) -> None:
        at = (x - self._origin[0], y - self._origin[1])
        if phase == "down":
            self._start, self._last, self._before = at, at, self.picture.copy()
            self.undone.append(self._before)
            del self.undone[:-_MAX_UNDO]
            self.changed = True
            if self.tool == "Fill":
                if 0 <= at[0] < self.picture.width and 0 <= at[1] < self.picture.height:
                    ImageDraw.floodfill(self.picture, at, ImageColor.getrgb(_COLORS[self.color]))
                self._start = None
                return
        if self._start is None or self._before is None:
            return
        if self.tool in {"Line", "Rectangle", "Oval"}:
            self.picture = self._before.copy()
            self._shape(self._start, at)
        else:
            color = "#ffffff" if self.tool == "Eraser" else _COLORS[self.color]
            width = {"Pencil": 1, "Eraser": 16}.get(self.tool, _WIDTHS[self.stroke])
            ImageDraw.Draw(self.picture).line((self._last, at), color, width)
        self._last = at
        if phase == "up":
            self._start = None

    def _shape(self, start: tuple[int, int], end: tuple[int, int]) -> None:
        (left, right), (top, bottom) = sorted((start[0], end[0])), sorted((start[1], end[1]))
        if "shift" in self.desktop.keys.names:
            side = min(right - left, bottom - top)
            right, bottom = left + side, top + side
        pen, color, width = ImageDraw.Draw(self.picture), _COLORS[self.color], _WIDTHS[self.stroke]
        if self.tool == "Line":
            pen.line((start, end), color, width)
        elif self.tool == "Rectangle":
            pen.rectangle((left, top, right, bottom), None, color, width)
        else:
            pen.ellipse((left, top, right, bottom), None, color, width)

    def _resize(self) -> None:
        def resized(width: int, height: int) -> None:
            self._keep()
            self.picture = self.picture.resize((width, height))

        self.desktop.open(SizeDialog(self, "Resize and Skew", resized))

    def _canvas_size(self) -> None:
        def sized(width: int, height: int) -> None:
            self._keep()
            old, self.picture = self.picture, Image.new("RGB", (width, height), "#ffffff")
            self.picture.paste(old, (0, 0))

        self.desktop.open(SizeDialog(self, "Image Properties", sized))

    def _keep(self) -> None:
        self.undone.append(self.picture.copy())
        del self.undone[:-_MAX_UNDO]
        self.changed = True

    def _new(self) -> None:
        self._keep()
        self.picture, self.path, self.changed = Image.new("RGB", (819, 460), "#ffffff"), None, False

    def _paste(self) -> None:
        if self.machine.clipboard.picture is not None:
            self._keep()
            self.picture.paste(self.machine.clipboard.picture, (0, 0))

    def _open(self) -> None:
        self.desktop.open(FileDialog(self, "Open", self._load, folder=f"{HOME}\\Pictures"))

    def _load(self, path: str) -> None:
        try:
            picture = Image.open(io.BytesIO(self.machine.files.read(path)))
            if max(picture.size) > _MAX_SIDE:
                raise UnidentifiedImageError("too large")
            self.picture, self.path, self.changed = picture.convert("RGB"), path, False
        except (OSError, ValueError, Image.DecompressionBombError):
            show_message(self, "Paint", f"Paint cannot read this file.\n{path}")

    def _write(self, path: str) -> None:
        kind = _FORMATS.get(ntpath.splitext(path)[1].casefold(), "PNG")
        data = io.BytesIO()
        self.picture.save(data, kind)
        self.machine.files.write(path, data.getvalue())
        self.path, self.changed = normal(path), False


class SizeDialog(OkCancel, Dialog):
    """Width and height in pixels."""

    size = (340, 250)

    def __init__(self, owner: Paint, caption: str, accept: Callable[[int, int], None]) -> None:
        super().__init__(owner)
        self.caption, self._accept = caption, accept
        self.ratio = caption.startswith("Resize")
        width, height = owner.picture.size
        self._kept = (width, height)
        self.fields = {
            "Horizontal": TextField(str(width), allow=_number),
            "Vertical": TextField(str(height), allow=_number),
        }

    def build(self, ui: Builder) -> None:
        """Show both numbers, the aspect ratio and the buttons."""
        area = Area(self.frame.inset(20, 12))
        area.top(28)
        buttons = Area(area.bottom(32))
        ui.button(buttons.right(90, gap=8), "Cancel", self.close, native=True)
        ui.button(buttons.right(90), "OK", self.confirm, style=PRIMARY, native=True)
        for name, field in self.fields.items():
            row = Area(area.top(32, gap=6))
            ui.label(row.left(110), f"{name} (pixels)")
            ui.edit(row.left(120), name, field, cls="Edit", native=True)
        if self.caption.startswith("Resize"):
            ui.checkbox(
                area.top(30), "Maintain aspect ratio", self._flip, on=self.ratio, native=True
            )

    def _flip(self) -> None:
        self.ratio = not self.ratio

    def confirm(self) -> None:
        """Pass the numbers on, or show which numbers are allowed."""
        width, height = (int(field.text or 0) for field in self.fields.values())
        if self.ratio and width != self._kept[0]:
            height = round(width * self._kept[1] / self._kept[0])
        elif self.ratio and height != self._kept[1]:
            width = round(height * self._kept[0] / self._kept[1])
        if not (0 < width <= _MAX_SIDE and 0 < height <= _MAX_SIDE):
            show_message(self, "Paint", f"Enter numbers from 1 to {_MAX_SIDE}.")
            return
        self.close()
        self._accept(width, height)


def _number(text: str) -> bool:
    return len(text) <= 5 and (not text or text.isdigit())  # more than any canvas


def open_paint(desktop: Desktop, arguments: Sequence[str]) -> Window:
    """Open Paint, with a file if one is named."""
    path = normal(" ".join(arguments).strip('"')) if arguments else None
    return Paint(desktop, path if path and desktop.machine.files.is_file(path) else None)
