"""One small draw of the campaign that interrupts a run with faults again and again."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.skipif(sys.platform == "win32", reason="POSIX signals")
def test_a_run_that_is_interrupted_again_and_again_ends_as_one_that_is_left_alone(
    root: Path,
) -> None:
    campaign = root / "integration_tests/campaigns/campaign_interruptions.py"
    command = [sys.executable, str(campaign), "--tasks", "60", "--interruptions", "4"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "60 tasks x 3, 4 interruptions" in done.stdout
