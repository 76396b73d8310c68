"""After which steps the traffic of a trial passed: as scoring each truncated recording says."""

from __future__ import annotations

import json
import shutil
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner
from variants import wrong_variants

from bench_core.errors import EvaluationError
from bench_core.records import Step
from webarena_runner.cli import main
from webarena_runner.config import default_config
from webarena_runner.each_step import passed_after
from webarena_runner.evaluation import HAR_FILE, evaluate
from webarena_runner.evaluators import InstalledEvaluator
from webarena_runner.reference_solutions.traffic import traffic_for
from webarena_runner.reference_solutions.trials import answer_for, write_trial
from webarena_runner.tasks import load_tasks

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bench_core.records import Task

START = datetime(2026, 3, 1, tzinfo=timezone.utc)
STORED = Path(__file__).parents[3] / "integration_tests" / "stored_runs" / "webarena" / "scripted"
CONFIG = default_config()


def steps(count: int) -> list[Step]:
    """Return steps of a second each."""
    return [Step(step=n + 1, started=START + timedelta(seconds=n)) for n in range(count)]


def spread(entries: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Let a request begin in the middle of each step, the first before them."""
    times = [START + timedelta(seconds=n - 0.5) for n in range(len(entries))]
    return [
        {**entry, "startedDateTime": at.isoformat()}
        for entry, at in zip(entries, times, strict=True)
    ]


def one_by_one(task: Task, folder: Path, acts: list[Step], scratch: Path) -> list[bool | None]:
    """Score a copy of the trial cut after each step, and take the checks of traffic."""
    found: list[bool | None] = []
    for after in [*acts[1:], None]:
        shutil.rmtree(scratch, ignore_errors=True)
        shutil.copytree(folder, scratch)
        document = json.loads((folder / HAR_FILE).read_text())
        document["log"]["entries"] = [
            each
            for each in document["log"]["entries"]
            if after is None or datetime.fromisoformat(each["startedDateTime"]) < after.started
        ]
        (scratch / HAR_FILE).write_text(json.dumps(document))
        checks = [
            each.passed for each in evaluate(task, scratch).checks if each.criterion != "answer"
        ]
        found.append(None if None in checks else all(checks))
    return found


def trials(task: Task) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    right = traffic_for(task, CONFIG)
    yield "right", right
    wrong = list(wrong_variants(task, answer_for(task), right))
    yield from ((each.name, each.entries) for each in wrong if each.entries != right)
    for each in wrong:  # first solved, then what is wrong
        yield f"right, then {each.name}", [*right, *each.entries]


@pytest.mark.parametrize("task_id", ["44", "399", "522"])
def test_each_step_says_what_scoring_the_truncated_recording_says(
    task_id: str, tmp_path: Path
) -> None:
    (task,) = (each for each in load_tasks() if each.task_id == task_id)
    seen = set()
    for number, (name, entries) in enumerate(trials(task)):
        folder = write_trial(tmp_path / str(number), task, CONFIG, entries=spread(entries))
        acts = steps(len(entries) + 1)
        found = passed_after(task, folder, acts, InstalledEvaluator())
        assert found == one_by_one(task, folder, acts, tmp_path / "cut"), name
        seen |= {(name == "right", found[-1])}
        assert len(found) == len(acts)
    assert {(True, True), (False, False)} <= seen


def test_an_answer_alone_steps_without_times_and_a_broken_recording_say_why(tmp_path: Path) -> None:
    known = {each.task_id: each for each in load_tasks()}
    judge = InstalledEvaluator()
    with pytest.raises(EvaluationError, match="answer alone"):
        passed_after(known["0"], tmp_path, steps(2), judge)
    folder = write_trial(tmp_path / "a", known["399"], CONFIG)
    with pytest.raises(EvaluationError, match="no times"):
        passed_after(known["399"], folder, [Step(step=1)], judge)
    (folder / HAR_FILE).write_text("{")
    with pytest.raises(EvaluationError, match="is not a HAR"):
        passed_after(known["399"], folder, steps(1), judge)


def test_the_command_scores_once_and_changes_no_result(tmp_path: Path) -> None:
    run = shutil.copytree(STORED, tmp_path / "run")
    before = (run / "results.jsonl").read_bytes()

    def asked() -> dict[str, Any]:
        done = CliRunner().invoke(main, ["rescore", str(run), "--each-step", "--json"])
        assert done.exit_code == 0, done.output
        return json.loads(done.stdout)

    first = asked()
    counts = {name: first[name] for name in ("trials", "unknown", "passed", "undone", "evaluated")}
    assert counts == {"trials": 1, "unknown": 2, "passed": 1, "undone": 0, "evaluated": 3}
    assert asked()["evaluated"] == 0
    assert (run / "results.jsonl").read_bytes() == before
    har = run / "trials/1/157/network.har"
    har.write_bytes(har.read_bytes() + b" ")
    lines = (run / "step_scores.jsonl").read_text().splitlines()
    (run / "step_scores.jsonl").write_text("\n".join(lines[:1] + lines[2:]) + "\n")
    again = asked()
    assert (again["evaluated"], again["trials"], again["unknown"]) == (1, 0, 3)
