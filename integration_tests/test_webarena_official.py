"""The official command line judges a run folder as we did."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from bench_core.testing import reseal

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = [pytest.mark.browser, pytest.mark.slow]

TASKS = "0,44,260,399,512"
BIN = Path(sys.executable).parent


@pytest.fixture(scope="module")
def demo(made_once: Callable[..., Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of its own for each process: tests write into it."""
    made = made_once("webarena-demo", run_demo)
    return shutil.copytree(made, tmp_path_factory.mktemp("demo"), dirs_exist_ok=True)


def run_demo(out: Path) -> None:
    command = [BIN / "webarena-runner", "demo", "--task", TASKS, "--out", out]
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert "Everything is as expected." in ran.stdout


_OF_THE_FILE = ("sequence", "previous", "checksum")


def results(run: Path) -> dict[str, dict[str, object]]:
    lines = (run / "results.jsonl").read_text().splitlines()
    records = [json.loads(line) | dict.fromkeys(_OF_THE_FILE) for line in lines]
    return {record["task_id"]: record for record in records}


def official_scores(run: Path) -> dict[str, tuple[str, float]]:
    command = [BIN / "webarena-verified", "eval-tasks", "--output-dir", run / "trials" / "1"]
    subprocess.run(command, capture_output=True, check=True)
    found = {}
    for path in (run / "trials" / "1").glob("*/eval_result.json"):
        official = json.loads(path.read_text())
        found[path.parent.name] = (official["status"], official["score"])
    return found


@pytest.mark.parametrize(("agent", "score"), [("scripted", 1.0), ("do-nothing", 0.0)])
def test_official_evaluation_gives_the_same_scores(demo: Path, agent: str, score: float) -> None:
    ours = {task: record["score"] for task, record in results(demo / agent).items()}
    official = official_scores(demo / agent)
    assert ours == dict.fromkeys(TASKS.split(","), score)
    assert {task: value for task, (_, value) in official.items()} == ours


def test_results_say_that_the_sites_were_stand_ins(demo: Path) -> None:
    records = results(demo / "scripted").values()
    assert {record["world"] for record in records} == {"built-in"}
    assert json.loads((demo / "scripted" / "run.json").read_text())["world"] == "built-in"


def test_where_the_official_tool_reports_an_error_ours_is_null_or_the_agents_failure(
    demo: Path, tmp_path: Path
) -> None:
    """A recording without entries is nobody's failure; an answer without a type is the agent's."""
    run = tmp_path / "run"
    shutil.copytree(demo / "scripted", run)
    empty = {"log": {"version": "1.2", "creator": {"name": "x", "version": "1"}, "entries": []}}
    (run / "trials/1/44/network.har").write_text(json.dumps(empty))
    (run / "trials/1/399/agent_response.json").write_text('{"task_type": null, "status": null}')
    reseal(run)
    command = [BIN / "webarena-runner", "rescore", run, "--name", "again", "--json"]
    assert subprocess.run(command, capture_output=True, check=False).returncode == 1  # of one trial
    again = results(run / "rescores" / "again")
    official = official_scores(run)
    assert official["44"] == ("error", 0.0)
    assert (again["44"]["status"], again["44"]["score"]) == ("evaluation_error", None)
    assert again["44"]["details"]["official"]["score"] == 0.0
    assert official["399"] == ("error", 0.0)
    assert (again["399"]["status"], again["399"]["score"]) == ("agent_error", 0.0)


def test_rescoring_without_a_browser_changes_nothing(demo: Path, tmp_path: Path) -> None:
    environment = {"PATH": "/nonexistent", "CHROME_PATH": "/nonexistent"}
    command = [BIN / "webarena-runner", "rescore", demo / "scripted", "--name", "same", "--json"]
    ran = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    assert json.loads(ran.stdout)["changes"] == []
    assert results(demo / "scripted/rescores/same") == results(demo / "scripted")
