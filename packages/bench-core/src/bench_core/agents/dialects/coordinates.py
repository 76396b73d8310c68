"""The conventions in which models give places on the screen, each as pixels of the screenshot."""

from __future__ import annotations

import math

from bench_core.agents.records import Point
from bench_core.agents.tools import InvalidCallError

__all__ = ["clamped", "on_grid", "resized", "smart_resize", "within"]

_FACTOR = 28
_LEAST_PX = 100 * _FACTOR * _FACTOR
_MOST_PX = 16384 * _FACTOR * _FACTOR


def within(x: float, y: float, size: tuple[int, int]) -> Point:
    """Take pixels as they are; a place outside the screen is refused, the far edge means the last pixel.

    Raises:
        InvalidCallError: The place is outside the screen.
    """
    x, y = _finite(x), _finite(y)
    if not (0 <= x <= size[0] and 0 <= y <= size[1]):
        raise InvalidCallError(f"Coordinates {x:g}, {y:g} are out of bounds")
    return clamped(x, y, size)


def clamped(x: float, y: float, size: tuple[int, int]) -> Point:
    """Take pixels, and for a place outside the screen the nearest one on it."""
    width, height = size
    return Point(
        x=min(max(0, math.floor(_finite(x))), width - 1),
        y=min(max(0, math.floor(_finite(y))), height - 1),
    )


def on_grid(x: float, y: float, size: tuple[int, int], most: int) -> Point:
    """Take places on a grid from 0 to `most`, as 0-1000 and 0-999 are.

    >>> on_grid(500, 1000, (1280, 720), 1000)
    Point(x=640.0, y=719.0, unit='px')
    """
    width, height = size
    return clamped(_finite(x) * width / most, _finite(y) * height / most, size)


def resized(x: float, y: float, size: tuple[int, int]) -> Point:
    """Take pixels of the picture that `smart_resize` makes of the screen."""
    width, height = smart_resize(size)
    return clamped(_finite(x) * size[0] / width, _finite(y) * size[1] / height, size)


def smart_resize(size: tuple[int, int]) -> tuple[int, int]:
    """Return the size to which Qwen2.5-VL's image processor, and so UI-TARS 1.5, brings a picture.

    >>> smart_resize((1280, 720))
    (1288, 728)
    """
    width, height = (max(_FACTOR, round(side / _FACTOR) * _FACTOR) for side in size)
    if width * height > _MOST_PX:
        shrink = math.sqrt(size[0] * size[1] / _MOST_PX)
        return _down(size[0] / shrink), _down(size[1] / shrink)
    if width * height < _LEAST_PX:
        grow = math.sqrt(_LEAST_PX / (size[0] * size[1]))
        return _up(size[0] * grow), _up(size[1] * grow)
    return width, height


def _down(side: float) -> int:
    return max(_FACTOR, math.floor(side / _FACTOR) * _FACTOR)


def _up(side: float) -> int:
    return math.ceil(side / _FACTOR) * _FACTOR


def _finite(value: float) -> float:
    if isinstance(value, bool) or not math.isfinite(value):
        raise InvalidCallError(f"a coordinate is a number, not {value!r}")
    return value
