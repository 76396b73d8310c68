"""`bench-core tasks`, `run` and `rescore` with a benchmark that has no command of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path

SUMS = """
import os
from contextlib import asynccontextmanager, contextmanager
from bench_core.errors import EvaluationError
from bench_core.run_folder.artifacts import TrialArtifacts, read_json
from bench_core.runs.prepare import PreparedRun
from bench_core.records import AgentOutcome, Task
from bench_core.trial import Evaluation, TrialEnvironment

class Sheet(TrialEnvironment):
    def __init__(self, folder):
        super().__init__()
        self.artifacts = TrialArtifacts(folder)
    async def capture(self, ending):
        self.artifacts.write_json("answer.json", ending.answer)

class Sums:
    name = "sums"
    environment = "text"
    def tasks(self):
        return [Task(benchmark="sums", task_id=f"1+{n}", goal=f"1 + {n}?", config={"is": 1 + n})
                for n in (1, 2)]
    @asynccontextmanager
    async def open(self, task, context, agent):
        yield Sheet(context.folder)
    async def evaluate(self, evidence):
        answer = read_json(evidence.folder / "answer.json")
        return Evaluation(score=float(answer == evidence.task.config["is"]))

class Prepared(Sums):
    @staticmethod
    @contextmanager
    def prepare(options, purpose):
        spec = options.spec(config={"prepared": purpose.value})
        yield PreparedRun(Prepared(), spec, options.folder("sums", spec), warnings=("mind it",))

class Graded(Sums):
    def unscored(self, tasks):
        return None if os.environ.get("JUDGE") else f"{len(tasks)} tasks need a judge: name one"
    async def evaluate(self, evidence):
        if os.environ.get("JUDGE") != "all":
            raise EvaluationError("no judge grades the answer")
        return await super().evaluate(evidence)

class Adder:
    name = "adder"
    async def run(self, task, environment, context):
        return AgentOutcome(answer=1 + int(task.goal[4]))

class Needy(Sums):
    def __init__(self, url):
        pass
"""


@pytest.fixture
def site(tmp_path: Path) -> Path:
    info = tmp_path / "sums-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: sums\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[bench_core.benchmarks]\nsums = sums:Sums\n")
    (tmp_path / "sums.py").write_text(SUMS)
    return tmp_path


def call(site: Path, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "bench_core.cli.main", *arguments],
        cwd=site,
        env={**os.environ, "PYTHONPATH": str(site), **variables},
        capture_output=True,
        text=True,
        check=False,
    )


def test_an_installed_benchmark_is_listed_run_continued_and_scored_again(site: Path) -> None:
    listed = call(site, "tasks", "sums", "--json")
    assert [each["task_id"] for each in json.loads(listed.stdout)] == ["1+1", "1+2"]
    command = ("run", "sums", "--agent", "sums:Adder", "--out", "run", "--task", "1+2")
    planned = call(site, *command, "--dry-run")
    assert "1 tasks x 1 = 1 trials, 0 done, 1 to run" in planned.stdout
    assert not (site / "run").exists()
    done = call(site, *command)
    assert (done.returncode, "1 of 1 scored trials succeeded" in done.stdout) == (0, True), done
    assert "1 done, 0 to run" in call(site, *command, "--dry-run").stdout
    again = call(site, "rescore", "sums", "run")
    assert "1 trials scored again" in again.stdout


def test_a_benchmark_is_run_by_its_reference_and_do_nothing_fails(site: Path) -> None:
    done = call(site, "run", "sums:Sums", "--agent", "do-nothing", "--out", "run")
    assert (done.returncode, "0 of 2 scored trials succeeded" in done.stdout) == (0, True), done


def test_a_benchmark_prepares_its_runs_as_its_own_command_does(site: Path) -> None:
    done = call(site, "run", "sums:Prepared", "--agent", "sums:Adder", "--out", "run")
    assert (done.returncode, "Warning: mind it" in done.stderr) == (0, True), done
    assert json.loads((site / "run" / "run.json").read_text())["config"]["prepared"] == "run"


def test_a_plan_is_refused_for_a_missing_extra_as_the_run_is(site: Path) -> None:
    (site / "ray.py").write_text("raise ImportError('none', name='ray')")
    command = ("run", "sums", "--agent", "sums:Adder", "--executor", "ray", "--out", "run")
    planned, begun = call(site, *command, "--dry-run"), call(site, *command)
    assert (planned.returncode, planned.stderr) == (begun.returncode, begun.stderr)
    assert "bench-core[ray]" in planned.stderr
    assert planned.returncode == 2
    assert not planned.stdout


def test_what_nothing_can_score_is_refused_unless_it_is_asked_for(site: Path) -> None:
    command = ("run", "sums:Graded", "--agent", "sums:Adder", "--task", "1+2", "--out", "run")
    refused = call(site, *command)
    assert (refused.returncode, (site / "run").exists()) == (2, False)
    assert refused.stderr == "Error: 1 tasks need a judge: name one, or add --without-scores\n"
    assert call(site, *command, "--dry-run").stderr == refused.stderr
    asked = call(site, *command, "--without-scores")
    assert (asked.returncode, asked.stderr) == (0, "Warning: 1 tasks need a judge: name one\n")


def test_trials_without_a_score_are_what_is_left_to_do(site: Path) -> None:
    command = ("run", "sums:Graded", "--agent", "sums:Adder", "--task", "1+2", "--out", "run")
    first, later = (call(site, *command, JUDGE="1") for _ in range(2))
    for done in (
        first,
        later,
    ):  # the later one has nothing to run, and says why that is not the end
        assert done.returncode == 1, done
        assert (
            "1 of 1 trials have no score: `bench-core rescore sums:Graded run` scores those that left enough for it; "
            "the same command with --rerun unscored runs them again."
        ) in done.stdout
    again = call(site, "rescore", "sums:Graded", "run")
    assert again.returncode == 1
    assert "0 trials scored again into run/rescores/" in again.stdout
    assert "1 could not be scored, most often because no judge grades the answer" in again.stdout


def test_trials_that_a_rescore_scored_are_not_left_to_do(site: Path) -> None:
    command = ("run", "sums:Graded", "--agent", "sums:Adder", "--task", "1+2", "--out", "run")
    call(site, *command, JUDGE="1")
    call(site, "rescore", "sums:Graded", "run", "--name", "judged", JUDGE="all")
    later = call(site, *command, JUDGE="1")
    assert later.returncode == 0, later
    assert "have no score" not in later.stdout
    assert (
        "1 of 1 trials got their score later, in run/rescores/judged; reports show the first results."
    ) in later.stdout
    again = call(site, *command, "--rerun", "unscored", JUDGE="1")  # what was scored is gone
    assert again.returncode == 1, again
    assert "1 of 1 trials have no score" in again.stdout


@pytest.mark.parametrize(
    ("benchmark", "agent", "words"),
    [
        pytest.param("nobody", "do-nothing", "unknown benchmark 'nobody'", id="unknown"),
        pytest.param("sums:Needy", "do-nothing", "made without arguments", id="needs-arguments"),
        pytest.param("sums:Adder", "do-nothing", "'sums:Adder' is not a benchmark", id="an-agent"),
        pytest.param("sums", "nobody", "unknown agent 'nobody'", id="unknown-agent"),
        pytest.param("sums", "tool-calling", "opens a text", id="wrong-environment"),
    ],
)
def test_what_cannot_be_run_is_refused(site: Path, benchmark: str, agent: str, words: str) -> None:
    done = call(site, "run", benchmark, "--agent", agent, "--out", "run")
    assert (done.returncode, words in done.stderr) == (2, True), done
    assert not (site / "run").exists()
