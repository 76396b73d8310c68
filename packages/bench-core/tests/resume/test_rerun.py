"""Trials that run again: `--rerun`, and where a site stays down."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from toy_tasks import IDS, Toys

from bench_core.errors import InputError
from bench_core.records import Event, Resource, Status, Task, TrialKey
from bench_core.run_folder import RunFolder, check_run, read_run
from bench_core.run_folder.folder import write_info
from bench_core.run_spec import AgentProcessSpec, RunSpec, TaskFilter
from bench_core.runs import RunEnvironment, RunOutcome, run_benchmark_sync
from bench_core.scheduling import Backoff, NoLocks, Policy

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


@pytest.mark.parametrize(
    ("asked", "again"),
    [
        (("failed",), {"wrong-1"}),
        (("unscored",), {"odd-1"}),
        (("suspect",), {"quick-2"}),
        (("all",), {"quick-1", "wrong-1", "odd-1", "quick-2"}),
        (("quick-1",), {"quick-1"}),
        (("failed", "quick-1"), {"wrong-1", "quick-1"}),
    ],
    ids=["failed", "unscored", "suspect", "all", "a task", "several"],
)
def test_trials_run_again_by_what_became_of_them(
    run: Callable[..., RunOutcome], toys: Toys, out: Path, asked: tuple[str, ...], again: set[str]
) -> None:
    toys.suspects = ("quick-2",)
    run()
    assert read_run(out).info.sessions[-1].rerun is None
    run(rerun=asked)  # what has no lasting result runs in any case, and is down again
    assert set(toys.ran) == again
    view = read_run(out)
    for task_id in IDS:
        result = view.results[TrialKey(task_id=task_id)]
        assert ("rerun" in result.flags) == (task_id in again), task_id
        assert len(result.attempts) == 1 + (task_id in again or task_id == "down-1")
    assert view.info.sessions[-1].rerun is not None
    assert check_run(out).problems == ()


def test_a_rerun_that_was_interrupted_is_continued_by_the_same_command_and_by_the_plain_one(
    run: Callable[..., RunOutcome], toys: Toys, out: Path
) -> None:
    run()
    with RunFolder.resume(out) as folder:  # asked for, and ended before anything ran
        folder.run_again(["all"], [TrialKey(task_id=each) for each in IDS])
    assert read_run(out).to_rerun == {TrialKey(task_id=each) for each in IDS}
    first, last = read_run(out).info.sessions
    assert first.rerun is None
    assert last.rerun is not None
    assert first.started < last.started
    both = IDS[0], IDS[1]
    rest = TaskFilter(ids=IDS, skip_ids=tuple({*IDS} - {*both}))
    outcome = run(tasks=rest)
    assert set(toys.ran) == {*both}
    assert outcome.remaining == 3
    outcome = run(rerun=("all",))
    assert set(toys.ran) == {"odd-1", "quick-2"}, "those that ran again do not a second time"
    assert outcome.remaining == 1
    run(rerun=("all",))
    assert len(toys.ran) == 4, "that one was over: this is the next"


def test_another_rerun_does_not_wait_for_one_that_was_interrupted(
    run: Callable[..., RunOutcome], toys: Toys, out: Path
) -> None:
    run()
    with RunFolder.resume(out) as folder:
        folder.run_again(["odd-1"], [TrialKey(task_id="odd-1")])
    run(rerun=("failed",))
    assert set(toys.ran) == {"odd-1", "wrong-1"}


@pytest.mark.parametrize("asked", ["faild", "quick-3"])
def test_a_rerun_of_something_else_is_refused(run: Callable[..., RunOutcome], asked: str) -> None:
    run()
    with pytest.raises(
        InputError, match=f"'{asked}' is not a task of this run and none of failed, "
    ):
        run(rerun=(asked,))


def test_a_rerun_without_a_run_is_refused(run: Callable[..., RunOutcome], out: Path) -> None:
    with pytest.raises(InputError, match="this folder has no run yet"):
        run(rerun=("all",))
    assert not out.exists()


def test_a_rerun_of_a_run_with_looks_is_refused(run: Callable[..., RunOutcome], out: Path) -> None:
    run()
    view = read_run(out)
    ruled = view.info.model_copy(update={"stopping_rule": {"kind": "obrien-fleming"}})
    with RunFolder.resume(out) as folder:
        write_info(out, ruled, folder.redactor)
        folder.info = ruled
    with pytest.raises(InputError, match="looks"):
        run(rerun=("all",))


def test_a_trial_that_was_given_up_is_tried_again_where_it_is_asked_for(
    run: Callable[..., RunOutcome], toys: Toys, out: Path
) -> None:
    key = TrialKey(task_id="quick-1")

    def dies_alone() -> None:
        now = read_run(out).info.sessions[-1].started
        with RunFolder.resume(out) as folder:
            folder.new_attempt(key)
            folder.event(Event(time=now, kind="attempt_started", task_id="quick-1", trial=1, attempt=2,
                               data={"alone": True}))  # fmt: skip

    run(tasks=TaskFilter(ids=("quick-1",), limit=1), agent="my_agent:Agent")
    with RunFolder.resume(out) as folder:
        before = folder.results()[key]
        folder.append(before.model_copy(update={"status": Status.CANCELLED, "score": None,
                                                "success": None, "sequence": None}))  # fmt: skip
    dies_alone()
    only = TaskFilter(ids=("quick-1",), limit=1)
    assert run(tasks=only).statuses == {"environment_error": 1}
    assert toys.ran == []
    assert run(tasks=only).statuses == {"environment_error": 1}
    assert toys.ran == []
    assert run(tasks=only, rerun=("unscored",)).statuses == {"completed": 1}
    assert toys.ran == ["quick-1"]


def test_trials_that_run_alone_go_on_where_a_site_of_others_stays_down(
    out: Path, agent: Path
) -> None:
    class Sites(Toys):
        def tasks(self) -> list[Task]:
            shop = (Resource(name="shop", mode="shared"),)
            down = [Task(benchmark="toys", task_id=f"down-{each}", goal="", resources=shop)
                    for each in range(8)]  # fmt: skip
            return [*down, Task(benchmark="toys", task_id="quick-1", goal="")]

    toys, key = Sites(), TrialKey(task_id="quick-1")
    policy = Policy(attempts=1, backoff=Backoff(first_s=0.0), max_consecutive_faults=3)
    spec = RunSpec(
        agent="my_agent:Agent", agent_process=AgentProcessSpec(process="shared"), attempts=3
    )

    def go_on() -> RunOutcome:
        run_environment = RunEnvironment(locks=NoLocks(), policy=policy)
        return run_benchmark_sync(toys, spec, out, run_environment=run_environment)

    go_on()
    with RunFolder.resume(out) as folder:
        before = folder.results()[key]
        folder.append(before.model_copy(update={"status": Status.CANCELLED, "score": None,
                                                "success": None, "sequence": None}))  # fmt: skip
        folder.new_attempt(key)
        folder.event(Event(time=folder.now(), kind="attempt_started", task_id="quick-1", trial=1,
                           attempt=2, data={"alone": False}))  # fmt: skip
    toys.ran.clear()
    outcome = go_on()
    assert toys.ran == ["quick-1"]
    assert (outcome.outcome, outcome.remaining) == ("aborted", 8)


def test_an_interrupted_rerun_of_a_folder_without_sequences_goes_on(
    run: Callable[..., RunOutcome], toys: Toys, out: Path
) -> None:
    run()
    run(rerun=("quick-1",))
    run()
    assert toys.ran == [], "it ran again once"
