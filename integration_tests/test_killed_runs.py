"""One small draw of the campaign that kills runs and fails their disk."""

from __future__ import annotations

import shutil
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="looks for processes in /proc")
def test_nothing_is_lost_by_ten_kills_and_a_disk_that_fails(root: Path) -> None:
    campaign = root / "integration_tests/campaigns/campaign_kills.py"
    every = "10" if shutil.which("cc") else "0"  # what fails the disk is compiled
    command = [sys.executable, str(campaign), "--times", "10", "--every", every]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "seed 0: 0 promises broken" in done.stdout
