"""Tries a model call again while that can help, within one deadline."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING

from pydantic import NonNegativeFloat, PositiveFloat, PositiveInt

from bench_core.models.errors import ModelError
from bench_core.records import Record

if TYPE_CHECKING:
    import random
    from collections.abc import Awaitable, Callable

    from bench_core.models.records import Reply

__all__ = ["RetryPolicy", "retry"]


class RetryPolicy(Record):
    """How often, how long and how patiently a call is tried.

    Attributes:
        deadline_s: Seconds for the whole call, waiting included.
        timeout_s: Seconds for one request.
        max_retry_after_s: A provider that asks to wait longer than this is given up at once:
            sleeping an hour inside a call looks like a hang.
    """

    attempts: PositiveInt = 6
    deadline_s: PositiveFloat = 300.0
    timeout_s: PositiveFloat = 120.0
    first_wait_s: NonNegativeFloat = 0.5
    max_wait_s: NonNegativeFloat = 30.0
    max_retry_after_s: NonNegativeFloat = 60.0


async def retry(
    send: Callable[[float], Awaitable[Reply]], policy: RetryPolicy, rng: random.Random
) -> Reply:
    """Call `send(timeout_s)` until it replies, within the policy's deadline.

    Raises:
        ModelError: The last failure, once trying again cannot help or the time is up.
    """
    end = time.monotonic() + policy.deadline_s
    for attempt in range(1, policy.attempts + 1):
        left = end - time.monotonic()
        try:
            reply = await _within(send(min(policy.timeout_s, left)), left, policy)
        except ModelError as error:
            wait = _wait(error, attempt, policy, rng)
            if wait is None or wait >= end - time.monotonic():
                raise error.after(attempt) from error
            await asyncio.sleep(wait)
        else:
            return reply.model_copy(update={"attempts": attempt})
    raise AssertionError("unreachable: the last attempt returns or raises")


async def _within(sending: Awaitable[Reply], left_s: float, policy: RetryPolicy) -> Reply:
    """Limit one attempt, and its wait for a free slot, to what is left of the deadline."""
    try:
        return await asyncio.wait_for(sending, left_s)
    except asyncio.TimeoutError:
        message = f"no reply within the deadline of {policy.deadline_s:g} s"
        raise ModelError("deadline", message, provider="model") from None


def _wait(error: ModelError, attempt: int, policy: RetryPolicy, rng: random.Random) -> float | None:
    """Return the seconds until the next attempt, None when there is to be none."""
    if not error.retryable or attempt >= policy.attempts:
        return None
    if error.retry_after_s is not None:
        return error.retry_after_s if error.retry_after_s <= policy.max_retry_after_s else None
    backoff: float = min(policy.max_wait_s, policy.first_wait_s * 2 ** (attempt - 1))
    # At random, so that calls which failed together do not come back together.
    return backoff * rng.uniform(0.5, 1.0)
