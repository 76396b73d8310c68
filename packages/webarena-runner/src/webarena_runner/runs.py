"""The call behind the `run` command, which runs an agent on tasks into a run folder."""

from __future__ import annotations

from bench_core.progress import Progress
from bench_core.runs import RunOutcome, run_prepared
from webarena_runner.benchmark import WebArenaBenchmark
from webarena_runner.options import WebArenaRunOptions


def run(options: WebArenaRunOptions, *, progress: Progress | None = None) -> RunOutcome:
    """Run an agent on tasks, or continue the run, as `webarena-runner run` does.

    Raises:
        InputError: The options contradict each other, or name something that does not exist.
    """
    return run_prepared(WebArenaBenchmark.prepare, options, progress=progress)
