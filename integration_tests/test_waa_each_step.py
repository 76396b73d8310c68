"""After which steps the simulated desktop passed: looked at on the way, put back each time, and scored later."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner

from bench_core.errors import InputError
from bench_core.run_folder import read_run
from waa_client import WaaRunOptions, run
from waa_client.cli import main
from waa_client.world.launch import built_in_world

if TYPE_CHECKING:
    from pathlib import Path

TASK = "chrome/030eeff7-b492-4218-b312-701ec99ee0cc-wos"
KEPT = "transcripts_each_step.json.gz"


def ran(out: Path, **more: Any) -> Path:
    """Let the scripted agent do a task, and return the trial's folder."""
    run(WaaRunOptions(world="built-in", agent="scripted", ids=(TASK,), out=out, **more))
    view = read_run(out)
    (key,) = view.results
    assert view.results[key].score == 1.0
    return view.trial_folder(key)


def test_a_run_that_was_looked_at_after_each_action_is_the_same_and_says_when_it_passed(
    tmp_path: Path,
) -> None:
    looked, plain = ran(tmp_path / "looked", check_each_step=True), ran(tmp_path / "plain")
    assert (looked / KEPT).is_file()
    assert not (plain / KEPT).exists()
    assert read_run(tmp_path / "looked").info.config["check_each_step"] is True
    # whoever acted saw no trace of the looks
    same = ["action_history.json", *(f"screenshots/{e.name}" for e in (plain / "screenshots").iterdir())]  # fmt: skip
    assert [e for e in same if (looked / e).read_bytes() != (plain / e).read_bytes()] == []
    world = built_in_world()()
    try:
        at = asyncio.run(world.start()).urls["evaluate"]
        for name, expected in (("looked", (1, 0, 1)), ("plain", (0, 1, 0))):
            asked = ["rescore", str(tmp_path / name), "--evaluate", at, "--each-step", "--json"]
            done = CliRunner().invoke(main, asked)
            assert done.exit_code == 0, done.output
            found = json.loads(done.stdout)
            assert (found["trials"], found["unknown"], found["steps_after"]) == expected
    finally:
        world.close()
    (line,) = (tmp_path / "looked" / "step_scores.jsonl").read_text().splitlines()
    assert json.loads(line)["passed"] == [False, False, True, True]
    assert "--check-each-step" in found["why_unknown"]


def test_real_vms_are_not_looked_at_between_actions(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="only a simulated desktop can be put back"):
        WaaRunOptions(vms=("h",), check_each_step=True, out=tmp_path / "run").settings()
