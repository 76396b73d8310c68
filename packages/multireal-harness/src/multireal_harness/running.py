"""Whole runs, as the `run` command makes them: typed options in, one call, a run folder out."""

from __future__ import annotations

import asyncio
import os
from contextlib import contextmanager, nullcontext
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from pydantic import Field, PositiveFloat, PositiveInt

from bench_core.agent_process import agent_of
from bench_core.discovery import find_plugins
from bench_core.errors import InputError
from bench_core.planning import TaskFilter, Timeouts
from bench_core.planning import select_tasks as take_tasks
from bench_core.preparing import PreparedRun, run_prepared
from bench_core.records import Limits, Record
from bench_core.run_options import RunOptions, TaskOptions
from bench_core.running import Surroundings
from bench_core.scheduling.machine_locks import NoLocks
from multireal_harness.agents.guide import solution_for
from multireal_harness.benchmark import MultiRealBenchmark
from multireal_harness.browsers import Browsers, BrowserSettings
from multireal_harness.environment import EnvironmentSettings
from multireal_harness.evaluation import EvaluationRules
from multireal_harness.models import load_config
from multireal_harness.preflight import check_apps, origins_of, preflight, reachable_tasks
from multireal_harness.provenance import provenance
from multireal_harness.tasks import (
    BENCHMARK,
    TaskQuery,
    load_tasks,
    resolve_tasks_dir,
    select_tasks,
    task_set_hash,
)
from multireal_harness.world.faults import AppFault
from multireal_harness.worlds import built_in_world

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from typing_extensions import Self

    from bench_core.planning import RunSpec
    from bench_core.progress.interface import Progress
    from bench_core.protocols import Judge
    from bench_core.records import Task
    from bench_core.running import RunOutcome
    from multireal_harness.models import ModelConfig

__all__ = [
    "DEFAULT_LIMITS",
    "MultiRealRunOptions",
    "MultiRealTaskOptions",
    "RuleOptions",
    "prepare",
    "run",
]

_JUDGE_SETTINGS = ("second", "base_url", "samples", "calibration", "max_cost_usd")
_INLINE_KEY = "MULTIREAL_INLINE_API_KEY"
_OVER_MODELS = {"browser-use", "tool-calling", "computer-use"}

DEFAULT_LIMITS = Limits(max_steps=50, time_limit_s=600)
"""The same budget for every agent, where neither options nor the model's config say otherwise."""


class MultiRealTaskOptions(TaskOptions):
    """Which tasks; ids may go without their prefix, the rest is that of `TaskQuery`.

    Attributes:
        tasks_dir: Their folder, `v1`, `v2` or `built-in`; by default what the variable says.
    """

    tasks_dir: str | None = None
    apps: tuple[str, ...] = ()
    min_apps: PositiveInt | None = None
    max_apps: PositiveInt | None = None
    difficulties: tuple[str, ...] = ()

    def known(self) -> list[Task]:
        """Return all tasks of the folder."""
        return load_tasks(resolve_tasks_dir(self.tasks_dir))

    def with_ids(self, known: Sequence[Task]) -> Self:
        """Return them with the ids that REAL's own filters and short spellings select.

        Raises:
            UnknownTaskError: An id is none of the tasks'.
            InputError: No task fits.
        """
        query = TaskQuery(
            apps=self.apps,
            min_apps=self.min_apps,
            max_apps=self.max_apps,
            difficulties=self.difficulties,
        )
        if query == TaskQuery() and not self.ids:
            return self
        return self.model_copy(update={"ids": tuple(select_tasks(known, query, self.ids))})


class RuleOptions(Record):
    """Which rules score, and who judges.

    Attributes:
        judge: Is asked where a query fails; the rest of its fields is what it is made with.
        audit_passes: The share of passed tasks it is also asked about.
        no_hybrid: Let queries alone decide.
    """

    queries: Literal["original", "fixed"] = "original"
    match: Literal["equals", "truthy", "exists", "strict"] = "equals"
    judge: str | None = None
    judge_model: str | None = None
    judge_second: str | None = None
    judge_base_url: str | None = None
    judge_samples: PositiveInt | None = None
    judge_calibration: Path | None = None
    judge_max_cost_usd: PositiveFloat | None = None
    audit_passes: float = Field(default=0.0, ge=0, le=1)
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

    def loaded_judge(self) -> Judge | None:
        """Return the judge, null where none is asked for."""
        if self.judge is None:
            return None
        from multireal_harness.judges import load_judge  # noqa: PLC0415  # only where one is asked for

        return load_judge(self.judge, self.judge_model, **self.judge_settings())

    def judge_settings(self) -> dict[str, Any]:
        """Return what the judge is given beside its model."""
        given = {name: getattr(self, f"judge_{name}") for name in _JUDGE_SETTINGS}
        return {name: value for name, value in given.items() if value is not None}


class MultiRealRunOptions(MultiRealTaskOptions, RuleOptions, RunOptions):
    """What `multireal-harness run` takes; see its `--help`.

    Attributes:
        model: A model config's name, its file, or `provider:model`.
        models_dir: Where to look for model configs first.
        faults: How the built-in apps misbehave.
        solution: Which reference solution `scripted` does.
    """

    world: Literal["real", "built-in"] = "real"
    faults: tuple[AppFault, ...] = ()
    solution: str = "good"
    skip_unreachable: bool = False
    no_headless: bool = False
    locale: str = "en-US"
    timezone: str = "America/Denver"
    models_dir: Path | None = None
    allow_model_mismatch: bool = False

    def known(self) -> list[Task]:
        """Return all tasks of the folder; those of the built-in world where that is run on."""
        folder = self.tasks_dir or ("built-in" if self.world == "built-in" else None)
        return load_tasks(resolve_tasks_dir(folder))

    def browser(self) -> BrowserSettings:
        """Return how browsers are started."""
        return BrowserSettings(
            headless=not self.no_headless, locale=self.locale, timezone=self.timezone
        )

    def completed(self, config: ModelConfig | None) -> Self:
        """Fill in what the model's config says, and the budget all agents share.

        Raises:
            InputError: Neither says who works on the tasks.
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


def run(options: MultiRealRunOptions, *, progress: Progress | None = None) -> RunOutcome:
    """Run an agent on tasks, or continue the run; what `multireal-harness run` does.

    Raises:
        InputError: The options do not fit each other or what is there.
    """
    return run_prepared(prepare, options, progress=progress)


@contextmanager
def prepare(options: MultiRealRunOptions, begins: bool) -> Iterator[PreparedRun]:  # noqa: FBT001  # see Prepare
    """Prepare the run that `options` ask for; see `bench_core.preparing.Prepare`."""
    built_in = options.world == "built-in"
    if options.faults and not built_in:
        raise InputError("--fault makes the built-in apps misbehave: add --world built-in")
    known = options.known()
    chosen = options.with_ids(known)
    world = built_in_world(options.faults) if built_in else nullcontext(None)
    with world as apps:
        yield _prepared(chosen, known, apps.urls if apps else {}, begins=begins)


def _prepared(
    options: MultiRealRunOptions, known: list[Task], origins: Mapping[str, str], *, begins: bool
) -> PreparedRun:
    config = load_config(options.model, options.models_dir) if options.model else None
    warnings = _notes(config)
    options = options.completed(config)
    rules, settings = options.rules(), EnvironmentSettings(track=options.world == "real")
    spec = _spec(options, config, rules, settings)
    if begins:
        _refuse_unusable_agent(options, config, spec)
        spec, more = _checked(known, spec, options, origins)
        warnings += more
    benchmark = MultiRealBenchmark(
        known, origins=origins, rules=rules, browsers=Browsers(options.browser()), settings=settings
    )
    opener = partial(config.open, allow_mismatch=options.allow_model_mismatch) if config else None
    surroundings = Surroundings(
        provenance=provenance(task_set_hash(known)),
        price_of=_price_of(config),
        locks=NoLocks(),
        open_model=opener,
    )
    out = options.folder(BENCHMARK, spec)
    return PreparedRun(benchmark, spec, out, surroundings, tuple(warnings))


def _spec(
    options: MultiRealRunOptions,
    config: ModelConfig | None,
    rules: EvaluationRules,
    settings: EnvironmentSettings,
) -> RunSpec:
    recorded: dict[str, Any] = {
        "browser": options.browser().public(), "app_config": dict(settings.config)
    }  # fmt: skip
    if config is not None:
        recorded["model_config"] = config.public()
        recorded |= config.for_agent()
    if rules.judge is not None:
        own = {name: str(value) for name, value in options.judge_settings().items()}
        recorded["judge"] = {"name": rules.judge.name, "model": options.judge_model, **own}
        recorded["audit_passes"] = rules.audit
    if options.faults:
        recorded["faults"] = [str(each) for each in options.faults]
    if options.agent == "scripted":
        recorded["solution"] = options.solution
    if config is not None and config.api_key_env:
        # an agent in a process of its own gets the key of its model, whatever it is called
        more = (*options.agent_env, config.api_key_env)
        options = options.model_copy(update={"agent_env": more})
    spec = options.spec(world=options.world, profile=rules.profile, config=recorded)
    grace = 120.0 + settings.capture.longest_s
    return spec.model_copy(update={"timeouts": Timeouts(evaluation_grace_s=grace)})


def _checked(
    known: Sequence[Task], spec: RunSpec, options: MultiRealRunOptions, origins: Mapping[str, str]
) -> tuple[RunSpec, list[str]]:
    """Refuse what would fail in every trial, and return warnings of apps that do not answer.

    Tasks of such apps are left out where that is wanted.
    """
    chosen = take_tasks(known, spec.tasks, spec.seed)
    warnings: list[str] = []
    if spec.agent == "scripted":
        for task in chosen:
            solution_for(task.task_id, options.solution)
    if options.skip_unreachable:
        statuses = asyncio.run(check_apps(origins_of(chosen, origins)))
        down = [each.app for each in statuses if each.fault]
        left = reachable_tasks(chosen, down)
        if down:
            number = len(chosen) - len(left)
            warnings.append(f"{number} tasks are left out: {', '.join(down)} do not answer")
            chosen = left
            ids = tuple(each.task_id for each in left)
            spec = spec.model_copy(update={"tasks": TaskFilter(ids=ids)})
    return spec, [*warnings, *preflight(chosen, origins)]


def _refuse_unusable_agent(
    options: MultiRealRunOptions, config: ModelConfig | None, spec: RunSpec
) -> None:
    agent = str(options.agent)
    if agent == "scripted" and options.world != "built-in":
        raise InputError("the agent 'scripted' knows the built-in tasks only: add --world built-in")
    if agent in _OVER_MODELS:
        if config is None:
            raise InputError(f"the agent {agent!r} needs a model: pass --model NAME")
        config.open()  # without a key or an SDK every trial would fail
    with agent_of(spec):
        pass  # one that cannot be loaded is refused


def _notes(config: ModelConfig | None) -> list[str]:
    """Return what a user should know of the model's config."""
    if config is None:
        return []
    notes = [f"{config.name}: {config.note}"] if config.note else []
    if config.api_key is None:
        return notes
    # where every part of the run looks for what it must not write
    os.environ[_INLINE_KEY] = config.api_key
    exposed = (
        f"the model config {config.name!r} holds its key in the file; it is redacted everywhere, "
        "but put it into a variable named by api_key_env"
    )
    return [exposed, *notes]


def _price_of(config: ModelConfig | None) -> Callable[[str], object | None]:
    from bench_core.models.prices import price_row  # noqa: PLC0415  # only where a model runs

    def price_of(model: str) -> object | None:
        if config is not None and config.prices:
            return {"model": config.model, **config.public()}
        return price_row(model)

    return price_of
