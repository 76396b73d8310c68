"""The conventions in which models give places on the screen, and how large the pictures are that they see."""

from __future__ import annotations

import base64
import io
import math
import struct
from collections.abc import Callable
from functools import lru_cache
from typing import Any

from bench_core.agents.records import Action, Drag, Point, Zoom
from bench_core.agents.tools import InvalidCallError
from bench_core.errors import MissingExtraError
from bench_core.models.records import ImagePart

_PNG_HEAD = struct.Struct(">8s4x4sII")
# side of the patches, in pixels, into which these models cut a picture
_FACTOR = 28
# the bounds of the models' own image processor
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
        width, height = (
            max(_FACTOR, math.floor(side / shrink / _FACTOR) * _FACTOR) for side in size
        )
    elif width * height < _LEAST_PX:
        grow = math.sqrt(_LEAST_PX / (size[0] * size[1]))
        width, height = (math.ceil(side * grow / _FACTOR) * _FACTOR for side in size)
    return width, height


@lru_cache(maxsize=64)
def in_patches(size: tuple[int, int], long_edge: int, patches: int) -> tuple[int, int]:
    """Return the largest size of the same shape with at most so long an edge and so many squares of 28 pixels.

    >>> in_patches((1440, 900), 1568, 1568), in_patches((1280, 720), 1568, 1568)
    ((1389, 868), (1280, 720))
    """
    long, short = max(size), min(size)
    for edge in range(min(long, long_edge), 0, -1):
        other = max(1, round(edge * short / long))
        if math.ceil(edge / _FACTOR) * math.ceil(other / _FACTOR) <= patches:
            return (edge, other) if size[0] >= size[1] else (other, edge)
    return 1, 1


def fitted(picture: ImagePart, fit: Callable[[tuple[int, int]], tuple[int, int]]) -> ImagePart:
    """Return a picture in the size that `fit` gives for its own.

    Raises:
        MissingExtraError: It has to be made smaller, and Pillow is not installed.
    """
    data = base64.b64decode(picture.data)
    if len(data) >= _PNG_HEAD.size:
        start, kind, *size = _PNG_HEAD.unpack_from(data)
        is_png = (start, kind) == (b"\x89PNG\r\n\x1a\n", b"IHDR")
        if is_png and fit((size[0], size[1])) == tuple(size):
            return picture
    try:
        from PIL import Image
    except ImportError as error:
        purpose = "sending a model a picture that is as large as it can see"
        raise MissingExtraError(purpose, "Pillow", "bench-core", "agents") from error
    with Image.open(io.BytesIO(data)) as large:
        wanted = fit(large.size)
        if wanted == large.size:
            return picture
        written = io.BytesIO()
        large.convert("RGB").resize(wanted, Image.Resampling.LANCZOS).save(written, "PNG")
    return ImagePart.from_bytes(written.getvalue())


def magnified(action: Action, by: tuple[float, float]) -> Action:
    """Return an action on a smaller picture as one on the screen, which is `by` times as wide and high."""
    if isinstance(action, Zoom):
        left, top, right, bottom = action.region
        region = (left * by[0], top * by[1], right * by[0], bottom * by[1])
        return action.model_copy(update={"region": region})
    places = {
        field: Point(x=place.x * by[0], y=place.y * by[1])
        for field in ("target", "start", "end")
        if isinstance(place := getattr(action, field, None), Point) and place.unit == "px"
    }
    if isinstance(action, Drag):
        path = (p.model_copy(update={"x": p.x * by[0], "y": p.y * by[1]}) if isinstance(p, Point) else p
                for p in action.path)  # fmt: skip
        return action.model_copy(update={**places, "path": tuple(path)})
    return action.model_copy(update=places)


def _finite(value: Any) -> float:
    # a model may send a value of any type
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if not number or not math.isfinite(value):
        raise InvalidCallError(f"a coordinate is a number, not {value!r}")
    return float(value)
