"""From options to a run: what a runner prepares, and the one call that carries it out."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeVar

from bench_core.discovery import load_benchmark
from bench_core.files.temporary import temporary_folder
from bench_core.runs.capacity import Machines
from bench_core.runs.dry_run import RunPlan, plan_run
from bench_core.runs.environment import RunEnvironment
from bench_core.runs.execute import RunOutcome, run_benchmark_sync
from bench_core.runs.opening import check_run
from bench_core.runs.options import RunOptions
from bench_core.runs.placing import placing_for
from bench_core.workers.recipe import Recipe

if TYPE_CHECKING:
    from pathlib import Path

    from bench_core.progress.interface import Progress
    from bench_core.run_spec import RunSpec
    from bench_core.trial import Benchmark

__all__ = ["Prepare", "PreparedRun", "plan_prepared", "prepare_installed", "run_prepared"]

Options = TypeVar("Options", bound=RunOptions)


@dataclass(frozen=True)
class PreparedRun:
    """A run that can begin.

    Attributes:
        out: The run folder.
        warnings: What will go wrong in some of its trials.
    """

    benchmark: Benchmark
    spec: RunSpec
    out: Path
    run_environment: RunEnvironment = RunEnvironment()  # immutable
    warnings: tuple[str, ...] = ()


Prepare = Callable[[Options, bool], AbstractContextManager[PreparedRun]]
"""Prepares the run that options ask for and cleans up after it. The flag says whether it will really begin:
a run that is only planned is checked as well, and changes nothing."""


def run_prepared(
    prepare: Prepare[Options],
    options: Options,
    *,
    progress: Progress | None = None,
    guard: bool = False,
    on_warning: Callable[[str], None] = lambda _: None,
) -> RunOutcome:
    """Run what `options` ask for, or continue the run that is there.

    Args:
        prepare: The runner's part.
        options: What its `run` command takes.
        progress: Receives what happens.
        guard: Own this process; see `run_benchmark`.
        on_warning: Receives each warning before the run begins.

    Raises:
        InputError: The options do not fit each other or what is there.
    """
    # the world of the run puts its temporary files there, too
    scratch = temporary_folder() if guard else nullcontext()
    with scratch, prepare(options, True) as ready:
        for warning in ready.warnings:
            on_warning(warning)
        run_environment = ready.run_environment
        if progress is not None:
            run_environment = replace(run_environment, progress=progress)
        return run_benchmark_sync(
            ready.benchmark, ready.spec, ready.out, run_environment=run_environment, guard=guard
        )


def plan_prepared(
    prepare: Prepare[Options],
    options: Options,
    *,
    on_warning: Callable[[str], None] = lambda _: None,
) -> RunPlan:
    """Return what `run_prepared` would do; no trial is run and nothing is written into its folder.

    Args:
        prepare: The runner's part.
        options: What its `run` command takes.
        on_warning: Receives what the run would warn about.

    Raises:
        InputError: The options do not fit each other or what is there, or the agent or its model cannot be
            used: all that the run would refuse before its first trial.
    """
    with prepare(options, False) as ready:
        for warning in ready.warnings:
            on_warning(warning)
        check_run(ready.benchmark, ready.spec, ready.out, ready.run_environment)
        machines = Machines(
            price=options.machine_price, start_s=60.0 * (options.machine_start_minutes or 0.0)
        )
        minutes = options.trial_minutes
        return plan_run(
            ready.benchmark,
            ready.spec,
            ready.out,
            machines=machines,
            trial_s=None if minutes is None else 60.0 * minutes,
            placing=placing_for(ready.spec, ready.run_environment),
        )


def prepare_installed(name: str) -> Prepare[RunOptions]:
    """Return what prepares runs of any installed benchmark with its own defaults.

    A benchmark whose own `run` command prepares more than this brings that as its `prepare`.

    Args:
        name: The benchmark's, or `module:Class`.

    Raises:
        UnknownPluginError: No installed distribution offers it.
        PluginImportError: It does not import.
        InputError: It is no benchmark, or needs arguments.
    """
    benchmark = load_benchmark(name)
    own: Prepare[RunOptions] | None = getattr(benchmark, "prepare", None)
    if own is not None:
        return own

    @contextmanager
    def prepare(options: RunOptions, begins: bool) -> Iterator[PreparedRun]:
        del begins
        spec = options.spec()
        recipe = Recipe(prepare="bench_core.runs.in_worker:plain", options={"benchmark": name})
        with_ = RunEnvironment(recipe=recipe)
        yield PreparedRun(benchmark, spec, options.folder(benchmark.name, spec), with_)

    return prepare
