"""WebArena-Verified as Proctor's benchmark: its tasks, one trial, and scoring it again."""

from __future__ import annotations

import asyncio
import time
from datetime import datetime, timezone
from typing import TYPE_CHECKING

from bench_core.discovery import load_agent
from bench_core.errors import BenchError, InputError
from bench_core.redaction import Redactor
from bench_core.trial_results import with_steps
from webarena_runner.answers import read_answer, without_patterns
from webarena_runner.evaluation import RECORD_FILE, evaluate, write_answer, write_config
from webarena_runner.extraction import EXTRACTIONS, by_model, by_rules, needs_extraction
from webarena_runner.results import rescored, trial_result
from webarena_runner.tasks import BENCHMARK, load_tasks, task_sites, task_type
from webarena_runner.trial import CONTACT_PROBE, BrowserTrial, TrialSettings, require_sites
from webarena_runner.trial_log import trial_log
from webarena_runner.worlds import real_environment

if TYPE_CHECKING:
    import logging
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from pydantic import JsonValue

    from bench_core.protocols import Agent, TrialContext
    from bench_core.records import AgentOutcome, Task, TrialResult
    from webarena_runner.config import EnvironmentConfig
    from webarena_runner.evaluation import Evaluation
    from webarena_runner.evaluators import Evaluator
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
        evaluator: Scores; by default the installed webarena-verified.
    """

    name = BENCHMARK

    def __init__(
        self,
        environment: Environment | None = None,
        *,
        agent_for: Callable[[str], Agent] = load_agent,
        settings: TrialSettings | None = None,
        redactor: Redactor | None = None,
        evaluator: Evaluator | None = None,
    ) -> None:
        self._evaluator = evaluator
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
            outcome = await readable(outcome, task.goal, context)
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
        evaluation = await asyncio.to_thread(evaluate, task, folder, self._evaluator)
        return rescored(result, evaluation)

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
        answer = self._redactor.redact_json(outcome.answer, evidence=True)
        write_answer(folder, without_patterns(_parsed(answer)))
        if not outcome.status.scored:
            return None
        began = time.monotonic()
        evaluation = await asyncio.to_thread(evaluate, task, folder, self._evaluator)
        if not evaluation.score:
            # Failing on a site that has gone is not the agent's failure.
            await require_sites(self.environment.config, task_sites(task), self._settings.site_s)
        record = self._redactor.redact(evaluation.model_dump_json(indent=2), evidence=True)
        (folder / RECORD_FILE).write_text(record + "\n", encoding="utf-8")
        timings["evaluation"] = time.monotonic() - began
        return evaluation


async def readable(outcome: AgentOutcome, goal: str, context: TrialContext) -> AgentOutcome:
    """Make a response out of prose where the run asks for it, and say so in the flags.

    Raises:
        ModelError: The model that restates it gave no usable reply.
    """
    way = context.config.get("extract")
    if way not in EXTRACTIONS or not needs_extraction(outcome.answer):
        return outcome
    text = str(outcome.answer)
    answer = by_rules(goal, text) if way == "rules" else await _by_model(goal, text, context)
    details: dict[str, JsonValue] = {**outcome.details, "answer_in_words": text}
    flags = (*outcome.flags, f"answer-extracted-by-{way}")
    return outcome.model_copy(update={"answer": answer, "flags": flags, "details": details})


async def _by_model(goal: str, text: str, context: TrialContext) -> dict[str, JsonValue]:
    from bench_core.models import open_model, published_prices  # noqa: PLC0415  # heavy

    name = context.config.get("extract_model") or context.model
    if not name:
        raise InputError("--extract model needs a model: add --extract-model provider:model")
    async with open_model(str(name), seed=context.seed, prices=published_prices()) as model:
        return await by_model(model, goal, text, meter=context.meter)


def _parsed(answer: JsonValue) -> JsonValue:
    """Return the response inside a text that the evaluator can read, for `without_patterns`."""
    if not isinstance(answer, str):
        return answer
    read = read_answer(answer)
    return read.value if read.problem is None else answer


def _locked_by_url(task: Task, config: EnvironmentConfig) -> Task:
    """Name what a task holds by its sites' origins, so that other sites do not wait for it."""
    resources = tuple(
        held.model_copy(update={"name": f"{held.name}@{config.site(site).origin}"})
        if site in config.sites
        else held
        for site, held in zip(task_sites(task), task.resources, strict=True)
    )
    return task.model_copy(update={"resources": resources})
