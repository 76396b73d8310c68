"""What runs elsewhere is pinned, and covers what is here."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest
from nox_support.packages import Package, packages

if TYPE_CHECKING:
    from pathlib import Path


def test_every_action_is_pinned_by_commit_with_its_version_beside_it(root: Path) -> None:
    workflows = "".join(each.read_text() for each in (root / ".github/workflows").glob("*.yml"))
    used = re.findall(r"uses: *(.+)", workflows)
    assert used
    assert [
        each for each in used if not re.fullmatch(r"[\w./-]+@[0-9a-f]{40} # v[\d.]+", each)
    ] == []


@pytest.mark.parametrize("package", packages(), ids=lambda each: each.name)
def test_the_matrix_has_every_package_on_every_python_it_names(
    root: Path, package: Package
) -> None:
    pinned = re.findall(r"Python :: (3\.\d+)", (package.folder / "pyproject.toml").read_text())
    workflow = (root / ".github/workflows/ci.yml").read_text(encoding="utf-8")
    assert package.name in workflow
    assert all(f'"{python}"' in workflow for python in pinned)
