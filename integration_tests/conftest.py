"""Where the repository and its wheels are."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))  # for nox_support, which is in no wheel

from nox_support import wheels  # noqa: E402  # needs the path above


@pytest.fixture(scope="session")
def root() -> Path:
    return ROOT


@pytest.fixture(scope="session")
def dist(root: Path) -> Path:
    """The folder of the wheels, built from today's sources."""
    outdated = [each.name for each in wheels.stale(root / "dist", root)]
    assert not outdated, f"run `nox -s build`: dist/ lacks {outdated}"
    return root / "dist"
