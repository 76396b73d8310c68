"""Proctor's benchmark class for Windows Agent Arena: its tasks, the VM of a trial, its evaluator."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AbstractContextManager, asynccontextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from bench_core.cli.doctor import Check
from bench_core.errors import EvaluationError, InputError
from bench_core.protocols import Agent, TrialContext
from bench_core.records import SUCCESS_SCORE, Step, Task, TrialResult
from bench_core.redaction import Redactor
from bench_core.runs import PreparedRun, Purpose, RunOptions
from bench_core.trial import Evaluation, Evidence
from waa_client.demonstrations import Demonstrations
from waa_client.environment import (
    Conditions,
    DesktopEnvironment,
    EnvironmentSettings,
    open_environment,
)
from waa_client.evaluation import EVALUATORS_VARIABLE, EvaluationClient, Verdict
from waa_client.pool import VmSource
from waa_client.results import (
    HISTORY,
    STEP_TRANSCRIPTS,
    TRANSCRIPT,
    as_evaluation,
    kept_looks,
    kept_transcript,
    kept_verdict,
    not_evaluated,
)
from waa_client.tasks import BENCHMARK, TASKS_VARIABLE, load_tasks, task_folders
from waa_client.timing import RealClock, SleepClock
from waa_client.vm import VmOptions

__all__ = ["WaaBenchmark"]

_TRIES = 4
"""Few tries when rescoring: if the evaluator does not answer, nothing is lost, and users can start it and ask again."""


class WaaBenchmark:
    """The tasks of Windows Agent Arena on a pool of VMs.

    A run's `timing` is `vanilla` or, by default, `fast`; see `waa_client.timing`.

    Args:
        tasks: The tasks; by default those of the files in `$WAA_TASKS`.
        pool: The source of VMs for trials.
        settings: Settings of reset, setup and evaluation.
        evaluator: URL of the evaluator that rescores; by default the first in `$WAA_EVALUATE`.
        demonstrations: Demonstrations for agents.
        options: How VMs are called.
        clock: The clock for sleeps; one that only counts measures vanilla's sleeps without waiting.
        redactor: Removes keys from written files.
        folder: The folder of the files of `tasks`, which agents must not see.
    """

    name = BENCHMARK
    environment = "desktop"
    agent_options = ("tree_backend",)

    def __init__(
        self,
        tasks: Sequence[Task] | None = None,
        *,
        pool: VmSource | None = None,
        settings: EnvironmentSettings | None = None,
        evaluator: str | None = None,
        demonstrations: Demonstrations | None = None,
        options: VmOptions | None = None,
        clock: SleepClock | None = None,
        redactor: Redactor | None = None,
        folder: Path | None = None,
    ) -> None:
        self._tasks = tasks
        self._folder = folder
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

    def unscored(self, tasks: Sequence[Task]) -> str | None:
        """Say why some tasks could get no score; None if all can, or without VMs."""
        return None if self._pool is None else self._pool.unscored(tasks)

    def answers(self) -> tuple[Path, ...]:
        """Return the folders with expected states: the tasks, and built-in solutions."""
        given = self._folder or os.environ.get(TASKS_VARIABLE)
        tasks = () if given is None else tuple(task_folders(given))
        built_in = find_spec("waa_server_ext")
        places = [] if built_in is None else built_in.submodule_search_locations or []
        return (*tasks, *(Path(each, "built_in") for each in places))

    @classmethod
    def prepare(
        cls, options: RunOptions | Mapping[str, Any], purpose: Purpose
    ) -> AbstractContextManager[PreparedRun]:
        """Prepare a run from the options of `waa-client run`; see `bench_core.runs.Prepare`.

        Options without VMs or evaluators, as those of `bench-core run waa`, use `$WAA_VM` and `$WAA_EVALUATE`.
        """
        from waa_client.preparation import prepared_run  # slow to import, and only runs need it

        return prepared_run(cls, options, purpose)

    @staticmethod
    def doctor(options: Mapping[str, Any]) -> list[Check]:
        """Return the checks for options of `waa-client run`; VMs that are only started later are not contacted."""
        from waa_client.doctor import checks
        from waa_client.preparation import run_options

        chosen = run_options(options)
        if chosen.provided() or chosen.reset_command:
            return [each for each in checks(chosen) if each.name != "VM"]
        vms, evaluators = ",".join(chosen.urls()), ",".join(chosen.evaluator_urls())
        return checks(chosen, vms=vms or None, evaluators=evaluators or None)

    async def close(self) -> None:
        """End the desktops that are kept between trials, if any are."""
        close = getattr(self._pool, "close", None)
        if close is not None:
            await close()

    @asynccontextmanager
    async def open(
        self, task: Task, context: TrialContext, agent: Agent
    ) -> AsyncIterator[DesktopEnvironment]:
        """Take a free VM, reset it and set `task` up.

        Raises:
            EnvironmentFaultError: The VM or the evaluator failed, or the setup was abandoned.
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
        """Score a trial by its stored verdict; when scoring again, ask the evaluator for a new one.

        Raises:
            EvaluationError: The trial has no transcript, or the evaluator cannot decide from it.
            EnvironmentFaultError: The evaluator does not answer.
        """
        fresh = evidence.first is None
        verdict = kept_verdict(evidence.folder) if fresh else await self._asked_again(evidence)
        return not_evaluated() if verdict is None else as_evaluation(verdict, evidence)

    step_rules = "/evaluate after each action"
    step_files = frozenset({HISTORY, TRANSCRIPT, STEP_TRANSCRIPTS})

    def passed_after(
        self, task: Task, result: TrialResult, folder: Path, steps: Sequence[Step]
    ) -> Sequence[bool | None]:
        """Return whether the evaluator accepts the desktop after each step, from the data of `--check-each-step`.

        Raises:
            EvaluationError: The trial has no such data.
            EnvironmentFaultError: The evaluator does not answer.
        """
        del result
        return asyncio.run(self._passed_after(task, folder, steps))

    async def _passed_after(
        self, task: Task, folder: Path, steps: Sequence[Step]
    ) -> list[bool | None]:
        looks = kept_looks(folder)
        history, transcript = kept_transcript(folder)
        found: list[bool | None] = []
        async with EvaluationClient(self._evaluator_url(), tries=_TRIES) as evaluator:

            async def passes(actions: int, calls: Sequence[Any]) -> bool | None:
                try:
                    verdict = await evaluator.rescore(task.config, history[:actions], calls)
                except EvaluationError:
                    return None
                return None if verdict.score is None else verdict.score >= SUCCESS_SCORE

            known: dict[int, bool | None] = {0: None}
            for number, look in enumerate(looks, 1):
                calls = look.get("transcript")
                known[number] = None if calls is None else await passes(look["actions"], calls)
            for after in steps[1:]:
                if after.started is None:
                    raise EvaluationError("the steps have no times")
                found.append(known[sum(each["at"] < after.started for each in looks)])
            # for the last one add how the agent ended, as it was scored
            found.append(await passes(len(history), transcript))
        return found

    def _evaluator_url(self) -> str:
        url = self._evaluator or os.environ.get(EVALUATORS_VARIABLE, "").split(",")[0]
        if not url:
            raise InputError("rescoring asks an evaluator: pass --evaluate URL")
        return url

    async def _asked_again(self, evidence: Evidence) -> Verdict:
        """Have the transcript evaluated, without a VM."""
        history, transcript = kept_transcript(evidence.folder)
        async with EvaluationClient(self._evaluator_url(), tries=_TRIES) as evaluator:
            return await evaluator.rescore(evidence.task.config, history, transcript)
