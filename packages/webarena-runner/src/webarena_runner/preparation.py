"""Preparation of a run from its options: benchmark, spec, folder and sites."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from bench_core.errors import InputError
from bench_core.files import require_memory
from bench_core.models import price_row
from bench_core.runs import PreparedRun, Purpose, RunEnvironment, RunOptions
from bench_core.scheduling import FileLocks, NoLocks
from bench_core.workers import Recipe
from webarena_runner.capacity import default_workers
from webarena_runner.environment import EnvironmentSettings
from webarena_runner.options import WebArenaRunOptions
from webarena_runner.preflight import planned_sites, preflight
from webarena_runner.provenance import provenance
from webarena_runner.reset import parse_policies
from webarena_runner.tasks import BENCHMARK, load_tasks
from webarena_runner.world.launch import (
    built_in_world,
    environment_of,
    real_environment,
    with_resets,
)


@contextmanager
def prepared_run(
    make: Callable[..., Any], given: RunOptions | Mapping[str, Any], purpose: Purpose
) -> Iterator[PreparedRun]:
    """Carry out `WebArenaBenchmark.prepare`, for that class or a subclass.

    Raises:
        InputError: An option does not exist, options contradict each other, or every trial would fail.
    """
    if purpose.checks:
        require_memory()
    chosen = WebArenaRunOptions.from_mapping(given).with_ids(load_tasks())
    chosen = chosen.model_copy(update={"workers": chosen.workers or default_workers()})
    on_sites = _on_built_in if chosen.world == "built-in" else _on_real
    with on_sites(make, chosen, purpose) as ready:
        yield ready


@contextmanager
def _on_real(
    make: Callable[..., Any], options: WebArenaRunOptions, purpose: Purpose
) -> Iterator[PreparedRun]:
    environment = real_environment(options.config_file, options.host)
    # what is the default is left out
    config: dict[str, Any] = {"sites": environment.config.public()}
    policies = parse_policies(options.resets, environment.config.sites)
    if chosen := {name: policy for name, policy in policies.items() if policy != "never"}:
        config |= {"resets": chosen, "reset_batch": options.reset_batch}
    spec = options.spec(config={**config, **options.agent_config()})
    out = options.folder(BENCHMARK, spec)
    environment, resets = with_resets(environment, options.resets, options.reset_batch, out)
    warnings: list[str] = []
    if purpose.checks:
        resets.require_reset_methods(planned_sites(spec))
        warnings = preflight(spec, environment.config)
    if purpose.begins:
        asyncio.run(resets.before_run(planned_sites(spec), FileLocks()))
    if options.auth_folder and any(each.copies for each in environment.config.sites.values()):
        raise InputError(
            "--auth keeps one login for each site, and copies have logins of their own: leave it out"
        )
    benchmark = make(environment, settings=EnvironmentSettings(auth_folder=options.auth_folder))
    if purpose is Purpose.SESSION:
        benchmark.keep_browser()
    try:
        yield PreparedRun(
            benchmark,
            spec,
            out,
            RunEnvironment(provenance=provenance(), price_of=price_row, recipe=_recipe(options)),
            tuple(warnings),
        )
    finally:
        if purpose.begins:
            resets.write()


@contextmanager
def _on_built_in(
    make: Callable[..., Any], options: WebArenaRunOptions, purpose: Purpose
) -> Iterator[PreparedRun]:
    spec = options.spec(world="built-in", config=options.agent_config())
    with built_in_world() as world:
        environment = environment_of(world)
        if purpose.checks:
            preflight(spec, environment.config)
        benchmark = make(environment)
        if purpose is Purpose.SESSION:
            benchmark.keep_browser()
        yield PreparedRun(
            benchmark,
            spec,
            options.folder(BENCHMARK, spec),
            RunEnvironment(
                provenance=provenance(),
                price_of=price_row,
                locks=NoLocks(),
                recipe=_recipe(options),
            ),
        )


def _recipe(options: WebArenaRunOptions) -> Recipe | None:
    """Return the recipe from which workers prepare; None if only one process can keep the order of resets."""
    if any(not each.endswith(("never", "before-run")) for each in options.resets):
        return None
    # the sites were reset before the run
    given = options.model_copy(update={"resets": ()}).model_dump(mode="json")
    return Recipe(prepare="webarena_runner.benchmark:WebArenaBenchmark.prepare", options=given)
