"""The Chromium of the tests is the one named, else the system's, else Playwright's."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from nox_support.chromium import ChromiumMissingError, find

if TYPE_CHECKING:
    from pathlib import Path


def program(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.touch(mode=0o755)
    return path


def test_the_one_named_in_chrome_path_wins(tmp_path: Path) -> None:
    named = program(tmp_path / "mine")
    program(tmp_path / "bin/chromium")
    environ = {"CHROME_PATH": str(named), "PATH": str(tmp_path / "bin")}
    assert find(environ) == named


def test_a_chrome_path_that_leads_nowhere_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ChromiumMissingError, match=r"CHROME_PATH is .*nowhere"):
        find({"CHROME_PATH": str(tmp_path / "nowhere")})


def test_the_system_comes_before_playwright(tmp_path: Path) -> None:
    chrome = program(tmp_path / "bin/google-chrome")
    program(tmp_path / ".cache/ms-playwright/chromium-1200/chrome-linux/chrome")
    assert find({"HOME": str(tmp_path), "PATH": str(tmp_path / "bin")}) == chrome


@pytest.mark.parametrize("folder", ["chrome-linux", "chrome-linux64"])
def test_playwright_has_one_where_the_system_has_none(tmp_path: Path, folder: str) -> None:
    chrome = program(tmp_path / "browsers/chromium-1200" / folder / "chrome")
    environ = {"PATH": "", "PLAYWRIGHT_BROWSERS_PATH": str(tmp_path / "browsers")}
    assert find(environ) == chrome
