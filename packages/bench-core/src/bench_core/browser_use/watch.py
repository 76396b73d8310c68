"""Watch the calls of one chat: count tokens, try again, and separate outages from bad answers."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, NamedTuple

from bench_core.browser_use.faults import CallFault, judge_failure
from bench_core.errors import BenchError, EnvironmentFaultError
from bench_core.faults import FaultEvidence, fault_of
from bench_core.models.errors import ModelError
from bench_core.protocols import LatestCall
from bench_core.records import Usage

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from bench_core.models.prices import Prices
    from bench_core.models.records import Reply


class Patience(NamedTuple):
    """How long a model server is given.

    `retries` after the first try, the first after `backoff_s` and each later one after twice as
    long; a call without an answer for `call_timeout_s` is an outage.
    """

    retries: int = 2
    backoff_s: float = 1.0
    call_timeout_s: float = 1320.0


_DEFAULT_PATIENCE = Patience()


class ModelWatch:
    """Wraps a chat model's calls during one trial.

    browser-use catches every error of its model and asks again, so an outage would look like an
    agent that failed. The watch keeps the error in `fault` and calls `on_fault`, which should
    stop the agent; it passes on unusable answers, which browser-use handles.

    Args:
        on_call: Receives the usage and the cost (None when unknown) of each call that Proctor's own client,
            which counts its own, did not make; may raise, e.g. `BudgetExceededError`.
        on_fault: Called once, when the trial cannot go on.
        patience: Time that the server is given.
        prices: Prices calls that do not report their cost.
        latest: Receives the outcome of the latest call.
        sleep: Waits; a seam for tests.
    """

    def __init__(
        self,
        *,
        on_call: Callable[[Usage, float | None], None] | None = None,
        on_fault: Callable[[], None] | None = None,
        patience: Patience = _DEFAULT_PATIENCE,
        prices: Prices | None = None,
        latest: LatestCall | None = None,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self.usage = Usage()
        self.answers = 0
        self.asked_actions = 0
        """How many actions the latest answer asks for, before browser-use leaves some out."""
        self.bad_answers: list[str] = []
        self.retries = 0
        """How many calls were made again because the server had failed."""
        self.fault: BenchError | Exception | None = None
        self.refused: ModelError | None = None
        """The latest call's error, if its request was refused; browser-use may change the request."""
        self.model_reported: str | None = None
        self._chat: Any = None
        self._prices = prices
        self._costs: list[float | None] = []
        self._on_call = on_call
        self._on_fault = on_fault
        self._patience = patience
        self._sleep = sleep
        self._latest = latest or LatestCall()

    @property
    def cost_usd(self) -> float | None:
        """The cost of all calls; None when there was none or the price of one is unknown."""
        known = [cost for cost in self._costs if cost is not None]
        return sum(known) if known and len(known) == len(self._costs) else None

    def stop_with(self, on_fault: Callable[[], None]) -> None:
        """Set the function to call when the trial cannot go on."""
        self._on_fault = on_fault

    def attach(self, chat: Any) -> None:
        """Watch `chat` from now on; browser-use's own token counter hooks in the same way."""
        self._chat = chat
        ask = chat.ainvoke
        model = f"{chat.provider}:{chat.model}"

        async def watched(messages: Any, output_format: Any = None, **options: Any) -> Any:
            return await self._call(lambda: ask(messages, output_format, **options), model)

        chat.ainvoke = watched

    async def _call(self, ask: Callable[[], Awaitable[Any]], model: str) -> Any:
        for attempt in range(self._patience.retries + 1):
            self._latest.began(model)
            try:
                completion = await asyncio.wait_for(ask(), self._patience.call_timeout_s)
            except Exception as error:  # foreign code: every provider raises its own
                failure = judge_failure(error, model)
                if isinstance(failure.error, EnvironmentFaultError):
                    self._latest.failed(failure.error)
                elif failure.error is None:
                    self._latest.served()
                if failure.retry and attempt < self._patience.retries:
                    self.retries += 1
                    await self._sleep(self._patience.backoff_s * 2**attempt)
                    continue
                self._take_note(failure)
                raise
            self.answers += 1
            self._latest.served()
            self.refused = None
            # extracting a page's text asks for none
            asked = getattr(completion.completion, "action", None)
            self.asked_actions = self.asked_actions if asked is None else len(asked)
            self._count(usage_of(completion), getattr(self._chat, "last_reply", None))
            return completion
        raise AssertionError("unreachable: the last attempt returns or raises")

    def _take_note(self, failure: CallFault) -> None:
        error = failure.error
        if isinstance(error, ModelError):
            error.answered = self.answers > 0
            self.refused = error if fault_of(FaultEvidence(error)).scored else None
        if error is None or error is self.refused:
            self.bad_answers.append(failure.message)
            if (reply := getattr(self._chat, "last_reply", None)) is not None:
                self._count(reply.usage, reply)  # an unusable answer is paid for, too
            return
        self._give_up(error)

    def _count(self, usage: Usage, reply: Reply | None) -> None:
        self.usage = self.usage + usage
        if reply is not None:
            self.model_reported = reply.model_reported or self.model_reported
            self._chat.last_reply = None
        cost = self._cost(usage, reply)
        self._costs.append(cost)
        if self._on_call is None or reply is not None:
            return
        try:
            self._on_call(usage, cost)
        except BenchError as error:
            self._give_up(error)
            raise

    def _cost(self, usage: Usage, reply: Reply | None) -> float | None:
        if reply is not None:
            return 0.0 if reply.replayed else reply.cost_usd
        if self._prices is None:
            return None
        price = self._prices.price(self._chat.provider, self._chat.model, usage)
        return None if price is None else price.usd

    def _give_up(self, fault: Exception) -> None:
        if self.fault is None:
            self.fault = fault
            if self._on_fault is not None:
                self._on_fault()


def usage_of(completion: Any) -> Usage:
    """Return the usage that a completion of browser-use reports."""
    usage = completion.usage
    if usage is None:
        return Usage(requests=1)
    return Usage(
        requests=1,
        input_tokens=usage.prompt_tokens,
        cached_input_tokens=usage.prompt_cached_tokens or 0,
        cache_write_tokens=usage.prompt_cache_creation_tokens or 0,
        image_tokens=usage.prompt_image_tokens or 0,
        output_tokens=usage.completion_tokens,
    )
