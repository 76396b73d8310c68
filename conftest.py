"""Ids of parametrized tests are words: short, and the same in every process that collects them.

What takes long to make is made by one of the processes that run tests, for all of them. Where CHROME_PATH is Chromium's
headless shell and FULL_CHROME_PATH all of Chromium, tests marked `full_chromium` get that.
"""

from __future__ import annotations

import os
import re
import shutil
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

_WORDS = re.compile(r"[\w .,:+@=#/%'-]{1,100}", re.ASCII)
_CHROME = os.environ.get("CHROME_PATH", "")
_FULL_CHROME = os.environ.get("FULL_CHROME_PATH", "")


def pytest_make_parametrize_id(val: object, argname: str) -> str | None:
    """Name a case by the first words of a text; what has no words is numbered by pytest."""
    text = val.pattern if isinstance(val, re.Pattern) else val
    if isinstance(text, str):
        return "-".join(re.findall(r"[A-Za-z0-9_.]+", text))[:30] or argname
    nameless = isinstance(text, bytes) or getattr(text, "__name__", "") == "<lambda>"
    return argname if nameless else None


def pytest_itemcollected(item: pytest.Item) -> None:
    """Refuse an id that is a value instead of words."""
    call = getattr(item, "callspec", None)  # a parametrized test has one
    if call and not _WORDS.fullmatch(call.id):
        raise pytest.UsageError(f"{item.nodeid}: name this case in words (pytest.param(..., id=…))")


@pytest.hookimpl(tryfirst=True)  # before a fixture starts a browser
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Say which Chromium this test gets."""
    if _FULL_CHROME:
        full = item.get_closest_marker("full_chromium")
        os.environ["CHROME_PATH"] = _FULL_CHROME if full else _CHROME


@pytest.fixture(scope="session")
def made_once(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Callable[[str, Callable[[Path], object]], Path]:
    """Return what has a folder made, in a path that `make` is given, by whichever process is first.

    The folder is for reading: tests of several processes have it at once.
    """
    own = tmp_path_factory.getbasetemp()
    shared = own.parent if hasattr(request.config, "workerinput") else own  # pytest-xdist's

    def made(name: str, make: Callable[[Path], object]) -> Path:
        import fcntl  # does not exist on Windows

        folder, ready = shared / name / "made", shared / name / "ready"
        folder.parent.mkdir(exist_ok=True)
        with (shared / name / "lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not ready.exists():
                shutil.rmtree(folder, ignore_errors=True)  # of a process that failed
                make(folder)
                ready.touch()
        return folder

    return made
