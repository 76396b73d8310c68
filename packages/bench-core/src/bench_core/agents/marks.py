"""Set-of-Marks: the screenshot with a numbered frame around each element.

Yang et al. (2023), Set-of-Mark Prompting, arXiv 2310.11441.
"""

from __future__ import annotations

import base64
import io
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from bench_core.agents.environment import Environment, offered
from bench_core.errors import EnvironmentFaultError, MissingExtraError
from bench_core.models.records import ImagePart

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence

    from PIL import ImageDraw, ImageFont

    from bench_core.agents.handles import Connect
    from bench_core.agents.records import Action, ActionResult, Element, Observation
    from bench_core.protocols import EnvironmentHandle

_COLOURS = ("#d00000", "#0050d0", "#007a1e", "#9000a0", "#b05000", "#006c80")
_FONT_PX = 12
_PADDING_PX = 2
_MOST_PLACED = 600
"""With more elements and labels no free place is likely, and looking would take seconds."""
_Box = tuple[float, float, float, float]


def draw_marks(png: bytes, elements: Sequence[Element]) -> bytes:
    """Return the picture with a frame and the id of each element but plain text, as PNG.

    A label is put where it covers no other element, if there is such a place next to its element; otherwise in the
    right corner, as most controls have their text on the left or in the middle.

    Raises:
        ValueError: The picture cannot be decoded.
        MissingExtraError: Pillow is not installed.
    """
    try:
        from PIL import Image, ImageDraw, ImageFont
    except ImportError as error:
        raise MissingExtraError("marks on pictures", "Pillow", "bench-core", "agents") from error
    try:
        picture = Image.open(io.BytesIO(png)).convert("RGB")
    except (OSError, SyntaxError, Image.DecompressionBombError) as error:
        raise ValueError(f"the picture cannot be decoded: {error}") from error
    draw = ImageDraw.Draw(picture)
    font = ImageFont.load_default(_FONT_PX)
    taken = [_box(each) for each in elements if each.rect is not None]
    for number, element in enumerate(elements):
        if element.rect is not None and element.role != "text":
            label = _label(draw, font, element, taken, picture.size)
            colour = _COLOURS[number % len(_COLOURS)]
            x, y, right, bottom = _box(element)
            draw.rectangle((x, y, right - 1, bottom - 1), outline=colour, width=1)
            draw.rectangle((label[0], label[1], label[2] - 1, label[3] - 1), fill=colour)
            left, top, _, _ = draw.textbbox((0, 0), element.id, font=font)
            place = (label[0] + _PADDING_PX - left, label[1] + _PADDING_PX - top)
            draw.text(place, element.id, fill="white", font=font)
            taken.append(label)
    out = io.BytesIO()
    picture.save(out, "PNG", compress_level=3)
    return out.getvalue()


def with_marks(connect: Connect) -> Connect:
    """Return a connector to the same environments whose observations have marked pictures."""

    @asynccontextmanager
    async def connected(handle: EnvironmentHandle) -> AsyncIterator[Environment]:
        async with connect(handle) as environment:
            yield _Marked(environment)

    return connected


class _Marked:
    def __init__(self, environment: Environment) -> None:
        self._environment = environment

    async def offers(self) -> frozenset[str]:
        """Return the kinds of actions that the environment offers; see `Offering`."""
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


def _box(element: Element) -> _Box:
    x, y, width, height = element.rect or (0, 0, 0, 0)
    return x, y, x + width, y + height


def _label(
    draw: ImageDraw.ImageDraw,
    font: ImageFont.ImageFont | ImageFont.FreeTypeFont,
    element: Element,
    taken: Sequence[_Box],
    size: tuple[int, int],
) -> _Box:
    """Return where an element's label goes."""
    x, y, right, bottom = own = _box(element)
    box = draw.textbbox((0, 0), element.id, font=font)
    width, height = (box[2] - box[0] + 2 * _PADDING_PX, box[3] - box[1] + 2 * _PADDING_PX)
    beside = ((x - width, y), (x, y - height), (right, y), (x, bottom))
    for left, top in beside if len(taken) <= _MOST_PLACED else ():
        place = (left, top, left + width, top + height)
        on_it = left >= 0 and top >= 0 and place[2] <= size[0] and place[3] <= size[1]
        covered = (
            place[0] < other[2] and other[0] < place[2] and place[1] < other[3] and other[1] < place[3]
            for other in taken
            if not _around(other, own)
        )  # fmt: skip
        if on_it and not any(covered):
            return place
    left, top = max(right - width, 0), max(y, 0)
    return left, top, left + width, top + height


def _around(outer: _Box, inner: _Box) -> bool:
    """Whether `outer` contains the element, and is not the element itself."""
    return outer != inner and (
        outer[0] <= inner[0]
        and outer[1] <= inner[1]
        and outer[2] >= inner[2]
        and outer[3] >= inner[3]
    )
