"""Watching a run on the terminal while it goes on."""

from __future__ import annotations

import io
import json
from datetime import timedelta
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner
from rich.console import Console

from bench_core.errors import RunFolderError
from bench_report.cli import main
from bench_report.live.page_view import shown_progress
from bench_report.live.progress import ProgressReader, Snapshot, changes, snapshots
from bench_report.live.terminal_view import headline, show_lines, show_live

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from conftest import Growing, Runs


def test_a_watch_counts_what_has_ended(growing: Growing, reader: ProgressReader) -> None:
    assert (reader.read().ended, reader.read().planned) == (0, 20)

    growing.end(7)
    found = reader.read()

    done = growing.results[:7]
    assert found.ended == 7
    assert found.scored == sum(r.score is not None for r in done)
    assert found.succeeded == sum(r.success is True for r in done)
    assert found.cost_usd == pytest.approx(sum(r.cost_usd or 0 for r in done))
    assert sum(found.statuses.values()) == 7
    assert not found.over


def test_a_watch_shows_no_interval_before_the_last_trial(
    growing: Growing, reader: ProgressReader
) -> None:
    growing.end(19)
    assert reader.read().rate is None
    assert "%" not in headline(reader.read())

    growing.end(1)
    assert reader.read().rate is not None
    assert "%" in headline(reader.read())


def test_a_line_that_is_being_written_waits_for_its_end(
    growing: Growing, reader: ProgressReader
) -> None:
    growing.end(2)
    growing.tear()
    assert reader.read().ended == 2

    rest = growing.results[2].model_dump_json()[40:] + "\n"
    with (growing.folder / "results.jsonl").open("a") as file:
        file.write(rest)
    assert reader.read().ended == 3


def test_trials_in_flight_are_those_started_and_not_ended(
    growing: Growing, reader: ProgressReader
) -> None:
    growing.start("0")
    growing.start("1")
    assert [each.task_id for each in reader.read().in_flight] == ["0", "1"]

    growing.end(1)
    assert [each.task_id for each in reader.read().in_flight] == ["1"]


def test_the_time_left_follows_the_pace_of_the_session(
    growing: Growing, reader: ProgressReader
) -> None:
    growing.end(5)

    assert reader.read().eta_s == pytest.approx(3600 / 5 * 15)


def test_a_budget_counts_the_calls_of_trials_that_still_run(
    growing: Growing, reader: ProgressReader
) -> None:
    assert reader.read().budget is None

    growing.note("budget", max_cost_usd=10, max_minutes=240)
    growing.end(2)
    ended = sum(result.cost_usd or 0 for result in growing.results[:2])
    growing.note("spend", "9", source="agent", cost_usd=0.75, usage={"input_tokens": 40})
    growing.note("spend", "9", source="agent", cost_usd="nonsense")
    budget = reader.read().budget

    assert budget is not None
    assert budget.cost_usd == pytest.approx(ended + 0.75)
    assert budget.minutes == pytest.approx(60)
    assert f"${ended + 0.75:.2f} of $10.00" in headline(reader.read())
    assert "60 of 240 minutes (25.0%)" in headline(reader.read())


def test_a_killed_process_counts_until_its_last_event(
    growing: Growing, reader: ProgressReader
) -> None:
    growing.note("budget", at=growing.now - timedelta(minutes=55), max_minutes=240)
    growing.note(
        "spend", "9", at=growing.now - timedelta(minutes=50), source="agent", cost_usd=0.75
    )
    growing.resume("2026-03-01T09:40:00Z")
    growing.note("budget", at=growing.now - timedelta(minutes=19), max_minutes=120)
    budget = reader.read().budget

    assert budget is not None
    assert budget.max_minutes == 120
    assert budget.minutes == pytest.approx(10 + 20)


def test_limits_of_an_earlier_process_are_not_shown(
    growing: Growing, reader: ProgressReader
) -> None:
    growing.note("budget", at=growing.now - timedelta(minutes=55), max_minutes=240)
    growing.resume("2026-03-01T09:40:00Z")

    assert reader.read().budget is None


def test_trials_that_failed_last_are_named_first(growing: Growing, reader: ProgressReader) -> None:
    growing.end(20)

    expected = [each.key for each in reversed(growing.results) if each.success is not True]
    assert [each.key for each in reader.read().failures] == expected[:8]


def test_a_look_is_announced_with_the_trials_that_it_waits_for(
    growing: Growing, reader: ProgressReader
) -> None:
    assert reader.read().to_look is None

    growing.plan_looks(["0", "1", "2"], ["3", "4"])
    growing.end(4)  # the first trials of tasks 0 to 3
    assert reader.read().to_look == 3
    growing.note("look", number=1, of=2, reason="continue", share=0.6, tasks=3, clusters=3)
    assert reader.read().to_look == 6
    growing.note("look", number=2, of=2, reason="continue", share=1, tasks=5, clusters=5)
    assert reader.read().to_look is None


def test_a_file_that_was_replaced_is_read_again(growing: Growing, reader: ProgressReader) -> None:
    growing.end(6)
    reader.read()

    (growing.folder / "results.jsonl").write_text(growing.results[0].model_dump_json() + "\n")

    assert reader.read().ended == 1


def test_watching_ends_with_the_run(growing: Growing, reader: ProgressReader) -> None:
    looks: list[float] = []

    def sleep(seconds: float) -> None:
        looks.append(seconds)
        growing.end(10) if len(looks) < 3 else growing.finish()

    found = list(snapshots(reader, every_s=0.5, sleep=sleep))

    assert [each.ended for each in found] == [0, 10, 20, 20]
    assert found[-1].over
    assert looks == [0.5] * 3


def test_watching_no_run_says_so(tmp_path: Path) -> None:
    with pytest.raises(RunFolderError):
        ProgressReader(tmp_path)


def test_watching_a_run_without_its_tasks_is_refused(growing: Growing) -> None:
    (growing.folder / "tasks.jsonl").unlink()
    with pytest.raises(RunFolderError, match=r"has no tasks\.jsonl"):
        ProgressReader(growing.folder)


def test_results_of_unplanned_tasks_are_not_counted(
    growing: Growing, reader: ProgressReader
) -> None:
    growing.end(2)
    stray = growing.results[2].model_copy(update={"task_id": "stranger"})
    with (growing.folder / "results.jsonl").open("a", encoding="utf-8") as file:
        file.write(stray.model_dump_json() + "\n")
    assert reader.read().ended == 2


def test_lines_are_written_when_something_has_ended(
    growing: Growing, reader: ProgressReader
) -> None:
    growing.end(8)
    first = reader.read()
    lines: list[str] = []

    show_lines([first, first, first.model_copy(update={"ended": 9})], lines.append)

    assert len(lines) == 2
    assert lines[0].startswith("8/20 trials · ")
    assert "5 of 7 scored succeeded" in lines[0]


def test_the_terminal_shows_hostile_text_as_text(growing: Growing, reader: ProgressReader) -> None:
    growing.start("\x1b[31mred\x1b[2J[bold]")
    growing.end(3)
    stream = io.StringIO()
    console = Console(file=stream, force_terminal=True, width=100, highlight=False)

    show_live([reader.read()], stream, console=console)

    shown = stream.getvalue()
    assert "red[bold]" in shown
    assert "3/20 trials" in shown
    assert "\x1b[2J" not in shown
    assert "running" in shown


def test_watch_as_a_command(growing: Growing) -> None:
    growing.end(3)
    growing.finish()

    line = CliRunner().invoke(main, ["watch", str(growing.folder)]).stdout
    record = CliRunner().invoke(main, ["watch", str(growing.folder), "--json"]).stdout

    assert line.startswith("3/20 trials")
    assert " · finished" in line  # and damaged: no writer closed this folder
    assert json.loads(record)["ended"] == 3
    assert len(json.loads(record)["recent"]) == 3
    assert len(record) < 4_000


def test_a_record_follows_only_when_more_than_the_time_has_changed_and_says_just_that(
    growing: Growing, reader: ProgressReader
) -> None:
    growing.note("budget", max_minutes=240)
    growing.end(3)

    def read() -> Iterator[Snapshot]:
        found = reader.read()
        yield found
        spent = found.budget and found.budget.model_copy(update={"minutes": 61.0})
        yield found.model_copy(update={"elapsed_s": 9.0, "eta_s": 5.0, "budget": spent})
        growing.end(1)
        yield reader.read()

    first, second = changes(read())
    assert (first["ended"], len(first["recent"]), first["planned"]) == (3, 3, 20)
    assert second["ended"] == 4
    assert [each["task_id"] for each in second["recent"]] == [growing.results[3].task_id]
    assert "planned" not in second


def test_results_that_do_not_say_when_they_began_still_give_the_time_left(
    growing: Growing, reader: ProgressReader
) -> None:
    growing.end_without_start(5)

    assert reader.read().eta_s == pytest.approx(3600 / 5 * 15)


def test_no_time_left_is_told_from_results_that_an_earlier_process_may_have_left(
    growing: Growing, reader: ProgressReader
) -> None:
    growing.end_without_start(5)
    growing.resume("2026-03-01T09:40:00Z")

    assert reader.read().eta_s is None


def shown_lines(found: Snapshot) -> str:
    lines: list[str] = []
    show_lines([found], lines.append)
    return lines[0]


@pytest.mark.parametrize("name", ["results.jsonl", "events.jsonl"])
@pytest.mark.parametrize(
    "line", [b"{}\n", b'{"checksum":"0","kind":"look","time":"2026-03-01T10:00:00Z"}\n']
)
def test_lines_that_are_damaged_while_the_run_goes_on_are_told_and_do_not_count(
    growing: Growing, reader: ProgressReader, name: str, line: bytes
) -> None:
    growing.end(2)
    before = reader.read()  # whose folder no writer of ours began

    with (growing.folder / name).open("ab") as file:
        file.write(line)
    found = reader.read()

    assert found.damage == (*before.damage, f"{name} has 1 more damaged line")
    assert found.ended == before.ended


@pytest.mark.parametrize("name", ["results.jsonl", "events.jsonl"])
def test_damage_from_before_the_watch_is_told(run: Runs, name: str) -> None:
    folder = run(tasks=10, trials=2)
    whole = ProgressReader(folder).read()
    assert whole.damage == ()
    assert "DAMAGED" not in shown_lines(whole)
    lines = (folder / name).read_bytes().splitlines(keepends=True)
    lines[0] = lines[0].replace(b'"trial":1', b'"trial":2')
    (folder / name).write_bytes(b"".join(lines))

    found = ProgressReader(folder).read()

    assert f"{name}, line 1 is damaged" in found.damage[0]
    assert "DAMAGED: " in shown_lines(found)
    assert found.ended == (19 if name == "results.jsonl" else 20)


def test_lines_that_are_gone_are_told_once_the_run_is_over(run: Runs) -> None:
    folder = run(tasks=10, trials=2)
    lines = (folder / "results.jsonl").read_bytes().splitlines(keepends=True)
    (folder / "results.jsonl").write_bytes(b"".join(lines[:-4]))

    found = ProgressReader(folder).read()

    assert "results.jsonl has fewer lines than the 20 that session 1 left" in found.damage[0]
    assert "DAMAGED" in shown_lines(found)
    shown = shown_progress(found, ["a"], 0)["facts"]
    assert "fewer lines" in dict(shown)["Damage"]
