"""Budgets of a run in dollars, tokens and minutes, and the meters that keep them.

Trials report each model call to their meter (`TrialContext.meter`). The call that spends the last
of the budget raises `BudgetExceededError` in its trial; no new trial starts after that, trials in
flight stop at their own next call, and the spending counts again when the run is resumed.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from contextvars import ContextVar
from typing import Annotated

from pydantic import Field, NonNegativeFloat, PositiveInt

from bench_core.errors import BudgetExceededError, InputError, RunFolderError
from bench_core.protocols import LatestCall, Meter
from bench_core.records import Dollars, Record, Spending, Usage

__all__ = ["Budget", "RunBudget", "Spent", "TrialMeter"]

AGENT = "agent"
"""The source of calls if none is named."""

TRIAL_METER: ContextVar[Meter | None] = ContextVar("trial_meter", default=None)
"""Counts the calls of the agent that works here: each `Model` asks for it, whoever opened the model."""

USAGE_UNKNOWN = "usage_unknown"
"""Flags results whose usage includes a call that could not be counted."""

_SECONDS_PER_MINUTE = 60
_GIVEN_UP = "the scheduler has given this attempt up"


class Budget(Record):
    """Limits on the spending of a whole run; `None` means no limit."""

    max_cost_usd: Annotated[float, Field(gt=0)] | None = None
    max_tokens: PositiveInt | None = None
    max_minutes: Annotated[float, Field(gt=0)] | None = None

    def exceeded_by(self, spent: Spent) -> str | None:
        """Return which limit is reached in words, or None."""
        if self.max_cost_usd is not None:
            if spent.unpriced_calls:
                return "a model call has no known price, so the budget in dollars cannot be kept"
            if spent.cost_usd >= self.max_cost_usd:
                return f"${spent.cost_usd:.4f} of ${self.max_cost_usd:g} are spent"
        if self.max_tokens is not None and spent.usage.total_tokens >= self.max_tokens:
            return f"{spent.usage.total_tokens:,} of {self.max_tokens:,} tokens are used"
        minutes = spent.seconds / _SECONDS_PER_MINUTE
        if self.max_minutes is not None and minutes >= self.max_minutes:
            return f"{minutes:.1f} of {self.max_minutes:g} minutes are over"
        return None


class Spent(Record):
    """The spending so far.

    `unpriced_calls` are model calls whose cost is unknown, so that `cost_usd` is too low.
    """

    usage: Usage = Usage()
    cost_usd: Dollars = 0.0
    unpriced_calls: Annotated[int, Field(ge=0)] = 0
    seconds: NonNegativeFloat = 0.0

    def __add__(self, other: Spent) -> Spent:
        return Spent(
            usage=self.usage + other.usage,
            cost_usd=self.cost_usd + other.cost_usd,
            unpriced_calls=self.unpriced_calls + other.unpriced_calls,
            seconds=self.seconds + other.seconds,
        )

    @classmethod
    def call(cls, usage: Usage, cost_usd: float | None) -> Spent:
        """Return the spending of one model call."""
        if cost_usd is None:
            return cls(usage=usage, unpriced_calls=1)
        return cls(usage=usage, cost_usd=cost_usd)


_NOTHING = Spent()


class RunBudget:
    """Adds up the spending of a run and knows when its budget is gone.

    Args:
        budget: The limits.
        spent: The spending of the run's earlier sessions.
        seconds: How long this session has been running; for the budget in minutes.
        shared: Budgets of this run and others together: its spending counts there, and it may spend nothing
            once one of them is gone.
    """

    def __init__(
        self,
        budget: Budget | None = None,
        *,
        spent: Spent | None = None,
        seconds: Callable[[], float] = lambda: 0.0,
        shared: Sequence[RunBudget] = (),
    ) -> None:
        self._shared = shared
        self.budget = budget or Budget()
        self._unlimited = self.budget == Budget()
        self._spent = spent or Spent()
        self._seconds = seconds
        self._unkept: str | None = None
        self._lock = threading.Lock()

    @property
    def spent(self) -> Spent:
        """The spending of the run in all sessions until now."""
        return self._spent + Spent(seconds=max(0.0, self._seconds()))

    @property
    def exhausted(self) -> str | None:
        """Which limit is reached in words, or None while there is something left."""
        if self._unkept is not None:
            return self._unkept
        for each in self._shared:
            if (reason := each.exhausted) is not None:
                return reason
        if self._unlimited:  # adding up first is 3% of the cost of a trivial trial
            return None
        return self.budget.exceeded_by(self.spent)

    @property
    def bounded(self) -> bool:
        """Whether there is a limit in dollars or tokens."""
        own = self.budget.max_cost_usd is not None or self.budget.max_tokens is not None
        return own or any(each.bounded for each in self._shared)

    def cannot_be_kept(self, reason: str) -> None:
        """End the run's budget because the limited amount is not known, for a `reason` in words."""
        self._unkept = self._unkept or reason
        for each in self._shared:
            if each.bounded:
                each.cannot_be_kept(reason)

    @property
    def seconds_left(self) -> float | None:
        """Seconds until the budget in minutes is over, or None without one."""
        left = [each.seconds_left for each in self._shared]
        if self.budget.max_minutes is not None:
            left.append(self.budget.max_minutes * _SECONDS_PER_MINUTE - self.spent.seconds)
        return min((max(0.0, each) for each in left if each is not None), default=None)

    def add(self, spent: Spent) -> None:
        """Count something spent; safe to call from several threads."""
        with self._lock:
            self._spent += spent
        for each in self._shared:
            each.add(spent)

    def meter(self) -> TrialMeter:
        """Return a meter for one attempt."""
        return TrialMeter(self)


class TrialMeter:
    """The live meter of one attempt.

    Attributes:
        spent: The spending of the attempt.
        by_source: The same by caller: the agent, a judge, ...
        stopped: Whether a call of the attempt was refused because the budget is spent.
        on_spend: Receives source and amount of each model call, in the thread that made it.
        revoked: Whether the attempt was given up: its next call stops it.
        flags: Flags of the attempt's result that say how its calls were counted.
        latest: How the agent's latest call went.
    """

    def __init__(self, run: RunBudget) -> None:
        self.spent = _NOTHING
        self.by_source: dict[str, Spent] = {}
        self.stopped = False
        self.on_spend: Callable[[str, Spent], None] | None = None
        self.revoked = False
        self.flags: dict[str, None] = {}
        self.latest = LatestCall()
        self._run = run
        self._lock = threading.Lock()

    @property
    def exhausted(self) -> str | None:
        """Why the next call would be one too many, in words; None while there is something left."""
        if self.revoked:
            return _GIVEN_UP
        reason = self._run.exhausted
        return None if reason is None else f"the run's budget is spent: {reason}"

    @property
    def bounded(self) -> bool:
        """Whether the run has a budget in dollars or tokens, of its own or shared."""
        return self._run.bounded

    def spend(self, usage: Usage, cost_usd: float | None = None) -> None:
        """Count one model call.

        Raises:
            BudgetExceededError: The run's budget is spent or the attempt was given up; stop it.
        """
        self.spend_as(AGENT, usage, cost_usd)

    def of(self, source: str) -> Meter:
        """Return the meter of another source of calls on the same budget."""
        return _SourceMeter(self, source)

    def spend_as(self, source: str, usage: Usage, cost_usd: float | None = None) -> None:
        """Count one model call of `source`; see `spend`."""
        call = Spent.call(usage, cost_usd)
        with self._lock:  # agents may call models from several threads
            self.spent += call
            self.by_source[source] = self.by_source.get(source, Spent()) + call
        self._run.add(call)
        reason = self._run.exhausted
        self.stopped = self.stopped or reason is not None
        # Before anything is raised: the call was made and is paid for.
        if self.on_spend is not None:
            self._hand_on(source, call, self.on_spend)
        if self.revoked:
            raise BudgetExceededError(_GIVEN_UP)
        if reason is not None:
            raise BudgetExceededError(f"the run's budget is spent: {reason}")

    def uncounted(self, why: str) -> None:
        """Note spending of the attempt that cannot be counted, before such a call is spent.

        A budget that cannot be kept without ends with it.
        """
        self.flags[USAGE_UNKNOWN] = None
        if self.bounded:
            self._run.cannot_be_kept(
                f"{why}, so no budget in tokens or dollars can be kept: use --max-minutes instead"
            )

    def _hand_on(self, source: str, call: Spent, on_spend: Callable[[str, Spent], None]) -> None:
        """Have a call written down; if that fails, the next one must not be made.

        A process that dies then would forget the paid call, and a full disk takes no
        result either.
        """
        try:
            on_spend(source, call)
        except RunFolderError as error:
            self.stopped = True  # not the agent's doing: the trial gets no score
            raise BudgetExceededError(f"what was spent cannot be written down: {error}") from error

    def spendings(self) -> tuple[Spending, ...]:
        """Return the spending of each source, for the record."""
        with self._lock:
            return tuple(_spending(source, each) for source, each in self.by_source.items())


class _SourceMeter:
    """A trial's meter under the name of another source."""

    def __init__(self, meter: TrialMeter, source: str) -> None:
        self._meter = meter
        self._source = source

    def spend(self, usage: Usage, cost_usd: float | None = None) -> None:
        """Count one model call of the source; raises the errors of the trial's meter."""
        self._meter.spend_as(self._source, usage, cost_usd)

    def uncounted(self, why: str) -> None:
        """Note spending that cannot be counted; see `TrialMeter.uncounted`."""
        self._meter.uncounted(why)

    def of(self, source: str) -> Meter:
        """Return the meter of another source."""
        return self._meter.of(source)


def _spending(source: str, spent: Spent) -> Spending:
    cost_usd = None if spent.unpriced_calls else spent.cost_usd
    return Spending(source=source, usage=spent.usage, cost_usd=cost_usd)


def require_price(
    budget: Budget, model: str | None, price_of: Callable[[str], object | None] | None
) -> None:
    """Refuse a budget in dollars for a model whose price is unknown.

    Args:
        budget: The run's budget.
        model: The model asked for; a run without one makes no calls to pay for.
        price_of: Returns the price of a model, or None when it is unknown.

    Raises:
        InputError: The budget could not be kept.
    """
    if budget.max_cost_usd is None or model is None:
        return
    if price_of is None or price_of(model) is None:
        raise InputError(
            f"the price of {model!r} is unknown, so a budget of ${budget.max_cost_usd:g} cannot be "
            "kept: use --max-tokens or --max-minutes instead"
        )
