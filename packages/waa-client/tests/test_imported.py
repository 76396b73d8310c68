"""Import of OSWorld's and openadapt-evals' results: as reported and marked; nothing hostile is read."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner
from sample_tasks import make_task

from bench_core.errors import InputError
from bench_core.records import Status
from bench_core.run_folder import REPORTED_ONLY, read_run
from waa_client.cli import main
from waa_client.imported import import_tree
from waa_client.openadapt import import_executions
from waa_client.vanilla import import_results

if TYPE_CHECKING:
    from pathlib import Path

    from bench_core.records import Task, TrialResult

SECRET = "not for others"


def of_run(folder: Path) -> dict[str, TrialResult]:
    return {each.task_id: each for each in read_run(folder).results.values()}


def osworld(root: Path, domain: str, name: str, lines: list[Any], result: str | None) -> Path:
    place = root / "pyautogui/screenshot/a-model" / domain / name
    place.mkdir(parents=True)
    text = "\n".join(each if isinstance(each, str) else json.dumps(each) for each in lines)
    (place / "traj.jsonl").write_text(text, encoding="utf-8")
    if result is not None:
        (place / "result.txt").write_text(result, encoding="utf-8")
    return place


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A success with an action of code, a failure with one of a provider's tool, a task that raised."""
    root = tmp_path / "results"
    line = {"step_num": 1, "action_timestamp": "20251105@120000", "reward": 0, "done": False,
            "info": {}, "screenshot_file": "step_1_20251105@120000.png"}  # fmt: skip
    place = osworld(root, "os", "a1", [{**line, "action": "pyautogui.click(1, 2)", "response": "I click"},
                                       {**line, "step_num": 2, "action": "DONE"}], "1.0\n")  # fmt: skip
    (place / "step_1_20251105@120000.png").write_bytes(b"\x89PNG")
    tool = {"action_type": "tool_use", "command": "pyautogui.press('enter')", "raw_response": "..."}
    osworld(root, "gimp", "b2", [{**line, "action": tool}], "0.0\n")
    osworld(root, "gimp", "c3", [{**line, "action": "WAIT"}, {"Error": "Time limit exceeded in gimp/c3"}], None)  # fmt: skip
    return root


def test_an_osworld_tree_becomes_a_run_of_the_tasks_that_are_found(
    tree: Path, tmp_path: Path
) -> None:
    made = import_tree(tree, tmp_path / "run", (), benchmark="osworld", model="a-model")
    assert "2 results, 1 tasks that raised" in made.text
    run = read_run(tmp_path / "run")
    assert (run.info.benchmark, run.info.model, len(run.tasks)) == ("osworld", "a-model", 3)
    found = of_run(tmp_path / "run")
    assert {name: (each.status, each.score) for name, each in found.items()} == {
        "os/a1": (Status.COMPLETED, 1.0),
        "gimp/b2": (Status.STEP_LIMIT, 0.0),
        "gimp/c3": (Status.ENVIRONMENT_ERROR, None),
    }
    assert all(REPORTED_ONLY in each.flags for each in found.values())
    error = found["gimp/c3"].error
    assert error is not None
    assert error.message == "Time limit exceeded in gimp/c3"
    assert "screenshots/step-001.png" in found["os/a1"].artifact_paths
    key = next(each for each in run.results if each.task_id == "gimp/b2")
    steps = (run.trial_folder(key) / "trajectory.jsonl").read_text(encoding="utf-8")
    assert "pyautogui.press('enter')" in steps


def test_task_files_of_another_benchmark_give_goals_and_what_never_started(
    tree: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "evaluation_examples" / "examples"
    for domain, name in (("os", "a1"), ("gimp", "b2"), ("gimp", "c3"), ("vlc", "d4")):
        (folder / domain).mkdir(parents=True, exist_ok=True)
        task = {"id": name, "instruction": f"Do {name}.", "evaluator": {"func": "x"}}
        (folder / domain / f"{name}.json").write_text(json.dumps(task), encoding="utf-8")
    done = CliRunner().invoke(
        main,
        ["import", str(tree), "--benchmark", "osworld", "--tasks-dir", str(folder.parent),
         "--out", str(tmp_path / "run"), "--json"],
    )  # fmt: skip
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)["missing"] == ["vlc/d4"]
    goals = {each.task_id: each.goal for each in read_run(tmp_path / "run").tasks}
    assert goals["os/a1"] == "Do a1."


def test_links_in_a_tree_are_not_followed_and_its_files_are_bounded(
    tree: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    secret = tmp_path / "secret"
    secret.write_text(SECRET, encoding="utf-8")
    (tmp_path / "elsewhere" / "x").mkdir(parents=True)
    (tmp_path / "elsewhere" / "x" / "result.txt").write_text("1.0", encoding="utf-8")
    model = tree / "pyautogui/screenshot/a-model"
    (model / "linked").symlink_to(tmp_path / "elsewhere")
    (model / "gimp/c3/error.txt").symlink_to(secret)
    shot = {"step_num": 1, "action": "a()", "screenshot_file": "../../../../../../secret"}
    osworld(tree, "os", "e5", [shot, "{" * 3000], "1.0")
    monkeypatch.setattr("waa_client.vanilla._MOST_BYTES", 1000)
    osworld(tree, "os", "f6", [], "1" * 2000)
    import_results(tree, tmp_path / "run", (), benchmark="osworld")
    found = of_run(tmp_path / "run")
    assert sorted(found) == ["gimp/b2", "gimp/c3", "os/a1", "os/e5", "os/f6"]
    reasons = {name: found[name].error for name in ("gimp/c3", "os/f6")}
    assert all(each is not None and each.kind == "Imported" for each in reasons.values())
    # its trajectory is above the limit, too
    assert found["os/e5"].score is None
    written = [each for each in (tmp_path / "run").rglob("*") if each.is_file()]
    assert not any(SECRET.encode() in each.read_bytes() for each in written)


ACTION = {"type": "click", "x": 0.5, "y": 0.5, "text": None}
ENDED = {"type": "done", "x": None}


def execution(**fields: Any) -> dict[str, Any]:
    steps = [
        {"step_idx": 0, "screenshot_path": "screenshots/step_000.png", "action": ACTION, "reasoning": "I see"},
        {"step_idx": 1, "screenshot_path": None, "action": ENDED, "reasoning": None},
    ]  # fmt: skip
    base = {"success": False, "score": 0.0, "num_steps": 2, "total_time_seconds": 3.5, "error": None,
            "reason": None, "error_type": None, "steps": steps, "logs": []}  # fmt: skip
    return {**base, **fields}


def openadapt(root: Path, task_id: str, told: object) -> Path:
    (root / "tasks").mkdir(parents=True, exist_ok=True)
    metadata = {"benchmark_name": "waa", "run_name": "mine", "model_id": "a-model"}
    (root / "metadata.json").write_text(json.dumps(metadata), encoding="utf-8")
    place = root / "tasks" / "".join(c if c.isalnum() or c in "-_" else "_" for c in task_id)
    (place / "screenshots").mkdir(parents=True)
    (place / "screenshots/step_000.png").write_bytes(b"\x89PNG")
    task = {"task_id": task_id, "instruction": f"Do {task_id}.", "domain": "notepad"}
    (place / "task.json").write_text(json.dumps(task), encoding="utf-8")
    if told is not None:
        text = told if isinstance(told, str) else json.dumps(told)
        (place / "execution.json").write_text(text, encoding="utf-8")
    return place


OUTCOMES: dict[str, tuple[Any, Status, float | None]] = {
    "right": (execution(success=True, score=1.0), Status.COMPLETED, 1.0),
    "wrong": (execution(), Status.COMPLETED, 0.0),
    "partial": (execution(score=0.4), Status.COMPLETED, 0.4),
    "unended": (execution(steps=[{"action": ACTION}]), Status.STEP_LIMIT, 0.0),
    "agent": (execution(error="no answer", error_type="agent"), Status.AGENT_ERROR, 0.0),
    "vm": (execution(error="VM gone", error_type="infrastructure"), Status.ENVIRONMENT_ERROR, None),
    "judge": (execution(error="502", error_type="evaluation"), Status.EVALUATION_ERROR, None),
    "earlier": (execution(error="timed out"), Status.ENVIRONMENT_ERROR, None),
    "unknown": (execution(error_type="weather"), Status.EVALUATION_ERROR, None),
    "contradiction": (execution(success=True), Status.EVALUATION_ERROR, None),
    "text": (execution(success="false"), Status.EVALUATION_ERROR, None),
    "range": (execution(score=7), Status.EVALUATION_ERROR, None),
    "too large": (json.dumps(execution()).replace("0.0", "9" * 400), Status.EVALUATION_ERROR, None),
    "nan": (json.dumps(execution()).replace("0.0", "NaN"), Status.EVALUATION_ERROR, None),
    "boolean": (execution(success=True, score=True), Status.EVALUATION_ERROR, None),
    "begun": (None, Status.ENVIRONMENT_ERROR, None),
    "cut off": ("{", Status.EVALUATION_ERROR, None),
    "a list": ([], Status.EVALUATION_ERROR, None),
}  # fmt: skip
"""What may stand in `execution.json`, and what becomes of it."""


@pytest.mark.parametrize("name", OUTCOMES)
def test_an_execution_is_an_outcome_or_has_no_score(name: str, tmp_path: Path) -> None:
    told, status, score = OUTCOMES[name]
    openadapt(tmp_path / "theirs", name, told)
    made = import_executions(tmp_path / "theirs", tmp_path / "run", ())
    result = of_run(tmp_path / "run")[name]
    assert (result.status, result.score) == (status, score)
    assert REPORTED_ONLY in result.flags
    assert (made.results, len(made.without_score)) == (int(score is not None), int(score is None))


def test_a_run_of_openadapt_evals_keeps_steps_pictures_and_model(tmp_path: Path) -> None:
    openadapt(tmp_path / "theirs", "right", execution(success=True, score=1.0))
    made = import_tree(tmp_path / "theirs", tmp_path / "run", ())
    assert "1 trials with a reported score, 1 succeeded" in made.text
    run = read_run(tmp_path / "run")
    assert (run.info.model, run.tasks[0].goal) == ("a-model", "Do right.")
    result = of_run(tmp_path / "run")["right"]
    assert (result.steps, result.timings_s) == (2, {"total": 3.5})
    assert "screenshots/step-001.png" in result.artifact_paths


def test_tasks_of_openadapt_evals_are_known_by_their_id_in_any_spelling(
    tmp_path: Path,
) -> None:
    tasks: list[Task] = [make_task("366de66e-WOS"), make_task("a7d4b6c5-WOS")]
    openadapt(tmp_path / "theirs", "notepad_366de66e-WOS", execution())
    openadapt(tmp_path / "theirs", "somewhere else", execution())
    made = import_executions(tmp_path / "theirs", tmp_path / "run", tasks)
    assert set(of_run(tmp_path / "run")) == {"notepad/366de66e-WOS"}
    assert (made.missing, made.unknown) == (("notepad/a7d4b6c5-WOS",), ("somewhere_else",))


def test_two_folders_of_a_task_are_refused_before_anything_is_written(tmp_path: Path) -> None:
    for name in ("notepad_366de66e-WOS", "366de66e-WOS"):
        openadapt(tmp_path / "theirs", name, execution())
    with pytest.raises(InputError, match="two folders of one task"):
        import_executions(tmp_path / "theirs", tmp_path / "run", [make_task("366de66e-WOS")])
    assert not (tmp_path / "run").exists()


def test_links_and_large_files_of_openadapt_evals_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    secret = tmp_path / "secret"
    secret.write_text(
        json.dumps(execution(success=True, score=1.0, reason=SECRET)), encoding="utf-8"
    )
    root = tmp_path / "theirs"
    (openadapt(root, "linked", None) / "execution.json").symlink_to(secret)
    (openadapt(root, "piped", None) / "task.json").unlink()
    os.mkfifo(root / "tasks/piped/execution.json")
    far = execution(steps=[{"action": ACTION, "screenshot_path": "../../../secret"}])
    openadapt(root, "far", far)
    openadapt(root, "large", execution(logs=["x" * 9000]))
    (root / "tasks" / "folder").symlink_to(tmp_path)
    monkeypatch.setattr("waa_client.openadapt._MOST_DOCUMENT", 8000)
    made = import_executions(root, tmp_path / "run", ())
    assert set(made.without_score) == {"linked", "piped", "large"}
    assert of_run(tmp_path / "run")["far"].artifact_paths == ("trajectory.jsonl",)
    written = [each for each in (tmp_path / "run").rglob("*") if each.is_file()]
    assert not any(SECRET.encode() in each.read_bytes() for each in written)


def test_a_folder_without_results_of_known_tasks_is_refused(tmp_path: Path) -> None:
    openadapt(tmp_path / "theirs", "other", execution())
    with pytest.raises(InputError, match="no results of a known task"):
        import_executions(tmp_path / "theirs", tmp_path / "run", [make_task()])
