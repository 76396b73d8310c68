"""Rectangles on the screen, and an area that hands out strips of itself."""

from __future__ import annotations

from typing import NamedTuple


class Rect(NamedTuple):
    """A rectangle in screen pixels; the right and bottom edges are exclusive."""

    left: int
    top: int
    right: int
    bottom: int

    @classmethod
    def sized(cls, left: int, top: int, width: int, height: int) -> Rect:
        """Return the rectangle of a size at a place."""
        return cls(left, top, left + width, top + height)

    @property
    def width(self) -> int:
        """Width in pixels, at least 0."""
        return max(self.right - self.left, 0)

    @property
    def height(self) -> int:
        """Height in pixels, at least 0."""
        return max(self.bottom - self.top, 0)

    @property
    def empty(self) -> bool:
        """Whether the rectangle contains no pixels."""
        return self.right <= self.left or self.bottom <= self.top

    @property
    def center(self) -> tuple[int, int]:
        """The middle pixel, as WAA's `move_id` computes it."""
        return (self.left + self.right) // 2, (self.top + self.bottom) // 2

    def holds(self, x: float, y: float) -> bool:
        """Return whether a point is inside."""
        return self.left <= x < self.right and self.top <= y < self.bottom

    def clipped(self, other: Rect) -> Rect:
        """Return the part that is also inside `other`; possibly empty."""
        left, top = max(self.left, other.left), max(self.top, other.top)
        return Rect(
            left,
            top,
            max(min(self.right, other.right), left),
            max(min(self.bottom, other.bottom), top),
        )

    def inset(self, x: int, y: int | None = None) -> Rect:
        """Return the rectangle shrunk by a margin on all sides."""
        y = x if y is None else y
        return Rect(self.left + x, self.top + y, self.right - x, self.bottom - y)

    def moved(self, dx: int, dy: int) -> Rect:
        """Return the rectangle shifted."""
        return Rect(self.left + dx, self.top + dy, self.right + dx, self.bottom + dy)

    def centered(self, width: int, height: int) -> Rect:
        """Return a rectangle of a size in the middle of this one."""
        left = self.left + (self.width - width) // 2
        top = self.top + (self.height - height) // 2
        return Rect.sized(left, top, width, height)


class Area:
    """The rest of a rectangle while strips are cut off its sides; windows are laid out this way.

    Example:
        >>> area = Area(Rect(0, 0, 100, 100))
        >>> area.top(30)
        Rect(left=0, top=0, right=100, bottom=30)
        >>> area.left(10, gap=5)
        Rect(left=0, top=30, right=10, bottom=100)
        >>> area.rect
        Rect(left=15, top=30, right=100, bottom=100)
    """

    def __init__(self, rect: Rect) -> None:
        self.rect = rect

    def top(self, height: int, *, gap: int = 0) -> Rect:
        """Cut a strip off the top."""
        left, top, right, bottom = self.rect
        cut = min(top + height, bottom)
        self.rect = Rect(left, min(cut + gap, bottom), right, bottom)
        return Rect(left, top, right, cut)

    def bottom(self, height: int, *, gap: int = 0) -> Rect:
        """Cut a strip off the bottom."""
        left, top, right, bottom = self.rect
        cut = max(bottom - height, top)
        self.rect = Rect(left, top, right, max(cut - gap, top))
        return Rect(left, cut, right, bottom)

    def left(self, width: int, *, gap: int = 0) -> Rect:
        """Cut a strip off the left."""
        left, top, right, bottom = self.rect
        cut = min(left + width, right)
        self.rect = Rect(min(cut + gap, right), top, right, bottom)
        return Rect(left, top, cut, bottom)

    def right(self, width: int, *, gap: int = 0) -> Rect:
        """Cut a strip off the right."""
        left, top, right, bottom = self.rect
        cut = max(right - width, left)
        self.rect = Rect(left, top, max(cut - gap, left), bottom)
        return Rect(cut, top, right, bottom)
