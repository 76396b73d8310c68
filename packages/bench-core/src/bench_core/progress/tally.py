"""Counting the finished trials of a run and estimating the rest."""

from __future__ import annotations

import time
from collections import Counter
from typing import TYPE_CHECKING

from bench_core.terminal import counted

if TYPE_CHECKING:
    from collections.abc import Callable

    from bench_core.progress.interface import RunStart
    from bench_core.records import TrialResult


class Tally:
    """The counts of a session and of the run it belongs to."""

    def __init__(self, start: RunStart, monotonic: Callable[[], float] = time.monotonic) -> None:
        self.planned = start.planned
        self.finished = start.done
        self.scored = start.scored
        self.succeeded = start.succeeded
        self.unscored: Counter[str] = Counter()
        self.left_out = 0
        self.cost_usd = 0.0
        self.tokens = 0
        self._monotonic = monotonic
        self._began = monotonic()
        self._in_session = 0

    @property
    def elapsed_s(self) -> float:
        """Seconds since the session began."""
        return self._monotonic() - self._began

    @property
    def left(self) -> int:
        """Trials without a result yet."""
        return max(0, self.planned - self.finished)

    @property
    def eta_s(self) -> float | None:
        """Seconds that are probably left, from the pace of this session; None before there is one."""
        if not self._in_session:
            return None
        # This session's trials only: earlier sessions had their own workers and machine.
        return self.elapsed_s / self._in_session * self.left

    def add(self, result: TrialResult) -> None:
        """Count a trial."""
        self.finished += 1
        self._in_session += 1
        self.left_out += sum(each.files for each in result.left_out)
        self.tokens += result.usage.total_tokens
        self.cost_usd += result.cost_usd or 0.0
        if result.score is None:
            self.unscored[result.status.value] += 1
        else:
            self.scored += 1
            self.succeeded += bool(result.success)

    def in_words(self) -> str:
        """Return how many trials succeeded of how many scored, how many got no score, and which files are not kept."""
        words = f"{self.succeeded} of {self.scored} scored succeeded"
        if missing := sum(self.unscored.values()):
            words += f", {missing} unscored"
        if self.left_out:
            words += f", {counted(self.left_out, 'file')} of agents not kept"
        return words
