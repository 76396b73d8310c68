"""A run folder while it is written: trials that have ended, that run now, that are left."""

from __future__ import annotations

import contextlib
import time
from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime, timezone
from itertools import islice
from pathlib import Path
from typing import Any, Generic, TypeVar

from pydantic import ValidationError

from bench_core.budgets import Budget, Spent
from bench_core.errors import NotEstimableError, RunFolderError
from bench_core.files import open_inside
from bench_core.records import (
    SUCCESS_SCORE,
    Event,
    Record,
    RunInfo,
    SessionOutcome,
    TrialKey,
    TrialResult,
)
from bench_core.run_folder import is_intact, read_info, read_run, read_tasks
from bench_core.statistics import Interval, Look, success_rate_interval
from bench_core.terminal import counted

R = TypeVar("R", bound=Record)
_MOST_BAD = 10_000
_STARTED, _FINISHED, _LOOK = "attempt_started", "attempt_finished", "look"
_BUDGET, _SPEND = "budget", "spend"


class InFlight(Record):
    """A trial that has started and not ended."""

    task_id: str
    trial: int
    attempt: int
    since: datetime


class LiveBudget(Record):
    """Limits and spending of a run, calls of trials that still run included; `None` means unlimited."""

    max_cost_usd: float | None = None
    max_tokens: int | None = None
    max_minutes: float | None = None
    cost_usd: float = 0.0
    tokens: int = 0
    minutes: float = 0.0


class Snapshot(Record):
    """How far a run has come.

    Attributes:
        outcome: Of the last process that worked on it.
        planned: Trials in all.
        ended: Trials with a result.
        scored: Trials with a score.
        succeeded: Successes among them.
        rate: Success rate on new tasks, with its interval; `None` until every planned trial has
            ended, because an interval that is read all the time is not valid.
        look: The last look of a run that may stop early, whose interval is valid before the end.
        to_look: How many trials must end until the next look; `None` if none is to come.
        budget: The run's budget, if it has one.
        statuses: Ended trials by status.
        failure_modes: Failed trials by failure mode.
        cost_usd: Of trials whose cost is known.
        in_flight: Trials that run now, the longest first.
        recent: The trials that ended last.
        failures: Those of them that ended last without success, the newest first.
        elapsed_s: Since the last process started.
        eta_s: Until the end at the speed of that process; `None` before it has finished a trial.
        damage: Files that are not as written, a sentence each; the numbers above leave them out.
    """

    run_id: str
    agent: str
    benchmark: str
    model: str | None = None
    outcome: SessionOutcome | None
    planned: int
    ended: int
    scored: int
    succeeded: int
    rate: Interval | None = None
    look: Look | None = None
    to_look: int | None = None
    budget: LiveBudget | None = None
    statuses: dict[str, int]
    failure_modes: dict[str, int]
    cost_usd: float
    tokens: int
    in_flight: tuple[InFlight, ...] = ()
    recent: tuple[TrialResult, ...] = ()
    failures: tuple[TrialResult, ...] = ()
    elapsed_s: float
    eta_s: float | None = None
    damage: tuple[str, ...] = ()

    @property
    def over(self) -> bool:
        """Whether no process works on it any more."""
        return self.outcome != "running"


class _Tail(Generic[R]):
    """Reads the records that were appended to a file since it was last read."""

    def __init__(self, path: Path, model: type[R]) -> None:
        self._path, self._model = path, model
        self._offset = 0
        self.bad = 0

    def new(self) -> tuple[list[R], bool]:
        """Return the new records, and whether the file was replaced so that all begin again."""
        try:
            size = self._path.stat().st_size
        except FileNotFoundError:
            return [], self._restart()
        # shorter than before: another file took its place
        again = size < self._offset and self._restart()
        with open_inside(self._path.parent, self._path.name) as file:
            file.seek(self._offset)
            data = file.read()
        whole = data[: data.rfind(b"\n") + 1]  # the last line may still be written
        self._offset += len(whole)
        return [each for line in whole.splitlines() for each in self._record(line)], again

    def _record(self, line: bytes) -> Iterator[R]:
        with contextlib.suppress(ValidationError):
            record = self._model.model_validate_json(line)
            if is_intact(record, line):
                yield record
                return
        self.bad += 1
        if self.bad > _MOST_BAD:
            raise RunFolderError(
                f"{self._path} has more than {_MOST_BAD:,} lines that are no records: see "
                f"`bench-core check {self._path.parent}`"
            )

    def _restart(self) -> bool:
        begun, self._offset, self.bad = self._offset > 0, 0, 0
        return begun

    @property
    def damage(self) -> tuple[str, ...]:
        """Return in a sentence how many lines could not be read."""
        return (
            (f"{self._path.name} has {counted(self.bad, 'more damaged line')}",) if self.bad else ()
        )


class ProgressReader:
    """Follows one run folder; each `read` parses only new lines.

    Args:
        path: The run folder.
        now: Returns the current time.

    Raises:
        RunFolderError: The run is missing, or its tasks are missing or damaged.
    """

    def __init__(self, path: Path, *, now: Callable[[], datetime] | None = None) -> None:
        self._path = path
        self._now = now or (lambda: datetime.now(timezone.utc))
        self._tasks = {each.task_id: each for each in read_tasks(path, read_info(path))}
        self._result_tail = _Tail(path / "results.jsonl", TrialResult)
        self._event_tail = _Tail(path / "events.jsonl", Event)
        self._results: dict[TrialKey, TrialResult] = {}
        self._in_flight: dict[TrialKey, InFlight] = {}
        self._order: list[TrialKey] = []
        self._last_look: Look | None = None
        self._limits: tuple[datetime, Budget] | None = None
        self._last_events: dict[int, datetime] = {}
        self._metered: defaultdict[TrialKey | None, Spent] = defaultdict(Spent)
        self._whole: tuple[int, bool] | None = None
        self._whole_damage: tuple[str, ...] = ()

    def read(self) -> Snapshot:
        """Read new lines and return how far the run is."""
        results, again = self._result_tail.new()
        if again:
            self._results.clear()
            self._order.clear()
        for result in results:
            if result.task_id not in self._tasks:
                continue  # not planned: `build` reports it as damage
            self._results[result.key] = result
            self._order.append(result.key)
            self._in_flight.pop(result.key, None)
        info = read_info(self._path)
        self._read_events([each.started for each in info.sessions])
        return self._snapshot(info)

    def _read_events(self, session_starts: Sequence[datetime]) -> None:
        events, again = self._event_tail.new()
        if again:
            self._in_flight.clear()
            self._metered.clear()
            self._last_events.clear()
        for event in events:
            session = bisect_right(session_starts, event.time) - 1
            self._last_events[session] = max(event.time, self._last_events.get(session, event.time))
            self._note(event)
            if event.task_id is None or event.trial is None:
                continue
            key = TrialKey(task_id=event.task_id, trial=event.trial)
            if event.kind == _STARTED:
                self._in_flight[key] = InFlight(
                    task_id=key.task_id,
                    trial=key.trial,
                    attempt=event.attempt or 1,
                    since=event.time,
                )
            elif event.kind == _FINISHED:
                self._in_flight.pop(key, None)

    def _note(self, event: Event) -> None:
        """Keep the last look, the limits, and the spending."""
        try:
            if event.kind == _LOOK:
                self._last_look = Look.model_validate(event.data)
            elif event.kind == _BUDGET:
                self._limits = event.time, Budget.model_validate(event.data)
            elif event.kind == _SPEND:
                amount = {name: each for name, each in event.data.items() if name != "source"}
                key = event.task_id and TrialKey(task_id=event.task_id, trial=event.trial or 1)
                self._metered[key or None] += Spent.model_validate(amount)
        except ValidationError:
            return  # events are for watching; following the run goes on without this one

    def _snapshot(self, info: RunInfo) -> Snapshot:
        results = list(self._results.values())
        session = info.sessions[-1] if info.sessions else None
        began = session.started if session else info.started
        over = session is None or session.outcome != "running"
        elapsed = ((session and session.finished) or self._now()) - began
        planned = len(self._tasks) * info.trials
        latest = list(dict.fromkeys(reversed(self._order)))
        failed = (self._results[key] for key in latest)
        # a process that was killed leaves trials that started and will not end
        running = () if over else sorted(self._in_flight.values(), key=lambda each: each.since)
        return Snapshot(
            run_id=info.run_id,
            agent=info.agent,
            benchmark=info.benchmark,
            model=info.model,
            outcome=session.outcome if session else None,
            planned=planned,
            ended=len(results),
            scored=sum(each.score is not None for each in results),
            succeeded=sum(each.success is True for each in results),
            rate=self._rate() if len(results) >= planned else None,
            look=self._last_look,
            to_look=None if over else self._to_look(info),
            budget=self._budget(info),
            statuses=dict(Counter(each.status.value for each in results).most_common()),
            failure_modes=dict(
                Counter(
                    each.failure_mode or "unclassified" for each in results if each.success is False
                ).most_common(5)
            ),
            cost_usd=sum(each.cost_usd or 0.0 for each in results),
            tokens=sum(each.usage.total_tokens for each in results),
            in_flight=tuple(running),
            recent=tuple(self._results[key] for key in latest[:_RECENT]),
            failures=tuple(islice((each for each in failed if each.success is not True), _RECENT)),
            elapsed_s=max(0.0, elapsed.total_seconds()),
            eta_s=None
            if over
            else self._eta(began, planned - len(results), only=len(info.sessions) == 1),
            damage=self._damage(len(info.sessions), over=over),
        )

    def _damage(self, sessions: int, *, over: bool) -> tuple[str, ...]:
        """Return the damage found by the first reading, by one after a session's end, and in later lines."""
        if self._whole != (sessions, over):
            self._whole = sessions, over
            try:
                self._whole_damage = read_run(self._path).damage
            except RunFolderError as error:  # whose sentence tells it
                self._whole_damage = (str(error),)
            self._result_tail.bad = self._event_tail.bad = 0
        return (*self._whole_damage, *self._result_tail.damage, *self._event_tail.damage)

    def _rate(self) -> Interval | None:
        scores: defaultdict[str, list[float]] = defaultdict(list)
        for result in self._results.values():
            if result.score is not None:
                scores[result.task_id].append(float(result.score >= SUCCESS_SCORE))
        clusters = {key: task.template for key, task in self._tasks.items() if task.template}
        try:
            return success_rate_interval(scores, clusters=clusters)
        except NotEstimableError:
            return None

    def _to_look(self, info: RunInfo) -> int | None:
        """Return how many trials of the next batch have not ended."""
        batches = (info.stopping_rule or {}).get("batches")
        reached = self._last_look.number if self._last_look else 0
        if not isinstance(batches, list) or reached >= len(batches):
            return None
        seen = {
            str(each)
            for batch in batches[: reached + 1]
            if isinstance(batch, list)
            for each in batch
        }
        done = sum(key.task_id in seen for key in self._results)
        return max(0, len(seen) * info.trials - done)

    def _budget(self, info: RunInfo) -> LiveBudget | None:
        if self._limits is None or not info.sessions:
            return None
        since, limits = self._limits
        if since < info.sessions[-1].started:
            return None  # an earlier process's: this one has none
        # Of each trial the larger counts: one that still runs has no result, a lost event is in it.
        keys: set[TrialKey | None] = {*self._metered, *self._results}
        spent = [
            (self._metered.get(key, Spent()), self._results.get(key) if key else None)
            for key in keys
        ]
        seconds = 0.0
        for number, session in enumerate(info.sessions):
            # One that was killed lasted until its last event.
            end = session.finished or self._last_events.get(number, session.started)
            end = self._now() if session.outcome == "running" else end
            seconds += (end - session.started).total_seconds()
        return LiveBudget(
            **limits.model_dump(),
            cost_usd=sum(max(m.cost_usd, (r and r.cost_usd) or 0.0) for m, r in spent),
            tokens=sum(
                max(m.usage.total_tokens, r.usage.total_tokens if r else 0) for m, r in spent
            ),
            minutes=max(0.0, seconds / 60),
        )

    def _eta(self, began: datetime, left: int, *, only: bool) -> float | None:
        """Estimate the time left from the speed of this process; `only`: no other has worked on the run."""
        # A run that is continued has results from before, which took none of this process's time.
        timed = [each.started for each in self._results.values() if each.started]
        own = sum(each >= began for each in timed)
        if only and not timed:  # results that do not say when they began
            own = len(self._results)
        if not own or left <= 0:
            return None
        return (self._now() - began).total_seconds() / own * left


_RECENT = 8


def snapshots(
    reader: ProgressReader,
    *,
    every_s: float = 1.0,
    once: bool = False,
    sleep: Callable[[float], None] = time.sleep,
) -> Iterator[Snapshot]:
    """Yield how far a run is, again and again until no process works on it any more."""
    while True:
        found = reader.read()
        yield found
        if once or found.over:
            return
        sleep(every_s)


_OF_TRIAL: Any = {
    **dict.fromkeys(("task_id", "trial", "status", "score", "failure_mode", "cost_usd"), True),
    "error": {"kind", "message", "phase"},
}
_CLOCKS = {"elapsed_s", "eta_s"}


def changes(found: Iterable[Snapshot]) -> Iterator[dict[str, Any]]:
    """Yield the first snapshot as JSON, and then the changed fields whenever more than the time has changed.

    Trials have their keys and ends only; of `recent` and `failures` only new ones follow.
    """
    known: dict[str, Any] = {}
    for each in found:
        shown = dict.fromkeys(Snapshot.model_fields, True)
        of_trials = {name: {"__all__": _OF_TRIAL} for name in ("recent", "failures")}
        now = each.model_dump(mode="json", include={**shown, **of_trials})
        told = dict(now)
        if known:
            told = {name: value for name, value in now.items() if value != known[name]}
            for name in ("recent", "failures"):
                if name in told:
                    told[name] = [one for one in now[name] if one not in known[name]]
        spent = {**(now["budget"] or {}), "minutes": None}
        clocks = _CLOCKS | ({"budget"} if spent == known.get("spent") else set())
        if told.keys() - clocks:
            yield told
            known = now | {"spent": spent}
