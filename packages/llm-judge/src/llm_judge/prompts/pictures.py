"""Choose screenshots and keep them within what providers take."""

from __future__ import annotations

import io
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from bench_core.errors import InputError, pip_install
from bench_core.models import ImagePart
from bench_core.records.judge import Finding, Screenshot

_MAX_SIDE = 2_000
_MAX_BYTES = 3_500_000
"""Providers take 5 MB of base64 or more; several pictures may each be 2,000 pixels wide."""
_TOKENS_PER_PIXEL = 1 / 750


@dataclass(frozen=True)
class ShownPicture:
    """A screenshot as it is sent; `name` is how evidence refers to it."""

    name: str
    image: ImagePart
    width: int
    height: int

    @property
    def tokens(self) -> int:
        """About how many tokens it costs."""
        return int(self.width * self.height * _TOKENS_PER_PIXEL) + 1


def choose_pictures(
    screenshots: Sequence[Screenshot], most: int
) -> tuple[tuple[ShownPicture, ...], tuple[Finding, ...]]:
    """Return the last picture of each label and the last ones of all, at most `most`, in order.

    Pictures too large to send are made smaller where Pillow is installed (the extra `images`) and
    left out with a finding where it is not.

    Raises:
        InputError: A file is missing or is not a picture.
    """
    # the last picture of each label shows how that app was left
    last = {shot.label: index for index, shot in enumerate(screenshots)}
    first_choice = sorted(last.values(), reverse=True)
    rest = [i for i in reversed(range(len(screenshots))) if i not in last.values()]
    chosen = sorted([*first_choice, *rest][:most])
    pictures: list[ShownPicture] = []
    findings: list[Finding] = []
    if len(chosen) < len(screenshots):
        left_out = len(screenshots) - len(chosen)
        findings.append(
            Finding(
                code="evidence.pictures_left_out",
                message=f"{left_out} of {len(screenshots)} screenshots are not shown",
                severity="info",
            )
        )
    for index in chosen:
        shot = screenshots[index]
        picture = _picture(f"s{index + 1} {shot.label}".strip(), Path(shot.path))
        if picture is None:
            message = (
                f"{shot.path} is too large to send; `{pip_install('llm-judge[images]')}` shrinks it"
            )
            findings.append(Finding(code="evidence.picture_too_large", message=message))
        else:
            pictures.append(picture)
    return tuple(pictures), tuple(findings)


def picture_size(data: bytes) -> tuple[int, int] | None:
    """Return width and height of a PNG, JPEG, GIF or WebP, `None` when they cannot be read."""
    # read from the header, since Pillow is an extra
    try:
        if data.startswith(b"\x89PNG\r\n\x1a\n"):
            return _pair(struct.unpack(">II", data[16:24]))
        if data.startswith(b"GIF8"):
            return _pair(struct.unpack("<HH", data[6:10]))
        if data.startswith(b"\xff\xd8\xff"):
            return _jpeg_size(data)
        if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
            return _webp_size(data)
    except struct.error:
        return None
    return None


def _pair(found: tuple[int, ...]) -> tuple[int, int]:
    return found[0], found[1]


def _jpeg_size(data: bytes) -> tuple[int, int] | None:
    at = 2
    while at + 9 < len(data) and data[at] == 0xFF:  # a JPEG marker
        code = data[at + 1]
        if 0xC0 <= code <= 0xCF and code not in {0xC4, 0xC8, 0xCC}:  # start of frame
            height, width = struct.unpack(">HH", data[at + 5 : at + 9])
            return width, height
        at += 2 + struct.unpack(">H", data[at + 2 : at + 4])[0]
    return None


def _webp_size(data: bytes) -> tuple[int, int] | None:
    kind = data[12:16]
    if kind == b"VP8X":
        return 1 + int.from_bytes(data[24:27], "little"), 1 + int.from_bytes(data[27:30], "little")
    if kind == b"VP8L":
        bits = int.from_bytes(data[21:25], "little")
        return 1 + (bits & 0x3FFF), 1 + (bits >> 14 & 0x3FFF)
    if kind == b"VP8 ":
        width, height = struct.unpack("<HH", data[26:30])
        return width & 0x3FFF, height & 0x3FFF
    return None


def _picture(name: str, path: Path) -> ShownPicture | None:
    try:
        data = path.read_bytes()
    except OSError as error:
        raise InputError(f"{path}: cannot read the screenshot: {error}") from error
    size = picture_size(data)
    if size is None or not all(size):
        raise InputError(f"{path}: the screenshot is not a PNG, JPEG, GIF or WebP picture")
    if max(size) > _MAX_SIDE or len(data) > _MAX_BYTES:
        try:
            from PIL import Image, UnidentifiedImageError
        except ImportError:
            return None
        try:
            with Image.open(io.BytesIO(data)) as image:
                image.thumbnail((_MAX_SIDE, _MAX_SIDE))
                out = io.BytesIO()
                image.convert("RGB").save(out, "JPEG", quality=85)
                size = image.size
        except (OSError, UnidentifiedImageError, Image.DecompressionBombError) as error:
            raise InputError(f"{path}: cannot read the screenshot: {error}") from error
        return ShownPicture(name, ImagePart.from_bytes(out.getvalue()), *size)
    return ShownPicture(name, ImagePart.from_bytes(data), *size)
