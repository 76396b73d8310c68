"""Mouse and keyboard of one browser page, by Playwright."""

from __future__ import annotations

import asyncio
import re
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Sequence

    from bench_core.agents.records import Button

_NAMES = """
    Alt AltLeft AltRight ArrowDown ArrowLeft ArrowRight ArrowUp Backquote Backslash Backspace BracketLeft
    BracketRight CapsLock Comma ContextMenu Control ControlLeft ControlOrMeta ControlRight Delete End Enter
    Equal Escape Home Insert Meta MetaLeft MetaRight Minus NumLock NumpadDivide NumpadEnter NumpadMultiply
    PageDown PageUp Pause Period PrintScreen Quote ScrollLock Semicolon Shift ShiftLeft ShiftRight Slash
    Space Tab
""".split()  # noqa: SIM905  # fifty quoted names are harder to read
"""Keys as Playwright names them, in addition to single characters and F1 to F12."""

_KEYS = {each.lower(): each for each in _NAMES} | {
    # usual spellings, `_`, `-` and blanks left out
    "ctrl": "Control", "super": "Meta", "cmd": "Meta", "command": "Meta", "win": "Meta", "windows": "Meta",
    "option": "Alt", "return": "Enter", "esc": "Escape", "del": "Delete", "ins": "Insert",
    "spacebar": "Space", "up": "ArrowUp", "down": "ArrowDown", "left": "ArrowLeft", "right": "ArrowRight",
    "plus": "+", "menu": "ContextMenu", "print": "PrintScreen", "numpadadd": "+", "numpadsubtract": "-",
    "numpaddecimal": ".",
    # xdotool and X11
    "prior": "PageUp", "next": "PageDown", "controll": "ControlLeft", "controlr": "ControlRight",
    "shiftl": "ShiftLeft", "shiftr": "ShiftRight", "altl": "AltLeft", "altr": "AltRight",
    "superl": "MetaLeft", "superr": "MetaRight", "kpenter": "NumpadEnter", "kpadd": "+", "kpsubtract": "-",
    "kpmultiply": "*", "kpdivide": "/", "kpdecimal": ".", "isolefttab": "Tab", "apostrophe": "'",
    "grave": "`", "underscore": "_", "colon": ":", "quotedbl": '"', "asciitilde": "~", "exclam": "!",
    "at": "@", "numbersign": "#", "dollar": "$", "percent": "%", "asciicircum": "^", "ampersand": "&",
    "asterisk": "*", "parenleft": "(", "parenright": ")", "braceleft": "{", "braceright": "}", "bar": "|",
    "less": "<", "greater": ">", "question": "?",
}  # fmt: skip
_SEPARATORS = re.compile(r"[\s_-]+")
_CODES = re.compile(r"key([a-z])|(?:digit|numpad|kp)([0-9])|(f[0-9]+)")
_SIDE_BUTTONS = {"back": 8, "forward": 16}
"""Bits of the buttons that Playwright cannot press, in `MouseEvent.buttons`."""


def key_name(name: str) -> str:
    """Return Playwright's name of a key; a name that is not known stays as it is.

    >>> key_name("ctrl"), key_name("f5"), key_name("Page_Up"), key_name("KP_7"), key_name("A")
    ('Control', 'F5', 'PageUp', '7', 'A')
    """
    if len(name) == 1:
        return "Space" if name == " " else name
    plain = _SEPARATORS.sub("", name).lower()
    code = _CODES.fullmatch(plain)
    if code:
        return code[1] or code[2] or code[3].upper()
    return _KEYS.get(plain, name)


async def press(page: Any, keys: Sequence[str], repeat: int = 1) -> None:
    """Press keys together, so many times."""
    for _ in range(repeat):
        # Playwright's own combinations leave the first keys pressed where the last does not exist
        async with held(page, keys[:-1]):
            await page.keyboard.press(key_name(keys[-1]))


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


async def ask_browser(page: Any, method: str, params: dict[str, Any] | None = None) -> Any:
    """Send a command of CDP about a page, for functions that Playwright lacks, and return its answer."""
    session = await page.context.new_cdp_session(page)
    try:
        return await session.send(method, params)
    finally:
        await session.detach()


class Pointer:
    """The mouse: Playwright knows where it is, but has no call for it.

    Args:
        viewport: Width and height of pages; the pointer starts in the middle.
    """

    def __init__(self, viewport: tuple[int, int]) -> None:
        self.at = (viewport[0] / 2, viewport[1] / 2)

    async def move(self, page: Any, at: tuple[float, float] | None, steps: int = 1) -> None:
        """Move to a point, if one is given; the pointer enters the page if it was not there yet."""
        if at is not None:
            self.at = at
        await page.mouse.move(*self.at, steps=steps)

    async def click(
        self,
        page: Any,
        at: tuple[float, float] | None,
        button: Button,
        count: int,
        pressed: Callable[[], Awaitable[None]] | None = None,
    ) -> None:
        """Press and release a button; `pressed` is called in between, the first time."""
        if button in _SIDE_BUTTONS:
            await self.move(page, at)
            await self._side(page, "mousePressed", button)
            if pressed is not None:
                await pressed()
            await self._side(page, "mouseReleased", button)
            return
        if at is not None:
            self.at = at
        if pressed is None:
            await page.mouse.click(*self.at, button=button, click_count=count)
            return
        for nth in range(1, count + 1):
            await page.mouse.down(button=button, click_count=nth)
            if nth == 1:
                await pressed()
            await page.mouse.up(button=button, click_count=nth)

    async def press(
        self, page: Any, at: tuple[float, float] | None, button: Button, *, up: bool = False
    ) -> None:
        """Press a button and hold it, or release it."""
        await self.move(page, at)
        if button in _SIDE_BUTTONS:
            await self._side(page, "mouseReleased" if up else "mousePressed", button)
        else:
            await (page.mouse.up if up else page.mouse.down)(button=button)

    async def drag(
        self,
        page: Any,
        points: Sequence[tuple[float, float]],
        pressed: Callable[[], Awaitable[None]] | None = None,
    ) -> None:
        """Press at the first point, move along the others, release at the last."""
        await self.move(page, points[0])
        await page.mouse.down()
        try:
            if pressed is not None:
                await pressed()
            for point in points[1:]:
                # In steps: pages that follow the pointer ignore a drag that jumps.
                await self.move(page, point, steps=10)
        finally:
            await page.mouse.up()

    async def _side(self, page: Any, kind: str, button: str) -> None:
        """Press a side button by CDP: Playwright's own API has three buttons."""
        held = _SIDE_BUTTONS[button] if kind == "mousePressed" else 0
        x, y = self.at
        event = {"type": kind, "x": x, "y": y, "button": button, "buttons": held, "clickCount": 1}
        await ask_browser(page, "Input.dispatchMouseEvent", event)
