"""WebArena-Verified as Proctor's benchmark: its tasks, one trial, and scoring it again."""

from __future__ import annotations

import asyncio
import time
from datetime import datetime, timezone
from typing import TYPE_CHECKING

from bench_core.errors import BenchError
from bench_core.redaction import Redactor
from webarena_runner.agents.loading import load_agent
from webarena_runner.evaluation import RECORD_FILE, evaluate, write_answer, write_config
from webarena_runner.results import rescored, trial_result, with_steps
from webarena_runner.tasks import BENCHMARK, load_tasks, task_sites, task_type
from webarena_runner.trial import CONTACT_PROBE, BrowserTrial, TrialSettings, require_sites
from webarena_runner.trial_log import trial_log
from webarena_runner.worlds import real_environment

if TYPE_CHECKING:
    import logging
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from bench_core.protocols import Agent, TrialContext
    from bench_core.records import AgentOutcome, Task, TrialResult
    from webarena_runner.config import EnvironmentConfig
    from webarena_runner.evaluation import Evaluation
    from webarena_runner.worlds import Environment

__all__ = ["WebArenaBenchmark"]

_LOG = "log.txt"


class WebArenaBenchmark:
    """The 812 tasks on one environment.

    Args:
        environment: The sites; by default what the environment variables say.
        agent_for: Makes a new agent for each trial from its name.
        settings: Time limits of the parts around the agent, and Chromium's options.
        redactor: Knows the keys that must not reach the disk.
    """

    name = BENCHMARK

    def __init__(
        self,
        environment: Environment | None = None,
        *,
        agent_for: Callable[[str], Agent] = load_agent,
        settings: TrialSettings | None = None,
        redactor: Redactor | None = None,
    ) -> None:
        self._environment = environment
        self._agent_for = agent_for
        self._settings = settings or TrialSettings()
        self._redactor = redactor or Redactor.from_environment()

    @property
    def environment(self) -> Environment:
        """The sites; read from the variables when none were given."""
        if self._environment is None:
            self._environment = real_environment()
        return self._environment

    def tasks(self) -> Sequence[Task]:
        """Return all 812 tasks in order of their ids."""
        tasks = load_tasks()
        if self._environment is None or not self._environment.shared:
            return tasks
        return [_locked_by_url(task, self._environment.config) for task in tasks]

    async def run_trial(self, task: Task, context: TrialContext) -> TrialResult:
        """Run one attempt at `task` and score it with webarena-verified's evaluator.

        Raises:
            EnvironmentFaultError: A site, Chromium, the recorder or the model provider failed.
            BudgetExceededError: The run's budget is spent.
        """
        started, began = datetime.now(timezone.utc), time.monotonic()
        config = self.environment.config
        reset_s = await self._reset(task)
        trial = BrowserTrial(
            task,
            self._agent_for(context.agent),
            config,
            context,
            self._settings,
            self._redactor,
        )
        write_config(context.folder, config)
        with trial_log(context.folder / _LOG, self._redactor) as log:
            outcome = await self._run(trial, log)
            evaluation = await self._evaluate(task, context.folder, outcome, trial.timings)
        return trial_result(
            task,
            context,
            outcome,
            evaluation,
            started=started,
            browser=trial.browser,
            timings_s={**reset_s, **trial.timings, "total": time.monotonic() - began},
        )

    async def rescore(self, task: Task, result: TrialResult, folder: Path) -> TrialResult:
        """Score a finished trial again from its answer, its traffic and its site list.

        Raises:
            EvaluationError: One of the three is missing.
        """
        return rescored(result, await asyncio.to_thread(evaluate, task, folder))

    async def _reset(self, task: Task) -> dict[str, float]:
        """Put a mutating task's sites back to their first state and return how long it took."""
        if self.environment.reset is None or task_type(task) != "MUTATE":
            return {}
        began = time.monotonic()
        await self.environment.reset(task_sites(task))
        return {"reset": time.monotonic() - began}

    async def _run(self, trial: BrowserTrial, log: logging.Logger) -> AgentOutcome:
        log.info("task %s, trial %s", trial.task.task_id, trial.context.trial)
        try:
            outcome = await trial.run()
        except BenchError as error:
            log.error("%s", error)  # noqa: TRY400  # the scheduler keeps the traceback
            raise
        log.info("the agent ended: %s", outcome.status.value)
        if trial.context.config.get(CONTACT_PROBE):
            outcome = outcome.model_copy(
                update={"flags": (*outcome.flags, "contact-probe-restored")}
            )
        return with_steps(outcome, trial.context.folder)

    async def _evaluate(
        self, task: Task, folder: Path, outcome: AgentOutcome, timings: dict[str, float]
    ) -> Evaluation | None:
        """Score what was left, unless the run's budget ended the trial."""
        write_answer(folder, self._redactor.redact_json(outcome.answer, evidence=True))
        if not outcome.status.scored:
            return None
        began = time.monotonic()
        evaluation = await asyncio.to_thread(evaluate, task, folder)
        if not evaluation.score:
            # Failing on a site that has gone is not the agent's failure.
            await require_sites(self.environment.config, task_sites(task), self._settings.site_s)
        record = self._redactor.redact(evaluation.model_dump_json(indent=2), evidence=True)
        (folder / RECORD_FILE).write_text(record + "\n", encoding="utf-8")
        timings["evaluation"] = time.monotonic() - began
        return evaluation


def _locked_by_url(task: Task, config: EnvironmentConfig) -> Task:
    """Name what a task holds by its sites' origins, so that other sites do not wait for it."""
    resources = tuple(
        held.model_copy(update={"name": f"{held.name}@{config.site(site).origin}"})
        if site in config.sites
        else held
        for site, held in zip(task_sites(task), task.resources, strict=True)
    )
    return task.model_copy(update={"resources": resources})
