from __future__ import annotations

from datetime import datetime, timezone
from typing import TYPE_CHECKING

import pytest

from bench_core.errors import RunFolderBusyError, RunFolderError
from bench_core.records import Status, TrialKey
from bench_core.run_folder import RunFolder, read_rescore, read_run
from bench_core.run_folder.rescore_folder import RescoreFolder, scored_later
from bench_core.testing import make_results, make_run, make_tasks

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from bench_core.records import TrialResult

    AsGiven = Callable[[TrialResult], TrialResult]

TASKS = make_tasks(3)


@pytest.fixture
def run_path(tmp_path: Path) -> Path:
    """Hold a run of which two trials can be scored again."""
    results = [
        *make_results(TASKS[:1], statuses={Status.COMPLETED: 1.0}),
        *make_results(TASKS[1:2], statuses={Status.EVALUATION_ERROR: 1.0}),
        *make_results(TASKS[2:], statuses={Status.ENVIRONMENT_ERROR: 1.0}),
    ]
    return make_run(tmp_path / "run", tasks=TASKS, results=results)


@pytest.fixture
def fixed(run_path: Path) -> TrialResult:
    """Return what the second trial scores after the evaluator was mended."""
    before = read_run(run_path).results[TrialKey(task_id="1")]
    update = {"status": Status.COMPLETED, "score": 1.0, "success": True, "error": None}
    return before.model_copy(update=update)


def test_a_later_evaluation_stands_beside_the_first(
    run_path: Path, fixed: TrialResult, as_given: AsGiven
) -> None:
    first = (run_path / "results.jsonl").read_bytes()
    with RescoreFolder(run_path, "fixed/1", profile="fixed", reason="mended") as rescore:
        assert [key.task_id for key in rescore.remaining()] == ["0", "1"]
        rescore.append(fixed)
        assert [key.task_id for key in rescore.remaining()] == ["0"]
    view = read_rescore(run_path, "fixed/1")
    assert {key: as_given(each) for key, each in view.results.items()} == {
        fixed.key: as_given(fixed)
    }
    assert (view.info.profile, view.info.reason, view.info.finished) == ("fixed", "mended", None)
    assert (run_path / "results.jsonl").read_bytes() == first


def test_only_the_newest_finished_evaluation_that_is_whole_counts(
    run_path: Path, fixed: TrialResult
) -> None:
    run = read_run(run_path)
    assert scored_later(run) == (None, 0)
    still_unscored = run.results[fixed.key]
    for name, second in {"first": fixed, "second": still_unscored, "third": fixed}.items():
        with RescoreFolder(run_path, name) as rescore:
            rescore.append(run.results[TrialKey(task_id="0")])
            rescore.append(second)
        expected = run_path / "rescores" / name, int(second is fixed)
        assert scored_later(run) == expected
    with RescoreFolder(run_path, "unfinished") as rescore:
        rescore.append(fixed)
    assert scored_later(run) == (run_path / "rescores/third", 1)
    lines = run_path / "rescores/third/results.jsonl"
    lines.write_text(lines.read_text().replace('"score":1.0', '"score":0.5'))
    assert scored_later(run) == (run_path / "rescores/second", 0)
    ran_again = fixed.model_copy(update={"started": datetime(2026, 1, 1, tzinfo=timezone.utc)})
    with RescoreFolder(run_path, "of another attempt") as rescore:
        rescore.append(run.results[TrialKey(task_id="0")])
        rescore.append(ran_again)
    assert scored_later(run)[1] == 0


def test_the_same_id_goes_on_where_it_stopped(run_path: Path, fixed: TrialResult) -> None:
    with RescoreFolder(run_path, "again") as rescore:
        rescore.append(fixed)
    with (run_path / "rescores/again/results.jsonl").open("ab") as file:
        file.write(b'{"torn')
    with RescoreFolder(run_path, "again") as rescore:
        assert [key.task_id for key in rescore.remaining()] == ["0"]
        rescore.append(read_run(run_path).results[TrialKey(task_id="0")])
    view = read_rescore(run_path, "again")
    assert len(view.results) == 2
    assert view.info.finished is not None


def test_other_rules_need_another_id(run_path: Path) -> None:
    RescoreFolder(run_path, "again", profile="fixed").close()
    with pytest.raises(RunFolderError, match="with the profile 'fixed'"):
        RescoreFolder(run_path, "again", profile="official")
    RescoreFolder(run_path, "again", profile="fixed").close()


def test_a_trial_the_run_does_not_have_is_refused(run_path: Path, fixed: TrialResult) -> None:
    with (
        RescoreFolder(run_path, "again") as rescore,
        pytest.raises(RunFolderError, match="has no trial 1 of task '99' to rescore"),
    ):
        rescore.append(fixed.model_copy(update={"task_id": "99"}))


def test_one_writer_at_a_time(run_path: Path) -> None:
    with RescoreFolder(run_path, "again"), pytest.raises(RunFolderBusyError):
        RescoreFolder(run_path, "again")


def test_the_evaluation_has_folders_of_its_own(run_path: Path) -> None:
    with RescoreFolder(run_path, "again") as rescore:
        folder = rescore.trial_folder(TrialKey(task_id="0"))
    assert folder == run_path / "rescores" / "again" / "trials" / "1" / "0"


def test_an_unknown_evaluation_is_told(run_path: Path) -> None:
    with pytest.raises(RunFolderError, match="is not a later evaluation"):
        read_rescore(run_path, "nothing")


def test_what_a_killed_evaluation_left_half_written_is_gone_after_either_next_start(
    run_path: Path, fixed: TrialResult
) -> None:
    with RescoreFolder(run_path, "again") as rescore:
        rescore.append(fixed)
        left = rescore.trial_folder(fixed.key) / ".evaluation.json.1-0.tmp"
    for open_next in (lambda: RescoreFolder(run_path, "again"), lambda: RunFolder.resume(run_path)):
        left.write_text("{")
        with open_next():
            assert not left.exists()


def test_a_live_evaluations_half_written_files_are_its_own(run_path: Path) -> None:
    with RescoreFolder(run_path, "again") as rescore:
        writing = rescore.trial_folder(TrialKey(task_id="0")) / ".evaluation.json.1-0.tmp"
        writing.write_text("{")
        with RunFolder.resume(run_path):
            assert writing.exists()
