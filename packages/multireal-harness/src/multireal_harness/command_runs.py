"""What the commands `run`, `rescore` and `demo` do once their options are parsed."""

from __future__ import annotations

import asyncio
import os
from dataclasses import replace
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any

import click

from bench_core import exit_codes
from bench_core.cli import execute_demo, execute_rescore, execute_run, render_table, run_spec
from bench_core.discovery import load_agent
from bench_core.errors import InputError
from bench_core.planning import TaskFilter, Timeouts, select_tasks
from bench_core.records import Limits
from bench_core.scheduling.machine_locks import NoLocks
from multireal_harness.agents.loading import OWN_AGENTS, Settings, solution_for
from multireal_harness.benchmark import MultiRealBenchmark
from multireal_harness.browsers import Browsers, BrowserSettings
from multireal_harness.evaluation import EvaluationRules
from multireal_harness.generating import harvest, known_tasks
from multireal_harness.models import load_config
from multireal_harness.preflight import check_apps, origins_of, preflight, reachable_tasks
from multireal_harness.provenance import provenance
from multireal_harness.tasks import load_tasks, resolve_tasks_dir, task_set_hash
from multireal_harness.trial import TrialSettings
from multireal_harness.worlds import built_in_world

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from bench_core.planning import RunSpec
    from bench_core.protocols import TrialContext
    from bench_core.records import Task
    from multireal_harness.generating import Kept
    from multireal_harness.models import ModelConfig

__all__ = [
    "DEFAULT_LIMITS",
    "demo_from_options",
    "generate_from_options",
    "rescore_from_options",
    "run_from_options",
]

_INLINE_KEY = "MULTIREAL_INLINE_API_KEY"

DEFAULT_LIMITS = Limits(max_steps=50, time_limit_s=600)
"""The same budget for every agent, where neither options nor the model's config say otherwise."""


def run_from_options(options: dict[str, Any]) -> None:
    """Do what `multireal-harness run` does."""
    if options["world"] == "built-in":
        with built_in_world() as world:
            _run(options, world.urls)
    else:
        _run(options, {})


def rescore_from_options(
    run_folder: Path, name: str | None, options: dict[str, Any], *, as_json: bool
) -> None:
    """Do what `multireal-harness rescore` does."""
    rules = _rules(options)
    benchmark = MultiRealBenchmark([], rules=rules)
    execute_rescore(
        benchmark, run_folder, name=name, profile=rules.profile, workers=4, as_json=as_json
    )


def demo_from_options(options: dict[str, Any]) -> None:
    """Do what `multireal-harness demo` does."""
    from multireal_harness.demo import DEMO_COLUMNS, run_demo  # noqa: PLC0415  # only here

    out, workers, judge = options["out"], options["workers"], _judge(options)
    execute_demo(
        lambda progress: run_demo(out, progress=progress, judge=judge, workers=workers),
        as_json=options["as_json"],
        columns=DEMO_COLUMNS,
    )


def generate_from_options(known: Sequence[Task], options: dict[str, Any]) -> None:
    """Do what `multireal-harness generate-ground-truth` does."""
    truth: Path = options.pop("truth")
    done = known_tasks(truth, force=options.pop("force"))
    wanted = options["ids"] or [task.task_id for task in known]
    ids = tuple(each for each in wanted if each.removeprefix("multi.") not in done)
    if not ids:
        click.echo(f"All {len(wanted)} tasks have ground truth in {truth}; --force makes it anew.")
        return
    threshold = options.pop("threshold")
    rules = {"no_hybrid": False, "audit_passes": 1.0, "queries": "original", "match": "equals"}
    out = options["out"] or truth / "runs" / f"{datetime.now(timezone.utc):%Y%m%dT%H%M%SZ}"
    code = exit_codes.OK
    try:
        run_from_options({**options, **rules, "ids": ids, "out": out})
    except click.exceptions.Exit as left:  # what was finished is kept all the same
        code = left.exit_code
    if options["dry_run"]:
        return
    kept = harvest(out, truth, threshold=threshold)
    click.echo(_kept_text(kept, truth))
    if code:
        raise click.exceptions.Exit(code)


def _kept_text(kept: Sequence[Kept], truth: Path) -> str:
    rows = [
        (each.task_id, "kept" if each.kept else "not kept", each.negatives, each.reason)
        for each in kept
    ]
    table = render_table(("task", "state", "negatives", "why not"), rows)
    number = sum(each.kept for each in kept)
    return f"\n{table}\n\n{number} of {len(kept)} end states kept in {truth / 'synthetic'}"


def _run(options: dict[str, Any], origins: Mapping[str, str]) -> None:
    known = load_tasks(resolve_tasks_dir(options["tasks_dir"]))
    config = load_config(options["model"], options["models_dir"]) if options["model"] else None
    _announce(config)
    options = _completed(options, config)
    rules = _rules(options)
    browser = BrowserSettings(
        headless=not options["no_headless"],
        locale=options["locale"],
        timezone=options["timezone"],
    )
    settings = TrialSettings(track=options["world"] == "real")
    spec = _spec(options, config, rules, browser, settings)
    tasks: Sequence[Task] = known
    if not options["dry_run"]:
        _refuse_unusable_agent(spec, options, config)
        tasks, spec = _checked(known, spec, options, origins)
    benchmark = MultiRealBenchmark(
        tasks,
        origins=origins,
        rules=rules,
        seat_for=_settings(options, config, browser).seat_for,
        browsers=Browsers(browser),
        settings=settings,
    )
    execute_run(
        benchmark,
        spec,
        options,
        provenance=provenance(task_set_hash(known)),
        price_of=_price_of(config),
        locks=NoLocks(),
    )


def _completed(options: dict[str, Any], config: ModelConfig | None) -> dict[str, Any]:
    """Fill in what the model's config says, and the budget all agents share."""
    limits = config.limits if config else Limits()
    agent = options["agent"] or (config.agent if config else None)
    if agent is None:
        raise InputError(
            "who works on the tasks? Pass --model NAME (its config names the agent), or --agent "
            f"with one of {', '.join(OWN_AGENTS)}, an installed plugin or module:Class"
        )
    return {
        **options,
        "agent": agent,
        "max_steps": options["max_steps"] or limits.max_steps or DEFAULT_LIMITS.max_steps,
        "time_limit": options["time_limit"] or limits.time_limit_s or DEFAULT_LIMITS.time_limit_s,
        "model": config.model if config else None,
    }


def _spec(
    options: dict[str, Any],
    config: ModelConfig | None,
    rules: EvaluationRules,
    browser: BrowserSettings,
    settings: TrialSettings,
) -> RunSpec:
    recorded: dict[str, Any] = {"browser": browser.public(), "app_config": dict(settings.config)}
    if config is not None:
        recorded["model_config"] = config.public()
    if rules.judge is not None:
        recorded["judge"] = {"name": rules.judge.name, "model": options["judge_model"]}
        recorded["audit_passes"] = rules.audit
    if options["agent"] == "scripted":
        recorded["solution"] = options["solution"]
    spec = run_spec(options, world=options["world"], profile=rules.profile, config=recorded)
    grace = 120.0 + settings.capture.longest_s
    return spec.model_copy(update={"timeouts": Timeouts(evaluation_grace_s=grace)})


def _checked(
    known: Sequence[Task], spec: RunSpec, options: dict[str, Any], origins: Mapping[str, str]
) -> tuple[Sequence[Task], RunSpec]:
    """Refuse what would fail in every trial, warn of apps that do not answer.

    Tasks of such apps are left out where that is wanted.
    """
    chosen = select_tasks(known, spec.tasks, spec.seed)
    if spec.agent == "scripted":
        for task in chosen:
            solution_for(task, options["solution"])
    if options["skip_unreachable"]:
        statuses = asyncio.run(check_apps(origins_of(chosen, origins)))
        down = [each.app for each in statuses if each.fault]
        left = reachable_tasks(chosen, down)
        if down:
            click.echo(
                f"Warning: {len(chosen) - len(left)} tasks are left out: {', '.join(down)} do not "
                "answer",
                err=True,
            )
            chosen = left
            spec = spec.model_copy(
                update={"tasks": TaskFilter(ids=tuple(each.task_id for each in left))}
            )
    for warning in preflight(chosen, origins):
        click.echo(f"Warning: {warning}", err=True)
    return known, spec


def _settings(
    options: dict[str, Any], config: ModelConfig | None, browser: BrowserSettings
) -> Settings:
    settings = Settings(viewport=browser.viewport, solution=options["solution"])
    if config is None:
        return settings

    def open_model(context: TrialContext) -> Any:
        return config.open(context, allow_mismatch=options["allow_model_mismatch"])

    return replace(
        settings, open_model=open_model, computer_tool=config.computer_tool, images=config.images
    )


def _refuse_unusable_agent(
    spec: RunSpec, options: dict[str, Any], config: ModelConfig | None
) -> None:
    if spec.agent == "scripted" and options["world"] != "built-in":
        raise InputError("the agent 'scripted' knows the built-in tasks only: add --world built-in")
    if spec.agent in {"browser-use", "tool-calling", "computer-use"}:
        if config is None:
            raise InputError(f"the agent {spec.agent!r} needs a model: pass --model NAME")
        config.open()  # without a key or an SDK every trial would fail
    if spec.agent not in OWN_AGENTS:
        load_agent(spec.agent)


def _rules(options: dict[str, Any]) -> EvaluationRules:
    return EvaluationRules(
        queries=options["queries"],
        match=options["match"],
        judge=None if options["no_hybrid"] else _judge(options),
        audit=options["audit_passes"],
        keep_judgements=not options["no_hybrid"],
    )


def _judge(options: dict[str, Any]) -> Any:
    if options["judge"] is None:
        return None
    from multireal_harness.judges import load_judge  # noqa: PLC0415  # only where one is asked for

    return load_judge(options["judge"], options["judge_model"])


def _announce(config: ModelConfig | None) -> None:
    if config is not None and config.api_key is not None:
        # where every part of the run looks for what it must not write
        os.environ[_INLINE_KEY] = config.api_key
        click.echo(
            f"Warning: the model config {config.name!r} holds its key in the file; it is redacted "
            "everywhere, but put it into a variable named by api_key_env",
            err=True,
        )
    if config is not None and config.note:
        click.echo(f"Note: {config.name}: {config.note}", err=True)


def _price_of(config: ModelConfig | None) -> Any:
    from bench_core.models.prices import price_row  # noqa: PLC0415  # only where a model runs

    def price_of(model: str) -> object | None:
        if config is not None and config.prices:
            return {"model": config.model, **config.public()}
        return price_row(model)

    return price_of
