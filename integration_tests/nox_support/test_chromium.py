"""The Chromium of the tests is the one named, else the system's, else Playwright's; most need but its headless shell."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from nox_support.chromium import ChromiumMissingError, find, find_shell

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


def test_the_systems_shell_comes_before_playwrights(tmp_path: Path) -> None:
    shell = program(tmp_path / "bin/chromium-headless-shell")
    program(
        tmp_path / ".cache/ms-playwright/chromium_headless_shell-1200/chrome-linux/headless_shell"
    )
    assert find_shell({"HOME": str(tmp_path), "PATH": str(tmp_path / "bin")}) == shell


@pytest.mark.parametrize(
    "place",
    ["chrome-linux/headless_shell", "chrome-headless-shell-linux64/chrome-headless-shell"],
    ids=["to-1199", "from-1200"],
)
def test_playwright_has_a_shell_where_the_system_has_none(tmp_path: Path, place: str) -> None:
    program(tmp_path / "browsers/chromium-1200/chrome-linux/chrome")
    environ = {"PATH": "", "PLAYWRIGHT_BROWSERS_PATH": str(tmp_path / "browsers")}
    assert find_shell(environ) is None
    shell = program(tmp_path / "browsers/chromium_headless_shell-1200" / place)
    assert find_shell(environ) == shell


def test_where_chrome_path_says_what_to_use_there_is_no_shell(tmp_path: Path) -> None:
    shell = program(tmp_path / "bin/chromium-headless-shell")
    environ = {"PATH": str(shell.parent)}
    assert find_shell(environ) == shell
    assert find_shell({**environ, "CHROME_PATH": str(program(tmp_path / "mine"))}) is None


TWO = """
import os, pytest

def test_most(): assert os.environ["CHROME_PATH"] == "shell"

@pytest.mark.full_chromium
def test_one(): assert os.environ["CHROME_PATH"] == "full"

def test_others(): assert os.environ["CHROME_PATH"] == "shell"
"""


def test_a_test_gets_the_chromium_that_it_needs(root: Path, tmp_path: Path) -> None:
    shutil.copy(root / "conftest.py", tmp_path)
    shutil.copy(root / "pyproject.toml", tmp_path)
    (tmp_path / "test_two.py").write_text(TWO)
    named = {"CHROME_PATH": "shell", "FULL_CHROME_PATH": "full"}
    command = [sys.executable, "-m", "pytest", "-q", str(tmp_path)]
    done = subprocess.run(
        command, env={**os.environ, **named}, capture_output=True, text=True, check=False
    )
    assert "3 passed" in done.stdout, done.stdout
