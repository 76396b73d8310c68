"""The conformance classes, on small real plugins: they pass what conforms and catch what does not."""

from __future__ import annotations

import asyncio
import contextlib
import socket
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import pytest

from bench_core.errors import BudgetExceededError
from bench_core.models import Message, ModelRequest, model_of
from bench_core.protocols import BrowserHandle, TrialContext, WorldInfo
from bench_core.records import (
    AgentOutcome,
    AgentTask,
    ErrorInfo,
    Status,
    Task,
    TrialKey,
    TrialResult,
    Usage,
)
from bench_core.records.judge import CriterionVerdict, JudgeCase, Verdict
from bench_core.run_folder import TrialArtifacts, read_json, read_run
from bench_core.testing import (
    AgentConformance,
    BenchmarkConformance,
    JudgeConformance,
    ReporterConformance,
    WorldConformance,
    make_run,
    make_tasks,
)
from bench_core.trial import Evaluation, Evidence, TrialEnvironment, run_trial

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence
    from pathlib import Path

    from bench_core.protocols import Agent

CALL = Usage(requests=1, input_tokens=100, output_tokens=10)
ASKED = ModelRequest(messages=(Message.user("What next?"),))


class CountingAgent:
    """Makes as many model calls as it may take steps, and tells the meter of each."""

    name = "counting"

    async def run(
        self, task: AgentTask, environment: object, context: TrialContext
    ) -> AgentOutcome:
        usage = Usage()
        for step in range(1, (task.limits.max_steps or 1) + 1):
            usage += CALL
            try:
                context.meter.spend(CALL)
            except BudgetExceededError:
                return AgentOutcome(status=Status.BUDGET_EXCEEDED, steps=step, usage=usage)
        return AgentOutcome(status=Status.STEP_LIMIT, steps=step, usage=usage, answer=task.goal)


class SilentAgent(CountingAgent):
    """Hides its calls from the meter."""

    async def run(
        self, task: AgentTask, environment: object, context: TrialContext
    ) -> AgentOutcome:
        return AgentOutcome(usage=CALL)


class TestCountingAgent(AgentConformance):
    @pytest.fixture
    def agent(self) -> CountingAgent:
        return CountingAgent()

    @pytest.fixture
    def environment(self) -> BrowserHandle:
        return BrowserHandle(cdp_url="ws://127.0.0.1:9")


def test_an_agent_that_hides_calls_is_caught(tmp_path: Path) -> None:
    task = AgentTask(benchmark="demo", task_id="1", goal="g")
    context = TrialContext(run_id="r", folder=tmp_path)
    with pytest.raises(AssertionError):
        AgentConformance().test_the_meter_receives_every_model_call(
            SilentAgent(), BrowserHandle(cdp_url="ws://127.0.0.1:9"), task, context, ()
        )


class ModelAgent(CountingAgent):
    """Calls the run's model twice, and leaves the counting to it."""

    async def run(
        self, task: AgentTask, environment: object, context: TrialContext
    ) -> AgentOutcome:
        usage = Usage()
        async with model_of(context) as model:
            for _ in range(2):
                usage += (await model.complete(ASKED)).usage
        return AgentOutcome(usage=usage)


class UncountedAgent(CountingAgent):
    """Calls the model where no meter sees it."""

    async def run(
        self, task: AgentTask, environment: object, context: TrialContext
    ) -> AgentOutcome:
        model = context.model_opener(context)  # type: ignore[misc]  # there is one
        await model._transport.send(ASKED, 1.0)
        return AgentOutcome()


class TestModelAgent(AgentConformance):
    @pytest.fixture
    def agent(self) -> ModelAgent:
        return ModelAgent()

    @pytest.fixture
    def environment(self) -> BrowserHandle:
        return BrowserHandle(cdp_url="ws://127.0.0.1:9")

    @pytest.fixture
    def model_replies(self) -> list[str]:
        return ["done"]


@pytest.mark.parametrize(
    ("agent", "said"), [(UncountedAgent(), "were not counted"), (CountingAgent(), "did not call")]
)
def test_an_agent_whose_calls_of_the_model_are_not_seen_is_caught(
    agent: CountingAgent, said: str, tmp_path: Path
) -> None:
    task = AgentTask(benchmark="demo", task_id="1", goal="g")
    context = TrialContext(run_id="r", folder=tmp_path)
    with pytest.raises(AssertionError, match=said):
        AgentConformance().test_the_meter_receives_every_model_call(
            agent, BrowserHandle(cdp_url="ws://127.0.0.1:9"), task, context, ["done"]
        )


class EvenBenchmark:
    """A trial succeeds when the number in its state is even."""

    name = "demo"

    def tasks(self) -> Sequence[Task]:
        return make_tasks(4)

    @asynccontextmanager
    async def open(
        self, task: Task, context: TrialContext, agent: Agent
    ) -> AsyncIterator[TrialEnvironment]:
        del agent
        TrialArtifacts(context.folder).write_state({"number": int(task.task_id)})
        yield TrialEnvironment()

    async def evaluate(self, evidence: Evidence) -> Evaluation:
        number = read_json(evidence.folder / "finish_state.json.gz")["number"]
        return Evaluation(score=float(number % 2 == 0))


class TestEvenBenchmark(BenchmarkConformance):
    @pytest.fixture
    def benchmark_under_test(self) -> EvenBenchmark:
        return EvenBenchmark()

    @pytest.fixture
    def trial(
        self, benchmark_under_test: EvenBenchmark, tmp_path: Path
    ) -> tuple[Task, TrialResult, Path]:
        task = benchmark_under_test.tasks()[0]
        context = TrialContext(run_id="r", folder=tmp_path)
        work = run_trial(benchmark_under_test, task, context, CountingAgent())
        return task, asyncio.run(work), tmp_path


def test_a_benchmark_with_one_id_twice_is_caught() -> None:
    class Twice(EvenBenchmark):
        def tasks(self) -> Sequence[Task]:
            return (*make_tasks(2), *make_tasks(1))

    with pytest.raises(AssertionError):
        BenchmarkConformance().test_tasks_have_ids_of_their_own(Twice())


class CartJudge:
    """Looks for the criterion's id in the cart."""

    name = "cart"

    def __init__(self, *, reachable: bool = True) -> None:
        self.reachable = reachable

    async def judge(self, case: JudgeCase) -> Verdict:
        if not self.reachable:
            error = ErrorInfo(kind="ConnectError", message="no answer")
            return Verdict(case_id=case.case_id, judge=self.name, outcome="error", error=error)
        found = [CriterionVerdict(criterion_id=each.id, verdict="pass") for each in case.criteria]
        return Verdict(case_id=case.case_id, judge=self.name, outcome="pass", criteria=tuple(found))


class TestCartJudge(JudgeConformance):
    @pytest.fixture
    def judge(self) -> CartJudge:
        return CartJudge()

    @pytest.fixture
    def failing_judge(self) -> CartJudge:
        return CartJudge(reachable=False)


def test_a_judge_that_calls_a_fault_a_fail_is_caught() -> None:
    class Harsh(CartJudge):
        async def judge(self, case: JudgeCase) -> Verdict:
            return Verdict(case_id=case.case_id, judge=self.name, outcome="fail")

    case = JudgeCase(case_id="1", goal="g")
    with pytest.raises(AssertionError):
        JudgeConformance().test_a_fault_of_the_provider_is_no_verdict(Harsh(), case)


class ListReporter:
    """Writes one line per run."""

    name = "list"

    def report(self, runs: Sequence[Path], out: Path) -> Sequence[Path]:
        out.mkdir(parents=True, exist_ok=True)
        lines = [f"{read_run(run).info.run_id}: {len(read_run(run).results)}\n" for run in runs]
        (out / "report.txt").write_text("".join(lines))
        return [out / "report.txt"]


class TestListReporter(ReporterConformance):
    @pytest.fixture
    def reporter(self) -> ListReporter:
        return ListReporter()


def test_a_reporter_that_lets_markup_through_is_caught(tmp_path: Path) -> None:
    class Careless(ListReporter):
        def report(self, runs: Sequence[Path], out: Path) -> Sequence[Path]:
            out.mkdir(parents=True, exist_ok=True)
            goals = "".join(task.goal for task in read_run(runs[0]).tasks)
            (out / "report.html").write_text(f"<html>{goals}</html>")
            return [out / "report.html"]

    hostile = make_tasks(1)[0].model_copy(update={"goal": "<script>alert('goal')</script>"})
    run = make_run(tmp_path / "run", tasks=(hostile,))
    with pytest.raises(AssertionError):
        ReporterConformance().test_markup_in_a_goal_is_escaped(Careless(), [run], tmp_path)


class PortWorld:
    """One port that accepts connections."""

    name = "port"

    def __init__(self) -> None:
        self._socket: socket.socket | None = None

    async def start(self) -> WorldInfo:
        self._socket = socket.create_server(("127.0.0.1", 0))
        port = self._socket.getsockname()[1]
        return WorldInfo(name=self.name, urls={"port": f"http://port.localhost:{port}/"})

    async def stop(self) -> None:
        self.close()

    def close(self) -> None:
        if self._socket is not None:
            self._socket.close()


class TestPortWorld(WorldConformance):
    @pytest.fixture
    def world(self) -> PortWorld:
        return PortWorld()


def test_a_world_that_answers_after_its_end_is_caught() -> None:
    class Immortal(PortWorld):
        async def stop(self) -> None:
            pass

    world = Immortal()
    with contextlib.closing(world), pytest.raises(AssertionError):
        WorldConformance().test_answers_from_start_to_stop(world)


def test_keys_name_trials() -> None:
    assert TrialKey(task_id="1") == TrialKey(task_id="1", trial=1)
