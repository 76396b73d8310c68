"""Windows Agent Arena as Proctor's benchmark: its tasks, one trial, and scoring it again."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from bench_core.artifacts import read_json
from bench_core.errors import EvaluationError, InputError
from bench_core.redaction import Redactor
from waa_client.agents.loading import load_agent
from waa_client.evaluation import EvaluationClient
from waa_client.pace import RealClock
from waa_client.results import rescored, trial_result
from waa_client.settings import WaaSettings
from waa_client.tasks import BENCHMARK, load_tasks
from waa_client.trial import HISTORY, TRANSCRIPT, WaaTrial
from waa_client.vm import VmOptions

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from bench_core.protocols import Agent, TrialContext
    from bench_core.records import Task, TrialResult
    from waa_client.agents.loading import DesktopAgent
    from waa_client.demonstrations import Demonstrations
    from waa_client.pace import Clock
    from waa_client.pool import VmPool

__all__ = ["WaaBenchmark"]


class WaaBenchmark:
    """The tasks of Windows Agent Arena on a pool of VMs.

    Args:
        tasks: What can be run; by default the files in `$WAA_TASKS`.
        pool: The VMs.
        settings: Evaluators, reset, set-up.
        demonstrations: Shown to agents.
        agent_for: Makes a new agent for each trial from its name.
        options: How VMs are called.
        clock: Sleeps; one that only counts makes vanilla's pace measurable without waiting for it.
        redactor: Knows the keys that must not reach the disk.
    """

    name = BENCHMARK

    def __init__(  # noqa: PLR0913  # one collaborator each, all named
        self,
        tasks: Sequence[Task] | None = None,
        *,
        pool: VmPool | None = None,
        settings: WaaSettings | None = None,
        demonstrations: Demonstrations | None = None,
        agent_for: Callable[[str], Agent | DesktopAgent] = load_agent,
        options: VmOptions | None = None,
        clock: Clock | None = None,
        redactor: Redactor | None = None,
    ) -> None:
        self._tasks = tasks
        self._pool = pool
        self._settings = settings or WaaSettings()
        self._demonstrations = demonstrations
        self._agent_for = agent_for
        self._options = options or VmOptions()
        self._clock = clock or RealClock()
        self._redactor = redactor or Redactor.from_environment()
        self._evaluators = _paired(pool.urls if pool else (), self._settings.evaluators)

    def tasks(self) -> Sequence[Task]:
        """Return the tasks in a stable order."""
        if self._tasks is None:
            self._tasks = load_tasks()
        return self._tasks

    async def run_trial(self, task: Task, context: TrialContext) -> TrialResult:
        """Run one attempt at `task` on a free VM and score it through its evaluator.

        Raises:
            EnvironmentFaultError: The VM, the evaluator or the model provider failed.
            EvaluationError: The evaluator refuses the task.
            BudgetExceededError: The run's budget is spent.
        """
        if self._pool is None:
            raise InputError("no VM is given: pass --vm URL[,URL...]")
        agent = self._agent_for(context.agent)
        async with self._pool.lease() as url:
            began = time.monotonic()
            trial = WaaTrial(
                task,
                agent,
                context,
                url=url,
                evaluator=self._evaluators.get(url),
                settings=self._settings,
                clock=self._clock,
                redactor=self._redactor,
                options=self._options,
                demonstration=self._demonstrations.find(task) if self._demonstrations else None,
            )
            outcome, verdict = await trial.run()
            return trial_result(trial, outcome, verdict, began)

    async def rescore(self, task: Task, result: TrialResult, folder: Path) -> TrialResult:
        """Score a finished trial again from its transcript; no VM is asked anything.

        Raises:
            EvaluationError: The trial left no transcript, or the evaluator cannot decide from it.
            EnvironmentFaultError: The evaluator does not answer.
        """
        if not self._settings.evaluators:
            raise InputError("rescoring asks an evaluator: pass --evaluate URL")
        try:
            history, transcript = read_json(folder / HISTORY), read_json(folder / TRANSCRIPT)
        except FileNotFoundError as error:
            raise EvaluationError(f"the trial stored no {error.filename}") from error
        async with EvaluationClient(self._settings.evaluators[0]) as evaluator:
            verdict = await evaluator.rescore(task.config, history, transcript)
        return rescored(result, verdict)


def _paired(urls: Sequence[str], evaluators: Sequence[str]) -> dict[str, str]:
    """Return the evaluator of each VM: one evaluator looks at one VM.

    Raises:
        InputError: They do not pair up.
    """
    if urls and evaluators and len(evaluators) != len(urls):
        raise InputError(
            f"{len(urls)} VMs need {len(urls)} evaluators in the same order, got {len(evaluators)}: "
            f"each evaluator looks at one VM"
        )
    return dict(zip(urls, evaluators, strict=False))
