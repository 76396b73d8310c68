"""`run_benchmark`, `plan_run` and `rescore_run` on real run folders."""

from __future__ import annotations

import asyncio
import gc
import json
import weakref
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import pytest

from bench_core.budgets import Budget, Spent
from bench_core.errors import (
    EnvironmentFaultError,
    EvaluationError,
    InputError,
    RunFolderError,
    UnknownPluginError,
)
from bench_core.protocols import TrialContext
from bench_core.records import AgentOutcome, Limits, Resource, Task, TrialKey, Usage
from bench_core.records.vocabulary import SuspectCause
from bench_core.run_folder import read_run
from bench_core.run_spec import RunSpec, TaskFilter, trial_seed
from bench_core.runs import (
    Provenance,
    RunEnvironment,
    RunOutcome,
    default_folder,
    plan_run,
    rescore_run,
    rescore_run_sync,
    run_benchmark,
    run_benchmark_sync,
    spent_before,
)
from bench_core.runs.capacity import Machines
from bench_core.scheduling import Backoff, NoLocks, Policy
from bench_core.trial import Benchmark, Evaluation, Evidence, TrialEnvironment, run_trial

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from bench_core.protocols import Agent, EnvironmentHandle
    from bench_core.records import AgentTask

SPEC = RunSpec(agent="scripted", model="toy:cheap")
AT_ONCE = Backoff(first_s=0.0)


class Toy:
    """Four tasks; `down` lists those whose site does not answer."""

    name = "toy"

    def __init__(self, *down: str) -> None:
        self.down = set(down)
        self.ran: list[tuple[str, int, int]] = []
        self.seeds: dict[TrialKey, int] = {}
        self.scores: dict[str, float | Exception] = {}
        self.suspect: dict[str, tuple[SuspectCause, ...]] = {}

    def tasks(self) -> list[Task]:
        return [
            Task(
                benchmark="toy",
                task_id=str(n),
                goal="",
                groups={"parity": ("odd" if n % 2 else "even",)},
                resources=(Resource(name="toy", mode="shared" if n % 2 else "exclusive"),),
                limits=Limits(time_limit_s=60),
            )
            for n in range(4)
        ]

    @asynccontextmanager
    async def open(
        self, task: Task, context: TrialContext, agent: Agent
    ) -> AsyncIterator[TrialEnvironment]:
        assert agent.name == "scripted"
        self.ran.append((task.task_id, context.trial, context.attempt))
        self.seeds[TrialKey(task_id=task.task_id, trial=context.trial)] = context.seed
        context.meter.spend(Usage(requests=1, input_tokens=100), 0.25)
        (context.folder / "answer.txt").write_text(str(context.attempt))
        if task.task_id in self.down:
            raise EnvironmentFaultError("the site is down")
        yield TrialEnvironment()

    async def evaluate(self, evidence: Evidence) -> Evaluation:
        assert (evidence.folder / "answer.txt").exists()
        score = self.scores.get(evidence.task.task_id, 1.0)
        if isinstance(score, Exception):
            raise score
        return Evaluation(score=score, suspect=self.suspect.get(evidence.task.task_id, ()))


class Idle:
    """Says at once that it is done."""

    name = "scripted"

    async def run(
        self, task: AgentTask, environment: EnvironmentHandle, context: TrialContext
    ) -> AgentOutcome:
        return AgentOutcome()


@pytest.fixture
def toy() -> Toy:
    return Toy()


@pytest.fixture
def out(tmp_path: Path) -> Path:
    return tmp_path / "runs" / "first"


async def run(toy: Toy, out: Path, spec: RunSpec = SPEC, **run_environment: Any) -> RunOutcome:
    return await run_benchmark(
        toy,
        spec,
        out,
        run_environment=RunEnvironment(
            **{
                "locks": NoLocks(),
                "agent_for": lambda *_: Idle(),
                "policy": Policy(spec.workers, spec.attempts, spec.timeouts, AT_ONCE),
                **run_environment,
            }
        ),
    )


def test_the_toy_is_a_benchmark(toy: Toy) -> None:
    assert isinstance(toy, Benchmark)


async def test_a_run_ends_with_a_result_for_every_trial(toy: Toy, out: Path) -> None:
    outcome = await run(toy, out, SPEC.model_copy(update={"trials": 2}))
    assert outcome.outcome == "finished"
    assert (outcome.planned, outcome.remaining, outcome.scored, outcome.succeeded) == (8, 0, 8, 8)
    assert outcome.statuses == {"completed": 8}
    view = read_run(out)
    assert len(view.results) == 8
    assert view.info.run_id == "first"
    assert view.info.finished is not None
    assert view.trial_folder(TrialKey(task_id="3", trial=2)).joinpath("answer.txt").exists()


async def test_suspects_are_counted_with_the_successes_among_them(toy: Toy, out: Path) -> None:
    toy.suspect = {"1": (SuspectCause.SITE_ERROR,), "2": (SuspectCause.LOGIN_LOST,)}
    toy.scores = {"1": 0.0}
    outcome = await run(toy, out)
    assert (outcome.scored, outcome.succeeded) == (4, 3)
    assert (outcome.suspects, outcome.suspects_succeeded) == (2, 1)


async def test_an_agent_for_another_environment_is_refused_before_anything_is_made(
    toy: Toy, out: Path
) -> None:
    toy.environment = "text"  # type: ignore[attr-defined]
    spec = SPEC.model_copy(update={"agent": "tool-calling"})

    with pytest.raises(InputError, match="'tool-calling' works in browser or desktop") as refused:
        await run(toy, out, spec, agent_for=None)

    assert "'toy' opens a text: choose an agent for a text" in str(refused.value)
    assert not out.exists()
    assert toy.ran == []


async def test_an_agent_is_refused_by_its_trial_too_where_the_run_makes_it(
    toy: Toy, out: Path
) -> None:
    class Clicker(Idle):
        environments = ("browser",)

    toy.environment = "desktop"  # type: ignore[attr-defined]
    with pytest.raises(InputError, match="'scripted' works in browser"):
        await run_trial(toy, toy.tasks()[0], TrialContext(run_id="r", folder=out), Clicker())
    toy.environment = "browser"  # type: ignore[attr-defined]
    out.mkdir(parents=True)
    result = await run_trial(toy, toy.tasks()[0], TrialContext(run_id="r", folder=out), Clicker())
    assert result.score == 1.0


async def test_run_json_tells_what_was_asked(toy: Toy, out: Path) -> None:
    spec = SPEC.model_copy(update={"site_locks": "exclusive", "config": {"headless": True}})
    await run(toy, out, spec, provenance=Provenance(benchmark_version="9.9", packages=("pytest",)))
    info = read_run(out).info
    assert info.config == {"limits": {}, "site_locks": "exclusive", "headless": True}
    assert (info.agent, info.model, info.benchmark_version) == ("scripted", "toy:cheap", "9.9")
    assert "pytest" in info.versions


async def test_every_trial_gets_its_own_derived_seed(toy: Toy, out: Path) -> None:
    await run(toy, out, SPEC.model_copy(update={"seed": 7}))
    assert toy.seeds == {key: trial_seed(7, key) for key in toy.seeds}
    assert len(toy.seeds) == 4


async def test_running_again_runs_only_what_has_no_lasting_result(out: Path) -> None:
    first = await run(Toy("1"), out)
    assert (first.remaining, first.statuses) == (1, {"completed": 3, "environment_error": 1})
    healed = Toy()
    second = await run(healed, out)
    assert healed.ran == [("1", 1, 3)]
    assert (second.remaining, second.scored) == (0, 4)
    attempts = read_run(out).results[TrialKey(task_id="1")].attempts
    assert [attempt.status.value for attempt in attempts] == [
        "environment_error", "environment_error", "completed",
    ]  # fmt: skip


async def test_artifacts_of_failed_attempts_are_kept_aside(out: Path) -> None:
    await run(Toy("1"), out)
    await run(Toy(), out)
    assert (out / "trials" / "1" / "1" / "answer.txt").read_text() == "3"
    kept = sorted((out / "attempts").rglob("answer.txt"))
    assert [path.read_text() for path in kept] == ["1", "2"]


async def test_more_trials_extend_a_run(toy: Toy, out: Path) -> None:
    await run(toy, out)
    toy.ran.clear()
    await run(toy, out, SPEC.model_copy(update={"trials": 2}))
    assert {trial for _, trial, _ in toy.ran} == {2}


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"model": "toy:dear"}, '--model was "toy:cheap", now "toy:dear"'),
        ({"seed": 1}, "--seed was 0, now 1"),
        ({"profile": "v2"}, '--profile was "official", now "v2"'),
        ({"site_locks": "exclusive"}, '--site-locks was "rw", now "exclusive"'),
        ({"limits": Limits(max_steps=3)}, "--max-steps was not set, now 3"),
        ({"limits": Limits(time_limit_s=3)}, "--time-limit was not set, now 3.0"),
        ({"config": {"few_shot": 1}}, "--few-shot was not set, now 1"),
        ({"config": {"agent": {"depth": 1}}}, "--agent.depth was not set, now 1"),
        ({"config": {"notes": "x" * 90}}, "now " + '"' + "x" * 59 + "...."),
        ({"tasks": TaskFilter(ids=("1", "2", "3"))}, "task '0' is not asked for now"),
        ({"tasks": TaskFilter(ids=("3",))}, "tasks '0', '1', '2' are not asked for now"),
    ],
    ids=[
        "model",
        "seed",
        "profile",
        "site locks",
        "steps",
        "time limit",
        "runner's own",
        "nested",
        "long",
        "one task less",
        "three tasks less",
    ],
)
async def test_another_experiment_in_the_same_folder_is_refused(
    toy: Toy, out: Path, change: dict[str, Any], told: str
) -> None:
    await run(toy, out)
    with pytest.raises(RunFolderError, match="another run, 'first'") as refused:
        await run(toy, out, SPEC.model_copy(update=change))
    assert told in str(refused.value)
    assert str(refused.value).count(";") == 0, "only what differs is told"


async def test_the_row_of_the_models_price_is_kept_in_run_json(toy: Toy, out: Path) -> None:
    row = {"model": "toy:cheap", "input": 1.0, "as_of": "2026-11-01"}
    await run(toy, out, price_of={"toy:cheap": row}.get)
    assert read_run(out).info.prices == (row,)


async def test_money_spent_by_former_sessions_counts(out: Path) -> None:
    spec = SPEC.model_copy(update={"attempts": 1, "budget": Budget(max_cost_usd=1.2)})
    first = await run(Toy("0", "1", "2", "3"), out, spec, price_of=lambda _: 1)
    assert (first.outcome, first.spent.cost_usd) == ("finished", 1.0)
    healed = Toy()
    second = await run(healed, out, spec, price_of=lambda _: 1)
    assert second.outcome == "budget_exceeded"
    assert second.spent.cost_usd == 1.25
    assert len(healed.ran) == 1
    assert second.statuses == {"budget_exceeded": 1, "environment_error": 3}
    assert second.remaining == 4


async def test_a_budget_in_dollars_without_a_price_is_refused_before_anything_is_made(
    toy: Toy, tmp_path: Path
) -> None:
    spec = SPEC.model_copy(update={"budget": Budget(max_cost_usd=1)})
    with pytest.raises(InputError, match="price of 'toy:cheap' is unknown"):
        await run(toy, tmp_path, spec)
    assert list(tmp_path.iterdir()) == []  # a folder on a local disk


async def test_what_a_run_may_spend_stands_in_its_events_where_it_begins(
    toy: Toy, tmp_path: Path
) -> None:
    await run(toy, tmp_path / "free")
    await run(toy, tmp_path / "bound", SPEC.model_copy(update={"budget": Budget(max_tokens=10**6)}))

    assert "budget" not in {each.kind for each in read_run(tmp_path / "free").events}
    first = read_run(tmp_path / "bound").events[0]
    assert (first.kind, first.data) == ("budget", {"max_tokens": 10**6})


async def test_what_was_spent_is_read_back_from_the_events(toy: Toy, out: Path) -> None:
    outcome = await run(toy, out)
    spent = spent_before(read_run(out))
    assert (spent.usage, spent.cost_usd) == (outcome.spent.usage, 1.0)
    assert spent.seconds > 0


async def test_a_call_whose_event_the_disk_did_not_take_counts_by_its_result(
    toy: Toy, out: Path
) -> None:
    outcome = await run(toy, out)
    events = (out / "events.jsonl").read_text().splitlines(keepends=True)
    first = next(each for each in events if '"spend"' in each)
    (out / "events.jsonl").write_text("".join(each for each in events if each != first))
    assert spent_before(read_run(out)).cost_usd == outcome.spent.cost_usd


async def test_a_call_whose_trial_got_no_result_counts_by_its_event(toy: Toy, out: Path) -> None:
    outcome = await run(toy, out)
    (out / "results.jsonl").write_bytes(b"")
    assert spent_before(read_run(out)).cost_usd == outcome.spent.cost_usd


async def test_a_folder_is_free_again_after_an_interrupted_run(toy: Toy, out: Path) -> None:
    begun = asyncio.Event()

    class Slow(Toy):
        async def evaluate(self, evidence: Evidence) -> Evaluation:
            begun.set()
            await asyncio.sleep(600)
            return await super().evaluate(evidence)

    running = asyncio.ensure_future(run(Slow(), out))
    await begun.wait()
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert read_run(out).info.sessions[-1].outcome == "interrupted"
    assert (await run(toy, out)).remaining == 0


def test_a_dry_run_shows_the_plan_and_writes_nothing(toy: Toy, out: Path) -> None:
    plan = plan_run(toy, SPEC.model_copy(update={"trials": 2, "workers": 4}), out)
    assert (plan.planned, plan.done, plan.to_run, plan.continues) == (8, 0, 8, False)
    assert [(r.name, r.shared, r.exclusive) for r in plan.resources] == [("toy", 4, 4)]
    assert plan.speed_up == 8 / 5  # four alone, the other four together
    assert plan.at_most_s == 5 * 180
    assert plan.expected_s is None
    assert not out.exists()


def test_a_dry_run_says_where_more_machines_stop_helping(toy: Toy, out: Path) -> None:
    spec = SPEC.model_copy(update={"trials": 2, "workers": 2})
    machines = Machines(price=0.5, start_s=600.0)
    plan = plan_run(toy, spec, out, machines=machines, trial_s=60.0)
    # four trials need the resource alone, one after another; four share it
    assert plan.enough_workers == 4
    found = [(c.workers, c.speed_up, c.expected_s, c.at_most_s) for c in plan.capacities]
    assert found == [
        (1, 1.0, 600 + 8 * 60, 600 + 8 * 180),
        (2, 8 / 6, 600 + 6 * 60, 600 + 6 * 180),
        (4, 8 / 5, 600 + 5 * 60, 600 + 5 * 180),
    ]
    assert [round(c.expected_dollars or 0.0, 4) for c in plan.capacities] == [0.15, 0.2667, 0.5]
    assert [c.at_most_dollars for c in plan.capacities] == [
        c.workers * 0.5 * (c.at_most_s or 0.0) / 3600 for c in plan.capacities
    ]
    assert plan.expected_s == 600 + 6 * 60


def test_without_a_price_there_are_no_dollars(toy: Toy, out: Path) -> None:
    for each in plan_run(toy, SPEC, out).capacities:
        assert (each.expected_s, each.expected_dollars, each.at_most_dollars) == (None, None, None)


async def test_a_dry_run_of_a_finished_run_needs_no_machines(toy: Toy, out: Path) -> None:
    await run(toy, out)
    plan = plan_run(toy, SPEC, out)
    assert (plan.to_run, plan.capacities, plan.enough_workers) == (0, (), None)


async def test_a_dry_run_counts_what_is_done(out: Path) -> None:
    await run(Toy("1"), out)
    plan = plan_run(Toy(), SPEC, out)
    assert (plan.planned, plan.done, plan.to_run, plan.continues) == (4, 3, 1, True)
    assert plan.expected_s is not None


def test_the_default_folder_is_the_same_for_the_same_command_only() -> None:
    assert default_folder("toy", SPEC) == default_folder(
        "toy", SPEC.model_copy(update={"workers": 8, "trials": 5})
    )
    others = [
        SPEC.model_copy(update=change)
        for change in ({"model": "x:y"}, {"tasks": TaskFilter(limit=1)}, {"seed": 1})
    ]
    assert len({default_folder("toy", spec) for spec in [SPEC, *others]}) == 4


async def test_a_rescore_tells_what_changed_and_leaves_the_first_results_alone(
    toy: Toy, out: Path
) -> None:
    await run(toy, out)
    before = (out / "results.jsonl").read_bytes()
    toy.scores = {"1": 0.0, "2": EvaluationError("no HAR"), "3": KeyError("evaluator bug")}
    outcome = await rescore_run(toy, out, name="stricter", reason="new rules")
    assert [(c.task_id, c.status.value, c.score_before, c.score) for c in outcome.changes] == [
        ("1", "completed", 1.0, 0.0),
        ("2", "evaluation_error", 1.0, None),
        ("3", "evaluation_error", 1.0, None),
    ]
    assert (outcome.rescored, outcome.left_out) == (4, 0)
    folder = out / "rescores" / "stricter"
    assert len((folder / "results.jsonl").read_text().splitlines()) == 4
    assert len(json.loads((folder / "changes.json").read_text())) == 3
    assert (out / "results.jsonl").read_bytes() == before


async def test_trials_that_were_never_evaluated_are_left_out_of_a_rescore(out: Path) -> None:
    await run(Toy("1"), out)
    outcome = await rescore_run(Toy(), out)
    assert (outcome.rescored, outcome.left_out) == (3, 1)


async def test_a_run_of_another_benchmark_cannot_be_rescored(toy: Toy, out: Path) -> None:
    await run(toy, out)
    toy.name = "other"
    with pytest.raises(InputError, match="is a run of 'toy', not 'other'"):
        await rescore_run(toy, out)


def test_what_was_spent_survives_json() -> None:
    spent = Spent(usage=Usage(requests=2), cost_usd=0.5, unpriced_calls=1)
    stored = spent.model_dump(mode="json", exclude_defaults=True)
    assert Spent.model_validate(stored) == spent


class Forgetful(Toy):
    """Leaves a task behind that fails and that nobody asks."""

    async def evaluate(self, evidence: Evidence) -> Evaluation:
        async def fail() -> None:
            raise RuntimeError("forgotten")

        forgotten = asyncio.ensure_future(fail())
        await asyncio.sleep(0)
        del forgotten
        gc.collect()
        return await super().evaluate(evidence)


def test_what_foreign_code_forgot_is_no_traceback_on_the_terminal(
    out: Path, capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level("DEBUG", logger="bench_core.runs.execute"):
        with_ = RunEnvironment(agent_for=lambda *_: Idle())
        outcome = run_benchmark_sync(Forgetful(), SPEC, out, run_environment=with_)
    assert outcome.succeeded == 4
    assert "Traceback" not in capfd.readouterr().err
    assert "forgotten" in caplog.text


class Spender(Idle):
    """Hears of its meter and of its environment, and spends."""

    contexts: list[weakref.ref[TrialContext]]

    def __init__(self) -> None:
        self.contexts = []

    async def run(
        self, task: AgentTask, environment: EnvironmentHandle, context: TrialContext
    ) -> AgentOutcome:
        self.contexts.append(weakref.ref(context))
        context.meter.spend(Usage(input_tokens=1), cost_usd=0.0)
        return await super().run(task, environment, context)


def test_a_trial_that_is_over_takes_no_memory_until_the_garbage_collector_comes(out: Path) -> None:
    agent = Spender()
    with_ = RunEnvironment(agent_for=lambda *_: agent)
    gc.collect()
    gc.disable()
    try:
        run_benchmark_sync(Toy(), SPEC, out, run_environment=with_)
        assert [each() for each in agent.contexts] == [None] * 4
    finally:
        gc.enable()


class Kept(Toy):
    """Keeps something between trials, and ends it as it is told to."""

    def __init__(self, ending: str = "well") -> None:
        super().__init__()
        self._ending = ending
        self.closed: list[asyncio.AbstractEventLoop] = []

    async def evaluate(self, evidence: Evidence) -> Evaluation:
        self.loop = asyncio.get_running_loop()
        return await super().evaluate(evidence)

    async def close(self) -> None:
        self.closed.append(asyncio.get_running_loop())
        if self._ending == "raises":
            raise OSError("it is gone already")
        if self._ending == "hangs":
            await asyncio.Event().wait()


@pytest.mark.parametrize("ending", ["well", "raises", "hangs"])
def test_what_a_benchmark_keeps_is_closed_in_the_loop_of_its_run(
    out: Path, ending: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bench_core.trial.hooks._CLOSE_S", 0.2)
    toy = Kept(ending)
    with_ = RunEnvironment(agent_for=lambda *_: Idle())
    outcome = run_benchmark_sync(toy, SPEC, out, run_environment=with_)
    assert outcome.succeeded == 4
    assert toy.closed == [toy.loop]


def test_what_a_benchmark_keeps_is_closed_where_a_run_cannot_begin(out: Path) -> None:
    toy = Kept()
    with pytest.raises(UnknownPluginError):
        run_benchmark_sync(toy, SPEC.model_copy(update={"agent": "nobody"}), out)
    assert len(toy.closed) == 1


@pytest.mark.parametrize("ending", ["well", "raises", "hangs"])
def test_what_a_benchmark_keeps_is_closed_in_the_loop_of_its_rescore(
    out: Path, ending: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("bench_core.trial.hooks._CLOSE_S", 0.2)
    with_ = RunEnvironment(agent_for=lambda *_: Idle())
    run_benchmark_sync(Toy(), SPEC, out, run_environment=with_)
    toy = Kept(ending)
    assert rescore_run_sync(toy, out).rescored == 4
    assert toy.closed == [toy.loop]
    assert ("what the benchmark keeps" in caplog.text) is (ending != "well")
    with pytest.raises(InputError):
        rescore_run_sync(toy, out.parent / "none")
    assert len(toy.closed) == 2


async def test_a_run_in_a_loop_of_the_caller_leaves_the_benchmark_open(out: Path) -> None:
    toy = Kept()
    await run(toy, out)
    assert toy.closed == []
