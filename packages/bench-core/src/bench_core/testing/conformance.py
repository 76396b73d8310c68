"""Requirements on every plugin, as test classes to subclass.

Give the class the fixtures it asks for; pytest runs the rest::

    class TestVisionAgent(AgentConformance):
        @pytest.fixture
        def agent(self):
            return VisionAgent(model="scripted:click")

        @pytest.fixture
        def environment(self, desktop):
            return DesktopHandle(url=desktop.url)
"""

# ruff: noqa: S101  # these are tests, and pytest explains asserts

from __future__ import annotations

import asyncio
import hashlib
import pickle
import re
import socket
from collections import Counter
from collections.abc import Sequence
from itertools import cycle
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import urlsplit

import pytest

from bench_core.budgets import TRIAL_METER
from bench_core.errors import BudgetExceededError
from bench_core.files.atomic import folder_name
from bench_core.models import Model, ModelRequest, ScriptedAdapter
from bench_core.protocols import (
    Agent,
    EnvironmentHandle,
    Judge,
    Reporter,
    TrialContext,
    World,
    WorldInfo,
)
from bench_core.records import AgentOutcome, AgentTask, Limits, Status, Task, TrialResult, Usage
from bench_core.records.judge import Criterion, JudgeCase, Verdict
from bench_core.testing.runs import make_run, make_tasks
from bench_core.trial import Benchmark, rescore_trial

_NAME = re.compile(r"[a-z0-9]+(?:[-_][a-z0-9]+)*")
_OUTCOMES = {each for each in Status if each.scored} | {Status.BUDGET_EXCEEDED}
_CONNECT_TIMEOUT_S = 2

T = TypeVar("T")


class _CountingMeter:
    """Adds up usage; refuses from `limit` calls on; `made` are the calls that the model received."""

    def __init__(self, limit: int | None = None) -> None:
        self.limit = limit
        self.usage = Usage()
        self.made = 0

    def spend(self, usage: Usage, cost_usd: float | None = None) -> None:  # noqa: ARG002  # protocol
        self.usage += usage
        if self.limit is not None and self.usage.requests >= self.limit:
            raise BudgetExceededError(f"the budget of {self.limit} model calls is spent")

    def of(self, source: str) -> _CountingMeter:
        del source
        return self


class AgentConformance:
    """An agent acts, reports honestly and stops when the budget is gone.

    Fixtures to give: `agent`, `environment` (a handle it can act on); of an agent that calls the run's model also
    `model_replies`, so that its calls are made and counted. To change: `agent_task`.
    """

    @pytest.fixture
    def agent(self) -> Agent:
        """Return the agent under test."""
        raise NotImplementedError

    @pytest.fixture
    def environment(self) -> EnvironmentHandle:
        """Return something the agent can act on."""
        raise NotImplementedError

    @pytest.fixture
    def agent_task(self) -> AgentTask:
        """Return a task of two steps at most."""
        return AgentTask(
            benchmark="demo", task_id="1", goal="Stop at once.", limits=Limits(max_steps=2)
        )

    @pytest.fixture
    def model_replies(self) -> Sequence[str | dict[str, Any]]:
        """Return the run's model's replies, repeated in turn; none for an agent without a model."""
        return ()

    @pytest.fixture
    def context(self, agent: Agent, tmp_path: Path) -> TrialContext:
        """Return the conditions of the trial."""
        return _context(tmp_path, agent.name)

    def test_follows_the_protocol(self, agent: Agent) -> None:
        """It has a name users can type, and `run`."""
        assert isinstance(agent, Agent)
        assert _NAME.fullmatch(agent.name)

    def test_reports_an_outcome_that_can_be_stored(
        self,
        agent: Agent,
        environment: EnvironmentHandle,
        agent_task: AgentTask,
        context: TrialContext,
        model_replies: Sequence[str | dict[str, Any]],
    ) -> None:
        """The outcome has a status an agent may report and survives JSON."""
        context = _with_model(context, model_replies, _CountingMeter())
        outcome = _outcome(agent, agent_task, environment, context)
        assert outcome.status in _OUTCOMES
        assert AgentOutcome.model_validate_json(outcome.model_dump_json()) == outcome

    def test_takes_arguments_that_crossed_a_process_border(
        self,
        agent: Agent,
        environment: EnvironmentHandle,
        agent_task: AgentTask,
        context: TrialContext,
        model_replies: Sequence[str | dict[str, Any]],
    ) -> None:
        """Nothing in its arguments is bound to this process."""
        # A run on other machines does this to them.
        task, handle, crossed = pickle.loads(pickle.dumps((agent_task, environment, context)))  # noqa: S301  # made here
        crossed = _with_model(crossed, model_replies, _CountingMeter())
        assert _outcome(agent, task, handle, crossed).status in _OUTCOMES

    def test_the_meter_receives_every_model_call(
        self,
        agent: Agent,
        environment: EnvironmentHandle,
        agent_task: AgentTask,
        context: TrialContext,
        model_replies: Sequence[str | dict[str, Any]],
    ) -> None:
        """The meter's count equals the agent's own report and the calls that the model received."""
        meter = _CountingMeter()
        context = _with_model(context, model_replies, meter)
        outcome = _outcome(agent, agent_task, environment, context)
        assert outcome.usage == meter.usage
        if model_replies:
            assert meter.made, "it did not call the run's model: open it with `model_of(context)`"
            assert meter.usage.requests == meter.made, "calls of the run's model were not counted"

    def test_stops_when_the_budget_is_gone(
        self,
        agent: Agent,
        environment: EnvironmentHandle,
        agent_task: AgentTask,
        context: TrialContext,
        model_replies: Sequence[str | dict[str, Any]],
    ) -> None:
        """After the meter refused, no more calls are made and the status says why."""
        meter = _CountingMeter(limit=1)
        try:
            limited = _with_model(context, model_replies, meter)
            outcome = _outcome(agent, agent_task, environment, limited)
        except BudgetExceededError:
            pass
        else:
            assert outcome.status is Status.BUDGET_EXCEEDED or meter.usage.requests == 0
        assert max(meter.made, meter.usage.requests) <= 1


class BenchmarkConformance:
    """A benchmark lists its tasks the same every time, and scores its stored trials again.

    Fixtures to give: `benchmark_under_test`, and `trial`, one finished trial as its task, its result and the
    folder it left, which the two tests of results need. Give `None` to skip those.
    """

    @pytest.fixture
    def benchmark_under_test(self) -> Benchmark:
        """Return the benchmark under test."""
        raise NotImplementedError

    @pytest.fixture
    def trial(self) -> tuple[Task, TrialResult, Path] | None:
        """Return a finished trial of the benchmark, or None if none can be run."""
        raise NotImplementedError

    def test_follows_the_protocol(self, benchmark_under_test: Benchmark) -> None:
        """It has a name users can type, and the three methods."""
        assert isinstance(benchmark_under_test, Benchmark)
        assert _NAME.fullmatch(benchmark_under_test.name)

    def test_tasks_have_ids_of_their_own(self, benchmark_under_test: Benchmark) -> None:
        """No id occurs twice, nor do folder names on systems that ignore case."""
        tasks = benchmark_under_test.tasks()
        assert tasks
        assert {task.benchmark for task in tasks} == {benchmark_under_test.name}
        folders = Counter(folder_name(task.task_id).casefold() for task in tasks)
        assert [name for name, count in folders.items() if count > 1] == []

    def test_tasks_are_the_same_every_time(self, benchmark_under_test: Benchmark) -> None:
        """Asking again gives the same tasks in the same order."""
        assert list(benchmark_under_test.tasks()) == list(benchmark_under_test.tasks())

    def test_tasks_survive_json(self, benchmark_under_test: Benchmark) -> None:
        """A task survives `tasks.jsonl`."""
        tasks = benchmark_under_test.tasks()
        assert [Task.model_validate_json(task.model_dump_json()) for task in tasks] == list(tasks)

    def test_result_is_of_the_trial_and_its_artifacts_exist(
        self, benchmark_under_test: Benchmark, trial: tuple[Task, TrialResult, Path] | None
    ) -> None:
        """The result names its task, survives JSON and lists only files that are there."""
        task, result, folder = _given(trial)
        assert (result.benchmark, result.task_id) == (benchmark_under_test.name, task.task_id)
        assert TrialResult.model_validate_json(result.model_dump_json()) == result
        assert [name for name in result.artifact_paths if not (folder / name).exists()] == []

    def test_rescoring_gives_the_same_score(
        self, benchmark_under_test: Benchmark, trial: tuple[Task, TrialResult, Path] | None
    ) -> None:
        """The artifacts alone lead to the score of the run."""
        task, result, folder = _given(trial)
        again = asyncio.run(rescore_trial(benchmark_under_test, task, result, folder))
        assert (again.key, again.score, again.success) == (
            result.key, result.score, result.success,
        )  # fmt: skip


class JudgeConformance:
    """A judge answers the case it was given and hides no fault in a verdict.

    Fixtures to give: `judge`, and `failing_judge`, the same judge with a model that is not
    reachable (`None` for judges that call none). To change: `case`.
    """

    @pytest.fixture
    def judge(self) -> Judge:
        """Return the judge under test."""
        raise NotImplementedError

    @pytest.fixture
    def failing_judge(self) -> Judge | None:
        """Return the judge with a model that does not answer, or None if it calls none."""
        raise NotImplementedError

    @pytest.fixture
    def case(self) -> JudgeCase:
        """Return a case with one criterion."""
        return JudgeCase(
            case_id="case-1",
            goal="Put the lamp into the cart.",
            criteria=(Criterion(id="lamp", text="The cart holds the lamp."),),
            state={"cart": [{"name": "lamp", "quantity": 1}]},
        )

    def test_follows_the_protocol(self, judge: Judge) -> None:
        """It has a name users can type, and `judge`."""
        assert isinstance(judge, Judge)
        assert _NAME.fullmatch(judge.name)

    def test_answers_the_case(self, judge: Judge, case: JudgeCase) -> None:
        """The verdict names case and judge, speaks of the case's criteria and survives JSON."""
        verdict = asyncio.run(judge.judge(case))
        assert (verdict.case_id, verdict.judge) == (case.case_id, judge.name)
        known = {criterion.id for criterion in case.criteria}
        assert {each.criterion_id for each in verdict.criteria} <= known
        assert Verdict.model_validate_json(verdict.model_dump_json()) == verdict

    def test_a_fault_of_the_provider_is_no_verdict(
        self, failing_judge: Judge | None, case: JudgeCase
    ) -> None:
        """Without a model's answer the outcome is `error`, which neither passes nor fails."""
        verdict = asyncio.run(_given(failing_judge).judge(case))
        assert (verdict.outcome, verdict.passed) == ("error", None)
        assert verdict.error is not None


class ReporterConformance:
    """A reporter writes files from run folders, changes none, and escapes agents' texts.

    Fixture to give: `reporter`. To change: `runs`.
    """

    @pytest.fixture
    def reporter(self) -> Reporter:
        """Return the reporter under test."""
        raise NotImplementedError

    @pytest.fixture
    def runs(self, tmp_path: Path) -> Sequence[Path]:
        """Return two run folders; a goal in each holds markup."""
        first, *others = make_tasks(8)
        hostile = first.model_copy(update={"goal": "<script>alert('goal')</script> & more"})
        return [
            make_run(tmp_path / "a", tasks=(hostile, *others), trials=2, seed=1),
            make_run(tmp_path / "b", tasks=(hostile, *others), trials=2, seed=2, agent="other"),
        ]

    def test_follows_the_protocol(self, reporter: Reporter) -> None:
        """It has a name users can type, and `report`."""
        assert isinstance(reporter, Reporter)
        assert _NAME.fullmatch(reporter.name)

    def test_writes_the_files_it_names(
        self, reporter: Reporter, runs: Sequence[Path], tmp_path: Path
    ) -> None:
        """Every returned file is in the given folder and holds something."""
        out = tmp_path / "report"
        written = reporter.report(runs, out)
        assert written
        assert [path for path in written if not path.is_relative_to(out)] == []
        assert [path for path in written if not path.stat().st_size] == []

    def test_leaves_run_folders_as_they_are(
        self, reporter: Reporter, runs: Sequence[Path], tmp_path: Path
    ) -> None:
        """No byte of a run folder changes."""
        before = [_digests(run) for run in runs]
        reporter.report(runs, tmp_path / "report")
        assert [_digests(run) for run in runs] == before

    def test_markup_in_a_goal_is_escaped(
        self, reporter: Reporter, runs: Sequence[Path], tmp_path: Path
    ) -> None:
        """Text of tasks and agents never becomes part of a page."""
        written = reporter.report(runs, tmp_path / "report")
        pages = [path.read_text(encoding="utf-8") for path in written if path.suffix == ".html"]
        assert [page for page in pages if "<script>alert('goal')" in page] == []


class WorldConformance:
    """A built-in world answers between start and stop, and at no other time.

    Fixture to give: `world`, not started.
    """

    @pytest.fixture
    def world(self) -> World:
        """Return the world under test, not started."""
        raise NotImplementedError

    def test_follows_the_protocol(self, world: World) -> None:
        """It has a name users can type, `start` and `stop`."""
        assert isinstance(world, World)
        assert _NAME.fullmatch(world.name)

    def test_answers_from_start_to_stop(self, world: World) -> None:
        """All its URLs accept connections while it runs and none does afterwards."""
        info, during, after = asyncio.run(_life_of(world))
        assert info.urls
        assert [url for url, open_ in during.items() if not open_] == []
        assert [url for url, open_ in after.items() if open_] == []

    def test_can_be_stopped_twice(self, world: World) -> None:
        """Stopping a world that is stopped or never started does nothing."""

        async def stop_thrice() -> None:
            await world.stop()
            await world.start()
            await world.stop()
            await world.stop()

        asyncio.run(stop_thrice())


def _context(folder: Path, agent: str) -> TrialContext:
    return TrialContext(
        run_id="conformance", folder=folder, seed=7, agent=agent, limits=Limits(max_steps=2)
    )


def _with_model(
    context: TrialContext, replies: Sequence[str | dict[str, Any]], meter: _CountingMeter
) -> TrialContext:
    """Return the conditions with a meter and, if there are replies, a model that makes them."""
    metered, lines = context.with_meter(meter), cycle(replies)
    if not replies:
        return metered

    def reply(request: ModelRequest) -> str | dict[str, Any]:
        del request
        meter.made += 1
        return next(lines)

    named = metered.model_copy(update={"model": "scripted:conformance"})
    return named.with_model_opener(lambda _: Model(ScriptedAdapter(reply)))


def _outcome(
    agent: Agent, task: AgentTask, environment: EnvironmentHandle, context: TrialContext
) -> AgentOutcome:
    """Let the agent work as a run does."""

    async def work() -> AgentOutcome:
        TRIAL_METER.set(context.meter)
        return await agent.run(task, environment, context)

    return asyncio.run(work())


def _given(value: T | None) -> T:
    if value is None:
        pytest.skip("this plugin has none to test with")
    return value


def _digests(folder: Path) -> dict[str, str]:
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


async def _life_of(world: World) -> tuple[WorldInfo, dict[str, bool], dict[str, bool]]:
    info = await world.start()
    try:
        during = await asyncio.to_thread(_answering, info)
    finally:
        await world.stop()
    return info, during, await asyncio.to_thread(_answering, info)


def _answering(info: WorldInfo) -> dict[str, bool]:
    return {url: _accepts(url) for url in info.urls.values()}


def _accepts(url: str) -> bool:
    parts = urlsplit(url)
    # names below .localhost do not resolve everywhere, but they mean this machine
    name = parts.hostname or ""
    host = "127.0.0.1" if name.endswith(".localhost") else name
    port = parts.port or {"http": 80, "https": 443}[parts.scheme]
    try:
        with socket.create_connection((host, port), timeout=_CONNECT_TIMEOUT_S):
            return True
    except OSError:
        return False
