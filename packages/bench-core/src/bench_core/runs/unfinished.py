"""Trials that were running when the process that ran them ended, as the run's files show.

The cause of the process's end is not written down: a segmentation fault or `os._exit` in an agent,
a loop that was blocked, or `kill -9` from outside. So one such end gives no trial the blame. Such trials
run last and one at a time from then on; one whose process ends while it runs alone, and not for the
first time, is given up.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime  # msgspec reads the annotation
from typing import Annotated, Any

import msgspec

from bench_core.protocols import TrialContext
from bench_core.records import Attempt, ErrorInfo, Status, Task, TrialKey, TrialResult
from bench_core.records.vocabulary import FailureMode
from bench_core.run_folder.view import RunView
from bench_core.trial.results import RERUN, unscored_result

PROCESS_ENDED = "process_ended"
"""Flags results of trials that were given up because the process that ran them ended."""


@dataclass(frozen=True)
class Unfinished:
    """The attempts at one trial that began and never ended, since the last one that did.

    Attributes:
        attempts: As records, the oldest first.
        alone: Whether the last of them was the only trial that ran.
    """

    attempts: tuple[Attempt, ...]
    alone: bool

    def exhausts(self, attempts: int) -> bool:
        """Whether to give up a trial: `attempts` or more in a row never ended, the last of them alone."""
        return self.alone and len(self.attempts) >= attempts


def unfinished_attempts(run: RunView, left: Collection[TrialKey]) -> dict[TrialKey, Unfinished]:
    """Return which of the trials `left` were running when a process of the run ended.

    Those that a second Ctrl-C ended are left out: the user did that.
    """
    begun: dict[tuple[str, int], list[_Event]] = {}
    starts = [session.started for session in run.info.sessions]
    # making records of them would take four times as long
    for event in map(
        _EVENT.decode, run.events.lines_of("stopped_now", "attempt_started", "attempt_finished")
    ):
        if event.kind == "stopped_now":
            now = bisect_right(starts, event.time)
            begun = {
                key: kept
                for key, events in begun.items()
                if (kept := [each for each in events if bisect_right(starts, each.time) != now])
            }
        elif event.task_id is not None and event.trial is not None:
            key = event.task_id, event.trial
            if event.kind == "attempt_started":
                begun.setdefault(key, []).append(event)
            elif event.kind == "attempt_finished":
                begun.pop(key, None)
    # of the session that began an attempt; a killed one never wrote its end
    last_signs = run.events.last_times(starts)
    return {
        trial: Unfinished(
            tuple(
                _attempt(each, last_signs[bisect_right(starts, each.time)] or each.time)
                for each in events
            ),
            events[-1].data.get("alone") is True,
        )
        for key, events in begun.items()
        if (trial := TrialKey(task_id=key[0], trial=key[1])) in left
    }


class _Event(msgspec.Struct, gc=False):
    time: datetime
    kind: str
    task_id: str | None = None
    trial: Annotated[int, msgspec.Meta(ge=1)] | None = None
    attempt: int | None = None
    data: dict[str, Any] = msgspec.field(default_factory=dict)


_EVENT = msgspec.json.Decoder(_Event)


def _attempt(event: _Event, end: datetime) -> Attempt:
    token = event.data.get("token")
    return Attempt(
        number=event.attempt or 1,
        status=Status.ENVIRONMENT_ERROR,
        started=event.time,
        duration_s=(end - event.time).total_seconds(),
        error=ErrorInfo(kind="ProcessEnded", message="the process that ran it ended before it did"),
        token=token if isinstance(token, str) else None,
    )


def given_up(task: Task, context: TrialContext, attempts: Sequence[Attempt]) -> TrialResult:
    """Return the result of a trial that ended its process repeatedly.

    It has no score: its effect on its process shows, but not whose code caused it.
    """
    times = len(attempts)
    error = ErrorInfo(
        kind="ProcessEnded",
        message=f"the process that ran it ended {times} times while it ran, the last time while nothing "
        f"else ran: a crash in native code, os._exit, or a blocked event loop",
        phase="agent",
    )
    fields = {
        "status": Status.ENVIRONMENT_ERROR,
        "error": error,
        "flags": (PROCESS_ENDED, *([RERUN] if any(each.status.done for each in attempts) else [])),
        "failure_mode": FailureMode.ENVIRONMENT_ERROR,
        "attempts": tuple(attempts),
    }
    return unscored_result(task, context, fields)
