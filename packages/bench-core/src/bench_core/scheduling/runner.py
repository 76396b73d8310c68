"""Starts attempts in a folder of their own and records how they ended."""

from __future__ import annotations

import asyncio
import secrets
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Protocol

from bench_core.budgets import AGENT
from bench_core.processes import ProcessGroups
from bench_core.records import Attempt, Event, Spending
from bench_core.scheduling.attempts import RunningAttempt, StopReason, conclude
from bench_core.trial.own_accord import bordered
from bench_core.trial.results import RERUN, USAGE_REPORTED

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from datetime import datetime
    from pathlib import Path
    from typing import Any

    from pydantic import JsonValue

    from bench_core.budgets import RunBudget, Spent, TrialMeter
    from bench_core.protocols import TrialContext
    from bench_core.records import TrialKey, TrialResult
    from bench_core.run_spec import PlannedTrial, Timeouts
    from bench_core.scheduling.clocks import Clock
    from bench_core.scheduling.places import Place


class Sink(Protocol):
    """Receives results and events; a run folder is one."""

    def append(self, result: TrialResult) -> None:
        """Keep a result."""
        ...

    def event(self, event: Event) -> None:
        """Keep an event."""
        ...

    def new_attempt(self, key: TrialKey) -> Path:
        """Return an empty folder for the next attempt; files of an earlier one are kept aside."""
        ...


@dataclass(eq=False)
class LiveAttempt:
    """An attempt that was started."""

    trial: PlannedTrial
    context: TrialContext
    running: RunningAttempt
    meter: TrialMeter
    processes: ProcessGroups
    started: datetime
    started_at: float
    number: int
    token: str


class AttemptRunner:
    """Starts and concludes single attempts.

    Args:
        sink: Receives results and events.
        context: The part that all attempts share.
        budget: Limits their meters.
        timeouts: When to stop waiting for an attempt.
        clock: Gives the time.
    """

    def __init__(
        self,
        sink: Sink,
        context: TrialContext,
        *,
        budget: RunBudget,
        timeouts: Timeouts,
        clock: Clock,
    ) -> None:
        self._sink = sink
        self._context = context
        self._budget = budget
        self._timeouts = timeouts
        self._clock = clock
        self._closed = False

    def start(self, trial: PlannedTrial, number: int, place: Place, *, alone: bool) -> LiveAttempt:
        """Start attempt `number` of `trial` in an empty folder; `alone` if none runs at the same time."""
        processes = ProcessGroups()
        meter = self._budget.meter()
        token = secrets.token_hex(8)
        context = self._context.for_attempt(
            meter,
            processes,
            {
                "folder": self._sink.new_attempt(trial.key),
                "trial": trial.key.trial,
                "attempt": number,
                "seed": trial.seed,
                "limits": trial.limits,
            },
            token=token,
        )
        started, started_at = self._clock.now(), self._clock.monotonic()
        # before it runs: if the disk takes no record, nothing may be paid for
        self._keep("attempt_started", trial.key, number, {"token": token, "alone": alone})
        running = RunningAttempt(
            bordered(lambda: place.run(trial.task, context), "the trial"),
            deadline_s=self._timeouts.deadline_s(trial.limits),
            cancel_grace_s=self._timeouts.cancel_grace_s,
            name=f"{trial.key.task_id} trial {trial.key.trial} attempt {number}",
        )
        live = LiveAttempt(
            trial, context, running, meter, processes, started, started_at, number, token
        )
        meter.on_spend = self._spend_listener(trial.key, number, running)
        return live

    async def conclude(self, live: LiveAttempt, before: Sequence[Attempt]) -> TrialResult:
        """Return the result of an attempt that has settled; `before` are the trial's earlier ones."""
        # An abandoned attempt still runs: its next model call must not be paid for.
        live.meter.revoked = live.running.abandoned
        stopped = live.meter.stopped
        ask = partial(conclude, live.running, live.trial, live.context, out_of_budget=stopped)
        # the files of an attempt that reports nothing itself are read here: others go on meanwhile
        result = ask() if live.running.reported else await asyncio.to_thread(ask)
        duration_s = max(0.0, self._clock.monotonic() - live.started_at)
        spent = live.meter.spendings()
        attempt = Attempt(
            number=live.number,
            status=result.status,
            started=live.started,
            duration_s=duration_s,
            error=result.error,
            token=live.token,
            spent=spent or result.spent,
        )
        counted = _metered(result, spent)
        metered = any(each.source == AGENT for each in counted["spent"])
        if not metered and result.ending is not None and result.model is not None:
            # it was given a model, and its calls are not known
            live.meter.uncounted(f"no call of {result.model} was counted in {result.task_id!r}")
        again = [RERUN] if any(each.status.done for each in before) else []
        if live.meter.flags or again:
            flags = [*counted.get("flags", result.flags), *live.meter.flags, *again]
            counted["flags"] = tuple(dict.fromkeys(flags))
        self.event(
            "attempt_finished", live, status=result.status.value, duration_s=round(duration_s, 3)
        )
        return result.model_copy(
            update={
                "attempts": (*before, attempt),
                # its own date is of the computer's clock, which may have been set back
                "started": max(result.started or live.started, live.started),
                "timings_s": {"total": duration_s, **result.timings_s},
                **counted,
            }
        )

    def close(self) -> None:
        """Keep no more events: the sink may be closed before an abandoned attempt is over."""
        self._closed = True

    def event(self, kind: str, live: LiveAttempt, **data: JsonValue) -> None:
        """Keep an event of an attempt."""
        self._keep(kind, live.trial.key, live.number, data)

    def _keep(self, kind: str, key: TrialKey, number: int, data: dict[str, JsonValue]) -> None:
        if self._closed:
            return
        self._sink.event(
            Event(
                time=self._clock.now(),
                kind=kind,
                task_id=key.task_id,
                trial=key.trial,
                attempt=number,
                data=data,
            )
        )

    def _spend_listener(
        self, key: TrialKey, number: int, running: RunningAttempt
    ) -> Callable[[str, Spent], None]:
        """Return the receiver of model calls, which agents may report from threads of their own.

        It must not know the meter that calls it: a thousand trials that wait for the garbage
        collector take 15 MB.
        """
        loop = asyncio.get_running_loop()

        def note(source: str, spent: Spent) -> None:
            """Write a model call down before the next one can be made: the process may die during that one."""
            amount = spent.model_dump(mode="json", exclude_defaults=True)
            self._keep("spend", key, number, {"source": source, **amount})
            if self._budget.exhausted is not None and not loop.is_closed():
                # it should end by itself now; some agents swallow every error and go on
                grace_s = self._timeouts.cancel_grace_s
                loop.call_soon_threadsafe(running.stop_later, grace_s, StopReason.BUDGET)

        return note


def _metered(result: TrialResult, spent: Sequence[Spending]) -> dict[str, Any]:
    """Return the meter's counts; the agent's own report only if nothing was metered."""
    own = next((each for each in spent if each.source == AGENT), None)
    if own is not None:
        return {"usage": own.usage, "cost_usd": own.cost_usd, "spent": tuple(spent)}
    reported = [each for each in result.spent if each.reported]
    flags = dict.fromkeys([*result.flags, *([USAGE_REPORTED] if reported else [])])
    return {"flags": tuple(flags), "spent": (*reported, *spent)}
