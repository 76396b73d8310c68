"""Runs attempts on workers: one at a time on each, each under its token, whatever becomes of the worker."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import secrets
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from bench_core.agent_process.framing import FrameError, encode_line
from bench_core.agent_process.messages import (
    answer_to,
    checked_hello,
    error_of_frame,
    hello,
)
from bench_core.agent_process.silence import Silence, sign_s
from bench_core.errors import BenchError, EnvironmentFaultError, InputError
from bench_core.records import TrialResult
from bench_core.scheduling.leased_locks import LeasedLocks
from bench_core.scheduling.leases import LEASE_TTL_S
from bench_core.scheduling.machine_locks import NoLocks
from bench_core.workers.files import LATE_RESULT, Incoming, keep_late
from bench_core.workers.messages import refuse_mismatch
from bench_core.workers.placement import FreePlaces
from bench_core.workers.slots import Slot

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Mapping
    from pathlib import Path

    from pydantic import JsonValue
    from typing_extensions import Self

    from bench_core.protocols import TrialContext
    from bench_core.records import Task
    from bench_core.redaction import Redactor
    from bench_core.scheduling.machine_locks import MachineLocks
    from bench_core.scheduling.places import Place
    from bench_core.scheduling.resources import Claim
    from bench_core.workers.placement import Placement
    from bench_core.workers.recipe import Recipe
    from bench_core.workers.transport import Link, Transport

__all__ = ["WorkerExecutor", "WorkerLimits", "WorkerLostError"]

_log = logging.getLogger("bench_core.workers")
_log.addHandler(
    logging.NullHandler()
)  # else what no one asked for is printed between lines of progress
_SIGNS_PER_LEASE = 5
_DOES_NOT_START = (EnvironmentFaultError, InputError)
_STARTS = 3
"""So often in a row a worker may fail to start before its place is given up: one may have been killed by chance."""
_END_S = 180.0
"""Longer than any transport needs to know that a worker is gone; what outlasts it is given up."""


class WorkerLostError(EnvironmentFaultError):
    """The worker of an attempt died, was cut off or hung; the attempt is tried again elsewhere."""


@dataclass(frozen=True)
class WorkerLimits:
    """How patient a run is with its workers, in seconds.

    Attributes:
        start_s: A worker may take to start and to build the benchmark.
        cancel_s: An attempt may clean up after it was cancelled, before its worker is ended.
        block_s: A worker may give no sign while it runs an attempt; None is no limit.
        lease_s: A worker goes on for this long without a sign of the run.
        close_s: An idle worker may take to end.
    """

    start_s: float = 180.0
    cancel_s: float = 7.0
    block_s: float | None = 60.0
    lease_s: float = 60.0
    close_s: float = 15.0


class WorkerExecutor:
    """Runs attempts on the workers of a transport; an async context manager.

    Args:
        transport: Starts the workers.
        recipe: What they build the benchmark from.
        order: What else they get before the first attempt: `builder`, `spec`, `redact`.
        wanted: `packages` and `agent`, the digests that theirs must equal.
        placement: How many, and on which nodes.
        run_folder: Where what attempts leave goes.
        limits: How patient the run is.
        locks: Hold what attempts use against other processes of this machine; where the workers' cluster has
            a broker, `locks` of this object hold it in the whole cluster.
        owner: Whose leases they are, for people.
        redactor: Knows the run's secrets.
        on_event: Receives kind and data of what is to be written down.
    """

    def __init__(  # noqa: PLR0913  # one collaborator each
        self,
        transport: Transport,
        recipe: Recipe,
        order: Mapping[str, JsonValue],
        wanted: Mapping[str, JsonValue],
        *,
        placement: Placement,
        run_folder: Path,
        limits: WorkerLimits,
        locks: MachineLocks,
        owner: str,
        redactor: Redactor,
        on_event: Callable[[str, dict[str, JsonValue]], object],
    ) -> None:
        self._transport = transport
        self._recipe = recipe
        self._order = dict(order)
        self._wanted = dict(wanted)
        self._placement = placement
        self._free = FreePlaces(placement)
        self._folder = run_folder.absolute()
        self._limits = limits
        self._redactor = redactor
        self._on_event = on_event
        # what no other process can reach needs no lease
        broker = None if isinstance(locks, NoLocks) else transport.broker()
        self._leases = None if broker is None else LeasedLocks(broker, owner, locks)
        self.locks: MachineLocks = self._leases or locks
        self._incoming = Incoming(self._folder)
        self._waiting: dict[asyncio.Future[int], _Place] = {}
        self._all: dict[int, Slot] = {}
        self._holders: dict[str, Link] = {}
        self._signs: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        keep_late(self._folder, self._on_event)
        self._order["probe"] = self._incoming.probe(f"probe-{secrets.token_hex(8)}")
        self._signs = asyncio.create_task(self._give_signs())
        if self._leases is not None:
            await self._leases.__aenter__()
        self._all = {n: Slot(n, labels) for n, labels in enumerate(self._placement.workers)}
        try:
            await self._start_all()
        except BaseException:
            await self._close()
            raise
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._close()

    @property
    def places(self) -> WorkerExecutor:
        """Where attempts are carried out; see `bench_core.scheduling.places.Places`."""
        return self

    def has_room(self, claim: Claim) -> bool:
        """Whether a worker is free that may run what claims this."""
        return self._free.has_room(claim.names)

    def take(self, claim: Claim) -> Place:
        """Return a free worker's place, for one attempt at what claims this."""
        return _Place(self, claim, self._all[self._free.take(claim.names)])

    async def run_in(self, place: _Place, task: Task, context: TrialContext) -> TrialResult:
        """Run one attempt; what it left is in the context's folder when this returns.

        Raises:
            WorkerLostError: Its worker is gone.
            EnvironmentFaultError: No worker starts.
        """
        slot = await self._ready_slot(place)
        assert slot.link is not None  # noqa: S101  # it started
        attempt = _Attempt(slot.link, context, self._limits, self._incoming, self._refused)
        try:
            result = await attempt.run(_run_line(task, context))
        except WorkerLostError:
            slot.link = None
            raise
        if not slot.link.alive:
            slot.link = None
        else:
            self._holders[context.token] = slot.link
        return result

    def give_back(self, slot: Slot) -> None:
        """Let a slot be another's: of who waits for one, or else of whom the scheduler starts next."""
        for waiting, place in self._waiting.items():
            if not waiting.done() and self._serves(slot, place.claim):
                waiting.set_result(slot.number)
                return
        self._free.give_back(slot.number)

    async def _ready_slot(self, place: _Place) -> Slot:
        """Return a slot whose worker runs; one in which none starts any more is given up while others can do its work."""
        tired: list[Slot] = []
        try:
            while True:
                slot = place.slot or await self._other_slot(place, tired)
                place.slot = slot
                try:
                    if slot.link is None or not slot.link.alive:
                        await self._start(slot)
                except BaseException as error:
                    if not isinstance(error, _DOES_NOT_START) or self._is_last(slot, place.claim):
                        raise
                    place.slot = None
                    if not self._is_given_up(slot, error):
                        tired.append(slot)
                else:
                    slot.failed_starts = 0
                    return slot
        finally:
            for each in tired:
                self.give_back(each)

    async def _other_slot(self, place: _Place, tired: list[Slot]) -> Slot:
        """Return another free slot, one of the tired again but not for ever, or the first that becomes free."""
        if self._free.has_room(place.claim.names):
            return self._all[self._free.take(place.claim.names)]
        again = next((each for each in tired if each.failed_starts < _STARTS), None)
        if again is not None:
            tired.remove(again)
            return again
        waiting: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        self._waiting[waiting] = place
        try:
            return self._all[await waiting]
        except asyncio.CancelledError:
            if waiting.done() and not waiting.cancelled():
                place.slot = self._all[waiting.result()]  # which is then given back
            raise
        finally:
            del self._waiting[waiting]

    def _serves(self, slot: Slot, claim: Claim) -> bool:
        return self._placement.bindings.labels_of(claim.names) <= slot.labels

    def _is_last(self, slot: Slot, claim: Claim) -> bool:
        """Whether no other slot can run what claims this."""
        return not any(
            each is not slot and self._serves(each, claim) for each in self._all.values()
        )

    def _is_needed(self, slot: Slot) -> bool:
        """Whether there are trials that no other slot can run."""
        others = [each.labels for each in self._all.values() if each is not slot]
        needs = self._placement.needs or {frozenset[str]()}
        return any(
            need <= slot.labels and not any(need <= each for each in others) for need in needs
        )

    def _is_given_up(self, slot: Slot, error: BaseException) -> bool:
        """Whether a slot is given up: its worker would run other code, or has failed to start time and again."""
        slot.failed_starts += 1
        if self._is_needed(slot):
            return False
        if isinstance(error, EnvironmentFaultError) and slot.failed_starts < _STARTS:
            return False
        del self._all[slot.number]
        slot.give_back()
        why = self._redactor.redact(str(error))
        _log.warning("worker %d is given up: %s", slot.number + 1, why)
        self._on_event("worker_given_up", {"worker": slot.number + 1, "reason": why})
        return True

    def kept(self, token: str) -> None:
        """Let a worker know that the result of an attempt is written down, so that it may forget it."""
        link = self._holders.pop(token, None)
        if link is not None:
            link.send(encode_line("acknowledge", token=token, accepted=True))

    async def _start_all(self) -> None:
        """Start all workers; first those that few nodes can have, so that no other takes the room of these."""
        for count in sorted({len(each.labels) for each in self._all.values()}, reverse=True):
            slots = [each for each in self._all.values() if len(each.labels) == count]
            started = await asyncio.gather(*map(self._start, slots), return_exceptions=True)
            errors = [each for each in started if isinstance(each, BaseException)]
            if errors:
                raise next((each for each in errors if isinstance(each, InputError)), errors[0])

    async def _start(self, slot: Slot) -> None:
        """Start the worker of a slot.

        Raises:
            EnvironmentFaultError: It does not start, or not in time.
            InputError: It would run other code, or cannot build the benchmark.
        """
        slot.link = None
        link: Link | None = None
        await self._hold(slot)
        try:
            # `asyncio.timeout` is 3.11's
            opening = self._transport.open(slot.number, self._folder, slot.labels)
            link = await asyncio.wait_for(opening, self._limits.start_s)
            await asyncio.wait_for(self._introduce(link, slot), self._limits.start_s)
        except BaseException as error:
            if link is not None:
                link.kill()
                await _end_of(link, self._limits.close_s)
            if not isinstance(error, (FrameError, asyncio.TimeoutError)):
                raise
            cause = str(error) or f"it was not ready after {self._limits.start_s:g} s"
            raise EnvironmentFaultError(
                f"no worker starts ({self._transport.name}): {cause}"
            ) from None
        slot.link = link

    async def _hold(self, slot: Slot) -> None:
        """Hold what the worker of a slot has alone in the whole cluster, such as its VM.

        Raises:
            InputError: Another run has it.
        """
        wanted = self._recipe.held_by(slot.number)
        if self._leases is None or not wanted or slot.held is not None:
            return
        names = ", ".join(each.name for each in wanted)
        waiting = partial(self._on_event, "waiting", {"resource": names, "mode": "exclusive"})
        try:
            # the lease of a run that is gone has run out by then
            leasing = self._leases.lease(wanted, lambda _: waiting())
            slot.held = await asyncio.wait_for(leasing, LEASE_TTL_S * 1.25)
        except asyncio.TimeoutError:
            raise InputError(
                f"{names}: another run of the cluster has it. Give each run its own, or wait for the other"
            ) from None
        slot.held.when_lost(slot.lose)

    async def _introduce(self, link: Link, slot: Slot) -> None:
        limits = self._limits
        recipe = self._recipe.for_slot(slot.number).model_dump(mode="json")
        link.send(hello())
        link.send(
            encode_line(
                "build",
                **self._order,
                recipe=recipe,
                packages=list(self._wanted["packages"]),  # type: ignore[arg-type]  # a mapping
                run_folder=str(self._folder),
                start_s=limits.start_s,
                lease_s=limits.lease_s,
                sign_s=sign_s(limits.block_s),
            )
        )
        checked_hello(await self._spoken(link))
        ready = await self._spoken(link)
        while ready["type"] in {"progress", "own", "disown"}:
            ready = await self._spoken(link)
        if ready["type"] == "error":
            info = error_of_frame(ready)
            text = self._redactor.redact(f"{info.kind}: {info.message}")
            raise InputError(f"{link.name} cannot run this benchmark: {text}")
        refuse_mismatch(link.name, self._wanted, ready)
        facts = {name: ready.get(name) for name in ("host", "pid", "python", "niceness", "shared")}
        if slot.labels:
            facts["labels"] = sorted(slot.labels)
        self._on_event("worker_ready", {"worker": link.name, **facts})

    async def _spoken(self, link: Link) -> dict[str, Any]:
        frame = await link.receive()
        if frame is None:
            link.kill()
            raise FrameError(self._redactor.redact(f"{link.name} {await _end_of(link)}"))
        return frame

    async def _give_signs(self) -> None:
        """Renew the leases of all workers."""
        line = encode_line("alive")
        while True:
            await asyncio.sleep(self._limits.lease_s / _SIGNS_PER_LEASE)
            for slot in self._all.values():
                if slot.link is not None:
                    slot.link.send(line)

    def _refused(self, link: Link, token: object) -> None:
        """Refuse a result under another token than the one that counts."""
        if isinstance(token, str):
            link.send(encode_line("acknowledge", token=token, accepted=False))
        self._on_event(LATE_RESULT, {"worker": link.name, "token": str(token)[:64]})

    async def _close(self) -> None:
        if self._signs is not None:
            self._signs.cancel()
        links = [slot.link for slot in self._all.values() if slot.link is not None]
        for link in links:
            link.hang_up()
        endings = [asyncio.ensure_future(link.ended()) for link in links]
        if endings:
            await asyncio.wait(endings, timeout=self._limits.close_s)
            for link, ending in zip(links, endings, strict=True):
                if not ending.done():
                    link.kill()
            await asyncio.wait(endings, timeout=self._limits.close_s)
        for slot in self._all.values():
            slot.give_back()
        if self._leases is not None:
            await self._leases.__aexit__()
        await self._transport.close()
        keep_late(self._folder, self._on_event)


class _Place:
    """A place for one attempt; see `bench_core.scheduling.places.Place`."""

    def __init__(self, executor: WorkerExecutor, claim: Claim, slot: Slot) -> None:
        self.claim = claim
        self.slot: Slot | None = slot
        self._executor = executor

    def run(self, task: Task, context: TrialContext) -> Coroutine[Any, Any, TrialResult]:
        """Run the attempt."""
        return self._executor.run_in(self, task, context)

    def free(self) -> None:
        """Give the place back, when nothing of the attempt can act any more."""
        slot, self.slot = self.slot, None
        if slot is not None:
            self._executor.give_back(slot)


class _Attempt:
    """One attempt on a worker, from its order to its result."""

    def __init__(
        self,
        link: Link,
        context: TrialContext,
        limits: WorkerLimits,
        incoming: Incoming,
        refuse: Callable[[Link, object], object],
    ) -> None:
        self._link = link
        self._context = context
        self._token = context.token
        self._limits = limits
        self._incoming = incoming
        self._refuse = refuse
        self._silence = Silence(limits.block_s, link.kill)

    async def run(self, order: bytes) -> TrialResult:
        """Return the result; when this ends, the worker is idle, or nothing of it acts any more."""
        listening = asyncio.ensure_future(self._converse(order))
        try:
            frame = await asyncio.shield(listening)
        except asyncio.CancelledError:
            self._link.send(encode_line("cancel", token=self._token))
            stopping = asyncio.ensure_future(self._stop(listening))
            while not stopping.done():
                # again and again: the scheduler cancels what outlasts its grace, and this must not let go
                with contextlib.suppress(asyncio.CancelledError):
                    await asyncio.shield(stopping)
            raise
        return _result(frame)

    async def _stop(self, listening: asyncio.Future[dict[str, Any]]) -> None:
        done, _ = await asyncio.wait([listening], timeout=self._limits.cancel_s)
        if not done:
            self._link.kill()
            done, _ = await asyncio.wait([listening], timeout=_END_S)
        if not done:
            listening.cancel()
        elif not listening.cancelled():
            listening.exception()  # looked at: a worker that was killed is lost on purpose

    async def _converse(self, order: bytes) -> dict[str, Any]:
        self._link.send(order)
        try:
            with self._silence.watched():
                return await self._listen()
        except FrameError as error:
            await self._end(f"broke the protocol: {error}")
        raise AssertionError  # `_end` raises

    async def _listen(self) -> dict[str, Any]:
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
                await asyncio.to_thread(self._commit, frame)
                return frame
            await self._handle(frame)

    async def _handle(self, frame: dict[str, Any]) -> None:
        kind = frame["type"]
        if kind == "result":
            self._refuse(self._link, frame.get("token"))
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

    def _commit(self, frame: dict[str, Any]) -> None:
        """Move what the attempt left into the trial's folder: files first, the result last."""
        if frame.get("staged") is not True:
            self._incoming.conclude(self._token)
        self._incoming.take(self._token, self._context.folder)
        flags = getattr(self._context.meter, "flags", None)
        if flags is not None:
            flags.update(dict.fromkeys(map(str, frame.get("flags") or ())))

    async def _end(self, how: str) -> None:
        """End the worker and raise what became of it.

        Raises:
            WorkerLostError: Always.
        """
        self._link.kill()
        ended = await _end_of(self._link)
        self._incoming.drop(self._token)
        raise WorkerLostError(f"{self._link.name} {how or ended}")


async def _end_of(link: Link, seconds: float = _END_S) -> str:
    """Wait until nothing of a worker can act any more, but not for ever; return how it ended."""
    try:
        return await asyncio.wait_for(link.ended(), seconds)
    except asyncio.TimeoutError:
        return f"has not ended {seconds:g} s after it was killed"


def _run_line(task: Task, context: TrialContext) -> bytes:
    return encode_line(
        "run",
        token=context.token,
        task=task.model_dump(mode="json"),
        context=context.model_dump(mode="json"),
        bounded=getattr(context.meter, "bounded", True),
    )


def _result(frame: dict[str, Any]) -> TrialResult:
    value = frame.get("value")
    if value is None:
        raise asyncio.CancelledError  # by itself, as it would be here
    try:
        return TrialResult.model_validate_json(value)
    except ValidationError as error:
        raise BenchError(f"a worker's result cannot be read: {str(error)[:500]}") from None


def _note(frame: dict[str, Any]) -> None:
    """Log a line of a worker's, which has removed its own secrets, as one of this process."""
    level = frame.get("level")
    level = level if isinstance(level, int) and 0 < level <= logging.CRITICAL else logging.INFO
    _log.log(level, "%s", str(frame.get("text"))[:8_000])
