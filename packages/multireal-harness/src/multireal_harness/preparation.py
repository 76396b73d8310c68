"""Preparation of a run from its options: benchmark, spec, folder and apps."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from functools import partial
from typing import Any

from bench_core.agent_process import agent_of
from bench_core.errors import InputError
from bench_core.files import require_memory
from bench_core.protocols import Judge
from bench_core.records import Task
from bench_core.run_spec import RunSpec, TaskFilter, Timeouts
from bench_core.run_spec import select_tasks as take_tasks
from bench_core.runs import PreparedRun, Purpose, RunEnvironment, RunOptions
from bench_core.scheduling import NoLocks
from bench_core.workers import Recipe
from multireal_harness.agents.guide import solution_for
from multireal_harness.browsers import Browsers
from multireal_harness.environment import EnvironmentSettings
from multireal_harness.evaluation import EvaluationRules
from multireal_harness.label_files import LabelFiles
from multireal_harness.models import ModelConfig
from multireal_harness.options import MultiRealRunOptions
from multireal_harness.preflight import check_apps, origins_of, preflight, reachable_tasks
from multireal_harness.provenance import provenance
from multireal_harness.tasks import BENCHMARK, task_set_hash
from multireal_harness.world.launch import built_in_world

_INLINE_KEY = "MULTIREAL_INLINE_API_KEY"
# agents that drive a model that they do not bring along
_OVER_MODELS = {"browser-use", "tool-calling", "computer-use"}


@contextmanager
def prepared_run(
    make: Callable[..., Any], given: RunOptions | Mapping[str, Any], purpose: Purpose
) -> Iterator[PreparedRun]:
    """Carry out `MultiRealBenchmark.prepare`, for that class or a subclass.

    Raises:
        InputError: An option does not exist, options contradict each other, or every trial would fail.
    """
    if purpose.checks:
        require_memory()
    options = MultiRealRunOptions.from_mapping(given)
    built_in = options.world == "built-in"
    if options.faults and not built_in:
        raise InputError("--fault makes the built-in apps misbehave: add --world built-in")
    known = options.known()
    chosen = options.with_ids(known)
    world = built_in_world(options.faults) if built_in else nullcontext(None)
    with world as apps:
        origins = apps.urls if apps else {}
        ready, labels, judge = _prepared(chosen, known, origins, make, checked=purpose.checks)
        yield ready
    if purpose.begins and labels is not None:
        labels.choose(judge)


def _prepared(
    options: MultiRealRunOptions,
    known: list[Task],
    origins: Mapping[str, str],
    make: Callable[..., Any],
    *,
    checked: bool,
) -> tuple[PreparedRun, LabelFiles | None, Judge | None]:
    # a worker prepares from these, and completes them itself
    before_completion = options
    config = None
    if options.model:
        from multireal_harness.models import load_config  # only where a model runs

        config = load_config(options.model, options.models_dir)
    warnings = _model_notes(config)
    options = options.completed(config)
    rules, settings = options.rules(), EnvironmentSettings(track=options.world == "real")
    spec = _spec(options, config, rules, settings)
    if checked:
        _refuse_unusable_agent(options, config, spec)
        spec, more = _checked(known, spec, options, origins)
        warnings += more
    out = options.folder(BENCHMARK, spec)
    labels = options.label_files(out, spec.seed)
    if labels is not None:
        warnings.append(f"judged trials to label are listed in {labels.folder} at the end")
    benchmark = make(
        known,
        origins=origins,
        rules=rules,
        browsers=Browsers(options.browser()),
        settings=settings,
        folder=options.tasks_folder(),
        labels=labels,
    )
    opener = partial(config.open, allow_mismatch=options.allow_model_mismatch) if config else None
    run_environment = RunEnvironment(
        # no locks: each trial has a browser context of its own, and all state is in it
        provenance=provenance(task_set_hash(known)),
        price_of=partial(_price_of, config),
        locks=NoLocks(),
        open_model=opener,
        upstream=config.upstream if config else None,
        recipe=_recipe(before_completion),
    )
    ready = PreparedRun(benchmark, spec, out, run_environment, tuple(warnings))
    return ready, labels, rules.judge


def _recipe(options: MultiRealRunOptions) -> Recipe | None:
    """Return the recipe from which workers prepare; None if one process collects cases to label."""
    if options.label_budget is not None:
        return None
    given = options.model_dump(mode="json")
    return Recipe(prepare="multireal_harness.benchmark:MultiRealBenchmark.prepare", options=given)


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
    if config is not None and config.api_key_env and not options.model_proxy:
        # an agent in a process of its own has a clean environment: it must be given its model's key by name
        more = (*options.agent_variables, config.api_key_env)
        options = options.model_copy(update={"agent_variables": more})
    spec = options.spec(world=options.world, profile=rules.profile, config=recorded)
    grace = 120.0 + settings.capture.longest_s
    return spec.model_copy(update={"timeouts": Timeouts(evaluation_grace_s=grace)})


def _checked(
    known: Sequence[Task], spec: RunSpec, options: MultiRealRunOptions, origins: Mapping[str, str]
) -> tuple[RunSpec, list[str]]:
    """Refuse a run that would fail in every trial; return warnings about apps that do not answer.

    With `skip_unreachable` the tasks of such apps are left out of the returned spec.
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
        if not spec.agent_process.is_foreign:
            config.open()  # without a key or an SDK every trial would fail
    with agent_of(spec):
        pass  # loading it raises where every trial would


def _model_notes(config: ModelConfig | None) -> list[str]:
    """Return the notes about the model's config that are shown to the user.

    A key in the config is put into the environment on the way, so that redactors know it.
    """
    if config is None:
        return []
    notes = [f"{config.name}: {config.note}"] if config.note else []
    if config.api_key is None:
        return notes
    # redactors read the keys to remove from the environment
    os.environ[_INLINE_KEY] = config.api_key
    exposed = (
        f"the model config {config.name!r} has its key in the file; it is redacted everywhere, "
        "but put it into a variable named by api_key_env"
    )
    return [exposed, *notes]


def _price_of(config: ModelConfig | None, model: str) -> object | None:
    if config is not None and config.prices:
        return {"model": config.model, **config.public()}
    from bench_core.models import price_row  # only where a model runs

    return price_row(model)
