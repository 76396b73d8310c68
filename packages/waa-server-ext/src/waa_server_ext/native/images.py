"""Pictures: their similarity, their size, and whether one shows a red circle."""

from __future__ import annotations

import io
import posixpath
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

from waa_server_ext.native.files import fetch
from waa_server_ext.native.refusals import (
    MAX_DOCUMENT_BYTES,
    MAX_IMAGE_PIXELS,
    RefusedFileError,
    check_size,
)
from waa_server_ext.native.registry import getter, metric

if TYPE_CHECKING:
    from collections.abc import Mapping

    from PIL.Image import Image

    from waa_server_ext.native.context import EvaluationContext

_WINDOW = 7
"""Side of the square in which structural similarity is taken."""
_BAND = 256
"""Rows that are processed at once; bounds memory for pictures of any size."""
_WHITE_SHARE = 0.8  # upstream's threshold


@getter("microsoftpaint.py", needs=("PIL", "numpy"))
def is_red_circle_present_on_canvas(env: EvaluationContext, config: Mapping[str, Any]) -> Any:
    """Whether a picture has a red circle with a white inside.

    Fails as: 0 for an absent file; raises for anything but a picture, which counts as zero.

    Oddities: Any red at all makes the center; four fifths of the square around it must be white.
    """
    if not config["filepath"]:
        return False
    content = env.file(config["filepath"])
    return _has_red_circle(open_image(content, config["filepath"])) if content else 0


@getter("microsoftpaint.py", needs=("PIL",))
def image_dimension_matches_input(env: EvaluationContext, config: Mapping[str, Any]) -> bool:
    """Whether a picture of the VM has the width and height.

    Fails as: raises for an absent file, which counts as zero.
    """
    path = config["filepath"]
    if not path or not config["width"] or not config["height"]:
        return False
    size = float(config["width"]), float(config["height"])
    dest = posixpath.split(path)[-1]
    with open_image(fetch(env, {"path": path, "dest": dest}), path) as image:
        return bool(image.size == size)


@metric("vlc.py", needs=("PIL", "numpy"))
def compare_images(image1_path: str | None, image2_path: str | None) -> float:
    """The structural similarity of two pictures in gray, from -1 to 1.

    Fails as: 0 for None; pictures under 7 pixels and anything but a picture raise.

    Oddities: The score is the similarity itself, whatever it is. The common size is the smaller
    pair of width and height, compared by width.
    """
    if not image1_path or not image2_path:
        return 0
    grey = [open_image(path, path).convert("L") for path in (image1_path, image2_path)]
    size = min(image.size for image in grey)
    return float(_similarity([_resized(image, size) for image in grey]))


@metric("gimp.py", needs=("PIL", "numpy"))
def check_structure_sim(src_path: str | None, tgt_path: str | None) -> Any:
    """Whether the structural similarity of two pictures reaches 0.9.

    Fails as: 0.0 for None.

    Oddities: The value is a numpy.bool, which vanilla counts as zero unless it is one of several.
    """
    import numpy as np

    if src_path is None or tgt_path is None:
        return 0.0
    first, second = (np.asarray(open_image(path, path)) for path in (src_path, tgt_path))
    if first.shape != second.shape:
        raise ValueError("Input images must have the same dimensions.")
    channels = [
        _similarity([first[..., index], second[..., index]]) for index in range(first.shape[-1])
    ]
    return np.bool_(sum(channels) / len(channels) >= 0.9)  # upstream's threshold


@metric("gimp.py", needs=("PIL",))
def compare_image_list(pred_img_path_list: Any, gold_img_path_list: Any) -> float:
    """Whether all pictures are the same, pixel by pixel, in the area that they share.

    Fails as: 0.0 for None; pictures of different kinds raise.
    """
    from PIL import ImageChops

    if type(pred_img_path_list) is not list:
        pred_img_path_list, gold_img_path_list = [pred_img_path_list], [gold_img_path_list]
    for paths in zip(pred_img_path_list, gold_img_path_list, strict=False):
        if not all(paths):
            return 0.0
        if ImageChops.difference(*(open_image(path, path) for path in paths)).getbbox():
            return 0.0
    return 1.0


@metric("gimp.py", needs=("PIL",))
def check_image_size(src_path: str | None, rule: Mapping[str, Any]) -> float:
    """Whether a picture has the width, the height, or both.

    Fails as: 0.0 for None.
    """
    if src_path is None:
        return 0.0
    with open_image(src_path, src_path) as image:
        width, height = image.size
    wanted = rule.get("width"), rule.get("height")
    return float(wanted[0] in (None, width) and wanted[1] in (None, height))


def open_image(source: str | bytes | None, name: str) -> Image:
    """Open a picture from a file or from memory; its pixels are decoded when they are needed.

    Raises:
        RefusedFileError: It has too many bytes or pixels.
        OSError: It is not a picture.
    """
    from PIL import Image

    if source is None:
        raise AttributeError("there is no picture")  # as Pillow does
    label = posixpath.basename(name.replace("\\", "/"))
    if isinstance(source, bytes):
        if len(source) > MAX_DOCUMENT_BYTES:
            raise RefusedFileError(label, f"{len(source)} bytes are more than {MAX_DOCUMENT_BYTES}")
        content = source
    else:
        content = Path(check_size(source)).read_bytes()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Pillow warns of large pictures; our limit applies instead
        try:
            image = Image.open(io.BytesIO(content))
        except Image.DecompressionBombError as error:
            raise RefusedFileError(label, "too many pixels") from error
    if image.width * image.height > MAX_IMAGE_PIXELS:
        pixels = image.width * image.height
        raise RefusedFileError(label, f"{pixels} pixels are more than {MAX_IMAGE_PIXELS}")
    return image


def _resized(image: Image, size: tuple[int, int]) -> Any:
    import numpy as np
    from PIL import Image

    return np.asarray(image.resize(size, Image.Resampling.LANCZOS))


def _similarity(pair: list[Any]) -> float:
    """Return the mean structural similarity of two arrays of bytes.

    Wang et al. 2004 with a uniform window of 7 and unbiased (co)variances; the border where the
    window does not fit is left out, as in scikit-image's `structural_similarity`.
    """
    import numpy as np

    height, width = pair[0].shape
    if min(height, width) < _WINDOW:
        raise ValueError("win_size exceeds image extent: a picture has less than 7 pixels")
    total = 0.0
    rows = height - _WINDOW + 1
    for top in range(0, rows, _BAND):
        bottom = min(top + _BAND, rows) + _WINDOW - 1
        total += float(np.sum(_similarity_map(*(each[top:bottom] for each in pair))))
    return float(total / (rows * (width - _WINDOW + 1)))


def _similarity_map(first: Any, second: Any) -> Any:
    import numpy as np

    x, y = first.astype(np.float64), second.astype(np.float64)
    count = _WINDOW * _WINDOW
    unbiased = count / (count - 1)
    mean_x, mean_y = _means(x), _means(y)
    var_x = unbiased * (_means(x * x) - mean_x * mean_x)
    var_y = unbiased * (_means(y * y) - mean_y * mean_y)
    covariance = unbiased * (_means(x * y) - mean_x * mean_y)
    c1, c2 = (0.01 * 255) ** 2, (0.03 * 255) ** 2
    luminance = (2 * mean_x * mean_y + c1) / (mean_x**2 + mean_y**2 + c1)
    return luminance * (2 * covariance + c2) / (var_x + var_y + c2)


def _means(array: Any) -> Any:
    """Return the mean of every window; sums of whole numbers are exact in float64."""
    import numpy as np

    sums = np.zeros((array.shape[0] + 1, array.shape[1] + 1))
    np.cumsum(np.cumsum(array, axis=0), axis=1, out=sums[1:, 1:])
    n = _WINDOW
    return (sums[n:, n:] - sums[:-n, n:] - sums[n:, :-n] + sums[:-n, :-n]) / (n * n)


def _has_red_circle(image: Image) -> Any:
    """Find the center and mean distance of all red pixels, then look at the square around it."""
    import numpy as np

    rgb = np.asarray(image.convert("RGB"))
    red = (rgb[..., 0] >= 150) & (rgb[..., 1] <= 100) & (rgb[..., 2] <= 100)  # upstream's red
    count = int(red.sum())
    if count == 0:
        return False
    columns, rows = red.sum(axis=0), red.sum(axis=1)
    x = float(np.arange(len(columns)) @ columns) / count
    y = float(np.arange(len(rows)) @ rows) / count
    import numpy as np

    total = 0.0
    for top in range(0, red.shape[0], _BAND):
        row, column = np.nonzero(red[top : top + _BAND])
        total += float(np.sqrt((column - x) ** 2 + (row + top - y) ** 2).sum())
    radius = int(total / count)
    # negative edges count from the far side, as slices do upstream
    square = rgb[int(y - radius) : int(y + radius), int(x - radius) : int(x + radius)]
    if square.shape[0] * square.shape[1] == 0:
        return False
    white = (square >= 200).all(axis=-1)  # upstream's white
    return bool(white.sum() / white.size > _WHITE_SHARE)
