"""Find a Chromium on this machine, or say how to get one."""

from __future__ import annotations

import os
import re
import shutil
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from bench_core.errors import BrowserError

_NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")

_MAC_APPS = (
    "Applications/Chromium.app/Contents/MacOS/Chromium",
    "Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
)

_WINDOWS_APPS = ("Chromium/Application/chrome.exe", "Google/Chrome/Application/chrome.exe")

_PLAYWRIGHT_BUILDS = (
    "chromium-*/chrome-linux*/chrome",
    "chromium-*/chrome-mac*/*.app/Contents/MacOS/*",
    "chromium-*/chrome-win*/chrome.exe",
)

_SNAP = Path("/snap/bin/chromium")

_INSTALLERS = {
    "ubuntu": "snap install chromium",
    "debian": "apt-get install -y chromium",
    "fedora": "dnf install -y chromium",
    "rhel": "dnf install -y chromium",
    "arch": "pacman -S --noconfirm chromium",
    "alpine": "apk add chromium",
    "suse": "zypper install -y chromium",
}


@dataclass(frozen=True)
class Machine:
    """The machine on which Chromium is searched for; tests describe other machines with it.

    Attributes:
        platform: As `sys.platform`.
        environment: As `os.environ`.
        home: The user's home folder.
        root: Root of absolute paths; `/` except in tests.
        is_root: Whether commands need no `sudo`.
    """

    platform: str = sys.platform
    environment: Mapping[str, str] = field(
        default_factory=lambda: {"PATH": os.defpath, **os.environ}
    )
    home: Path = field(default_factory=Path.home)
    root: Path = Path("/")
    is_root: bool = field(default_factory=lambda: getattr(os, "geteuid", lambda: 1)() == 0)


def find_chromium(machine: Machine | None = None) -> Path:
    """Return the Chromium to use: `CHROME_PATH`, then the search path, then the usual places.

    Raises:
        BrowserError: There is none, with the command that installs one on this system, or
            `CHROME_PATH` names something that cannot be run.
    """
    machine = machine or Machine()
    named = machine.environment.get("CHROME_PATH")
    if named:
        return _named(named, machine)
    for candidate in _candidates(machine):
        if _runs(candidate) and not _is_snap_stub(candidate):
            return candidate
    raise BrowserError(
        f"no Chromium on this machine: install one with `{install_command(machine)}`, "
        "or set CHROME_PATH to the one to use"
    )


def install_command(machine: Machine | None = None) -> str:
    """Return the command that installs Chromium on this system."""
    machine = machine or Machine()
    if machine.platform == "darwin":
        return "brew install --cask google-chrome"
    if machine.platform == "win32":
        return "winget install --id Google.Chrome"
    for system in _linux_family(machine):
        if system in _INSTALLERS:
            return ("" if machine.is_root else "sudo ") + _INSTALLERS[system]
    return "pip install playwright && playwright install --with-deps chromium"


def _named(named: str, machine: Machine) -> Path:
    found = shutil.which(named, path=machine.environment.get("PATH", ""))
    if found is None:
        raise BrowserError(
            f"CHROME_PATH is {named!r}, which cannot be run: correct it, or unset it to use the "
            "Chromium found on this machine"
        )
    return Path(found)


def _candidates(machine: Machine) -> Iterator[Path]:
    for name in _NAMES:
        found = shutil.which(name, path=machine.environment.get("PATH", ""))
        if found is not None:
            yield Path(found)
    if machine.platform == "darwin":
        for base in (machine.root, machine.home):
            yield from (base / app for app in _MAC_APPS)
    elif machine.platform == "win32":
        for variable in ("PROGRAMFILES", "PROGRAMFILES(X86)", "LOCALAPPDATA"):
            folder = machine.environment.get(variable)
            if folder:
                yield from (Path(folder) / app for app in _WINDOWS_APPS)
    else:
        yield machine.root / "opt/google/chrome/chrome"
        yield machine.root / _SNAP.relative_to("/")
    builds_in = _playwright_folder(machine)
    builds = [build for pattern in _PLAYWRIGHT_BUILDS for build in builds_in.glob(pattern)]
    yield from sorted(builds, key=lambda build: _revision(build, builds_in), reverse=True)


def _playwright_folder(machine: Machine) -> Path:
    named = machine.environment.get("PLAYWRIGHT_BROWSERS_PATH")
    if named and named != "0":  # 0 means inside the Node package
        return Path(named)
    if machine.platform == "darwin":
        return machine.home / "Library/Caches/ms-playwright"
    if machine.platform == "win32":
        local = machine.environment.get("LOCALAPPDATA", str(machine.home / "AppData/Local"))
        return Path(local) / "ms-playwright"
    return machine.home / ".cache/ms-playwright"


def _revision(build: Path, folder: Path) -> int:
    digits = re.search(r"\d+", build.relative_to(folder).parts[0])
    return int(digits.group()) if digits else 0


def _runs(path: Path) -> bool:
    return path.is_file() and os.access(path, os.X_OK)


def _is_snap_stub(path: Path) -> bool:
    """Return whether `path` is Ubuntu's script that only says to install the snap."""
    with path.open("rb") as file:
        start = file.read(4096)
    return b"/snap/bin/chromium" in start and not _runs(_SNAP)


def _linux_family(machine: Machine) -> list[str]:
    """Return the distribution's own name and those it derives from, nearest first."""
    try:
        text = (machine.root / "etc/os-release").read_text(encoding="utf-8")
    except OSError:
        return []
    fields = dict(line.split("=", 1) for line in text.splitlines() if "=" in line)
    names = f"{fields.get('ID', '')} {fields.get('ID_LIKE', '')}"
    return names.replace('"', " ").lower().split()
