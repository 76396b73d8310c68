"""Wheels are built again when their sources changed, and only then."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from nox_support import wheels
from nox_support.packages import Package, package

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A repository of two packages."""
    for name in ("bench-core", "waa-client"):
        module = name.replace("-", "_")
        source = tmp_path / "packages" / name / "src" / module
        source.mkdir(parents=True)
        (source / "__about__.py").write_text('__version__ = "0.1.0"\n', encoding="utf-8")
        (source.parent.parent / "pyproject.toml").write_text(f'[project]\nname = "{name}"\n')
    return tmp_path


@pytest.fixture
def dist(root: Path) -> Path:
    """A folder that holds what was built of both."""
    folder = root / "dist"
    folder.mkdir()
    both = [package("bench-core", root), package("waa-client", root)]
    for each in both:
        for kind in ("-py3-none-any.whl", ".tar.gz"):
            (folder / f"{each.module}-0.1.0{kind}").touch()
    wheels.record(folder, both)
    return folder


def names(found: list[Package]) -> list[str]:
    return [each.name for each in found]


def test_an_empty_folder_lacks_everything(root: Path, tmp_path: Path) -> None:
    assert names(wheels.stale(tmp_path / "none", root)) == ["bench-core", "waa-client"]


def test_what_was_recorded_is_up_to_date(root: Path, dist: Path) -> None:
    assert wheels.stale(dist, root) == []


def test_a_changed_source_makes_only_its_package_stale(root: Path, dist: Path) -> None:
    (package("waa-client", root).about.parent / "new.py").touch()
    assert names(wheels.stale(dist, root)) == ["waa-client"]


def test_compiled_files_are_not_sources(root: Path, dist: Path) -> None:
    cache = package("waa-client", root).about.parent / "__pycache__"
    cache.mkdir()
    (cache / "x.pyc").touch()
    assert wheels.stale(dist, root) == []


def test_a_removed_file_makes_its_package_stale(root: Path, dist: Path) -> None:
    wheels.wheel(package("bench-core", root), dist).unlink()
    assert names(wheels.stale(dist, root)) == ["bench-core"]


def test_forgetting_removes_all_versions_of_one_package(root: Path, dist: Path) -> None:
    (dist / "waa_client-0.0.9-py3-none-any.whl").touch()
    wheels.forget(package("waa-client", root), dist)
    assert sorted(each.name for each in dist.glob("*-0.*")) == [
        "bench_core-0.1.0-py3-none-any.whl",
        "bench_core-0.1.0.tar.gz",
    ]
