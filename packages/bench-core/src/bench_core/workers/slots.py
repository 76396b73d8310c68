"""The places of a run's workers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bench_core.scheduling.machine_locks import Held
    from bench_core.workers.transport import Link


@dataclass(eq=False)
class Slot:
    """Room for one worker.

    Attributes:
        labels: The bound labels that its node carries.
        link: The connection to it, None if it has to be started.
        held: The resources it has alone in the whole cluster.
        failed_starts: How often in a row it did not start.
    """

    number: int
    labels: frozenset[str] = frozenset()
    link: Link | None = None
    held: Held | None = None
    failed_starts: int = 0

    def lose(self) -> None:
        """End the worker: its resources may be another's."""
        self.give_back()
        if self.link is not None:
            self.link.kill()

    def give_back(self) -> None:
        """Give back the resources that the worker has alone."""
        held, self.held = self.held, None
        if held is not None:
            held.release()
