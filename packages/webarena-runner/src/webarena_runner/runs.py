"""The calls behind the `run` command, which run an agent on tasks into a run folder."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from bench_core.runs import run_prepared
from webarena_runner.benchmark import WebArenaBenchmark
from webarena_runner.preparation import prepared_run

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from contextlib import AbstractContextManager

    from bench_core.progress import Progress
    from bench_core.runs import PreparedRun, RunOutcome
    from webarena_runner.options import WebArenaRunOptions

__all__ = ["prepare", "prepare_in_worker", "prepare_sessions", "run"]


def run(options: WebArenaRunOptions, *, progress: Progress | None = None) -> RunOutcome:
    """Run an agent on tasks, or continue the run, as `webarena-runner run` does.

    Raises:
        InputError: The options contradict each other, or name what does not exist.
    """
    return run_prepared(prepare, options, progress=progress)


def prepare(options: WebArenaRunOptions, begins: bool) -> AbstractContextManager[PreparedRun]:
    """Prepare the run that `options` ask for; see `bench_core.runs.prepare.Prepare`."""
    return prepared_run(WebArenaBenchmark, options, begins=begins)


def prepare_in_worker(
    options: Mapping[str, Any],
    begins: bool,
) -> AbstractContextManager[PreparedRun]:
    """Prepare a worker's part of a run by the options of `webarena-runner run`; see `bench_core.workers`.

    Raises:
        InputError: They do not exist or do not fit each other.
    """
    from webarena_runner.options import WebArenaRunOptions  # only they read them here

    asked = WebArenaRunOptions.from_mapping(options)
    return prepared_run(WebArenaBenchmark, asked, begins=begins, checked=begins)


@contextmanager
def prepare_sessions(options: Mapping[str, Any], begins: bool) -> Iterator[PreparedRun]:
    """Prepare a session as a worker's part of a run, with a browser that is kept; see `bench_core.sessions`.

    Raises:
        InputError: The options do not exist or do not fit each other.
    """
    with prepare_in_worker(options, begins) as ready:
        if isinstance(ready.benchmark, WebArenaBenchmark):
            ready.benchmark.keep_browser()
        yield ready
