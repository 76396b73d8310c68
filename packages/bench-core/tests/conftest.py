from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, settings

if TYPE_CHECKING:
    from collections.abc import Callable

    from bench_core.records import TrialResult

# not this folder: `browser_use` in it would pass for the library where that is not installed
sys.path.insert(0, str(Path(__file__).parent / "helpers"))
sys.path.insert(0, str(Path(__file__).parent.parent / "benchmarks"))

# How long an example takes depends on who shares the machine; no test asserts timings.
settings.register_profile("untimed", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("untimed")


@pytest.fixture
def run_command() -> Callable[..., subprocess.CompletedProcess[str]]:
    """Run the `bench-core` command as users do, in a process of its own."""

    def run(*arguments: object, **options: Any) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "bench_core.cli.main", *map(str, arguments)]
        return subprocess.run(command, capture_output=True, text=True, check=False, **options)

    return run


@pytest.fixture
def as_given() -> Callable[[TrialResult], TrialResult]:
    """Return a stored result without what its file added to it."""

    def given(result: TrialResult) -> TrialResult:
        return result.model_copy(update=dict.fromkeys(("sequence", "previous", "checksum")))

    return given
