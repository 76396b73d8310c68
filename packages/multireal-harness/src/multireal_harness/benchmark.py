"""Proctor's benchmark class for Multi-REAL: its tasks, the apps of a trial, their scores."""

from __future__ import annotations

import asyncio
from contextlib import AbstractContextManager, asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bench_core.errors import EvaluationError, InputError
from bench_core.redaction import Redactor
from bench_core.run_folder import FINISH_STATE
from bench_core.trial import Evaluation, Evidence, IntegrityWatch
from multireal_harness.browsers import Browsers
from multireal_harness.definitions import Definition, definition_of
from multireal_harness.each_step import passed_after
from multireal_harness.environment import AppEnvironment, EnvironmentSettings
from multireal_harness.evaluation import EvaluationRules, evaluate, judged_case, unscored
from multireal_harness.results import as_evaluation, evidence_in, keep_evaluation
from multireal_harness.tasks import BENCHMARK, load_tasks
from multireal_harness.unneeded import UNNEEDED, unneeded_changes

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping, Sequence

    from bench_core.cli.doctor import Check
    from bench_core.protocols import Agent, TrialContext
    from bench_core.records import Step, Task, TrialResult
    from bench_core.runs import PreparedRun, Purpose, RunOptions
    from multireal_harness.label_files import LabelFiles

__all__ = ["MultiRealBenchmark"]


class MultiRealBenchmark:
    """The tasks of one folder, on the apps they name or on others of the same ids.

    Args:
        tasks: The tasks, or their folder; by default the folder in `MULTIREAL_TASKS_DIR`.
        origins: App id to the origin that serves it, instead of the URL in the tasks.
        rules: How end states are scored.
        browsers: Opens a browser context for each trial.
        settings: How apps are opened and their states captured.
        redactor: Removes keys from written files.
        labels: Receives the judge's questions and verdicts, for a person to check.
        folder: The folder of the files of `tasks`, hidden from agents.
    """

    name = BENCHMARK
    environment = "browser"

    def __init__(
        self,
        tasks: Sequence[Task] | Path | str | None = None,
        *,
        origins: Mapping[str, str] | None = None,
        rules: EvaluationRules | None = None,
        browsers: Browsers | None = None,
        settings: EnvironmentSettings | None = None,
        redactor: Redactor | None = None,
        labels: LabelFiles | None = None,
        folder: Path | None = None,
    ) -> None:
        self._source = tasks
        self._folder = folder
        self._tasks: list[Task] | None = None
        self._origins = dict(origins or {})
        self.rules = rules or EvaluationRules()
        self.browsers = browsers or Browsers()
        self._settings = settings or EnvironmentSettings()
        self._redactor = redactor or Redactor.from_environment()
        self._labels = labels

    @classmethod
    def prepare(
        cls, options: RunOptions | Mapping[str, Any], purpose: Purpose
    ) -> AbstractContextManager[PreparedRun]:
        """Prepare the run that options of `multireal-harness run` ask for; see `bench_core.runs.Prepare`."""
        from multireal_harness.preparation import prepared_run  # only where a run begins

        return prepared_run(cls, options, purpose)

    @staticmethod
    def doctor(options: Mapping[str, Any]) -> list[Check]:
        """Return the checks for options of `multireal-harness run`; its apps are asked at preparation."""
        from multireal_harness.doctor import checks
        from multireal_harness.options import MultiRealRunOptions

        chosen = MultiRealRunOptions.from_mapping(options)
        return checks(tasks_dir=chosen.tasks_dir, world=chosen.world, apps=False)

    def tasks(self) -> Sequence[Task]:
        """Return the tasks in order of their ids."""
        if self._tasks is None:
            given = self._source
            listed = isinstance(given, list | tuple)
            self._tasks = list(given) if listed else load_tasks(given)  # type: ignore[arg-type]
        return self._tasks

    def answers(self) -> tuple[Path, ...]:
        """Return the folders with expected answers: tasks with their queries, and solutions."""
        world = Path(__file__).parent / "world"
        given = () if self._folder is None else (self._folder,)
        return (world / "tasks", world / "solutions", *given)

    def unscored(self, tasks: Sequence[Task]) -> str | None:
        """Say why some tasks could get no score by the rules; None if all can."""
        return unscored(tasks, self.rules)

    async def close(self) -> None:
        """End the Chromium that trials share, and the judge's connections; the next trial starts others."""
        await self.browsers.close()
        close = getattr(self.rules.judge, "aclose", None)
        if close is not None:
            await close()

    @asynccontextmanager
    async def open(
        self, task: Task, context: TrialContext, agent: Agent
    ) -> AsyncIterator[AppEnvironment]:
        """Open the apps of `task`, one page each.

        An agent in this process acts on a context of the shared Chromium; any other gets a Chromium
        of its own, because it connects by CDP URL.

        Raises:
            EnvironmentFaultError: An app or Chromium failed.
        """
        definition = self._located(task)
        # a CDP URL shows the pages of every context of its Chromium, those of other trials too
        alone = not getattr(agent, "in_process", False)
        origins = [site.origin for site in definition.sites]
        watch = IntegrityWatch(watched=True)
        opened = self.browsers.open_context(
            watch.note_act, alone=alone, origins=origins, hidden=context.hidden
        )
        async with opened as browser:
            environment = AppEnvironment(
                definition,
                browser=browser,
                watch=watch,
                pages=self.browsers.settings,
                settings=self._settings,
                context=context,
                redactor=self._redactor,
            )
            await browser.disarm()  # the harness opens the guarded paths first
            await environment.open()
            yield environment

    async def evaluate(self, evidence: Evidence) -> Evaluation:
        """Score the end states of a trial under this benchmark's rules.

        When a trial is scored again, a judgement made before is taken again, unless these rules
        bring a judge of their own.

        Raises:
            EvaluationError: The states are missing or cannot be read, or the task has eval scripts and is
                not one of this benchmark's.
        """
        self._refuse_foreign_scripts(evidence.task)
        left = await asyncio.to_thread(evidence_in, evidence, self.rules)
        evaluation = await evaluate(evidence.task, left, self.rules)
        # scoring again must not overwrite the run's own files
        if evidence.first is None:
            keep_evaluation(evidence.folder, evaluation, self._redactor)
        if self._labels is not None and evaluation.verdict is not None:
            asked = judged_case(definition_of(evidence.task), left)
            self._labels.add(asked, evaluation.verdict)
        scored = as_evaluation(evaluation, evidence, self.rules)
        if evaluation.score != 1.0:
            return scored
        found, watched = unneeded_changes(definition_of(evidence.task), left.states)
        return replace(
            scored,
            flags=(*scored.flags, *([UNNEEDED] if found else [])),
            details={**scored.details, "unneeded_acts": found, "watched_for": watched},
        )

    step_files = frozenset({FINISH_STATE})

    @property
    def step_rules(self) -> str:
        """The rules by which `passed_after` scores."""
        return f"{self.rules.profile}, states"

    def passed_after(
        self, task: Task, result: TrialResult, folder: Path, steps: Sequence[Step]
    ) -> Sequence[bool | None]:
        """Return whether the apps' states after each step pass the checks of states.

        Raises:
            EvaluationError: The apps are not the built-in ones, or their histories do not show it.
        """
        self._refuse_foreign_scripts(task)
        return passed_after(task, result, folder, steps, self.rules)

    def _refuse_foreign_scripts(self, task: Task) -> None:
        """Raise for a task with scripts that these tasks do not have: a run folder may be a stranger's."""
        if all(one.kind != "script" for one in definition_of(task).evals):
            return
        try:
            known = any(each.config == task.config for each in self.tasks())
        except InputError:  # no folder of tasks is named
            known = False
        if not known:
            raise EvaluationError(
                f"the eval scripts of {task.task_id!r} are not run: they run only from a task set that has the "
                "same task; pass --tasks-dir with the one that the run used"
            )

    def _located(self, task: Task) -> Definition:
        """Return the definition with the URLs at which the apps are served."""
        definition = definition_of(task)
        sites = tuple(
            site.model_copy(update={"url": self._origins.get(site.id, site.url)})
            for site in definition.sites
        )
        missing = [site.id for site in sites if not site.url.startswith(("http://", "https://"))]
        if missing:
            raise InputError(f"{task.task_id}: the app {missing[0]!r} has no HTTP URL")
        return definition.model_copy(update={"sites": sites})
