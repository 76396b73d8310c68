"""The picture behind the icons: a generated one, a solid color, or a file of the machine."""

from __future__ import annotations

import io

from PIL import Image, ImageDraw, UnidentifiedImageError

from waa_server_ext.simulate.machine.computer import WALLPAPER, Machine

SOLID = "HKCU\\Control Panel\\Colors"
_PETALS = ((-60, -10), (-34, -36), (0, -46), (34, -36), (60, -10), (-30, 10), (30, 10), (0, 0))
_MAX_PIXELS = 40_000_000  # a small file may decode to gigabytes
_kept: dict[tuple[str, int, tuple[int, int]], Image.Image] = {}


def wallpaper(machine: Machine, size: tuple[int, int]) -> Image.Image:
    """Return the background at the screen's size; black if its file is not a picture."""
    path = machine.wallpaper
    if not path:
        found = machine.registry.get(SOLID, "Background")
        return _cached(f"solid:{found.data if found else '0 120 215'}", b"", size)
    entry = machine.files.find(path)
    if path.casefold() == WALLPAPER.casefold() and entry is None:
        return _cached("bloom", b"", size)
    data = machine.files.read(path) if entry is not None and not entry.is_folder else b""
    return _cached(path, data, size)


def _cached(name: str, data: bytes, size: tuple[int, int]) -> Image.Image:
    key = (name, hash(data), size)
    if key not in _kept:
        if len(_kept) >= 8:  # a handful of desktops share them
            _kept.clear()
        _kept[key] = _drawn(name, data, size)
    return _kept[key]


def _drawn(name: str, data: bytes, size: tuple[int, int]) -> Image.Image:
    if name.startswith("solid:"):
        numbers = [int(word) for word in name[6:].split() if word.isdigit()][:3]
        return Image.new("RGB", size, tuple(min(n, 255) for n in [*numbers, 0, 0, 0][:3]))
    if name == "bloom":
        # Draw a calm blue picture of petals and bring it to size, which softens its edges
        width, height = 1152, 720
        image = Image.new("RGB", (width, height), "#9cc3e8")
        pen = ImageDraw.Draw(image)
        for y in range(height):
            part = y / height
            pen.line(
                (0, y, width, y), (int(150 - 60 * part), int(190 - 60 * part), int(230 - 40 * part))
            )
        for number, (dx, dy) in enumerate(_PETALS):
            shade = 60 + number * 16
            x, y = width // 2 + dx * 4, height // 2 + 80 + dy * 4
            pen.ellipse(
                (x - 136, y - 120, x + 136, y + 120), (10 + number * 6, shade, 190 + number * 6)
            )
        return image.resize(size, Image.Resampling.BILINEAR)
    try:
        picture = Image.open(io.BytesIO(data))
        if picture.width * picture.height > _MAX_PIXELS:
            raise UnidentifiedImageError("too large")
        return picture.convert("RGB").resize(size)
    except (OSError, ValueError, Image.DecompressionBombError):
        return Image.new("RGB", size, "#000000")
