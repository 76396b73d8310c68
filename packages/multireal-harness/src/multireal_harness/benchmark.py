"""Multi-REAL as Proctor's benchmark: its tasks, one trial, and scoring it again."""

from __future__ import annotations

import asyncio
import time
from datetime import datetime, timezone
from typing import TYPE_CHECKING

from pydantic import ValidationError

from bench_core.artifacts import FINISH_STATE, TrialArtifacts, read_json
from bench_core.errors import BudgetExceededError, EvaluationError, InputError, RecordError
from bench_core.judging import Verdict
from bench_core.records import AgentOutcome, Status
from bench_core.redaction import Redactor
from bench_core.trial_results import with_steps
from multireal_harness.agents.loading import Settings
from multireal_harness.browsers import Browsers
from multireal_harness.definitions import Definition, definition_of
from multireal_harness.evaluation import JUDGEMENT_FILE, EvaluationRules, Evidence, evaluate
from multireal_harness.health import Window, check_states
from multireal_harness.results import rescored, trial_result
from multireal_harness.tasks import BENCHMARK, load_tasks
from multireal_harness.trial import AppTrial, TrialSettings

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from bench_core.protocols import TrialContext
    from bench_core.records import Task, TrialResult
    from multireal_harness.agents.seating import Seat
    from multireal_harness.evaluation import Evaluation
    from multireal_harness.hybrid import StateHealth

__all__ = ["MultiRealBenchmark"]

_RECORD = "evaluation.json"
_STATE_HEALTH = "state_health.json"


class MultiRealBenchmark:
    """The tasks of one folder, on the apps they name or on others of the same ids.

    Args:
        tasks: The tasks, or the folder they are in; by default what the variable says.
        origins: App id to where it really answers, instead of what the tasks say.
        rules: How end states are scored.
        seat_for: Places an agent, given its name and the trial's context.
        browsers: Lends browsers.
        settings: How apps are opened, and how patient everything around the agent is.
        redactor: Knows the keys that must not reach the disk.
    """

    name = BENCHMARK

    def __init__(  # noqa: PLR0913  # one collaborator each, all with defaults
        self,
        tasks: Sequence[Task] | Path | str | None = None,
        *,
        origins: Mapping[str, str] | None = None,
        rules: EvaluationRules | None = None,
        seat_for: Callable[[TrialContext, Task], Seat] | None = None,
        browsers: Browsers | None = None,
        settings: TrialSettings | None = None,
        redactor: Redactor | None = None,
    ) -> None:
        self._source = tasks
        self._tasks: list[Task] | None = None
        self._origins = dict(origins or {})
        self.rules = rules or EvaluationRules()
        self.browsers = browsers or Browsers()
        self._seat_for = seat_for or Settings(viewport=self.browsers.settings.viewport).seat_for
        self._settings = settings or TrialSettings()
        self._redactor = redactor or Redactor.from_environment()

    def tasks(self) -> Sequence[Task]:
        """Return the tasks in order of their ids."""
        if self._tasks is None:
            given = self._source
            listed = isinstance(given, list | tuple)
            self._tasks = list(given) if listed else load_tasks(given)  # type: ignore[arg-type]
        return self._tasks

    async def run_trial(self, task: Task, context: TrialContext) -> TrialResult:
        """Run one attempt at `task` and score what it left.

        Raises:
            EnvironmentFaultError: An app or Chromium failed before or while the agent worked.
        """
        started, began = datetime.now(timezone.utc), time.monotonic()
        trial = AppTrial(
            task, self._located(task), self._seat_for(context, task), context, self._settings
        )
        outcome = with_steps(await trial.run(self.browsers), context.folder)
        artifacts = TrialArtifacts(context.folder, self._redactor)
        if trial.states:
            await asyncio.to_thread(artifacts.write_state, trial.states)
        window = Window(started_ms=started.timestamp() * 1000, finished_ms=time.time() * 1000)
        health = self._health(trial, window, artifacts)
        evaluation = await self._evaluate(task, context, trial, outcome, health)
        if isinstance(trial.fault, BudgetExceededError):
            outcome = AgentOutcome(status=Status.BUDGET_EXCEEDED, steps=outcome.steps)
        timings = {**trial.timings, "total": time.monotonic() - began}
        return trial_result(
            task, context, trial, outcome, evaluation, started=started, timings_s=timings
        )

    async def rescore(self, task: Task, result: TrialResult, folder: Path) -> TrialResult:
        """Score a finished trial again from its end states, under this benchmark's rules.

        A judgement made before is taken again, unless these rules bring a judge of their own.

        Raises:
            EvaluationError: The states are missing or cannot be read.
        """
        if result.details.get("agent_status") is None:
            raise EvaluationError(
                f"{task.task_id} trial {result.trial} got no further than its start"
            )
        evidence = Evidence(
            states=await asyncio.to_thread(_stored_states, folder, result),
            health=_stored_health(folder, result),
            folder=folder,
            answer=result.details.get("answer"),
            seed=result.trial,
            known=_stored_judgement(folder) if self._takes_old_judgements else None,
        )
        evaluation = await evaluate(task, evidence, self.rules)
        return rescored(result, evaluation, self.rules.profile)

    @property
    def _takes_old_judgements(self) -> bool:
        return self.rules.judge is None and self.rules.keep_judgements

    def _located(self, task: Task) -> Definition:
        """Return the definition with the apps where they really are."""
        definition = definition_of(task)
        sites = tuple(
            site.model_copy(update={"url": self._origins.get(site.id, site.url)})
            for site in definition.sites
        )
        missing = [site.id for site in sites if not site.url.startswith(("http://", "https://"))]
        if missing:
            raise InputError(f"{task.task_id}: the app {missing[0]!r} has no HTTP URL")
        return definition.model_copy(update={"sites": sites})

    def _health(self, trial: AppTrial, window: Window, artifacts: TrialArtifacts) -> StateHealth:
        symptoms = check_states(trial.definition, trial.states, window=window)
        artifacts.write_json(_STATE_HEALTH, [each.model_dump(mode="json") for each in symptoms])
        if trial.closed_by_agent:
            return "suspect"
        if any(capture.error for capture in trial.captures) or not trial.captures:
            return "incomplete"
        return "suspect" if any(each.serious for each in symptoms) else "healthy"

    async def _evaluate(
        self,
        task: Task,
        context: TrialContext,
        trial: AppTrial,
        outcome: AgentOutcome,
        health: StateHealth,
    ) -> Evaluation | None:
        """Score what was left, unless the states or the provider are at fault."""
        unscored = trial.fault is not None or not outcome.status.scored
        if unscored or health == "incomplete":
            return None
        began = time.monotonic()
        evidence = Evidence(
            trial.states,
            health,
            context.folder,
            outcome.answer,
            seed=context.seed,
            meter=context.meter,
        )
        evaluation = await evaluate(task, evidence, self.rules)
        artifacts = TrialArtifacts(context.folder, self._redactor)
        artifacts.write_json(_RECORD, evaluation.model_dump(mode="json"), evidence=True)
        if evaluation.verdict is not None:
            artifacts.write_json(JUDGEMENT_FILE, evaluation.verdict.model_dump(mode="json"))
        trial.timings["evaluation"] = time.monotonic() - began
        return evaluation


def _stored_states(folder: Path, result: TrialResult) -> dict[str, object]:
    if "closed_browser" in result.flags:
        return {}
    try:
        states: dict[str, object] = read_json(folder / FINISH_STATE)
    except (FileNotFoundError, RecordError) as error:
        raise EvaluationError(f"{folder / FINISH_STATE} cannot be read: {error}") from error
    return states


def _stored_health(folder: Path, result: TrialResult) -> StateHealth:
    captures = result.details.get("captures", ())
    if any(isinstance(each, dict) and each.get("error") for each in captures):  # type: ignore[union-attr]
        return "incomplete"
    try:
        symptoms = read_json(folder / _STATE_HEALTH)
    except (FileNotFoundError, RecordError):
        return "suspect"
    return "suspect" if any(each["serious"] for each in symptoms) else "healthy"


def _stored_judgement(folder: Path) -> Verdict | None:
    path = folder / JUDGEMENT_FILE
    if not path.exists():
        return None
    try:
        return Verdict.model_validate(read_json(path))
    except (RecordError, ValidationError) as error:
        raise EvaluationError(f"{path} cannot be read: {error}") from error
