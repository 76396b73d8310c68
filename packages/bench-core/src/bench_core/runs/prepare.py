"""From options to a run: a runner's preparation, and the one call that carries it out."""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from bench_core.checkers import weak_checkers
from bench_core.discovery import load_benchmark
from bench_core.errors import InputError
from bench_core.files.temporary import temporary_folder
from bench_core.run_spec import select_tasks
from bench_core.runs.environment import RunEnvironment
from bench_core.runs.execute import RunOutcome, bounded_loop, run_benchmark
from bench_core.runs.opening import check_run
from bench_core.runs.options import RunOptions
from bench_core.scheduling.interrupts import handlers_given_back
from bench_core.workers.recipe import Recipe

if TYPE_CHECKING:
    from pathlib import Path

    from bench_core.progress.interface import Progress
    from bench_core.run_spec import RunSpec
    from bench_core.runs.dry_run import RunPlan
    from bench_core.trial import Benchmark


class Purpose(enum.Enum):
    """The purpose for which a run is prepared.

    Attributes:
        PLAN: To print the plan: it is checked as if it began, and changes nothing.
        RUN: To begin.
        WORKER: To run some of its trials in another process; the run's own has checked it, and reset its resources.
        SESSION: To give its tasks to a client, one episode after another.
        TASKS: To list the tasks a session would have; the resources they need may be missing.
    """

    PLAN = "plan"
    RUN = "run"
    WORKER = "worker"
    SESSION = "session"
    TASKS = "tasks"

    @property
    def begins(self) -> bool:
        """Whether trials follow for which this process is the first: it may change the resources they use."""
        return self in {Purpose.RUN, Purpose.SESSION}

    @property
    def checks(self) -> bool:
        """Whether faults that would fail every trial are refused."""
        return self.begins or self is Purpose.PLAN


@dataclass(frozen=True)
class PreparedRun:
    """A run that can begin.

    Attributes:
        out: The run folder.
        warnings: Faults that will affect some of its trials.
    """

    benchmark: Benchmark
    spec: RunSpec
    out: Path
    run_environment: RunEnvironment = RunEnvironment()  # immutable
    warnings: tuple[str, ...] = ()


Prepare = Callable[[RunOptions | Mapping[str, Any], Purpose], AbstractContextManager[PreparedRun]]
"""Prepares the run that options ask for and cleans up after it. The options are those of a `run` command, of any
benchmark (`RunOptions`) or of this one, or a mapping of them: from a session, which adds `world`, or in a worker."""


def run_prepared(
    prepare: Prepare,
    options: RunOptions,
    *,
    progress: Progress | None = None,
    guard: bool = False,
    on_warning: Callable[[str], None] = lambda _: None,
) -> RunOutcome:
    """Run the benchmark of `options`, or continue the run that is there.

    Args:
        prepare: The runner's part.
        options: The options of its `run` command.
        progress: Receives the events of the run.
        guard: Own this process; see `run_benchmark`.
        on_warning: Receives each warning before the run begins.

    Raises:
        InputError: The options do not fit each other or what is there.
    """
    # the world of the run puts its temporary files there, too
    scratch = temporary_folder() if guard else nullcontext()
    with handlers_given_back(), scratch, prepare(options, Purpose.RUN) as ready:
        for warning in (*ready.warnings, *scoring_warnings(ready, allowed=options.without_scores)):
            on_warning(warning)
        run_environment = ready.run_environment
        if progress is not None:
            run_environment = replace(run_environment, progress=progress)
        run = run_benchmark(
            ready.benchmark, ready.spec, ready.out, run_environment=run_environment, guard=guard
        )
        with bounded_loop(ready.benchmark) as loop:
            return loop.run_until_complete(run)


def plan_prepared(
    prepare: Prepare,
    options: RunOptions,
    *,
    on_warning: Callable[[str], None] = lambda _: None,
) -> RunPlan:
    """Return the plan of `run_prepared`; no trial is run and nothing is written into its folder.

    Args:
        prepare: The runner's part.
        options: The options of its `run` command.
        on_warning: Receives the warnings of the run.

    Raises:
        InputError: The options do not fit each other or what is there, or the agent or its model cannot be
            used: all that the run would refuse before its first trial.
    """
    from bench_core.runs.capacity import Machines  # a run does not need them
    from bench_core.runs.dry_run import plan_run
    from bench_core.runs.placing import placing_for

    with prepare(options, Purpose.PLAN) as ready:
        for warning in (*ready.warnings, *scoring_warnings(ready, allowed=options.without_scores)):
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


def scoring_warnings(
    ready: PreparedRun, *, allowed: bool, allow: str = "--without-scores"
) -> tuple[str, ...]:
    """Return warnings on the scoring of the run's tasks, and refuse tasks that could get no score.

    Args:
        ready: The run; its benchmark is asked.
        allowed: Return a warning instead.
        allow: How that is asked for.

    Raises:
        InputError: It is not allowed, and some of the run's tasks could get no score.
    """
    tasks = select_tasks(ready.benchmark.tasks(), ready.spec.tasks, ready.spec.seed)
    ask = getattr(ready.benchmark, "unscored", None)
    reason: str | None = None if ask is None else ask(tasks)
    if reason is not None and not allowed:
        raise InputError(f"{reason}, or add {allow}")
    return tuple(filter(None, (reason, weak_checkers(tasks))))


def prepare_installed(name: str) -> Prepare:
    """Return the `prepare` of any installed benchmark: its own, or `prepare_plain`.

    Args:
        name: The benchmark's, or `module:Class`.

    Raises:
        UnknownPluginError: No installed distribution offers it.
        PluginImportError: It does not import.
        InputError: It is not a benchmark, or needs arguments.
    """
    own: Prepare | None = getattr(load_benchmark(name), "prepare", None)
    return own or (
        lambda given, purpose: prepare_plain({**dict(given), "benchmark": name}, purpose)
    )


@contextmanager
def prepare_plain(options: Mapping[str, Any], purpose: Purpose) -> Iterator[PreparedRun]:
    """Prepare a run of a benchmark that brings no `prepare`; `benchmark` is its name or `module:Class`.

    Raises:
        InputError: An option does not exist, or has a value that it cannot have.
    """
    del purpose  # there is nothing to check or to reset
    given = {name: value for name, value in options.items() if name not in {"benchmark", "world"}}
    benchmark, asked = load_benchmark(options["benchmark"]), RunOptions.from_mapping(given)
    spec = asked.spec()
    part = {"benchmark": options["benchmark"], "agent": spec.agent}
    recipe = Recipe(prepare="bench_core.runs.prepare:prepare_plain", options=part)
    out = asked.folder(benchmark.name, spec)
    yield PreparedRun(benchmark, spec, out, RunEnvironment(recipe=recipe))
