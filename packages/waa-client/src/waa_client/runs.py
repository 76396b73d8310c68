"""The calls behind the `run` command, which run an agent on tasks into a run folder."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bench_core.runs import run_prepared
from waa_client.benchmark import WaaBenchmark
from waa_client.preparation import prepared_sessions

if TYPE_CHECKING:
    from collections.abc import Mapping
    from contextlib import AbstractContextManager
    from typing import Any

    from bench_core.progress import Progress
    from bench_core.runs import PreparedRun, RunOptions, RunOutcome
    from waa_client.options import WaaRunOptions

__all__ = ["prepare", "prepare_in_worker", "prepare_sessions", "run"]


def run(options: WaaRunOptions, *, progress: Progress | None = None) -> RunOutcome:
    """Run an agent on tasks, or continue the run, as `waa-client run` does.

    Raises:
        InputError: The options contradict each other, or name what does not exist.
    """
    return run_prepared(prepare, options, progress=progress)


def prepare(options: RunOptions, begins: bool) -> AbstractContextManager[PreparedRun]:
    """Prepare the run that `options` ask for; see `bench_core.runs.prepare.Prepare`.

    Where options name no VMs or evaluators `$WAA_VM` and `$WAA_EVALUATE` do.
    """
    return WaaBenchmark.prepare(options, begins)


def prepare_in_worker(
    options: Mapping[str, Any],
    begins: bool,
) -> AbstractContextManager[PreparedRun]:
    """Prepare a worker's part of a run by the options of `waa-client run`; see `bench_core.workers`.

    Raises:
        InputError: The options do not exist or do not fit each other.
    """
    from waa_client.options import WaaRunOptions  # only workers read them here

    return prepare(WaaRunOptions.from_mapping(options), begins)


def prepare_sessions(
    options: Mapping[str, Any],
    begins: bool,
) -> AbstractContextManager[PreparedRun]:
    """Prepare a session by the options of `waa-client run`; see `bench_core.sessions`.

    Raises:
        InputError: They do not exist or do not fit each other.
    """
    return prepared_sessions(WaaBenchmark, options, checked=begins)
