"""The budget of a run, and the spending of earlier sessions, as its files record them."""

from __future__ import annotations

import math
import operator
from array import array
from collections.abc import Iterator
from itertools import chain
from typing import TYPE_CHECKING, Annotated

import msgspec

from bench_core.budgets import Budget, Spent
from bench_core.errors import RunFolderError
from bench_core.records import Usage
from bench_core.run_folder.indexed import CountPart, UsagePart

if TYPE_CHECKING:
    from bench_core.run_folder.folder import RunFolder, RunView


def note_budget(folder: RunFolder, budget: Budget) -> None:
    """Write down the budget of the run from now on, for its watchers; nothing without limits."""
    if budget != Budget():
        folder.note("budget", budget.model_dump(mode="json", exclude_none=True))


def spent_before(run: RunView) -> Spent:
    """Return the model calls and the time of all sessions so far.

    Of each trial the larger counts: the calls in its events, one each, or the cost that the attempts in
    its result state. Events know of calls whose trial never got a result, results of calls whose event
    a failing disk did not take. A session that was killed lasted until its last event.

    Raises:
        RunFolderError: An event states an impossible cost of a call.
    """
    total = _Total()
    by_events = _Sizes(run, _calls_of_events(run), total)
    larger = bytearray(map(operator.gt, _Sizes(run, _calls_of_results(run)), by_events))
    if any(larger):  # hardly ever
        total = _Total()
        for place, call in _calls_of_events(run):
            if place is None or not larger[place]:
                total.add(call)
        for place, call in _calls_of_results(run):
            if place is not None and larger[place]:
                total.add(call)
    return Spent(
        usage=Usage(**msgspec.structs.asdict(UsagePart(*total.usage))),
        cost_usd=math.fsum(total.costs),
        unpriced_calls=total.unpriced,
        seconds=_seconds(run),
    )


class _CallCost(msgspec.Struct, gc=False):
    """The cost of a call, as in its event, or of all calls of a source, as in an attempt of a result."""

    usage: UsagePart = msgspec.field(default_factory=UsagePart)
    cost_usd: Annotated[float, msgspec.Meta(ge=0)] | None = None
    unpriced_calls: CountPart = 0
    reported: bool = False


class _CallEvent(msgspec.Struct, gc=False):
    data: _CallCost
    task_id: str | None = None
    trial: Annotated[int, msgspec.Meta(ge=1)] | None = None


class _Attempt(msgspec.Struct, gc=False):
    spent: tuple[_CallCost, ...] = ()


class _Result(msgspec.Struct, gc=False):
    task_id: str
    trial: int = 1
    attempts: tuple[_Attempt, ...] = ()


_EVENT, _RESULT = msgspec.json.Decoder(_CallEvent), msgspec.json.Decoder(_Result)
_Calls = Iterator[tuple[int | None, _CallCost]]


def _calls_of_events(run: RunView) -> _Calls:
    """Yield each call with the place of its trial in the plan."""
    for line in run.events.lines_of("spend"):
        try:
            event = _EVENT.decode(line)
        except msgspec.DecodeError as error:
            raise RunFolderError(
                f"{run.path / 'events.jsonl'} has a call that cannot have cost what it says ({error}): "
                f"restore the file from a copy"
            ) from None
        yield run.standings.place(event.task_id or "", event.trial or 1), event.data


def _calls_of_results(run: RunView) -> _Calls:
    for result in map(_RESULT.decode, run.latest.lines()):
        place = run.standings.place(result.task_id, result.trial)
        for call in chain.from_iterable(each.spent for each in result.attempts):
            if not call.reported:
                # events count them, attempts do not
                call.unpriced_calls = int(call.cost_usd is None)
                yield place, call


class _Total:
    """Adds up calls field by field; adding records would build and check several for each."""

    def __init__(self) -> None:
        self.usage = [0] * len(UsagePart.__struct_fields__)
        self.costs = array("d")
        self.unpriced = 0

    def add(self, call: _CallCost) -> None:
        self.usage = list(map(operator.add, self.usage, msgspec.structs.astuple(call.usage)))
        self.costs.append(call.cost_usd or 0.0)
        self.unpriced += call.unpriced_calls


class _Sizes:
    """Compares two sums over the calls of each planned trial; one of them may lack prices."""

    def __init__(self, run: RunView, calls: _Calls, total: _Total | None = None) -> None:
        self._tokens = array("q", bytes(8 * run.standings.planned))
        self._costs = array("d", bytes(8 * run.standings.planned))
        for place, call in calls:
            if total is not None:
                total.add(call)
            if place is not None:
                self._tokens[place] += call.usage.input_tokens + call.usage.output_tokens
                self._costs[place] += call.cost_usd or 0.0

    def __iter__(self) -> Iterator[tuple[int, float]]:
        return zip(self._tokens, (round(each, 9) for each in self._costs), strict=True)


def _seconds(run: RunView) -> float:
    sessions = run.info.sessions
    last_events = run.events.last_times([each.started for each in sessions])[1:]
    total = 0.0
    for session, last in zip(sessions, last_events, strict=True):
        # A killed session never wrote its end.
        end = session.finished or last or session.started
        total += max(0.0, (end - session.started).total_seconds())
    return total
