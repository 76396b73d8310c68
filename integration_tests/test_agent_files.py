"""Small draws of the campaigns of what agents leave, report and show."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path

KINDS = ["deep", "sparse 3 TB", "link to a folder", "no UTF-8", "backslashes",
         "folder named as evidence", "hard link with a secret", "pipe"]  # fmt: skip


@pytest.mark.skipif(sys.platform != "linux", reason="the files are POSIX's, supervisors Linux's")
def test_runs_survive_what_their_agents_leave(root: Path) -> None:
    campaign = root / "integration_tests/campaigns/campaign_agent_files.py"
    done = subprocess.run(
        [sys.executable, str(campaign), "--kinds", *KINDS],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"{len(KINDS)} kinds, in each process: 0 promises broken" in done.stdout


def test_runs_survive_mutated_answers_traffic_and_states(root: Path) -> None:
    campaign = root / "integration_tests/campaigns/campaign_mutations.py"
    done = subprocess.run(
        [sys.executable, str(campaign), "--trials", "500"], capture_output=True, text=True, check=False
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    assert "0 promises broken" in done.stdout
