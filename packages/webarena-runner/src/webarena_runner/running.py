"""Whole runs, as the `run` command makes them: typed options in, one call, a run folder out."""

from __future__ import annotations

import asyncio
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from pydantic import PositiveInt

from bench_core.models import price_row
from bench_core.preparing import PreparedRun, run_prepared
from bench_core.run_options import RunOptions, TaskOptions
from bench_core.running import Surroundings
from bench_core.scheduling.machine_locks import FileLocks, NoLocks
from webarena_runner.benchmark import WebArenaBenchmark
from webarena_runner.capacity import default_workers
from webarena_runner.environment import CONTACT_PROBE, EnvironmentSettings
from webarena_runner.preflight import planned_sites, preflight
from webarena_runner.provenance import provenance
from webarena_runner.resets import parse_policies
from webarena_runner.tasks import BENCHMARK, TaskQuery, load_tasks, select_tasks
from webarena_runner.worlds import built_in_world, environment_of, real_environment, with_resets

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from typing_extensions import Self

    from bench_core.progress.interface import Progress
    from bench_core.records import Task
    from bench_core.running import RunOutcome
    from webarena_runner.worlds import Environment

__all__ = ["WebArenaRunOptions", "WebArenaTaskOptions", "prepare", "run"]

_BUILT_IN = "the built-in world"


class WebArenaTaskOptions(TaskOptions):
    """Which tasks; ids may be ranges like `0-50`, the rest is that of `TaskQuery`.

    Attributes:
        world: With `built-in`, only the tasks that its stand-in sites can serve.
    """

    world: Literal["real", "built-in"] = "real"
    sites: tuple[str, ...] = ()
    exact_sites: bool = False
    without_sites: tuple[str, ...] = ()
    types: tuple[str, ...] = ()
    templates: tuple[str, ...] = ()
    hard: bool | None = None

    def with_ids(self, known: Sequence[Task]) -> Self:
        """Return them with the ids that ranges, WebArena's own filters and the world select.

        Raises:
            UnknownTaskError: An id is none of the tasks', or not in the world.
            InputError: No task fits.
        """
        owner = BENCHMARK
        if self.world == "built-in":
            from webarena_runner.world import scripted_task_ids  # noqa: PLC0415  # only for it

            held = set(map(str, scripted_task_ids()))
            known, owner = [task for task in known if task.task_id in held], _BUILT_IN
        query = TaskQuery(
            ids=",".join(self.ids) or None,
            sites=self.sites,
            exact_sites=self.exact_sites,
            without_sites=self.without_sites,
            types=self.types,
            templates=self.templates,
            hard=self.hard,
        )
        if query == TaskQuery() and owner == BENCHMARK:
            return self
        ids = tuple(task.task_id for task in select_tasks(known, query, owner))
        return self.model_copy(update={"ids": ids})


class WebArenaRunOptions(WebArenaTaskOptions, RunOptions):
    """What `webarena-runner run` takes; see its `--help`.

    Attributes:
        workers: By default as many as the machine has room for.
        resets: `[SITE=]POLICY`.
        auth_folder: Where logins are kept.
    """

    agent: str | None = "browser-use"
    config_file: Path | None = None
    host: str | None = None
    resets: tuple[str, ...] = ()
    reset_batch: PositiveInt = 20
    auth_folder: Path | None = None
    restore_contact_probe: bool = False
    chat: Literal["proctor", "browser-use"] = "proctor"
    record_calls: bool = False
    replay_calls: str | None = None
    extract: Literal["rules", "model"] | None = None
    extract_model: str | None = None

    def agent_config(self) -> dict[str, Any]:
        """Return what the run's configuration says of the agent; defaults are left out."""
        config: dict[str, Any] = {CONTACT_PROBE: True} if self.restore_contact_probe else {}
        if self.chat != "proctor":
            config["chat"] = self.chat
        if self.record_calls:
            config["record_calls"] = True
        for name in ("replay_calls", "extract", "extract_model"):
            if value := getattr(self, name):
                config[name] = value
        return config


def run(options: WebArenaRunOptions, *, progress: Progress | None = None) -> RunOutcome:
    """Run an agent on tasks, or continue the run; what `webarena-runner run` does.

    Raises:
        InputError: The options do not fit each other or what is there.
    """
    return run_prepared(prepare, options, progress=progress)


@contextmanager
def prepare(options: WebArenaRunOptions, begins: bool) -> Iterator[PreparedRun]:  # noqa: FBT001  # see Prepare
    """Prepare the run that `options` ask for; see `bench_core.preparing.Prepare`."""
    chosen = options.with_ids(load_tasks())
    chosen = chosen.model_copy(update={"workers": chosen.workers or default_workers()})
    prepared = _on_built_in if chosen.world == "built-in" else _on_real
    with prepared(chosen, begins) as ready:
        yield ready


@contextmanager
def _on_real(options: WebArenaRunOptions, begins: bool) -> Iterator[PreparedRun]:  # noqa: FBT001  # see Prepare
    environment = real_environment(options.config_file, options.host)
    spec = options.spec(config={**_site_config(options, environment), **options.agent_config()})
    out = options.folder(BENCHMARK, spec)
    environment, resets = with_resets(environment, options.resets, options.reset_batch, out)
    warnings: list[str] = []
    if begins:
        resets.require_keepers(planned_sites(spec))
        warnings = preflight(spec, environment.config)
        asyncio.run(resets.before_run(planned_sites(spec), FileLocks()))
    settings = EnvironmentSettings(auth_folder=options.auth_folder)
    try:
        yield PreparedRun(
            WebArenaBenchmark(environment, settings=settings),
            spec,
            out,
            Surroundings(provenance=provenance(), price_of=price_row),
            tuple(warnings),
        )
    finally:
        resets.write()


@contextmanager
def _on_built_in(options: WebArenaRunOptions, begins: bool) -> Iterator[PreparedRun]:  # noqa: FBT001  # see Prepare
    spec = options.spec(world="built-in", config=options.agent_config())
    with built_in_world() as world:
        environment = environment_of(world)
        if begins:
            preflight(spec, environment.config)
        yield PreparedRun(
            WebArenaBenchmark(environment),
            spec,
            options.folder(BENCHMARK, spec),
            Surroundings(provenance=provenance(), price_of=price_row, locks=NoLocks()),
        )


def _site_config(options: WebArenaRunOptions, environment: Environment) -> dict[str, Any]:
    """Return what the run's configuration says of the sites; defaults are left out."""
    config: dict[str, Any] = {"sites": environment.config.public()}
    policies = parse_policies(options.resets, environment.config.sites)
    if chosen := {name: policy for name, policy in policies.items() if policy != "never"}:
        config["resets"] = chosen
        config["reset_batch"] = options.reset_batch
    return config
