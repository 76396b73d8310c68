"""The programs of the simulated computer; a new app is entered here."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

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
from waa_server_ext.simulate.ui.windows import Desktop, Window


@dataclass(frozen=True)
class Program:
    """A program: its process, its names on a command line, and how its window is made."""

    exe: str
    title: str
    icon: str
    make: Callable[[Desktop, Sequence[str]], Window | None]
    aliases: tuple[str, ...] = ()
    pinned: bool = False


CATALOGUE = (
    Program("explorer.exe", "File Explorer", "folder", open_explorer, pinned=True),
    Program(
        "msedge.exe",
        "Microsoft Edge",
        "app:#0f7c8f:e",
        open_edge,
        ("microsoft-edge:",),
        pinned=True,
    ),
    Program(
        "chrome.exe", "Google Chrome", "app:#2f8f46:C", open_chrome, ("google-chrome",), pinned=True
    ),
    Program("notepad.exe", "Notepad", "app:#4b8fc4:N", open_notepad, pinned=True),
    Program(
        "ApplicationFrameHost.exe", "Clock", "app:#1f4e8c:O", open_clock, ("ms-clock:", "clock")
    ),
    Program(
        "CalculatorApp.exe",
        "Calculator",
        "app:#4a5560:=",
        open_calculator,
        ("calc", "calculator:", "calc.exe"),
    ),
    Program("mspaint.exe", "Paint", "app:#8a5bb5:P", open_paint, ("pbrush", "ms-paint:")),
    Program("SystemSettings.exe", "Settings", "app:#5a6b7b:S", open_settings, ("ms-settings:",)),
    Program("Code.exe", "Visual Studio Code", "app:#1f7ac0:V", open_code, ("vscode",)),
    Program("vlc.exe", "VLC media player", "app:#d97b1a:V", open_player),
    Program(
        "soffice.exe",
        "LibreOffice",
        "app:#2a7a4b:L",
        open_office,
        ("libreoffice", "swriter", "scalc", "simpress"),
    ),
)
