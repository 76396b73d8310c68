"""Runs too large for memory: read in parts, line after line, to the same end as whole."""

from __future__ import annotations

import json
from datetime import datetime, timedelta, timezone
from typing import TYPE_CHECKING

import pytest

from bench_core.budgets import Spent
from bench_core.errors import RefusedFileError, RunFolderError
from bench_core.files import add_checksum, open_inside
from bench_core.records import Event, Spending, Status, TrialKey, TrialResult, Usage
from bench_core.run_folder import RunFolder, StoredEvents, check_run, read_lines, read_run
from bench_core.runs import spent_before
from bench_core.statistics import EndedTrials, read_ended
from bench_core.testing import make_results, make_run, make_tasks

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

TASKS = make_tasks(3)
MANY = 720  # trials of each: more results than stay in memory


@pytest.fixture(scope="module", params=[2, MANY], ids=["kept", "read each time"])
def run_path(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Hold a run in which every fifth trial was repeated, at once or later."""
    trials: int = request.param
    path = tmp_path_factory.mktemp("large") / "run"
    results = list(make_results(TASKS, trials=trials))
    again = [each.model_copy(update={"steps": 99}) for each in results[::5]]
    mixed = [*results[:3], again[0], *results[3:], *again[1:]]
    return make_run(path, tasks=TASKS, trials=trials, results=mixed, artifacts=False)


def last_of_each(path: Path) -> dict[TrialKey, TrialResult]:
    return {each.key: each for each in read_lines(path / "results.jsonl", TrialResult).records}


def test_the_last_results_are_those_of_the_whole_file(run_path: Path) -> None:
    run, expected = read_run(run_path), last_of_each(run_path)
    assert list(run.latest) == list(expected.values())
    assert run.results == expected
    assert list(run.results.items()) == list(expected.items())
    assert list(run.results.values()) == list(expected.values())
    assert (len(run.latest), len(run.results)) == (len(expected), len(expected))


def test_single_results_are_found_by_place_and_by_trial(run_path: Path) -> None:
    run, expected = read_run(run_path), list(last_of_each(run_path).values())
    assert [run.latest[0], run.latest[-1]] == [expected[0], expected[-1]]
    assert list(run.latest[1:5]) == expected[1:5]
    assert all(run.results[each.key] == each for each in expected[:7])
    with pytest.raises(IndexError):
        run.latest[len(expected)]
    for unknown in (TrialKey(task_id="0", trial=MANY + 1), TrialKey(task_id="none")):
        assert unknown not in run.results
        with pytest.raises(KeyError):
            run.results[unknown]


def test_lines_are_those_of_the_last_results(run_path: Path) -> None:
    run = read_run(run_path)
    lines = [json.loads(line)["sequence"] for line in run.latest.lines()]
    assert lines == [each.sequence for each in last_of_each(run_path).values()]


def test_what_statistics_need_is_the_same_from_lines_and_from_results(run_path: Path) -> None:
    results = last_of_each(run_path).values()
    taken = EndedTrials.of(read_run(run_path).latest)
    assert list(taken) == list(EndedTrials.of(results)) == list(read_ended(run_path)[1])
    assert [(each.task_id, each.trial, each.steps) for each in taken] == [
        (each.task_id, each.trial, each.steps) for each in results
    ]
    assert [taken[-1], *taken[1:3]] == [list(taken)[place] for place in (-1, 1, 2)]


def test_lines_without_a_checksum_are_read_as_whole_results_for_statistics(tmp_path: Path) -> None:
    results = list(make_results(TASKS, trials=2))
    path = make_run(tmp_path / "run", tasks=TASKS, trials=2, results=results[:4], artifacts=False)
    with RunFolder.resume(path) as folder:
        folder.append(results[0].model_copy(update={"steps": 99}))
    with (path / "results.jsonl").open("a") as file:
        file.write(results[5].model_dump_json() + "\n")
    run, ended = read_ended(path)
    assert [each.steps for each in ended] == [each.steps for each in run.latest]
    assert (len(ended), ended[0].steps) == (5, 99)


def test_results_that_are_appended_meanwhile_are_not_among_those_that_were_read(
    tmp_path: Path,
) -> None:
    results = list(make_results(TASKS))
    make_run(tmp_path / "run", tasks=TASKS, results=results[:2], artifacts=False)
    run = read_run(tmp_path / "run")
    with RunFolder.resume(tmp_path / "run") as folder:
        folder.append(results[2])
    assert [each.key for each in run.latest] == [each.key for each in results[:2]]


def test_a_check_tells_how_far_it_is(tmp_path: Path) -> None:
    path = make_run(tmp_path / "run", tasks=TASKS)
    told: list[tuple[int, int]] = []
    check_run(path, told=lambda *at: told.append(at))
    assert told == [(1, 3), (2, 3), (3, 3)]


def test_a_result_file_may_be_larger_than_other_files(tmp_path: Path) -> None:
    for name, size in (
        ("results.jsonl", 3 << 30),
        ("notes.txt", 3 << 30),
        ("events.jsonl", 65 << 30),
    ):
        (tmp_path / name).touch()
        with (tmp_path / name).open("r+b") as file:
            file.truncate(size)
    said = {}
    for name in ("results.jsonl", "notes.txt", "events.jsonl"):
        with pytest.raises(RefusedFileError) as refusal:
            open_inside(tmp_path, name)
        said[name] = str(refusal.value)
    assert "of which nearly none are there" in said["results.jsonl"]  # its size alone would do
    assert "files up to 2 GB are read" in said["notes.txt"]
    assert "files up to 64 GB are read" in said["events.jsonl"]


def forged(line: bytes, **fields: object) -> bytes:
    """Return a line with other fields and the checksum that it should have."""
    document = {**json.loads(line), **fields}
    del document["checksum"]
    return add_checksum(json.dumps(document, separators=(",", ":")).encode())


@pytest.mark.parametrize(
    "fields",
    [{"steps": "many"}, {"usage": {"requests": -1}}, {"unknown": 1}, {"artifacts": [{"path": "../x"}]}],
)  # fmt: skip
def test_a_forged_line_that_is_no_result_is_told_by_check_and_by_who_reads_it(
    tmp_path: Path, fields: dict[str, object]
) -> None:
    path = make_run(tmp_path / "run", tasks=TASKS, artifacts=False)
    first, *others = (path / "results.jsonl").read_bytes().splitlines()
    (path / "results.jsonl").write_bytes(
        b"".join(each + b"\n" for each in [forged(first, **fields), *others])
    )
    assert any("line 1 is damaged: not a TrialResult" in each for each in check_run(path).problems)
    with pytest.raises(
        RunFolderError, match=r"results\.jsonl has a line that is not a TrialResult"
    ):
        list(read_run(path).latest)


@pytest.mark.parametrize(
    "fields",
    [{"score": None}, {"success": False}, {"status": "cancelled"}, {"trial": 0}, {"status": "won"}],
)
def test_a_forged_line_whose_standing_cannot_be_is_damaged_for_all(
    tmp_path: Path, fields: dict[str, object]
) -> None:
    always = {Status.COMPLETED: 1.0}
    path = make_run(
        tmp_path / "run", tasks=TASKS, statuses=always, success_rate=1.0, artifacts=False
    )
    first, *others = (path / "results.jsonl").read_bytes().splitlines()
    (path / "results.jsonl").write_bytes(
        b"".join(each + b"\n" for each in [forged(first, **fields), *others])
    )
    with pytest.raises(RunFolderError, match="line 1 is damaged"):
        read_run(path)


NOW = datetime(2026, 3, 1, 9, 0, tzinfo=timezone.utc)


def test_events_are_found_by_kind_and_by_date(tmp_path: Path) -> None:
    kinds = ["begun", "spend", "begun", "ended", "spend"]
    events = [Event(time=NOW + timedelta(minutes=n), kind=kind) for n, kind in enumerate(kinds)]
    lines = [each.model_dump_json() for each in events]
    (tmp_path / "events.jsonl").write_text("\n".join([*lines[:3], "[]", *lines[3:]]) + "\n")
    found = StoredEvents(tmp_path / "events.jsonl")
    assert list(found) == events
    assert [each.number for each in found.bad] == [4]
    assert list(found.of_kinds("begun", "ended", "other")) == [events[0], events[2], events[3]]
    assert list(found.of_kinds("other")) == []
    dates = [events[2].time, events[2].time, events[4].time + timedelta(seconds=1)]
    assert found.last_times(dates) == [events[1].time, None, events[4].time, None]


def call(tokens: int, cost: float | None) -> Spent:
    return Spent.call(Usage(requests=1, input_tokens=tokens, output_tokens=3), cost)


def spent_whole(calls: dict[TrialKey | None, list[Spent]], run: Iterable[TrialResult]) -> Spent:
    """Return what was spent by its definition: of each trial the larger of its events and its result."""
    sums = {key: sum(each, Spent()) for key, each in calls.items()}
    for result in run:
        made = [each for attempt in result.attempts for each in attempt.spent if not each.reported]
        metered = sum((Spent.call(each.usage, each.cost_usd) for each in made), Spent())
        known = sums.get(result.key, Spent())
        if (metered.usage.total_tokens, metered.cost_usd) > (
            known.usage.total_tokens,
            known.cost_usd,
        ):
            sums[result.key] = metered
    return sum(sums.values(), Spent())


def test_of_each_trial_the_larger_of_its_calls_and_its_attempts_is_spent(tmp_path: Path) -> None:
    results = list(make_results(TASKS, trials=2))
    spending = [
        (),
        (Spending(source="agent", usage=Usage(requests=2, input_tokens=900), cost_usd=0.5),),
        (Spending(source="agent", usage=Usage(input_tokens=9), cost_usd=None),),
        (Spending(source="agent", usage=Usage(input_tokens=9999), cost_usd=7.0, reported=True),),
        (Spending(source="agent", usage=Usage(input_tokens=40), cost_usd=0.25),),
    ]
    for number, each in enumerate(spending):
        (attempt,) = results[number].attempts
        update = {"attempts": (attempt.model_copy(update={"spent": each}),)}
        results[number] = results[number].model_copy(update=update)
    calls: dict[TrialKey | None, list[Spent]] = {
        results[0].key: [call(10, 0.5), call(20, None)],
        results[1].key: [call(10, 0.25)],
        results[2].key: [call(1, None)],
        results[3].key: [call(5, 0.0)],
        None: [call(100, 1.0)],
        TrialKey(task_id="planned no more"): [call(7, 0.125)],
    }
    path = make_run(tmp_path / "run", tasks=TASKS, trials=2, results=results[:5], artifacts=False)
    with RunFolder.resume(path) as folder:
        for key, made in calls.items():
            for each in made:
                amount = each.model_dump(mode="json", exclude_defaults=True)
                where = {} if key is None else {"task_id": key.task_id, "trial": key.trial}
                event = Event(time=folder.now(), kind="spend", attempt=1, **where, data={"source": "agent", **amount})  # fmt: skip
                folder.event(event)
    found = spent_before(read_run(path))
    assert found.model_copy(update={"seconds": 0.0}) == spent_whole(calls, results[:5])


def test_a_call_that_cannot_have_cost_what_its_event_says_is_an_error(tmp_path: Path) -> None:
    path = make_run(tmp_path / "run", tasks=TASKS, artifacts=False)
    with RunFolder.resume(path) as folder:
        folder.note("spend", {"cost_usd": -3.0})
    with pytest.raises(RunFolderError, match=r"events\.jsonl has a call that cannot have cost"):
        spent_before(read_run(path))
