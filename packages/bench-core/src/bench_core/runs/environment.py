"""The parts a run works with, besides benchmark, spec and folder."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from bench_core.progress.interface import NoProgress
from bench_core.scheduling.clocks import SystemClock
from bench_core.scheduling.machine_locks import FileLocks
from bench_core.scheduling.turns import Alone
from bench_core.trial import AgentLimits

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from pydantic import JsonValue

    from bench_core.agent_process.model_calls import Upstream
    from bench_core.progress.interface import Progress
    from bench_core.protocols import Agent, TrialContext
    from bench_core.records import Task
    from bench_core.redaction import Redactor
    from bench_core.runs.event_sources import EventSource
    from bench_core.scheduling.clocks import Clock
    from bench_core.scheduling.machine_locks import MachineLocks
    from bench_core.scheduling.scheduler import Policy
    from bench_core.scheduling.turns import Turns
    from bench_core.workers.recipe import Recipe
    from bench_core.workers.transport import Transport


@dataclass(frozen=True)
class Provenance:
    """Entries of `run.json` that do not come from the spec.

    Attributes:
        benchmark_version: The version of the benchmark or its evaluator.
        packages: Distributions whose versions matter, e.g. `browser-use`.
        prices: The prices that turn tokens into dollars.
        prices_as_of: Their date.
    """

    benchmark_version: str | None = None
    packages: tuple[str, ...] = ()
    prices: Sequence[Mapping[str, JsonValue]] = ()
    prices_as_of: str | None = None


@dataclass(frozen=True)
class RunEnvironment:
    """The parts a run works with, besides benchmark, spec and folder; the defaults are for real runs.

    Attributes:
        progress: Receives the events of the run.
        provenance: Entries of `run.json` that do not come from the spec.
        price_of: Returns the price of a model or None; a budget in dollars needs it. A row of a
            table (`bench_core.models.price_row`) is kept in `run.json`.
        redactor: Knows the keys that must not be written; by default those in the environment.
        locks: Holds resources against other processes.
        clock: Gives the time.
        policy: Overrides how trials are scheduled; by default it follows the spec.
        agent_for: Makes the agent of each trial; by default the installed one of the run's name.
        open_model: Opens the model of each trial if its name is not enough.
        upstream: Where the model proxy passes calls on to, if not to the provider's own address
            with the usual key.
        agent_limits: How patient trials are with their agents.
        recipe: Tells worker processes how to build the benchmark; None if only this process can.
        transport: Starts the workers, instead of the spec's executor.
        event_sources: Parts with events of their own for `events.jsonl`, such as a pool of VMs.
        turns: The turns that the run takes with others that run at the same time.
    """

    progress: Progress = field(default_factory=NoProgress)
    provenance: Provenance = field(default_factory=Provenance)
    price_of: Callable[[str], object | None] | None = None
    redactor: Redactor | None = None
    locks: MachineLocks = field(default_factory=FileLocks)
    clock: Clock = field(default_factory=SystemClock)
    policy: Policy | None = None
    agent_for: Callable[[Task, TrialContext], Agent] | None = None
    open_model: Callable[[TrialContext], object] | None = None
    upstream: Callable[[], Upstream] | None = None
    agent_limits: AgentLimits = AgentLimits()  # immutable
    recipe: Recipe | None = None
    transport: Transport | None = None
    event_sources: tuple[EventSource, ...] = ()
    turns: Turns = field(default_factory=Alone)
