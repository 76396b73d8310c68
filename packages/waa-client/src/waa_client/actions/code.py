"""Translation of actions to the code that WAA's server runs.

The API is `computer.py` of the VM's server: `computer.mouse.move_id`, `.move_abs`, `.single_click`,
`computer.keyboard.write` and so on. `computer.click`, `computer.type` and `computer.key` do not exist.
"""

from __future__ import annotations

import math
from typing import Literal

from bench_core.agents import (
    Action,
    Click,
    Done,
    Drag,
    ElementRef,
    Fail,
    HoldKeys,
    KeyDown,
    KeyUp,
    MouseDown,
    MouseUp,
    Move,
    PressKeys,
    RunCode,
    Scroll,
    SwitchTab,
    Target,
    TypeText,
    Wait,
)
from bench_core.records import Record
from waa_client.actions.keys import UnknownKeyError, key_names
from waa_client.actions.text import typing_of

SPECIAL = frozenset({"WAIT", "DONE", "FAIL"})
"""Actions that are words: recorded like others, but never sent to the VM, as in vanilla."""

OFFERS = frozenset(
    {
        "click", "move", "mouse_down", "mouse_up", "drag", "scroll", "type", "keys", "hold_keys",
        "key_down", "key_up", "wait", "screenshot", "zoom", "pointer_position", "switch_tab", "code",
        "read_page",
    }
)  # fmt: skip
"""The kinds of actions that work on a desktop."""

Language = Literal["code_block", "pyautogui"]

_NOTCH = 100
"""Pixels that agents count per notch of the wheel."""
_WHEEL_UNITS = 120
"""Windows' wheel units per notch; PyAutoGUI passes its argument on in these units."""
_COMPUTER_SCROLL = 400  # `computer.mouse.scroll` always scrolls by this many units
_DOUBLE, _TRIPLE = 2, 3
_HOTKEY_JOINT = "+"


class UntranslatableError(ValueError):
    """An action that WAA cannot do; the agent gets the message."""


class DesktopScreen(Record):
    """The screen with which actions are translated.

    Attributes:
        size: Width and height of the screen in pixels, as the VM reports them.
        view: Width and height of the agent's picture, in whose pixels actions are given.
        rects: Left, top, right, bottom of each element in pixels of the picture, by id, a whole number.
        titles: Titles of the open windows, for switching to one.
        us_keyboard: Whether the keyboard has the United States layout.
    """

    size: tuple[int, int]
    view: tuple[int, int] | None = None
    rects: dict[str, tuple[int, int, int, int]] = {}  # noqa: RUF012  # pydantic copies it
    titles: tuple[str, ...] = ()
    us_keyboard: bool = True

    @property
    def seen(self) -> tuple[int, int]:
        """The size of the picture."""
        return self.view or self.size


class Block(Record):
    """One action as WAA records it in its history.

    Attributes:
        code: A code block, or one of `SPECIAL`.
        language: `code_block` runs in the server, which defines `computer`; `pyautogui` runs in a
        new process, as WindowsAgentArena-V2 does.
        notes: Differences from the agent's action, e.g. a corner that was moved inwards.
    """

    code: str
    language: Language = "code_block"
    notes: tuple[str, ...] = ()

    @property
    def special(self) -> bool:
        """Whether it is a word rather than code."""
        return self.code in SPECIAL


def translate(action: Action, screen: DesktopScreen) -> Block:
    """Return the code that does `action` on `screen`.

    Every pixel is hit exactly: `move_abs` takes fractions and rounds down, so pixel x of W is sent as
    (x + 0.5) / W; x / W would miss 83 of 1440 columns by one. The four corners, which would trigger
    PyAutoGUI's fail-safe and make all later actions fail, are moved inwards by one pixel, with a note.

    Raises:
        UntranslatableError: WAA cannot do it, or it is meaningless on this screen.

    >>> from bench_core.agents import Click, Point
    >>> print(translate(Click(target=Point(x=10, y=20)), DesktopScreen(size=(1280, 720))).code)
    computer.mouse.move_abs(x=0.008203125, y=0.0284722222)
    computer.mouse.single_click()
    """
    writer = _CodeWriter(screen)
    try:
        writer.write(action)
    except UnknownKeyError as error:
        raise UntranslatableError(str(error)) from error
    return writer.block()


class _CodeWriter:
    """Writer of the lines of one code block."""

    def __init__(self, screen: DesktopScreen) -> None:
        self._screen = screen
        self._lines: list[str] = []
        self._imports: dict[str, None] = {}
        self._notes: list[str] = []
        self._language: Language = "code_block"

    def block(self) -> Block:
        lines = [*(f"import {name}" for name in self._imports), *self._lines]
        return Block(code="\n".join(lines), language=self._language, notes=tuple(self._notes))

    def write(self, action: Action) -> None:  # noqa: C901, PLR0912  # one branch per action
        if isinstance(action, Click):
            if action.target is not None:
                self._move(action.target)
            self._with_keys(action.modifiers, [self._click_call(action)])
        elif isinstance(action, Move):
            self._move(action.target)
        elif isinstance(action, Drag):
            self._drag(action)
        elif isinstance(action, Scroll):
            self._scroll(action)
        elif isinstance(action, TypeText):
            self._type(action)
        elif isinstance(action, MouseDown | MouseUp):
            if action.button not in {"left", "right", "middle"}:
                raise UntranslatableError(f"a desktop's mouse has no button {action.button!r}")
            if action.target is not None:
                self._move(action.target)
            self._imports["pyautogui"] = None
            name = "mouseDown" if isinstance(action, MouseDown) else "mouseUp"
            self._lines.append(f"pyautogui.{name}(button={action.button!r})")
        elif isinstance(action, PressKeys):
            for _ in range(action.repeat):
                self._press(action.keys)
        elif isinstance(action, HoldKeys):
            self._imports["time"] = None
            self._with_keys(action.keys, [f"time.sleep({action.seconds:g})"])
        elif isinstance(action, KeyDown | KeyUp):
            self._imports["pyautogui"] = None
            name = "keyDown" if isinstance(action, KeyDown) else "keyUp"
            self._lines += [f"pyautogui.{name}({key!r})" for key in key_names((action.key,))]
        elif isinstance(action, RunCode):
            self._run(action)
        elif isinstance(action, SwitchTab):
            self._switch(action.index)
        elif isinstance(action, Wait):
            self._lines.append("WAIT")
        elif isinstance(action, Done):
            self._lines.append("DONE")
        elif isinstance(action, Fail):
            self._lines.append("FAIL")
        else:
            raise UntranslatableError(
                f"a desktop has no {action.kind!r}: use its windows, keys and pointer"
            )

    def _with_keys(self, modifiers: tuple[str, ...], lines: list[str]) -> None:
        """Write lines that run while keys are held down."""
        if not modifiers:
            self._lines += lines
            return
        pressed = key_names(modifiers)
        self._imports["pyautogui"] = None
        self._lines += [f"pyautogui.keyDown({name!r})" for name in pressed]
        # a key that stays down would change every later action
        self._lines += ["try:", *(f"    {line}" for line in lines), "finally:"]
        self._lines += [f"    pyautogui.keyUp({name!r})" for name in reversed(pressed)]

    def _click_call(self, action: Click) -> str:
        known = {("left", 1): "single_click", ("left", _DOUBLE): "double_click",
                 ("right", 1): "right_click"}  # fmt: skip
        name = known.get((action.button, action.count))
        if name:
            return f"computer.mouse.{name}()"
        if action.button not in {"left", "right", "middle"}:
            raise UntranslatableError(f"a desktop's mouse has no button {action.button!r}")
        self._imports["pyautogui"] = None
        # `computer.mouse` offers only single, double and right clicks
        return f"pyautogui.click(clicks={action.count}, button={action.button!r})"

    def _move(self, target: Target) -> None:
        if isinstance(target, ElementRef):
            self._lines.append(f"computer.mouse.move_id(id={self._element(target)})")
            return
        x, y = self._pixel(target)
        width, height = self._screen.size
        # ten digits are exact for screens up to a million pixels wide
        fractions = (round((x + 0.5) / width, 10), round((y + 0.5) / height, 10))
        self._lines.append(f"computer.mouse.move_abs(x={fractions[0]!r}, y={fractions[1]!r})")

    def _element(self, target: ElementRef) -> int:
        rect = self._screen.rects.get(target.element)
        if rect is None:
            raise UntranslatableError(f"there is no element {target.element!r} on the screen")
        return int(target.element)

    def _pixel(self, target: Target) -> tuple[int, int]:
        """Return the pixel of the screen for a target, with fail-safe corners moved inwards."""
        if isinstance(target, ElementRef):
            left, top, right, bottom = self._screen.rects[target.element]
            seen = ((left + right) // 2, (top + bottom) // 2)
        else:
            seen = self._seen_pixel(*target.pixels(self._screen.seen), relative=target.unit)
        pixel = tuple(
            at * size // view
            for at, size, view in zip(seen, self._screen.size, self._screen.seen, strict=True)
        )
        return self._inside(pixel[0], pixel[1])

    def _seen_pixel(self, x: float, y: float, *, relative: str) -> tuple[int, int]:
        width, height = self._screen.seen
        if relative == "relative" and x <= width and y <= height:
            # the fraction 1.0 is the far edge, for which agents mean the last pixel
            x, y = min(x, width - 1), min(y, height - 1)
        if not (math.isfinite(x) and math.isfinite(y) and 0 <= x < width and 0 <= y < height):
            raise UntranslatableError(
                f"({x:g}, {y:g}) is not on the screen, which is {width} x {height} pixels"
            )
        return math.floor(x), math.floor(y)

    def _inside(self, x: int, y: int) -> tuple[int, int]:
        width, height = self._screen.size
        if x in {0, width - 1} and y in {0, height - 1}:
            moved = (1 if x == 0 else width - 2, 1 if y == 0 else height - 2)
            self._notes.append(f"moved from the fail-safe corner {x, y} to {moved}")
            return moved
        return x, y

    def _drag(self, action: Drag) -> None:
        end = action.end
        if isinstance(end, ElementRef):
            self._element(end)
        self._move(action.start)
        if action.path:
            # Write a drag by way of points; `computer.mouse.drag` knows straight lines alone
            self._imports["pyautogui"] = None
            points = [self._pixel(target) for target in (*action.path, action.end)]
            moves = [f"pyautogui.moveTo({x}, {y}, duration=0.1)" for x, y in points]
            lines = ["pyautogui.mouseDown()", *moves, "pyautogui.mouseUp()"]
            self._with_keys(action.modifiers, lines)
            return
        x, y = self._pixel(end)
        # in pixels of the screen, unlike `move_abs`; the fractions in WAA's own prompt raise TypeError
        self._with_keys(action.modifiers, [f"computer.mouse.drag(screen_x={x}, screen_y={y})"])

    def _scroll(self, action: Scroll) -> None:
        if not (action.dx or action.dy):
            raise UntranslatableError("scroll by how much? give dx or dy, in pixels")
        if action.target is not None:
            self._move(action.target)
        # up is positive for the wheel, down for agents
        vertical, horizontal = _wheel(-action.dy), _wheel(action.dx)
        if vertical in {_COMPUTER_SCROLL, -_COMPUTER_SCROLL} and not horizontal:
            direction = "up" if vertical > 0 else "down"
            self._with_keys(action.modifiers, [f"computer.mouse.scroll(dir={direction!r})"])
            return
        self._imports["pyautogui"] = None
        lines = [f"pyautogui.scroll({vertical})"] if vertical else []
        if horizontal:
            # `computer.mouse.scroll` has no horizontal direction
            lines.append(f"pyautogui.hscroll({horizontal})")
        self._with_keys(action.modifiers, lines)

    def _type(self, action: TypeText) -> None:
        if action.target is not None:
            self._move(action.target)
            self._lines.append("computer.mouse.single_click()")
        if action.clear:
            # typing replaces the selection; `delete` would delete files if the focus is on them
            self._lines.append("computer.keyboard.press('ctrl+a')")
            if not action.text:
                self._lines.append("computer.keyboard.press('backspace')")
        typing = typing_of(action.text, us_keyboard=self._screen.us_keyboard)
        if typing.dropped:
            self._notes.append(f"left out {typing.dropped} control characters")
        for text, pasted in typing.parts:
            self._paste(text) if pasted else self._write(text)
        if action.enter:
            self._lines.append("computer.keyboard.press('enter')")
        if not self._lines:
            raise UntranslatableError("there is nothing to type")

    def _write(self, text: str) -> None:
        # repr quotes any text; escaping quotes alone breaks on `C:\Users` and on line breaks
        self._lines.append(f"computer.keyboard.write({text!r})")

    def _paste(self, text: str) -> None:
        # not clipboard.copy_text, which prints the text: the server fails a block that prints "error"
        self._imports["pyperclip"] = None
        self._lines += [f"pyperclip.copy({text!a})", "computer.clipboard.paste()"]

    def _press(self, keys: tuple[str, ...]) -> None:
        # no key types it, but the clipboard can
        if len(keys) == 1 and len(keys[0]) == 1 and not keys[0].isascii():
            self._paste(keys[0])
            return
        names = key_names(keys)
        if len(names) == 1:
            self._lines.append(f"computer.keyboard.press({names[0]!r})")
        elif _HOTKEY_JOINT in names:
            # `press("ctrl++")` would press ctrl alone
            self._imports["pyautogui"] = None
            self._lines.append(f"pyautogui.hotkey({', '.join(map(repr, names))})")
        else:
            self._lines.append(f"computer.keyboard.press({_HOTKEY_JOINT.join(names)!r})")

    def _run(self, action: RunCode) -> None:
        languages: dict[str, Language] = {
            "": "code_block", "code_block": "code_block", "python": "code_block",
            "pyautogui": "pyautogui",
        }  # fmt: skip
        if action.language not in languages:
            raise UntranslatableError(f"WAA runs code_block or pyautogui, not {action.language!r}")
        self._language = languages[action.language]
        self._lines.append(action.code)

    def _switch(self, index: int) -> None:
        if index >= len(self._screen.titles):
            raise UntranslatableError(
                f"there are {len(self._screen.titles)} windows, not {index + 1}"
            )
        # the server matches titles loosely, and answers 200 even if none matches
        title = ascii(self._screen.titles[index])
        self._lines.append(f"computer.window_manager.switch_to_application({title})")


def _wheel(pixels: float) -> int:
    """Convert pixels to wheel units: 120 units, one notch, per 100 pixels, and at least one unit."""
    units = round(pixels * _WHEEL_UNITS / _NOTCH)
    return units or int(math.copysign(1, pixels)) if pixels else 0
