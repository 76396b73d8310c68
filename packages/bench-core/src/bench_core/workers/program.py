"""The worker's side: builds the benchmark by a recipe and runs one attempt after another.

Its event loop is left to the attempts; another thread reads the run's messages, and ends the process if
the run is gone or has given no sign for the time of the lease.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import platform
import sys
import threading
from collections.abc import Coroutine
from contextlib import AbstractContextManager
from functools import partial
from pathlib import Path
from typing import IO, Any, Protocol

from bench_core.agent_process.connection import (
    Connection,
    Outgoing,
    PipeMeter,
    ReportedLog,
)
from bench_core.agent_process.messages import error_line
from bench_core.child_process.framing import FrameError, encode_line
from bench_core.child_process.pipes import own_pipes
from bench_core.errors import BudgetExceededError, EnvironmentFaultError
from bench_core.files.removal import remove_folder
from bench_core.processes import ProcessGroups
from bench_core.protocols import TrialContext
from bench_core.records import Task, TrialResult
from bench_core.records.codec import encode
from bench_core.redaction import Redactor
from bench_core.run_folder.stored import attempt_url, store_folder, write_probe
from bench_core.running_time import RUNNING_TIME, leave_out_gaps
from bench_core.trial.results import fault_fields, unscored_result
from bench_core.workers.files import sees, send_pieces, stage
from bench_core.workers.group_guard import GroupGuard, GuardedProcesses
from bench_core.workers.recipe import load_reference, package_digests

_ORPHANED, _LEASE_OVER = 70, 71
_TICKS_PER_LEASE = 8
_END_S, _LONGEST_END_S = 3.0, 30.0
_POLL_S = 0.1
_LOG_TEXT = 8_000
_NAMED_BY = 3  # trials/<trial>/<task> is how a recording finds the trial that it is of


class Trials(Protocol):
    """The object that a builder gives a worker.

    Attributes:
        agent: The digest of the agent's program.
        folder: Hidden from agents; attempts write below it until their files are delivered.
        redactor: Knows the secrets of this process.
    """

    agent: str | None
    folder: Path
    redactor: Redactor

    def context(self, context: TrialContext) -> TrialContext:
        """Return the context of an attempt as it is in this process."""
        ...

    def run(self, task: Task, context: TrialContext) -> Coroutine[Any, Any, TrialResult]:
        """Run one attempt."""
        ...

    async def close(self) -> None:
        """End the resources that attempts share."""
        ...


def serve_worker() -> None:
    """Serve standard input and output until the run hangs up."""
    incoming, outgoing = own_pipes()
    sys.exit(_serve(incoming, _Whole(outgoing)))


class _Whole:
    """Writes lines as a whole to a pipe, which may take a part of one at a time."""

    def __init__(self, file: Any) -> None:
        self._file = file

    def write(self, data: bytes, /) -> None:
        left = memoryview(data)
        while left:
            left = left[self._file.write(left) :]

    def flush(self) -> None:
        """Do nothing: nothing is buffered."""


def _serve(incoming: IO[bytes], outgoing: Outgoing) -> int:
    connection = Connection(incoming, outgoing)
    try:
        order = connection.order()
        if order is None:
            return 0
        if order["type"] != "build":
            raise FrameError(  # noqa: TRY301  # reported like any other
                f"it said {order['type'][:60]!r} before it said what to build"
            )
    except FrameError as error:
        print(f"bench-core worker-process: {error}", file=sys.stderr)  # noqa: T201  # to its log
        return 1
    building = threading.Timer(order["start_s"], os._exit, (_LEASE_OVER,))
    building.daemon = True
    building.start()  # the run, which waits no longer, may be gone
    try:
        builder: AbstractContextManager[Trials] = load_reference(order["builder"])(order)
        with builder as trials:
            building.cancel()
            logging.getLogger().addHandler(_Progress(connection, trials.redactor))
            with RUNNING_TIME:
                return asyncio.run(_Worker(connection, trials, order).work())
    except Exception as error:  # noqa: BLE001  # whatever cannot be built is reported to the run
        with contextlib.suppress(OSError):
            connection.send(error_line(error))
        return 1


class WorkerMeter(PipeMeter):
    """Asks the run before each model call; `flags` go back to it with the result."""

    def __init__(
        self, connection: Connection, *, bounded: bool, source: str = "agent", whole: Any = None
    ) -> None:
        super().__init__(connection, source)
        self.bounded = bounded
        self.exhausted: str | None = None
        self.flags: dict[str, None] = {}
        self._whole: WorkerMeter = whole or self

    @property
    def stopped(self) -> bool:
        """Whether a call of the attempt was refused."""
        return self._whole.exhausted is not None

    def spend(self, usage: Any, cost_usd: float | None = None) -> None:
        """Count one model call; see `bench_core.protocols.Meter`."""
        try:
            super().spend(usage, cost_usd)
        except BudgetExceededError as error:
            self._whole.exhausted = str(error)
            raise

    def of(self, source: str) -> WorkerMeter:
        """Return the meter of another source on the same budget."""
        return WorkerMeter(self._connection, bounded=self.bounded, source=source, whole=self._whole)


class _Progress(ReportedLog):
    """Passes warnings on to the run, without the secrets of this process."""

    def __init__(self, connection: Connection, redactor: Redactor) -> None:
        super().__init__(connection)
        self.setLevel(logging.WARNING)
        self._redactor = redactor

    def emit(self, record: logging.LogRecord) -> None:
        """Send a record."""
        text = self._redactor.redact(self.format(record))[:_LOG_TEXT]
        name = record.name
        self._connection.send(encode_line("progress", level=record.levelno, name=name, text=text))


class _Worker:
    """Takes orders from the run and carries them out."""

    def __init__(self, connection: Connection, trials: Trials, order: dict[str, Any]) -> None:
        self._connection = connection
        self._trials = trials
        self._run_folder = Path(order["run_folder"])
        self._shared = sees(order["run_folder"], order["probe"])
        self._artifacts: str | None = order["artifacts"]
        if self._artifacts is not None:
            write_probe(self._artifacts, order["probe"])
        self._packages = order["packages"]
        self._lease_s: float = order["lease_s"]
        self._sign_s: float | None = order["sign_s"]
        self._scratch = trials.folder / "delivering"
        self._left: dict[str, Path] = {}
        self._silent_ticks = 0
        self._token: str | None = None
        self._work: asyncio.Task[None] | None = None
        self._processes = ProcessGroups()
        self._guard = GroupGuard()
        self._over: asyncio.Event
        self._loop: asyncio.AbstractEventLoop

    async def work(self) -> int:
        """Run attempts until the run hangs up."""
        self._over, self._loop = asyncio.Event(), leave_out_gaps(asyncio.get_running_loop())
        self._connection.listen(self._note, self._hung_up)
        threading.Thread(target=self._watch_lease, daemon=True).start()
        self._connection.send(self._ready())
        await self._over.wait()
        await self._trials.close()
        await asyncio.to_thread(self._guard.close)
        remove_folder(self._scratch)
        return 0

    def _ready(self) -> bytes:
        return encode_line(
            "ready",
            packages=package_digests(self._packages),
            agent=self._trials.agent,
            python=platform.python_version(),
            host=platform.node(),
            pid=os.getpid(),
            niceness=None if sys.platform == "win32" else os.getpriority(os.PRIO_PROCESS, 0),
            shared=self._shared,
        )

    def _note(self, frame: dict[str, Any]) -> None:
        """Take a message, in the thread that reads."""
        self._silent_ticks = 0
        if frame["type"] == "run":
            # in this thread: the run may hang up before the loop takes the order
            self._token = frame.get("token")
        if frame["type"] != "alive":
            self._loop.call_soon_threadsafe(self._obey, frame)

    def _obey(self, frame: dict[str, Any]) -> None:
        kind, token = frame["type"], frame.get("token")
        if kind == "run":
            self._work = asyncio.ensure_future(self._attempt(frame))
        elif kind == "cancel" and token == self._token and self._work is not None:
            self._work.cancel()
        elif kind == "acknowledge" and frame.get("accepted") is True and token in self._left:
            remove_folder(self._left.pop(token))

    def _hung_up(self) -> None:
        """The run is over, or gone: end the remaining work, which no one awaits."""
        if self._token is not None:
            self._leave(_ORPHANED)
        self._loop.call_soon_threadsafe(self._over.set)

    def _watch_lease(self) -> None:
        """Count ticks instead of reading a clock: a machine that slept has not missed any."""
        while True:  # also while the benchmark is closed
            threading.Event().wait(self._lease_s / _TICKS_PER_LEASE)
            self._silent_ticks += 1
            if self._silent_ticks > _TICKS_PER_LEASE:
                self._leave(_LEASE_OVER)

    def _leave(self, code: int) -> None:
        self._processes.kill()
        os._exit(code)

    async def _attempt(self, frame: dict[str, Any]) -> None:
        try:
            await self._carry_out(frame)
        except Exception as error:  # noqa: BLE001  # such as a full disk: the run must not wait for a result
            text = self._trials.redactor.redact(str(error))[:_LOG_TEXT]
            self._connection.send(encode_line("error", kind=type(error).__name__, message=text))

    async def _carry_out(self, frame: dict[str, Any]) -> None:
        token = str(frame["token"])
        task = Task.model_validate(frame["task"])
        context = TrialContext.model_validate(frame["context"])
        folder = self._new_folder(token, context.folder)
        meter = WorkerMeter(self._connection, bounded=frame["bounded"])
        self._processes = GuardedProcesses(self._connection, self._guard)
        given = self._trials.context(context)
        context = given.for_attempt(meter, self._processes, {"folder": folder}, token=token)
        signs = asyncio.ensure_future(self._give_signs())
        value = await self._value(task, context)
        try:
            await self._end_processes()
            trial = (task.task_id, context.trial, context.token)
            url = self._artifacts and attempt_url(self._artifacts, *trial)
            deliver = partial(self._deliver, token, folder, url)
            delivered = await asyncio.to_thread(deliver)
        finally:
            signs.cancel()
        self._token = None
        flags = list(meter.flags)
        self._connection.send(
            encode_line("result", token=token, value=value, flags=flags, **delivered)
        )

    def _new_folder(self, token: str, named: Path) -> Path:
        """Make the folder of an attempt; its parents stay, as making and removing them takes long."""
        # of an attempt that was given up after it had been delivered
        for each in self._left.values():
            remove_folder(each)
        folder = self._scratch.joinpath(*named.parts[-_NAMED_BY:])
        folder.mkdir(parents=True)
        self._left = {token: folder}
        return folder

    async def _value(self, task: Task, context: TrialContext) -> str | None:
        """Return the result of an attempt as a line, None if it was cancelled."""
        try:
            result = await self._trials.run(task, context)
        except asyncio.CancelledError:
            return None
        except BaseException as error:  # noqa: BLE001  # whatever it raises is recorded
            if isinstance(error, SystemExit):
                error = RuntimeError(f"the trial called sys.exit({error.code!r})")
            fault = error if isinstance(error, Exception) else RuntimeError(repr(error))
            fields = fault_fields(fault, "environment", after_work=False)
            result = await asyncio.to_thread(unscored_result, task, context, fields)
        return encode(result, self._trials.redactor).decode()

    def _deliver(self, token: str, folder: Path, url: str | None) -> dict[str, Any]:
        """Deliver an attempt's files, and return the entries of its result about them."""
        if url is not None:
            return self._store(folder, url)
        if self._shared:
            stage(folder, self._run_folder, token)
            self._left.pop(token, None)
        else:
            send_pieces(folder, token, self._connection.send)
        return {"staged": self._shared}

    def _store(self, folder: Path, url: str) -> dict[str, Any]:
        try:
            return {"stored": store_folder(folder, url).model_dump(mode="json")}
        except EnvironmentFaultError as error:
            remove_folder(folder)  # the result without its files does not count
            return {"problem": self._trials.redactor.redact(str(error))}

    async def _end_processes(self) -> None:
        """End the process groups that an attempt has left."""
        loop = asyncio.get_running_loop()
        began = loop.time()
        self._processes.terminate()
        while self._processes.alive() and loop.time() < began + _LONGEST_END_S:
            await asyncio.sleep(_POLL_S)
            if loop.time() >= began + _END_S:
                self._processes.kill()

    async def _give_signs(self) -> None:
        """Report now and then that the loop turns; a blocked one cannot."""
        while self._sign_s is not None:
            await asyncio.sleep(self._sign_s)
            self._connection.send(encode_line("alive"))
