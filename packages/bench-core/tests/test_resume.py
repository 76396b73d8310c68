"""What the same command, or nearly the same, does with the run that is in its folder."""

from __future__ import annotations

import json
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import pytest

from bench_core.errors import EnvironmentFaultError, InputError, RunFolderError, UnknownTaskError
from bench_core.records import AgentOutcome, Event, Resource, Status, Task, TrialKey
from bench_core.records.vocabulary import SuspectCause
from bench_core.run_folder import RunFolder, check_run, list_artifacts, read_run, write_info
from bench_core.run_spec import AgentProcessSpec, RunSpec, TaskFilter
from bench_core.runs import RunEnvironment, RunOutcome, plan_run, run_benchmark_sync
from bench_core.scheduling import Backoff, NoLocks, Policy
from bench_core.trial import Evaluation, TrialEnvironment

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable
    from pathlib import Path

    from bench_core.protocols import Agent, TrialContext
    from bench_core.trial import Evidence

AGENT = """
from bench_core.records import AgentOutcome

class Agent:
    name = "mine"

    async def run(self, task, environment, context):
        return AgentOutcome(answer={answer})
"""
IDS = ("quick-1", "wrong-1", "odd-1", "down-1", "quick-2")


class Toys:
    """Tasks that end as their ids say: `quick` is a success, `odd` has no score, `down` does not open.

    Attributes:
        suspects: Tasks whose score is suspect.
        odd_scores: Whether `odd` has a score after all.
        ran: The tasks that were evaluated.
    """

    name = "toys"

    def __init__(self) -> None:
        self.suspects: tuple[str, ...] = ()
        self.odd_scores = False
        self.ran: list[str] = []

    def tasks(self) -> list[Task]:
        return [Task(benchmark="toys", task_id=each, goal="") for each in IDS]

    @asynccontextmanager
    async def open(
        self, task: Task, context: TrialContext, agent: Agent
    ) -> AsyncIterator[TrialEnvironment]:
        del agent
        (context.folder / "answer.txt").write_text(str(context.attempt))
        if task.task_id.startswith("down"):
            raise EnvironmentFaultError("it is down")
        yield TrialEnvironment()

    async def evaluate(self, evidence: Evidence) -> Evaluation:
        task_id = evidence.task.task_id
        self.ran.append(task_id)
        if task_id.startswith("odd") and not self.odd_scores:
            return Evaluation(None)
        suspect = (SuspectCause.SITE_ERROR,) if task_id in self.suspects else ()
        return Evaluation(0.0 if task_id.startswith("wrong") else 1.0, suspect=suspect)


@pytest.fixture
def toys() -> Toys:
    return Toys()


@pytest.fixture
def out(tmp_path: Path) -> Path:
    return tmp_path / "runs" / "first"


@pytest.fixture
def agent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The file of the agent `my_agent:Agent`."""
    file = tmp_path / "code" / "my_agent.py"
    file.parent.mkdir()
    file.write_text(AGENT.format(answer=1))
    monkeypatch.syspath_prepend(str(file.parent))
    monkeypatch.delitem(__import__("sys").modules, "my_agent", raising=False)
    return file


@pytest.fixture
def run(toys: Toys, out: Path, agent: Path) -> Callable[..., RunOutcome]:
    """Run the five toys `IDS` by the agent; returns the outcome, and `toys.ran` is what was evaluated."""

    def run(**spec: Any) -> RunOutcome:
        toys.ran.clear()
        asked = {
            "agent": "my_agent:Agent",
            "agent_process": AgentProcessSpec(process="shared"),
            "tasks": TaskFilter(ids=IDS),
            "attempts": 1,
            **spec,
        }
        policy = Policy(attempts=asked["attempts"], backoff=Backoff(first_s=0.0))
        run_environment = RunEnvironment(locks=NoLocks(), policy=policy)
        return run_benchmark_sync(toys, RunSpec(**asked), out, run_environment=run_environment)

    return run


# --skip-task


def test_a_skipped_task_of_the_plan_is_left_to_a_later_session(
    run: Callable[..., RunOutcome], toys: Toys, out: Path
) -> None:
    first = run(tasks=TaskFilter(ids=("quick-1", "quick-2"), limit=2), trials=1)
    assert first.remaining == 0
    ids = ("quick-1", "quick-2")
    outcome = run(tasks=TaskFilter(ids=ids, skip_ids=("quick-2",), limit=2), trials=2)
    assert toys.ran == ["quick-1"]
    assert (outcome.outcome, outcome.remaining) == ("finished", 1)
    assert read_run(out).info.finished is None, "a planned trial has no result"
    assert check_run(out).problems == ()
    assert run(tasks=TaskFilter(ids=ids, limit=2), trials=2).remaining == 0
    assert toys.ran == ["quick-2"]
    assert read_run(out).info.finished is not None


def test_a_task_that_a_run_was_begun_without_stays_out(
    run: Callable[..., RunOutcome], toys: Toys
) -> None:
    without = TaskFilter(ids=IDS[:3], skip_ids=("odd-1",))
    run(tasks=without)
    assert run(tasks=without, trials=2).planned == 4
    both = without.model_copy(update={"skip_ids": ("odd-1", "wrong-1")})
    assert run(tasks=both, trials=3).remaining == 1
    assert toys.ran == ["quick-1"]


def test_a_skipped_task_that_the_benchmark_lacks_is_refused(run: Callable[..., RunOutcome]) -> None:
    run()
    with pytest.raises(UnknownTaskError):
        run(tasks=TaskFilter(ids=IDS, skip_ids=("quick-9",)))


def test_a_dry_run_tells_what_a_session_leaves_out_and_runs_again(
    run: Callable[..., RunOutcome], toys: Toys, out: Path
) -> None:
    run()
    spec = RunSpec(agent="a", tasks=TaskFilter(ids=IDS))
    assert plan_run(toys, spec, out).to_run == 1
    skipping = spec.model_copy(update={"tasks": TaskFilter(ids=IDS, skip_ids=("down-1",))})
    assert plan_run(toys, skipping, out).to_run == 0
    again = plan_run(toys, spec.model_copy(update={"rerun": ("failed",)}), out)
    assert (again.to_run, again.done) == (2, 3)


# --rerun


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


def test_a_rerun_that_was_interrupted_is_continued_by_the_same_command_and_by_the_plain_one(
    run: Callable[..., RunOutcome], toys: Toys, out: Path
) -> None:
    run()
    with RunFolder.resume(out) as folder:  # asked for, and ended before anything ran
        folder.run_again(["all"], [TrialKey(task_id=each) for each in IDS])
    assert read_run(out).to_rerun == {TrialKey(task_id=each) for each in IDS}
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
    with pytest.raises(InputError, match=f"'{asked}' is no task of this run and none of failed, "):
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


@pytest.mark.parametrize("touched", [False, True])
def test_files_of_a_result_are_those_it_left_while_another_attempt_lies_over_it(
    run: Callable[..., RunOutcome],
    out: Path,
    touched: bool,  # noqa: FBT001  # parametrized
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


# the agent's program


def test_each_result_names_the_agents_program_and_so_does_run_json(
    run: Callable[..., RunOutcome], out: Path
) -> None:
    run()
    view = read_run(out)
    code = view.info.agent_code
    assert code is not None
    assert code.sha256 is not None
    assert {each.agent_code for each in view.latest} == {code.model_copy(update={"files": ()})}
    assert [each.partition(" ")[2] for each in code.files] == ["my_agent.py"]


def test_results_of_the_scheduler_name_the_agents_program_too(
    run: Callable[..., RunOutcome], toys: Toys, out: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def breaks(*_: object) -> None:
        raise SystemExit(3)

    monkeypatch.setattr("bench_core.runs.trial_runner.run_trial", breaks)
    run(tasks=TaskFilter(ids=("quick-1",)))
    (result,) = read_run(out).latest
    assert result.agent_code is not None
    code = read_run(out).info.agent_code
    assert code is not None
    assert result.agent_code == code.model_copy(update={"files": ()})


def change(agent: Path) -> None:
    agent.write_text(AGENT.format(answer=2))


def test_a_changed_agent_is_refused_with_the_ways_out(
    run: Callable[..., RunOutcome], agent: Path, out: Path
) -> None:
    run()
    before = (out / "run.json").read_bytes()
    change(agent)
    with pytest.raises(RunFolderError, match="has changed since 4 trials") as refused:
        run()
    for way in ("--rerun all", "--out", "--accept-changes"):
        assert way in str(refused.value)
    assert (out / "run.json").read_bytes() == before


def test_a_changed_module_beside_the_agents_own_is_refused_by_its_name(
    run: Callable[..., RunOutcome], agent: Path
) -> None:
    helper = agent.with_name("my_helper.py")
    helper.write_text("RATE = 1")
    agent.write_text(f"import my_helper\n{agent.read_text()}")
    run()
    helper.write_text("RATE = 2")
    with pytest.raises(RunFolderError, match=r"changed: my_helper\.py\)"):
        run()
    run(accept_changes=True)


def test_a_rerun_of_some_does_not_let_one_rate_mix_two_programs(
    run: Callable[..., RunOutcome], agent: Path
) -> None:
    run()
    change(agent)
    with pytest.raises(RunFolderError, match="has changed since 3 trials"):
        run(rerun=("failed",))


def test_a_rerun_of_all_is_by_the_changed_agent_alone(
    run: Callable[..., RunOutcome], toys: Toys, agent: Path, out: Path
) -> None:
    run()
    old = read_run(out).info.agent_code
    change(agent)
    run(rerun=("all",))
    assert len(toys.ran) == 4
    view = read_run(out)
    (code,) = {each.agent_code for each in view.latest}
    digests = [each.sha256 if each else None for each in (code, view.info.agent_code, old)]
    assert digests[0] == digests[1] != digests[2]
    assert "agent_changed" in {event.kind for event in view.events}
    run()  # it is the run's agent now
    assert check_run(out).problems == ()


def test_an_agent_that_changes_during_a_rerun_runs_all_again(
    run: Callable[..., RunOutcome], toys: Toys, agent: Path, out: Path
) -> None:
    run()
    with RunFolder.resume(out) as folder:
        folder.run_again(["all"], [TrialKey(task_id="quick-1")])
    change(agent)
    with pytest.raises(RunFolderError, match="since 3 trials"):
        run()
    run(rerun=("all",))
    assert len(toys.ran) == 4


def test_a_change_that_is_accepted_stays_accepted(
    run: Callable[..., RunOutcome], agent: Path, out: Path
) -> None:
    run()
    change(agent)
    run(accept_changes=True, trials=2)
    run(trials=2)
    digests = {each.agent_code.sha256 for each in read_run(out).latest if each.agent_code}
    assert len(digests) == 2
    agent.write_text(AGENT.format(answer=1))
    with pytest.raises(RunFolderError, match="since 4 trials"):  # not those it made itself
        run(trials=2)


def test_another_place_or_date_of_the_same_files_is_no_change(
    run: Callable[..., RunOutcome], agent: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run()
    elsewhere = tmp_path / "elsewhere"
    agent.parent.rename(elsewhere)
    monkeypatch.syspath_prepend(str(elsewhere))
    run(trials=2)


def test_a_folder_without_a_digest_is_continued_as_before(
    run: Callable[..., RunOutcome], agent: Path, out: Path
) -> None:
    run()
    text = (out / "results.jsonl").read_text().splitlines()
    stripped = []
    for line in text:
        each = json.loads(line)
        for name in ("agent_code", "checksum", "sequence"):
            del each[name]
        stripped.append(json.dumps(each))
    (out / "results.jsonl").write_text("\n".join([*stripped, ""]))
    info = json.loads((out / "run.json").read_text())
    del info["agent_code"], info["checksum"]
    for session in info["sessions"]:
        session.update(results=None, results_sha256=None)
    (out / "run.json").write_text(json.dumps(info))
    change(agent)
    run(trials=2)
    assert len(read_run(out).latest) == 10
    assert (out / "attempts/1/down-1/1").is_dir(), "as that bench-core named it"
    assert check_run(out).problems == ()


def test_an_interrupted_rerun_of_a_folder_without_sequences_goes_on(
    run: Callable[..., RunOutcome], toys: Toys, out: Path
) -> None:
    run()
    run(rerun=("quick-1",))
    run()
    assert toys.ran == [], "it ran again once"


def test_an_agent_without_a_digest_between_does_not_hide_a_change(
    run: Callable[..., RunOutcome], toys: Toys, agent: Path, out: Path
) -> None:
    run()

    class Object:
        name = "mine"

        async def run(self, *_: object) -> AgentOutcome:
            return AgentOutcome()

    spec = RunSpec(agent="my_agent:Agent", tasks=TaskFilter(ids=IDS), attempts=1)
    by_object = RunEnvironment(locks=NoLocks(), agent_for=lambda *_: Object())
    run_benchmark_sync(toys, spec, out, run_environment=by_object)
    change(agent)
    with pytest.raises(RunFolderError, match="has changed since 4 trials"):
        run()


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
