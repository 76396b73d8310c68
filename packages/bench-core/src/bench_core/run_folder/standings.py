"""How the trials of a run stand while it is written: which are done, and what their folders hold."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, NamedTuple

from bench_core.run_folder.view import kept_attempts

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from bench_core.records import Status, TrialKey, TrialResult


class Standing(NamedTuple):
    """The part of a trial's last result that the state of the run depends on."""

    status: Status
    success: bool | None
    suspect: bool


class TrialStandings:
    """How each trial stands, kept without its result: a run has up to two million.

    Attributes:
        by_trial: How each trial stands that has a result, by task and number.
    """

    def __init__(self, latest: Iterable[TrialResult], to_rerun: Iterable[TrialKey]) -> None:
        """Begin with the last result of each trial, and with the trials that are to run again."""
        self.by_trial: dict[tuple[str, int], Standing] = {}
        self._sequences: dict[tuple[str, int], int | None] = {}
        for result in latest:
            self._set(result)
        self._to_rerun = set(to_rerun)

    def note(self, result: TrialResult) -> None:
        """Count `result` as the trial's last one."""
        self._set(result)
        if self._to_rerun:
            self._to_rerun.discard(result.key)

    def is_done(self, key: TrialKey) -> bool:
        """Return whether a trial has a lasting result and is not to run again."""
        standing = self.by_trial.get((key.task_id, key.trial))
        return standing is not None and standing.status.done and key not in self._to_rerun

    def run_again(self, trials: Iterable[TrialKey]) -> None:
        """Count `trials` as not done until each has a new result."""
        self._to_rerun.update(trials)

    def place_to_keep(self, run: Path, key: TrialKey) -> Path:
        """Return where what lies in a trial's folder is to be kept: named by its result, if it has one."""
        archive, identity = kept_attempts(run, key), (key.task_id, key.trial)
        sequence = self._sequences.get(identity)
        if sequence is not None and not (kept := archive / f"result-{sequence}").exists():
            return kept
        names = (f"unfinished-{n}" for n in itertools.count(1))
        return next(p for name in names if not (p := archive / name).exists())

    def begin_attempt(self, key: TrialKey) -> None:
        """Note that what lies in the trial's folder from now on is no result's."""
        self._sequences.pop((key.task_id, key.trial), None)

    def _set(self, result: TrialResult) -> None:
        identity = (result.task_id, result.trial)
        self.by_trial[identity] = Standing(result.status, result.success, bool(result.suspect))
        self._sequences[identity] = result.sequence
