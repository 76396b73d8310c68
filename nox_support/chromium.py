"""Find a Chromium for the tests, or install the distribution's where that needs no questions.

Runs before anything of this repository is installed, hence apart from `bench_core.browser`.
"""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["ChromiumMissingError", "advice", "ensure", "find", "find_shell"]

_NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
_APPLICATIONS = (
    "/Applications/Chromium.app/Contents/MacOS/Chromium",
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
    r"C:\Program Files\Google\Chrome\Application\chrome.exe",
    r"C:\Program Files (x86)\Google\Chrome\Application\chrome.exe",
)
_PLAYWRIGHT_CACHES = (
    ".cache/ms-playwright",
    "Library/Caches/ms-playwright",
    "AppData/Local/ms-playwright",
)
_PLAYWRIGHT_BINARIES = (
    "chromium-*/chrome-linux*/chrome",
    "chromium-*/chrome-mac*/*.app/Contents/MacOS/*",
    "chromium-*/chrome-win*/chrome.exe",
)
_PLAYWRIGHT_SHELLS = (
    "chromium_headless_shell-*/chrome-*/headless_shell",
    "chromium_headless_shell-*/chrome-headless-shell-*/chrome-headless-shell*",
)
_PLAYWRIGHT = (
    "python3 -m pip install playwright && python3 -m playwright install --with-deps chromium"
)
_COMMANDS = {
    "apt-get": "sudo apt-get update && sudo apt-get install -y chromium libatomic1",
    "dnf": "sudo dnf install -y chromium",
    "yum": "sudo yum install -y chromium",
    "zypper": "sudo zypper install -y chromium",
    "pacman": "sudo pacman -S --noconfirm chromium",
    "apk": "sudo apk add chromium",
    "brew": "brew install --cask chromium",
    "winget": "winget install --id Google.Chrome",
}
"""The command that installs a Chromium, by the package manager there is."""

_SHELL = "chromium-headless-shell"
"""Chromium without the program around it that people use: Playwright's own choice where nobody looks on."""

_DEBIANS = ("chromium", "fonts-dejavu-core", "libatomic1")
"""Debian's packages: without what they recommend, but with letters to draw and what Playwright's Node needs."""


class ChromiumMissingError(Exception):
    """There is no Chromium and it cannot be installed without the user; the message says how."""


def ensure() -> Path:
    """Return a Chromium, installing the distribution's on Debian when we have the rights.

    Raises:
        ChromiumMissingError: The user has to install one.
    """
    found = find(os.environ) or (_install() and find(os.environ))
    if not found:
        raise ChromiumMissingError(
            f"no Chromium was found; install one with\n\n    {advice()}\n\n"
            "or name an installed one in the environment variable CHROME_PATH"
        )
    return found


def find(environ: Mapping[str, str]) -> Path | None:
    """Return the Chromium of CHROME_PATH, else of the system, else Playwright's, else nothing.

    Raises:
        ChromiumMissingError: CHROME_PATH is set and there is no such file.
    """
    if named := environ.get("CHROME_PATH"):
        if not Path(named).is_file():
            raise ChromiumMissingError(f"CHROME_PATH is {named!r} and there is no such file")
        return Path(named)
    on_path = (shutil.which(name, path=environ.get("PATH")) for name in _NAMES)
    if found := next((each for each in on_path if each), None):
        return Path(found)
    installed = (Path(each) for each in _APPLICATIONS)
    return next((each for each in installed if each.is_file()), None) or _playwright(
        environ, _PLAYWRIGHT_BINARIES
    )


def find_shell(environ: Mapping[str, str]) -> Path | None:
    """Return the headless shell of the system, else Playwright's; nothing where CHROME_PATH says what to use."""
    if environ.get("CHROME_PATH"):
        return None
    found = shutil.which(_SHELL, path=environ.get("PATH"))
    return Path(found) if found else _playwright(environ, _PLAYWRIGHT_SHELLS)


def _playwright(environ: Mapping[str, str], binaries: Sequence[str]) -> Path | None:
    """Return the newest of these programs that Playwright has downloaded."""
    named = environ.get("PLAYWRIGHT_BROWSERS_PATH")
    home = Path(environ.get("HOME") or Path.home())
    caches = [Path(named)] if named else [home / each for each in _PLAYWRIGHT_CACHES]
    found = [path for cache in caches for each in binaries for path in cache.glob(each)]
    return max(found, key=lambda path: path.stat().st_mtime, default=None)


def advice() -> str:
    """Return the command that installs a Chromium on this system."""
    if "ubuntu" in _distribution():
        return _PLAYWRIGHT  # its chromium package is a snap, which cannot read profiles in /tmp
    manager = next((each for each in _COMMANDS if shutil.which(each)), None)
    return _COMMANDS[manager] if manager else _PLAYWRIGHT


def _install() -> bool:
    """Install Debian's Chromium if this is Debian and no password is needed for it."""
    family = _distribution()
    if "debian" not in family or "ubuntu" in family or (root := _as_root()) is None:
        return False
    apt = [*root, "env", "DEBIAN_FRONTEND=noninteractive", "apt-get"]
    install = [*apt, "install", "-y", "--no-install-recommends"]
    print(
        f"no Chromium was found; installing Debian's: {' '.join([*install, *_DEBIANS])}", flush=True
    )
    if not (_succeeds([*apt, "update"]) and _succeeds([*install, *_DEBIANS])):
        return False
    _succeeds([*install, _SHELL])  # by itself, as not all that derive from Debian have it
    return True


def _distribution() -> set[str]:
    """Return the names of this Linux distribution and of those it derives from."""
    if not sys.platform.startswith("linux"):
        return set()
    try:
        release = platform.freedesktop_os_release()
    except OSError:
        return set()
    return {release.get("ID", ""), *release.get("ID_LIKE", "").split()}


def _as_root() -> list[str] | None:
    """Return what turns a command into one run as root, or nothing without those rights."""
    if os.geteuid() == 0:
        return []
    sudo = ["sudo", "-n"]
    return sudo if shutil.which("sudo") and _succeeds([*sudo, "true"]) else None


def _succeeds(command: list[str]) -> bool:
    done = subprocess.run(command, check=False, stdin=subprocess.DEVNULL)  # noqa: S603  # our words
    return done.returncode == 0
