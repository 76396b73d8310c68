"""One line per trial, for logs and pipes."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, TextIO

from bench_core.progress.interface import RunStart
from bench_core.progress.tally import Tally
from bench_core.terminal import duration, pad, plain_text, shorten, width

if TYPE_CHECKING:
    from collections.abc import Callable

    from bench_core.records import SessionOutcome, TrialResult
    from bench_core.run_spec import PlannedTrial

_STATUS_CELLS = 17
_TIME_CELLS = 12
_NAME_CELLS = 16


class PlainProgress:
    """Writes aligned lines without colours or cursor movements.

    Args:
        stream: Receives the lines.
        redact: Removes secrets from error messages.
        monotonic: Gives the time in seconds, for the estimate of the rest.
    """

    def __init__(
        self,
        stream: TextIO,
        *,
        redact: Callable[[str], str] = str,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._stream = stream
        self._redact = redact
        self._monotonic = monotonic
        self._tally = Tally(RunStart("", "", 0))
        self._name_cells = _NAME_CELLS

    def begin(self, start: RunStart) -> None:
        """Print the plan."""
        self._tally = Tally(start, self._monotonic)
        before = f", {start.done} done before" if start.done else ""
        trials, workers = _count(start.planned, "trial"), _count(start.workers, "worker")
        self._write(f"{start.run_id}: {trials}{before}, {workers}, in {start.folder}")

    def started(self, trial: PlannedTrial, attempt: int) -> None:
        """Print nothing: one line per trial, when it is over."""

    def retrying(self, result: TrialResult, delay_s: float) -> None:
        """Say that a trial is tried again, and why."""
        name = trial_name(result.task_id, result.trial)
        self._write(
            f"{self._counter()}  {pad('try again', _STATUS_CELLS)}    -  "
            f"{pad('in ' + duration(delay_s), _TIME_CELLS, right=True)}  "
            f"{name}{self._reason(result)}"
        )

    def finished(self, result: TrialResult) -> None:
        """Say how a trial ended, and how the run stands."""
        self._tally.add(result)
        score = "   -" if result.score is None else f"{result.score:4.2f}"
        took = duration(result.timings_s.get("total", 0.0))
        name = trial_name(result.task_id, result.trial)
        self._name_cells = max(self._name_cells, width(name))
        self._write(
            f"{self._counter()}  {pad(result.status.value, _STATUS_CELLS)} {score}  "
            f"{pad(took, _TIME_CELLS, right=True)}  {pad(name, self._name_cells)}  {self._standing()}{self._reason(result)}"
        )

    def note(self, text: str) -> None:
        """Write a line."""
        self._write(self._redact(plain_text(text)))

    def end(self, outcome: SessionOutcome) -> None:
        """Say how it ended."""
        took = duration(self._tally.elapsed_s)
        self._write(f"{outcome.replace('_', ' ')} after {took}: {self._tally.in_words()}")

    def _counter(self) -> str:
        total = str(self._tally.planned)
        return f"{self._tally.finished:>{len(total)}}/{total}"

    def _standing(self) -> str:
        eta = self._tally.eta_s
        rest = f", {duration(eta)} left" if eta and self._tally.left else ""
        return f"{self._tally.succeeded} of {self._tally.scored} succeeded{rest}"

    def _reason(self, result: TrialResult) -> str:
        if result.error is None:
            return ""
        return f"  {plain_text(self._redact(result.error.message))}"

    def _write(self, line: str) -> None:
        self._stream.write(line.rstrip() + "\n")
        self._stream.flush()


def trial_name(task_id: str, trial: int) -> str:
    """Return a short name of a trial; the first trial of a task goes by the task's id."""
    name = shorten(task_id, 40)
    return name if trial == 1 else f"{name} #{trial}"


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number:,} {noun}s"
