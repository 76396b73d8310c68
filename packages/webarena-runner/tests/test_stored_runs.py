"""Runs that were stored: scored again, by another environment's evaluator, and packaged."""

from __future__ import annotations

import json
import os
import signal
import sys
import tarfile
import threading
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner

from bench_core.errors import EvaluationError, InputError
from bench_core.records import AgentOutcome
from bench_core.run_folder import read_run
from bench_core.run_spec import RunSpec, TaskFilter
from bench_core.runs import RunEnvironment, run_benchmark_sync
from bench_core.testing import reseal
from bench_core.trial import TrialEnvironment
from webarena_runner.benchmark import WebArenaBenchmark
from webarena_runner.cli import main
from webarena_runner.config import default_config
from webarena_runner.evaluation import ANSWER_FILE, HAR_FILE, write_answer
from webarena_runner.evaluators import ForeignEvaluator
from webarena_runner.imported import import_results
from webarena_runner.reference_solutions.trials import answer_for, write_trial
from webarena_runner.tasks import load_tasks

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from bench_core.protocols import Agent, EnvironmentHandle, TrialContext
    from bench_core.records import AgentTask, Task
    from bench_core.trial import Evaluation, Evidence

IDS = ("0", "44", "399", "319")
CONFIG = default_config()


class Stored:
    """A benchmark whose trials are written from the tasks' definitions."""

    name = "webarena"

    def tasks(self) -> list[Task]:
        return load_tasks()

    @asynccontextmanager
    async def open(
        self, task: Task, context: TrialContext, agent: Agent
    ) -> AsyncIterator[TrialEnvironment]:
        write_trial(context.folder, task, CONFIG)
        yield TrialEnvironment()

    async def evaluate(self, evidence: Evidence) -> Evaluation:
        return await WebArenaBenchmark().evaluate(evidence)


class Knowing:
    """Answers every task right."""

    name = "do-nothing"

    async def run(
        self, task: AgentTask, environment: EnvironmentHandle, context: TrialContext
    ) -> AgentOutcome:
        known = next(each for each in load_tasks() if each.task_id == task.task_id)
        return AgentOutcome(answer=answer_for(known), steps=1)


@pytest.fixture
def run(tmp_path: Path) -> Path:
    spec = RunSpec(tasks=TaskFilter(ids=IDS), agent="do-nothing", world="built-in")
    knowing = RunEnvironment(agent_for=lambda *_: Knowing())
    run_benchmark_sync(Stored(), spec, tmp_path / "run", run_environment=knowing)
    return tmp_path / "run"


def results(folder: Path) -> dict[str, Any]:
    lines = (folder / "results.jsonl").read_text().splitlines()
    return {each["task_id"]: each for each in map(json.loads, lines)}


def invoke(*words: Any) -> tuple[int, Any]:
    ran = CliRunner().invoke(main, [str(each) for each in words])
    return ran.exit_code, ran.output


def test_another_environments_evaluator_scores_the_same_and_is_named(run: Path) -> None:
    code, output = invoke("rescore", run, "--name", "other", "--json",
                        "--evaluator-python", sys.executable)  # fmt: skip
    assert code == 0, output
    assert json.loads(output)["changes"] == []
    record = json.loads((run / "rescores/other/rescore.json").read_text())
    assert record["reason"].startswith("webarena-verified 1.2.")
    first, again = results(run), results(run / "rescores/other")
    assert {k: (r["score"], r["checks"]) for k, r in again.items()} == {
        k: (r["score"], r["checks"]) for k, r in first.items()
    }


def test_what_changed_is_shown(run: Path) -> None:
    answer = run / "trials/1/0/agent_response.json"
    answer.write_text(answer.read_text().replace("RETRIEVE", "NAVIGATE"))
    reseal(run)
    code, output = invoke("rescore", run, "--name", "changed")
    assert code == 0
    assert "1 of them differ" in output
    changes = json.loads((run / "rescores/changed/changes.json").read_text())
    assert [(c["task_id"], c["score_before"], c["score"]) for c in changes] == [("0", 1.0, 0.0)]


class Unasked(Stored):
    """A benchmark whose stored answers are bare values, as of agents that do not know the form."""

    def __init__(self) -> None:
        self.answers = {"0": "Quest Lumaflex\u2122 Band", "44": None, "399": {"gave_up": "no"}}

    @asynccontextmanager
    async def open(
        self, task: Task, context: TrialContext, agent: Agent
    ) -> AsyncIterator[TrialEnvironment]:
        write_trial(context.folder, task, CONFIG)
        write_answer(context.folder, self.answers[task.task_id])
        yield TrialEnvironment()

    async def run(
        self, task: AgentTask, environment: EnvironmentHandle, context: TrialContext
    ) -> AgentOutcome:
        return AgentOutcome(answer=self.answers[task.task_id], steps=1)


def test_a_stored_run_is_scored_again_with_its_answers_restated(tmp_path: Path) -> None:
    folder, unasked = tmp_path / "run", Unasked()
    spec = RunSpec(tasks=TaskFilter(ids=("0", "44", "399")), agent="do-nothing", world="built-in")
    agents = RunEnvironment(agent_for=lambda *_: unasked)
    run_benchmark_sync(unasked, spec, folder, run_environment=agents)
    assert {k: r["score"] for k, r in results(folder).items()} == {"0": 0.0, "44": 0.0, "399": 0.0}
    evidence = results(folder)["399"]["details"]["failure_evidence"]
    assert evidence == "the agent gave up and declared no status: no"

    code, output = invoke("rescore", folder, "--name", "again", "--extract", "rules")

    assert code == 0, output
    again = results(folder / "rescores/again")
    assert {k: r["score"] for k, r in again.items()} == {"0": 1.0, "44": 1.0, "399": 0.0}
    assert again["399"]["failure_mode"] == "gave_up"
    assert all("answer-extracted-by-rules" in each["flags"] for each in again.values())
    assert (folder / "trials/1/44/agent_response.json").read_text() == "null\n"
    reason = json.loads((folder / "rescores/again/rescore.json").read_text())["reason"]
    assert reason == "answers restated by rules"


def test_an_environment_without_the_evaluator_is_told(tmp_path: Path) -> None:
    bare = tmp_path / "python"
    bare.write_text(f'#!/bin/sh\nexec {sys.executable} -I -S "$@"\n')
    bare.chmod(0o755)
    with pytest.raises(InputError, match="pip install webarena-verified"):
        ForeignEvaluator(bare)


def test_an_evaluator_that_is_lost_costs_one_score_and_is_started_again(tmp_path: Path) -> None:
    folder = write_trial(tmp_path, load_tasks()[44], CONFIG)
    given = (CONFIG, "44", folder / ANSWER_FILE, folder / HAR_FILE)
    with ForeignEvaluator(Path(sys.executable), patience_s=30.0) as evaluator:
        os.kill(evaluator.pid, signal.SIGSTOP)  # so that it still has the question when it dies
        threading.Timer(0.5, os.kill, [evaluator.pid, signal.SIGKILL]).start()
        with pytest.raises(EvaluationError, match="was ended by SIGKILL"):
            evaluator.result(*given)
        assert evaluator.result(*given)["score"] == 1.0


def test_results_carry_the_notes_on_their_tasks(run: Path) -> None:
    flags = {task_id: each.get("flags", []) for task_id, each in results(run).items()}
    assert flags["319"] == ["task-never"]
    assert flags["44"] == []


def test_a_run_is_packaged_by_the_official_packager(run: Path, tmp_path: Path) -> None:
    code, output = invoke("submission", run, "--even-built-in", "--name", "mine",
                        "--out", tmp_path / "out", "--json")  # fmt: skip
    made = json.loads(output)
    assert code == 1  # 808 tasks are missing
    assert made["packaged"] == [0, 44, 319, 399]
    assert (len(made["missing"]), made["unusable"]) == (808, [])
    with tarfile.open(tmp_path / "out/mine.tar.gz") as package:
        assert "399/agent_response.json" in package.getnames()
    again, refusal = invoke("submission", run, "--even-built-in", "--name", "mine",
                         "--out", tmp_path / "out")  # fmt: skip
    assert (again, "already exists" in refusal) == (2, True)


def test_a_package_has_slimmed_recordings_that_score_the_same(run: Path, tmp_path: Path) -> None:
    recording = run / "trials/1/44" / HAR_FILE
    har = json.loads(recording.read_text(encoding="utf-8"))
    first = har["log"]["entries"][0]
    first["request"]["headers"].append({"name": "Authorization", "value": "Bearer sesame"})
    picture = json.loads(json.dumps(first))
    picture["request"]["url"] += "/logo.png"
    picture["response"]["content"] = {"size": 9999, "mimeType": "image/png", "text": "A" * 9999}
    har["log"]["entries"].append(picture)
    recording.write_text(json.dumps(har), encoding="utf-8")
    invoke("submission", run, "--even-built-in", "--name", "mine", "--out", tmp_path, "--folder")
    slim = (tmp_path / "mine/44" / HAR_FILE).read_text(encoding="utf-8")
    assert "logo.png" not in slim
    assert "sesame" not in slim
    assert len(slim) < recording.stat().st_size
    again = import_results(tmp_path / "mine", tmp_path / "again", load_tasks(), config=CONFIG)
    scores = {name: each.get("score") for name, each in results(run).items()}
    assert {
        each.task_id: each.score for each in read_run(tmp_path / "again").results.values()
    } == scores
    assert again.scored == len(IDS)


def test_unusable_trials_are_named(run: Path, tmp_path: Path) -> None:
    (run / "trials/1/44/network.har").unlink()
    code, output = invoke(
        "submission", run, "--even-built-in", "--out", tmp_path / "out", "--folder"
    )
    assert code == 1
    assert "unusable: 44" in output


@pytest.mark.parametrize(
    ("more", "message"),
    [((), "stand-in sites"), (("--even-built-in", "--trial", "2"), "no trial 2")],
)
def test_what_is_nothing_to_submit_is_refused(
    run: Path, more: tuple[str, ...], message: str
) -> None:
    code, output = invoke("submission", run, *more)
    assert code == 2
    assert message in output
