"""Says the same replies to a provider's own loop and to our agent, and prints where their next requests differ.

    python compare.py PROVIDER [--only WORDS] [--write]

The reference runs in an environment of its own, whose Python the variable PROCTOR_REFERENCE_<PROVIDER> names. What
differs for a reason stands in `reasons.toml`; anything else is a failure, and so is a reason that nothing needs. With
`--write`, how often each reason was needed is kept for `reasons_table.py`.
"""

from __future__ import annotations

import argparse
import asyncio
import importlib
import json
import os
import re
import subprocess
import sys
import tempfile
import tomllib
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parents[1])]

from exchange import Difference, Exchange, differences  # noqa: E402  # needs the path above
from our_environment import OurEnvironment  # noqa: E402  # same
from test_support.model_rules import Rules  # noqa: E402  # same
from test_support.model_server import Answer, ModelServer  # noqa: E402  # same

from bench_core.agents import computer_use_agent  # noqa: E402  # same
from bench_core.models import RetryPolicy, open_model  # noqa: E402  # same
from bench_core.protocols import DesktopHandle, TrialContext  # noqa: E402  # same
from bench_core.records import AgentTask, Limits  # noqa: E402  # same

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bench_core.records import AgentOutcome

COUNTS = HERE / "counts.json"
"""How many exchanges and requests were compared with each loop, and how many differences each reason explains."""
PROVIDERS = ("anthropic", "google", "openai")
"""Each has a module `<provider>_exchanges` with EXCHANGES and `comparable`, a program `reference_<provider>.py`, a list of
reasons, and a row in the noxfile's REFERENCES."""


def server_of(exchange: Exchange, *, rules: bool) -> ModelServer:
    """Return a server that says the replies of one exchange, by the API's rules if asked to."""
    answers = [Answer(raw=json.dumps(each)) for each in exchange.replies]
    return ModelServer(answers, rules=Rules() if rules else None)


async def of_ours(
    exchange: Exchange, provider: str
) -> tuple[ModelServer, OurEnvironment, AgentOutcome]:
    """Run our agent over an exchange."""
    live = OurEnvironment(browser=exchange.browser)
    policy = RetryPolicy(attempts=1, deadline_s=60, timeout_s=60)
    with server_of(exchange, rules=True) as server, tempfile.TemporaryDirectory() as folder:
        async with open_model(
            f"{provider}:{exchange.model}",
            api_key="a key of some length",
            base_url=server.base_url(provider),
            policy=policy,
        ) as model:
            agent = computer_use_agent(
                model, tool=exchange.dialect, browser=exchange.browser, connect=live.connect
            )
            outcome = await agent.run(
                AgentTask(benchmark="reference", task_id="t", goal="Do it."),
                DesktopHandle(url=server.base_url(provider)),
                TrialContext(
                    run_id="r",
                    folder=Path(folder),
                    limits=Limits(max_steps=len(exchange.replies) + 1, time_limit_s=60),
                ),
            )
    return server, live, outcome


def of_reference(
    exchanges: Sequence[Exchange], provider: str
) -> tuple[list[ModelServer], dict[str, Any]]:
    """Run the provider's own loop over all exchanges, in one process."""
    python = os.environ[f"PROCTOR_REFERENCE_{provider.upper()}"]
    servers = [server_of(each, rules=False) for each in exchanges]
    asked = [
        {
            "name": each.name, "dialect": each.dialect, "browser": each.browser, "model": each.model,
            "base_url": server.base_url(provider), "turns": len(each.replies) + 1,
        }
        for each, server in zip(exchanges, servers, strict=True)
    ]  # fmt: skip
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "asked.json"
        file.write_text(json.dumps(asked), encoding="utf-8")
        for server in servers:
            server.__enter__()
        try:
            ran = subprocess.run(
                [python, str(HERE / f"reference_{provider}.py"), str(file)],
                check=True,
                capture_output=True,
                text=True,
                timeout=600,
            )
        finally:
            for server in servers:
                server.__exit__(None, None, None)
    return servers, json.loads(ran.stdout.splitlines()[-1])


async def compare(provider: str, only: str, *, write: bool) -> int:
    """Compare all exchanges of a provider and return the exit code."""
    module = importlib.import_module(f"{provider}_exchanges")
    exchanges = [each for each in module.EXCHANGES if only in each.name]
    servers, ran = of_reference(exchanges, provider)
    reasons = tomllib.loads((HERE / "reasons.toml").read_text(encoding="utf-8"))[provider]
    found: list[Difference] = []
    requests = 0
    for exchange, reference in zip(exchanges, servers, strict=True):
        ours, live, outcome = await of_ours(exchange, provider)
        sides = [[module.comparable(seen) for seen in each.requests] for each in (reference, ours)]
        requests += len(sides[1])
        for number, (theirs, own) in enumerate(zip(*sides, strict=False), 1):
            # a turn is compared in the request that sends it first
            theirs["messages"], own["messages"] = theirs["messages"][-2:], own["messages"][-2:]
            found += differences(exchange.name, theirs, own, f"request {number}")
        counts = [len(each) for each in sides]
        if counts[0] != counts[1]:
            found.append(Difference(exchange.name, "requests", *counts))
        problems = [
            ran["exchanges"][exchange.name]["problem"],
            outcome.error and outcome.error.message,
        ]
        if any(problems):
            found.append(Difference(exchange.name, "error", *problems))
        done = ran["exchanges"][exchange.name]["done"]
        found += differences(exchange.name, done, live.world.done, "done")
    return report(
        provider,
        ran["version"],
        len(exchanges),
        requests,
        found,
        reasons,
        all_of_them=not only,
        write=write,
    )


def report(
    provider: str,
    version: str,
    exchanges: int,
    requests: int,
    found: list[Difference],
    reasons: list[dict[str, str]],
    *,
    all_of_them: bool,
    write: bool,
) -> int:
    """Print what was found, keep the counts if they are whole and asked for, and return the exit code."""
    counts: Counter[str] = Counter()
    unexplained = []
    for each in found:
        reason = next((r for r in reasons if re.search(r["where"], str(each))), None)
        if reason is None:
            unexplained.append(each)
        else:
            counts[reason["why"]] += 1
    for each in unexplained:
        print(each)
    for reason in reasons:
        print(f"{counts[reason['why']]:5} x {reason['why']}")
    idle = [each["why"] for each in reasons if not counts[each["why"]]] if all_of_them else []
    for why in idle:
        print(f"no difference needs this reason: {why}")
    print(
        f"{provider} {version}: {exchanges} exchanges, {requests} requests, {len(found)} differences, "
        f"{len(unexplained)} without a reason"
    )
    if write and all_of_them:
        kept = json.loads(COUNTS.read_text(encoding="utf-8")) if COUNTS.exists() else {}
        kept[provider] = {
            "version": version, "exchanges": exchanges, "requests": requests,
            "reasons": {each["why"]: counts[each["why"]] for each in reasons},
        }  # fmt: skip
        COUNTS.write_text(json.dumps(kept, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    return 1 if unexplained or idle else 0


def main() -> int:
    """Run what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("provider", choices=PROVIDERS)
    parser.add_argument("--only", default="", help="words of the exchanges' names")
    parser.add_argument("--write", action="store_true", help=f"keep the counts in {COUNTS.name}")
    asked = parser.parse_args()
    return asyncio.run(compare(asked.provider, asked.only, write=asked.write))


if __name__ == "__main__":
    raise SystemExit(main())
