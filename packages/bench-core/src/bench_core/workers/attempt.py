"""One attempt on a worker, from its order to its result."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from bench_core.agent_process.messages import answer_to, error_of_frame
from bench_core.agent_process.silence import Silence
from bench_core.child_process.framing import FrameError, encode_line
from bench_core.errors import BenchError, EnvironmentFaultError
from bench_core.records import TrialResult
from bench_core.run_folder.stored import attempt_url, stored_folder

if TYPE_CHECKING:
    from collections.abc import Callable

    from bench_core.protocols import TrialContext
    from bench_core.records import StoredFolder, Task
    from bench_core.workers.files import Incoming
    from bench_core.workers.transport import Link

_log = logging.getLogger("bench_core.workers")
_log.addHandler(logging.NullHandler())  # else unwanted lines are printed between lines of progress
_END_S = 180.0
"""Longer than any transport needs to know that a worker is gone; a longer wait is given up."""
_TEXT = 8_000


class WorkerLostError(EnvironmentFaultError):
    """The worker of an attempt died, was cut off or hung; the attempt is tried again elsewhere."""


@dataclass(frozen=True)
class WorkerLimits:
    """How patient a run is with its workers, in seconds.

    Attributes:
        start_s: A worker may take to start and to build the benchmark.
        cancel_s: An attempt may clean up after it was cancelled, before its worker is ended.
        block_s: A worker may give no sign while it runs an attempt; None means no limit.
        lease_s: A worker goes on for this long without a sign of the run.
        close_s: An idle worker may take to end.
    """

    start_s: float = 180.0
    cancel_s: float = 7.0
    block_s: float | None = 60.0
    lease_s: float = 60.0
    close_s: float = 15.0


class WorkerAttempt:
    """One attempt on a worker, from its order to its result.

    Args:
        link: The worker.
        task: The task of the attempt.
        context: How.
        limits: How patient the run is.
        incoming: Brings the attempt's files to the run folder.
        artifacts: Where in an object store the run's attempts put their files, instead.
        refuse: Receives results under other tokens.
    """

    def __init__(
        self,
        link: Link,
        task: Task,
        context: TrialContext,
        *,
        limits: WorkerLimits,
        incoming: Incoming,
        artifacts: str | None,
        refuse: Callable[[Link, dict[str, Any]], object],
    ) -> None:
        self._link = link
        self._task = task
        self._context = context
        self._artifacts = artifacts
        self._token = context.token
        self._limits = limits
        self._incoming = incoming
        self._refuse = refuse
        self._silence = Silence(limits.block_s, link.kill)

    async def run(self) -> TrialResult:
        """Return the result; when this ends, the worker is idle, or none of its processes can act any more."""
        listening = asyncio.ensure_future(self._converse())
        try:
            result = await asyncio.shield(listening)
        except asyncio.CancelledError:
            self._link.send(encode_line("cancel", token=self._token))
            stopping = asyncio.ensure_future(self._stop(listening))
            while not stopping.done():
                # again and again: the scheduler cancels attempts past their grace, and this must not let go
                with contextlib.suppress(asyncio.CancelledError):
                    await asyncio.shield(stopping)
            raise
        if result is None:
            raise asyncio.CancelledError  # by itself, as it would be here
        return result

    async def _stop(self, listening: asyncio.Future[TrialResult | None]) -> None:
        done, _ = await asyncio.wait([listening], timeout=self._limits.cancel_s)
        if not done:
            self._link.kill()
            done, _ = await asyncio.wait([listening], timeout=_END_S)
        if not done:
            listening.cancel()
        elif not listening.cancelled():
            listening.exception()  # looked at: a worker that was killed is lost on purpose

    async def _converse(self) -> TrialResult | None:
        self._link.send(
            encode_line(
                "run",
                token=self._token,
                task=self._task.model_dump(mode="json"),
                context=self._context.model_dump(mode="json"),
                bounded=getattr(self._context.meter, "bounded", True),
            )
        )
        try:
            with self._silence.watched():
                return await self._listen()
        except FrameError as error:
            await self._end(f"broke the protocol: {error}")
        raise AssertionError  # `_end` raises

    async def _listen(self) -> TrialResult | None:
        while True:
            frame = await self._link.receive()
            self._silence.end()
            if frame is None:
                await self._end(
                    f"gave no sign for {self._limits.block_s:g} s and was ended"
                    if self._silence.too_long
                    else ""
                )
                continue
            if frame["type"] == "result" and frame.get("token") == self._token:
                return await asyncio.to_thread(self._commit, frame)
            await self._handle(frame)

    async def _handle(self, frame: dict[str, Any]) -> None:
        kind = frame["type"]
        if kind == "result":
            self._refuse(self._link, frame)
        elif kind == "spend":
            self._link.send(answer_to(frame, self._context.meter))
        elif kind == "file" and frame.get("token") == self._token:
            await asyncio.to_thread(self._incoming.write_piece, self._token, frame)
        elif kind == "progress":
            _note(frame)
        elif kind == "error":
            info = error_of_frame(frame)
            await self._end(f"cannot go on: {info.kind}: {info.message}")
        elif kind not in {"alive", "own", "disown", "file"}:
            raise FrameError(f"unknown message of a worker: {kind[:60]!r}")

    def _commit(self, frame: dict[str, Any]) -> TrialResult | None:
        """Take the files of the attempt first, and its result last, which is None if it was cancelled."""
        if self._artifacts is None:
            if frame.get("staged") is not True:
                self._incoming.conclude(self._token)
            self._incoming.take(self._token, self._context.folder)
        flags = getattr(self._context.meter, "flags", None)
        if flags is not None:
            flags.update(dict.fromkeys(map(str, frame.get("flags") or ())))
        result = _result(frame)
        return result and result.model_copy(update={"stored": self._stored(frame, result)})

    def _stored(self, frame: dict[str, Any], result: TrialResult) -> StoredFolder | None:
        """Return the place of the attempt's files, if all of them are in the object store."""
        if self._artifacts is None:
            return None
        if (problem := frame.get("problem")) is not None:
            raise EnvironmentFaultError(
                f"the files of the attempt could not be stored: {str(problem)[:_TEXT]}"
            )
        url = attempt_url(self._artifacts, self._task.task_id, self._context.trial, self._token)
        return stored_folder(url, frame.get("stored"), result.artifacts)

    async def _end(self, how: str) -> None:
        """End the worker and raise how it ended.

        Raises:
            WorkerLostError: Always.
        """
        self._link.kill()
        ended = await end_of(self._link)
        self._incoming.drop(self._token)
        raise WorkerLostError(f"{self._link.name} {how or ended}")


async def end_of(link: Link, seconds: float = _END_S) -> str:
    """Wait, at most `seconds`, until no process of a worker can act any more; return how it ended."""
    try:
        return await asyncio.wait_for(link.how_ended(), seconds)
    except asyncio.TimeoutError:
        return f"has not ended {seconds:g} s after it was killed"


def _result(frame: dict[str, Any]) -> TrialResult | None:
    value = frame.get("value")
    if value is None:
        return None
    try:
        return TrialResult.model_validate_json(value)
    except ValidationError as error:
        raise BenchError(f"a worker's result cannot be read: {str(error)[:500]}") from None


def _note(frame: dict[str, Any]) -> None:
    """Log a line of a worker's, which has removed its own secrets, as one of this process."""
    level = frame.get("level")
    level = level if isinstance(level, int) and 0 < level <= logging.CRITICAL else logging.INFO
    _log.log(level, "%s", str(frame.get("text"))[:_TEXT])
