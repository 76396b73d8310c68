"""Tests are collected alike by every process, under ids that are words."""

from __future__ import annotations

import shutil
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path

CHANGING = """
import os, time, pytest

@pytest.mark.parametrize("second", [int(time.time())])
def test_of_clock(second): ...

@pytest.mark.parametrize("name", {f"name{each}" for each in range(20)})
def test_of_a_set(name): ...

@pytest.mark.parametrize("where", [object()], ids=lambda each: str(id(each) + os.getpid()))
def test_of_an_address(where): ...

@pytest.mark.parametrize("where", [os.environ["HOME"]], ids=str)
def test_of_a_home(where): ...

@pytest.mark.parametrize("zone", [time.tzname[0]])
def test_of_a_zone(zone): ...

@pytest.mark.parametrize("name", ["same"])
def test_of_nothing(name): ...
"""
VALUES = r"""
import re, pytest

@pytest.mark.parametrize(
    "value",
    [b"\x1f\x8b", "\x1b[31m", "Verify that two mails were sent", re.compile("^a{2,3}\\D$"),
     lambda: 0, "x" * 500, 0.5, None],
)
def test_value(value): ...
"""


def collect(root: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    campaign = root / "integration_tests/campaigns/campaign_collection.py"
    command = [sys.executable, str(campaign), "--times", "1", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.mark.slow
def test_two_processes_collect_the_same_tests_of_several_packages(root: Path) -> None:
    # those of each package are collected alike, or pytest-xdist would not run them; the campaign collects all
    folders = [str(root / f"packages/{each}/tests") for each in ("bench-report", "waa-client")]
    done = collect(root, "--together", *folders)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "1 of 1 collections agree" in done.stdout


def test_ids_that_change_with_their_surroundings_are_told(root: Path, tmp_path: Path) -> None:
    (tmp_path / "test_changing.py").write_text(CHANGING)
    done = collect(root, str(tmp_path))
    assert done.returncode == 1
    for name in ("clock", "a_set", "an_address", "a_home", "a_zone"):
        assert f"test_of_{name}[" in done.stdout
    assert "test_of_nothing" not in done.stdout


@pytest.fixture
def named(root: Path, tmp_path: Path) -> Path:
    """A folder whose tests are named as those of this repository are."""
    shutil.copy(root / "conftest.py", tmp_path)
    return tmp_path


def ids(folder: Path) -> list[str]:
    command = [sys.executable, "-m", "pytest", "--collect-only", "-q", str(folder)]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return [line.partition("[")[2][:-1] for line in done.stdout.splitlines() if "::" in line]


def test_values_are_named_by_their_words_and_numbered_where_they_have_none(named: Path) -> None:
    (named / "test_values.py").write_text(VALUES)
    assert ids(named) == [
        "value0",
        "31m",
        "Verify-that-two-mails-were-sen",
        "a-2-3-D",
        "value1",
        "x" * 30,
        "0.5",
        "None",
    ]


@pytest.mark.parametrize("given", ["'\\\\x1f'", "'x' * 101"], ids=["bytes", "long"])
def test_an_id_that_is_no_words_is_refused(named: Path, given: str) -> None:
    case = f"pytest.param(1, id={given})"
    source = f"import pytest\n@pytest.mark.parametrize('a', [{case}])\ndef test_one(a): ...\n"
    (named / "test_given.py").write_text(source)
    with pytest.raises(AssertionError, match="name this case in words"):
        ids(named)
