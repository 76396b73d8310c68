"""The apps of the simulated desktop; each module is one, and this is where a new one is entered."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from waa_server_ext.simulate.apps.browser import open_chrome, open_edge
from waa_server_ext.simulate.apps.calculator import open_calculator
from waa_server_ext.simulate.apps.clock import open_clock
from waa_server_ext.simulate.apps.code import open_code
from waa_server_ext.simulate.apps.explorer import open_explorer
from waa_server_ext.simulate.apps.notepad import open_notepad
from waa_server_ext.simulate.apps.office import open_office
from waa_server_ext.simulate.apps.paint import open_paint
from waa_server_ext.simulate.apps.player import open_player
from waa_server_ext.simulate.apps.settings import open_settings

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["catalogue"]

_CATALOGUE: tuple[tuple[Any, ...], ...] = (
    ("explorer.exe", "File Explorer", "folder", open_explorer, (), True),
    ("msedge.exe", "Microsoft Edge", "app:#0f7c8f:e", open_edge, ("microsoft-edge:",), True),
    ("chrome.exe", "Google Chrome", "app:#2f8f46:C", open_chrome, ("google-chrome",), True),
    ("notepad.exe", "Notepad", "app:#4b8fc4:N", open_notepad, (), True),
    (
        "ApplicationFrameHost.exe",
        "Clock",
        "app:#1f4e8c:O",
        open_clock,
        ("ms-clock:", "clock"),
        False,
    ),
    (
        "CalculatorApp.exe",
        "Calculator",
        "app:#4a5560:=",
        open_calculator,
        ("calc", "calculator:", "calc.exe"),
        False,
    ),
    ("mspaint.exe", "Paint", "app:#8a5bb5:P", open_paint, ("pbrush", "ms-paint:"), False),
    ("SystemSettings.exe", "Settings", "app:#5a6b7b:S", open_settings, ("ms-settings:",), False),
    ("Code.exe", "Visual Studio Code", "app:#1f7ac0:V", open_code, ("vscode",), False),
    ("vlc.exe", "VLC media player", "app:#d97b1a:V", open_player, (), False),
    (
        "soffice.exe",
        "LibreOffice",
        "app:#2a7a4b:L",
        open_office,
        ("libreoffice", "swriter", "scalc", "simpress"),
        False,
    ),
)


def catalogue() -> Iterator[tuple[Any, ...]]:
    """Yield exe, title, icon, how to open it, other names and whether it is pinned, per program."""
    yield from _CATALOGUE
