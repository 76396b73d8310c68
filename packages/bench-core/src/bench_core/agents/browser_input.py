"""Mouse and keyboard of one browser page, by Playwright."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence

    from bench_core.agents.records import Button

__all__ = ["Pointer", "held", "hold", "key_name", "press"]

_KEYS = {
    "ctrl": "Control", "control": "Control", "alt": "Alt", "shift": "Shift", "meta": "Meta",
    "super": "Meta", "cmd": "Meta", "command": "Meta", "win": "Meta", "windows": "Meta",
    "option": "Alt", "enter": "Enter", "return": "Enter", "tab": "Tab", "escape": "Escape",
    "esc": "Escape", "backspace": "Backspace", "delete": "Delete", "del": "Delete", "space": "Space",
    " ": "Space", "spacebar": "Space", "up": "ArrowUp", "down": "ArrowDown", "left": "ArrowLeft",
    "right": "ArrowRight", "arrowup": "ArrowUp", "arrowdown": "ArrowDown", "arrowleft": "ArrowLeft",
    "arrowright": "ArrowRight", "home": "Home", "end": "End", "pageup": "PageUp",
    "pagedown": "PageDown", "page_up": "PageUp", "page_down": "PageDown", "plus": "+",
    "minus": "-", "equal": "=", "comma": ",", "period": ".", "slash": "/", "insert": "Insert",
    "capslock": "CapsLock", "controlormeta": "ControlOrMeta",
}  # fmt: skip
_SIDE_BUTTONS = {"back": 8, "forward": 16}
"""Bits of the buttons that Playwright cannot press, in `MouseEvent.buttons`."""


def key_name(name: str) -> str:
    """Return Playwright's name of a key.

    >>> key_name("ctrl"), key_name("F5"), key_name("f5"), key_name("A")
    ('Control', 'F5', 'F5', 'A')
    """
    lower = name.lower()
    if lower in _KEYS:
        return _KEYS[lower]
    return name.upper() if lower[:1] == "f" and lower[1:].isdigit() else name


async def press(page: Any, keys: Sequence[str], repeat: int = 1) -> None:
    """Press keys together, so many times."""
    combination = "+".join(map(key_name, keys))
    for _ in range(repeat):
        await page.keyboard.press(combination)


@asynccontextmanager
async def held(page: Any, keys: Sequence[str]) -> AsyncIterator[None]:
    """Hold keys down for the time of the block; one that stayed down would change every later action."""
    pressed: list[str] = []
    try:
        for key in map(key_name, keys):
            await page.keyboard.down(key)
            pressed.append(key)
        yield
    finally:
        for key in reversed(pressed):
            await page.keyboard.up(key)


async def hold(page: Any, keys: Sequence[str], seconds: float) -> None:
    """Hold keys down together for `seconds`."""
    async with held(page, keys):
        await asyncio.sleep(seconds)


class Pointer:
    """The mouse: Playwright knows where it is, but has no call for it.

    Args:
        viewport: Width and height of pages; the pointer starts in the middle.
    """

    def __init__(self, viewport: tuple[int, int]) -> None:
        self.at = (viewport[0] / 2, viewport[1] / 2)

    async def move(self, page: Any, at: tuple[float, float] | None, steps: int = 1) -> None:
        """Move to a point, if one is given; the page gets the pointer where it has not been there."""
        if at is not None:
            self.at = at
        await page.mouse.move(*self.at, steps=steps)

    async def click(
        self, page: Any, at: tuple[float, float] | None, button: Button, count: int
    ) -> None:
        """Press and release a button."""
        if button in _SIDE_BUTTONS:
            await self.move(page, at)
            await self._side(page, "mousePressed", button)
            await self._side(page, "mouseReleased", button)
            return
        if at is not None:
            self.at = at
        await page.mouse.click(*self.at, button=button, click_count=count)

    async def press(self, page: Any, at: tuple[float, float] | None, button: Button) -> None:
        """Press a button and hold it."""
        await self.move(page, at)
        if button in _SIDE_BUTTONS:
            await self._side(page, "mousePressed", button)
        else:
            await page.mouse.down(button=button)

    async def release(self, page: Any, at: tuple[float, float] | None, button: Button) -> None:
        """Release a button."""
        await self.move(page, at)
        if button in _SIDE_BUTTONS:
            await self._side(page, "mouseReleased", button)
        else:
            await page.mouse.up(button=button)

    async def drag(self, page: Any, points: Sequence[tuple[float, float]]) -> None:
        """Press at the first point, move along the others, release at the last."""
        await self.move(page, points[0])
        await page.mouse.down()
        try:
            for point in points[1:]:
                # In steps: pages that follow the pointer ignore a drag that jumps.
                await self.move(page, point, steps=10)
        finally:
            await page.mouse.up()

    async def _side(self, page: Any, kind: str, button: str) -> None:
        """Press a side button by CDP: Playwright's own API has three buttons."""
        session = await page.context.new_cdp_session(page)
        try:
            await session.send(
                "Input.dispatchMouseEvent",
                {
                    "type": kind, "x": self.at[0], "y": self.at[1], "button": button,
                    "buttons": _SIDE_BUTTONS[button] if kind == "mousePressed" else 0, "clickCount": 1,
                },
            )  # fmt: skip
        finally:
            await session.detach()
