from __future__ import annotations

import asyncio
import random
import time
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench_core.models import (
    AdaptiveConcurrency,
    Message,
    Model,
    ModelError,
    ModelRequest,
    PriceList,
    PriceRow,
    RateLimit,
    RetryPolicy,
    ScriptedAdapter,
    TokenLimit,
)
from bench_core.models.retries import retry
from bench_core.models.stream_usage import USAGE_BOUNDED
from bench_core.records import Usage

if TYPE_CHECKING:
    from bench_core.models.errors import ErrorKind

ASK = ModelRequest(messages=(Message.user("hello"),))
BUSY = ModelError("rate_limit", "slow down", provider="scripted", status=429)


class FrozenClock:
    """A clock that stands until someone moves it."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


async def test_requests_are_spaced_and_served_in_order() -> None:
    rate = RateLimit(per_second=20)
    order: list[int] = []

    async def call(number: int) -> float:
        await rate.wait()
        order.append(number)
        return time.monotonic()

    began = time.monotonic()
    times = await asyncio.gather(*(call(number) for number in range(6)))
    assert order == list(range(6))
    assert times[-1] - began >= 5 / 20 - 0.001


async def test_a_full_minute_of_tokens_makes_the_next_call_wait() -> None:
    clock = FrozenClock()
    limit = TokenLimit(per_minute=100, clock=clock)
    limit.charge(100)
    waiting = asyncio.create_task(limit.wait())
    await asyncio.sleep(0)
    assert not waiting.done()
    waiting.cancel()
    clock.now = 60.0
    await limit.wait()


@pytest.mark.parametrize("bad", [0, -1])
def test_limits_refuse_what_makes_no_sense(bad: int) -> None:
    with pytest.raises(ValueError, match="must be positive"):
        RateLimit(per_second=bad)
    with pytest.raises(ValueError, match="must be positive"):
        TokenLimit(per_minute=bad)


@given(
    start=st.integers(1, 8),
    outcomes=st.lists(st.sampled_from(["ok", "busy", "cancel"]), min_size=1, max_size=60),
)
def test_concurrency_never_exceeds_its_limit_and_always_drains(
    start: int, outcomes: list[str]
) -> None:
    async def scenario() -> AdaptiveConcurrency:
        slots = AdaptiveConcurrency(start=start, most=10)

        async def call(outcome: str) -> None:
            limit_at_entry = None
            try:
                async with slots.slot():
                    limit_at_entry = slots.most
                    assert slots.running <= limit_at_entry
                    await asyncio.sleep(0)
                    if outcome == "busy":
                        raise BUSY
            except ModelError:
                pass

        tasks = [asyncio.create_task(call(outcome)) for outcome in outcomes]
        await asyncio.sleep(0)
        for task, outcome in zip(tasks, outcomes, strict=True):
            if outcome == "cancel":
                task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        return slots

    slots = asyncio.run(scenario())
    assert slots.running == 0
    assert 1 <= slots.limit <= 10


async def test_concurrency_grows_on_success_and_halves_on_pushback() -> None:
    slots = AdaptiveConcurrency(start=4, most=10)
    for _ in range(4):
        async with slots.slot():
            pass
    assert slots.limit == 5
    with pytest.raises(ModelError):
        async with slots.slot():
            raise BUSY
    assert slots.limit == 2


async def test_waiting_for_a_slot_counts_toward_the_deadline() -> None:
    rate = RateLimit(per_second=0.01)
    model = Model(ScriptedAdapter(["one", "two"]), rate=rate)
    await model.complete(ASK)
    with pytest.raises(ModelError, match=r"within the deadline of 0.05 s") as caught:
        await model.complete(ASK, deadline_s=0.05)
    assert caught.value.kind == "deadline"


async def test_a_request_under_way_at_the_deadline_may_have_been_paid_for() -> None:
    class Late(ScriptedAdapter):
        async def send(self, request: ModelRequest, timeout_s: float) -> Any:
            await asyncio.sleep(timeout_s + 1.0)  # an SDK that is slow to begin and to end
            raise ModelError("timeout", "no answer", provider="p")

    with pytest.raises(ModelError) as caught:
        await Model(Late([])).complete(ASK, deadline_s=0.05)
    assert caught.value.kind == "timeout"
    assert caught.value.maybe_paid


@given(seed=st.integers(), failures=st.integers(0, 3))
def test_a_call_is_tried_at_most_as_often_as_the_policy_says(seed: int, failures: int) -> None:
    policy = RetryPolicy(attempts=3, first_wait_s=0.0)
    script: list[Any] = [BUSY] * failures + ["done"]
    model = Model(ScriptedAdapter(script), policy=policy, seed=seed)
    if failures < 3:
        assert asyncio.run(model.complete(ASK)).attempts == failures + 1
    else:
        with pytest.raises(ModelError) as caught:
            asyncio.run(model.complete(ASK))
        assert caught.value.attempts == 3


async def test_a_wait_that_would_pass_the_deadline_is_not_begun() -> None:
    calls = 0

    async def busy(timeout_s: float) -> Any:
        nonlocal calls
        calls += 1
        raise ModelError("overloaded", "busy", provider="p", retry_after_s=30)

    async def at_once(held: Any) -> None:
        pass

    policy = RetryPolicy(attempts=5, deadline_s=10, max_retry_after_s=60)
    with pytest.raises(ModelError, match="busy"):
        await retry(at_once, busy, policy, random.Random(0), output_tokens=1)  # noqa: S311  # jitter
    assert calls == 1


class Ledger:
    """Keeps what it is told."""

    def __init__(self) -> None:
        self.calls: list[tuple[Usage, float | None]] = []
        self.flags: dict[str, None] = {}

    def spend(self, usage: Usage, cost_usd: float | None = None) -> None:
        self.calls.append((usage, cost_usd))

    def of(self, source: str) -> Ledger:
        del source
        return self


def test_requests_made_again_are_metered_and_told_apart() -> None:
    ledger = Ledger()
    model = Model(ScriptedAdapter([BUSY, BUSY, "ok"]), policy=RetryPolicy(first_wait_s=0.0))
    asyncio.run(model.complete(ASK, meter=ledger))
    ((usage, _),) = ledger.calls
    assert (usage.requests, usage.retries) == (3, 2)


@pytest.mark.parametrize("kind", ["timeout", "cut_off"])
def test_a_call_whose_answer_was_lost_is_metered_as_the_most_it_can_be(kind: ErrorKind) -> None:
    ledger = Ledger()
    script = [ModelError(kind, "lost", provider="scripted"), "not asked for"]
    prices = PriceList([PriceRow(model="script", input=0.0, output=1e6)])
    with pytest.raises(ModelError, match="may have been paid for"):
        asyncio.run(Model(ScriptedAdapter(script), prices=prices).complete(ASK, meter=ledger))
    ((usage, cost),) = ledger.calls
    assert (usage.requests, usage.output_tokens, cost) == (1, 4096, 4096.0)
    assert usage.input_tokens > 0
    assert list(ledger.flags) == [USAGE_BOUNDED]


def test_requests_of_a_call_that_failed_are_metered_without_cost() -> None:
    ledger = Ledger()
    policy = RetryPolicy(attempts=2, first_wait_s=0.0)
    model = Model(ScriptedAdapter([BUSY] * 2), policy=policy)
    with pytest.raises(ModelError):
        asyncio.run(model.complete(ASK, meter=ledger))
    assert ledger.calls == [(Usage(requests=2, retries=1), 0.0)]
