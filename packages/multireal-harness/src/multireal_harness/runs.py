"""The calls behind the `run` command, which run an agent on tasks into a run folder."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bench_core.runs import run_prepared
from multireal_harness.benchmark import MultiRealBenchmark
from multireal_harness.preparation import prepared_run

if TYPE_CHECKING:
    from collections.abc import Mapping
    from contextlib import AbstractContextManager

    from bench_core.progress import Progress
    from bench_core.runs import PreparedRun, RunOutcome
    from multireal_harness.options import MultiRealRunOptions

__all__ = ["prepare", "prepare_sessions", "run"]


def run(options: MultiRealRunOptions, *, progress: Progress | None = None) -> RunOutcome:
    """Run an agent on tasks, or continue the run, as `multireal-harness run` does.

    Raises:
        InputError: The options contradict each other, or name what does not exist.
    """
    return run_prepared(prepare, options, progress=progress)


def prepare(options: MultiRealRunOptions, begins: bool) -> AbstractContextManager[PreparedRun]:
    """Prepare the run that `options` ask for; see `bench_core.runs.prepare.Prepare`."""
    return prepared_run(MultiRealBenchmark, options, begins=begins)


def prepare_sessions(
    options: Mapping[str, Any],
    begins: bool,
) -> AbstractContextManager[PreparedRun]:
    """Prepare a session by the options of `multireal-harness run`; see `bench_core.sessions`.

    Raises:
        InputError: They do not exist or do not fit each other.
    """
    from multireal_harness.options import MultiRealRunOptions  # only sessions read them here

    asked = MultiRealRunOptions.from_mapping(options)
    return prepared_run(MultiRealBenchmark, asked, begins=begins, checked=begins)
