"""The events that a run reports to the display of its progress."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from bench_core.records import SessionOutcome, TrialResult
    from bench_core.run_spec import PlannedTrial


@dataclass(frozen=True)
class RunStart:
    """The state in which a session begins.

    Attributes:
        planned: Trials of the whole run.
        done: Trials that former sessions finished.
        scored: How many of those have a score.
        succeeded: How many of those succeeded.
    """

    run_id: str
    folder: str
    planned: int
    done: int = 0
    scored: int = 0
    succeeded: int = 0
    workers: int = 1


class Progress(Protocol):
    """Receives the events of a run; called in the event loop's thread only."""

    def begin(self, start: RunStart) -> None:
        """A session begins."""
        ...

    def started(self, trial: PlannedTrial, attempt: int) -> None:
        """An attempt has started."""
        ...

    def retrying(self, result: TrialResult, delay_s: float) -> None:
        """An attempt failed and the trial is tried again."""
        ...

    def finished(self, result: TrialResult) -> None:
        """A trial has its result for this session."""
        ...

    def note(self, text: str) -> None:
        """Something people should know."""
        ...

    def end(self, outcome: SessionOutcome) -> None:
        """The session is over."""
        ...


class NoProgress:
    """Shows no progress."""

    def begin(self, start: RunStart) -> None:
        """Do nothing."""

    def started(self, trial: PlannedTrial, attempt: int) -> None:
        """Do nothing."""

    def retrying(self, result: TrialResult, delay_s: float) -> None:
        """Do nothing."""

    def finished(self, result: TrialResult) -> None:
        """Do nothing."""

    def note(self, text: str) -> None:
        """Do nothing."""

    def end(self, outcome: SessionOutcome) -> None:
        """Do nothing."""
