"""Starts the server code of a Windows Agent Arena checkout with stubs for what exists on Windows only.

Usage: real_waa_server.py SERVER_FOLDER PORT. `GET /-/events` lists the calls of the stubs.
"""

from __future__ import annotations

import ctypes
import io
import mimetypes
import os
import platform
import runpy
import sys
import types
from typing import Any

from PIL import Image, ImageGrab
from werkzeug.serving import make_server

SIZE = (1280, 720)
EVENTS: list[list[Any]] = []


class FailSafeException(Exception):  # noqa: N818  # PyAutoGUI's name
    pass


class Pointer:
    """PyAutoGUI's mouse and keyboard, with its fail-safe."""

    FAILSAFE = True

    def __init__(self) -> None:
        self.at = (5, 5)

    def check(self) -> None:
        corners = {(x, y) for x in (0, SIZE[0] - 1) for y in (0, SIZE[1] - 1)}
        if pyautogui.FAILSAFE and self.at in corners:
            raise FailSafeException("PyAutoGUI fail-safe triggered from mouse moving to a corner")

    def do(self, name: str) -> Any:
        def act(*arguments: Any, **named: Any) -> None:
            self.check()
            if name in {"moveTo", "dragTo"}:
                x, y = arguments
                self.at = (min(max(int(x), 0), SIZE[0] - 1), min(max(int(y), 0), SIZE[1] - 1))
            EVENTS.append([name, list(arguments), named, list(self.at)])

        return act


def module(name: str, **names: Any) -> Any:
    made = types.ModuleType(name)
    for key, value in names.items():
        setattr(made, key, value)
    sys.modules[name] = made
    return made


def picture(*_: Any) -> Any:
    return Image.new("RGB", SIZE, "#336699")


class Box:
    def __init__(self, left: int, top: int, width: int, height: int) -> None:
        self.left, self.top, self._width, self._height = left, top, width, height

    def width(self) -> int:
        return self._width

    def height(self) -> int:
        return self._height


class Wrapper:
    """A window or control as pywinauto wraps it."""

    def __init__(self, kind: str, name: str, box: Box, *children: Wrapper, text: str = "") -> None:
        self.element_info = types.SimpleNamespace(name=name)
        self._kind, self._box, self._children, self._text = kind, box, children, text

    def class_name(self) -> str:
        return self._kind

    def rectangle(self) -> Box:
        return self._box

    def children(self) -> tuple[Wrapper, ...]:
        return self._children

    def window_text(self) -> str:
        return self._text or self.element_info.name

    def is_enabled(self) -> bool:
        return True

    is_visible = is_enabled


WINDOWS = [
    Wrapper(
        "Notepad", "draft.txt - Notepad", Box(100, 50, 400, 300),
        Wrapper("Edit Control", "", Box(110, 90, 380, 250), text="hello"),
        Wrapper("1Button", "Save — as", Box(110, 60, 40, 20)),
    )
]  # fmt: skip


class Desktop:
    def __init__(self, backend: str) -> None:
        pass

    def windows(self) -> list[Wrapper]:
        return WINDOWS


def titled(title: str) -> list[Any]:
    known = [window.element_info.name for window in WINDOWS]
    return [
        types.SimpleNamespace(
            title=name, isActive=True, minimize=lambda: None, restore=lambda: None,
            close=lambda: EVENTS.append(["close"]), maximize=lambda: None, _hWnd=1,
        )
        for name in known if title in name
    ]  # fmt: skip


pointer = Pointer()
acting = ["moveTo", "dragTo", "click", "doubleClick", "rightClick", "scroll", "hscroll", "write",
          "press", "hotkey", "keyDown", "keyUp"]  # fmt: skip
pyautogui = module(
    "pyautogui", FAILSAFE=True, PAUSE=0.1, DARWIN_CATCH_UP_TIME=0.01, size=lambda: SIZE,
    position=lambda: types.SimpleNamespace(x=pointer.at[0], y=pointer.at[1], __iter__=None),
    screenshot=picture, getActiveWindowTitle=lambda: WINDOWS[0].element_info.name,
    FailSafeException=FailSafeException, **{name: pointer.do(name) for name in acting},
)  # fmt: skip


class Place(tuple):  # noqa: SLOT001  # a named tuple's shape is all that is needed
    x = property(lambda self: self[0])
    y = property(lambda self: self[1])


pyautogui.position = lambda: Place(pointer.at)


def install() -> None:
    """Put stubs where the server imports what Windows has."""
    mimetypes.init()  # it asks the registry where there is one
    clip: list[str] = [""]
    module("pyperclip", copy=lambda text: EVENTS.append(["copy", text]) or clip.__setitem__(0, text),
           paste=lambda: clip[0])  # fmt: skip
    module("send2trash", send2trash=os.remove)
    xlib = module("Xlib", display=module("Xlib.display"), X=module("Xlib.X"))
    xlib.display.Display = None
    module("pyxcursor", Xcursor=None)
    module("pywinauto", Desktop=Desktop)
    module("pywinauto.base_wrapper", BaseWrapper=Wrapper)
    module("win32gui", GetForegroundWindow=lambda: 1, GetWindowRect=lambda _: (100, 50, 500, 350),
           IsWindowVisible=lambda _: True, SetForegroundWindow=lambda _: None)  # fmt: skip
    module("win32con")
    module("win32clipboard")
    module("winreg")
    module("screeninfo", get_monitors=list)
    module("pygetwindow", getWindowsWithTitle=titled, getAllWindows=lambda: titled(""),
           Window=object, PyGetWindowException=Exception)  # fmt: skip
    ImageGrab.grab = picture
    metrics = types.SimpleNamespace(GetSystemMetrics=lambda index: SIZE[index])

    def window_text(_: int, buffer: Any, __: int) -> None:
        buffer.value = WINDOWS[0].element_info.name

    user32 = types.SimpleNamespace(
        ShowCursor=lambda _: None, SendInput=lambda *_: None, GetWindowTextW=window_text,
        GetWindowTextLengthW=lambda _: 100, keybd_event=lambda *_: None, **vars(metrics),
    )  # fmt: skip
    ctypes.WinDLL = lambda _: user32  # type: ignore[attr-defined]
    ctypes.windll = types.SimpleNamespace(user32=user32)  # type: ignore[attr-defined]
    module(
        "tkinter",
        Tk=None,
        simpledialog=module("tkinter.simpledialog"),
        messagebox=module("tkinter.messagebox"),
    )


def main() -> None:
    folder, port = sys.argv[1:3]
    install()
    sys.path.insert(0, folder)
    sys.argv = ["main.py", "--port", port]
    platform.system = lambda: "Windows"
    app = runpy.run_path(f"{folder}/main.py", run_name="main")["app"]
    app.add_url_rule("/-/events", "events", lambda: {"events": EVENTS})
    server = make_server("127.0.0.1", int(port), app, threaded=True)
    sys.__stderr__.write(f"listening on {server.server_port}\n")
    sys.__stderr__.flush()
    server.serve_forever()


if __name__ == "__main__":
    sys.stdout = io.StringIO()
    main()
