"""The calls behind the `run` command, which run an agent on tasks into a run folder."""

from __future__ import annotations

import asyncio
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from bench_core.models import price_row
from bench_core.runs import PreparedRun, RunEnvironment, run_prepared
from bench_core.scheduling import FileLocks, NoLocks
from bench_core.workers import Recipe
from webarena_runner.benchmark import WebArenaBenchmark
from webarena_runner.capacity import default_workers
from webarena_runner.environment import EnvironmentSettings
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

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from bench_core.progress import Progress
    from bench_core.runs import RunOutcome
    from webarena_runner.options import WebArenaRunOptions
    from webarena_runner.world.launch import Environment

__all__ = ["prepare", "prepare_in_worker", "prepare_sessions", "run"]


def run(options: WebArenaRunOptions, *, progress: Progress | None = None) -> RunOutcome:
    """Run an agent on tasks, or continue the run, as `webarena-runner run` does.

    Raises:
        InputError: The options contradict each other, or name what does not exist.
    """
    return run_prepared(prepare, options, progress=progress)


@contextmanager
def prepare(
    options: WebArenaRunOptions,
    begins: bool,  # noqa: FBT001  # see Prepare
    make: type[WebArenaBenchmark] = WebArenaBenchmark,
) -> Iterator[PreparedRun]:
    """Prepare the run that `options` ask for; see `bench_core.runs.prepare.Prepare`.

    Args:
        options: What is asked for.
        begins: Whether the run begins, so that sites may be reset.
        make: The benchmark's class, where it is one of another's built on ours.
    """
    with _prepared(options, begins=begins, make=make) as ready:
        yield ready


@contextmanager
def _prepared(
    options: WebArenaRunOptions,
    *,
    begins: bool,
    checked: bool = True,
    make: type[WebArenaBenchmark] = WebArenaBenchmark,
) -> Iterator[PreparedRun]:
    chosen = options.with_ids(load_tasks())
    chosen = chosen.model_copy(update={"workers": chosen.workers or default_workers()})
    built_in = chosen.world == "built-in"
    with (
        _on_built_in(chosen, checked=checked)
        if built_in
        else _on_real(chosen, make, begins=begins, checked=checked) as ready
    ):
        yield ready


@contextmanager
def prepare_in_worker(options: Mapping[str, Any], begins: bool) -> Iterator[PreparedRun]:  # noqa: FBT001  # see Prepare
    """Prepare a worker's part of a run by the options of `webarena-runner run`; see `bench_core.workers`.

    Raises:
        InputError: They do not exist or do not fit each other.
    """
    from webarena_runner.options import WebArenaRunOptions  # noqa: PLC0415  # only they read them here

    asked = WebArenaRunOptions.from_mapping(options)
    with _prepared(asked, begins=begins, checked=begins) as ready:
        yield ready


@contextmanager
def prepare_sessions(options: Mapping[str, Any], begins: bool) -> Iterator[PreparedRun]:  # noqa: FBT001  # see Prepare
    """Prepare a session as a worker's part of a run, with a browser that is kept; see `bench_core.sessions`.

    Raises:
        InputError: The options do not exist or do not fit each other.
    """
    with prepare_in_worker(options, begins) as ready:
        if isinstance(ready.benchmark, WebArenaBenchmark):
            ready.benchmark.keep_browser()
        yield ready


@contextmanager
def _on_real(
    options: WebArenaRunOptions, make: type[WebArenaBenchmark], *, begins: bool, checked: bool
) -> Iterator[PreparedRun]:
    environment = real_environment(options.config_file, options.host)
    spec = options.spec(config={**_site_config(options, environment), **options.agent_config()})
    out = options.folder(BENCHMARK, spec)
    environment, resets = with_resets(environment, options.resets, options.reset_batch, out)
    warnings: list[str] = []
    if checked:
        resets.require_reset_methods(planned_sites(spec))
        warnings = preflight(spec, environment.config)
    if begins:
        asyncio.run(resets.before_run(planned_sites(spec), FileLocks()))
    settings = EnvironmentSettings(auth_folder=options.auth_folder)
    try:
        yield PreparedRun(
            make(environment, settings=settings),
            spec,
            out,
            RunEnvironment(provenance=provenance(), price_of=price_row, recipe=_recipe(options)),
            tuple(warnings),
        )
    finally:
        if begins:
            resets.write()


@contextmanager
def _on_built_in(options: WebArenaRunOptions, *, checked: bool) -> Iterator[PreparedRun]:
    spec = options.spec(world="built-in", config=options.agent_config())
    with built_in_world() as world:
        environment = environment_of(world)
        if checked:
            preflight(spec, environment.config)
        yield PreparedRun(
            WebArenaBenchmark(environment),
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
    """Return what workers prepare their part from; None where only one process can keep the order of resets."""
    if any(not each.endswith(("never", "before-run")) for each in options.resets):
        return None
    # the sites were reset before the run
    given = options.model_copy(update={"resets": ()}).model_dump(mode="json")
    return Recipe(prepare="webarena_runner.runs:prepare_in_worker", options=given)


def _site_config(options: WebArenaRunOptions, environment: Environment) -> dict[str, Any]:
    """Return the run's configuration of the sites, without defaults."""
    config: dict[str, Any] = {"sites": environment.config.public()}
    policies = parse_policies(options.resets, environment.config.sites)
    if chosen := {name: policy for name, policy in policies.items() if policy != "never"}:
        config["resets"] = chosen
        config["reset_batch"] = options.reset_batch
    return config
