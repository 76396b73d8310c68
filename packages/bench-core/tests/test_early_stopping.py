"""Runs that may stop early, on real run folders: planned before, decided from what is stored."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import textwrap
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from bench_core.errors import EnvironmentFaultError, InputError
from bench_core.records import AgentOutcome, Task
from bench_core.run_folder import StoredRun, read_run
from bench_core.run_spec import LookSpec, RunSpec
from bench_core.runs import RunEnvironment, RunOptions, run_benchmark_sync
from bench_core.scheduling import Backoff, Policy
from bench_core.statistics.looks import Looks, looks_of
from bench_core.trial import Evaluation, Evidence, TrialEnvironment

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from bench_core.protocols import Agent, EnvironmentHandle, TrialContext
    from bench_core.records import AgentTask

TASKS = 60


class Idle:
    name = "scripted"

    async def run(
        self, task: AgentTask, environment: EnvironmentHandle, context: TrialContext
    ) -> AgentOutcome:
        return AgentOutcome()


class Known:
    """Sixty tasks in templates of two, with scores that are known beforehand."""

    name = "known"

    def __init__(self, score: Callable[[int], float], *down: str) -> None:
        self.score, self.down = score, set(down)
        self.ran: list[str] = []

    def tasks(self) -> list[Task]:
        return [
            Task(benchmark="known", task_id=str(n), goal="", template=f"t{n // 2}")
            for n in range(TASKS)
        ]

    @asynccontextmanager
    async def open(
        self, task: Task, context: TrialContext, agent: Agent
    ) -> AsyncIterator[TrialEnvironment]:
        self.ran.append(task.task_id)
        if task.task_id in self.down:
            raise EnvironmentFaultError("the site is down")
        yield TrialEnvironment()

    async def evaluate(self, evidence: Evidence) -> Evaluation:
        return Evaluation(score=self.score(int(evidence.task.task_id)))


def run(benchmark: Known, out: Path, stopping: LookSpec | None = None) -> Any:
    around = RunEnvironment(
        policy=Policy(attempts=1, backoff=Backoff(first_s=0.0), max_consecutive_faults=None),
        agent_for=lambda task, context: Idle(),
    )
    spec = RunSpec(agent="scripted", stopping=stopping)
    return run_benchmark_sync(benchmark, spec, out, run_environment=around)


@pytest.fixture
def before(tmp_path: Path) -> Path:
    run(Known(lambda n: float(n % 5 > 0)), tmp_path / "before")
    return tmp_path / "before"


@pytest.fixture
def five(before: Path) -> LookSpec:
    return LookSpec(looks=5, against=before)


def test_a_run_that_is_clearly_worse_stops_and_starts_nothing_more(
    tmp_path: Path, five: LookSpec
) -> None:
    worse = Known(lambda n: float(n % 10 == 0))
    outcome = run(worse, tmp_path / "run", five)
    assert (outcome.outcome, outcome.stopped, outcome.remaining) == ("finished", "regression", 0)
    assert len(worse.ran) < TASKS

    view = read_run(tmp_path / "run")
    assert view.info.stopping_rule is not None
    looks = looks_of(view.info.stopping_rule, view.results.values(), 1)
    assert looks[-1].reason == "regression"
    assert {
        key for batch in view.info.stopping_rule["batches"][: len(looks)] for key in batch
    } == set(worse.ran)


def test_running_again_decides_the_same_and_runs_nothing(tmp_path: Path, five: LookSpec) -> None:
    first = run(Known(lambda n: 0.0), tmp_path / "run", five)
    again = Known(lambda n: 1.0)
    assert run(again, tmp_path / "run", five).stopped == first.stopped == "regression"
    assert again.ran == []


@pytest.fixture
def baseline(before: Path) -> Path:
    """What `bench-report export baseline` keeps of the run, beside what is of no use here."""
    scores = {str(n): (float(n % 5 > 0), None) for n in range(TASKS)}
    stored = StoredRun(label="good", info=read_run(before).info, scores=scores)
    path = before.parent / "baseline.json"
    path.write_text(json.dumps({**stored.model_dump(mode="json"), "generator": "a report"}))
    return path


def test_a_baseline_file_decides_as_the_run_it_stands_for(
    tmp_path: Path, five: LookSpec, baseline: Path
) -> None:
    rules = []
    for number, against in enumerate((five.against, baseline)):
        stopping = LookSpec(looks=5, against=against)
        outcome = run(Known(lambda n: float(n % 10 == 0)), tmp_path / str(number), stopping)
        assert outcome.stopped == "regression"
        rules.append(read_run(tmp_path / str(number)).info.stopping_rule)
    assert rules[0] == rules[1]


def test_looks_compare_with_the_stored_baseline_where_no_run_is_named(
    tmp_path: Path, baseline: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def against(**asked: Any) -> Path:
        stopping = RunOptions(agent="scripted", looks=5, **asked).spec().stopping
        assert stopping is not None
        return stopping.against.resolve()

    assert against(out=tmp_path / "run") == baseline
    monkeypatch.chdir(tmp_path)
    assert against() == baseline
    assert against(against=tmp_path / "before") == tmp_path / "before"
    baseline.unlink()
    with pytest.raises(InputError, match="by --against"):
        against()


def test_what_is_no_baseline_is_refused(before: Path, tmp_path: Path, baseline: Path) -> None:
    garbage = json.dumps({**json.loads(baseline.read_text()), "kind": "verdict"})
    for text, said in (("{]", "is not a baseline"), (garbage, "is not a baseline .field kind")):
        baseline.write_text(text)
        with pytest.raises(InputError, match=said):
            run(Known(lambda n: 1.0), tmp_path / "run", LookSpec(looks=5, against=baseline))
    assert not (tmp_path / "run").exists()


def test_a_run_without_a_decision_goes_to_its_end(tmp_path: Path, before: Path) -> None:
    same = Known(lambda n: float(n % 5 > 0))
    stopping = LookSpec(looks=3, against=before, settings={"futility": None})
    outcome = run(same, tmp_path / "run", stopping)
    assert (outcome.stopped, len(same.ran)) == ("complete", TASKS)


def test_when_a_run_may_stop_is_fixed_before_its_first_trial(
    tmp_path: Path, before: Path, five: LookSpec
) -> None:
    run(Known(lambda n: 0.0), tmp_path / "plain")
    with pytest.raises(InputError, match="began without looks"):
        run(Known(lambda n: 0.0), tmp_path / "plain", five)
    run(Known(lambda n: 0.0), tmp_path / "run", five)
    for other in (None, LookSpec(looks=3, against=before)):
        with pytest.raises(InputError, match="began with 5 looks"):
            run(Known(lambda n: 0.0), tmp_path / "run", other)


def test_a_look_waits_for_trials_without_a_score(tmp_path: Path, five: LookSpec) -> None:
    everything = [str(n) for n in range(TASKS)]
    down = Known(lambda n: 0.0, *everything)
    outcome = run(down, tmp_path / "run", five)
    assert (outcome.stopped, outcome.remaining) == ("pending", TASKS)
    assert len(down.ran) == TASKS // 5

    assert run(Known(lambda n: 0.0), tmp_path / "run", five).stopped == "regression"


def test_a_rule_may_leave_trials_without_a_score_out(tmp_path: Path, before: Path) -> None:
    stopping = LookSpec(looks=5, against=before, settings={"unscored": "leave_out"})
    half = Known(lambda n: 0.0, *(str(n) for n in range(0, TASKS, 4)))
    assert run(half, tmp_path / "run", stopping).stopped == "regression"


@pytest.mark.parametrize(
    ("aspect", "named"), [("profile", "profile"), ("task_set_hash", "task set hash")]
)
def test_runs_of_something_else_are_no_baseline(
    tmp_path: Path, before: Path, aspect: str, named: str
) -> None:
    info = json.loads((before / "run.json").read_text())
    (before / "run.json").write_text(json.dumps(info | {aspect: "other"}))
    with pytest.raises(InputError, match=f"its {named} is 'other'"):
        run(Known(lambda n: 0.0), tmp_path / "run", LookSpec(looks=5, against=before))


def test_a_baseline_of_another_version_of_the_benchmark_is_refused(before: Path) -> None:
    tasks, info = Known(lambda n: 0.0).tasks(), read_run(before).info
    mine = info.model_copy(update={"benchmark_version": "2.0"})
    assert Looks().plan(tasks, mine, before, {"looks": 5})["baseline"] == info.run_id
    stored = info.model_copy(update={"benchmark_version": "1.0"})
    (before / "run.json").write_text(stored.model_dump_json())
    with pytest.raises(InputError, match=r"its benchmark version is '1\.0', this run's '2\.0'"):
        Looks().plan(tasks, mine, before, {"looks": 5})


KILLED = """
import os, signal, sys
from pathlib import Path
sys.path.insert(0, {tests!r})
from test_early_stopping import Known, run
from bench_core.run_spec import LookSpec

done = 0
def score(n):
    global done
    done += 1
    if done == {kill}:
        os.kill(os.getpid(), signal.SIGKILL)
    return float(n % 10 == 0)

run(Known(score), Path({out!r}), LookSpec(looks=5, against=Path({before!r})))
"""


@pytest.mark.skipif(sys.platform == "win32", reason="SIGKILL is POSIX")
@pytest.mark.parametrize(
    "kill", [5, 12, 20], ids=["in a batch", "before a look", "in the second batch"]
)
def test_a_killed_run_goes_on_to_the_same_decision(
    tmp_path: Path, before: Path, five: LookSpec, kill: int
) -> None:
    whole = Known(lambda n: float(n % 10 == 0))
    expected = run(whole, tmp_path / "whole", five)

    values = {
        "tests": str(Path(__file__).parent),
        "out": str(tmp_path / "killed"),
        "before": str(before),
    }
    script = textwrap.dedent(KILLED).format(kill=kill, **values)
    ended = subprocess.run([sys.executable, "-c", script], check=False)
    assert ended.returncode == -signal.SIGKILL

    outcome = run(Known(lambda n: float(n % 10 == 0)), tmp_path / "killed", five)
    views = [read_run(tmp_path / name) for name in ("whole", "killed")]
    one, other = (looks_of(v.info.stopping_rule or {}, v.results.values(), 1) for v in views)
    assert outcome.stopped == expected.stopped == "regression"
    assert one == other
