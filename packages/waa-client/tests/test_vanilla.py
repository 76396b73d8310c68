from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from sample_tasks import make_task

from bench_core.errors import InputError
from bench_core.records import Status
from bench_core.run_folder import read_run
from waa_client.baseline_comparison import compare_runs, comparison_text
from waa_client.tasks import load_tasks
from waa_client.vanilla import averages, import_results, imported_text

if TYPE_CHECKING:
    from pathlib import Path

    from bench_core.records import Task

SETTINGS = "pyautogui/a11y_tree/gpt-4o/0"


def leave(
    root: Path,
    task: Task,
    score: object = None,
    *,
    settings: str = SETTINGS,
    actions: tuple[str, ...] = ("computer.mouse.single_click()", "DONE"),
    trajectory: bool = True,
    error: str | None = None,
) -> Path:
    """Write the files that vanilla writes for a task."""
    place = root / settings / task.task_id
    place.mkdir(parents=True)
    if trajectory:
        lines = [
            {"step_num": number, "action": action, "plan_result": "I think", "screenshot": "s.png"}
            for number, action in enumerate(actions, 1)
        ]
        if error:
            lines.append({"Error": error, "Exception": error})
        text = "\n".join(map(json.dumps, lines))
        (place / "traj.jsonl").write_text(text, encoding="utf-8")
    else:
        (place / "traj.html").write_text("<html>", encoding="utf-8")
    (place / "s.png").write_bytes(b"\x89PNG")
    if score is not None:
        (place / "result.txt").write_text(f"{score}\n", encoding="utf-8")
    return place


@pytest.fixture
def tree(tmp_path: Path, tasks: tuple[Task, ...]) -> Path:
    """Four tasks: a success, a failure, one that raised, one that never started."""
    root = tmp_path / "results"
    leave(root, tasks[0], 1.0)
    leave(root, tasks[1], 0.0, actions=("a()", "b()"))
    leave(root, tasks[2], error="boom")
    return root


def test_a_tree_becomes_a_run_folder(tmp_path: Path, tree: Path, tasks: tuple[Task, ...]) -> None:
    imported = import_results(tree, tmp_path / "run", tasks, model="openai:gpt-4o")
    run = read_run(tmp_path / "run")
    assert (imported.results, imported.without_result) == (2, 1)
    assert imported.missing == (tasks[3].task_id,)
    found = {r.task_id: (r.status, r.score, r.steps) for r in run.results.values()}
    assert found == {
        tasks[0].task_id: (Status.COMPLETED, 1.0, 2),
        tasks[1].task_id: (Status.STEP_LIMIT, 0.0, 2),
        tasks[2].task_id: (Status.ENVIRONMENT_ERROR, None, 2),
    }
    assert (run.info.agent, run.info.model, run.info.timing) == (
        "navi",
        "openai:gpt-4o",
        "vanilla",
    )


def test_the_reason_and_the_steps_come_along(
    tmp_path: Path, tree: Path, tasks: tuple[Task, ...]
) -> None:
    import_results(tree, tmp_path / "run", tasks)
    results = {r.task_id: r for r in read_run(tmp_path / "run").results.values()}
    error = results[tasks[2].task_id].error
    assert error is not None
    assert error.message == "boom"
    assert "screenshots/step-001.png" in results[tasks[0].task_id].artifact_paths


def test_v2s_tree_is_read_too(tmp_path: Path, tasks: tuple[Task, ...]) -> None:
    place = leave(tmp_path / "r", tasks[0], settings="0/pcagent")
    scores = [{"step": 3, "score": 0.0}, {"step": 5, "score": 0.5}]
    (place / "results.json").write_text(json.dumps(scores), encoding="utf-8")
    import_results(tmp_path / "r", tmp_path / "run", tasks)
    (result,) = read_run(tmp_path / "run").results.values()
    assert result.score == 0.5


def test_several_trials_of_one_setting_become_trials(
    tmp_path: Path, tasks: tuple[Task, ...]
) -> None:
    for trial in ("0", "1"):
        leave(tmp_path / "r", tasks[0], 1.0, settings=f"a/b/c/{trial}")
    assert import_results(tmp_path / "r", tmp_path / "run", tasks).trials == 2


def test_two_models_in_one_tree_are_two_runs(tmp_path: Path, tasks: tuple[Task, ...]) -> None:
    for settings in ("p/t/gpt-4o/0", "q/t/gpt-5/0"):
        leave(tmp_path / "r", tasks[0], 1.0, settings=settings)
    with pytest.raises(InputError, match="results of several runs: choose one with --only"):
        import_results(tmp_path / "r", tmp_path / "run", tasks)
    chosen = import_results(tmp_path / "r", tmp_path / "run", tasks, only="gpt-5")
    assert chosen.layout == "r/q/t/gpt-5/0"


@pytest.mark.parametrize("text", ["oops", "", "nan", "inf", "1e308"])
def test_a_result_that_is_no_number_is_no_score(
    tmp_path: Path, tasks: tuple[Task, ...], text: str
) -> None:
    leave(tmp_path / "r", tasks[0], text)
    imported = import_results(tmp_path / "r", tmp_path / "run", tasks)
    assert (imported.results, imported.unreadable) == (0, 1)
    last = imported_text(imported).splitlines()[-1]
    assert last.endswith("show_result.py counts such text as 1, its run.py as 0")


def test_results_of_other_tasks_are_listed(tmp_path: Path, tasks: tuple[Task, ...]) -> None:
    leave(tmp_path / "r", tasks[0], 1)
    leave(tmp_path / "r", make_task("other"), 1)
    assert import_results(tmp_path / "r", tmp_path / "run", tasks).unknown == ("notepad/other",)


def test_a_folder_without_results_is_refused(tmp_path: Path, tasks: tuple[Task, ...]) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match="has no results"):
        import_results(tmp_path / "empty", tmp_path / "run", tasks)


def test_a_screenshot_outside_the_tree_is_not_followed(
    tmp_path: Path, tasks: tuple[Task, ...]
) -> None:
    place = leave(tmp_path / "r", tasks[0], 1)
    (tmp_path / "secret").write_bytes(b"x")
    line = {"step_num": 1, "action": "a()", "screenshot": "../../../../../../../secret"}
    (place / "traj.jsonl").write_text(json.dumps(line), encoding="utf-8")
    import_results(tmp_path / "r", tmp_path / "run", tasks)
    (result,) = read_run(tmp_path / "run").results.values()
    assert result.artifact_paths == ("trajectory.jsonl",)


def test_all_154_tasks_give_both_averages(tmp_path: Path, data: Path) -> None:
    """30 successes, 4 half ones, 96 failures, 14 that raised while acting, 6 before, 4 never started."""
    tasks = load_tasks(data)
    outcomes: list[object] = [1.0] * 30 + [0.5] * 4 + [0.0] * 96
    outcomes += ["raised"] * 14 + ["before"] * 6 + ["never"] * 4
    for task, outcome in zip(tasks, outcomes, strict=True):
        if outcome != "never":
            score = None if isinstance(outcome, str) else outcome
            leave(tmp_path / "r", task, score, trajectory=outcome != "before")
    imported = import_results(tmp_path / "r", tmp_path / "run", tasks)
    found = imported.averages
    assert (found.with_result, found.with_trajectory, found.tasks) == (130, 144, 154)
    assert found.upstream == pytest.approx(32 / 130)
    assert found.v2 == pytest.approx(32 / 144)
    assert found.planned == pytest.approx(32 / 154)
    text = imported_text(imported)
    assert "average over tasks with a result (upstream's): 24.62% of 130" in text
    assert "average over tasks with a trajectory (V2's):   22.22% of 144" in text
    assert "average over all planned tasks:                20.78% of 154" in text
    shown = comparison_text(compare_runs(tmp_path / "run", tmp_path / "run"))
    assert "average, upstream's denominator" in shown
    assert "24.62% of 130" in shown
    assert "22.22% of 144" in shown


def test_nothing_has_no_average() -> None:
    found = averages([], 0)
    assert (found.upstream, found.v2, found.planned) == (None, None, None)


@pytest.fixture
def pair(tmp_path: Path) -> tuple[Path, Path]:
    """Two runs of twenty tasks that differ on two, one of which has no score in the second."""
    tasks = [make_task(f"{number:02d}") for number in range(20)]
    for name in ("a", "b"):
        for number, task in enumerate(tasks):
            score: float | None = float(number < 8)
            if name == "b" and number in {0, 19}:
                score = None if number == 0 else 1.0
            leave(tmp_path / name, task, score)
        import_results(tmp_path / name, tmp_path / f"run-{name}", tasks)
    return tmp_path / "run-a", tmp_path / "run-b"


def test_runs_are_paired_by_task(pair: tuple[Path, Path]) -> None:
    found = compare_runs(*pair)
    assert found.agreement is not None
    assert found.agreement.agreement.estimate == pytest.approx(18 / 19)
    assert found.agreement.disagreements == ("notepad/19",)
    assert found.difference is not None
    assert found.difference.difference.estimate == pytest.approx(1 / 19)
    assert found.step_ratio == pytest.approx(1.0)


def test_a_crash_is_a_reason_not_to_match(pair: tuple[Path, Path]) -> None:
    found = compare_runs(*pair)
    assert [each.holds for each in found.criteria] == [None, False, True, True]
    assert found.verdict == "differs"


def test_a_run_of_twenty_tasks_cannot_be_shown_to_match_itself_within_ten_points(
    pair: tuple[Path, Path],
) -> None:
    found = compare_runs(pair[0], pair[0])
    assert found.verdict == "undecided"
    assert found.criteria[0].found == (
        "+0.0 pp [-13.9, +13.9], 95% at each end; takes 29 pairs of trials or more, there are 20"
    )
    assert compare_runs(pair[0], pair[0], tolerance=0.15).verdict == "matches"


def test_rates_too_far_apart_do_not_match(tmp_path: Path) -> None:
    tasks = [make_task(f"{number:02d}") for number in range(20)]
    for name, score in (("a", 1.0), ("b", 0.0)):
        for task in tasks:
            leave(tmp_path / name, task, score)
        import_results(tmp_path / name, tmp_path / f"run-{name}", tasks)
    found = compare_runs(tmp_path / "run-a", tmp_path / "run-b")
    assert found.criteria[0].holds is False
    assert found.verdict == "differs"


def test_the_agreement_table_counts_every_task(pair: tuple[Path, Path]) -> None:
    lines = comparison_text(compare_runs(*pair)).splitlines()
    rows = [line.split()[-3:] for line in lines if line.startswith("baseline ")]
    assert rows == [["7", "0", "1"], ["1", "11", "0"], ["0", "0", "0"]]


def test_published_numbers_stand_beside_runs_of_all_tasks_only(
    tmp_path: Path, pair: tuple[Path, Path]
) -> None:
    assert "19.5%" not in comparison_text(compare_runs(*pair))
    tasks = [make_task(f"{number:03d}") for number in range(154)]
    for task in tasks:
        leave(tmp_path / "all", task, 0.0)
    import_results(tmp_path / "all", tmp_path / "run-all", tasks)
    text = comparison_text(compare_runs(tmp_path / "run-all", tmp_path / "run-all"))
    assert "19.5%" in text
    assert "arXiv 2409.08264" in text
