"""Whether two films look the same: the perceptual hashes of their first pictures. Runs in a child."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from bench_core.errors import EvaluationError
from waa_server_ext.native.refusals import MAX_IMAGE_PIXELS

if TYPE_CHECKING:
    from numpy.typing import NDArray

_SIDE = 32  # ImageHash: four times the side of the hash
_HASH = 8  # ImageHash's default


def same(first: str | None, second: str | None, pictures: int, threshold: int) -> bool:
    """Whether both end together and at most `threshold` pictures differ, each in more than `threshold` bits."""
    films = [_open(path) for path in (first, second)]
    different = 0
    for _ in range(pictures):
        read = [film.read() for film in films]
        if not all(found for found, _ in read):
            return bool(read[0][0] == read[1][0])
        hashes = [_perceptual_hash(picture) for _, picture in read]
        different += int(np.count_nonzero(hashes[0] != hashes[1])) > threshold
        if different > threshold:
            return False
    return True


def _open(path: str | None) -> Any:
    import cv2

    film: Any = cv2.VideoCapture(path)  # type: ignore[arg-type, unused-ignore]  # opens as an empty film
    pixels = film.get(cv2.CAP_PROP_FRAME_WIDTH) * film.get(cv2.CAP_PROP_FRAME_HEIGHT)
    if pixels > MAX_IMAGE_PIXELS:
        raise EvaluationError(f"its pictures have {pixels:.0f} pixels")
    return film


def _perceptual_hash(picture: Any) -> NDArray[np.bool_]:
    """Return which of the 64 lowest frequencies lie above their median.

    Zauner 2010, as the package ImageHash computes it. Coefficients are rounded so that terms which
    cancel give zero in any order of summation.
    """
    from PIL import Image

    grey = Image.fromarray(np.ascontiguousarray(picture[:, :, ::-1])).convert("L")
    small = np.asarray(grey.resize((_SIDE, _SIDE), Image.Resampling.LANCZOS), dtype=float)
    rows = np.arange(_HASH)[:, None]
    basis = 2 * np.cos(np.pi * rows * (2 * np.arange(_SIDE) + 1) / (2 * _SIDE))
    low = np.round(basis @ small @ basis.T, 6)
    return np.asarray(low > np.median(low))
