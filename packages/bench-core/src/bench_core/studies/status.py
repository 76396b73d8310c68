"""How far a study is: read from its run folders, also while it runs."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from pathlib import Path

from pydantic import NonNegativeFloat, NonNegativeInt

from bench_core.budgets import Spent
from bench_core.files.locks import is_written
from bench_core.records import Record
from bench_core.run_folder.view import read_run
from bench_core.runs.spending import spent_before
from bench_core.statistics.looks import Look
from bench_core.studies.declaration import (
    begun_runs,
    declared_study,
    read_changes,
    read_reused,
    require_sealed,
    run_folder,
)
from bench_core.studies.looking import StudyLooks
from bench_core.studies.order import RunName

__all__ = ["ArmStatus", "LookTaken", "StudyStatus", "study_status"]

_RECENT = timedelta(minutes=30)
"""The time left is guessed from trials that ended in so many minutes, if any did."""


class ArmStatus(Record):
    """How far an arm is on a benchmark.

    Attributes:
        state: How its last session ended; `running`: its process lives; `killed`: it does not; `decided`: a look
            ended it; `reused`: taken from an earlier run; `not begun`.
        planned: Trials.
        done: Those with a lasting result.
        added: Whether it was not declared when the study was sealed.
    """

    benchmark: str
    arm: str
    state: str
    planned: NonNegativeInt
    done: NonNegativeInt = 0
    scored: NonNegativeInt = 0
    succeeded: NonNegativeInt = 0
    spent: Spent = Spent()
    added: bool = False


class LookTaken(Record):
    """A declared look that has been taken."""

    benchmark: str
    baseline: str
    arm: str
    look: Look


class StudyStatus(Record):
    """How far a study is.

    Attributes:
        sealed: When its comparisons were declared.
        changes: How many changes were made after that.
        seconds_left: As fast as lately; None while nothing ends, or nothing is left.
        max_cost: The study's limit in dollars.
        running: Whether a process works on it.
    """

    name: str
    folder: str
    sealed: datetime
    changes: NonNegativeInt
    arms: tuple[ArmStatus, ...]
    looks: tuple[LookTaken, ...] = ()
    spent: Spent
    max_cost: float | None = None
    seconds_left: NonNegativeFloat | None = None
    running: bool = False

    @property
    def left(self) -> int:
        """How many trials are still to run."""
        return sum(each.planned - each.done for each in self.arms if each.state != "decided")


def study_status(folder: Path, *, now: datetime | None = None) -> StudyStatus:
    """Read how far the study in a folder is; may be asked while it runs.

    Raises:
        InputError: The folder has no sealed study.
    """
    sealed, study, reused = require_sealed(folder), declared_study(folder), read_reused(folder)
    now = now or datetime.now(timezone.utc)
    declared = {
        RunName(each.name, arm): each.count * sealed.trials
        for each in sealed.benchmarks
        for arm in sealed.arms
    }
    runs = {name: read_run(run_folder(folder, name)) for name in begun_runs(folder)}
    looks = StudyLooks.of(study, sealed)
    recent, oldest = 0, now
    for name, run in runs.items():
        for result in run.results.values():
            looks.add(name, result)
            if result.status.done and result.started and now - result.started < _RECENT:
                recent += 1
                oldest = min(oldest, result.started)
    arms = []
    for name in {**declared, **runs}:
        fields = {"benchmark": name.benchmark, "arm": name.arm, "added": name not in declared}
        if name not in runs:
            arms.append(ArmStatus(**fields, state="not begun", planned=declared[name]))
            continue
        run = runs[name]
        standings = list(run.standings)
        state: str = run.info.sessions[-1].outcome
        if name in reused:
            state = "reused"
        elif name in looks.decided:
            state = "decided"
        elif state == "running" and not is_written(run.path):
            state = "killed"
        arms.append(
            ArmStatus(
                **fields,
                state=state,
                planned=run.standings.planned,
                done=sum(each.status.done for each in standings),
                scored=sum(each.status.scored for each in standings),
                succeeded=sum(bool(each.success) for each in standings),
                spent=Spent() if name in reused else spent_before(run),
            )
        )
    found = StudyStatus(
        name=sealed.name,
        folder=str(folder),
        sealed=sealed.time,
        changes=len(read_changes(folder)),
        arms=tuple(arms),
        looks=tuple(
            LookTaken(benchmark=pair.benchmark, baseline=pair.baseline, arm=pair.arm, look=look)
            for pair, look in looks.looks
        ),
        spent=sum((each.spent for each in arms), Spent()),
        max_cost=study.limits.max_cost,
        running=is_written(folder),
    )
    passed = (now - oldest).total_seconds()
    left = passed / recent * found.left if recent and found.left else None
    return found.model_copy(update={"seconds_left": left})
