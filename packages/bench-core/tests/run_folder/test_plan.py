"""Which trials a run folder plans, and which of them are left; which run it is."""

from __future__ import annotations

import gzip
from typing import TYPE_CHECKING

import pytest
from planned_runs import NOW, TASKS

from bench_core.errors import InputError, RunFolderError
from bench_core.records import ErrorInfo, Event, RunInfo, Status, Step, Task, TrialKey, TrialResult
from bench_core.redaction import Redactor
from bench_core.run_folder import (
    RunFolder,
    TrialArtifacts,
    describe_artifacts,
    describe_run,
    read_run,
)
from bench_core.testing import make_tasks

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    AsGiven = Callable[[TrialResult], TrialResult]


def keys(*pairs: tuple[str, int]) -> list[TrialKey]:
    return [TrialKey(task_id=task_id, trial=trial) for task_id, trial in pairs]


def unscored(task: Task, status: Status) -> TrialResult:
    return TrialResult(benchmark="demo", task_id=task.task_id, agent="a", status=status)


def test_a_new_run_has_its_whole_plan_ahead_all_tasks_before_repeats(
    tmp_path: Path, info: RunInfo, tasks: tuple[Task, ...]
) -> None:
    with RunFolder.create(tmp_path / "run", info, tasks) as run:
        assert run.remaining() == keys(("0", 1), ("1", 1), ("2", 1), ("0", 2), ("1", 2), ("2", 2))


def test_what_was_appended_is_read_back(
    tmp_path: Path,
    info: RunInfo,
    tasks: tuple[Task, ...],
    completed: list[TrialResult],
    as_given: AsGiven,
) -> None:
    with RunFolder.create(tmp_path, info, tasks) as run:
        for result in completed:
            run.append(result)
        while_open = read_run(tmp_path).results
        assert run.results() == while_open
    assert [as_given(each) for each in while_open.values()] == completed


def test_resuming_leaves_done_trials_alone(run_path: Path) -> None:
    with RunFolder.resume(run_path) as run:
        assert run.remaining() == keys(("1", 2), ("2", 2))
        assert len(run.results()) == 4


@pytest.mark.parametrize(
    "status", [Status.ENVIRONMENT_ERROR, Status.BUDGET_EXCEEDED, Status.CANCELLED]
)
def test_trials_that_were_not_the_agents_doing_run_again(
    tmp_path: Path, info: RunInfo, tasks: tuple[Task, ...], status: Status
) -> None:
    with RunFolder.create(tmp_path, info, tasks) as run:
        run.append(unscored(tasks[0], status))
        assert TrialKey(task_id="0") in run.remaining()
    assert TrialKey(task_id="0") in read_run(tmp_path).remaining()
    with RunFolder.resume(tmp_path) as run:
        assert TrialKey(task_id="0") in run.remaining()


def test_an_evaluation_error_waits_for_rescoring_not_for_a_second_run(
    tmp_path: Path, info: RunInfo, tasks: tuple[Task, ...]
) -> None:
    with RunFolder.create(tmp_path, info, tasks) as run:
        run.append(unscored(tasks[0], Status.EVALUATION_ERROR))
        assert TrialKey(task_id="0") not in run.remaining()


def test_the_last_line_of_a_trial_wins(
    tmp_path: Path,
    info: RunInfo,
    tasks: tuple[Task, ...],
    completed: list[TrialResult],
    as_given: AsGiven,
) -> None:
    with RunFolder.create(tmp_path, info, tasks) as run:
        run.append(unscored(tasks[0], Status.ENVIRONMENT_ERROR))
        run.append(completed[0])
        assert as_given(run.results()[TrialKey(task_id="0")]) == completed[0]
    (last,) = read_run(tmp_path).latest
    assert as_given(last) == completed[0]


@pytest.mark.parametrize("opener", [read_run, RunFolder.resume])
def test_a_run_without_its_tasks_is_refused(
    run_path: Path, opener: Callable[[Path], object]
) -> None:
    (run_path / "tasks.jsonl").unlink()
    with pytest.raises(RunFolderError, match=r"has no tasks\.jsonl; restore it from a copy"):
        opener(run_path)


@pytest.mark.parametrize("opener", [read_run, RunFolder.resume])
@pytest.mark.parametrize(("task", "trial"), [("stranger", 1), ("0", 3)], ids=["task", "trial"])
def test_a_result_that_was_never_planned_is_refused(
    run_path: Path,
    completed: list[TrialResult],
    opener: Callable[[Path], object],
    task: str,
    trial: int,
) -> None:
    stray = completed[0].model_copy(update={"task_id": task, "trial": trial})
    with (run_path / "results.jsonl").open("a", encoding="utf-8") as file:
        file.write(stray.model_dump_json() + "\n")
    with pytest.raises(RunFolderError, match=f"trial {trial} of task '{task}', which is not"):
        opener(run_path)


def test_running_the_same_command_again_continues(
    tmp_path: Path, info: RunInfo, tasks: tuple[Task, ...], completed: list[TrialResult]
) -> None:
    with RunFolder.open(tmp_path, info, tasks) as run:
        run.append(completed[0])
    with RunFolder.open(tmp_path, info, tasks) as run:
        assert len(run.remaining()) == 5


def test_more_trials_extend_the_plan(run_path: Path) -> None:
    with RunFolder.resume(run_path, trials=3) as run:
        assert len(run.remaining()) == 5
    assert read_run(run_path).info.trials == 3


def test_fewer_trials_are_refused(run_path: Path) -> None:
    with pytest.raises(RunFolderError, match="planned with 2 trials per task; 1 would drop some"):
        RunFolder.resume(run_path, trials=1)


@pytest.mark.parametrize(
    ("changed", "asked", "told"),
    [
        ({"agent": "other"}, TASKS, '--agent was "scripted", now "other"'),
        ({}, TASKS[:2], "task '2' is not asked for now"),
        ({}, make_tasks(9), "tasks '3', '4', '5', '6', '7' and 1 more are not in its plan"),
        (
            {},
            (TASKS[0].model_copy(update={"goal": "other"}), *TASKS[1:]),
            "task '0' is defined otherwise",
        ),
        ({"config_hash": "0" * 64}, TASKS, "its configuration has the hash"),
    ],
    ids=["agent", "fewer tasks", "more tasks", "another goal", "what no record shows"],
)
def test_another_run_is_refused_by_what_differs(
    run_path: Path, changed: dict[str, str], asked: tuple[Task, ...], told: str
) -> None:
    facts = {"benchmark": "demo", "agent": "scripted", **changed}
    facts.pop("config_hash", None)
    wanted = describe_run(tasks=asked, trials=2, **facts)  # type: ignore[arg-type]  # texts
    if "config_hash" in changed:  # what is redacted on the disk differs, say
        wanted = wanted.model_copy(update=changed)
    with pytest.raises(RunFolderError) as refused:
        RunFolder.open(run_path, wanted, asked)
    assert told in str(refused.value)


def test_a_secret_among_the_options_is_told_to_nobody(tmp_path: Path) -> None:
    redactor = Redactor(["correct horse battery"])
    secret = {"endpoint": "http://a/?key=correct horse battery"}
    one = describe_run(benchmark="demo", agent="a", tasks=TASKS, config={**secret, "depth": 1})
    RunFolder.create(tmp_path / "run", one, TASKS, redactor=redactor).close()
    other = describe_run(benchmark="demo", agent="a", tasks=TASKS, config={**secret, "depth": 2})
    with pytest.raises(RunFolderError, match=r"--depth was 1, now 2\.") as refused:
        RunFolder.open(tmp_path / "run", other, TASKS, redactor=redactor)
    assert "endpoint" not in str(refused.value)


def test_creating_over_a_run_is_refused_and_names_it(
    run_path: Path, info: RunInfo, tasks: tuple[Task, ...]
) -> None:
    with pytest.raises(RunFolderError, match=f"holds the run '{info.run_id}' already"):
        RunFolder.create(run_path, info, tasks)
    assert len(read_run(run_path).results) == 4


def test_results_without_a_run_are_never_overwritten(
    run_path: Path, info: RunInfo, tasks: tuple[Task, ...]
) -> None:
    (run_path / "run.json").unlink()
    with pytest.raises(RunFolderError, match=r"holds results but no run\.json"):
        RunFolder.create(run_path, info, tasks)


def test_a_folder_killed_before_the_run_began_can_be_used(
    tmp_path: Path, info: RunInfo, tasks: tuple[Task, ...]
) -> None:
    (tmp_path / "tasks.jsonl").write_bytes(b"half a li")
    (tmp_path / ".run.json.1-0.tmp").write_bytes(b"{")
    with RunFolder.create(tmp_path, info, tasks) as run:
        assert len(run.remaining()) == 6
    assert read_run(tmp_path).tasks == tasks


def test_a_task_planned_twice_is_refused(tmp_path: Path, info: RunInfo) -> None:
    with pytest.raises(InputError, match="'0' is planned twice"):
        RunFolder.create(tmp_path, info, (TASKS[0], TASKS[0]))


def test_a_trial_outside_the_plan_is_refused(run_path: Path, completed: list[TrialResult]) -> None:
    with RunFolder.resume(run_path) as run:
        for update in ({"trial": 3}, {"task_id": "99"}):
            with pytest.raises(RunFolderError, match="is not in the plan"):
                run.append(completed[0].model_copy(update=update))


@pytest.mark.parametrize("opener", [read_run, RunFolder.resume])
def test_a_folder_without_a_run_is_told(tmp_path: Path, opener: Callable[[Path], object]) -> None:
    with pytest.raises(RunFolderError, match=r"is not a run folder: it has no run\.json"):
        opener(tmp_path)
    with pytest.raises(RunFolderError, match="is not a run folder"):
        opener(tmp_path / "nowhere")


# folders of trials


def test_a_trial_folder_is_named_after_trial_and_task(run_path: Path) -> None:
    with RunFolder.resume(run_path) as run:
        folder = run.trial_folder(TrialKey(task_id="0", trial=2))
    assert folder == run_path / "trials" / "2" / "0"
    assert folder.is_dir()
    assert read_run(run_path).trial_folder(TrialKey(task_id="0", trial=2)) == folder


@pytest.mark.parametrize("task_id", ["../../outside", "/etc", "a/b", "..", "C:\\x"])
def test_a_hostile_task_id_stays_inside_the_run(tmp_path: Path, task_id: str) -> None:
    tasks = (Task(benchmark="demo", task_id=task_id, goal=""),)
    info = describe_run(benchmark="demo", agent="a", tasks=tasks)
    with RunFolder.create(tmp_path / "run", info, tasks) as run:
        folder = run.trial_folder(TrialKey(task_id=task_id)).resolve()
    assert folder.parent == (tmp_path / "run" / "trials" / "1").resolve()


def test_a_new_attempt_starts_empty_and_keeps_what_the_last_one_left(run_path: Path) -> None:
    key = TrialKey(task_id="0")
    with RunFolder.resume(run_path) as run:
        for content in ("first", "second", "third"):
            folder = run.new_attempt(key)
            assert list(folder.iterdir()) == []
            (folder / "network.har").write_text(content)
    left = {each.parent.name: each.read_text() for each in run_path.glob("attempts/1/0/*/*.har")}
    assert left == {"unfinished-1": "first", "unfinished-2": "second"}
    assert (run_path / "trials/1/0/network.har").read_text() == "third"


# keys


def test_a_planted_key_is_nowhere_in_a_run_folder(tmp_path: Path) -> None:
    secret = "planted/key+4711"
    shape = "sk-ant-api03-planted-shape-0815"
    said = f"server said: key {secret} or {shape} is wrong"
    redactor = Redactor.from_environment({"SOME_API_KEY": secret})
    tasks = (Task(benchmark="demo", task_id="1", goal=said, config={"note": said}),)
    info = describe_run(benchmark="demo", agent="a", tasks=tasks, config={"url": f"?k={secret}"})
    error = ErrorInfo(kind="E", message=said, traceback=f"Traceback\n{said}\n")
    with RunFolder.create(tmp_path, info, tasks, redactor=redactor) as run:
        artifacts = TrialArtifacts(run.trial_folder(TrialKey(task_id="1")), redactor)
        artifacts.write_text("error.txt", said)
        artifacts.write_json("agent_response.json", {"said": [said]})
        artifacts.write_text("network.har", f'{{"k":"{secret}"}}', evidence=True)
        artifacts.write_state({"local storage": {secret: secret}})
        artifacts.append_step(Step(step=1, thought=said, actions=({"type": said},)))
        run.event(Event(time=NOW, kind="retry", data={"error": said, said: 1}))
        run.append(
            TrialResult(
                benchmark="demo",
                task_id="1",
                agent="a",
                status=Status.ENVIRONMENT_ERROR,
                error=error,
                artifacts=describe_artifacts(artifacts.folder),
                details={"raw": {"deep": [said]}},
            )
        )
    written = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    assert len(written) >= 9
    state = tmp_path / "trials" / "1" / "1" / "finish_state.json.gz"
    written[state] = gzip.decompress(written[state])
    forms = [secret, shape, "planted%2Fkey%2B4711", "planted\\\\/key+4711"]
    assert [p for p, data in written.items() if any(form.encode() in data for form in forms)] == []
    assert "[REDACTED]" in (tmp_path / "results.jsonl").read_text()
