"""Drawing a tree of nodes with Pillow, in the font that comes with it."""

from __future__ import annotations

from functools import lru_cache

from PIL import Image, ImageColor, ImageDraw, ImageFont

from waa_server_ext.simulate.ui.geometry import Rect
from waa_server_ext.simulate.ui.icons import draw_icon
from waa_server_ext.simulate.ui.nodes import Node
from waa_server_ext.simulate.ui.text_field import TextField

ACCENT = "#0067c0"
INK = "#1b1b1b"
_FAINT = "#9a9a9a"
_LINE = "#d0d0d0"
_SELECTED = "#cce4f7"
_FOCUS = "#1a1a1a"
LINE_HEIGHT = 1.5
_LONGEST = 400


@lru_cache(maxsize=32)
def _font(size: int) -> ImageFont.FreeTypeFont | ImageFont.ImageFont:
    return ImageFont.load_default(size)


@lru_cache(maxsize=8192)
def text_width(text: str, size: int) -> int:
    """Return the width of a line of text, in pixels."""
    return int(_font(size).getlength(text[:_LONGEST]) + 0.999)


@lru_cache(maxsize=4096)
def _mask(text: str, size: int, *, bold: bool) -> Image.Image:
    width, height = text_width(text, size) + 3, int(size * LINE_HEIGHT)
    mask = Image.new("L", (max(width, 1), height), 0)
    pen = ImageDraw.Draw(mask)
    place = (0, size * (LINE_HEIGHT - 1) / 2 - size * 0.08)
    pen.text(place, text, fill=255, font=_font(size))
    if bold:
        pen.text((place[0] + 0.6, place[1]), text, fill=255, font=_font(size))
    return mask


@lru_cache(maxsize=4096)
def _fitted(text: str, size: int, width: int) -> str:
    """Return the text, cut and ended with dots if it is too wide."""
    text = text[:_LONGEST].replace("\n", " ").replace("\t", "    ")
    if text_width(text, size) <= width:
        return text
    low, high = 0, len(text)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (
            (middle, high) if text_width(text[:middle] + "…", size) <= width else (low, middle - 1)
        )
    return text[:low] + "…" if low else ""


def column_at(line: str, size: int, x: int) -> int:
    """Return the column in a line of text nearest to `x` pixels from its start."""
    low, high = 0, min(len(line), _LONGEST)
    while low < high:
        middle = (low + high) // 2
        half = (text_width(line[:middle], size) + text_width(line[: middle + 1], size)) / 2
        low, high = (middle + 1, high) if half < x else (low, middle)
    return low


class Painter:
    """Draws nodes on an image, each only inside the visible part of its rectangle."""

    def __init__(self, image: Image.Image) -> None:
        self.image = image
        self._pen = ImageDraw.Draw(image)

    def draw(self, node: Node) -> None:
        """Draw a node and all below it."""
        if node.shown.empty:
            return
        if node.rect == node.shown:
            self._draw_one(node)
        else:
            # partly scrolled out of view: draw a copy and paste back the visible part
            rect, shown = node.rect, node.shown
            aside = self.image.crop(rect)
            inner = Painter(aside)
            inner._shifted(node, -rect.left, -rect.top)  # its own class
            cut = shown.moved(-rect.left, -rect.top)
            self.image.paste(aside.crop(cut), (shown.left, shown.top))
        for child in node.children:
            self.draw(child)

    def _shifted(self, node: Node, dx: int, dy: int) -> None:
        kept = node.rect, node.clip
        node.rect, node.clip = node.rect.moved(dx, dy), None
        try:
            self._draw_one(node)
        finally:
            node.rect, node.clip = kept

    def _draw_one(self, node: Node) -> None:
        getattr(self, f"_{_SHARED.get(node.role, node.role)}")(node)
        if node.cue and node.role not in {"edit", "window", "pane", "canvas"}:
            self._box(node.rect, None, _FOCUS, 3)

    # -- pieces

    def _box(self, rect: Rect, fill: str | None, border: str | None, radius: int = 0) -> None:
        if rect.empty or not (fill or border):
            return
        corner = (rect.left, rect.top, rect.right - 1, rect.bottom - 1)
        if radius and min(rect.width, rect.height) > 2 * radius:
            self._pen.rounded_rectangle(corner, radius, fill, border)
        else:
            self._pen.rectangle(corner, fill, border)

    def _text(
        self, rect: Rect, text: str, color: str, size: int = 13, align: str = "left",
        *, bold: bool = False, fit: bool = True,
    ) -> None:  # fmt: skip
        if fit:
            text = _fitted(text, size, rect.width)
        if not text or rect.empty:
            return
        mask = _mask(text[:_LONGEST], size, bold=bold)
        width = text_width(text[:_LONGEST], size)
        left = {
            "left": rect.left,
            "center": rect.left + (rect.width - width) // 2,
            "right": rect.right - width,
        }[align]
        top = rect.top + (rect.height - mask.height) // 2
        whole = Rect.sized(left, top, mask.width, mask.height)
        shown = whole.clipped(rect)
        if not shown.empty:
            part = mask if shown == whole else mask.crop(shown.moved(-left, -top))
            self.image.paste(ImageColor.getrgb(color), (shown.left, shown.top), part)

    def _icon(self, icon: str, rect: Rect) -> None:
        draw_icon(self._pen, icon, rect)
        if icon.startswith("app:"):
            _, color, letter = icon.split(":", 2)
            del color
            self._text(rect, letter, "#ffffff", max(int(rect.height * 0.6), 9), "center", fit=False)

    # -- roles

    def _pane(self, node: Node) -> None:
        style = node.style
        if style.fill or style.border:
            self._box(node.rect, style.fill, style.border, style.radius)

    def _label(self, node: Node) -> None:
        self._pane(node)
        style = node.style
        color = style.color or (INK if node.enabled else _FAINT)
        if not style.wrap:
            self._text(node.rect, node.name, color, style.size, style.align, bold=style.bold)
            return
        step = int(style.size * LINE_HEIGHT)
        for number, line in enumerate(wrapped(node.name, style.size, node.rect.width)):
            top = node.rect.top + number * step
            if top + step > node.rect.bottom + 2:
                return
            box = Rect(node.rect.left, top, node.rect.right, min(top + step, node.rect.bottom))
            self._text(box, line, color, style.size, style.align, bold=style.bold)

    def _button(self, node: Node) -> None:
        style = node.style
        fill, border = style.fill, style.border
        if node.selected or node.checked:
            fill = _SELECTED if style.fill != ACCENT else ACCENT
        self._box(node.rect, fill, border, style.radius)
        color = style.color or (INK if node.enabled else _FAINT)
        box = node.rect.inset(min(style.padding, node.rect.width // 4), 0)
        if style.icon and style.layout == "tile":
            self._icon(
                style.icon, Rect(box.left, node.rect.top + 4, box.right, node.rect.bottom - 22)
            )
            below = Rect(
                node.rect.left + 2, node.rect.bottom - 22, node.rect.right - 2, node.rect.bottom - 2
            )
            self._text(below, node.value or node.name, color, style.size, "center")
        elif style.icon:
            square = Rect.sized(box.left, node.rect.top, 16, node.rect.height)
            if node.value == "":
                square = node.rect
            self._icon(
                style.icon,
                square.centered(16, 16) if node.value != "" else node.rect.centered(16, 16),
            )
            if node.value != "":
                self._text(
                    Rect(square.right + 8, box.top, box.right, box.bottom),
                    node.value or node.name,
                    color,
                    style.size,
                )
        else:
            label = node.name if node.value is None else node.value
            self._text(box, label, color, style.size, style.align, bold=style.bold)

    def _edit(self, node: Node) -> None:
        style = node.style
        border = style.border if style.border is not None else _LINE
        self._box(node.rect, style.fill or "#ffffff", border or None, style.radius)
        if node.focused and border:
            self._pen.line(
                (node.rect.left, node.rect.bottom - 1, node.rect.right - 1, node.rect.bottom - 1),
                ACCENT,
            )
        if node.text is not None and (node.text.text or node.focused or not style.hint):
            field = node.text
            inner, size = text_box(node), node.style.size
            step = line_step(size)
            rows = max(inner.height // step, 1) if field.multiline else 1
            if not field.multiline:
                inner = Rect(inner.left, inner.top, inner.right, inner.bottom)
                step = inner.height
            first = field.scroll_line if field.multiline else 0
            for row in range(rows):
                if first + row >= len(field.starts):
                    break
                box = Rect(
                    inner.left, inner.top + row * step, inner.right, inner.top + (row + 1) * step
                )
                self._line(node, field, first + row, box.clipped(node.rect))
        elif style.hint:
            self._text(text_box(node), style.hint, _FAINT, style.size)

    def _line(self, node: Node, field: TextField, number: int, box: Rect) -> None:
        size, line = node.style.size, field.line(number)
        shown = ("*" * len(line)) if node.secret else line.replace("\t", " ")
        offset = (
            max(0, caret_x(node, field) - box.width + 2)
            if not field.multiline or node.focused
            else 0
        )
        start, end = (each - field.starts[number] for each in field.selection)
        start, end = max(start, 0), min(end, len(line))
        if start < end and node.focused:
            left = box.left + text_width(shown[:start], size) - offset
            right = box.left + text_width(shown[:end], size) - offset
            self._box(Rect(left, box.top, right, box.bottom).clipped(box), "#99c9ef", None)
        color = node.style.color or INK
        if not offset:
            self._text(box, shown, color, size, fit=False)
        else:
            skip = column_at(shown, size, offset)
            self._text(box, shown[skip:], color, size, fit=False)
        if node.focused and field.place(field.caret)[0] == number:
            x = box.left + caret_x(node, field) - offset
            if box.left <= x < box.right:
                middle = (box.top + box.bottom) // 2
                half = int(size * 0.65)
                top, bottom = max(middle - half, box.top), min(middle + half, box.bottom - 1)
                self._pen.line((x, top, x, bottom), INK)

    def _checkbox(self, node: Node) -> None:
        box = Rect.sized(node.rect.left, node.rect.top, 18, node.rect.height).centered(16, 16)
        self._box(box, ACCENT if node.checked else "#ffffff", "#868686", 3)
        if node.checked:
            x, y = box.left, box.top
            self._pen.line((x + 3, y + 8, x + 6, y + 11), "#ffffff", 2)
            self._pen.line((x + 6, y + 11, x + 12, y + 4), "#ffffff", 2)
        self._beside(box, node)

    def _radio(self, node: Node) -> None:
        box = Rect.sized(node.rect.left, node.rect.top, 18, node.rect.height).centered(16, 16)
        corner = (box.left, box.top, box.right - 1, box.bottom - 1)
        self._pen.ellipse(corner, ACCENT if node.selected else "#ffffff", "#868686")
        if node.selected:
            dot = box.inset(5)
            self._pen.ellipse((dot.left, dot.top, dot.right - 1, dot.bottom - 1), "#ffffff")
        self._beside(box, node)

    def _beside(self, box: Rect, node: Node) -> None:
        rect = node.rect._replace(left=box.right + 8)
        self._text(rect, node.name, INK if node.enabled else _FAINT, node.style.size)

    def _toggle(self, node: Node) -> None:
        box = Rect(node.rect.right - 40, node.rect.top, node.rect.right, node.rect.bottom).centered(
            40, 20
        )
        on = bool(node.checked)
        self._box(box, ACCENT if on else "#ffffff", ACCENT if on else "#868686", 9)
        x = box.right - 16 if on else box.left + 4
        self._pen.ellipse((x, box.top + 4, x + 11, box.top + 15), "#ffffff" if on else "#5d5d5d")
        words = Rect(node.rect.left, node.rect.top, box.left - 8, node.rect.bottom)
        self._text(words, "On" if on else "Off", INK, 13, "right")

    def _combo(self, node: Node) -> None:
        self._box(node.rect, "#fbfbfb", _LINE, 4)
        color = INK if node.enabled else _FAINT
        inner = Rect(node.rect.left + 10, node.rect.top, node.rect.right - 24, node.rect.bottom)
        self._text(inner, node.value or "", color, node.style.size)
        x, y = node.rect.right - 18, (node.rect.top + node.rect.bottom) // 2 - 2
        self._pen.line((x, y, x + 4, y + 4), color)
        self._pen.line((x + 4, y + 4, x + 8, y), color)

    def _item(self, node: Node) -> None:
        style = node.style
        fill = _SELECTED if node.selected else style.fill
        self._box(node.rect, fill, style.border, style.radius)
        color = style.color or (INK if node.enabled else _FAINT)
        words = node.name if node.value is None or style.layout == "tile" else node.value
        if style.layout == "tile" and style.icon:
            self._icon(
                style.icon,
                Rect(
                    node.rect.left, node.rect.top + 6, node.rect.right, node.rect.bottom - 34
                ).centered(44, 44),
            )
            lines = wrapped(words, style.size, node.rect.width - 4)[:2]
            for number, line in enumerate(lines):
                top = node.rect.bottom - 34 + number * 16
                self._text(
                    Rect(node.rect.left + 2, top, node.rect.right - 2, top + 16),
                    line,
                    color,
                    style.size,
                    "center",
                )
            return
        left = node.rect.left + style.padding
        if style.icon:
            self._icon(
                style.icon, Rect.sized(left, node.rect.top, 16, node.rect.height).centered(16, 16)
            )
            left += 24
        self._text(
            Rect(left, node.rect.top, node.rect.right - 4, node.rect.bottom),
            words,
            color,
            style.size,
            style.align,
            bold=style.bold,
        )

    def _menuitem(self, node: Node) -> None:
        style = node.style
        fill = _SELECTED if node.selected or node.expanded else style.fill
        self._box(node.rect, fill, style.border, style.radius)
        color = INK if node.enabled else _FAINT
        inner = node.rect.inset(style.padding, 0)
        if node.checked:
            x, y = node.rect.left + 10, (node.rect.top + node.rect.bottom) // 2
            self._pen.ellipse((x, y - 3, x + 6, y + 3), INK)
        self._text(inner, node.name, color, style.size, style.align)
        if node.value:
            self._text(inner, node.value, _FAINT, style.size - 1, "right")

    def _tab(self, node: Node) -> None:
        self._box(node.rect, "#ffffff" if node.selected else node.style.fill, None, 5)
        color = INK if node.selected else "#5d5d5d"
        self._text(
            node.rect.inset(node.style.padding, 0),
            node.name,
            color,
            node.style.size,
            node.style.align,
        )
        if node.selected and node.style.border:
            bar = Rect(
                node.rect.left + 10, node.rect.bottom - 3, node.rect.right - 10, node.rect.bottom
            )
            self._box(bar, ACCENT, None)

    def _slider(self, node: Node) -> None:
        low, high, now = node.span or (0.0, 1.0, 0.0)
        rail = Rect(
            node.rect.left + 8, node.rect.top, node.rect.right - 8, node.rect.bottom
        ).centered(node.rect.width - 16, 4)
        self._box(rail, "#868686", None)
        x = rail.left + int(rail.width * (now - low) / ((high - low) or 1))
        self._box(Rect(rail.left, rail.top, x, rail.bottom), ACCENT, None)
        middle = (rail.top + rail.bottom) // 2
        r = min(7, node.rect.height // 2 - 1)
        self._pen.ellipse((x - r, middle - r, x + r, middle + r), ACCENT, "#ffffff")

    def _progress(self, node: Node) -> None:
        low, high, now = node.span or (0.0, 1.0, 0.0)
        self._box(node.rect, "#e0e0e0", None, 3)
        part = int(node.rect.width * (now - low) / ((high - low) or 1))
        self._box(
            Rect.sized(node.rect.left, node.rect.top, part, node.rect.height), ACCENT, None, 3
        )

    def _image(self, node: Node) -> None:
        self._pane(node)
        if node.style.icon:
            side = min(node.rect.width, node.rect.height)
            self._icon(node.style.icon, node.rect.centered(side, side))
        picture = node.picture
        if isinstance(picture, Image.Image):
            part = picture
            if picture.width > node.rect.width or picture.height > node.rect.height:
                part = picture.crop((0, 0, node.rect.width, node.rect.height))
            self.image.paste(part, (node.rect.left, node.rect.top))


def wrapped(text: str, size: int, width: int) -> list[str]:
    """Return `text` broken into lines that fit `width`; a word longer than a line is cut."""
    lines: list[str] = []
    for paragraph in text[: _LONGEST * 20].split("\n"):
        line = ""
        for word in paragraph.split(" "):
            joined = f"{line} {word}" if line else word
            if line and text_width(joined, size) > width:
                lines.append(line)
                line = word
            else:
                line = joined
        lines.append(line)
    return lines


def text_box(node: Node) -> Rect:
    """Return the rectangle of an edit box's text."""
    if node.text is not None and node.text.multiline:
        return node.rect.inset(8, 6)
    return node.rect.inset(node.style.padding, 1)


def line_step(size: int) -> int:
    """Return the height of one line of a multi-line field."""
    return int(size * LINE_HEIGHT)


def caret_x(node: Node, field: TextField) -> int:
    """Return the caret's distance from the start of its line, in pixels."""
    line, column = field.place(field.caret)
    words = field.line(line)[:column]
    return text_width(
        "*" * len(words) if node.secret else words.replace("\t", " "), node.style.size
    )


_SHARED = {"window": "pane", "header": "item", "icon": "image", "canvas": "image"}
"""Roles that are drawn like another one."""
