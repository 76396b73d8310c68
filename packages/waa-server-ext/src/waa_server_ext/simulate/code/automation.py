"""pyautogui, pyperclip and pygetwindow as interpreted programs see them."""

from __future__ import annotations

import io
import ntpath
from typing import TYPE_CHECKING, Any

from waa_server_ext.python_subset.budget import Budget
from waa_server_ext.python_subset.values import Callable_, FailSafeException, SimObject
from waa_server_ext.simulate.desktop.keyboard import KEYS
from waa_server_ext.simulate.machine.filesystem import normal

if TYPE_CHECKING:
    from collections.abc import Callable

    from PIL import Image

    from waa_server_ext.simulate.desktop.composition import Desktop
    from waa_server_ext.simulate.ui.windows import Window

_TWEENS = ("linear", *(f"ease{way}{kind}" for way in ("In", "Out", "InOut")
           for kind in ("Quad", "Cubic", "Quart", "Quint", "Sine", "Expo", "Circ", "Elastic", "Back", "Bounce")))  # fmt: skip
_BUTTONS = {
    "left": "left",
    "right": "right",
    "middle": "middle",
    "primary": "left",
    "secondary": "right",
}
_KEY_S = 0.01
_MAX_KEYS = 110  # more keys than a keyboard has: a mistake
_TYPED_AT_ONCE = 500  # few enough chunks: after a line break, the window's layout is computed again


class Automation:
    """pyautogui in one process, with that process's fail-safe switch and pause."""

    def __init__(self, desktop: Desktop, *, pause: float = 0.1) -> None:
        self.desktop = desktop
        self.module = SimObject("pyautogui", self._names(), computed={"easeIn": lambda: None})
        self.module.set("PAUSE", pause)
        self.module.set("FAILSAFE", True)  # pyautogui's name for it

    def check(self) -> None:
        """Raise if the pointer is in a corner and the fail-safe is on."""
        mouse, (width, height) = self.desktop.mouse, self.desktop.size
        corner = mouse.x in {0, width - 1} and mouse.y in {0, height - 1}
        if corner and self.module.get("FAILSAFE"):
            raise FailSafeException

    def click(self, x: Any = None, y: Any = None, clicks: int = 1, interval: float = 0.0,
              button: str = "primary", duration: float = 0.0, **_: Any) -> None:  # fmt: skip
        """Click, after moving to a place if one is given."""
        self.check()
        self._move(x, y, duration)
        for _number in range(min(int(clicks), 20)):
            self.desktop.mouse.press(_button(button))
            self.desktop.mouse.release(_button(button))
            self._wait(interval or 0.05)
        self._pause()

    def move_to(
        self, x: Any = None, y: Any = None, duration: float = 0.0, *_: Any, **__: Any
    ) -> None:
        """Move the pointer."""
        self.check()
        self._move(x, y, duration)
        self._pause()

    def drag_to(
        self,
        x: Any = None,
        y: Any = None,
        duration: float = 0.0,
        *_: Any,
        button: str = "primary",
        **__: Any,
    ) -> None:
        """Press, move and release."""
        self.check()
        mouse = self.desktop.mouse
        start = (mouse.x, mouse.y)
        mouse.press(_button(button))
        px, py = _point(x, y, start)
        # intermediate places, so that strokes are drawn and drags are recognized
        for step in range(1, 9):
            mouse.move(start[0] + (px - start[0]) * step / 8, start[1] + (py - start[1]) * step / 8)
        mouse.release(_button(button))
        self._wait(duration)
        self._pause()

    def scroll(self, clicks: float, x: Any = None, y: Any = None, *_: Any, **__: Any) -> None:
        """Turn the wheel."""
        self.check()
        self._move(x, y, 0)
        self.desktop.mouse.scroll(int(clicks))
        self._pause()

    def press(self, keys: Any, presses: int = 1, interval: float = 0.0, *_: Any, **__: Any) -> None:
        """Press keys one after the other."""
        self.check()
        for _number in range(min(int(presses), 1000)):
            for key in [keys] if isinstance(keys, str) else list(keys):
                self.desktop.keyboard.press(str(key))
                self._wait(interval or _KEY_S)
        self._pause()

    def hotkey(self, *keys: Any, **_: Any) -> None:
        """Press keys together."""
        self.check()
        flat = [str(k) for key in keys for k in (key if isinstance(key, (list, tuple)) else [key])]
        if len(flat) > _MAX_KEYS:
            raise ValueError(f"no keyboard has {len(flat)} keys to hold down")
        self.desktop.keyboard.hotkey(*flat)
        self._pause()

    def write(self, message: Any, interval: float = 0.0, *_: Any, **__: Any) -> None:
        """Type text, or press keys if given a list; characters without a key are dropped."""
        self.check()
        if isinstance(message, (list, tuple)):
            self.press(list(message), 1, interval)
            return
        text = str(message)
        for start in range(0, len(text), _TYPED_AT_ONCE):
            self.desktop.keyboard.write(text[start : start + _TYPED_AT_ONCE])
            Budget.look()
        self._wait((interval or 0.0) * len(text) + _KEY_S * len(text))
        self._pause()

    def _names(self) -> dict[str, Any]:
        keyboard, mouse = self.desktop.keyboard, self.desktop.mouse

        def button_down(
            x: Any = None, y: Any = None, button: str = "primary", *_: Any, **__: Any
        ) -> None:
            self.check()
            self._move(x, y, 0)
            mouse.press(_button(button))

        def button_up(
            x: Any = None, y: Any = None, button: str = "primary", *_: Any, **__: Any
        ) -> None:
            self.check()
            self._move(x, y, 0)
            mouse.release(_button(button))

        def named(do: Callable[..., None], **fixed: Any) -> Callable[..., None]:
            return lambda x=None, y=None, **more: do(x, y, **{**fixed, **more})

        names: dict[str, Any] = {
            "click": self.click, "leftClick": self.click, "moveTo": self.move_to, "dragTo": self.drag_to,
            "doubleClick": named(self.click, clicks=2, interval=0.05), "tripleClick": named(self.click, clicks=3),
            "rightClick": named(self.click, button="right"), "middleClick": named(self.click, button="middle"),
            "move": self._relative(self.move_to), "moveRel": self._relative(self.move_to),
            "drag": self._relative(self.drag_to), "dragRel": self._relative(self.drag_to),
            "mouseDown": button_down, "mouseUp": button_up, "scroll": self.scroll, "vscroll": self.scroll,
            "hscroll": lambda *_, **__: self.check(), "press": self.press, "hotkey": self.hotkey,
            "keyDown": lambda key, **_: self._key(keyboard.key_down, key),
            "keyUp": lambda key, **_: self._key(keyboard.key_up, key),
            "write": self.write, "typewrite": self.write, "sleep": self._wait,
            "position": lambda *_: _named_point(mouse.x, mouse.y), "size": lambda: _named_size(*self.desktop.size),
            "onScreen": lambda x, y=None: self.desktop.screen.holds(*_point(x, y, (0, 0))),
            "screenshot": self._screenshot, "isValidKey": lambda key: key in KEYS,
            "failSafeCheck": self.check, "KEYBOARD_KEYS": sorted(KEYS),
            "FailSafeException": Callable_("FailSafeException", FailSafeException),
        }  # fmt: skip
        names |= {tween: (lambda n, *_: n) for tween in _TWEENS}
        return names | window_functions(self.desktop)

    def _key(self, do: Callable[[str], None], key: Any) -> None:
        self.check()
        do(str(key))

    def _relative(self, do: Callable[..., None]) -> Callable[..., None]:
        # fmt: off
        def move(xOffset: Any = 0, yOffset: Any = 0, duration: float = 0.0, *rest: Any, **more: Any) -> None:  # noqa: N803  # pyautogui's names
            # fmt: on
            dx, dy = _point(xOffset, yOffset, (0, 0))
            do(self.desktop.mouse.x + dx, self.desktop.mouse.y + dy, duration, *rest, **more)

        return move

    def _move(self, x: Any, y: Any, duration: float) -> None:
        mouse = self.desktop.mouse
        if x is not None or y is not None:
            mouse.move(*_point(x, y, (mouse.x, mouse.y)))
        self._wait(duration)

    def _wait(self, seconds: float) -> None:
        Budget.look()
        self.desktop.machine.clock.advance(float(seconds))

    def _pause(self) -> None:
        self._wait(self.module.get("PAUSE"))

    def _screenshot(self, path: str | None = None, region: Any = None, **_: Any) -> SimObject:
        picture = self.desktop.picture()
        if region is not None:
            left, top, width, height = (int(each) for each in region)
            picture = picture.crop((left, top, left + min(width, 4000), top + min(height, 4000)))
        if path is not None:
            save_picture(self.desktop, picture, path)
        return picture_object(self.desktop, picture)


def picture_object(desktop: Desktop, picture: Image.Image) -> SimObject:
    """Return a picture as programs see it: its size, its pixels and saving."""

    def crop(box: Any) -> SimObject:
        left, top, right, bottom = (min(max(int(each), 0), 10_000) for each in box)
        return picture_object(desktop, picture.crop((left, top, right, bottom)))

    shown = f"<PIL.Image.Image image mode=RGB size={picture.width}x{picture.height}>"
    return SimObject(
        "PIL.Image.Image",
        {
            "size": picture.size, "width": picture.width, "height": picture.height, "mode": "RGB",
            "save": lambda path, *_, **__: save_picture(desktop, picture, path),
            "getpixel": lambda at: picture.getpixel((int(at[0]), int(at[1]))), "crop": crop,
            "convert": lambda *_: picture_object(desktop, picture), "show": lambda: None, "close": lambda: None,
        },
        shown=shown,
    )  # fmt: skip


def save_picture(desktop: Desktop, picture: Image.Image, path: Any) -> None:
    """Write a picture into the simulated file system, in the format of its extension."""
    kinds = {".jpg": "JPEG", ".jpeg": "JPEG", ".bmp": "BMP"}
    data = io.BytesIO()
    kind = kinds.get(ntpath.splitext(str(path))[1].casefold(), "PNG")
    picture.save(data, kind, **({"compress_level": 1} if kind == "PNG" else {}))
    desktop.machine.files.write(normal(str(path)), data.getvalue())


def window_object(desktop: Desktop, window: Window) -> SimObject:
    """Return a window as pygetwindow shows it."""

    def close() -> None:
        window.request_close()
        desktop.touch()

    def state(*, minimized: bool, maximized: bool | None = None) -> Callable[[], object]:
        def change() -> None:
            desktop.activate(window)
            if minimized:
                desktop.minimize(window)
            elif maximized is not None and window.resizable:
                window.maximized = maximized
            desktop.touch()

        return change

    return SimObject(
        "Window",
        {
            "activate": lambda: desktop.activate(window), "close": close,
            "minimize": state(minimized=True), "maximize": state(minimized=False, maximized=True),
            "restore": state(minimized=False, maximized=False), "_hWnd": window.pid,
        },
        computed={
            "title": lambda: window.title, "left": lambda: window.frame.left, "top": lambda: window.frame.top,
            "right": lambda: window.frame.right, "bottom": lambda: window.frame.bottom,
            "width": lambda: window.frame.width, "height": lambda: window.frame.height,
            "isActive": lambda: desktop.active is window, "isMinimized": lambda: window.minimized,
            "isMaximized": lambda: window.maximized, "visible": lambda: not window.minimized,
        },
        shown=f"Win32Window(hWnd={window.pid})",
    )  # fmt: skip


def window_functions(desktop: Desktop) -> dict[str, Any]:
    """Return pygetwindow's functions, which pyautogui has too."""

    def objects(windows: list[Window]) -> list[SimObject]:
        return [window_object(desktop, window) for window in windows]

    return {
        "getActiveWindowTitle": lambda: desktop.active_title,
        "getActiveWindow": lambda: (
            window_object(desktop, desktop.active) if desktop.active else None
        ),
        "getAllTitles": lambda: [*(w.title for w in reversed(desktop.windows)), "Program Manager"],
        "getAllWindows": lambda: objects(list(reversed(desktop.windows))),
        "getWindowsWithTitle": lambda title: objects(desktop.with_title(str(title))),
    }


def pygetwindow_module(desktop: Desktop) -> SimObject:
    """Return the module pygetwindow."""
    return SimObject("pygetwindow", window_functions(desktop))


def pyperclip_module(desktop: Desktop) -> SimObject:
    """Return the module pyperclip."""
    clipboard = desktop.machine.clipboard
    return SimObject(
        "pyperclip",
        {"copy": lambda text: clipboard.copy_text(str(text)), "paste": lambda: clipboard.text},
    )


def _button(name: str) -> str:
    if str(name).lower() not in _BUTTONS:
        raise ValueError(f"button argument must be one of {sorted(_BUTTONS)}, not {name!r}")
    return _BUTTONS[str(name).lower()]


def _point(x: Any, y: Any, default: tuple[float, float]) -> tuple[float, float]:
    if isinstance(x, (list, tuple)) and len(x) >= 2:  # a pair
        x, y = x[0], x[1]
    elif isinstance(x, SimObject):
        x, y = x.iterate()[:2]
    # pyautogui truncates fractions
    return int(default[0] if x is None else x), int(default[1] if y is None else y)


def _named_point(x: int, y: int) -> SimObject:
    return SimObject("Point", {"x": x, "y": y}, items=lambda: [x, y], shown=f"Point(x={x}, y={y})")


def _named_size(width: int, height: int) -> SimObject:
    shown = f"Size(width={width}, height={height})"
    return SimObject(
        "Size", {"width": width, "height": height}, items=lambda: [width, height], shown=shown
    )
