"""One small draw of the campaign that kills and stops workers, and kills the process of their run."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest


@pytest.mark.slow
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="looks for processes in /proc")
def test_nothing_is_lost_with_workers_that_are_killed(root: Path) -> None:
    campaign = root / "integration_tests/campaigns/campaign_workers.py"
    command = [sys.executable, str(campaign), "--trials", "40", "--faults", "4", "--every", "3"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    # a run that ends before its last fault has met fewer
    assert re.search(r"40 trials, pipes, [1-4] faults .*, seed 0: 0 promises broken", done.stdout)


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="looks for processes in /proc")
@pytest.mark.parametrize("other_is", ["alive", "dead"])
def test_a_trial_meets_who_lives_and_not_who_has_ended(
    root: Path, tmp_path: Path, other_is: str
) -> None:
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as other:
        stat = Path(f"/proc/{other.pid}/stat")
        site = tmp_path / "sites/site-0"
        site.mkdir(parents=True)
        started = stat.read_text().rpartition(")")[2].split()[19]
        (site / f"shared-{other.pid}-{started}-token").touch()
        if other_is == "dead":
            other.kill()
            # it is listed until this process looks at it
            while stat.read_text().rpartition(")")[2].split()[0] != "Z":
                time.sleep(0.01)
        here = root / "integration_tests"
        command = [sys.executable, str(here / "marking_runs.py"), str(tmp_path)]
        variables = {**os.environ, "PYTHONPATH": str(here)}
        subprocess.run([*command, "--tasks", "1", "--workers", "1"], check=True, env=variables)
        assert (tmp_path / "clashes").exists() is (other_is == "alive")
        other.kill()
