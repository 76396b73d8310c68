"""Where an agent sits: on a context of the shared Chromium, or at a Chromium of its own."""

from __future__ import annotations

from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from bench_core.agents.browser import BrowserEnvironment

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from bench_core.agents import Connect
    from bench_core.agents.environment import Environment
    from bench_core.protocols import Agent, BrowserHandle, DesktopHandle
    from multireal_harness.browsers import Lease

__all__ = ["Seat", "connect_to"]


@dataclass(frozen=True)
class Seat:
    """An agent of one trial before it has its browser.

    Attributes:
        agent: Makes the agent for a lent browser.
        alone: Whether it needs a Chromium of its own, because it is handed a CDP URL.
        viewport: Of its pages.
    """

    agent: Callable[[Lease], Agent]
    alone: bool
    viewport: tuple[int, int] = (1280, 720)


def connect_to(lease: Lease, viewport: tuple[int, int]) -> Connect:
    """Return what hands an agent of this process the lent context instead of a connection."""

    @asynccontextmanager
    async def connect(handle: BrowserHandle | DesktopHandle) -> AsyncIterator[Environment]:
        del handle
        yield BrowserEnvironment(lease.context, viewport)

    return connect
