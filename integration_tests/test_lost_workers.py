"""One small draw of the campaign that kills and stops workers, and kills the process of their run."""

from __future__ import annotations

import re
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.slow
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="looks for processes in /proc")
def test_nothing_is_lost_with_workers_that_are_killed(root: Path) -> None:
    campaign = root / "integration_tests/campaigns/campaign_workers.py"
    command = [sys.executable, str(campaign), "--trials", "40", "--faults", "4", "--every", "3"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    # a run that ends before its last fault has met fewer
    assert re.search(r"40 trials, pipes, [1-4] faults .*, seed 0: 0 promises broken", done.stdout)
