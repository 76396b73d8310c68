"""Forwarding and counting of model calls by agents with their own client.

The proxy itself is `bench_core.models.proxy`; an agent's process knows its address and the secret of
its trial, and no key.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from bench_core.errors import BudgetExceededError
from bench_core.protocols import Meter, TrialContext
from bench_core.records import Usage


@dataclass(frozen=True)
class Upstream:
    """Destination of a model's calls, if not its provider's address with the usual key.

    Attributes:
        key: The key to use instead of its provider's variables.
        base_url: The address to use instead of the provider's; with `/v1` for the OpenAI APIs.
        prices: Prices of its calls (`bench_core.models.Prices`); by default the published table.
    """

    key: str | None = field(default=None, repr=False)
    base_url: str | None = None
    prices: object | None = field(default=None, repr=False)


class TrialCalls(Protocol):
    """The calls of one attempt.

    Attributes:
        variables: Environment variables that point the SDKs of its process here.
        refused: Why further calls were refused; None if none were.
        notes: Lines for the trial's log.
    """

    variables: Mapping[str, str]
    refused: str | None
    notes: list[str]

    def take(self, usage: Usage) -> bool:
        """Match a call that the agent reports with one counted here; return whether one was left to match."""
        ...

    async def close(self) -> None:
        """Refuse further calls, and return once those under way are counted."""
        ...


class ModelProxy(Protocol):
    """Forwards the model calls of agents' processes.

    Attributes:
        variables: Those of processes that only describe the agent; their calls are refused.
    """

    variables: Mapping[str, str]

    def trial(self, meter: Meter, folder: Path) -> TrialCalls:
        """Accept the calls of an attempt; `meter` counts them, and `folder` keeps them."""
        ...


class _NoCalls:
    """Takes no calls: for processes that only describe the agent."""

    variables: Mapping[str, str] = dict.fromkeys(
        ("ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GEMINI_API_KEY", "GOOGLE_API_KEY"),
        "no-key-outside-a-trial",
    )

    def trial(self, meter: Meter, folder: Path) -> TrialCalls:
        del meter, folder
        raise RuntimeError("a process that only says what the agent is makes no calls")


NO_CALLS: ModelProxy = _NoCalls()
"""The proxy's stand-in before a run begins."""


class ReportsOnce:
    """A meter for the agent's own reports that leaves out calls the proxy has counted."""

    def __init__(self, meter: Meter, calls: TrialCalls) -> None:
        self._meter = meter
        self._calls = calls

    @property
    def stopped(self) -> bool:
        """Whether the budget is spent."""
        return bool(getattr(self._meter, "stopped", False))

    def spend(self, usage: Usage, cost_usd: float | None = None) -> None:
        """Count one model call, unless the proxy has counted it already.

        Raises:
            BudgetExceededError: The run's budget is spent; stop the trial.
        """
        if not self._calls.take(usage):
            self._meter.spend(usage, cost_usd)
        elif (reason := getattr(self._meter, "exhausted", None)) is not None:
            raise BudgetExceededError(reason)

    def of(self, source: str) -> Meter:
        """Return the meter of another source, with the same rule."""
        return ReportsOnce(self._meter.of(source), self._calls)


def without_server(context: TrialContext) -> TrialContext:
    """Return a context without `base_url` and without a model opener: the variables lead to the proxy."""
    config = {name: value for name, value in context.config.items() if name != "base_url"}
    if isinstance(own := config.get("agent_options"), dict):
        config["agent_options"] = {name: own[name] for name in own if name != "base_url"}
    return context.model_copy(update={"config": config}).with_model_opener(None)
