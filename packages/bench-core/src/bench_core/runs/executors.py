"""The executors of a run's attempts: this process, or workers."""

from __future__ import annotations

import contextlib
import platform
from collections.abc import AsyncIterator
from typing import Protocol

from bench_core.files.atomic import folder_name
from bench_core.records import AgentCode
from bench_core.redaction import Redactor, remembered_secrets
from bench_core.run_folder.folder import RunFolder
from bench_core.run_folder.stored import checked_url
from bench_core.run_spec import RunSpec, plan_trials
from bench_core.runs.environment import RunEnvironment
from bench_core.runs.opening import timeouts_of
from bench_core.scheduling.machine_locks import MachineLocks
from bench_core.scheduling.places import Places
from bench_core.terminal import counted
from bench_core.workers.files import keep_late

_BUILDER = "bench_core.runs.in_worker:opened_trials"
_CANCEL_SHARE = 0.7
"""Share of a cancelled trial's grace that its worker has before it is ended: the rest is for its end."""


class Executor(Protocol):
    """Carries out attempts for a scheduler, which alone decides about them and writes them down.

    Attributes:
        locks: Hold the resources of attempts against all others that could use them.
    """

    locks: MachineLocks

    @property
    def places(self) -> Places | None:
        """The places of the workers; None if attempts run in this process."""
        ...

    def kept(self, token: str) -> None:
        """Learn that the result of an attempt is written down."""
        ...


class _Inline:
    """Attempts as coroutines of this process."""

    places = None

    def __init__(self, locks: MachineLocks) -> None:
        self.locks = locks

    def kept(self, token: str) -> None:
        """Do nothing."""


@contextlib.asynccontextmanager
async def opened_executor(
    spec: RunSpec,
    with_: RunEnvironment,
    code: AgentCode,
    folder: RunFolder,
    workers: int,
) -> AsyncIterator[Executor]:
    """Open the executor of the spec for a number of attempts at once; by default this process.

    Raises:
        InputError: Only this process can run the benchmark, an extra is missing, or a worker would run
            other code.
        EnvironmentFaultError: No worker starts.
    """
    if with_.transport is None and spec.executor.kind == "inline":
        keep_late(folder.path, folder.note)  # of workers of a session before
        yield _Inline(with_.locks)
        return
    from bench_core.runs.placing import opened_transport, placing_of  # only if there are workers
    from bench_core.workers.attempt import WorkerLimits
    from bench_core.workers.executor import WorkerExecutor
    from bench_core.workers.recipe import package_digests

    transport, recipe = opened_transport(spec, with_)
    if not workers:
        await transport.close()
        keep_late(folder.path, folder.note)
        yield _Inline(with_.locks)
        return
    timeouts = timeouts_of(spec, with_)
    try:
        artifacts = spec.executor.artifacts and checked_url(spec.executor.artifacts)
        placing = await placing_of(spec, with_, transport)
        left = plan_trials(folder.tasks, folder.remaining(), spec)
        placement = placing.place(folder.tasks, left, workers)
    except BaseException:
        await transport.close()
        raise
    executor = WorkerExecutor(
        transport,
        recipe,
        {
            "builder": _BUILDER,
            "spec": spec.model_dump(mode="json"),
            "redact": list(remembered_secrets()),
        },
        {"packages": {**package_digests(["bench_core", recipe.package])}, "agent": code.sha256},
        placement=placement,
        run_folder=folder.path,
        limits=WorkerLimits(
            cancel_s=timeouts.cancel_grace_s * _CANCEL_SHARE, block_s=timeouts.loop_block_s
        ),
        locks=with_.locks,
        owner=f"{folder.info.run_id} on {platform.node()}",
        artifacts=artifacts and f"{artifacts}/{folder_name(folder.info.run_id)}",
        redactor=with_.redactor or Redactor.from_environment(),
        on_event=folder.note,
    )
    count = len(placement.workers)
    with_.progress.note(f"Starting {counted(count, 'worker')} ({transport.name})")
    async with executor:
        yield executor
