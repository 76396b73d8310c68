"""What the model adapters cost beyond the SDK, and how well the rate limit holds."""

from __future__ import annotations

import asyncio
import sys
import time
from pathlib import Path

from bench_core.models import Message, Model, ModelRequest, RateLimit, open_model

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))

from test_support.model_server import (  # needs the path above
    Answer,
    ModelServer,
    Seen,
)

CALLS = 100
REQUEST = ModelRequest(messages=(Message.user("hello " * 200),), system="Be brief.")


def _answer(_: Seen) -> Answer:
    return Answer(text="hi there")


async def _sdk_alone(server: ModelServer) -> float:
    import openai  # the peer

    client = openai.AsyncOpenAI(api_key="k", base_url=server.base_url("openai"), max_retries=0)
    content = [{"type": "input_text", "text": REQUEST.messages[0].text}]
    call = {
        "model": "m",
        "input": [{"role": "user", "content": content}],
        "instructions": "Be brief.",
    }
    await client.responses.create(**call)
    started = time.thread_time()
    for _ in range(CALLS):
        await client.responses.create(**call)
    cost = time.thread_time() - started
    await client.close()
    return cost / CALLS * 1000


async def _adapter(server: ModelServer) -> float:
    async with open_model("openai:m", api_key="k", base_url=server.base_url("openai")) as model:
        await model.complete(REQUEST)
        started = time.thread_time()
        for _ in range(CALLS):
            await model.complete(REQUEST)
        return (time.thread_time() - started) / CALLS * 1000


async def _rate(server: ModelServer) -> float:
    model: Model = open_model(
        "openai:m", api_key="k", base_url=server.base_url("openai"), rate=RateLimit(per_second=20)
    )
    before = len(server.requests)
    async with model:
        await asyncio.gather(*(model.complete(REQUEST) for _ in range(200)))
    times = [seen.time for seen in server.requests[before:]]
    return (len(times) - 1) / (max(times) - min(times))


def main() -> None:
    """Print CPU per call of the SDK alone and through the adapter, and the rate that was held."""
    with ModelServer(_answer) as server:
        sdk = asyncio.run(_sdk_alone(server))
        ours = asyncio.run(_adapter(server))
        rate = asyncio.run(_rate(server))
    print(f"{'one call, CPU of the calling thread':42} {'ms':>8} {'ratio':>8}")
    print(f"{'openai SDK alone':42} {sdk:8.2f} {1:8.2f}")
    print(f"{'bench_core.models over it':42} {ours:8.2f} {ours / sdk:8.2f}")
    print(f"{'added by the adapter (bound: 3 ms)':42} {ours - sdk:8.2f}")
    print()
    print(f"{'200 concurrent calls at 20 requests/s':42} {rate:8.2f} requests/s")


if __name__ == "__main__":
    main()
