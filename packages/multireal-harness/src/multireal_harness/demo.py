"""The whole path on the built-in world: right, wrong and no work, and a judge on what is left."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from bench_core.artifacts import read_json
from bench_core.demos import DemoRun
from bench_core.judging import CriterionVerdict, Verdict
from bench_core.planning import RunSpec, TaskFilter, Timeouts
from bench_core.records import Limits
from bench_core.run_folder import read_run
from bench_core.running import Surroundings, run_benchmark_sync
from bench_core.scheduling.machine_locks import NoLocks
from multireal_harness.agents.guide import FIRST_WRONG
from multireal_harness.benchmark import MultiRealBenchmark
from multireal_harness.environment import EnvironmentSettings
from multireal_harness.evaluation import EvaluationRules
from multireal_harness.health import has_changes
from multireal_harness.provenance import provenance
from multireal_harness.tasks import load_tasks, task_set_hash
from multireal_harness.worlds import built_in_world

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bench_core.judging import JudgeCase
    from bench_core.progress.interface import Progress
    from bench_core.protocols import Judge
    from multireal_harness.world.faults import AppFault

__all__ = ["DEMO_COLUMNS", "CountingJudge", "JudgedDemoRun", "run_demo"]

_FOLDERS = {"scripted": ("scripted", "good", 1.0), "scripted-wrong": ("scripted", FIRST_WRONG, 0.0),
            "do-nothing": ("do-nothing", "good", 0.0)}  # fmt: skip
"""Run folder to agent, solution and the score all must get."""


_AUDIT = 0.5
"""The share of the right solutions the judge is shown."""


DEMO_COLUMNS = {
    "run": "run",
    "tasks": "tasks",
    "succeeded": "score 1",
    "failed": "score 0",
    "not_scored": "no score",
    "judged": "judged",
    "seconds": "seconds",
    "folder": "run folder",
}
"""Fields of `JudgedDemoRun` to the headers of their columns."""


class JudgedDemoRun(DemoRun):
    """How one run of the demo did; two of them are of the same agent."""

    run: str
    judged: int


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
    out: Path,
    *,
    progress: Progress,
    judge: Judge | None = None,
    workers: int = 2,
    faults: Sequence[AppFault] = (),
) -> list[JudgedDemoRun]:
    """Run the demo into folders of `out` and say how it did; unfinished runs are continued.

    Args:
        out: Holds `scripted/`, `scripted-wrong/` and `do-nothing/` afterwards.
        progress: Is told what happens.
        judge: Shown half of what the first run passes; by default one that only looks whether any app
            has changed.
        workers: Trials at once.
        faults: How the apps misbehave, once for all runs; the demo then tells whether it matters.
    """
    runs = []
    with built_in_world(faults) as world:
        for name, (agent, solution, expected) in _FOLDERS.items():
            tasks = load_tasks("built-in")
            rules = EvaluationRules(judge=judge or CountingJudge(), audit=_AUDIT)
            benchmark = MultiRealBenchmark(
                tasks,
                origins=world.urls,
                rules=rules if name == "scripted" else None,
                settings=EnvironmentSettings(track=False),
            )
            surroundings = Surroundings(
                progress=progress,
                provenance=provenance(task_set_hash(tasks)),
                locks=NoLocks(),
            )
            spec = _spec(agent, solution, workers)
            outcome = run_benchmark_sync(
                benchmark, spec, out / name, surroundings=surroundings, guard=True
            )
            judged = _judged(out / name)
            runs.append(
                JudgedDemoRun.of(agent, outcome, expected=expected, run=name, judged=judged)
            )
            if runs[-1].stopped:
                break
    return runs


def _spec(agent: str, solution: str, workers: int) -> RunSpec:
    return RunSpec(
        tasks=TaskFilter(),
        agent=agent,
        workers=workers,
        world="built-in",
        limits=Limits(max_steps=60, time_limit_s=120),
        timeouts=Timeouts(evaluation_grace_s=240),
        config={"solution": solution},
    )


def _judged(folder: Path) -> int:
    return sum("judge" in result.details for result in read_run(folder).results.values())
