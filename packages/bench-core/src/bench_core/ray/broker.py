"""The broker of a cluster's leases: one actor that all runs find by its name, and that outlives each of them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Mapping
from typing import Any

import ray
from ray.exceptions import RayError

from bench_core.errors import EnvironmentFaultError
from bench_core.ray.calls import in_thread, value_of
from bench_core.scheduling.leases import LEASE_TTL_S, LeaseTable
from bench_core.scheduling.resources import Claim

BROKER, NAMESPACE = "proctor-leases-1", "proctor"
"""The number is the version of its methods: runs with different versions must not share an actor."""
_CALL_S = 10.0
_START_S = 60.0


class LeaseActor:
    """Holds the table of leases; Ray starts it again if its process or its node is lost."""

    def __init__(self, ttl_s: float) -> None:
        again = ray.get_runtime_context().was_current_actor_reconstructed
        self._table = LeaseTable(ttl_s, restarted=again)

    async def ask(
        self, name: str, owner: str, shared: list[str], exclusive: list[str]
    ) -> int | None:
        """See `LeaseTable.ask`."""
        return self._table.ask(name, owner, Claim(frozenset(shared), frozenset(exclusive)))

    async def renew(
        self, owner: str, leases: dict[str, tuple[list[str], list[str], int]]
    ) -> dict[str, bool]:
        """Return for each lease whether it still counts."""
        return {
            name: self._table.renew(
                name, owner, Claim(frozenset(shared), frozenset(exclusive)), generation
            )
            for name, (shared, exclusive, generation) in leases.items()
        }

    async def release(self, name: str, generation: int | None) -> None:
        """See `LeaseTable.release`."""
        self._table.release(name, generation)

    async def leases(self) -> list[dict[str, Any]]:
        """Return the leases, with their holders."""
        return [
            {
                "owner": each.owner,
                "shared": sorted(each.claim.shared),
                "exclusive": sorted(each.claim.exclusive),
                "generation": each.generation,
            }
            for each in self._table.leases()
        ]


class RayBroker:
    """The broker of the cluster that this process is part of; see `bench_core.scheduling.leased_locks.Broker`.

    Args:
        connected: Waits until this process is part of it.
        ttl_s: Seconds for which leases are good, if the broker has not been started before.
    """

    def __init__(
        self, connected: Callable[[], Coroutine[Any, Any, None]], ttl_s: float = LEASE_TTL_S
    ) -> None:
        self._connected = connected
        self._ttl_s = ttl_s
        self._actor: Any = None

    async def ask(self, name: str, owner: str, claim: Claim) -> int | None:
        """Return the generation of the lease, None if the caller must ask again."""
        given: int | None = await self._call("ask", name, owner, *_lists(claim))
        return given

    async def renew(
        self, owner: str, leases: Mapping[str, tuple[Claim, int]]
    ) -> Mapping[str, bool]:
        """Return for each lease whether it still counts."""
        asked = {name: (*_lists(claim), generation) for name, (claim, generation) in leases.items()}
        counts: Mapping[str, bool] = await self._call("renew", owner, asked)
        return counts

    async def release(self, name: str, generation: int | None) -> None:
        """End a lease or the wait for it."""
        await self._call("release", name, generation)

    async def leases(self) -> list[dict[str, Any]]:
        """Return the leases, with their holders."""
        found: list[dict[str, Any]] = await self._call("leases")
        return found

    async def _call(self, method: str, *arguments: Any) -> Any:
        await self._connected()
        try:
            if self._actor is None:
                self._actor = await in_thread(self._find, _START_S)
            return await value_of(getattr(self._actor, method).remote(*arguments), _CALL_S)
        except (RayError, ValueError, asyncio.TimeoutError) as error:
            self._actor = None  # another may have taken its place
            raise EnvironmentFaultError(
                f"the cluster's broker of leases does not answer: {error!r}"[:500]
            ) from None

    def _find(self) -> Any:
        made = ray.remote(LeaseActor).options(
            name=BROKER, namespace=NAMESPACE, lifetime="detached", get_if_exists=True,
            num_cpus=0, max_restarts=-1, max_task_retries=0, max_concurrency=64,
        )  # fmt: skip
        return made.remote(self._ttl_s)


def _lists(claim: Claim) -> tuple[list[str], list[str]]:
    return sorted(claim.shared), sorted(claim.exclusive)
