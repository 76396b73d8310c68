from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from toy_benchmark import Toy

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def toy() -> Toy:
    return Toy()


@pytest.fixture
def out(tmp_path: Path) -> Path:
    return tmp_path / "runs" / "first"
