"""Run folders on full and read-only disks, under clocks that are set back, and where case is ignored."""

from __future__ import annotations

import subprocess
import sys
from contextlib import asynccontextmanager, contextmanager
from datetime import datetime, timedelta, timezone
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner

from bench_core.cli import common_command, runner_group
from bench_core.errors import EnvironmentFaultError, InputError, RunFolderError
from bench_core.files import space as limits
from bench_core.files import write_atomic
from bench_core.files.atomic import ignores_case
from bench_core.records import AgentOutcome, Event, Status, Task, TrialKey, Usage
from bench_core.run_folder import RunFolder, check_run, describe_run, folder, read_run, starting
from bench_core.run_spec import RunSpec
from bench_core.runs import (
    PreparedRun,
    Purpose,
    RunEnvironment,
    RunOptions,
    RunOutcome,
    run_benchmark_sync,
    spent_before,
)
from bench_core.scheduling import Backoff, NoLocks, Policy
from bench_core.testing import make_results, make_tasks
from bench_core.trial import Evaluation, TrialEnvironment

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator
    from pathlib import Path
    from typing import Any

    from bench_core.protocols import Agent, TrialContext
    from bench_core.records import AgentTask
    from bench_core.trial import Evidence

resource = pytest.importorskip("resource", reason="limits of files are POSIX")

NOON = datetime(2099, 3, 1, 12, tzinfo=timezone.utc)
"""After the dates that the computer's own clock gives."""
HOUR = timedelta(hours=1)


class Chatty:
    """Tasks whose agent says a lot: each result is longer than a kilobyte."""

    name = "chatty"

    def __init__(self) -> None:
        self.began: list[str] = []
        self.down: set[str] = set()

    def tasks(self) -> list[Task]:
        return [Task(benchmark="chatty", task_id=str(n), goal="") for n in range(20)]

    @asynccontextmanager
    async def open(
        self, task: Task, context: TrialContext, agent: Agent
    ) -> AsyncIterator[TrialEnvironment]:
        del context, agent
        self.began.append(task.task_id)
        if task.task_id in self.down:
            raise EnvironmentFaultError("it is down")
        yield TrialEnvironment()

    async def evaluate(self, evidence: Evidence) -> Evaluation:
        del evidence
        return Evaluation(1.0, details={"said": "x" * 1_000})


class Idle:
    name = "mine"

    async def run(self, *_: object) -> AgentOutcome:
        return AgentOutcome()


class SetClock:
    """A clock that somebody sets; seconds pass all the same."""

    def __init__(self, now: datetime) -> None:
        self.date = now
        self.seconds = 0.0

    def now(self) -> datetime:
        self.date += timedelta(seconds=1)
        return self.date

    def monotonic(self) -> float:
        self.seconds += 1
        return self.seconds


@pytest.fixture
def chatty() -> Chatty:
    return Chatty()


@pytest.fixture
def run(chatty: Chatty, tmp_path: Path) -> Callable[..., RunOutcome]:
    def run(**with_: Any) -> RunOutcome:
        policy = Policy(attempts=1, backoff=Backoff(first_s=0.0), max_consecutive_faults=None)
        environment = RunEnvironment(
            **{"locks": NoLocks(), "agent_for": lambda *_: Idle(), "policy": policy, **with_}
        )
        spec = RunSpec(agent="mine", attempts=1)
        return run_benchmark_sync(chatty, spec, tmp_path / "run", run_environment=environment)

    return run


@contextmanager
def full_at(size: int) -> Iterator[None]:
    """Let no file of this process grow beyond `size` bytes, as on a disk that is full."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


# disks


def test_a_disk_that_takes_no_result_ends_the_run_with_the_path_and_is_continued(
    run: Callable[..., RunOutcome], chatty: Chatty, tmp_path: Path
) -> None:
    with full_at(16_000), pytest.raises(RunFolderError, match=r"run/results\.jsonl") as refused:
        run()
    assert "File too large" in str(refused.value)
    assert "\n" not in str(refused.value)
    view = read_run(tmp_path / "run")
    assert view.info.sessions[-1].outcome == "aborted"
    assert len(chatty.began) == len(view.latest) + 1 < 20
    assert view.problems == ()
    assert run().remaining == 0
    assert check_run(tmp_path / "run").problems == ()


def test_where_no_attempt_can_be_written_down_none_is_made(
    run: Callable[..., RunOutcome], chatty: Chatty, tmp_path: Path
) -> None:
    run_folder = RunFolder.create(
        tmp_path / "run",
        describe_run(
            benchmark="chatty", agent="mine", tasks=chatty.tasks(),
            config=RunSpec(agent="mine").settings(),
        ),
        chatty.tasks(),
    )  # fmt: skip
    for _ in range(200):
        run_folder.event(Event(time=NOON, kind="long", data={"text": "x" * 500}))
    run_folder.finish("interrupted")
    with full_at(100_000), pytest.raises(RunFolderError, match=r"run/events\.jsonl"):
        run()
    assert chatty.began == []
    assert read_run(tmp_path / "run").info.sessions[-1].outcome == "aborted"


class Spender:
    """Makes model calls as long as it may, on a disk that takes one of them and is full for a while."""

    name = "mine"

    def __init__(self, events: Path) -> None:
        self._events = events
        self.calls = 0

    async def run(self, task: AgentTask, _: object, context: TrialContext) -> AgentOutcome:
        if task.task_id == "0":
            self.calls += 1
            context.meter.spend(Usage(requests=1, input_tokens=10), 0.25)
            with full_at(self._events.stat().st_size):
                for _number in range(5):
                    self.calls += 1
                    context.meter.spend(Usage(requests=1, input_tokens=10), 0.25)
        return AgentOutcome()


def test_a_model_call_that_cannot_be_written_down_is_the_last_and_is_counted(
    run: Callable[..., RunOutcome], tmp_path: Path
) -> None:
    spender = Spender(tmp_path / "run" / "events.jsonl")
    outcome = run(agent_for=lambda *_: spender)
    assert spender.calls == 2
    view = read_run(tmp_path / "run")
    stopped = view.results[TrialKey(task_id="0")]
    assert (stopped.status, stopped.score) == (Status.BUDGET_EXCEEDED, None)
    assert outcome.remaining == 1
    assert sum(each.kind == "spend" for each in view.events) == 1
    assert spent_before(view).cost_usd == 0.5


def test_an_end_that_cannot_be_written_down_hides_no_error_and_frees_the_folder(
    tmp_path: Path,
) -> None:
    tasks = make_tasks(1)
    info = describe_run(benchmark="demo", agent="a", tasks=tasks)
    (result,) = make_results(tasks, statuses={Status.COMPLETED: 1.0})
    run = RunFolder.create(tmp_path / "run", info, tasks)
    run.append(result)
    with full_at(10), pytest.raises(ValueError, match="the reason"), run:
        raise ValueError("the reason")
    with RunFolder.resume(tmp_path / "run") as again:
        assert [each.outcome for each in again.info.sessions] == ["aborted", "running"]
        assert again.remaining() == []


def test_too_little_room_is_told_before_anything_is_made(
    run: Callable[..., RunOutcome], chatty: Chatty, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(folder, "TO_BEGIN", 10**18)
    with pytest.raises(
        RunFolderError, match=r"MB are free on the disk of .*run, and 1,000,000,000,"
    ):
        run()
    assert not (tmp_path / "run").exists()
    monkeypatch.undo()
    chatty.down = {"0"}
    run()
    before = (tmp_path / "run" / "run.json").read_bytes()
    monkeypatch.setattr(folder, "TO_BEGIN", 10**18)
    with pytest.raises(RunFolderError, match="MB are free"):
        run()
    assert (tmp_path / "run" / "run.json").read_bytes() == before


def test_a_disk_that_fills_up_lets_no_further_attempt_begin(
    run: Callable[..., RunOutcome], chatty: Chatty, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(folder, "TO_GO_ON", 10**18)
    with pytest.raises(RunFolderError, match="MB are free on the disk of"):
        run()
    assert chatty.began == []
    assert read_run(tmp_path / "run").info.sessions[-1].outcome == "aborted"


def test_the_room_asked_for_is_small() -> None:
    assert limits.TO_GO_ON < limits.TO_BEGIN <= 10**9


def test_a_file_that_cannot_be_written_is_named_and_leaves_nothing(tmp_path: Path) -> None:
    with full_at(10), pytest.raises(OSError, match="File too large") as refused:
        write_atomic(tmp_path / "a.json", b"x" * 20)
    assert refused.value.filename == str(tmp_path / "a.json")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such limits")
@pytest.mark.parametrize(
    ("limits", "ends"),
    [((24, 24), "only 24 files may be open at once"), ((24, 4096), "(48, 4096)"), ((256, 256), "(256, 256)")],
)  # fmt: skip
def test_a_run_may_open_as_many_files_as_it_needs_or_is_refused(
    limits: tuple[int, int], ends: str
) -> None:
    code = (
        "import resource; from bench_core.files.space import require_open_files\n"
        f"resource.setrlimit(resource.RLIMIT_NOFILE, {limits})\n"
        "require_open_files(); print(resource.getrlimit(resource.RLIMIT_NOFILE))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert ends in (done.stdout + done.stderr).splitlines()[-1]


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such limits")
@pytest.mark.parametrize("kind", ["DATA", "AS"])
@pytest.mark.parametrize(("most_mb", "refused"), [(511, True), (512, False)])
def test_a_run_in_a_browser_is_refused_where_a_process_has_too_little_memory(
    kind: str, most_mb: int, *, refused: bool
) -> None:
    code = (
        "import resource; from bench_core.files.space import require_memory\n"
        f"resource.setrlimit(resource.RLIMIT_{kind}, ({most_mb} << 20,) * 2)\n"
        "require_memory(); print('it may begin')"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    ends = f"only {most_mb} MB of memory" if refused else "it may begin"
    assert ends in (done.stdout + done.stderr).splitlines()[-1]


@pytest.mark.skipif(sys.platform != "linux", reason="/proc is Linux's")
def test_a_disk_that_cannot_be_written_is_one_sentence_with_the_path() -> None:
    @runner_group("chatty", "1")
    def main() -> None:
        """Run it."""

    @contextmanager
    def prepare(asked: RunOptions, purpose: Purpose) -> Iterator[PreparedRun]:
        del purpose
        yield PreparedRun(Chatty(), asked.spec(), asked.folder("chatty", asked.spec()))

    @common_command(main, agent="do-nothing")
    def run(**options: Any) -> Any:
        return prepare, RunOptions(**options)

    assert "run" in main.commands
    words = ["run", "--out", "/proc/self/fdinfo/run"]
    done = CliRunner().invoke(main, words)
    assert done.exit_code == 2
    (line,) = done.stderr.strip().splitlines()
    assert line.startswith("Error: cannot use /proc/self/fdinfo/run: ")


# clocks


def test_dates_go_on_where_the_clock_is_set_back(
    run: Callable[..., RunOutcome], chatty: Chatty, tmp_path: Path
) -> None:
    chatty.down = {"0", "1"}
    run(clock=SetClock(NOON))
    first = read_run(tmp_path / "run")
    run(clock=SetClock(NOON - HOUR))
    view = read_run(tmp_path / "run")
    times = [event.time for event in view.events]
    assert times == sorted(times)
    sessions = [d for each in view.info.sessions for d in (each.started, each.finished)]
    assert sessions == sorted(sessions)  # type: ignore[type-var]  # all have ended
    result = view.results[TrialKey(task_id="0")]
    assert len(result.attempts) == 2
    assert [each.started for each in result.attempts] == sorted(
        each.started for each in result.attempts
    )
    begun = first.info.sessions[0].started
    assert all(each.started is not None and each.started > begun for each in view.latest)
    (told,) = (event for event in view.events if event.kind == "clock_set_back")
    assert 3600 <= float(str(told.data["seconds"])) < 3800
    assert 0 < spent_before(view).seconds < 600


def test_a_clock_that_goes_on_is_taken_as_it_is(
    run: Callable[..., RunOutcome], chatty: Chatty, tmp_path: Path
) -> None:
    chatty.down = {"0"}
    run(clock=SetClock(NOON))
    run(clock=SetClock(NOON + HOUR))
    view = read_run(tmp_path / "run")
    assert view.info.sessions[1].started == NOON + HOUR + timedelta(seconds=1)
    assert "clock_set_back" not in {event.kind for event in view.events}


def test_a_clock_that_is_set_back_during_a_session_reorders_nothing(tmp_path: Path) -> None:
    clock = SetClock(NOON)
    tasks = make_tasks(2)
    info = describe_run(benchmark="demo", agent="a", tasks=tasks)
    with RunFolder.create(tmp_path / "run", info, tasks, now=clock.now) as run:
        before = run.now()
        clock.date -= HOUR
        during = run.now()
        assert during >= before
        assert run.now() - during == timedelta(seconds=1), "it goes on at the clock's own pace"
    (session,) = read_run(tmp_path / "run").info.sessions
    assert session.finished is not None
    assert session.finished > session.started


def test_an_attempt_whose_process_died_lasts_until_the_last_event_of_its_session(
    run: Callable[..., RunOutcome], chatty: Chatty, tmp_path: Path
) -> None:
    chatty.down = {"0"}
    run(clock=SetClock(NOON))
    key = TrialKey(task_id="0")
    for start in (NOON + HOUR, NOON + 2 * HOUR):
        died = RunFolder.resume(tmp_path / "run", now=SetClock(start).now)
        if start == NOON + HOUR:
            died.new_attempt(key)
            begun = start + timedelta(minutes=1)
            died.event(Event(time=begun, kind="attempt_started", task_id="0", trial=1, attempt=2))
        died.event(Event(time=start + timedelta(minutes=5), kind="note"))
        died.close()
    run(clock=SetClock(NOON + 3 * HOUR))
    attempts = read_run(tmp_path / "run").results[key].attempts
    assert [each.number for each in attempts] == [1, 2, 3]
    assert attempts[1].duration_s == 4 * 60


def test_a_process_that_died_under_a_later_date_counts_and_lasts_no_less_than_nothing(
    run: Callable[..., RunOutcome], chatty: Chatty, tmp_path: Path
) -> None:
    chatty.down = {"0"}
    run(clock=SetClock(NOON))
    key = TrialKey(task_id="0")
    died = RunFolder.resume(tmp_path / "run", now=SetClock(NOON + HOUR).now)
    died.new_attempt(key)
    died.event(Event(time=died.now(), kind="attempt_started", task_id="0", trial=1, attempt=2))
    died.close()
    run(clock=SetClock(NOON - HOUR))
    attempts = read_run(tmp_path / "run").results[key].attempts
    assert [each.number for each in attempts] == [1, 2, 3]
    assert all(each.duration_s >= 0 for each in attempts)


# case


def test_ids_that_differ_in_case_alone_have_folders_of_their_own(tmp_path: Path) -> None:
    assert not ignores_case(tmp_path)
    assert list(tmp_path.iterdir()) == []
    tasks = [Task(benchmark="b", task_id=each, goal="") for each in ("a-B", "a-b")]
    info = describe_run(benchmark="b", agent="a", tasks=tasks)
    with RunFolder.create(tmp_path / "run", info, tasks) as run:
        places = {run.trial_folder(TrialKey(task_id=each.task_id)) for each in tasks}
    assert len(places) == 2


def test_ids_that_would_share_a_folder_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tasks = [Task(benchmark="b", task_id=each, goal="") for each in ("a-B", "c", "a-b")]
    info = describe_run(benchmark="b", agent="a", tasks=tasks)
    RunFolder.create(tmp_path / "copied", info, tasks).close()
    monkeypatch.setattr(starting, "ignores_case", lambda _: True)  # such a disk is not at hand
    for begin in (
        lambda: RunFolder.create(tmp_path / "run", info, tasks),
        lambda: RunFolder.resume(tmp_path / "copied"),
    ):
        with pytest.raises(InputError, match="'a-B' and 'a-b' would share a folder"):
            begin()
    assert not (tmp_path / "run" / "run.json").exists()
    RunFolder.create(tmp_path / "run", info, tasks[:2]).close()
