"""What attempts left is kept under names of its own, and what killed ones left half-written goes."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from bench_core.records import TrialKey
from bench_core.run_folder import RunFolder, check_run, list_artifacts

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from toy_tasks import Toys

    from bench_core.runs import RunOutcome


def test_what_earlier_attempts_left_stays_and_is_checked(
    run: Callable[..., RunOutcome], toys: Toys, out: Path
) -> None:
    run()
    toys.odd_scores = True
    run(rerun=("unscored",))
    lines = [json.loads(line) for line in (out / "results.jsonl").read_text().splitlines()]
    first, last = (each for each in lines if each["task_id"] == "odd-1")
    assert (first["score"], last["score"]) == (None, 1.0)
    assert [each["status"] for each in last["attempts"]] == ["evaluation_error", "completed"]
    kept = out / "attempts" / "1" / "odd-1" / f"result-{first['sequence']}"
    assert {each["path"] for each in first["artifacts"]} <= {p.name for p in kept.iterdir()}
    (kept / "answer.txt").write_text("right")
    assert check_run(out).problems == (
        f"{kept.relative_to(out)}/answer.txt is not what the trial left: restore it from a copy",
    )


def test_what_an_attempt_without_a_result_left_is_kept_under_another_name(
    run: Callable[..., RunOutcome], out: Path
) -> None:
    run()
    with RunFolder.resume(out) as folder:  # a process that died after it began an attempt
        (folder.new_attempt(TrialKey(task_id="down-1")) / "half.txt").write_text("")
    run()
    kept = {each.name for each in (out / "attempts/1/down-1").iterdir()}
    sequence = next(
        each["sequence"]
        for line in (out / "results.jsonl").read_text().splitlines()
        if (each := json.loads(line))["task_id"] == "down-1"
    )
    assert kept == {f"result-{sequence}", "unfinished-1"}
    assert check_run(out).problems == ()


@pytest.mark.parametrize("touched", [False, True])
def test_files_of_a_result_are_those_it_left_while_another_attempt_lies_over_it(
    run: Callable[..., RunOutcome],
    out: Path,
    touched: bool,
) -> None:
    run()
    key = TrialKey(task_id="down-1")
    with RunFolder.resume(out) as folder:
        folder.new_attempt(key).joinpath("answer.txt").write_text("of a process that was killed")
    if touched:
        (kept,) = out.glob("attempts/*/down-1/result-*/answer.txt")
        kept.write_text("9")
    problems = [each for each in check_run(out).problems if "answer.txt" in each]
    assert bool(problems) is touched


def test_half_written_files_of_killed_attempts_are_gone_with_the_next_start(
    run: Callable[..., RunOutcome], out: Path
) -> None:
    run()
    half = ".har.json.123-0.tmp"
    with RunFolder.resume(out) as folder:
        running = folder.new_attempt(TrialKey(task_id="down-1"))
    places = [running, next((out / "attempts/1/down-1").iterdir())]
    for place in places:
        (place / half).write_text("half")
    (running / "whole.txt").write_text("whole")
    RunFolder.resume(out).close()
    assert not any((place / half).exists() for place in places)
    assert (running / "whole.txt").exists()


def test_a_half_written_file_is_none_of_a_trials_artifacts(tmp_path: Path) -> None:
    for name in ("log.txt", ".har.json.123-0.tmp"):
        (tmp_path / name).write_text("")
    assert list_artifacts(tmp_path) == ("log.txt",)
