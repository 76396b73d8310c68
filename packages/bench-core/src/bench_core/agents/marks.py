"""Set-of-Marks: the screenshot with a numbered frame around each element.

Yang et al. (2023), Set-of-Mark Prompting, arXiv 2310.11441.
"""

from __future__ import annotations

import base64
import io
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from bench_core.agents.environment import offered
from bench_core.errors import EnvironmentFaultError, MissingExtraError
from bench_core.models.records import ImagePart

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence

    from PIL import ImageDraw, ImageFont

    from bench_core.agents.environment import Environment
    from bench_core.agents.handles import Connect
    from bench_core.agents.records import Action, ActionResult, Element, Observation
    from bench_core.protocols import EnvironmentHandle

__all__ = ["draw_marks", "with_marks"]

_COLOURS = ("#d00000", "#0050d0", "#007a1e", "#9000a0", "#b05000", "#006c80")
_FONT_PX = 12
_PADDING_PX = 2


def draw_marks(png: bytes, elements: Sequence[Element]) -> bytes:
    """Return the picture with a frame and the id of each element, as PNG.

    Raises:
        ValueError: The picture cannot be decoded.
        MissingExtraError: Pillow is not installed.
    """
    try:
        from PIL import Image, ImageDraw, ImageFont  # noqa: PLC0415  # an extra
    except ImportError as error:
        raise MissingExtraError("marks on pictures", "Pillow", "bench-core", "agents") from error
    try:
        picture = Image.open(io.BytesIO(png)).convert("RGB")
    except (OSError, SyntaxError, Image.DecompressionBombError) as error:
        raise ValueError(f"the picture cannot be decoded: {error}") from error
    draw = ImageDraw.Draw(picture)
    font = ImageFont.load_default(_FONT_PX)
    for number, element in enumerate(elements):
        if element.rect is not None:
            _mark(draw, font, element, _COLOURS[number % len(_COLOURS)])
    out = io.BytesIO()
    picture.save(out, "PNG", compress_level=3)
    return out.getvalue()


def with_marks(connect: Connect) -> Connect:
    """Return what connects to the same environments, whose observations have marks on their pictures."""

    @asynccontextmanager
    async def connected(handle: EnvironmentHandle) -> AsyncIterator[Environment]:
        async with connect(handle) as environment:
            yield _Marked(environment)

    return connected


class _Marked:
    def __init__(self, environment: Environment) -> None:
        self._environment = environment

    async def offers(self) -> frozenset[str]:
        """Return what the environment offers; see `Offering`."""
        return await offered(self._environment)

    async def observe(self) -> Observation:
        """Return an observation with marks; see `Environment`."""
        seen = await self._environment.observe()
        if seen.screenshot is None or seen.marked is not None:
            return seen
        try:
            marked = draw_marks(base64.b64decode(seen.screenshot.data), seen.elements)
        except ValueError as error:
            raise EnvironmentFaultError(str(error)) from error
        return seen.model_copy(update={"marked": ImagePart.from_bytes(marked)})

    async def act(self, action: Action) -> ActionResult:
        """Do one thing; see `Environment`."""
        return await self._environment.act(action)


def _mark(
    draw: ImageDraw.ImageDraw,
    font: ImageFont.ImageFont | ImageFont.FreeTypeFont,
    element: Element,
    colour: str,
) -> None:
    x, y, width, height = element.rect or (0, 0, 0, 0)
    draw.rectangle((x, y, x + width - 1, y + height - 1), outline=colour, width=1)
    left, top, right, bottom = draw.textbbox((0, 0), element.id, font=font)
    label = (right - left + 2 * _PADDING_PX, bottom - top + 2 * _PADDING_PX)
    # above small elements, so that the label does not cover its element
    above = y - label[1] if height < 2 * label[1] and y >= label[1] else y
    draw.rectangle((x, above, x + label[0], above + label[1]), fill=colour)
    place = (x + _PADDING_PX - left, above + _PADDING_PX - top)
    draw.text(place, element.id, fill="white", font=font)
