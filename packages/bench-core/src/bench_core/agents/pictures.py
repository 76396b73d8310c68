"""Pictures in the size in which a model sees them."""

from __future__ import annotations

import base64
import io
import struct
from typing import TYPE_CHECKING

from bench_core.errors import MissingExtraError
from bench_core.models.records import ImagePart

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["fitted"]

_PNG_HEAD = struct.Struct(">8s4x4sII")


def fitted(picture: ImagePart, fit: Callable[[tuple[int, int]], tuple[int, int]]) -> ImagePart:
    """Return a picture in the size that `fit` gives for its own.

    Raises:
        MissingExtraError: It has to be made smaller, and Pillow is not installed.
    """
    data = base64.b64decode(picture.data)
    size = _size_of_png(data)
    if size is not None and fit(size) == size:
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


def _size_of_png(data: bytes) -> tuple[int, int] | None:
    if len(data) < _PNG_HEAD.size:
        return None
    start, kind, width, height = _PNG_HEAD.unpack_from(data)
    return (width, height) if (start, kind) == (b"\x89PNG\r\n\x1a\n", b"IHDR") else None
