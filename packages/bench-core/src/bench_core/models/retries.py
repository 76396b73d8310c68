"""Tries a model call again while that can help, within one deadline."""

from __future__ import annotations

import asyncio
import time
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING

from pydantic import NonNegativeFloat, PositiveFloat, PositiveInt

from bench_core.models.errors import ModelError
from bench_core.records import Record

if TYPE_CHECKING:
    import random
    from collections.abc import Awaitable, Callable

    from bench_core.models.records import Reply

# Whole answers are asked for and not streams: OpenAI streams its reasoning models to verified organisations only,
# servers that are compatible differ in how they stream calls, and a stream's pieces are put together by each SDK line
# in its own way, which loses blocks that are newer than the line. So the time follows from the permitted output length.
_FIRST_TOKEN_S = 120.0
_TOKEN_S = 0.075
_RETRIES_S = 300.0


class RetryPolicy(Record):
    """How often, how long and how patiently a call is tried.

    Attributes:
        deadline_s: Seconds for the whole call, waiting included; None for 300 more than one request may take.
        timeout_s: Seconds for one request; None for 120 and 0.075 for each token that the model may write: 22
            minutes for 16,000 tokens, which is enough for models that write 14 a second.
        max_retry_after_s: A provider that asks to wait longer than this is given up at once:
            sleeping an hour inside a call looks like a hang.
    """

    attempts: PositiveInt = 6
    deadline_s: PositiveFloat | None = None
    timeout_s: PositiveFloat | None = None
    first_wait_s: NonNegativeFloat = 0.5
    max_wait_s: NonNegativeFloat = 30.0
    max_retry_after_s: NonNegativeFloat = 60.0

    def seconds_for(self, output_tokens: int) -> tuple[float, float]:
        """Return the time limits of one request of at most so many tokens, and of the whole call, in seconds.

        >>> RetryPolicy().seconds_for(16_000)
        (1320.0, 1620.0)
        """
        timeout_s = self.timeout_s or _FIRST_TOKEN_S + _TOKEN_S * output_tokens
        return timeout_s, self.deadline_s or timeout_s + _RETRIES_S


async def retry(
    admit: Callable[[AsyncExitStack], Awaitable[None]],
    send: Callable[[float], Awaitable[Reply]],
    policy: RetryPolicy,
    rng: random.Random,
    *,
    output_tokens: int,
) -> Reply:
    """Call `send(timeout_s)` until it replies, within the policy's deadline for `output_tokens` at most.

    `admit` waits until a request may be sent; contexts it enters are held until the request's end.

    Raises:
        ModelError: The last failure, once trying again cannot help or the time is up.
    """
    timeout_s, deadline_s = policy.seconds_for(output_tokens)
    end = time.monotonic() + deadline_s
    for attempt in range(1, policy.attempts + 1):
        left = end - time.monotonic()
        try:
            reply = await _once(admit, send, left, timeout_s)
        except ModelError as error:
            wait = _wait(error, attempt, policy, rng)
            # a wait that leaves no time for another request would only delay the error
            if wait is None or wait >= end - time.monotonic():
                raise error.after(attempt) from error
            await asyncio.sleep(wait)
        except asyncio.TimeoutError:
            message = f"no reply within the deadline of {deadline_s:g} s"
            raise ModelError("deadline", message, provider="model") from None
        else:
            return reply.model_copy(update={"attempts": attempt})
    raise AssertionError("unreachable: the last attempt returns or raises")


async def _once(
    admit: Callable[[AsyncExitStack], Awaitable[None]],
    send: Callable[[float], Awaitable[Reply]],
    left_s: float,
    timeout_s: float,
) -> Reply:
    """Send one request: its turn must come in time; once sent, only its own limit ends it."""
    begun = time.monotonic()
    async with AsyncExitStack() as held:
        await asyncio.wait_for(admit(held), left_s)
        return await send(min(timeout_s, left_s - (time.monotonic() - begun)))


def _wait(error: ModelError, attempt: int, policy: RetryPolicy, rng: random.Random) -> float | None:
    """Return the seconds until the next attempt, None if there must not be one."""
    if not error.retryable or attempt >= policy.attempts:
        return None
    if error.retry_after_s is not None:
        return error.retry_after_s if error.retry_after_s <= policy.max_retry_after_s else None
    backoff: float = min(policy.max_wait_s, policy.first_wait_s * 2 ** (attempt - 1))
    # At random, so that calls which failed together do not come back together.
    return backoff * rng.uniform(0.5, 1.0)
