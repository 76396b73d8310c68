"""Runs whose attempts are carried out by worker processes over pipes, and everything that can happen to these."""

from __future__ import annotations

import asyncio
import hashlib
import os
import time
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from worker_runs import NAMES, Runs, comparable

from bench_core.budgets import Budget
from bench_core.errors import InputError
from bench_core.records import Status
from bench_core.run_folder import read_run
from bench_core.run_spec import ExecutorSpec
from bench_core.runs import run_benchmark, run_benchmark_sync
from bench_core.workers import PipeTransport

if TYPE_CHECKING:
    from bench_core.workers import WorkerProcess

HERE = Path(__file__).parent
WAIT_S = 300.0  # a worker may take three minutes to start


@pytest.fixture
def runs(tmp_path: Path, variables: dict[str, str]) -> Runs:
    return Runs(tmp_path, variables)


def is_running(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state not in {"Z", "X"}


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory, variables: dict[str, str]) -> Runs:
    """A run of all ordinary toys by two workers that are in the run folder's file system."""
    made = Runs(tmp_path_factory.mktemp("done"), variables)
    made.run(*NAMES)
    return made


def test_workers_give_the_same_records_as_the_process_of_the_run(
    done: Runs, tmp_path: Path, variables: dict[str, str]
) -> None:
    inline = Runs(tmp_path, variables)
    inline.run(*NAMES, workers=False)

    def of(each: Runs) -> dict[str, Any]:
        return {name: comparable(result) for name, result in sorted(each.results.items())}

    assert of(done) == of(inline)


def check_files(runs: Runs, *names: str) -> None:
    for name in names:
        folder = runs.out / "trials" / "1" / name
        left = {each.path: each for each in runs.results[name].artifacts}
        assert {"deep/answer.txt", "picture.png"} <= set(left)
        for path, each in left.items():
            data = (folder / path).read_bytes()
            assert (each.size, each.sha256) == (len(data), hashlib.sha256(data).hexdigest())
    assert not (runs.out / "incoming").exists()


def test_what_attempts_left_is_in_the_run_folder_with_the_right_digests(done: Runs) -> None:
    check_files(done, *NAMES)


def test_files_come_in_pieces_where_a_worker_does_not_see_the_run_folder(
    runs: Runs, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bench_core.workers.files.Incoming.probe", lambda *_: "")
    runs.run("large-1", "quick-1", at_once=1)
    check_files(runs, "large-1", "quick-1")
    assert [each["shared"] for each in runs.events("worker_ready")] == [False]


def test_an_attempt_has_nothing_of_the_one_before_on_the_same_worker(
    runs: Runs, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bench_core.workers.files.Incoming.probe", lambda *_: "")
    monkeypatch.setattr("bench_core.workers.executor.WorkerExecutor.kept", lambda *_: None)
    runs.run("torn-1", at_once=1)
    result = runs.results["torn-1"]
    assert (result.score, len(result.attempts)) == (1.0, 2)
    assert "first.txt" not in {each.path for each in result.artifacts}
    check_files(runs, "torn-1")


def test_trials_run_in_as_many_processes_as_workers_and_not_in_this_one(done: Runs) -> None:
    processes = {each.details["process"] for each in done.results.values() if each.status.done}
    ready = {each["pid"] for each in done.events("worker_ready")}
    assert len(ready) == 2
    assert processes
    assert processes <= ready
    assert os.getpid() not in processes
    assert not any(map(is_running, ready))


def test_a_run_begun_here_goes_on_by_workers_and_ends_here(runs: Runs) -> None:
    runs.run("quick-1", "wrong-1", workers=False, spec={"trials": 1})
    outcome = runs.run("quick-1", "wrong-1", at_once=1, spec={"trials": 2})
    assert (outcome.outcome, outcome.planned, outcome.remaining) == ("finished", 4, 0)
    outcome = runs.run("quick-1", "wrong-1", workers=False, spec={"trials": 3})
    assert (outcome.planned, outcome.remaining, outcome.succeeded) == (6, 0, 3)


def test_a_worker_that_dies_is_a_fault_of_the_environment_with_its_cause(runs: Runs) -> None:
    runs.run("segfault-1", "quick-1", at_once=1, attempts=1)
    result = runs.results["segfault-1"]
    assert result.status is Status.ENVIRONMENT_ERROR
    assert result.error is not None
    assert result.error.kind == "WorkerLostError"
    assert "was ended by SIGSEGV" in result.error.message
    assert runs.results["quick-1"].score == 1.0


@pytest.mark.parametrize(
    ("name", "cause"),
    [
        ("garbage-1", "broke the protocol"),
        ("browser-1", "was ended by SIGKILL"),
        ("fork-1", "was ended by SIGKILL"),
        ("full-1", "cannot go on: FileNotFoundError"),
    ],
)
def test_an_attempt_whose_worker_is_lost_is_tried_again(runs: Runs, name: str, cause: str) -> None:
    runs.run(name)
    result = runs.results[name]
    assert (result.status, result.score) == (Status.COMPLETED, 1.0)
    first, second = result.attempts
    assert first.error is not None
    assert (first.status, cause in first.error.message) == (Status.ENVIRONMENT_ERROR, True)
    assert first.token != second.token
    if count := {"browser-1": 2, "fork-1": 1}.get(name):
        assert len(runs.sleepers()) == count
        assert not any(map(is_running, runs.sleepers()))


class HangsUp(PipeTransport):
    """Its links hang up at once after they have given their first worker its first order."""

    async def open(
        self, slot: int, folder: Path, labels: frozenset[str] = frozenset()
    ) -> WorkerProcess:
        link = await super().open(slot, folder, labels)
        send = link.send

        def send_and_hang_up(line: bytes) -> None:
            send(line)
            if b'"run"' in line[:40]:
                link.hang_up()

        link.send = send_and_hang_up  # type: ignore[method-assign]  # for this test
        return link


def test_a_worker_whose_run_is_gone_leaves_what_it_was_just_given(
    runs: Runs, variables: dict[str, str]
) -> None:
    runs.run("hang-1", attempts=1, transport=HangsUp(variables))
    error = runs.results["hang-1"].error
    assert error is not None
    assert "ended with exit code 70" in error.message


@pytest.mark.slow
@pytest.mark.parametrize("name", ["freeze-1", "block-1"])
def test_a_worker_without_a_sign_is_ended(runs: Runs, name: str) -> None:
    runs.run(name, timeouts={"loop_block_s": 20.0})  # the second worker, too, must give signs
    first, second = runs.results[name].attempts
    assert first.error is not None
    assert "gave no sign for 20 s" in first.error.message
    assert second.status is Status.COMPLETED


def test_model_calls_of_all_workers_count_against_one_budget(runs: Runs) -> None:
    outcome = runs.run(
        "spend-1", "spend-2", "spend-3", at_once=2,  # each goes on until it is refused
        spec={"budget": Budget(max_cost_usd=1.5), "model": "toy:cheap"},
        price_of={"toy:cheap": 1}.get,
    )  # fmt: skip
    assert outcome.outcome == "budget_exceeded"
    assert outcome.spent.cost_usd >= 1.5
    # each of two workers may be at one call when the other spends the last of it
    assert outcome.spent.cost_usd <= 1.5 + 2 * 0.25
    judge = [each for result in runs.results.values() for each in result.spent]
    assert {each.source for each in judge} == {"agent", "judge"}
    spent = [each for each in read_run(runs.out).events if each.kind == "spend"]
    assert sum(float(each.data["cost_usd"]) for each in spent) == pytest.approx(
        outcome.spent.cost_usd
    )


@pytest.mark.parametrize("name", ["hang-1", "stubborn-1"])
def test_a_trial_at_its_deadline_ends_whether_it_obeys_or_not(
    runs: Runs, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    # a second for the worker, a minute for its end
    monkeypatch.setattr("bench_core.runs.executors._CANCEL_SHARE", 0.02)
    timeouts = {"fallback_deadline_s": 1.0, "evaluation_grace_s": 0.0, "cancel_grace_s": 60.0}
    runs.run(name, timeouts=timeouts, attempts=1)
    result = runs.results[name]
    assert result.error is not None
    assert result.error.kind == "hard_deadline"
    assert "abandoned" not in result.error.message
    assert not any(is_running(each["pid"]) for each in runs.events("worker_ready"))


async def test_a_run_that_is_stopped_writes_down_what_was_in_flight(runs: Runs) -> None:
    arguments = runs.arguments("hang-1")
    running = asyncio.create_task(run_benchmark(**arguments))
    deadline = time.monotonic() + WAIT_S
    while not (runs.place / "hangs").exists():  # another process makes it
        assert time.monotonic() < deadline
        await asyncio.sleep(0.05)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert {each.status for each in runs.results.values()} == {Status.CANCELLED}
    left = runs.out / "trials" / "1" / "hang-1" / "deep" / "answer.txt"
    assert left.read_text().startswith("hang")
    assert not any(map(is_running, runs.sleepers()))


def test_a_worker_with_other_packages_is_refused_by_the_names_of_both(
    runs: Runs, tmp_path: Path, variables: dict[str, str]
) -> None:
    other = tmp_path / "other"
    other.mkdir()
    (other / "worker_toys.py").write_text((HERE / "worker_toys.py").read_text() + "\n# newer\n")
    path = variables["PYTHONPATH"].replace(str(HERE), str(other))
    elsewhere = PipeTransport({**variables, "PYTHONPATH": path})
    with pytest.raises(InputError, match=r"worker 1, process .* has another worker_toys"):
        runs.run("quick-1", transport=elsewhere)


def test_a_recipe_that_does_not_work_there_is_an_error_before_the_first_trial(runs: Runs) -> None:
    with pytest.raises(InputError, match="cannot run this benchmark: RuntimeError: the recipe"):
        runs.run("quick-1", options={"broken": True})
    assert not runs.results


def test_a_benchmark_without_a_recipe_is_refused(runs: Runs) -> None:
    arguments = runs.arguments("quick-1")
    arguments["run_environment"] = replace(arguments["run_environment"], recipe=None)
    with pytest.raises(InputError, match="runs in this process only"):
        run_benchmark_sync(**arguments)


def test_keys_are_those_of_the_worker_and_are_in_no_file_of_the_run(
    runs: Runs, variables: dict[str, str]
) -> None:
    runs.run("key-1", attempts=1)
    result = runs.results["key-1"]
    assert result.error is not None
    assert "[REDACTED]" in result.error.message
    key = variables["TOYS_API_KEY"].encode()
    files = [each for each in runs.out.rglob("*") if each.is_file()]
    assert files
    assert not [each for each in files if key in each.read_bytes()]


@pytest.mark.parametrize("workers", [True, False], ids=["by workers", "in this process"])
def test_what_came_under_a_token_that_counts_no_longer_is_kept_apart(
    runs: Runs, *, workers: bool
) -> None:
    runs.run("quick-1", workers=workers)
    late = runs.out / "incoming" / "0123456789abcdef" / "files"
    late.mkdir(parents=True)
    (late / "answer.txt").write_text("too late")
    runs.run("quick-1", workers=workers, spec={"trials": 2})
    assert (runs.out / "late" / "0123456789abcdef" / "files" / "answer.txt").exists()
    assert runs.events("late_result") == [
        {"token": "0123456789abcdef", "folder": "late/0123456789abcdef"}
    ]
    assert not (runs.out / "incoming").exists()


def test_what_a_killed_run_left_is_gone_although_it_had_nothing_more_to_do(runs: Runs) -> None:
    runs.run("quick-1", workers=False)
    (runs.out / "incoming").mkdir()
    (runs.out / "incoming" / "probe-0123456789abcdef").touch()
    assert runs.run("quick-1").planned == 1
    assert not (runs.out / "incoming").exists()


@pytest.mark.skipif(find_spec("ray") is not None, reason="Ray is installed")
def test_without_ray_the_error_names_what_adds_it(runs: Runs) -> None:
    spec = {"executor": ExecutorSpec(kind="ray")}
    with pytest.raises(InputError, match=r"bench-core\[ray\]"):
        runs.run("quick-1", transport=None, spec=spec)
