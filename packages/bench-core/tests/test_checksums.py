"""Files of a run that were changed after they were written are told, and named."""

from __future__ import annotations

import json
import random
import re
import shutil
from typing import TYPE_CHECKING

import pytest
from test_support.damage import (
    READERS,
    damage,
    make_whole_run,
    numbers_of,
    told_by,
)

from bench_core.errors import RunFolderError
from bench_core.files import add_checksum
from bench_core.files.checksums import checksum_holds
from bench_core.records import ArtifactFile, Status, TrialKey
from bench_core.run_folder import RunFolder, changed_artifacts, check_run, read_run, seal_of
from bench_core.run_folder.maintenance import repair_run
from bench_core.runs import rescore_run_sync
from bench_core.testing import make_results, make_run, make_tasks, reseal

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Callable
    from pathlib import Path

    Command = Callable[..., subprocess.CompletedProcess[str]]

DAMAGES = 30


@pytest.fixture
def run_path(tmp_path: Path) -> Path:
    return make_run(tmp_path / "run", tasks=4, trials=2, statuses={Status.COMPLETED: 1.0})


@pytest.mark.parametrize("killed", [False, True], ids=["ended", "killed"])
def test_no_damage_to_a_run_goes_unseen(tmp_path: Path, *, killed: bool) -> None:
    """A draw of what `campaign_damage.py` does to every file of a run."""
    whole = make_whole_run(tmp_path / "whole", killed=killed)
    chance = random.Random(killed)  # noqa: S311  # reproducible, not secret
    numbers = numbers_of(whole)
    for _ in range(DAMAGES):
        run = shutil.copytree(whole, tmp_path / "damaged")
        done = damage(run, chance)
        for reader, told in told_by(run, READERS, numbers).items():
            assert told.covers(done), (done, reader, told)
        shutil.rmtree(run)


def edit(file: Path, before: str, after: str) -> None:
    text = file.read_text(encoding="utf-8")
    assert before in text
    file.write_text(text.replace(before, after, 1), encoding="utf-8")


def test_a_score_that_was_changed_is_refused_by_whoever_reads_results(run_path: Path) -> None:
    edit(run_path / "results.jsonl", '"score":1.0,"success":true', '"score":0.0,"success":false')
    with pytest.raises(
        RunFolderError, match=r"line \d is damaged: it was changed after it was written"
    ):
        read_run(run_path)


@pytest.mark.parametrize("number", [0, -1], ids=["first", "last"])
def test_a_line_that_lost_its_checksum_is_damaged(run_path: Path, number: int) -> None:
    lines = (run_path / "results.jsonl").read_text(encoding="utf-8").splitlines(keepends=True)
    lines[number] = re.sub(r',"checksum":"\w+"', "", lines[number])
    (run_path / "results.jsonl").write_text("".join(lines), encoding="utf-8")
    for read in (read_run, RunFolder.resume):
        with pytest.raises(RunFolderError, match="is damaged: it was changed after"):
            read(run_path)


@pytest.mark.parametrize(
    ("order", "told"),
    [
        ((0, 2, 3, 4, 5, 6, 7), "line 2 was written as line 3: lines are missing before it"),
        (
            (0, 1, 1, 2, 3, 4, 5, 6, 7),
            "line 3 was written as line 2: it is doubled or out of order",
        ),
    ],
    ids=["missing", "doubled"],
)
def test_lines_out_of_order_are_told_and_stop_writers(
    run_path: Path, order: tuple[int, ...], told: str
) -> None:
    lines = (run_path / "results.jsonl").read_bytes().splitlines(keepends=True)
    (run_path / "results.jsonl").write_bytes(b"".join(lines[each] for each in order))
    assert told in read_run(run_path).problems[0].reason
    with pytest.raises(RunFolderError, match=told):
        RunFolder.resume(run_path)


def test_a_digit_of_one_lines_schema_version_is_damage_of_that_line(run_path: Path) -> None:
    edit(run_path / "results.jsonl", '"schema_version":1', '"schema_version":2')
    (problem,) = check_run(run_path).problems
    assert "results.jsonl, line 1 is damaged: it was changed" in problem


@pytest.mark.parametrize("file", ["run.json", "tasks.jsonl"])
def test_a_digit_of_a_descriptions_schema_version_asks_for_no_upgrade(
    run_path: Path, file: str
) -> None:
    text = (run_path / file).read_text()
    (run_path / file).write_text(re.sub(r'("schema_version": ?)\d', r"\g<1>9", text, count=1))
    for read in (read_run, check_run):
        with pytest.raises(RunFolderError, match=f"{file} was changed after it was written"):
            read(run_path)


@pytest.mark.parametrize(
    ("file", "before", "after"),
    [("run.json", "openai:gpt-5.2", "openai:gpt-6"), ("tasks.jsonl", '"goal":"', '"goal":"Not: ')],
    ids=["model", "goal"],
)
def test_a_changed_description_is_told_by_readers_and_stops_writers(
    run_path: Path, file: str, before: str, after: str
) -> None:
    edit(run_path / file, before, after)
    advice = f"{file} was changed after it was written: restore it from a copy"
    assert [each.reason for each in read_run(run_path).problems] == [advice]
    assert advice in check_run(run_path).problems
    for write in (RunFolder.resume, repair_run):
        with pytest.raises(RunFolderError, match="was changed after it was written"):
            write(run_path)


def test_lines_that_are_missing_at_the_end_are_told(run_path: Path) -> None:
    lines = (run_path / "results.jsonl").read_bytes().splitlines(keepends=True)
    (run_path / "results.jsonl").write_bytes(b"".join(lines[:-1]))
    problems = check_run(run_path).problems
    assert problems[0].startswith("results.jsonl has fewer lines than the 8 that session 1 left")
    assert "1 planned trials have no result, the first of task '3'" in problems[1]


def test_what_another_tool_adds_to_a_trials_folder_is_no_change(run_path: Path) -> None:
    (run_path / "trials/1/0/eval_result.json").write_text("{}")
    assert check_run(run_path).problems == ()


def test_edited_artifacts_are_sealed_again_for_a_test(run_path: Path) -> None:
    (run_path / "trials/1/0/log.txt").write_text("another")
    reseal(run_path)
    scored = rescore_run_sync(Evaluator(), run_path, name="again")  # type: ignore[arg-type]
    assert not any("log.txt" in str(each.reason) for each in scored.changes)


def test_a_repaired_and_continued_run_has_no_problems(run_path: Path) -> None:
    edit(run_path / "results.jsonl", '"score":1.0,"success":true', '"score":0.0,"success":false')
    repair_run(run_path)
    assert check_run(run_path).problems == ()
    with RunFolder.resume(run_path) as run:
        (lost,) = run.remaining()
        (task,) = [each for each in run.tasks if each.task_id == lost.task_id]
        for result in make_results([task], trials=2, statuses={Status.COMPLETED: 1.0}):
            if result.key == lost:
                run.append(result.model_copy(update={"artifacts": ()}))
        shutil.rmtree(run.trial_folder(lost))
    assert check_run(run_path).problems == ()
    assert seal_of(run_path).startswith("sha256:")


def test_a_run_of_an_older_bench_core_is_continued_and_checked(run_path: Path) -> None:
    (run_path / "events.jsonl").unlink()
    for name in ("results.jsonl", "tasks.jsonl"):
        lines = [json.loads(each) for each in (run_path / name).read_text().splitlines()]
        for each in lines:
            for field in ("checksum", "sequence", "previous"):
                each.pop(field, None)
        (run_path / name).write_text("".join(json.dumps(each) + "\n" for each in lines[:6]))
    info = json.loads((run_path / "run.json").read_text())
    for field in ("checksum", "tasks_sha256", "finished"):
        del info[field]
    info["sessions"][0] |= {"results_sha256": None, "events_sha256": None}
    (run_path / "run.json").write_text(json.dumps(info))
    with pytest.raises(RunFolderError, match="has no digests to seal"):
        seal_of(run_path)
    with RunFolder.resume(run_path) as run:
        for result in make_results(run.tasks, trials=2, statuses={Status.COMPLETED: 1.0}):
            if result.key in run.remaining():
                run.append(result)
    assert [each.sequence for each in read_run(run_path).latest][-2:] == [7, 8]
    assert check_run(run_path).problems == ()


def test_a_seal_stands_for_every_file(run_path: Path, tmp_path: Path, run_command: Command) -> None:
    sealed = run_command("check", "--seal", run_path).stdout
    assert sealed == f"{seal_of(run_path)}\n"
    shutil.copytree(run_path, tmp_path / "copy")
    assert seal_of(tmp_path / "copy") == sealed.strip()
    (run_path / "trials/1/0/log.txt").write_text("another")
    done = run_command("check", "--seal", run_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert "trials/1/0/log.txt is not what the trial left" in done.stderr


def test_a_file_that_a_list_names_a_thousand_times_is_told_once(tmp_path: Path) -> None:
    (tmp_path / "log.txt").write_text("another")
    lying = ArtifactFile(path="log.txt", size=3, sha256="0" * 64)
    assert len(list(changed_artifacts(tmp_path, [lying] * 1000))) == 1
    other = ArtifactFile(path="log.txt", size=7, sha256="1" * 64)
    assert len(list(changed_artifacts(tmp_path, [lying, other, lying]))) == 2


class Evaluator:
    """Scores everything 1."""

    name = "demo"

    async def evaluate(self, evidence: object) -> object:
        from bench_core.trial import Evaluation  # as a benchmark's module would

        return Evaluation(score=1.0)


def test_what_was_changed_is_not_scored_again(run_path: Path) -> None:
    results = read_run(run_path).results
    assert all(each.artifacts for each in results.values())
    (run_path / "trials/1/0/log.txt").write_text("another")
    (run_path / "trials/1/1/log.txt").unlink()  # taken out for its size, say
    outcome = rescore_run_sync(Evaluator(), run_path, name="again")  # type: ignore[arg-type]
    told = {(each.task_id, each.trial): str(each.reason) for each in outcome.changes}
    assert told["0", 1] == "log.txt is not what the trial left: restore it from a copy"
    assert not any("log.txt" in told.get(key, "") for key in [("1", 1), ("2", 1)])


def test_a_folder_that_is_moved_while_it_is_written_stops_the_run(
    run_path: Path, tmp_path: Path
) -> None:
    run = RunFolder.resume(run_path)
    run_path.rename(tmp_path / "elsewhere")
    (result,) = make_results(make_tasks(1), statuses={Status.COMPLETED: 1.0})
    try:
        for write in (
            lambda: run.append(result),
            lambda: run.new_attempt(TrialKey(task_id="0")),
            lambda: run.finish("finished"),
        ):
            with pytest.raises(RunFolderError, match="was moved or deleted while"):
                write()
        assert not run_path.exists()
    finally:
        run.close()


def test_a_text_without_checksum_holds_none() -> None:
    assert not checksum_holds(b'{"a":1}')
    assert checksum_holds(add_checksum(b'{"a":1}'))
    assert not checksum_holds(add_checksum(b'{"a":1}') + b" ")
