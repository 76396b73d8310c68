"""Proctor's benchmark class for WebArena-Verified: its tasks, the sites of a trial, its evaluator."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AbstractContextManager, asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from bench_core.browser import SharedBrowser, require_playwright
from bench_core.cli.doctor import Check
from bench_core.errors import EvaluationError
from bench_core.protocols import Agent, TrialContext
from bench_core.records import Step, Task, TrialResult
from bench_core.redaction import Redactor
from bench_core.runs import PreparedRun, Purpose, RunOptions
from bench_core.trial import Evaluation, Evidence
from webarena_runner.checkers.acts import UNNEEDED, acts_of_trial
from webarena_runner.config import EnvironmentConfig
from webarena_runner.each_step import passed_after
from webarena_runner.environment import (
    RECORDING_FULL,
    Conditions,
    EnvironmentSettings,
    SiteEnvironment,
    open_environment,
)
from webarena_runner.evaluation import (
    ANSWER_FILE,
    CONFIG_FILE,
    HAR_FILE,
    RECORD_FILE,
    evaluate,
    write_config,
)
from webarena_runner.evaluator_loader import evaluator_module
from webarena_runner.evaluators import Evaluator, InstalledEvaluator
from webarena_runner.extraction import Extraction, Restated, restated
from webarena_runner.provenance import provenance
from webarena_runner.results import as_evaluation
from webarena_runner.site_copies import choose_copies, copy_config
from webarena_runner.site_facts import SITE_FACTS
from webarena_runner.tasks import BENCHMARK, dataset_path, load_tasks, task_sites, task_type
from webarena_runner.world.launch import Environment, real_environment

__all__ = ["WebArenaBenchmark"]


class WebArenaBenchmark:
    """The 812 tasks on one set of sites.

    Args:
        sites: The sites; by default those in the environment variables.
        settings: Time limits of the parts around the agent, and Chromium's options.
        redactor: Removes keys from written files.
        evaluator: The evaluator; by default the installed webarena-verified.
        extract: The means of restating endings in another form when a trial is scored again; a run's own
            configuration says it for the run.
    """

    name = BENCHMARK
    environment = "browser"

    def __init__(
        self,
        sites: Environment | None = None,
        *,
        settings: EnvironmentSettings | None = None,
        redactor: Redactor | None = None,
        evaluator: Evaluator | None = None,
        extract: Extraction | None = None,
    ) -> None:
        self._evaluator = evaluator
        self._extract = extract
        self._sites = sites
        self._settings = settings or EnvironmentSettings()
        self._redactor = redactor or Redactor.from_environment()
        self._kept: SharedBrowser | None = None
        self._copies: dict[str, dict[str, int]] | None = None

    @classmethod
    def prepare(
        cls, options: RunOptions | Mapping[str, Any], purpose: Purpose
    ) -> AbstractContextManager[PreparedRun]:
        """Prepare the run that options of `webarena-runner run` ask for; see `bench_core.runs.Prepare`."""
        from webarena_runner.preparation import prepared_run  # only where a run begins

        return prepared_run(cls, options, purpose)

    @staticmethod
    def doctor(options: Mapping[str, Any]) -> list[Check]:
        """Return the checks of the sites that options of `webarena-runner run` name."""
        from webarena_runner.doctor import checks
        from webarena_runner.options import WebArenaRunOptions
        from webarena_runner.preflight import planned_sites

        chosen = WebArenaRunOptions.from_mapping(options).with_ids(load_tasks())
        found = checks(world=chosen.world, config_file=chosen.config_file, host=chosen.host)
        unused = {f"site {name}" for name in SITE_FACTS.keys() - planned_sites(chosen.spec())}
        return [each for each in found if each.name not in unused]

    def unscored(self, tasks: Sequence[Task]) -> str | None:
        """Say why no trial would get a score: the installed webarena-verified does not import."""
        del tasks
        try:  # only the import tells, for 1 to 3 s: a half-installed one is found by its name
            if self._evaluator is None:
                evaluator_module("api")
        except MemoryError:  # which no other installation mends
            raise
        except Exception as error:  # noqa: BLE001  # foreign code: after any exception, nothing can be scored
            kind = type(error).__name__
            return (
                f"no trial would have a score, since webarena-verified does not import ({kind}: {error}): "
                "`pip install --force-reinstall 'webarena-verified>=1.2.3,<1.3'` mends it"
            )
        return None

    def keep_browser(self) -> None:
        """Keep one Chromium for trials that follow one another, each in a fresh context; see `close`.

        Only an agent whose steps Proctor does itself gets a context; any other, a Chromium of its own.
        """
        require_playwright()
        self._kept = self._kept or SharedBrowser()

    async def close(self) -> None:
        """End the Chromium that is kept; the next trial starts another."""
        if self._kept is not None:
            await self._kept.close()

    def config_of(self, task: Task) -> EnvironmentConfig:
        """Return the sites with the copies that a task uses."""
        config = self.sites.config
        if self._copies is None:
            self._copies = choose_copies(load_tasks(), config)
        chosen = self._copies.get(task.task_id)
        return copy_config(config, chosen) if chosen else config

    @property
    def sites(self) -> Environment:
        """The sites; read from the environment variables when none were given."""
        if self._sites is None:
            self._sites = real_environment()
        return self._sites

    def tasks(self) -> Sequence[Task]:
        """Return all 812 tasks in order of their ids."""
        tasks = load_tasks()
        if self._sites is None or not self._sites.shared:
            return tasks
        return [_locked_by_url(task, self.config_of(task)) for task in tasks]

    def answers(self) -> tuple[Path, ...]:
        """Return the folders with expected answers: the dataset, and the reference solutions."""
        return (dataset_path().parent, Path(__file__).parent / "reference_solutions")

    def solutions(self) -> tuple[Path, ...]:
        """Return the folder of the scripts that `scripted` plays."""
        return (Path(__file__).parent / "world" / "scripts",)

    @asynccontextmanager
    async def open(
        self, task: Task, context: TrialContext, agent: Agent
    ) -> AsyncIterator[SiteEnvironment]:
        """Open a fresh browser on the task's sites, logged in and with its traffic recorded.

        Raises:
            EnvironmentFaultError: A site, Chromium or the recorder failed.
        """
        kept = self._kept if getattr(agent, "in_process", False) else None
        config = self.config_of(task)
        reset_s = await self._reset(task)
        # before the agent begins: scoring needs it even where the trial breaks off
        write_config(context.folder, config)
        began, served = time.monotonic(), self.sites.served
        given = Conditions(
            task,
            config,
            context,
            self._settings,
            self._redactor,
            self.sites.ports,
            None if served is None else lambda: served(began),
            kept,
        )
        async with open_environment(given) as environment:
            environment.timings.update(reset_s)
            yield environment

    async def evaluate(self, evidence: Evidence) -> Evaluation:
        """Score a trial from its answer, its traffic and its site list.

        Raises:
            EvaluationError: One of the three is missing, or a success is in doubt because later requests
                are not recorded.
        """
        task, folder = evidence.task, evidence.folder
        again = None if evidence.first is None else await self._restated(evidence)
        instead = None if again is None else again.response
        found = await asyncio.to_thread(evaluate, task, folder, self._evaluator, instead)
        if found.score and RECORDING_FULL in evidence.flags:
            raise EvaluationError(
                "the agent made more requests than are kept: the last may undo it"
            )
        if evidence.first is None:
            record = self._redactor.redact(found.model_dump_json(indent=2), evidence=True)
            (folder / RECORD_FILE).write_text(record + "\n", encoding="utf-8")
        scored = as_evaluation(found, task.task_id, evidence.ending.status, evidence.steps)
        if found.score:
            acts = await asyncio.to_thread(acts_of_trial, task, folder)
            scored = replace(
                scored,
                flags=(*scored.flags, *([UNNEEDED] if acts.found else [])),
                details={
                    **scored.details,
                    "unneeded_acts": acts.found,
                    "watched_for": acts.watched,
                },
            )
        return scored if again is None else replace(scored, flags=(again.flag, *scored.flags))

    @property
    def step_rules(self) -> str:
        """The rules by which `passed_after` scores."""
        version = getattr(self._evaluator, "version", None) or provenance().benchmark_version
        return f"webarena-verified {version}, traffic"

    step_files = frozenset({HAR_FILE, CONFIG_FILE})

    def passed_after(
        self, task: Task, result: TrialResult, folder: Path, steps: Sequence[Step]
    ) -> Sequence[bool | None]:
        """Return whether the traffic up to each step passes the task's checks of traffic.

        Raises:
            EvaluationError: The answer alone decides, or the recording cannot be read.
        """
        found = passed_after(task, folder, steps, self._evaluator or InstalledEvaluator())
        # requests beyond the recording's limit belong to the last step, or to one before it
        return [*found[:-1], None] if RECORDING_FULL in result.flags else found

    async def _restated(self, evidence: Evidence) -> Restated | None:
        stored = evidence.folder / ANSWER_FILE
        if self._extract is None or not stored.is_file():
            return None
        return await restated(
            evidence.ending,
            stored.read_text(encoding="utf-8", errors="replace"),
            evidence.task.goal,
            evidence.context,
            self._extract,
        )

    async def _reset(self, task: Task) -> dict[str, float]:
        """Reset the sites of a mutating task and return how long it took."""
        if self.sites.reset is None or task_type(task) != "MUTATE":
            return {}
        began = time.monotonic()
        await self.sites.reset(task_sites(task), self.config_of(task))
        return {"reset": time.monotonic() - began}


def _locked_by_url(task: Task, config: EnvironmentConfig) -> Task:
    """Return a task with its sites' origins as resources, so it excludes no other deployment's trials."""
    resources = tuple(
        resource.model_copy(update={"name": f"{resource.name}@{config.site(site).origin}"})
        if site in config.sites
        else resource
        for site, resource in zip(task_sites(task), task.resources, strict=True)
    )
    return task.model_copy(update={"resources": resources})
