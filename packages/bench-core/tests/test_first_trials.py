"""Where a run's agent cannot begin, the run stops with one sentence and scores none of its first trials."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from told import Told

from bench_core.errors import AgentError, EnvironmentFaultError
from bench_core.records import AgentOutcome, Status, Step, Task, Usage
from bench_core.run_folder import TrialArtifacts, read_run
from bench_core.run_spec import AgentProcessSpec, RunSpec, TaskFilter
from bench_core.runs import RunEnvironment, RunOutcome, run_benchmark_sync
from bench_core.scheduling import Backoff, NoLocks, Policy
from bench_core.trial import Evaluation, TrialEnvironment

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Mapping

    from bench_core.protocols import Agent, EnvironmentHandle, TrialContext
    from bench_core.records import AgentTask, TrialKey, TrialResult
    from bench_core.trial import Evidence

Deed = object
"""What an agent does in a trial: an error that it raises, steps that it takes first, a status that it reports."""
CALL = Usage(requests=1, input_tokens=10, output_tokens=1)


def missing(task: str = "") -> Exception:
    return ModuleNotFoundError(f"No module named 'sdk' (task {task}, request req_0{len(task)}a7)")


class Sums:
    """Tasks `a`, `b`, ... whose environment is nothing."""

    name = "sums"

    def __init__(self, count: int, down: str = "") -> None:
        self._names = "abcdefghij"[:count]
        self._down = down

    def tasks(self) -> list[Task]:
        return [Task(benchmark="sums", task_id=each, goal="?") for each in self._names]

    @asynccontextmanager
    async def open(
        self, task: Task, context: TrialContext, agent: Agent
    ) -> AsyncIterator[TrialEnvironment]:
        if task.task_id in self._down:
            raise EnvironmentFaultError("down")
        yield TrialEnvironment()

    async def evaluate(self, evidence: Evidence) -> Evaluation:
        return Evaluation(score=float(evidence.ending.answer == "yes"))


class Agents:
    """An agent that does in each task what it is told."""

    name = "own"

    def __init__(self, deeds: Mapping[str, list[Deed]]) -> None:
        self._deeds = {name: list(each) for name, each in deeds.items()}

    async def run(
        self, task: AgentTask, environment: EnvironmentHandle, context: TrialContext
    ) -> AgentOutcome:
        for deed in self._deeds.get(task.task_id, ["yes"]):
            if isinstance(deed, Exception):
                raise deed
            if isinstance(deed, Usage):
                context.meter.spend(deed, 0.5)
            if isinstance(deed, Status):
                return AgentOutcome(status=deed)
            if isinstance(deed, int):
                TrialArtifacts(context.folder).append_step(Step(step=deed))
        return AgentOutcome(answer="yes")


class Session:
    def __init__(self, out: Path) -> None:
        self.out = out
        self.told = Told()

    def run(
        self, count: int, deeds: Mapping[str, list[Deed]], *, down: str = "", **spec: Any
    ) -> RunOutcome:
        asked = RunSpec(agent="own", **{"workers": 1, "attempts": 1, **spec})
        self.told = Told()
        return run_benchmark_sync(
            Sums(count, down), asked, self.out,
            run_environment=RunEnvironment(
                locks=NoLocks(), agent_for=lambda *_: Agents(deeds), progress=self.told,
                policy=Policy(workers=asked.workers, attempts=1, backoff=Backoff(first_s=0.0)),
            ),
        )  # fmt: skip

    @property
    def results(self) -> Mapping[TrialKey, TrialResult]:
        return read_run(self.out).results

    @property
    def scores(self) -> dict[str, float | None]:
        return {f"{key.task_id}{key.trial}": each.score for key, each in self.results.items()}


@pytest.fixture
def session(tmp_path: Path) -> Session:
    return Session(tmp_path / "run")


def all_of(names: str, make: Callable[[str], Exception] = missing) -> dict[str, list[Deed]]:
    return {name: [make(name)] for name in names}


@pytest.mark.parametrize("workers", [1, 2, 4])
@pytest.mark.parametrize("count", [2, 3, 10])
def test_first_trials_that_end_alike_before_any_act_stop_the_run_unscored(
    session: Session, count: int, workers: int
) -> None:
    outcome = session.run(count, all_of("abcdefghij"), workers=workers)
    assert (outcome.outcome, outcome.scored, outcome.remaining) == ("aborted", 0, count)
    ended = session.results.values()
    assert min(count, 3) <= len(ended) <= min(count, 3 + workers)
    assert {each.error.fault for each in ended if each.error} == {"not_begun"}
    (note,) = session.told.notes
    assert note.startswith("The run stops, as the agent failed before any act")
    assert "No module named 'sdk'" in note
    assert "run the same command again" in note
    assert read_run(session.out).problems == ()


def test_the_next_start_does_them_again(session: Session) -> None:
    session.run(5, all_of("abcde"))
    outcome = session.run(5, {})
    assert (outcome.outcome, outcome.scored, outcome.remaining) == ("finished", 5, 0)
    assert set(session.scores.values()) == {1.0}


def test_one_task_many_times_is_judged_likewise(session: Session) -> None:
    chosen = TaskFilter(ids=("b",))
    outcome = session.run(3, all_of("b"), trials=5, tasks=chosen)
    assert (outcome.outcome, outcome.remaining) == ("aborted", 5)
    assert session.scores == {"b1": None, "b2": None, "b3": None}


ACTED: dict[str, list[Deed]] = {
    "it solved its task": ["yes"],
    "it took a step and failed": [1, missing()],
    "its model had answered": [CALL, missing()],
    "it failed in another way": [KeyError("other")],
    "its model declined": [AgentError("declined", fault="model_refusal")],
    "it ran out of steps": [Status.STEP_LIMIT],
}


@pytest.mark.parametrize("other", ACTED)
@pytest.mark.parametrize("place", ["a", "c"])
def test_one_that_ends_otherwise_makes_the_others_the_agents(
    session: Session, other: str, place: str
) -> None:
    deeds = {**all_of("abcde"), place: ACTED[other]}
    outcome = session.run(5, deeds)
    assert (outcome.outcome, outcome.scored, outcome.remaining) == ("finished", 5, 0)
    failed = [each for key, each in session.results.items() if key.task_id != place]
    assert {(each.status, each.score) for each in failed} == {(Status.AGENT_ERROR, 0.0)}


def test_a_trial_that_still_runs_is_waited_for(session: Session) -> None:
    started: list[str] = []
    enough = asyncio.Event()

    class Slow(Agents):
        async def run(self, task: Any, environment: Any, context: Any) -> AgentOutcome:
            started.append(task.task_id)
            if len(started) == 4:
                enough.set()
            if task.task_id == "a":
                await enough.wait()
                return AgentOutcome(answer="yes")
            return await super().run(task, environment, context)

    asked = RunSpec(agent="own", workers=2, attempts=1)
    environment = RunEnvironment(
        locks=NoLocks(), agent_for=lambda *_: Slow(all_of("bcdefghij")), progress=session.told
    )
    outcome = run_benchmark_sync(Sums(10), asked, session.out, run_environment=environment)
    assert (outcome.outcome, outcome.scored) == ("finished", 10)


def test_the_environments_faults_say_nothing_of_the_agent(session: Session) -> None:
    outcome = session.run(6, all_of("abcdef"), down="ac")
    assert (outcome.outcome, outcome.scored) == ("aborted", 0)
    faults = [each.error.fault for each in session.results.values() if each.error]
    assert sorted(faults) == ["environment", "environment", "not_begun", "not_begun", "not_begun"]


def test_a_run_that_was_scored_before_goes_on(session: Session) -> None:
    session.run(5, {}, tasks=TaskFilter(ids=("a",)))
    other = Session(session.out)
    outcome = other.run(5, all_of("a"), tasks=TaskFilter(ids=("a",)), trials=4)
    assert (outcome.outcome, outcome.scored) == ("finished", 4)
    assert sorted(other.scores.values()) == [0.0, 0.0, 0.0, 1.0]


@pytest.mark.parametrize(
    ("error", "scored"),
    [
        pytest.param(KeyError("bug"), True, id="a bug"),
        pytest.param(TypeError("'NoneType' object is not callable"), True, id="another bug"),
        pytest.param(missing(), False, id="no module"),
        pytest.param(ImportError("libgl.so: cannot open"), False, id="no library"),
        pytest.param(KeyError("OPENAI_API_KEY"), False, id="no variable"),
        pytest.param(RuntimeError("The api_key client option must be set"), False, id="no key"),
        pytest.param(
            TypeError("Could not resolve authentication method"), False, id="no way to log in"
        ),
        pytest.param(
            RuntimeError("Error code: 401 - {'error': {'code': 'invalid_api_key'}}"),
            False,
            id="a refused key",
        ),
        pytest.param(
            RuntimeError("Your credit balance is too low to access the API"), False, id="no money"
        ),
        pytest.param(RuntimeError("The model `gpt-9` does not exist"), False, id="no model"),
    ],
)
def test_one_trial_alone_is_the_agents_unless_it_lacks_something(
    session: Session, error: Exception, scored: bool
) -> None:
    outcome = session.run(1, {"a": [error]})
    assert (outcome.outcome, outcome.scored) == (("finished", 1) if scored else ("aborted", 0))


def test_what_it_had_spent_counts_once(session: Session) -> None:
    refused = Usage(requests=1)
    first = session.run(3, {name: [refused, missing(name)] for name in "abc"})
    assert first.spent.usage.requests == 3
    second = session.run(3, {name: [CALL] for name in "abc"})
    assert (second.spent.usage.requests, second.spent.cost_usd) == (6, 3.0)
    assert second.outcome == "finished"


KILLED = """
import os, signal, sys
from pathlib import Path
sys.path[:0] = sys.argv[2:]
from test_first_trials import CALL, Agents, Sums, missing
from bench_core.run_spec import RunSpec
from bench_core.runs import RunEnvironment, run_benchmark_sync
from bench_core.scheduling import NoLocks

class Deadly(Agents):
    async def run(self, task, environment, context):
        if task.task_id == "c":
            os.kill(os.getpid(), signal.SIGKILL)
        return await super().run(task, environment, context)

agent = Deadly({name: [missing(name)] for name in "ab"})
environment = RunEnvironment(locks=NoLocks(), agent_for=lambda *_: agent)
run_benchmark_sync(Sums(5), RunSpec(agent="own"), Path(sys.argv[1]), run_environment=environment)
"""


def test_a_run_killed_meanwhile_does_those_again_that_were_held(session: Session) -> None:
    here = Path(__file__).parent
    command = [sys.executable, "-c", KILLED, str(session.out), str(here), str(here / "helpers")]
    done = subprocess.run(command, check=False, env={**os.environ})
    assert done.returncode == -signal.SIGKILL
    assert session.scores == {}
    outcome = session.run(5, all_of("ab"), attempts=2)
    assert (outcome.outcome, outcome.scored) == ("finished", 5)
    assert sorted(session.scores.values(), key=str) == [0.0, 0.0, 1.0, 1.0, 1.0]
    assert read_run(session.out).problems == ()


@pytest.mark.parametrize("process", ["own", "shared"])
def test_agents_of_all_processes_are_judged_likewise(session: Session, process: str) -> None:
    spec = RunSpec(
        agent="keyless_agent:Keyless", attempts=1, workers=2,
        agent_process=AgentProcessSpec(process=process),  # type: ignore[arg-type]
    )  # fmt: skip
    outcome = run_benchmark_sync(
        Sums(6), spec, session.out, run_environment=RunEnvironment(locks=NoLocks())
    )
    assert (outcome.outcome, outcome.scored) == ("aborted", 0)
