"""Recording an episode: frames, as PNG files, a strip, or an animated WebP."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path

from PIL import Image, ImageChops, ImageDraw

from bench_core.errors import InputError
from waa_server_ext.simulate.desktop.composition import Desktop

_POINTER = ((0, 0), (0, 16), (4, 12), (7, 19), (10, 18), (7, 11), (12, 11))
_MAX_FRAMES = 300  # all frames stay in memory until the end


def png_bytes(picture: Image.Image) -> bytes:
    """Encode a picture as PNG, with little compression for speed, as every observation is one."""
    data = io.BytesIO()
    picture.save(data, "PNG", compress_level=1)
    return data.getvalue()


def screen_png(desktop: Desktop) -> bytes:
    """Return the screen with the mouse pointer as PNG."""
    picture, mouse = desktop.picture().copy(), desktop.mouse
    shape = [(mouse.x + dx, mouse.y + dy) for dx, dy in _POINTER]
    ImageDraw.Draw(picture).polygon(shape, "#ffffff", "#000000")
    return png_bytes(picture)


class Recorder:
    """Keeps a frame each time the screen has changed.

    Args:
        screen: Returns the screen as PNG.
        width: Width of the frames, in pixels.

    Example:
        >>> from functools import partial
        >>> from waa_server_ext.simulate.desktop.composition import Desktop
        >>> from waa_server_ext.simulate.machine.computer import Machine
        >>> desktop = Desktop(Machine.fresh())
        >>> recorder = Recorder(partial(screen_png, desktop), width=480)
        >>> recorder.add(); _ = desktop.programs.launch(["notepad"]); recorder.add()
        >>> [frame.size for frame in recorder.frames]
        [(480, 300), (480, 300)]
    """

    def __init__(self, screen: Callable[[], bytes], *, width: int = 720) -> None:
        self._screen = screen
        self._width = width
        self.frames: list[Image.Image] = []

    def add(self) -> None:
        """Add the current screen, unless it equals the last frame."""
        picture = Image.open(io.BytesIO(self._screen()))
        height = round(picture.height * self._width / picture.width)
        frame = picture.resize((self._width, height), Image.Resampling.LANCZOS)
        same = bool(self.frames) and ImageChops.difference(frame, self.frames[-1]).getbbox() is None
        if not same and len(self.frames) < _MAX_FRAMES:
            self.frames.append(frame)

    def animation(self, path: Path) -> None:
        """Write all frames as an animated WebP.

        Raises:
            InputError: Nothing was recorded.
        """
        if not self.frames:
            raise InputError("nothing was recorded: call add() while the episode runs")
        first, *rest = self.frames
        first.save(
            path,
            "WEBP",
            save_all=True,
            append_images=rest,
            duration=900,
            loop=0,
            quality=75,
            method=4,
        )
