"""The demo: runs on the built-in world with right, wrong and no solutions, and a judge."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import ClassVar

from bench_core.progress import Progress
from bench_core.protocols import Judge
from bench_core.records import Limits
from bench_core.records.judge import CriterionVerdict, JudgeCase, Verdict
from bench_core.run_folder import read_json, read_run
from bench_core.run_spec import RunSpec, TaskFilter, Timeouts
from bench_core.runs import DemoRun, RunEnvironment, run_benchmark_sync
from bench_core.scheduling import NoLocks
from multireal_harness.agents.guide import FIRST_WRONG
from multireal_harness.benchmark import MultiRealBenchmark
from multireal_harness.environment import EnvironmentSettings
from multireal_harness.evaluation import EvaluationRules
from multireal_harness.provenance import provenance
from multireal_harness.states.health import has_changes
from multireal_harness.tasks import load_tasks, task_set_hash
from multireal_harness.world.faults import AppFault
from multireal_harness.world.launch import built_in_world

_FOLDERS = {"scripted": ("scripted", "good", 1.0), "scripted-wrong": ("scripted", FIRST_WRONG, 0.0),
            "do-nothing": ("do-nothing", "good", 0.0)}  # fmt: skip
"""Run folder to agent, solution and the score that every trial must get."""


_AUDIT = 0.5
"""The share of passed trials that the judge also gets."""


class JudgedDemoRun(DemoRun):
    """The outcome of one run of the demo; two runs have the same agent."""

    columns: ClassVar[Mapping[str, str]] = {
        "run": "run",
        "tasks": "tasks",
        "succeeded": "score 1",
        "failed": "score 0",
        "not_scored": "no score",
        "judged": "judged",
        "seconds": "seconds",
        "folder": "run folder",
    }

    run: str
    judged: int


class CountingJudge:
    """A judge without a model: it passes if something has changed in one of the apps.

    It stands in for a real judge in the demo. It asks for less than any query, so it fails only trials
    that left nothing. `--judge llm-judge` with a model is a real one.
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
    """Run the demo into folders of `out` and return the outcomes; unfinished runs are continued.

    Args:
        out: Gets `scripted/`, `scripted-wrong/` and `do-nothing/`.
        progress: Receives the events of the runs.
        judge: Gets half of the trials that pass in the first run; by default a `CountingJudge`.
        workers: Trials at once.
        faults: How the apps misbehave, once for all runs; the demo then shows whether it matters.
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
            run_environment = RunEnvironment(
                progress=progress,
                provenance=provenance(task_set_hash(tasks)),
                locks=NoLocks(),
            )
            spec = RunSpec(
                tasks=TaskFilter(),
                agent=agent,
                workers=workers,
                world="built-in",
                limits=Limits(max_steps=60, time_limit_s=120),
                timeouts=Timeouts(evaluation_grace_s=240),
                config={"solution": solution},
            )
            outcome = run_benchmark_sync(
                benchmark, spec, out / name, run_environment=run_environment, guard=True
            )
            results = read_run(out / name).results.values()
            judged = sum("judge" in result.details for result in results)
            runs.append(
                JudgedDemoRun.of(agent, outcome, expected=expected, run=name, judged=judged)
            )
            if runs[-1].stopped:
                break
    return runs
