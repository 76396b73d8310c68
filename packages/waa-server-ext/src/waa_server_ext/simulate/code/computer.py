"""The objects `computer` and `human` of WAA's action space `code_block`.

Behavior as of WAA's `vm/setup/server/computer.py`: ids into the rectangles last sent to
`/update_computer`, fractions of the window for `move_abs`, a quarter of a second after each action.
"""

from __future__ import annotations

import difflib
import io
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from PIL import Image

from waa_server_ext.python_subset.values import NotSimulatedError, SimObject
from waa_server_ext.simulate.code.automation import Automation
from waa_server_ext.simulate.desktop.composition import Desktop

_AFTER_S = 0.25  # WAA's pause after each action
_WHEEL = 400  # WAA scrolls by this many wheel units, however many are asked for
_APP_PATHS = (
    "HKLM\\SOFTWARE\\Microsoft\\Windows\\CurrentVersion\\App Paths",
    "HKLM\\SOFTWARE\\Wow6432Node\\Microsoft\\Windows\\CurrentVersion\\App Paths",
)


@dataclass
class ComputerUpdate:
    """The last body sent to `/update_computer`; `scale` is `None` if it was left out."""

    rects: Any
    window_rect: Any
    screenshot: bytes
    scale: Any
    clipboard_content: Any = None
    swap_ctrl_alt: bool = False


def computer_object(
    automation: Automation, update: ComputerUpdate | None, print_: Callable[..., None]
) -> SimObject:
    """Return `computer`; before the first update its parts are all `None`, as in WAA."""
    if update is None:
        parts: dict[str, Any] = dict.fromkeys(
            ("mouse", "clipboard", "os", "window_manager", "keyboard", "search")
        )
        return SimObject("Computer", parts, shown="<computer.Computer object>")

    def write(text: Any) -> None:
        automation.write(text)
        _after(automation)

    def press(key: str) -> None:
        # WAA splits at each sign, so `ctrl++` keeps only ctrl
        if len(key) > 1 and ("+" in key or "-" in key):
            automation.hotkey(*[part.strip() for part in key.split("+" if "+" in key else "-")])
        else:
            automation.press(key)
        _after(automation)

    return SimObject(
        "Computer",
        {
            "mouse": _mouse(automation, update),
            "keyboard": SimObject(
                "Keyboard", {"write": write, "press": press}, shown="<computer.Keyboard object>"
            ),
            "clipboard": _clipboard(automation, update, print_),
            "os": _os(automation, print_),
            "window_manager": _window_manager(automation, print_),
            "search": None,
        },
        shown="<computer.Computer object>",
    )


def human_object() -> SimObject:
    """Return `human`; its dialogs would stay unanswered here."""

    def ask(*_: Any, **__: Any) -> None:
        raise NotSimulatedError("dialogs that wait for a person")

    return SimObject(
        "Human", {"ask_question": ask, "ask_action": ask}, shown="<human.Human object>"
    )


def _opened(picture: bytes) -> Image.Image:
    with Image.open(io.BytesIO(picture)) as opened:
        whole: Image.Image = opened.convert("RGB")
        return whole


def _after(automation: Automation) -> None:
    automation.desktop.machine.clock.advance(_AFTER_S)


def _mouse(automation: Automation, update: ComputerUpdate) -> SimObject:
    origin = update.window_rect

    def place(x: float, y: float) -> None:
        automation.move_to(x + origin[0], y + origin[1])
        _after(automation)

    def move_id(id: Any) -> None:  # noqa: A002  # WAA's name
        # not checked, as in WAA: -1 is the last one, and ids are text where the rectangles are a mapping
        rect = update.rects[id]
        x, y = (rect[0] + rect[2]) // 2, (rect[1] + rect[3]) // 2
        place(x * update.scale[0], y * update.scale[1])
        mouse.set("current_id", id)

    def move_abs(x: float, y: float) -> None:
        # fractions of the window, without the scale: pixels send the pointer to a corner, as in WAA
        place(int(x * (origin[2] - origin[0])), int(y * (origin[3] - origin[1])))

    def clicker(button: str, clicks: int = 1) -> Callable[[], object]:
        def click() -> None:
            automation.click(button=button, clicks=clicks)
            _after(automation)

        return click

    def scroll(dir: str = "down") -> None:  # noqa: A002  # WAA's name
        if dir not in {"up", "down"}:
            raise ValueError("direction must be 'up' or 'down'")
        automation.scroll(_WHEEL if dir == "up" else -_WHEEL)
        _after(automation)

    def drag(screen_x: float, screen_y: float) -> None:
        automation.drag_to(screen_x, screen_y, button="left")
        _after(automation)

    mouse = SimObject(
        "Mouse",
        {
            "move_id": move_id, "move_abs": move_abs, "single_click": clicker("left"), "double_click": clicker("left", 2),
            "right_click": clicker("right"), "scroll": scroll, "drag": drag, "current_id": None,
            "rects": update.rects, "window_rect": update.window_rect, "scale": update.scale,
        },
        shown="<computer.Mouse object>",
    )  # fmt: skip
    return mouse


def _clipboard(
    automation: Automation, update: ComputerUpdate, print_: Callable[..., None]
) -> SimObject:
    machine = automation.desktop.machine
    lead = "alt" if update.swap_ctrl_alt else "ctrl"

    def copy_text(text: Any = None) -> None:
        # copied first: the server refuses a request that prints "error", but the copy remains
        print_(text)
        if text is not None:
            machine.clipboard.copy_text(str(text))
        else:
            automation.click(clicks=2)
            automation.hotkey(lead, "c")
        update.clipboard_content = text

    def copy_image(id: Any, description: str = "") -> None:  # noqa: A002  # WAA's name
        left, top, right, bottom = (int(each) for each in update.rects[id])
        machine.clipboard.copy_picture(_opened(update.screenshot).crop((left, top, right, bottom)))
        update.clipboard_content = description

    def paste() -> None:
        automation.hotkey(lead, "v")
        _after(automation)

    return SimObject(
        "Clipboard",
        {
            "copy_text": copy_text,
            "copy_image": copy_image,
            "paste": paste,
            "view_clipboard": lambda: machine.clipboard.text,
        },
        computed={"clipboard_content": lambda: update.clipboard_content},
        shown="<computer.Clipboard object>",
    )


def _os(automation: Automation, print_: Callable[..., None]) -> SimObject:
    desktop = automation.desktop

    def maximize_window(window: Any = None) -> None:
        del window
        if desktop.active is not None and desktop.active.resizable:
            desktop.active.maximized = True
            desktop.touch()
        _after(automation)

    def is_installed(program: str) -> bool:
        for path in _APP_PATHS:
            found = desktop.machine.registry.get(f"{path}\\{program}.exe", "")
            if found is not None and found.data:
                return True
        return desktop.programs.can_start(program)

    def open_program(program: str) -> None:
        if not is_installed(program):
            # printing "error" makes the server answer 500
            print_(f"error: Program {program} is not installed")
            return
        desktop.programs.launch(["start", program])
        automation.press("esc")
        maximize_window()
        # WAA presses Escape four times, seconds apart, to dismiss programs' questions at startup
        for _number in range(3):
            automation.press("esc")
            desktop.machine.clock.advance(1.0)

    return SimObject(
        "OS",
        {
            "maximize_window": maximize_window,
            "is_installed": is_installed,
            "open_program": open_program,
        },
        shown="<computer.OS object>",
    )


def _window_manager(automation: Automation, print_: Callable[..., None]) -> SimObject:
    desktop = automation.desktop

    def titles() -> list[str]:
        return open_titles(desktop)

    def switch_to_application(app_name: str) -> None:
        wanted = " ".join(app_name.split())
        known = {" ".join(w.title.split()): w for w in reversed(desktop.windows)}
        closest = difflib.get_close_matches(wanted, list(known)[::-1][:MAX_TITLES], n=1)
        if not closest:
            # worded without "error", which would make the server answer 500: no match is a success
            print_(f"No open window found for the application '{wanted}'")
            return
        window = known[closest[0]]
        desktop.activate(window)
        window.maximized = window.resizable
        automation.press("esc")
        _after(automation)

    return SimObject(
        "WindowManager",
        {"find_open_applications": titles, "switch_to_application": switch_to_application},
        shown="<computer.WindowManager object>",
    )


MAX_TITLES = 100  # comparing names takes quadratic time


def open_titles(desktop: Desktop) -> list[str]:
    """Return the titles of the open windows, each once, as `/obs_winagent` lists them."""
    titles = [window.title for window in reversed(desktop.windows)]
    return list(dict.fromkeys([*titles, "Program Manager"]))
