"""What decides about money, trials and results is in lines that tell when they were changed."""

from __future__ import annotations

import json
import random
from typing import TYPE_CHECKING

import pytest
from planned_runs import NOW
from test_support.damage import leave_running

from bench_core.budgets import Spent
from bench_core.errors import RunFolderBusyError, RunFolderError
from bench_core.files import add_checksum
from bench_core.records import Event
from bench_core.run_folder import RunFolder, check_run, read_run
from bench_core.run_folder.maintenance import repair_run
from bench_core.runs.spending import spent_before

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from bench_core.records import TrialResult

LOGS = ("results.jsonl", "events.jsonl")
AMOUNTS = (0.125, 2.5, 3.0)


@pytest.fixture
def spending(run_path: Path, completed: list[TrialResult]) -> Path:
    """Hold a run in which three calls were paid for, two of them of a trial without a result."""
    with RunFolder.resume(run_path) as run:
        for cost, task in zip(AMOUNTS, ("0", "2", "2"), strict=True):
            data = Spent(cost_usd=cost).model_dump(mode="json", exclude_defaults=True)
            run.event(Event(time=NOW, kind="spend", task_id=task, trial=2, data=data))
        run.append(completed[4])
        run.note("ended", {})
    return run_path


def lines_of(file: Path) -> list[bytes]:
    return file.read_bytes().splitlines(keepends=True)


def reasons(run: Path) -> str:
    return "\n".join(read_run(run).damage)


def resealed(line: bytes, change: Callable[[dict[str, object]], object]) -> bytes:
    """Return a line that was changed by someone who computed its own checksum again."""
    record = json.loads(line)
    del record["checksum"]
    change(record)
    return add_checksum(json.dumps(record, separators=(",", ":")).encode()) + b"\n"


@pytest.mark.parametrize("ended", [True, False], ids=["ended", "killed"])
def test_no_digit_of_the_ledger_changes_the_money_unnoticed(spending: Path, *, ended: bool) -> None:
    if not ended:
        leave_running(spending)
    assert spent_before(read_run(spending)).cost_usd >= sum(AMOUNTS)
    events = spending / "events.jsonl"
    whole, chance = events.read_bytes(), random.Random(0)  # noqa: S311  # reproducible, not secret
    digits = [place for place, byte in enumerate(whole) if chr(byte).isdigit()]
    for place in chance.sample(digits, 60):
        other = chance.choice([each for each in b"0123456789" if each != whole[place]])
        events.write_bytes(whole[:place] + bytes([other]) + whole[place + 1 :])
        assert "events.jsonl" in reasons(spending)
        assert any("events.jsonl" in each for each in check_run(spending).problems)
        with pytest.raises(RunFolderError, match=r"events\.jsonl"):
            RunFolder.resume(spending)
    events.write_bytes(whole)
    assert reasons(spending) == ""


@pytest.mark.parametrize("ended", [True, False], ids=["ended", "killed"])
@pytest.mark.parametrize("name", LOGS)
@pytest.mark.parametrize("place", [1, -1])
def test_a_line_whose_own_checksum_was_computed_again_is_told(
    spending: Path, name: str, place: int, *, ended: bool
) -> None:
    if not ended:
        leave_running(spending)
    lines = lines_of(spending / name)
    lines[place] = resealed(lines[place], lambda record: record.update(task_id="0", trial=1))
    (spending / name).write_bytes(b"".join(lines))
    assert name in reasons(spending)
    with pytest.raises(RunFolderError, match=name):
        RunFolder.resume(spending)
    repair_run(spending)
    if not ended:  # else only a copy tells which line it was
        assert reasons(spending) == ""


@pytest.mark.parametrize("name", LOGS)
def test_a_last_line_that_lost_its_number_is_told(spending: Path, name: str) -> None:
    leave_running(spending)
    *lines, last = lines_of(spending / name)
    record = json.loads(last)
    del record["checksum"], record["sequence"], record["previous"]
    (spending / name).write_bytes(b"".join([*lines, json.dumps(record).encode(), b"\n"]))
    assert f"{name} has 4 lines of the 5 that were written" in reasons(spending)


@pytest.mark.parametrize("name", LOGS)
@pytest.mark.parametrize(
    ("change", "told"), [(None, "is missing"), (b"", "was changed"), (b"{}\n", "was changed")]
)
def test_a_session_tells_where_it_is_not_known_how_a_killed_one_ended(
    spending: Path, name: str, change: bytes | None, told: str
) -> None:
    leave_running(spending)
    end = spending / f"{name}.end"
    end.unlink() if change is None else end.write_bytes(change)
    assert f"{name}.end {told}" in reasons(spending)
    RunFolder.resume(spending).close()
    (lost,) = read_run(spending).events.of_kinds("lines_lost")
    assert f"{name}.end {told}" in str(lost.data["problem"])
    assert reasons(spending) == ""


@pytest.mark.parametrize("name", LOGS)
def test_a_kill_at_any_byte_of_a_line_is_no_damage(spending: Path, name: str) -> None:
    leave_running(spending)
    end = (spending / f"{name}.end").read_bytes()
    with RunFolder.resume(spending) as run:
        run.note("more", {})
        run.append(next(iter(run.results().values())))
        run.close()
    (spending / f"{name}.end").write_bytes(end)  # which follows the line
    whole = (spending / name).read_bytes()
    lines = whole.splitlines(keepends=True)
    assert reasons(spending) == ""
    for left in (0, 1, 20, len(lines[-1]) - 2):
        (spending / name).write_bytes(b"".join(lines[:-1]) + lines[-1][:left])
        assert reasons(spending) == ""
    (spending / name).write_bytes(b"".join(lines[:-1])[:-2])
    assert f"{name} has 4 lines of the 5 that were written" in reasons(spending)


def test_a_run_that_ended_holds_no_file_that_says_where_its_files_end(spending: Path) -> None:
    assert not list(spending.glob("*.end"))
    with RunFolder.resume(spending) as run:
        assert len(list(spending.glob("*.end"))) == len(LOGS)
        assert run.remaining()
    assert not list(spending.glob("*.end"))


@pytest.mark.parametrize("ended", [True, False], ids=["ended", "killed"])
@pytest.mark.parametrize(
    ("name", "cut", "left", "told"),
    [
        ("results.jsonl", 1, 5, "results.jsonl has 4 lines of the 5 that were written"),
        ("events.jsonl", 2, 5, "events.jsonl has 3 lines of the 5 that were written"),
    ],
)
def test_lines_cut_off_are_told_and_stop_no_start(
    spending: Path, name: str, cut: int, left: int, told: str, *, ended: bool
) -> None:
    if not ended:
        leave_running(spending)
    file = spending / name
    file.write_bytes(b"".join(lines_of(file)[:-cut]))
    assert (f"{name} has fewer lines than the {left} that session 2 left" if ended else told) in (
        reasons(spending)
    )
    for _ in range(2):
        with RunFolder.resume(spending) as run:
            assert len(run.remaining()) == (2 if name == "results.jsonl" else 1)
    (lost,) = read_run(spending).events.of_kinds("lines_lost")
    assert name in str(lost.data["problem"])
    assert reasons(spending) == ""


def test_a_ledger_that_is_gone_is_told_by_the_results_of_a_killed_run(spending: Path) -> None:
    leave_running(spending)
    (spending / "events.jsonl").unlink()
    assert "events.jsonl has fewer lines than the 1 that session 1 left" in reasons(spending)


def test_a_byte_of_a_name_that_is_no_text_is_damage(spending: Path) -> None:
    events = spending / "events.jsonl"
    events.write_bytes(events.read_bytes().replace(b'"kind"', b'"k\xd5nd"', 1))
    assert "events.jsonl, line 1 is damaged" in reasons(spending)


def test_lines_that_no_session_of_an_older_run_json_wrote_are_told(spending: Path) -> None:
    older = (spending / "run.json").read_bytes()
    with RunFolder.resume(spending) as run:
        run.note("more", {})
        assert reasons(spending) == ""
    (spending / "run.json").write_bytes(older)
    assert "events.jsonl has lines that no session of run.json wrote" in reasons(spending)


def test_a_second_writer_is_refused_where_the_lock_file_was_removed(run_path: Path) -> None:
    with RunFolder.resume(run_path) as run:
        (run_path / ".lock").unlink()
        with pytest.raises(RunFolderBusyError, match="is being written by"):
            RunFolder.resume(run_path)
        assert run.remaining()
    RunFolder.resume(run_path).close()


def test_repair_sets_aside_what_a_second_writer_added(run_path: Path) -> None:
    leave_running(run_path)
    results = run_path / "results.jsonl"
    first = lines_of(results)
    other = [
        resealed(line, lambda record: record.update(sequence=record["sequence"], steps=1))
        for line in first[2:]
    ]
    results.write_bytes(b"".join([*first[:3], *other, first[3]]))
    with pytest.raises(RunFolderError, match="doubled or out of order"):
        RunFolder.resume(run_path)
    (moved,) = repair_run(run_path)
    assert len(moved.lines) == len(first) + len(other) - len(lines_of(results))
    assert reasons(run_path) == ""
    RunFolder.resume(run_path).close()
