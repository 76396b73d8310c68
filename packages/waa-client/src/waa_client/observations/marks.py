"""Set-of-Marks: the screenshot with a numbered frame around each element; parts of screenshots, and comparison.

Yang et al. (2023), Set-of-Mark Prompting, arXiv 2310.11441.
"""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

from PIL import Image, ImageChops, ImageDraw, ImageFont

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bench_core.agents import Element

__all__ = ["draw_marks", "enlarged", "is_still"]

_COLOURS = ("#d00000", "#0050d0", "#007a1e", "#9000a0", "#b05000", "#006c80")
_FONT_PX = 12
_PADDING_PX = 2
_LARGEST_ZOOM = 4.0
_STILL_SHARE = 0.002
"""A caret or a clock may change this share of the screen; a larger change is not over yet."""


def draw_marks(png: bytes, elements: Sequence[Element]) -> bytes:
    """Return the picture with a frame and the id of each element, as PNG.

    Raises:
        ValueError: The picture cannot be decoded.
    """
    picture = _open(png).convert("RGB")
    draw = ImageDraw.Draw(picture)
    font = ImageFont.load_default(_FONT_PX)
    for number, element in enumerate(elements):
        if element.rect is not None:
            _mark(draw, font, element, _COLOURS[number % len(_COLOURS)])
    out = io.BytesIO()
    picture.save(out, "PNG", compress_level=3)
    return out.getvalue()


def enlarged(png: bytes, region: tuple[float, float, float, float]) -> bytes:
    """Return a part of the picture - left, top, right, bottom - at most four times as large, as PNG.

    Raises:
        ValueError: The picture cannot be decoded, or the region is empty or outside it.
    """
    picture = _open(png).convert("RGB")
    left, top, right, bottom = (round(at) for at in region)
    if not (0 <= left < right <= picture.width and 0 <= top < bottom <= picture.height):
        size = f"{picture.width} x {picture.height}"
        raise ValueError(f"the region {list(region)} is not on the screen, which is {size}")
    width, height = right - left, bottom - top
    scale = min(_LARGEST_ZOOM, picture.width / width, picture.height / height)
    larger = (round(width * scale), round(height * scale))
    part = picture.crop((left, top, right, bottom)).resize(larger, Image.Resampling.LANCZOS)
    out = io.BytesIO()
    part.save(out, "PNG", compress_level=3)
    return out.getvalue()


def is_still(before: bytes, after: bytes) -> bool:
    """Return whether two pictures are the same except for changes as small as a caret.

    Raises:
        ValueError: One cannot be decoded.
    """
    if before == after:
        return True
    first, second = (_open(each).convert("L") for each in (before, after))
    if first.size != second.size:
        return False
    box = ImageChops.difference(first, second).getbbox()
    if box is None:
        return True
    changed = (box[2] - box[0]) * (box[3] - box[1])
    return changed <= _STILL_SHARE * first.width * first.height


def _open(png: bytes) -> Image.Image:
    try:
        picture = Image.open(io.BytesIO(png))
        picture.load()
    except (OSError, SyntaxError, Image.DecompressionBombError) as error:
        raise ValueError(f"the picture cannot be decoded: {error}") from error
    return picture


def _mark(
    draw: ImageDraw.ImageDraw,
    font: ImageFont.ImageFont | ImageFont.FreeTypeFont,
    element: Element,
    colour: str,
) -> None:
    x, y, width, height = element.rect or (0, 0, 0, 0)
    draw.rectangle((x, y, x + width - 1, y + height - 1), outline=colour, width=1)
    left, top, right, bottom = draw.textbbox((0, 0), element.id, font=font)
    label = (right - left + 2 * _PADDING_PX, bottom - top + 2 * _PADDING_PX)
    # above small elements, so that the label does not cover its element
    above = y - label[1] if height < 2 * label[1] and y >= label[1] else y
    draw.rectangle((x, above, x + label[0], above + label[1]), fill=colour)
    place = (x + _PADDING_PX - left, above + _PADDING_PX - top)
    draw.text(place, element.id, fill="white", font=font)
