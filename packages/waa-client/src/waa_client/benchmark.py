"""Windows Agent Arena as Proctor's benchmark: its tasks, the VM of one trial, and its evaluator."""

from __future__ import annotations

import os
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from bench_core.errors import InputError
from bench_core.redaction import Redactor
from waa_client.environment import Conditions, EnvironmentSettings, open_environment
from waa_client.evaluation import EVALUATORS_VARIABLE, EvaluationClient
from waa_client.pace import RealClock
from waa_client.tasks import BENCHMARK, load_tasks
from waa_client.verdicts import as_evaluation, kept_transcript, kept_verdict, not_evaluated
from waa_client.vm import VmOptions

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence
    from contextlib import AbstractContextManager

    from bench_core.preparing import PreparedRun
    from bench_core.protocols import Agent, TrialContext
    from bench_core.records import Task
    from bench_core.run_options import RunOptions
    from bench_core.trial import Evaluation, Evidence
    from waa_client.demonstrations import Demonstrations
    from waa_client.environment import DesktopEnvironment
    from waa_client.evaluation import Verdict
    from waa_client.pace import Clock
    from waa_client.pool import Machines

__all__ = ["WaaBenchmark"]


class WaaBenchmark:
    """The tasks of Windows Agent Arena on a pool of VMs.

    A run's `timing` is `fast`, which is meant where it is null, or `vanilla`; see `waa_client.pace`.

    Args:
        tasks: What can be run; by default the files in `$WAA_TASKS`.
        pool: Where trials get their VMs.
        settings: Reset, set-up.
        evaluator: Scores finished trials again; by default the first that `$WAA_EVALUATE` names.
        demonstrations: Shown to agents.
        options: How VMs are called.
        clock: Sleeps; one that only counts makes vanilla's pace measurable without waiting for it.
        redactor: Knows the keys that must not reach the disk.
    """

    name = BENCHMARK
    environment = "desktop"

    def __init__(  # noqa: PLR0913  # one collaborator each, all named
        self,
        tasks: Sequence[Task] | None = None,
        *,
        pool: Machines | None = None,
        settings: EnvironmentSettings | None = None,
        evaluator: str | None = None,
        demonstrations: Demonstrations | None = None,
        options: VmOptions | None = None,
        clock: Clock | None = None,
        redactor: Redactor | None = None,
    ) -> None:
        self._tasks = tasks
        self._pool = pool
        self._settings = settings or EnvironmentSettings()
        self._demonstrations = demonstrations
        self._options = options or VmOptions()
        self._clock = clock or RealClock()
        self._redactor = redactor or Redactor.from_environment()
        self._evaluator = evaluator

    def tasks(self) -> Sequence[Task]:
        """Return the tasks in a stable order."""
        if self._tasks is None:
            self._tasks = load_tasks()
        return self._tasks

    @staticmethod
    def prepare(options: RunOptions, begins: bool) -> AbstractContextManager[PreparedRun]:  # noqa: FBT001  # see Prepare
        """Prepare a run as `waa-client run` does: what `bench-core run waa` begins with."""
        from waa_client.running import prepare  # noqa: PLC0415  # stands over this module

        return prepare(options, begins)

    @asynccontextmanager
    async def open(
        self, task: Task, context: TrialContext, agent: Agent
    ) -> AsyncIterator[DesktopEnvironment]:
        """Hold a free VM, reset it and set `task` up.

        Raises:
            EnvironmentFaultError: The VM or the evaluator failed, or the set-up was abandoned.
            EvaluationError: The evaluator refuses the task.
        """
        if self._pool is None:
            raise InputError("no VM is given: pass --vm URL[,URL...]")
        async with self._pool.lease(task) as machine:
            given = Conditions(
                task,
                context,
                agent,
                machine,
                self._settings,
                self._clock,
                self._options,
                self._redactor,
                self._demonstrations.find(task) if self._demonstrations else None,
            )
            async with open_environment(given) as environment:
                yield environment

    async def evaluate(self, evidence: Evidence) -> Evaluation:
        """Score a trial by the verdict it was given; to score it again, ask for another one.

        Raises:
            EvaluationError: The trial left no transcript, or the evaluator cannot decide from it.
            EnvironmentFaultError: The evaluator does not answer.
        """
        fresh = evidence.first is None
        verdict = kept_verdict(evidence.folder) if fresh else await self._asked_again(evidence)
        return not_evaluated() if verdict is None else as_evaluation(verdict, evidence)

    async def _asked_again(self, evidence: Evidence) -> Verdict:
        """Have the transcript evaluated; no VM is asked anything."""
        url = self._evaluator or os.environ.get(EVALUATORS_VARIABLE, "").split(",")[0]
        if not url:
            raise InputError("rescoring asks an evaluator: pass --evaluate URL")
        history, transcript = kept_transcript(evidence.folder)
        async with EvaluationClient(url) as evaluator:
            return await evaluator.rescore(evidence.task.config, history, transcript)
