"""A part of the campaign with hostile run folders: all kinds of them, some of their pages opened."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

CAMPAIGN = Path(__file__).parent / "campaigns" / "campaign_folders.py"


@pytest.mark.skipif(sys.platform == "win32", reason="links and pipes are others there")
@pytest.mark.browser
def test_hostile_run_folders_do_no_harm() -> None:
    # in a process of its own, which bounds its memory
    command = [sys.executable, str(CAMPAIGN), "--times", "40", "--pages", "4"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=1800)
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]
