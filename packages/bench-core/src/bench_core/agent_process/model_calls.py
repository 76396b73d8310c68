"""Model calls of agents that bring their own client: what passes them on and counts them.

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
    """Where a model's calls go, where that is not its provider's own address with the usual key.

    Attributes:
        key: Instead of the variables of its provider.
        base_url: Instead of the provider's; with `/v1` for the OpenAI APIs.
        prices: What its calls cost (`bench_core.models.Prices`); by default the published table.
    """

    key: str | None = field(default=None, repr=False)
    base_url: str | None = None
    prices: object | None = field(default=None, repr=False)


class TrialCalls(Protocol):
    """The calls of one attempt.

    Attributes:
        variables: Environment variables that lead the SDKs of its process here.
        refused: Why no further call was passed on; None where all were.
        notes: Lines for the trial's log.
    """

    variables: Mapping[str, str]
    refused: str | None
    notes: list[str]

    def take(self, usage: Usage) -> bool:
        """Whether what the agent reports of its own calls was counted here already."""
        ...

    async def close(self) -> None:
        """Pass on no more calls, and return when those under way are counted."""
        ...


class ModelProxy(Protocol):
    """Passes on the model calls of agents' processes.

    Attributes:
        variables: Those of processes that only say what the agent is; their calls are refused.
    """

    variables: Mapping[str, str]

    def trial(self, meter: Meter, folder: Path) -> TrialCalls:
        """Begin to take the calls of an attempt, which `meter` counts and which are kept in `folder`."""
        ...


class _NoCalls:
    """Takes no calls: for processes that only say what the agent is."""

    variables: Mapping[str, str] = dict.fromkeys(
        ("ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GEMINI_API_KEY", "GOOGLE_API_KEY"),
        "no-key-outside-a-trial",
    )

    def trial(self, meter: Meter, folder: Path) -> TrialCalls:
        del meter, folder
        raise RuntimeError("a process that only says what the agent is makes no calls")


NO_CALLS: ModelProxy = _NoCalls()
"""Stands for the proxy before a run has begun."""


class ReportsOnce:
    """A meter for what the agent itself reports, which does not count again what the proxy has counted."""

    def __init__(self, meter: Meter, calls: TrialCalls) -> None:
        self._meter = meter
        self._calls = calls

    @property
    def stopped(self) -> bool:
        """Whether the budget is spent."""
        return bool(getattr(self._meter, "stopped", False))

    def spend(self, usage: Usage, cost_usd: float | None = None) -> None:
        """Count one model call that did not come by the proxy."""
        if not self._calls.take(usage):
            self._meter.spend(usage, cost_usd)
        elif (reason := getattr(self._meter, "exhausted", None)) is not None:
            raise BudgetExceededError(reason)

    def of(self, source: str) -> Meter:
        """Return the meter of another source, which counts likewise."""
        return ReportsOnce(self._meter.of(source), self._calls)


def without_server(context: TrialContext) -> TrialContext:
    """Return a context that names no server of the model and opens none: the variables lead there."""
    config = {name: value for name, value in context.config.items() if name != "base_url"}
    if isinstance(own := config.get("agent_options"), dict):
        config["agent_options"] = {name: own[name] for name in own if name != "base_url"}
    return context.model_copy(update={"config": config}).with_model_opener(None)
