"""Everything the simulated computer remembers except its open windows."""

from __future__ import annotations

import functools
import json
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from waa_server_ext.simulate.machine.clock import START, SimulatedClock
from waa_server_ext.simulate.machine.filesystem import HIDDEN, HOME, FileSystem
from waa_server_ext.simulate.machine.registry import Registry

if TYPE_CHECKING:
    import datetime as dt

    from PIL import Image

POLICY = (
    "HKCU\\Software\\Microsoft\\Windows\\CurrentVersion\\StorageSense\\Parameters\\StoragePolicy"
)
WALLPAPER = "C:\\Windows\\Web\\Wallpaper\\Windows\\img0.jpg"
EXPLORER_ADVANCED = "HKCU\\Software\\Microsoft\\Windows\\CurrentVersion\\Explorer\\Advanced"
PUSH = "HKCU\\Software\\Microsoft\\Windows\\CurrentVersion\\PushNotifications"
NIGHT_LIGHT = (
    "HKCU\\Software\\Microsoft\\Windows\\CurrentVersion\\CloudStore\\Store\\DefaultAccount\\Current"
    "\\default$windows.data.bluelightreduction.settings\\windows.data.bluelightreduction.settings"
)
_VARIABLE = re.compile("%[A-Z]+%", re.IGNORECASE)
_MAX_EXPANDED = 250_000  # a command line may hold a program of this length


@dataclass(frozen=True)
class TimeZone:
    """A time zone as `Get-TimeZone` names it."""

    display: str
    standard: str
    hours: float


TIME_ZONES = (
    TimeZone("(UTC-10:00) Hawaii", "Hawaiian Standard Time", -10),
    TimeZone("(UTC-09:00) Alaska", "Alaskan Standard Time", -9),
    TimeZone("(UTC-08:00) Pacific Time (US & Canada)", "Pacific Standard Time", -8),
    TimeZone("(UTC-07:00) Mountain Time (US & Canada)", "Mountain Standard Time", -7),
    TimeZone("(UTC-06:00) Central Time (US & Canada)", "Central Standard Time", -6),
    TimeZone("(UTC-05:00) Eastern Time (US & Canada)", "Eastern Standard Time", -5),
    TimeZone("(UTC) Coordinated Universal Time", "UTC", 0),
    TimeZone("(UTC+00:00) Dublin, Edinburgh, Lisbon, London", "GMT Standard Time", 0),
    TimeZone("(UTC+01:00) Amsterdam, Berlin, Bern, Rome, Stockholm, Vienna", "W. Europe Standard Time", 1),
    TimeZone("(UTC+02:00) Athens, Bucharest", "GTB Standard Time", 2),
    TimeZone("(UTC+05:30) Chennai, Kolkata, Mumbai, New Delhi", "India Standard Time", 5.5),
    TimeZone("(UTC+08:00) Beijing, Chongqing, Hong Kong, Urumqi", "China Standard Time", 8),
    TimeZone("(UTC+09:00) Osaka, Sapporo, Tokyo", "Tokyo Standard Time", 9),
    TimeZone("(UTC+10:00) Canberra, Melbourne, Sydney", "AUS Eastern Standard Time", 10),
)  # fmt: skip


@dataclass
class Clipboard:
    """The clipboard: text, a picture, or files (to be moved if `cut`)."""

    text: str = ""
    picture: Image.Image | None = None
    files: tuple[str, ...] = ()
    cut: bool = False

    def copy_text(self, text: str) -> None:
        """Hold text and nothing else."""
        self.text, self.picture, self.files, self.cut = text, None, (), False

    def copy_picture(self, picture: Image.Image) -> None:
        """Hold a picture and nothing else."""
        self.text, self.picture, self.files, self.cut = "", picture, (), False

    def copy_files(self, paths: tuple[str, ...], *, cut: bool) -> None:
        """Hold files and nothing else."""
        self.text, self.picture, self.files, self.cut = "", None, paths, cut


@dataclass
class Timer:
    """A timer of the Clock app; `started` is `None` while it is stopped."""

    hours: int
    minutes: int
    seconds: int
    name: str = "Timer"
    started: float | None = None

    @property
    def length(self) -> int:
        """Its length in seconds."""
        return self.hours * 3600 + self.minutes * 60 + self.seconds


@dataclass
class Machine:
    """Files, registry, clipboard, accounts and settings; windows and processes are the desktop's."""

    clock: SimulatedClock
    files: FileSystem
    registry: Registry
    seed: int = 0
    clipboard: Clipboard = field(default_factory=Clipboard)
    users: list[str] = field(default_factory=lambda: ["Docker", "Administrator", "Guest"])
    libraries: dict[str, list[str]] = field(default_factory=dict)
    zone: TimeZone = TIME_ZONES[6]
    timers: list[Timer] = field(default_factory=list)
    world_clocks: list[tuple[str, str]] = field(default_factory=list)
    extensions: list[str] = field(default_factory=list)
    packages: list[dict[str, str]] = field(default_factory=list)

    @classmethod
    def fresh(cls, *, seed: int = 0, now: dt.datetime = START) -> Machine:
        """Return a freshly installed Windows."""
        clock = SimulatedClock(now)
        machine = cls(clock, FileSystem(clock), Registry(), seed)
        files, made = machine.files, _fresh()
        for path in made["folders"]:
            files.make_folder(path, parents=True, exist_ok=True)
        for path in made["hidden"]:
            files.update(path, attributes=HIDDEN)
        for path in made["programs"]:
            files.write(path, b"MZ")
        for path, name, value in made["registry"]:
            machine.registry.set(path, name, tuple(value) if isinstance(value, list) else value)
        machine.libraries = {name: list(places) for name, places in made["libraries"].items()}
        machine.timers = [Timer(*each) for each in made["timers"]]
        machine.packages = [dict(each) for each in made["packages"]]
        return machine

    @property
    def environment(self) -> dict[str, str]:
        """The environment variables of the user."""
        return dict(_fresh()["environment"])

    def expand(self, text: str) -> str:
        """Return `text` with `~` and `%NAME%` replaced, as `os.path` does."""
        if len(text) > _MAX_EXPANDED:
            raise OSError(206, "The filename or extension is too long", text[:80])
        if text.startswith("~") and (len(text) == 1 or text[1] in "/\\"):
            text = HOME + text[1:]
        if "%" not in text:
            return text
        known = {f"%{name.casefold()}%": value for name, value in self.environment.items()}
        return _VARIABLE.sub(lambda found: known.get(found[0].casefold(), found[0]), text)

    @property
    def wallpaper(self) -> str:
        """The path of the desktop picture; empty for a solid color."""
        found = self.registry.get("HKCU\\Control Panel\\Desktop", "WallPaper")
        return str(found.data) if found else ""

    @property
    def show_hidden(self) -> bool:
        """Whether File Explorer shows hidden items."""
        return self.registry.number(EXPLORER_ADVANCED, "Hidden", 2) == 1


@functools.cache
def _fresh() -> dict[str, Any]:
    """Load the contents of a freshly installed Windows."""
    made: dict[str, Any] = json.loads(Path(__file__).with_name("fresh.json").read_text("utf-8"))
    return made


def night_light_bytes(
    *, on: bool, start: tuple[int, int] | None = None, end: tuple[int, int] | None = None
) -> tuple[int, ...]:
    """Return the Night light settings as WAA's getter decodes them.

    Byte 24 is 1 if it is on, byte 28 the first hour (202 without a schedule). A minute other than 0 is
    written as a marker 46 and its value, which shifts everything after it by two bytes.
    """
    head = [67, 66, 1, 0, 10, 2, 1, 0, 42, 6, 1, 2, 3, 4, 5, 6, 42, 43, 14, 29, 67, 66, 1, 0]
    if start is None or end is None:
        return (*head, int(on), 2, 0, 0, 202, 20, 14, 0, 202, 30, 14, 0, 0)
    # if the start has no minutes, the getter expects the end hour at byte 33
    first = (start[0], 46, start[1]) if start[1] else (start[0],)
    last = (end[0], 46, end[1]) if end[1] else (end[0], 0, 0)
    return (*head, int(on), 2, 1, 202, *first, 0, 0, 202, 30, *last, 0, 0, 202, 50, 0)
