from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
# workers import from where this process does
sys.path.insert(0, str(HERE))


@pytest.fixture(scope="module")
def variables() -> dict[str, str]:
    """Return the environment of workers."""
    path = os.pathsep.join(filter(None, [str(HERE), os.environ.get("PYTHONPATH")]))
    return {**os.environ, "PYTHONPATH": path, "TOYS_API_KEY": "toys-0123456789-planted-abc"}
