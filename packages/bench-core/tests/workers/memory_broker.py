"""A broker of leases in this process, for tests of what holds by them."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from bench_core.errors import EnvironmentFaultError
from bench_core.scheduling.leases import LEASE_TTL_S, LeaseTable

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bench_core.scheduling.resources import Claim


class MemoryBroker:
    """A broker that can be cut off."""

    def __init__(self, ttl_s: float = LEASE_TTL_S) -> None:
        self.table = LeaseTable(ttl_s, monotonic=lambda: asyncio.get_running_loop().time())
        self.cut_off = False

    def reached(self) -> LeaseTable:
        if self.cut_off:
            raise EnvironmentFaultError("no answer")
        return self.table

    async def ask(self, name: str, owner: str, claim: Claim) -> int | None:
        return self.reached().ask(name, owner, claim)

    async def renew(
        self, owner: str, leases: Mapping[str, tuple[Claim, int]]
    ) -> Mapping[str, bool]:
        table = self.reached()
        return {n: table.renew(n, owner, claim, given) for n, (claim, given) in leases.items()}

    async def release(self, name: str, generation: int | None) -> None:
        self.reached().release(name, generation)
