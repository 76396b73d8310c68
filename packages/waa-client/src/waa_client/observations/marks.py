"""Parts of screenshots, and their comparison."""

from __future__ import annotations

import io

from PIL import Image, ImageChops

_LARGEST_ZOOM = 4.0
_STILL_SHARE = 0.002
"""A caret or a clock may change this share of the screen; after a larger change it is not yet still."""


def enlarged(png: bytes, region: tuple[float, float, float, float]) -> bytes:
    """Return a part of the picture - left, top, right, bottom - enlarged up to four times, as PNG.

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
        ValueError: One of them cannot be decoded.
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


def looks_as_before(before: bytes, after: bytes, rect: tuple[float, float, float, float]) -> bool:
    """Return whether a part of the screen - x, y, width, height - is the same in both pictures.

    Raises:
        ValueError: One of them cannot be decoded.
    """
    x, y, width, height = map(int, rect)
    first, second = (_open(each).convert("RGB") for each in (before, after))
    if first.size != second.size:
        return False
    box = (x, y, x + width, y + height)
    return ImageChops.difference(first.crop(box), second.crop(box)).getbbox() is None


def _open(png: bytes) -> Image.Image:
    try:
        picture = Image.open(io.BytesIO(png))
        picture.load()
    except (OSError, SyntaxError, Image.DecompressionBombError) as error:
        raise ValueError(f"the picture cannot be decoded: {error}") from error
    return picture
