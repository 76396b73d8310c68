"""The function behind the `run` command, which runs an agent on tasks into a run folder."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bench_core.runs import RunOutcome, run_prepared
from waa_client.benchmark import WaaBenchmark

if TYPE_CHECKING:
    from bench_core.progress import Progress
    from waa_client.options import WaaRunOptions


def run(options: WaaRunOptions, *, progress: Progress | None = None) -> RunOutcome:
    """Run an agent on tasks, or continue the run, as `waa-client run` does.

    Raises:
        InputError: The options contradict each other, or name something that does not exist.
    """
    return run_prepared(WaaBenchmark.prepare, options, progress=progress)
