"""A run on another machine, as far as a cluster knows: holds the site `toys` until it is killed."""

from __future__ import annotations

import asyncio
import sys

from bench_core.ray import cluster
from bench_core.ray.broker import RayBroker
from bench_core.records import Resource
from bench_core.scheduling import NoLocks
from bench_core.scheduling.leased_locks import LeasedLocks


async def main(address: str, ttl_s: float) -> None:
    """Hold it."""
    broker = RayBroker(cluster(address).connected, ttl_s=ttl_s)
    async with LeasedLocks(broker, "the other run", NoLocks(), ttl_s=ttl_s) as locks:
        held = await locks.acquire([Resource(name="toys")], lambda _: None)
        held.when_lost(lambda: sys.exit("lost"))
        print("held", flush=True)  # noqa: T201  # to the test
        await asyncio.sleep(600)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], float(sys.argv[2])))
