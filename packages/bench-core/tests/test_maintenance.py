from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from bench_core.cli.main import main
from bench_core.errors import RunFolderBusyError, RunFolderError
from bench_core.records import Status
from bench_core.run_folder import RunFolder, check_run, read_run
from bench_core.run_folder.maintenance import repair_run
from bench_core.testing import make_results, make_run, make_tasks

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Callable
    from pathlib import Path

    Command = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def run_path(tmp_path: Path) -> Path:
    return make_run(tmp_path / "run", tasks=6, statuses={Status.COMPLETED: 1.0})


@pytest.fixture
def damaged(run_path: Path) -> Path:
    """Hold a run whose results have a bad second line, a bad fifth and a torn end."""
    lines = (run_path / "results.jsonl").read_bytes().splitlines(keepends=True)
    lines[1], lines[4] = b'{"schema_version":1}\n', b"\0\0\n"
    (run_path / "results.jsonl").write_bytes(b"".join(lines) + b'{"torn')
    return run_path


def test_a_whole_run_has_no_problems(run_path: Path) -> None:
    found = check_run(run_path)
    assert (found.planned, found.statuses, found.problems) == (6, {"completed": 6}, ())


def test_every_problem_is_told(damaged: Path) -> None:
    problems = check_run(damaged).problems
    assert [("line 2 is damaged" in p, "line 5 is damaged" in p, "line 7 is torn" in p)
            for p in problems] == [(True, False, False), (False, True, False), (False, False, True)]  # fmt: skip


def test_results_of_other_runs_are_told(run_path: Path) -> None:
    task = make_tasks(9, benchmark="other")[8]
    (stray,) = make_results([task], statuses={Status.COMPLETED: 1.0})
    with (run_path / "results.jsonl").open("a") as file:
        file.write(stray.model_dump_json() + "\n")
    assert check_run(run_path).problems == (
        "results.jsonl holds 1 results of the benchmark 'other' in a run of 'demo'",
        "results.jsonl holds trial 1 of task '8', which is not planned",
    )


def test_missing_tasks_are_told_and_only_a_copy_can_mend_them(run_path: Path) -> None:
    (run_path / "tasks.jsonl").unlink()
    assert check_run(run_path).problems[0] == "tasks.jsonl is missing: restore it from a copy"
    with pytest.raises(RunFolderError, match=r"has no tasks\.jsonl"):
        repair_run(run_path)


def test_repairing_moves_bad_lines_and_loses_no_byte(damaged: Path) -> None:
    before = (damaged / "results.jsonl").read_bytes()
    (moved,) = repair_run(damaged)
    assert moved.moved_to == damaged / "results.jsonl.damaged-1"
    assert moved.moved_to.read_bytes() == b'{"schema_version":1}\n\0\0\n{"torn'
    after = (damaged / "results.jsonl").read_bytes()
    assert len(after) + len(moved.moved_to.read_bytes()) == len(before)
    view = read_run(damaged)
    assert len(view.results) == 4
    assert [each.file for each in view.problems] == ["results.jsonl.damaged-1"]


def test_a_repaired_run_repeats_what_was_lost(damaged: Path) -> None:
    repair_run(damaged)
    with RunFolder.resume(damaged) as run:
        assert [key.task_id for key in run.remaining()] == ["1", "4"]


def test_a_whole_run_needs_no_repair(run_path: Path) -> None:
    before = (run_path / "results.jsonl").read_bytes()
    assert repair_run(run_path) == []
    assert (run_path / "results.jsonl").read_bytes() == before


def test_a_run_that_is_being_written_is_not_repaired(damaged: Path, run_path: Path) -> None:
    repair_run(damaged)
    with RunFolder.resume(damaged), pytest.raises(RunFolderBusyError):
        repair_run(damaged)


def test_damaged_tasks_cannot_be_repaired(run_path: Path) -> None:
    (run_path / "tasks.jsonl").write_bytes(b"{\n{}\n")
    with pytest.raises(RunFolderError, match=r"restore tasks\.jsonl from a copy"):
        repair_run(run_path)


def test_the_command_line_checks_and_repairs(damaged: Path, run_command: Command) -> None:
    checked = run_command("check", damaged)
    assert checked.returncode == 1
    assert "6 trials planned; 4 completed" in checked.stdout
    assert "line 2 is damaged" in checked.stdout
    repaired = run_command("repair", damaged)
    assert repaired.returncode == 0
    assert "moved 3 line(s) to " in repaired.stdout
    again = run_command("check", damaged, "--json")
    assert again.returncode == 0
    assert json.loads(again.stdout)["statuses"] == {"completed": 4}
    assert "nothing to repair" in run_command("repair", damaged).stdout


@pytest.mark.parametrize("options", [[], ["--seal"]])
def test_a_long_check_says_how_far_it_is(
    tmp_path: Path,
    capfd: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    options: list[str],
) -> None:
    run = make_run(tmp_path / "run", tasks=3, statuses={Status.COMPLETED: 1.0})
    monkeypatch.setattr("bench_core.cli.main._TOLD_EVERY_S", 0.0)

    with pytest.raises(SystemExit, match="0"):
        main(["check", str(run), *options])

    assert capfd.readouterr().err.splitlines() == [f"checked {n} of 3 results" for n in (1, 2, 3)]


@pytest.mark.parametrize("command", ["check", "repair"])
def test_a_folder_without_a_run_is_an_input_error(
    tmp_path: Path, run_command: Command, command: str
) -> None:
    done = run_command(command, tmp_path)
    assert done.returncode == 2
    assert done.stderr == f"Error: {tmp_path} is not a run folder: it has no run.json\n"


def test_a_missing_folder_is_a_usage_error(tmp_path: Path, run_command: Command) -> None:
    done = run_command("check", tmp_path / "nowhere")
    assert done.returncode == 2
    assert "does not exist" in done.stderr
    assert "Traceback" not in done.stderr
