"""Runs of a toy benchmark: results, `run.json`, and going on in the same folder."""

from __future__ import annotations

import asyncio
import gc
from typing import TYPE_CHECKING, Any

import pytest
from toy_benchmark import SPEC, Idle, Toy, run

from bench_core.errors import InputError, RunFolderError
from bench_core.protocols import TrialContext
from bench_core.records import Limits, TrialKey
from bench_core.records.vocabulary import SuspectCause
from bench_core.run_folder import read_run
from bench_core.run_spec import TaskFilter, trial_seed
from bench_core.runs import Provenance, RunEnvironment, RunOptions, run_benchmark_sync
from bench_core.trial import Benchmark, Evaluation, Evidence, run_trial

if TYPE_CHECKING:
    from pathlib import Path


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


def test_the_default_folder_is_the_same_for_the_same_command_only() -> None:
    assert RunOptions().folder("toy", SPEC) == RunOptions().folder(
        "toy", SPEC.model_copy(update={"workers": 8, "trials": 5})
    )
    others = [
        SPEC.model_copy(update=change)
        for change in ({"model": "x:y"}, {"tasks": TaskFilter(limit=1)}, {"seed": 1})
    ]
    assert len({RunOptions().folder("toy", spec) for spec in [SPEC, *others]}) == 4


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
