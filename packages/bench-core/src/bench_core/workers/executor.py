"""Runs attempts on workers: one at a time on each, each under its token, however the worker ends."""

from __future__ import annotations

import asyncio
import logging
import secrets
from functools import partial
from typing import TYPE_CHECKING, Any

from bench_core.agent_process.messages import checked_hello, error_of_frame, hello
from bench_core.agent_process.silence import sign_s
from bench_core.child_process.framing import FrameError, encode_line
from bench_core.errors import EnvironmentFaultError, InputError
from bench_core.run_folder.stored import refuse_other_store
from bench_core.scheduling.leased_locks import LeasedLocks
from bench_core.scheduling.leases import LEASE_TTL_S
from bench_core.scheduling.machine_locks import NoLocks
from bench_core.workers.attempt import WorkerAttempt, WorkerLostError, end_of
from bench_core.workers.files import LATE_RESULT, Incoming, keep_late
from bench_core.workers.messages import refuse_mismatch
from bench_core.workers.placement import FreePlaces
from bench_core.workers.slots import Slot

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Coroutine, Mapping
    from pathlib import Path

    from pydantic import JsonValue
    from typing_extensions import Self

    from bench_core.protocols import TrialContext
    from bench_core.records import Task, TrialResult
    from bench_core.redaction import Redactor
    from bench_core.scheduling.machine_locks import MachineLocks
    from bench_core.scheduling.places import Place
    from bench_core.scheduling.resources import Claim
    from bench_core.workers.attempt import WorkerLimits
    from bench_core.workers.placement import Placement
    from bench_core.workers.recipe import Recipe
    from bench_core.workers.transport import Link, Transport

_log = logging.getLogger("bench_core.workers")
# several may be lost in a row before a worker believes that its run is gone
_SIGNS_PER_LEASE = 5
_LONGEST_URL = 1_000
_DOES_NOT_START = (EnvironmentFaultError, InputError)
_STARTS = 3
"""Start failures in a row after which a worker's place is given up: one may have been killed by chance."""


class WorkerExecutor:
    """Runs attempts on the workers of a transport; an async context manager.

    Args:
        transport: Starts the workers.
        recipe: Describes how they build the benchmark.
        order: The other settings they get before the first attempt: `builder`, `spec`, `redact`.
        wanted: `packages` and `agent`, the digests that theirs must equal.
        placement: How many, and on which nodes.
        run_folder: The folder for the files of attempts.
        limits: How patient the run is.
        locks: Hold the resources of attempts against other processes of this machine; if the workers' cluster has
            a broker, `locks` of this object hold it in the whole cluster.
        owner: Whose leases they are, for people.
        artifacts: Where in an object store attempts put their files, instead of the run folder.
        redactor: Knows the run's secrets.
        on_event: Receives kind and data of events to write down.
    """

    def __init__(
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
        artifacts: str | None = None,
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
        self._artifacts = artifacts
        self._redactor = redactor
        self._on_event = on_event
        # a resource that no other process can reach needs no lease
        broker = None if isinstance(locks, NoLocks) else transport.broker()
        self._leases = None if broker is None else LeasedLocks(broker, owner, locks)
        self.locks: MachineLocks = self._leases or locks
        self._incoming = Incoming(self._folder)
        # attempts that wait for the number of a slot, the longest first
        self._waiting: dict[asyncio.Future[int], _Place] = {}
        self._all: dict[int, Slot] = {}
        # by an attempt's token: the worker that holds its result until `kept`
        self._holders: dict[str, Link] = {}
        self._signs: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        keep_late(self._folder, self._on_event)
        probe = self._incoming.probe(f"probe-{secrets.token_hex(8)}")
        self._order |= {"probe": probe, "artifacts": self._artifacts}
        self._signs = asyncio.create_task(self._give_signs())
        if self._leases is not None:
            await self._leases.__aenter__()
        self._all = {n: Slot(n, labels) for n, labels in enumerate(self._placement.workers)}
        try:
            await self._start_all()
            if self._artifacts is not None:
                await asyncio.to_thread(refuse_other_store, self._artifacts, probe)
        except BaseException:
            await self._close()
            raise
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._close()

    @property
    def places(self) -> WorkerExecutor:
        """The places of attempts; see `bench_core.scheduling.places.Places`."""
        return self

    def has_room(self, claim: Claim) -> bool:
        """Whether a worker is free that may run a trial with this claim."""
        return self._free.has_room(claim.names)

    def take(self, claim: Claim) -> Place:
        """Return a free worker's place, for one attempt at a trial with this claim."""
        return _Place(self, claim, self._all[self._free.take(claim.names)])

    async def run_in(self, place: _Place, task: Task, context: TrialContext) -> TrialResult:
        """Run one attempt; its files are in the context's folder when this returns.

        Raises:
            WorkerLostError: Its worker is gone.
            EnvironmentFaultError: No worker starts.
        """
        slot = await self._ready_slot(place)
        assert slot.link is not None  # noqa: S101  # it started
        attempt = WorkerAttempt(
            slot.link,
            task,
            context,
            limits=self._limits,
            incoming=self._incoming,
            artifacts=self._artifacts,
            refuse=self._refused,
        )
        try:
            result = await attempt.run()
        except WorkerLostError:
            slot.link = None
            raise
        if not slot.link.alive:
            slot.link = None
        else:
            self._holders[context.token] = slot.link
        return result

    def give_back(self, slot: Slot) -> None:
        """Pass a slot on: to an attempt that waits for one, or else to the next that the scheduler starts."""
        for waiting, place in self._waiting.items():
            if not waiting.done() and self._serves(slot, place.claim):
                waiting.set_result(slot.number)
                return
        self._free.give_back(slot.number)

    async def _ready_slot(self, place: _Place) -> Slot:
        """Return a slot with a running worker; a slot whose workers fail to start is given up if others can do its work."""
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
        """Return another free slot, a tired one again up to a limit, or the first that becomes free."""
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
        """Whether no other slot can run a trial with this claim."""
        return not any(
            each is not slot and self._serves(each, claim) for each in self._all.values()
        )

    def _is_needed(self, slot: Slot) -> bool:
        """Whether there are trials that no other slot can run."""
        others = [each.labels for each in self._all.values() if each is not slot]
        return any(
            need <= slot.labels and not any(need <= each for each in others) for need in self._needs
        )

    @property
    def _needs(self) -> Collection[frozenset[str]]:
        """The labels that some trial needs its worker to have."""
        return self._placement.needs or {frozenset[str]()}

    def _is_given_up(self, slot: Slot, error: BaseException) -> bool:
        """Whether a slot is given up: its worker would run other code, or repeatedly failed to start."""
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
        """Let a worker know that the result of an attempt is written down, so that it may drop it."""
        link = self._holders.pop(token, None)
        if link is not None:
            link.send(encode_line("acknowledge", token=token, accepted=True))

    async def _start_all(self) -> None:
        """Start all workers; first those that few nodes can have, so that no other takes their room.

        One that does not start, as its node was lost just now, is started again when a trial needs it.

        Raises:
            EnvironmentFaultError: None starts of those that some trial needs.
            InputError: One would run other code, or cannot build the benchmark.
        """
        errors: list[EnvironmentFaultError] = []
        for count in sorted({len(each.labels) for each in self._all.values()}, reverse=True):
            slots = [each for each in self._all.values() if len(each.labels) == count]
            for each in await asyncio.gather(*map(self._start, slots), return_exceptions=True):
                if isinstance(each, EnvironmentFaultError):
                    errors.append(each)
                elif each is not None:
                    raise each
        started = [each.labels for each in self._all.values() if each.link is not None]
        if not all(any(need <= each for each in started) for need in self._needs):
            raise errors[0]
        for slot in self._all.values():
            slot.failed_starts = int(slot.link is None)
        for error in errors:
            _log.warning("a worker is started later: %s", self._redactor.redact(str(error)))

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
                await end_of(link, self._limits.close_s)
            if not isinstance(error, (FrameError, asyncio.TimeoutError)):
                raise
            cause = str(error) or f"it was not ready after {self._limits.start_s:g} s"
            raise EnvironmentFaultError(
                f"no worker starts ({self._transport.name}): {cause}"
            ) from None
        slot.link = link

    async def _hold(self, slot: Slot) -> None:
        """Hold the resources that the worker of a slot has alone in the whole cluster, such as its VM.

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
            raise FrameError(self._redactor.redact(f"{link.name} {await end_of(link)}"))
        return frame

    async def _give_signs(self) -> None:
        """Renew the leases of all workers."""
        line = encode_line("alive")
        while True:
            await asyncio.sleep(self._limits.lease_s / _SIGNS_PER_LEASE)
            for slot in self._all.values():
                if slot.link is not None:
                    slot.link.send(line)

    def _refused(self, link: Link, frame: dict[str, Any]) -> None:
        """Refuse a result under another token than the attempt's own."""
        token, stored = frame.get("token"), frame.get("stored")
        if isinstance(token, str):
            link.send(encode_line("acknowledge", token=token, accepted=False))
        found: dict[str, JsonValue] = {"worker": link.name, "token": str(token)[:64]}
        if isinstance(stored, dict):  # the place of its files; nothing reads them
            found["stored"] = str(stored.get("url"))[:_LONGEST_URL]
        self._on_event(LATE_RESULT, found)

    async def _close(self) -> None:
        if self._signs is not None:
            self._signs.cancel()
        links = [slot.link for slot in self._all.values() if slot.link is not None]
        for link in links:
            link.hang_up()
        endings = [asyncio.ensure_future(link.how_ended()) for link in links]
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
        """Give the place back, when no process of the attempt can act any more."""
        slot, self.slot = self.slot, None
        if slot is not None:
            self._executor.give_back(slot)
