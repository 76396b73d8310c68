"""The whole path on the built-in world: right, wrong and no work, and a judge on what is left."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from bench_core.artifacts import read_json
from bench_core.judging import CriterionVerdict, Verdict
from bench_core.planning import RunSpec, TaskFilter, Timeouts
from bench_core.records import Limits, Record
from bench_core.run_folder import read_run
from bench_core.running import Surroundings, run_benchmark_sync
from bench_core.scheduling.machine_locks import NoLocks
from multireal_harness.agents.loading import Settings
from multireal_harness.benchmark import MultiRealBenchmark
from multireal_harness.evaluation import EvaluationRules
from multireal_harness.health import has_changes
from multireal_harness.provenance import provenance
from multireal_harness.tasks import load_tasks, task_set_hash
from multireal_harness.trial import TrialSettings
from multireal_harness.world.solutions_file import load_solutions
from multireal_harness.worlds import built_in_world

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bench_core.judging import JudgeCase
    from bench_core.progress.interface import Progress
    from bench_core.protocols import Judge, TrialContext
    from bench_core.records import Task, TrialResult
    from bench_core.running import RunOutcome
    from multireal_harness.agents.seating import Seat

__all__ = ["CountingJudge", "DemoRun", "run_demo"]

_FOLDERS = {"scripted": ("scripted", "good", 1.0), "scripted-wrong": ("scripted", None, 0.0),
            "do-nothing": ("do-nothing", "good", 0.0)}  # fmt: skip
"""Run folder to agent, solution (null: each task's first wrong one) and the score all must get."""


_AUDIT = 0.5
"""The share of the right solutions the judge is shown."""


class DemoRun(Record):
    """How one run of the demo did, and which trials came out otherwise than they must."""

    run: str
    folder: str
    outcome: str
    tasks: int
    succeeded: int
    failed: int
    not_scored: int
    judged: int
    seconds: float
    unexpected: tuple[str, ...] = ()

    @property
    def as_expected(self) -> bool:
        """Whether every trial scored what it must."""
        return self.outcome == "finished" and not self.unexpected


class CountingJudge:
    """Looks at the end states without a model: something must have changed in one of the apps.

    It is the demo's stand-in for a judge: it asks less than any query, so it can only fail what
    plainly did not happen. Point `--judge llm-judge` at a model for a real one.
    """

    name = "counting-judge"

    async def judge(self, case: JudgeCase) -> Verdict:
        """Judge one case."""
        states = read_json(Path(case.state_path)) if case.state_path else {}
        changed = {app for app, state in states.items() if has_changes(state)}
        verdicts = tuple(
            CriterionVerdict(
                criterion_id=each.id,
                reason=f"{len(changed)} of {len(states)} apps have changed",
                verdict="pass" if changed else "fail",
            )
            for each in case.criteria
        )
        passed = all(each.verdict == "pass" for each in verdicts)
        return Verdict(
            case_id=case.case_id,
            judge=self.name,
            outcome="pass" if passed else "fail",
            criteria=verdicts,
            reasoning="; ".join(dict.fromkeys(each.reason for each in verdicts)),
        )


def run_demo(
    out: Path, *, progress: Progress, judge: Judge | None = None, workers: int = 2
) -> list[DemoRun]:
    """Run the demo into folders of `out` and say how it did; unfinished runs are continued.

    Args:
        out: Holds `scripted/`, `scripted-wrong/` and `do-nothing/` afterwards.
        progress: Is told what happens.
        judge: Shown half of what the first run passes; by default one that only looks whether any app
            has changed.
        workers: Trials at once.
    """
    runs = []
    with built_in_world() as world:
        for name, (agent, solution, expected) in _FOLDERS.items():
            tasks = load_tasks("built-in")
            rules = EvaluationRules(judge=judge or CountingJudge(), audit=_AUDIT)
            benchmark = MultiRealBenchmark(
                tasks,
                origins=world.urls,
                rules=rules if name == "scripted" else None,
                seat_for=_Seats(solution).seat_for,
                settings=TrialSettings(track=False),
            )
            spec = RunSpec(
                tasks=TaskFilter(),
                agent=agent,
                workers=workers,
                world="built-in",
                limits=Limits(max_steps=60, time_limit_s=120),
                timeouts=Timeouts(evaluation_grace_s=240),
                config={"solution": solution or "wrong"},
            )
            surroundings = Surroundings(
                progress=progress, provenance=provenance(task_set_hash(tasks)), locks=NoLocks()
            )
            outcome = run_benchmark_sync(
                benchmark, spec, out / name, surroundings=surroundings, guard=True
            )
            runs.append(_summary(out / name, name, expected, outcome))
            if outcome.outcome in {"interrupted", "aborted"}:
                break
    return runs


class _Seats:
    """Gives the scripted agent one solution by name, or each task's first wrong one."""

    def __init__(self, solution: str | None) -> None:
        self._solution = solution

    def seat_for(self, context: TrialContext, task: Task) -> Seat:
        name = self._solution or _first_wrong(task)
        return Settings(solution=name).seat_for(context, task)


def _first_wrong(task: Task) -> str:
    found = load_solutions(re.sub(r"^multi\.", "", task.task_id))
    return next(each.name for each in found if not each.passes)


def _summary(folder: Path, name: str, expected: float, outcome: RunOutcome) -> DemoRun:
    results = list(read_run(folder).results.values())
    return DemoRun(
        run=name,
        folder=str(folder),
        outcome=outcome.outcome,
        tasks=outcome.planned,
        succeeded=sum(result.score == 1.0 for result in results),
        failed=sum(result.score == 0.0 for result in results),
        not_scored=sum(result.score is None for result in results),
        judged=sum("judge" in result.details for result in results),
        seconds=round(outcome.spent.seconds, 1),
        unexpected=_unexpected(results, expected),
    )


def _unexpected(results: Sequence[TrialResult], expected: float) -> tuple[str, ...]:
    return tuple(
        f"{result.task_id}: {result.status.value}, score {result.score}"
        for result in results
        if result.score != expected
    )
