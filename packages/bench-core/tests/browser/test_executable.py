from __future__ import annotations

import stat
import sys
from typing import TYPE_CHECKING

import pytest

from bench_core.browser import find_chromium
from bench_core.browser.executable import Machine, install_command
from bench_core.errors import BrowserError

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="files carry no execute bit there")


def executable(path: Path, text: str = "#!/bin/sh\n") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path


def machine(tmp_path: Path, platform: str = "linux", **environment: str) -> Machine:
    environment.setdefault("PATH", str(tmp_path / "bin"))
    return Machine(platform, environment, tmp_path / "home", tmp_path, is_root=False)


def os_release(tmp_path: Path, text: str) -> None:
    (tmp_path / "etc").mkdir()
    (tmp_path / "etc/os-release").write_text(text, encoding="utf-8")


def test_chrome_path_wins_over_the_search_path(tmp_path: Path) -> None:
    executable(tmp_path / "bin/chromium")
    mine = executable(tmp_path / "mine")
    assert find_chromium(machine(tmp_path, CHROME_PATH=str(mine))) == mine


def test_chrome_path_may_be_a_name_on_the_search_path(tmp_path: Path) -> None:
    mine = executable(tmp_path / "bin/my-chrome")
    assert find_chromium(machine(tmp_path, CHROME_PATH="my-chrome")) == mine


def test_an_unusable_chrome_path_is_an_error_and_not_passed_over(tmp_path: Path) -> None:
    executable(tmp_path / "bin/chromium")
    with pytest.raises(BrowserError, match="CHROME_PATH is '/nowhere/chrome'"):
        find_chromium(machine(tmp_path, CHROME_PATH="/nowhere/chrome"))


@pytest.mark.parametrize(
    "name", ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"]
)
def test_the_usual_names_are_looked_up_on_the_search_path(tmp_path: Path, name: str) -> None:
    path = executable(tmp_path / "bin" / name)
    assert find_chromium(machine(tmp_path)) == path


def test_chromium_wins_over_google_chrome(tmp_path: Path) -> None:
    executable(tmp_path / "bin/google-chrome")
    path = executable(tmp_path / "bin/chromium")
    assert find_chromium(machine(tmp_path)) == path


def test_the_script_that_only_asks_for_the_snap_is_passed_over(tmp_path: Path) -> None:
    executable(
        tmp_path / "bin/chromium-browser", "#!/bin/sh\n[ -x /snap/bin/chromium ] || exit 1\n"
    )
    chrome = executable(tmp_path / "bin/google-chrome")
    assert find_chromium(machine(tmp_path)) == chrome


@pytest.mark.parametrize(
    ("platform", "place"),
    [
        ("darwin", "Applications/Chromium.app/Contents/MacOS/Chromium"),
        ("darwin", "home/Applications/Google Chrome.app/Contents/MacOS/Google Chrome"),
        ("linux", "opt/google/chrome/chrome"),
        ("win32", "programs/Google/Chrome/Application/chrome.exe"),
    ],
)
def test_the_usual_places_of_each_system(tmp_path: Path, platform: str, place: str) -> None:
    path = executable(tmp_path / place)
    there = machine(tmp_path, platform, PROGRAMFILES=str(tmp_path / "programs"))
    assert find_chromium(there) == path


@pytest.mark.parametrize(
    ("platform", "cache", "build"),
    [
        ("linux", "home/.cache/ms-playwright", "chrome-linux/chrome"),
        ("linux", "home/.cache/ms-playwright", "chrome-linux64/chrome"),
        (
            "darwin",
            "home/Library/Caches/ms-playwright",
            "chrome-mac/Chromium.app/Contents/MacOS/Chromium",
        ),
        ("win32", "home/AppData/Local/ms-playwright", "chrome-win/chrome.exe"),
    ],
)
def test_a_playwright_build_is_the_last_resort_and_the_newest_wins(
    tmp_path: Path, platform: str, cache: str, build: str
) -> None:
    executable(tmp_path / cache / "chromium-999" / build)
    newest = executable(tmp_path / cache / "chromium-1200" / build)
    assert find_chromium(machine(tmp_path, platform)) == newest


def test_playwright_builds_elsewhere_are_found_by_its_own_variable(tmp_path: Path) -> None:
    path = executable(tmp_path / "elsewhere/chromium-1/chrome-linux/chrome")
    there = machine(tmp_path, PLAYWRIGHT_BROWSERS_PATH=str(tmp_path / "elsewhere"))
    assert find_chromium(there) == path


def test_nothing_found_names_the_command_that_installs_one(tmp_path: Path) -> None:
    os_release(tmp_path, "ID=debian\n")
    with pytest.raises(BrowserError, match=r"`sudo apt-get install -y chromium`.*CHROME_PATH"):
        find_chromium(machine(tmp_path))


@pytest.mark.parametrize(
    ("release", "command"),
    [
        ("ID=debian\n", "sudo apt-get install -y chromium"),
        ('ID="ubuntu"\nID_LIKE=debian\n', "sudo snap install chromium"),
        ('ID=linuxmint\nID_LIKE="ubuntu debian"\n', "sudo snap install chromium"),
        ('ID="rocky"\nID_LIKE="rhel centos fedora"\n', "sudo dnf install -y chromium"),
        ("ID=arch\n", "sudo pacman -S --noconfirm chromium"),
        ("ID=plan9\n", "pip install playwright && playwright install --with-deps chromium"),
    ],
)
def test_the_install_command_fits_the_distribution(
    tmp_path: Path, release: str, command: str
) -> None:
    os_release(tmp_path, release)
    assert install_command(machine(tmp_path)) == command


def test_root_installs_without_sudo(tmp_path: Path) -> None:
    os_release(tmp_path, "ID=debian\n")
    root = Machine("linux", {}, tmp_path, tmp_path, is_root=True)
    assert install_command(root) == "apt-get install -y chromium"


@pytest.mark.parametrize(
    ("platform", "command"),
    [
        ("darwin", "brew install --cask google-chrome"),
        ("win32", "winget install --id Google.Chrome"),
    ],
)
def test_the_install_command_of_other_systems(tmp_path: Path, platform: str, command: str) -> None:
    assert install_command(machine(tmp_path, platform)) == command
