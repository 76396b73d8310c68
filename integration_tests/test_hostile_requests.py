"""A part of the campaign with hostile requests: two and a half thousand, shared out among all servers."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

CAMPAIGN = Path(__file__).parent / "campaigns" / "campaign_servers.py"


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads memory from /proc")
def test_hostile_requests_do_no_harm() -> None:
    command = [sys.executable, str(CAMPAIGN), "--times", "160"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=1800)
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]
