"""Which of several runs may start its next trial, if they take turns."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bench_core.budgets import RunBudget
    from bench_core.records import TrialKey
    from bench_core.scheduling.runner import Sink


class TurnTaker(Protocol):
    """The part of a scheduler that runs with shared workers use: see `Scheduler`."""

    @property
    def sink(self) -> Sink:
        """Receives results and events."""
        ...

    @property
    def in_flight(self) -> int:
        """How many trials run now."""
        ...

    @property
    def alone(self) -> bool:
        """Whether a trial of it must run alone."""
        ...

    def start_next(self) -> TrialKey | None:
        """Start a trial and return which, or None if none may start now."""
        ...

    def look_again(self) -> None:
        """See anew what may start."""
        ...

    def leave(self) -> None:
        """Start nothing more, and let running trials end by themselves."""
        ...

    def stop(self) -> None:
        """Start nothing more, and cancel the running trials."""
        ...

    def running(self) -> list[TrialKey]:
        """Return the trials that run now."""
        ...

    def kill_processes(self) -> None:
        """Kill every process group that trials reported."""
        ...


class Turns(Protocol):
    """The resources a run shares with others of the same event loop."""

    @property
    def budgets(self) -> Sequence[RunBudget]:
        """The budgets of all of them together, in addition to the run's own budget."""
        ...

    @property
    def others_run(self) -> bool:
        """Whether trials run, or will, whose end may give this run its turn."""
        ...

    def order(self, keys: Sequence[TrialKey]) -> list[TrialKey]:
        """Return the trials to run now, of those that are left, in their order."""
        ...

    def start(self, scheduler: TurnTaker) -> None:
        """Let this scheduler, or other runs', start all trials that may start now (`Scheduler.start_next`)."""
        ...


class Alone:
    """A run that shares nothing: whatever fits starts."""

    budgets: tuple[RunBudget, ...] = ()
    others_run = False

    def order(self, keys: Sequence[TrialKey]) -> list[TrialKey]:
        """Return all, in the order of the plan."""
        return list(keys)

    def start(self, scheduler: TurnTaker) -> None:
        """Start all trials that fit."""
        while scheduler.start_next() is not None:
            pass
