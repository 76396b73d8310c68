"""Whole runs, as the `run` command makes them: typed options in, one call, a run folder out."""

from __future__ import annotations

import os
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from pydantic import Field, JsonValue

from bench_core.errors import InputError
from bench_core.models import price_row
from bench_core.preparing import PreparedRun, run_prepared
from bench_core.run_options import RunOptions, TaskOptions
from bench_core.running import Surroundings
from waa_client.benchmark import WaaBenchmark
from waa_client.demonstrations import Demonstrations
from waa_client.desktop import View
from waa_client.environment import EnvironmentSettings
from waa_client.evaluation import EVALUATORS_VARIABLE, evaluator_url
from waa_client.pool import VmPool, vm_urls
from waa_client.preflight import preflight
from waa_client.provenance import provenance
from waa_client.tasks import BENCHMARK, TaskQuery, load_tasks, resolve_task_id, select_tasks
from waa_client.worlds import BuiltInDesktops, built_in_world

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from typing_extensions import Self

    from bench_core.planning import RunSpec
    from bench_core.progress.interface import Progress
    from bench_core.records import Task, World
    from bench_core.running import RunOutcome
    from waa_client.pool import Machines

__all__ = [
    "VMS_VARIABLE",
    "WaaRunOptions",
    "WaaTaskOptions",
    "prepare",
    "run",
]

VMS_VARIABLE = "WAA_VM"
"""Holds the VMs' addresses, with commas, for `bench-core run waa`, which has no option for them."""

_SETUP_AND_EVALUATION_S = 1800.0
_VIEWS = frozenset({"elements", "marks", "tree", "windows"})


class WaaTaskOptions(TaskOptions):
    """Which tasks; ids may be spelled in several ways, the rest is that of `TaskQuery`.

    Attributes:
        world: With `built-in`, those of the simulated desktop where no folder is given.
        tasks_folder: A checkout of WindowsAgentArena, or a folder with `examples/`.
        index: Only the tasks of this index.
    """

    world: Literal["real", "built-in"] = "real"
    tasks_folder: Path | None = None
    index: str | None = None
    variant: Literal["normal", "hard"] = "normal"
    domains: tuple[str, ...] = ()
    apps: tuple[str, ...] = ()
    infeasible: bool | None = None
    network: bool | None = None

    def known(self) -> tuple[Task, ...]:
        """Return all tasks of the folder.

        Raises:
            UnknownPluginError: No simulated desktop is installed.
            InputError: There are no task files.
        """
        folder = self.tasks_folder
        if folder is None and self.world == "built-in":
            folder = built_in_world().tasks_folder()
        return load_tasks(folder, index=self.index, variant=self.variant)

    def with_ids(self, known: Sequence[Task]) -> Self:
        """Return them with the ids that spellings and WAA's own filters select.

        Raises:
            UnknownTaskError: An id is none of the tasks'.
            InputError: No task fits.
        """
        query = TaskQuery(**{name: getattr(self, name) for name in TaskQuery.model_fields})
        update: dict[str, tuple[str, ...]] = {
            "skip_ids": tuple(resolve_task_id(each, known) for each in self.skip_ids)
        }
        if query != TaskQuery():
            update["ids"] = tuple(task.task_id for task in select_tasks(known, query))
            if not update["ids"]:
                raise InputError("no task fits all of these filters")
        return self.model_copy(update=update)


class WaaRunOptions(WaaTaskOptions, RunOptions):
    """What `waa-client run` takes; see its `--help`.

    Attributes:
        vms: Addresses; in the built-in world without them, a desktop is made for each trial.
        evaluators: One for each VM in their order; without them nothing is scored.
        timing: How fast trials go; see `waa_client.pace`.
        setup: Who runs the tasks' set-up steps.
        reset_command: Restores a VM before each trial; `{url}` and `{host}` are filled in.
        asset_cache: Keeps downloads of the client's own set-up.
        agent_options: The agent's own.
        observe: What agents are shown; null leaves it to them.
        demo_path: Demonstrations: one for all tasks, or a folder of them.
    """

    agent: str | None = "vision"
    vms: tuple[str, ...] = ()
    evaluators: tuple[str, ...] = ()
    timing: Literal["fast", "vanilla"] = "fast"
    setup: Literal["server", "client"] = "server"
    reset_command: str | None = None
    asset_cache: Path | None = None
    agent_options: dict[str, JsonValue] = Field(default_factory=dict)
    observe: tuple[str, ...] | None = None
    demo_path: Path | None = None

    def urls(self) -> tuple[str, ...]:
        """Return the VMs' base URLs.

        Raises:
            InputError: One is no address, or there twice.
        """
        return vm_urls(",".join(self.vms)) if self.vms else ()

    def evaluator_urls(self) -> tuple[str, ...]:
        """Return the evaluators' base URLs.

        Raises:
            InputError: One is no address.
        """
        return tuple(map(evaluator_url, self.evaluators))

    def settings(self) -> EnvironmentSettings:
        """Return how trials are reset and set up."""
        return EnvironmentSettings(
            reset_command=self.reset_command,
            setup=self.setup,
            asset_cache=str(self.asset_cache) if self.asset_cache else None,
        )

    def demonstrations(self) -> Demonstrations | None:
        """Return what agents are shown of how tasks are done.

        Raises:
            InputError: There is none, or one is not text.
        """
        return Demonstrations(self.demo_path) if self.demo_path else None


def run(options: WaaRunOptions, *, progress: Progress | None = None) -> RunOutcome:
    """Run an agent on tasks, or continue the run; what `waa-client run` does.

    Raises:
        InputError: The options do not fit each other or what is there.
    """
    return run_prepared(prepare, options, progress=progress)


@contextmanager
def prepare(options: RunOptions, begins: bool) -> Iterator[PreparedRun]:  # noqa: FBT001  # see Prepare
    """Prepare the run that `options` ask for; see `bench_core.preparing.Prepare`.

    Options that say nothing of VMs and evaluators leave them to `$WAA_VM` and `$WAA_EVALUATE`.
    """
    asked = options if isinstance(options, WaaRunOptions) else _from_environment(options)
    known = asked.known()
    chosen = asked.with_ids(known)
    demonstrations = chosen.demonstrations()
    spec = _spec(chosen, demonstrations)
    benchmark = WaaBenchmark(
        known,
        pool=_machines(chosen, needed=begins),
        settings=chosen.settings(),
        demonstrations=demonstrations,
    )
    warnings: list[str] = []
    if begins:
        world, warnings = preflight(
            known,
            spec,
            chosen.urls(),
            chosen.evaluator_urls(),
            restored=chosen.reset_command is not None,
        )
        spec = spec.model_copy(update={"world": world})
    yield PreparedRun(
        benchmark,
        spec,
        chosen.folder(BENCHMARK, spec),
        Surroundings(provenance=provenance(), price_of=price_row),
        tuple(warnings),
    )


def _from_environment(options: RunOptions) -> WaaRunOptions:
    """Return the options of any benchmark as this one's, with what variables say."""
    named = {"vms": VMS_VARIABLE, "evaluators": EVALUATORS_VARIABLE}
    given = {
        name: tuple(filter(None, os.environ.get(v, "").split(","))) for name, v in named.items()
    }
    return WaaRunOptions(**dict(options), **given)


def _spec(options: WaaRunOptions, demonstrations: Demonstrations | None) -> RunSpec:
    """Return the spec; what is in its `config` tells one run from another."""
    config: dict[str, Any] = {"setup": options.setup, "variant": options.variant}
    if options.agent_options:
        config["agent_options"] = options.agent_options
    if options.observe is not None:
        config["view"] = _view(options.observe).model_dump(mode="json")
    if demonstrations is not None:
        config["demonstrations"] = demonstrations.sha256
    if options.reset_command:
        config["reset_command"] = options.reset_command
    workers = max(options.workers or 1, len(options.vms))
    world: World = options.world
    spec = options.model_copy(update={"workers": workers}).spec(
        world=world, timing=options.timing, config=config
    )
    # the time limit is the agent's; set-up and evaluation of WAA take minutes of their own
    timeouts = spec.timeouts.model_copy(update={"evaluation_grace_s": _SETUP_AND_EVALUATION_S})
    return spec.model_copy(update={"timeouts": timeouts})


def _machines(options: WaaRunOptions, *, needed: bool) -> Machines | None:
    """Return where trials get their VMs; null where nothing is to run.

    Raises:
        InputError: VMs are missing, or do not go with the other options.
    """
    if options.vms:
        return VmPool(options.urls(), evaluators=options.evaluator_urls())
    if options.world == "built-in":
        for name, given in (
            ("--evaluate", options.evaluators),
            ("--reset-command", options.reset_command),
        ):
            if given:
                raise InputError(
                    f"{name} goes with --vm: --world built-in without it starts a desktop and its "
                    f"evaluator for each trial"
                )
        return BuiltInDesktops()
    if needed:
        raise InputError(
            f"no VM is given: pass --vm URL[,URL...], or --world built-in, or set {VMS_VARIABLE}"
        )
    return None


def _view(wanted: Sequence[str]) -> View:
    shown = {*wanted} - {"none"}
    if unknown := shown - _VIEWS:
        raise InputError(
            f"--observe takes {', '.join(sorted(_VIEWS))} or none, not {min(unknown)!r}"
        )
    return View(**dict.fromkeys(shown, True))
