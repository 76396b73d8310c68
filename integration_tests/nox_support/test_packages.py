"""Packages are read from their folders and say where they are tested."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pytest
from nox_support.packages import Package, package, packages

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def waa_client(tmp_path: Path) -> Package:
    """A package for two Pythons, with a test."""
    folder = tmp_path / "packages/waa-client"
    (folder / "src/waa_client").mkdir(parents=True)
    (folder / "tests/deep").mkdir(parents=True)
    classifiers = [f"Programming Language :: Python :: {each}" for each in ("3", "3.10", "3.11")]
    (folder / "pyproject.toml").write_text(f"[project]\nclassifiers = {classifiers}\n")
    (folder / "tests/deep/test_it.py").write_text("def test_it(): ...\n")
    return Package(folder)


def test_bench_core_comes_first_of_the_seven(root: Path) -> None:
    assert [each.name for each in packages(root)] == [
        "bench-core",
        "bench-report",
        "llm-judge",
        "multireal-harness",
        "waa-client",
        "waa-server-ext",
        "webarena-runner",
    ]


def test_an_unknown_package_is_an_error_that_names_the_known(root: Path) -> None:
    with pytest.raises(KeyError, match="no package 'waa': there are bench-core, bench-report"):
        package("waa", root)


def test_pythons_are_the_classifiers_and_this_one_when_it_is_newer(waa_client: Package) -> None:
    newer = [f"3.{sys.version_info.minor}"] if sys.version_info >= (3, 12) else []
    assert waa_client.pythons == ["3.10", "3.11", *newer]


def test_a_version_that_is_not_written_is_an_error(waa_client: Package) -> None:
    waa_client.about.write_text("version = 1\n", encoding="utf-8")
    with pytest.raises(ValueError, match=r"__about__\.py has no line"):
        _ = waa_client.version


def test_a_mark_anywhere_below_tests_asks_for_a_browser(waa_client: Package) -> None:
    assert not waa_client.has_browser_tests
    marked = waa_client.folder / "tests/deep/test_it.py"
    marked.write_text("pytestmark = pytest.mark.browser\n", encoding="utf-8")
    assert waa_client.has_browser_tests
