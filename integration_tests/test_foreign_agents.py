"""Agents in environments that uv makes do what they do in the process of the run; `nox -s foreign_agents`."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from bench_core.run_folder import read_run

if TYPE_CHECKING:
    from bench_core.records import TrialResult
    from bench_core.run_folder import RunView

pytestmark = pytest.mark.skipif(
    "FOREIGN_AGENTS" not in os.environ, reason="uv makes environments: nox -s foreign_agents"
)

BROWSER_USE = "0.13.14"


def run(out: Path, *options: str) -> RunView:
    """Run browser-use by script on two tasks of the stand-in sites."""
    command = Path(sys.executable).parent / "webarena-runner"
    asked = ["run", "--world", "built-in", "--agent", "scripted", "--task", "44,45"]
    subprocess.run([command, *asked, "--workers", "1", "--out", out, *options], check=True)
    return read_run(out)


def what_it_did(result: TrialResult) -> dict[str, Any]:
    assert result.ending is not None
    return {
        "status": result.status,
        "score": result.score,
        "answer": result.ending.answer,
        "steps": result.steps,
        "usage": result.usage,
        "cost": result.cost_usd,
        "flags": result.flags,
        "artifacts": sorted(each.path for each in result.artifacts),
    }


def test_browser_use_does_the_same_on_its_own_pins_as_in_the_process_of_the_run(
    tmp_path: Path,
) -> None:
    here = run(tmp_path / "here")
    elsewhere = run(tmp_path / "elsewhere", "--agent-env", f"uv:browser-use=={BROWSER_USE}")
    assert [each.score for each in elsewhere.results.values()] == [1.0, 1.0]
    for key, result in here.results.items():
        assert what_it_did(elsewhere.results[key]) == what_it_did(result)
    code = elsewhere.info.agent_code
    assert code is not None
    assert code.program is not None
    packages = dict(each.split("==") for each in code.program.packages)
    assert packages["browser-use"] == BROWSER_USE
    assert packages["pydantic"].startswith("2.13")
    assert version("pydantic").startswith("2.12")
