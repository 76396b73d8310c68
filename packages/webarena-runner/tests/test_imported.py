"""Import of official output folders and BrowserGym's trees: scored by the evaluator, or marked; nothing hostile read."""

from __future__ import annotations

import json
import logging
import os
import pickle
import subprocess
import sys
from pathlib import Path
from shutil import rmtree
from typing import Any

import pytest
from click.testing import CliRunner

from bench_core.errors import InputError
from bench_core.run_folder import read_run
from webarena_runner.cli import main
from webarena_runner.config import default_config
from webarena_runner.evaluation import CONFIG_FILE, HAR_FILE
from webarena_runner.imported import import_results, is_official
from webarena_runner.reference_solutions.trials import write_trial
from webarena_runner.tasks import load_tasks

_LOG = logging.getLogger("import")
BIN = Path(sys.executable).parent
EVERY = int(os.environ.get("OFFICIAL_EVERY", "80"))
"""Of how many tasks one is written in the official layout and scored by both; 4 makes 203."""
WRONG = {"task_type": "RETRIEVE", "status": "SUCCESS", "retrieved_data": ["wrong"]}


@pytest.fixture
def official(tmp_path: Path) -> Path:
    """Three trials in the official layout: two right, one wrong."""
    folder, known = tmp_path / "official", {task.task_id: task for task in load_tasks()}
    for task_id, answer in (("44", None), ("0", None), ("157", WRONG)):
        write_trial(folder / task_id, known[task_id], default_config(), answer=answer)
    return folder


def test_official_folders_are_scored_by_the_evaluator(official: Path, tmp_path: Path) -> None:
    made = import_results(official, tmp_path / "run", load_tasks())
    assert (made.layout, made.scored, made.succeeded) == ("official", 3, 2)
    run = read_run(tmp_path / "run")
    scores = {each.task_id: each.score for each in run.results.values()}
    assert scores == {"0": 1.0, "44": 1.0, "157": 0.0}
    assert all("imported" in each.flags for each in run.results.values())


def test_the_sites_of_a_run_may_be_given(official: Path, tmp_path: Path) -> None:
    for each in official.iterdir():
        (each / CONFIG_FILE).unlink()
    without = import_results(official, tmp_path / "without", load_tasks())
    assert set(without.without_score.values()) == {f"{CONFIG_FILE} is missing"}
    given = import_results(official, tmp_path / "given", load_tasks(), config=default_config())
    assert given.succeeded == 2


def test_scores_are_compared_with_those_left_there(official: Path, tmp_path: Path) -> None:
    for name, score in (("44", 1.0), ("157", 1.0), ("0", "nan")):
        (official / name / "eval_result.json").write_text(json.dumps({"score": score}))
    made = import_results(official, tmp_path / "run", load_tasks())
    assert made.compared == 2
    assert [(e.task_id, e.score, e.reported) for e in made.differences] == [("157", 0.0, 1.0)]


def test_an_official_folder_is_rescored_as_it_is(official: Path) -> None:
    before = sorted(official.rglob("*"))
    done = CliRunner().invoke(main, ["rescore", str(official), "--json"])
    assert done.exit_code == 0
    assert json.loads(done.output)["succeeded"] == 2
    assert sorted(official.rglob("*")) == before


def test_a_linked_or_too_large_recording_is_refused(official: Path, tmp_path: Path) -> None:
    secret = tmp_path / "secret.har"
    secret.write_bytes((official / "44" / HAR_FILE).read_bytes())
    (official / "44" / HAR_FILE).unlink()
    (official / "44" / HAR_FILE).symlink_to(secret)
    with (official / "0" / HAR_FILE).open("wb") as file:
        file.truncate(1 << 30)  # a hole: it takes no room
    made = import_results(official, tmp_path / "run", load_tasks())
    assert made.scored == 1
    assert set(made.without_score) == {"0", "44"}
    assert "link" in made.without_score["44"]


def test_linked_folders_and_strange_names_are_left_out(official: Path, tmp_path: Path) -> None:
    os.rename(official / "44", tmp_path / "44")  # noqa: PTH104
    (official / "44").symlink_to(tmp_path / "44")
    (official / "99999").mkdir()
    (official / "99999" / HAR_FILE).write_text("{}")
    made = import_results(official, tmp_path / "run", load_tasks())
    assert made.scored == 2
    assert made.unknown == ("99999",)


def test_a_recording_that_is_none_has_no_score(official: Path, tmp_path: Path) -> None:
    (official / "44" / HAR_FILE).write_text("[" * 5000)
    made = import_results(official, tmp_path / "run", load_tasks())
    assert list(made.without_score) == ["44"]


def test_a_folder_with_nothing_to_import_is_refused(tmp_path: Path) -> None:
    assert not is_official(tmp_path)
    with pytest.raises(InputError, match="no results of a known task"):
        import_results(tmp_path, tmp_path / "run", load_tasks())


class _Trap:
    def __init__(self, path: Path) -> None:
        self._path = path

    def __reduce__(self) -> tuple[Any, ...]:
        return open, (str(self._path), "w")


def experiment(tree: Path, name: str, **summary: Any) -> Path:
    folder = tree / name
    folder.mkdir(parents=True)
    (folder / "summary_info.json").write_text(json.dumps(summary))
    return folder


def test_browsergym_scores_are_reported_only_and_pickles_stay_closed(tmp_path: Path) -> None:
    tree, trap = tmp_path / "tree", tmp_path / "opened"
    day = "2026-01-01_10-00-00_Agent-x_on_webarena"
    solved = experiment(
        tree, f"study/{day}.44_7_a1b2c3", cum_reward=1.0, terminated=True, n_steps=4
    )
    (solved / "exp_args.pkl").write_bytes(pickle.dumps(_Trap(trap)))
    experiment(tree, f"study/{day}.44_8", cum_reward=0.0, truncated=True, n_steps=30)
    experiment(tree, f"study/{day}.0_7", cum_reward=0.0, err_msg="site down", stack_trace="...")
    experiment(tree, f"study/{day}.157_7", n_steps=1)
    experiment(tree, "study/2026_Agent_on_miniwob.click_1", cum_reward=1.0)
    made = import_results(tree, tmp_path / "run", load_tasks())
    assert (made.layout, made.scored, made.reported_only) == ("browsergym", 0, 2)
    assert set(made.without_score) == {"0", "157"}
    assert made.unknown == ("study/2026_Agent_on_miniwob.click_1",)
    assert not trap.exists()
    results = read_run(tmp_path / "run").results.values()
    statuses = sorted((e.task_id, e.trial, e.status.value, e.score) for e in results)
    assert statuses == [
        ("0", 1, "environment_error", None),
        ("157", 1, "environment_error", None),
        ("44", 1, "completed", 1.0),
        ("44", 2, "step_limit", 0.0),
    ]
    assert all("reported_only" in each.flags for each in results)


@pytest.mark.parametrize("text", ["[]", "{", "[" * 5000])
def test_a_summary_that_is_none_is_an_error(tmp_path: Path, text: str) -> None:
    folder = experiment(tmp_path / "tree", "a_on_webarena.44_1")
    (folder / "summary_info.json").write_text(text)
    with pytest.raises(InputError, match="summary"):
        import_results(tmp_path / "tree", tmp_path / "run", load_tasks())


def test_an_experiment_whose_name_has_no_task_is_an_error(tmp_path: Path) -> None:
    experiment(tmp_path / "tree", "anything", cum_reward=1.0)
    with pytest.raises(InputError, match="does not name its task"):
        import_results(tmp_path / "tree", tmp_path / "run", load_tasks())


def test_the_command_imports(official: Path, tmp_path: Path) -> None:
    out = tmp_path / "run"
    done = CliRunner().invoke(main, ["import", str(official), "--out", str(out), "--agent", "them"])
    assert done.exit_code == 0
    assert "3 trials scored by the evaluator, 2 succeeded" in done.output
    assert read_run(out).info.agent == "them"
    again = CliRunner().invoke(main, ["import", str(official), "--out", str(out)])
    assert again.exit_code == 2


@pytest.mark.slow
def test_folders_in_the_official_layout_are_imported_with_the_official_scores(
    tmp_path: Path,
) -> None:
    folder = tmp_path / "official"
    chosen = load_tasks()[::EVERY]
    for number, task in enumerate(chosen):
        answer = WRONG if number % 3 == 2 else None
        try:
            write_trial(folder / task.task_id, task, default_config(), answer=answer)
        except ValueError:  # it has a pattern without an example
            rmtree(folder / task.task_id)
    written = len(list(folder.iterdir()))
    command = [BIN / "webarena-verified", "eval-tasks", "--output-dir", folder]
    subprocess.run(command, capture_output=True, check=True)
    out = tmp_path / "run"
    ran = subprocess.run(
        [BIN / "webarena-runner", "import", folder, "--out", out, "--json"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    made = json.loads(ran.stdout)
    scores = [each.score for each in read_run(out).results.values()]
    counts = [written, made["compared"], len(made["differences"])]
    _LOG.info("folders, compared, different: %s; at 1.0: %s", counts, scores.count(1.0))
    # an error of the evaluator that the answer did not cause is 0.0 there and no score here
    found = [(each["score"], each["reported"]) for each in made["differences"]]
    assert set(found) <= {(None, 0.0)}
    assert made["compared"] == written == len(scores)
    assert scores.count(None) == len(found) == written - made["scored"]
    assert len(found) <= written / 100
    assert {0.0, 1.0} <= set(scores)
