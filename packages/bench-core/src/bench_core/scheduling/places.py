"""The places in which a scheduler has attempts run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

    from bench_core.protocols import TrialContext
    from bench_core.records import Task, TrialResult
    from bench_core.scheduling.resources import Claim


class Place(Protocol):
    """Room for one attempt."""

    def run(self, task: Task, context: TrialContext) -> Coroutine[Any, Any, TrialResult]:
        """Run the attempt, identified by `context.token`."""
        ...

    def free(self) -> None:
        """Give the place back, when nothing of the attempt can act any more."""
        ...


class Places(Protocol):
    """Gives attempts their places."""

    def has_room(self, claim: Claim) -> bool:
        """Whether there is a place for a trial with this claim."""
        ...

    def take(self, claim: Claim) -> Place:
        """Return a place for a trial with this claim, if there is room."""
        ...


class Anywhere:
    """Any number of places, all the same.

    Args:
        run: Runs one attempt.
    """

    def __init__(
        self, run: Callable[[Task, TrialContext], Coroutine[Any, Any, TrialResult]]
    ) -> None:
        self.run = run

    def has_room(self, claim: Claim) -> bool:
        """Return that there is."""
        del claim
        return True

    def take(self, claim: Claim) -> Place:
        """Return a place."""
        del claim
        return self

    def free(self) -> None:
        """Do nothing."""
