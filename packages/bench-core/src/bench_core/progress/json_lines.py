"""One JSON object per line, for machines."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from collections.abc import Callable

    from bench_core.progress.interface import RunStart
    from bench_core.records import SessionOutcome, TrialResult
    from bench_core.run_spec import PlannedTrial


class JsonProgress:
    """Writes events as JSON lines, each with the member `event`."""

    def __init__(self, stream: TextIO, *, redact: Callable[[str], str] = str) -> None:
        self._stream = stream
        self._redact = redact

    def begin(self, start: RunStart) -> None:
        """Write `run_started`."""
        self._write("run_started", asdict(start))

    def started(self, trial: PlannedTrial, attempt: int) -> None:
        """Write `trial_started`."""
        key = trial.key
        self._write(
            "trial_started", {"task_id": key.task_id, "trial": key.trial, "attempt": attempt}
        )

    def retrying(self, result: TrialResult, delay_s: float) -> None:
        """Write `trial_retried`."""
        self._write("trial_retried", {**_essence(result), "delay_s": round(delay_s, 3)})

    def finished(self, result: TrialResult) -> None:
        """Write `trial_finished`."""
        self._write("trial_finished", _essence(result))

    def note(self, text: str) -> None:
        """Write `note`."""
        self._write("note", {"text": text})

    def end(self, outcome: SessionOutcome) -> None:
        """Write `run_ended`."""
        self._write("run_ended", {"outcome": outcome})

    def _write(self, event: str, data: dict[str, object]) -> None:
        self._stream.write(self._redact(json.dumps({"event": event, **data})) + "\n")
        # Readers follow the lines through a pipe, which is buffered otherwise.
        self._stream.flush()


def _essence(result: TrialResult) -> dict[str, object]:
    return {
        "task_id": result.task_id,
        "trial": result.trial,
        "status": result.status.value,
        "score": result.score,
        "attempts": len(result.attempts),
        "duration_s": result.timings_s.get("total"),
        "cost_usd": result.cost_usd,
        "error": None if result.error is None else result.error.message,
    }
