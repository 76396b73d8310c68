"""How a run reaches its workers: the same messages, over pipes or over a cluster."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from pathlib import Path

    from bench_core.scheduling.leased_locks import Broker
    from bench_core.workers.placement import NodeRoom


class Link(Protocol):
    """The connection to one worker.

    Attributes:
        name: Which worker, for people.
    """

    name: str

    def send(self, line: bytes) -> None:
        """Send a message; ignored if the worker is gone."""
        ...

    async def receive(self) -> dict[str, Any] | None:
        """Return the next message, None if no more can come.

        Raises:
            FrameError: It is not a message.
        """
        ...

    def hang_up(self) -> None:
        """Say that this was the last message; an idle worker ends then."""
        ...

    def kill(self) -> None:
        """End the worker and its children, at once."""
        ...

    async def how_ended(self) -> str:
        """Wait until no process of the worker can act any more, and return how it ended, in words."""
        ...

    @property
    def alive(self) -> bool:
        """Whether its end is still unknown."""
        ...


class Transport(Protocol):
    """Starts workers."""

    name: str

    async def nodes(self) -> tuple[NodeRoom, ...] | None:
        """Return the nodes that are alive; None if there is one, with room for any number of workers.

        Raises:
            InputError: They cannot be reached.
        """
        ...

    async def open(self, slot: int, folder: Path, labels: frozenset[str] = frozenset()) -> Link:
        """Start the worker of a slot for the run in `folder`, on a node that carries all these labels.

        Raises:
            EnvironmentFaultError: None starts within its time.
        """
        ...

    def broker(self) -> Broker | None:
        """Return the broker of leases for all runs with workers in this place; None if only this run has."""
        ...

    async def close(self) -> None:
        """Give back the resources that all workers share."""
        ...
