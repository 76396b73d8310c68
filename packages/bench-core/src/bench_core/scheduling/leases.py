"""Leases of resources over several machines: a plain table with a clock, so that it can be tested.

A lease is for all that one attempt claims. It lives for a time and is renewed; one that is not renewed in
time has run out, and its resources go to the next in the queue. Each has a unique generation:
a holder that was away for too long finds its own outdated, and cannot mistake another's for it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from bench_core.scheduling.resources import Claim, conflict

LEASE_TTL_S = 120.0
"""Longer than the worker of a run that is gone goes on, a minute and an eighth, and the run's own pause
between two renewals: a resource that an orphan still acts on is not given to another."""
_PATIENCE_S = 15.0
"""A waiting run asks again every second or so; one that does not has gone."""


@dataclass
class Lease:
    """The resources of one attempt.

    Attributes:
        name: Drawn by the asker, so that a question whose answer was lost can be put again.
        owner: For people: whose it is.
        generation: Larger than any lease's before it.
        until: When it runs out, by the table's clock.
    """

    name: str
    owner: str
    claim: Claim
    generation: int
    until: float


@dataclass
class _Waiting:
    claim: Claim
    asked: float


class LeaseTable:
    """The leases of a cluster; shared claims share, and no claim passes an earlier exclusive one.

    Args:
        ttl_s: Seconds for which a lease is good without being renewed.
        restarted: An earlier table is lost, and leases of it are about. Nothing is given for the time of a
            lease; leases renewed in that time are taken over.
        monotonic: Gives seconds.
        wall: Gives the date in seconds: generations go on over a restart.

    Example:
        >>> table = LeaseTable()
        >>> gitlab = Claim(exclusive=frozenset({"gitlab"}))
        >>> first = table.ask("a", "one run", gitlab)
        >>> table.ask("b", "another", gitlab) is None
        True
        >>> table.release("a", first)
        >>> table.ask("b", "another", gitlab) > first
        True
    """

    def __init__(
        self,
        ttl_s: float = LEASE_TTL_S,
        *,
        restarted: bool = False,
        monotonic: Callable[[], float] = time.monotonic,
        wall: Callable[[], float] = time.time,
    ) -> None:
        self._ttl_s = ttl_s
        self._monotonic = monotonic
        self._wall = wall
        self._leases: dict[str, Lease] = {}
        self._waiting: dict[str, _Waiting] = {}
        self._last = 0
        self._gives_from = monotonic() + ttl_s if restarted else monotonic()

    def ask(self, name: str, owner: str, claim: Claim) -> int | None:
        """Return the generation of the given lease, None if it has to be asked for again."""
        now = self._forget_the_gone()
        if (lease := self._leases.get(name)) is not None:
            lease.until = now + self._ttl_s  # its answer was lost, and it asks again
            return lease.generation
        self._waiting.setdefault(name, _Waiting(claim, now)).asked = now  # keeps its turn
        if now < self._gives_from or self._is_taken(name, claim):
            return None
        del self._waiting[name]
        self._last = max(self._last + 1, int(self._wall() * 1000))  # also after a restart
        self._leases[name] = Lease(name, owner, claim, self._last, now + self._ttl_s)
        return self._last

    def renew(self, name: str, owner: str, claim: Claim, generation: int) -> bool:
        """Return whether the lease still counts, and is good for its time from now on."""
        now = self._forget_the_gone()
        lease = self._leases.get(name)
        if lease is None and now < self._gives_from and not self._conflicts(claim, self._held()):
            lease = self._leases[name] = Lease(name, owner, claim, generation, now)
            self._last = max(self._last, generation)  # given before the restart
        if lease is None or lease.generation != generation:
            return False
        lease.until = now + self._ttl_s
        return True

    def release(self, name: str, generation: int | None = None) -> None:
        """End a lease, or the wait for it; ignored if it is another's by now."""
        self._waiting.pop(name, None)
        lease = self._leases.get(name)
        if lease is not None and generation in {None, lease.generation}:
            del self._leases[name]

    def leases(self) -> list[Lease]:
        """Return the valid leases."""
        self._forget_the_gone()
        return list(self._leases.values())

    def _forget_the_gone(self) -> float:
        now = self._monotonic()
        self._leases = {n: each for n, each in self._leases.items() if each.until > now}
        self._waiting = {
            n: each for n, each in self._waiting.items() if each.asked > now - _PATIENCE_S
        }
        return now

    def _is_taken(self, name: str, claim: Claim) -> bool:
        earlier = []
        for other, each in self._waiting.items():
            if other == name:
                break
            earlier.append(each.claim)
        return self._conflicts(claim, earlier) or self._conflicts(claim, self._held())

    def _held(self) -> list[Claim]:
        return [each.claim for each in self._leases.values()]

    @staticmethod
    def _conflicts(claim: Claim, others: Iterable[Claim]) -> bool:
        return any(conflict(claim, each) for each in others)
