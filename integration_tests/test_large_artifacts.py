"""One small draw of the campaign that sends large folders of trials each way."""

from __future__ import annotations

import re
import subprocess
import sys
from importlib.util import find_spec
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="measures memory by `resource`")
@pytest.mark.parametrize("way", ["shared", "pieces", "store"])
def test_large_folders_arrive_as_a_whole(way: str, root: Path) -> None:
    if way == "store" and not (find_spec("moto") and find_spec("obstore")):
        pytest.skip("needs moto and the extra objects")
    campaign = root / "integration_tests/campaigns/campaign_artifacts.py"
    command = [sys.executable, str(campaign), "--count", "4", "--megabytes", "9", "--ways", way]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert re.search(f"{way}: 4 folders of 9 MB in ", done.stdout)
