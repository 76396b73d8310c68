"""The typed options of the commands: tasks, scoring rules, and settings of a run."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

from pydantic import Field, PositiveFloat, PositiveInt
from typing_extensions import Self

from bench_core.discovery import find_plugins
from bench_core.errors import InputError
from bench_core.protocols import Judge
from bench_core.records import Limits, Record, Task
from bench_core.runs import RunOptions, TaskOptions
from multireal_harness.browsers import BrowserSettings
from multireal_harness.evaluation import EvaluationRules
from multireal_harness.label_files import LabelFiles
from multireal_harness.models import ModelConfig
from multireal_harness.tasks import (
    TaskQuery,
    load_tasks,
    resolve_tasks_dir,
    select_tasks,
)
from multireal_harness.world.faults import AppFault

_JUDGE_SETTINGS = ("second", "base_url", "samples", "claims", "calibration", "max_cost_usd")

DEFAULT_LIMITS = Limits(max_steps=50, time_limit_s=600)
"""The limits of every agent where neither options nor the model's config set others."""


class MultiRealTaskOptions(TaskQuery, TaskOptions):
    """The options that choose tasks: ids, with or without prefix, and the fields of `TaskQuery`.

    Attributes:
        world: With `built-in`, the built-in tasks if no folder is named.
        tasks_dir: Folder of the tasks, `v1`, `v2` or `built-in`; by default that in `MULTIREAL_TASKS_DIR`.
    """

    world: Literal["real", "built-in"] = "real"
    tasks_dir: str | None = None

    def known(self) -> list[Task]:
        """Return all tasks of the folder, by default the built-in ones on the built-in world."""
        return load_tasks(self.tasks_folder())

    def tasks_folder(self) -> Path:
        """Return the folder of the tasks.

        Raises:
            InputError: None is named, or it does not exist.
        """
        return resolve_tasks_dir(
            self.tasks_dir or ("built-in" if self.world == "built-in" else None)
        )

    def with_ids(self, known: Sequence[Task]) -> Self:
        """Return the options with the full ids of the tasks that the filters and short ids select.

        Raises:
            UnknownTaskError: An id belongs to no task.
            InputError: No task matches.
        """
        if not (self.ids or self.narrows):
            return self
        return self.model_copy(update={"ids": select_tasks(known, self, self.ids)})


class RuleOptions(Record):
    """The options that choose scoring rules and judge.

    Attributes:
        judge: Name of the judge to ask where a query fails; the other `judge_` fields are its options.
        audit_passes: The share of passed tasks that it is also asked about.
        label_budget: The most judged trials that a person will label; they are chosen at the end.
        no_hybrid: Score by queries alone.
    """

    queries: Literal["original", "fixed"] = "original"
    match: Literal["equals", "truthy", "exists", "strict"] = "equals"
    judge: str | None = None
    judge_model: str | None = None
    judge_second: str | None = None
    judge_base_url: str | None = None
    judge_samples: PositiveInt | None = None
    judge_claims: Path | None = None
    judge_calibration: Path | None = None
    judge_max_cost_usd: PositiveFloat | None = None
    audit_passes: float = Field(default=0.0, ge=0, le=1)
    label_budget: PositiveInt | None = None
    no_hybrid: bool = False

    def rules(self) -> EvaluationRules:
        """Return the rules, with the judge loaded."""
        return EvaluationRules(
            queries=self.queries,
            match=self.match,
            judge=None if self.no_hybrid else self.loaded_judge(),
            audit=self.audit_passes,
            keep_judgements=not self.no_hybrid,
        )

    def label_files(self, folder: Path, seed: int = 0) -> LabelFiles | None:
        """Return the files with cases for a person to label in `folder`; None without a budget."""
        if self.label_budget is None:
            return None
        from multireal_harness.label_files import LabelFiles

        return LabelFiles(folder / "labelling", self.label_budget, seed=seed)

    def loaded_judge(self) -> Judge | None:
        """Return the judge, None if none is named."""
        if self.judge is None:
            return None
        from multireal_harness.judge_plugin import load_judge  # only where one is named

        return load_judge(self.judge, self.judge_model, **self.judge_settings())

    def judge_settings(self) -> dict[str, Any]:
        """Return the judge's options other than its model."""
        given = {name: getattr(self, f"judge_{name}") for name in _JUDGE_SETTINGS}
        return {name: value for name, value in given.items() if value is not None}


class MultiRealRunOptions(MultiRealTaskOptions, RuleOptions, RunOptions):
    """The options of `multireal-harness run`; see its `--help`.

    Attributes:
        model: A model config's name, its file, or `provider:model`.
        models_dir: Folder that is searched for model configs first.
        faults: How the built-in apps misbehave.
        solution: The reference solution that the agent `scripted` carries out.
    """

    faults: tuple[AppFault, ...] = ()
    solution: str = "good"
    skip_unreachable: bool = False
    no_headless: bool = False
    locale: str = "en-US"
    timezone: str = "America/Denver"
    models_dir: Path | None = None
    allow_model_mismatch: bool = False

    def browser(self) -> BrowserSettings:
        """Return how browsers are started."""
        return BrowserSettings(
            headless=not self.no_headless, locale=self.locale, timezone=self.timezone
        )

    def completed(self, config: ModelConfig | None) -> Self:
        """Return the options with agent and limits from the model's config, else the default limits.

        Raises:
            InputError: Neither options nor config name an agent.
        """
        limits = config.limits if config else Limits()
        agent = self.agent or (config.agent if config else None)
        if agent is None:
            known = ", ".join(each.name for each in find_plugins("agent"))
            raise InputError(
                "who works on the tasks? Pass --model NAME (its config names the agent), or "
                f"--agent with one of {known}, or module:Class"
            )
        return self.model_copy(
            update={
                "agent": agent,
                "max_steps": self.max_steps or limits.max_steps or DEFAULT_LIMITS.max_steps,
                "time_limit": self.time_limit or limits.time_limit_s or DEFAULT_LIMITS.time_limit_s,
                "model": config.model if config else None,
            }
        )
