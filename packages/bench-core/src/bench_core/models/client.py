"""One call to a model: limits, retries, cassettes, caches and prices around an adapter."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from bench_core.background_loop import BackgroundLoop
from bench_core.budgets import TRIAL_METER
from bench_core.closing import Closing
from bench_core.models.errors import ModelError
from bench_core.models.kept_calls import Answered, answered_by, sent_by
from bench_core.models.retries import RetryPolicy, retry
from bench_core.models.windows import published_window
from bench_core.protocols import LatestCall
from bench_core.records import Usage
from bench_core.seeded import seeded

if TYPE_CHECKING:
    from contextlib import AsyncExitStack
    from types import TracebackType

    from typing_extensions import Self

    from bench_core.models.cache import ReplyCache
    from bench_core.models.cassettes import Cassette
    from bench_core.models.kept_calls import KeptCalls
    from bench_core.models.limits import AdaptiveConcurrency, RateLimit, TokenLimit
    from bench_core.models.prices import Prices
    from bench_core.models.records import ModelRequest, Reply
    from bench_core.protocols import Meter

_LOOK_UP_S = 10.0
_ENDED = "the trial ended before there was an answer"


class Transport(Protocol):
    """Sends one request: an adapter of a provider, or a script."""

    provider: str
    model: str

    async def send(self, request: ModelRequest, timeout_s: float) -> Reply:
        """Make exactly one request.

        Raises:
            ModelError: No usable reply within `timeout_s` seconds.
        """
        ...

    async def aclose(self) -> None:
        """Release connections."""
        ...


class Model:
    """A model one can call; make one with `bench_core.models.open_model`.

    Order of things: cassette, cache, then limits and retries around the transport, then the price.
    Replies from a cassette or the cache are not charged to the meter.

    A model counts its calls with the meter of the trial whose agent calls it, else of the trial that opened it.

    Attributes:
        meter: The meter of the trial that it was opened for; None for no trial.
        calls: A log of requests and replies for people to read; None for none.
        cassette: A store that records or replays them; None for none.
    """

    def __init__(
        self,
        transport: Transport,
        *,
        policy: RetryPolicy | None = None,
        rate: RateLimit | None = None,
        tokens: TokenLimit | None = None,
        concurrency: AdaptiveConcurrency | None = None,
        cache: ReplyCache | None = None,
        cassette: Cassette | None = None,
        prices: Prices | None = None,
        seed: int = 0,
        calls: KeptCalls | None = None,
    ) -> None:
        self._transport = transport
        self.policy = policy or RetryPolicy()
        self._rate = rate
        self._tokens = tokens
        self._concurrency = concurrency
        self._cache = cache
        self.cassette = cassette
        self.calls = calls
        self.meter = TRIAL_METER.get()
        self._prices = prices
        self._rng = seeded(seed)

    @property
    def name(self) -> str:
        """`provider:model`, as requested."""
        return f"{self._transport.provider}:{self._transport.model}"

    async def complete(
        self,
        request: ModelRequest,
        *,
        deadline_s: float | None = None,
        meter: Meter | None = None,
    ) -> Reply:
        """Call the model once and return its reply.

        Args:
            request: The request.
            deadline_s: Seconds for the whole call, instead of the policy's.
            meter: Receives usage and cost, instead of the trial's meter.

        Raises:
            ModelError: The provider gave no usable reply in time.
            BudgetExceededError: The meter's budget is spent; raised after the call is recorded.
        """
        own = meter is None
        meter = meter or TRIAL_METER.get() or self.meter  # a thread of the agent's knows no context
        sent = None if self.calls is None else sent_by(request, self.name)
        answered = Answered(error=_ENDED)
        latest = getattr(meter, "latest", None) or LatestCall()
        try:
            reply = self._stored(request)
            stored = reply is not None
            if reply is None:
                latest.began(self.name)
                reply = await self._ask(request, deadline_s, latest)
            latest.served()
            if sent is not None:
                answered = answered_by(reply)
            if stored and own and meter is not None:
                # a trial with free calls is not one whose calls are unknown
                meter.spend(Usage(), 0.0)
            if not stored and meter is not None:
                if not reply.usage_known and (note := getattr(meter, "uncounted", None)):
                    note(f"{self.name} does not say how many tokens a call used")
                meter.spend(reply.usage + _retries(reply.attempts), reply.cost_usd)
        except Exception as error:
            answered.error = answered.error and str(error)
            if isinstance(error, ModelError):
                latest.failed(error)
                error.answered = any(each.role == "assistant" for each in request.messages)
                if meter is not None:
                    self._spend_failed(request, error, meter)
            raise
        finally:
            if self.calls is not None and sent is not None:
                self.calls.add(sent, answered)
        return reply

    def _spend_failed(self, request: ModelRequest, error: ModelError, meter: Meter) -> None:
        """Count a call that failed: nothing if it was refused, an upper bound if its answer was lost."""
        made = Usage(requests=error.attempts, retries=error.attempts - 1)
        if not error.maybe_paid:
            meter.spend(made, 0.0)
            return
        from bench_core.models.stream_usage import USAGE_BOUNDED, upper_bound  # reads all APIs

        provider, model = self._transport.provider, self._transport.model
        most = upper_bound(
            "openai",
            request.model_dump(
                mode="json", exclude={"headers": True, "messages": {"__all__": {"native"}}}
            ),
        )
        flags = getattr(meter, "flags", None)
        if flags is not None:
            flags[USAGE_BOUNDED] = None
        price = self._prices.price(provider, model, most) if self._prices else None
        meter.spend(
            most.model_copy(update={"requests": made.requests, "retries": made.retries}),
            None if price is None else price.usd,
        )

    async def verify(self, timeout_s: float) -> None:
        """Ask the provider whether it takes the key and knows the model; scripts and cassettes need not.

        Raises:
            ModelError: It refuses, or does not answer within `timeout_s` seconds.
        """
        ask = getattr(self._transport, "verify", None)
        if ask is not None:
            await ask(timeout_s)

    async def window(self) -> int | None:
        """Return how many tokens the model's context has: as the provider says, else by the published list."""
        ask = getattr(self._transport, "window", None)
        said = None if ask is None or self.cassette is not None else await ask(_LOOK_UP_S)
        return said or published_window(self._transport.provider, self._transport.model)

    async def aclose(self) -> None:
        """Close the connections of the running event loop."""
        await self._transport.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.aclose()

    def _stored(self, request: ModelRequest) -> Reply | None:
        found = self.cassette.find(self.name, request) if self.cassette else None
        if found is None and self._cache is not None:
            found = self._cache.find(self.name, request)
        return found

    async def _ask(
        self, request: ModelRequest, deadline_s: float | None, latest: LatestCall
    ) -> Reply:
        policy = self.policy
        if deadline_s is not None:
            policy = policy.model_copy(update={"deadline_s": deadline_s})

        async def send(timeout_s: float) -> Reply:
            try:
                return await self._transport.send(request, timeout_s)
            except ModelError as error:
                latest.failed(error)
                raise

        reply = await retry(
            self._admit,
            send,
            policy,
            self._rng,
            output_tokens=request.max_output_tokens,
        )
        if self._tokens is not None:
            self._tokens.charge(reply.usage.total_tokens)
        reply = self._priced(reply)
        if self.cassette is not None:
            self.cassette.add(self.name, request, reply)
        if self._cache is not None:
            self._cache.add(self.name, request, reply)
        return reply

    async def _admit(self, held: AsyncExitStack) -> None:
        if self._tokens is not None:
            await self._tokens.wait()
        if self._rate is not None:
            await self._rate.wait()
        if self._concurrency is not None:
            await held.enter_async_context(self._concurrency.slot())

    def _priced(self, reply: Reply) -> Reply:
        if self._prices is None or not reply.usage_known or reply.price is not None:
            return reply
        # An alias is priced as the model that answered; if the table lacks it, as the one asked
        # for.
        price = self._prices.price(reply.provider, reply.model_reported or reply.model, reply.usage)
        if price is None and reply.model_reported:
            price = self._prices.price(reply.provider, reply.model, reply.usage)
        return reply.model_copy(update={"price": price})


class SyncModel(Closing):
    """The same calls without async: a private event loop in its own thread.

    Works inside a running event loop too (a notebook), in which `asyncio.run` would fail.
    """

    def __init__(self, model: Model) -> None:
        self._model = model
        self._loop = BackgroundLoop(f"model {model.name}")

    @property
    def name(self) -> str:
        """`provider:model`, as requested."""
        return self._model.name

    def complete(
        self,
        request: ModelRequest,
        *,
        deadline_s: float | None = None,
        meter: Meter | None = None,
    ) -> Reply:
        """Call the model once; see `Model.complete`."""
        return self._loop.call(self._model.complete(request, deadline_s=deadline_s, meter=meter))

    def close(self) -> None:
        """Close the connections and end the thread; safe to call twice."""
        if not self._loop.closed:
            self._loop.call(self._model.aclose())
            self._loop.close()


def _retries(attempts: int) -> Usage:
    """Return the usage of a call's failed attempts, to be added to its reply's."""
    return Usage(requests=attempts - 1, retries=attempts - 1)
