"""Interpreters are looked for on PATH and under pyenv, whose shims do not count."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest
from nox_support.interpreters import search_path

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def pyenv(tmp_path: Path) -> Path:
    """A pyenv with three releases and two folders that hold no CPython release."""
    for name in ("3.9.18", "3.10.2", "3.13.0", "pypy3.10-7.3", "my-env"):
        (tmp_path / ".pyenv/versions" / name / "bin").mkdir(parents=True)
    return tmp_path / ".pyenv"


def entries(home: Path, **environ: str) -> list[str]:
    return search_path(environ, home).split(os.pathsep)


def test_shims_are_replaced_by_the_releases_newest_first(pyenv: Path) -> None:
    shims = str(pyenv / "shims")
    path = os.pathsep.join(["/first", shims, "/last", shims])
    assert entries(pyenv.parent, PATH=path) == [
        "/first",
        str(pyenv / "versions/3.13.0/bin"),
        str(pyenv / "versions/3.10.2/bin"),
        str(pyenv / "versions/3.9.18/bin"),
        "/last",
    ]


def test_releases_come_last_where_pyenv_is_not_on_the_path(pyenv: Path) -> None:
    found = entries(pyenv.parent, PATH="/first")
    assert found[0] == "/first"
    assert found[1] == str(pyenv / "versions/3.13.0/bin")


def test_pyenv_root_tells_where_pyenv_is(pyenv: Path, tmp_path: Path) -> None:
    found = entries(tmp_path / "elsewhere", PATH="/first", PYENV_ROOT=str(pyenv))
    assert str(pyenv / "versions/3.10.2/bin") in found


def test_without_pyenv_the_path_stays_as_it_is(tmp_path: Path) -> None:
    assert entries(tmp_path, PATH="/first:/last") == ["/first", "/last"]
