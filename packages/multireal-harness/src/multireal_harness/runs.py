"""The call behind the `run` command, which runs an agent on tasks into a run folder."""

from __future__ import annotations

from bench_core.progress import Progress
from bench_core.runs import RunOutcome, run_prepared
from multireal_harness.benchmark import MultiRealBenchmark
from multireal_harness.options import MultiRealRunOptions


def run(options: MultiRealRunOptions, *, progress: Progress | None = None) -> RunOutcome:
    """Run an agent on tasks, or continue the run, as `multireal-harness run` does.

    Raises:
        InputError: The options contradict each other, or name something that does not exist.
    """
    return run_prepared(MultiRealBenchmark.prepare, options, progress=progress)
