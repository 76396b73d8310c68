"""A release is made of a clean tree, a version, a changelog section and a fitting tag."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

import pytest
from nox_support.packages import package
from nox_support.releasing import (
    ReleaseError,
    check_tag,
    next_version,
    prepare,
    prepare_all,
    tag_of,
)

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A repository with everything committed."""
    for name, requires in (("bench-core", ""), ("waa-client", '"bench-core>=0.1,<0.2"')):
        folder = tmp_path / "packages" / name
        source = folder / "src" / name.replace("-", "_")
        source.mkdir(parents=True)
        (source / "__about__.py").write_text('__version__ = "0.1.0"\n', encoding="utf-8")
        (folder / "CHANGELOG.md").write_text("# Changelog\n\n## 0.1.0 - 2026-01-01\n")
        pyproject = f'[project]\nname = "{name}"\ndependencies = [{requires}]\n'
        (folder / "pyproject.toml").write_text(pyproject, encoding="utf-8")
    git(tmp_path, "init", "-q")
    git(tmp_path, "add", ".")
    git(tmp_path, "-c", "user.name=A", "-c", "user.email=a@b.c", "commit", "-qm", "Start")
    return tmp_path


def git(folder: Path, *arguments: str) -> None:
    subprocess.run(["git", *arguments], cwd=folder, check=True)


@pytest.mark.parametrize(
    ("version", "step", "following"),
    [
        ("0.1.3", "patch", "0.1.4"),
        ("0.1.3", "minor", "0.2.0"),
        ("0.1.3", "major", "1.0.0"),
        ("0.1.0", "0.1.0", "0.1.0"),
    ],
)
def test_a_step_leads_to_the_next_version(version: str, step: str, following: str) -> None:
    assert next_version(version, step) == following


@pytest.mark.parametrize("step", ["tiny", "1.2", "v1.2.3", ""])
def test_an_unknown_step_is_refused(step: str) -> None:
    with pytest.raises(ReleaseError, match="none of major, minor, patch"):
        next_version("0.1.0", step)


def test_preparing_writes_the_version(root: Path) -> None:
    released = prepare(package("waa-client", root), "minor", root)
    assert released.version == "0.2.0"
    assert released.about.read_text(encoding="utf-8") == '__version__ = "0.2.0"\n'
    assert tag_of(released) == "waa-client-v0.2.0"


def test_uncommitted_changes_stop_a_release(root: Path) -> None:
    (root / "new.txt").touch()
    with pytest.raises(ReleaseError, match=r"(?s)commit or stash.*new\.txt"):
        prepare(package("waa-client", root), "minor", root)


def test_a_bench_core_that_its_packages_refuse_is_not_released(root: Path) -> None:
    with pytest.raises(ReleaseError, match=r"waa-client: widen the range .* to admit 0\.2\.0"):
        prepare(package("bench-core", root), "minor", root)
    assert package("bench-core", root).version == "0.1.0"


def test_a_bench_core_within_their_ranges_is_released(root: Path) -> None:
    assert prepare(package("bench-core", root), "patch", root).version == "0.1.1"


def test_a_tag_names_package_version_and_changelog_section(root: Path) -> None:
    assert check_tag("waa-client-v0.1.0", root).name == "waa-client"


@pytest.mark.parametrize(
    ("tag", "complaint"),
    [
        ("waa-client-v0.3.0", "says 0.1.0"),
        ("other-v0.1.0", "no package 'other'"),
        ("v0.1.0", "no package ''"),
        ("waa-client", "no package ''"),
    ],
)
def test_a_tag_that_fits_nothing_is_refused(root: Path, tag: str, complaint: str) -> None:
    with pytest.raises(ReleaseError, match=complaint):
        check_tag(tag, root)


def test_a_version_without_a_changelog_section_is_refused(root: Path) -> None:
    prepare(package("waa-client", root), "0.1.7", root)
    with pytest.raises(ReleaseError, match=r"has no section for 0\.1\.7"):
        check_tag("waa-client-v0.1.7", root)


@pytest.mark.parametrize("asked", [">=0.1,<0.2", "==0.1.0"])
def test_a_release_of_all_bumps_each_and_asks_for_the_new_bench_core(
    root: Path, asked: str
) -> None:
    pyproject = root / "packages" / "waa-client" / "pyproject.toml"
    pyproject.write_text(pyproject.read_text().replace(">=0.1,<0.2", asked))
    who = ["-c", "user.name=A", "-c", "user.email=a@b.c"]
    git(root, *who, "commit", "-qam", "Ask", "--allow-empty")
    released = prepare_all("minor", root)
    assert [each.version for each in released] == ["0.2.0", "0.2.0"]
    assert package("waa-client", root).project["dependencies"] == ["bench-core>=0.2.0,<0.3"]


def test_pages_name_the_version_that_is_released_and_no_other(root: Path) -> None:
    page = root / "README.md"
    page.write_text("pip install 'waa-client[openai]==0.1.0' bench-core==0.1.0 other==0.1.0\n")
    git(root, "add", ".")
    git(root, "-c", "user.name=A", "-c", "user.email=a@b.c", "commit", "-qm", "A page")
    prepare(package("waa-client", root), "patch", root)
    assert (
        page.read_text()
        == "pip install 'waa-client[openai]==0.1.1' bench-core==0.1.0 other==0.1.0\n"
    )


def test_a_release_of_all_wants_everything_committed(root: Path) -> None:
    (root / "new.txt").touch()
    with pytest.raises(ReleaseError, match="commit or stash"):
        prepare_all("minor", root)
    assert package("bench-core", root).version == "0.1.0"
