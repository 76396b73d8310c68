"""Choose screenshots and keep them within what providers take."""

from __future__ import annotations

import base64
import hashlib
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
_ONE_COLOUR = 8  # of 255: what JPEG makes of one colour
_TOKENS_PER_PIXEL = 1 / 750


@dataclass(frozen=True)
class ShownPicture:
    """A screenshot as it is sent; `name` is how evidence refers to it."""

    name: str
    image: ImagePart
    width: int
    height: int

    def is_blank(self, box: tuple[int, int, int, int]) -> bool:
        """Whether a part (x, y, width, height) is of one colour, so that it shows nothing; False without Pillow."""
        try:
            from PIL import Image
        except ImportError:
            return False
        x, y, width, height = box
        with Image.open(io.BytesIO(base64.b64decode(self.image.data))) as picture:
            part = picture.convert("RGB").crop((x, y, x + width, y + height))
            colours = [part.getchannel(number).tobytes() for number in range(3)]
        return all(max(each) - min(each) <= _ONE_COLOUR for each in colours)

    @property
    def tokens(self) -> int:
        """About how many tokens it costs."""
        return int(self.width * self.height * _TOKENS_PER_PIXEL) + 1


def choose_pictures(
    screenshots: Sequence[Screenshot], most: int
) -> tuple[tuple[ShownPicture, ...], tuple[Finding, ...]]:
    """Return the last picture of each label and others along the way, at most `most`, in order.

    A picture that is the same as the next one is left out first. Pictures too large to send are made smaller if
    Pillow is installed (the extra `images`), else left out with a finding.

    Raises:
        InputError: A file is missing or is not a picture.
    """
    # the last picture of each label shows how that app was left
    last = {shot.label: index for index, shot in enumerate(screenshots)}
    same = (
        []
        if len(screenshots) <= most
        else [hashlib.sha256(_read(shot)).digest() for shot in screenshots]
    )
    first_choice = sorted(last.values(), reverse=True)[:most]
    rest = [
        i for i in reversed(range(len(screenshots)))
        if i not in last.values() and (not same or same[i] != same[i + 1])
    ]  # fmt: skip
    room = min(most - len(first_choice), len(rest))
    chosen = sorted([*first_choice, *(rest[place * len(rest) // room] for place in range(room))])
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
        step = "" if shot.step is None else f" step {shot.step}"
        picture = _picture(f"s{index + 1}{step} {shot.label}".strip(), shot)
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


def _read(shot: Screenshot) -> bytes:
    try:
        return Path(shot.path).read_bytes()
    except OSError as error:
        raise InputError(f"{shot.path}: cannot read the screenshot: {error}") from error


def _picture(name: str, shot: Screenshot) -> ShownPicture | None:
    path, data = shot.path, _read(shot)
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
