"""Resources held against runs on other machines, too, by leases from a common broker."""

from __future__ import annotations

import asyncio
import contextlib
import secrets
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from bench_core.errors import EnvironmentFaultError
from bench_core.scheduling.clocks import SystemClock
from bench_core.scheduling.leases import LEASE_TTL_S
from bench_core.scheduling.resources import claim_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from typing_extensions import Self

    from bench_core.records import Resource
    from bench_core.scheduling.clocks import Clock
    from bench_core.scheduling.machine_locks import Held, MachineLocks
    from bench_core.scheduling.resources import Claim

_FIRST_POLL_S, _LONGEST_POLL_S = 0.05, 1.0
# several renewals in a row may be lost before a lock is
_RENEWALS_PER_TTL = 6
_MARGIN_SHARE = 0.25
"""Share of a lease's time left when a holder that cannot renew it gives it up, to end its users."""


class Broker(Protocol):
    """Gives leases to runs on all machines; the methods are those of `LeaseTable`."""

    async def ask(self, name: str, owner: str, claim: Claim) -> int | None:
        """Return the generation of the lease, None if the caller must ask again.

        Raises:
            EnvironmentFaultError: The broker does not answer.
        """
        ...

    async def renew(
        self, owner: str, leases: Mapping[str, tuple[Claim, int]]
    ) -> Mapping[str, bool]:
        """Return for each lease whether it still counts.

        Raises:
            EnvironmentFaultError: The broker does not answer.
        """
        ...

    async def release(self, name: str, generation: int | None) -> None:
        """End a lease or the wait for it.

        Raises:
            EnvironmentFaultError: The broker does not answer.
        """
        ...


class LeasedLocks:
    """Holds resources on this machine first, and then in the cluster; an async context manager.

    All runs take them in this order, and of the cluster all at once, so that none waits in a circle.

    Args:
        broker: Gives the leases.
        owner: Whose they are, for people.
        here: Holds resources against other processes of this machine.
        ttl_s: Seconds for which the broker's leases are good.
        patience_s: So long the broker may give no answer before waiting for it is an error.
        clock: Gives the time.
    """

    def __init__(
        self,
        broker: Broker,
        owner: str,
        here: MachineLocks,
        *,
        ttl_s: float = LEASE_TTL_S,
        patience_s: float = 60.0,
        clock: Clock | None = None,
    ) -> None:
        self._broker = broker
        self._owner = owner
        self._here = here
        self._ttl_s = ttl_s
        self._patience_s = patience_s
        self._clock = clock or SystemClock()
        self._held: dict[str, _Leased] = {}
        self._renewing: asyncio.Task[None] | None = None
        self._ending: set[asyncio.Task[None]] = set()

    async def __aenter__(self) -> Self:
        self._renewing = asyncio.create_task(self._renew_all())
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._renewing is not None:
            self._renewing.cancel()
        for each in list(self._held.values()):
            each.release()
        if self._ending:
            await asyncio.wait(self._ending, timeout=_LONGEST_POLL_S * 5)

    async def acquire(
        self, resources: Sequence[Resource], on_wait: Callable[[Resource], None]
    ) -> Held:
        """Wait until all `resources` are held; call `on_wait` for each taken here, and for all if the lease waits.

        Raises:
            EnvironmentFaultError: The broker does not answer for `patience_s` seconds.
        """
        here = await self._here.acquire(resources, on_wait)
        return await self.lease(resources, on_wait, here) if resources else here

    async def lease(
        self,
        resources: Sequence[Resource],
        on_wait: Callable[[Resource], object],
        here: Held | None = None,
    ) -> Held:
        """Wait until all `resources` are held in the cluster; `here` is given back together with them.

        Raises:
            EnvironmentFaultError: The broker does not answer for `patience_s` seconds.
        """
        name = f"{self._owner}/{secrets.token_hex(8)}"
        leased = _Leased(self, name, claim_of(resources), here)
        try:
            await self._wait(leased, lambda: list(map(on_wait, resources)))
        except BaseException:  # also when cancelled: it may have been given meanwhile
            leased.release()
            raise
        return leased

    async def _wait(self, leased: _Leased, on_wait: Callable[[], object]) -> None:
        pause, answered, waits = _FIRST_POLL_S, self._clock.monotonic(), False
        while True:
            try:
                if await self._ask(leased):
                    return
                answered = self._clock.monotonic()
                if not waits:
                    waits = True
                    on_wait()
            except EnvironmentFaultError:
                if self._clock.monotonic() > answered + self._patience_s:
                    raise
            await asyncio.sleep(pause)
            pause = min(_LONGEST_POLL_S, pause * 1.5)

    async def _ask(self, leased: _Leased) -> bool:
        asked = self._clock.monotonic()  # before the call, as the broker counts from later
        generation = await self._broker.ask(leased.name, self._owner, leased.claim)
        if generation is None:
            return False
        leased.generation, leased.renewed = generation, asked
        self._held[leased.name] = leased
        return True

    async def _renew_all(self) -> None:
        while True:
            await asyncio.sleep(self._ttl_s / _RENEWALS_PER_TTL)
            asked, held = self._clock.monotonic(), dict(self._held)
            claims = {name: (each.claim, each.generation or 0) for name, each in held.items()}
            counts: Mapping[str, bool] = {}
            if claims:
                with contextlib.suppress(EnvironmentFaultError):
                    counts = await self._broker.renew(self._owner, claims)
            for name, each in held.items():
                if counts.get(name) is True:
                    each.renewed = asked
                elif name in self._held and (name in counts or self._is_over(each)):
                    del self._held[name]
                    each.lose()

    def _is_over(self, leased: _Leased) -> bool:
        """Whether a lease that could not be renewed ends before it can be tried again."""
        kept_s = self._ttl_s * (1 - _MARGIN_SHARE) - self._ttl_s / _RENEWALS_PER_TTL
        return self._clock.monotonic() >= leased.renewed + kept_s

    def _end(self, leased: _Leased) -> None:
        self._held.pop(leased.name, None)
        ending = asyncio.ensure_future(self._give_back(leased))
        self._ending.add(ending)
        ending.add_done_callback(self._ending.discard)

    async def _give_back(self, leased: _Leased) -> None:
        with contextlib.suppress(EnvironmentFaultError):  # it runs out by itself
            await self._broker.release(leased.name, leased.generation)


@dataclass(eq=False)
class _Leased:
    """The resources of one attempt; see `Held`."""

    locks: LeasedLocks
    name: str
    claim: Claim
    here: Held | None
    generation: int | None = None
    renewed: float = 0.0
    _lost: bool = False
    _released: bool = False
    _when_lost: list[Callable[[], object]] = field(default_factory=list)

    def when_lost(self, call: Callable[[], object]) -> None:
        self._when_lost.append(call)
        if self._lost:
            call()

    def lose(self) -> None:
        self._lost = True
        for each in self._when_lost:
            each()

    def release(self) -> None:
        if not self._released:
            self._released = True
            self._when_lost.clear()
            if self.here is not None:
                self.here.release()
            self.locks._end(self)  # one thing in two parts
