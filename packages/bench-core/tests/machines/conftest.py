"""A quick disk: journals sync every line, which takes 80 ms on the disk of a machine that is busy."""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

sys.path.insert(0, str(Path(__file__).parent))

_IN_MEMORY = "/dev/shm"  # noqa: S108  # the folders in it are made by tempfile


@pytest.fixture
def tmp_path() -> Iterator[Path]:
    """Return an empty folder, in memory where that can be."""
    place = _IN_MEMORY if os.access(_IN_MEMORY, os.W_OK) else None
    with tempfile.TemporaryDirectory(prefix="machines-", dir=place) as folder:
        yield Path(folder)
