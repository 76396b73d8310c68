"""Sample tasks and runs for tests."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from bench_core.records import Task
from bench_core.run_folder import read_run
from bench_core.run_spec import RunSpec
from bench_core.runs import RunEnvironment, run_benchmark_sync
from bench_core.scheduling import Backoff, NoLocks, Policy
from bench_core.trial import AgentLimits
from waa_client.benchmark import WaaBenchmark
from waa_client.environment import EnvironmentSettings
from waa_client.pool import VmPool
from waa_client.vm import VmOptions

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from bench_core.records import TrialResult
    from bench_core.runs import RunOutcome

PATIENCE = AgentLimits(overtime_s=1.0, stop_s=1.0)
QUICK = VmOptions(wait_s=0.01, tries=2, connect_s=10)


def make_task(stem: str = "01-WOS", *, domain: str = "notepad", **config: Any) -> Task:
    definition = {
        "id": stem,
        "instruction": "Write a draft.",
        "config": [],
        "evaluator": {"func": "exact_match"},
        **config,
    }
    return Task(
        benchmark="waa",
        task_id=f"{domain}/{stem}",
        goal=definition["instruction"],
        groups={"domain": (domain,), "app": (domain,)},
        tags=("feasible",),
        config=definition,
    )


class NoSleep:
    """A clock that only counts."""

    def __init__(self) -> None:
        self.slept: list[float] = []

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)

    def now(self) -> float:
        return sum(self.slept)


def script(path: Path, steps: Any) -> str:
    path.write_text(json.dumps(steps), encoding="utf-8")
    return str(path)


def run(
    out: Path,
    tasks: Sequence[Task],
    urls: Sequence[str],
    evaluators: Sequence[str],
    *,
    agent: str = "do-nothing",
    timing: str = "fast",
    config: dict[str, Any] | None = None,
    settings: dict[str, Any] | None = None,
    attempts: int = 1,
    clock: Any = None,
    options: VmOptions = QUICK,
    benchmark: dict[str, Any] | None = None,
    working: Any = None,
    patience: AgentLimits = PATIENCE,
    **spec: Any,
) -> RunOutcome:
    made = WaaBenchmark(
        tasks,
        # a VM that failed rests longer than any test takes
        pool=VmPool(urls, NoLocks(), evaluators=evaluators, rest_s=600.0),
        settings=EnvironmentSettings(**(settings or {})),
        clock=clock or NoSleep(),
        options=options,
        **(benchmark or {}),
    )
    asked = RunSpec(
        agent=agent,
        timing=timing,
        config=config or {},
        attempts=attempts,
        workers=len(urls),
        **spec,
    )
    policy = Policy(workers=len(urls), attempts=attempts, backoff=Backoff(first_s=0.01))
    with_ = RunEnvironment(
        policy=policy,
        agent_for=(lambda *_: working) if working else None,
        agent_limits=patience,
    )
    return run_benchmark_sync(made, asked, out, run_environment=with_)


def only(out: Path) -> TrialResult:
    """Return the one result of a run."""
    (result,) = read_run(out).results.values()
    return result
