"""The results of a demo's runs: every trial of one has to get the same score, known beforehand."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from bench_core.records import Record
from bench_core.run_folder.folder import read_run

if TYPE_CHECKING:
    from typing_extensions import Self

    from bench_core.runs.execute import RunOutcome


class DemoRun(Record):
    """The result of one agent of a demo, and the trials with another score than expected."""

    columns: ClassVar[Mapping[str, str]] = {
        "agent": "agent",
        "tasks": "tasks",
        "succeeded": "score 1",
        "failed": "score 0",
        "not_scored": "no score",
        "seconds": "seconds",
        "folder": "run folder",
    }
    """Fields to the headers of their columns; the first one names a run."""

    agent: str
    folder: str
    outcome: str
    tasks: int
    succeeded: int
    failed: int
    not_scored: int
    seconds: float
    unexpected: tuple[str, ...] = ()

    @property
    def as_expected(self) -> bool:
        """Whether every trial got its expected score."""
        return self.outcome == "finished" and not self.unexpected

    @property
    def stopped(self) -> bool:
        """Whether the run was ended from outside, so that no other should follow."""
        return self.outcome in {"interrupted", "aborted"}

    @classmethod
    def of(cls, agent: str, outcome: RunOutcome, *, expected: float, **more: Any) -> Self:
        """Return the result of the run of `agent`, whose trials must all score `expected`.

        `more` are the fields that a runner's own kind of this record adds.
        """
        results = read_run(Path(outcome.folder)).results.values()
        return cls(
            agent=agent,
            folder=outcome.folder,
            outcome=outcome.outcome,
            tasks=outcome.planned,
            succeeded=sum(result.score == 1.0 for result in results),
            failed=sum(result.score == 0.0 for result in results),
            not_scored=sum(result.score is None for result in results),
            seconds=round(outcome.spent.seconds, 1),
            unexpected=tuple(
                f"task {result.task_id}: {result.status.value}, score {result.score}"
                for result in results
                if result.score != expected
            ),
            **more,
        )
