"""What Proctor's parts ask of each other, in two or three methods each.

Implementations are found through the entry-point groups `bench_core.benchmarks`, `.agents`,
`.judges`, `.reporters` and `.worlds`. Conformance test classes are in `bench_core.testing`.
Arguments survive pickling, so that a trial can run in another process.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, Protocol, runtime_checkable

from pydantic import Field, JsonValue, NonNegativeFloat, PositiveInt, PrivateAttr

from bench_core.processes import ProcessGroups
from bench_core.records import Limits, Record, Usage
from bench_core.records import World as WorldKind

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bench_core.judging import JudgeCase, Verdict
    from bench_core.records import AgentOutcome, AgentTask, Task, TrialResult

__all__ = [
    "Agent",
    "Benchmark",
    "BrowserHandle",
    "DesktopHandle",
    "EnvironmentHandle",
    "Judge",
    "Meter",
    "Reporter",
    "TrialContext",
    "World",
    "WorldInfo",
]


@runtime_checkable
class Meter(Protocol):
    """Counts what a trial spends while it runs and stops it when the run's budget is gone."""

    def spend(self, usage: Usage, cost_usd: float | None = None) -> None:
        """Add one model call.

        Raises:
            BudgetExceededError: The run's budget is spent; stop the trial.
        """
        ...


class _FreeMeter:
    """Counts nothing: the meter of a trial without a budget. One is as good as another."""

    def spend(self, usage: Usage, cost_usd: float | None = None) -> None:
        """Do nothing."""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _FreeMeter)

    def __hash__(self) -> int:
        return hash(_FreeMeter)


class TrialContext(Record):
    """Where and under which conditions one attempt at a trial runs.

    Attributes:
        folder: The trial's own folder; everything the trial leaves goes there.
        seed: Derived from the run's seed, the task and the trial; the same on every attempt.
        config: The run's configuration for the benchmark and agent.
    """

    run_id: str
    folder: Path
    trial: PositiveInt = 1
    attempt: PositiveInt = 1
    seed: int = 0
    agent: str = ""
    model: str | None = None
    world: WorldKind = "real"
    profile: str = "official"
    limits: Limits = Limits()
    config: dict[str, JsonValue] = Field(default_factory=dict)

    _meter: Meter = PrivateAttr(default_factory=_FreeMeter)
    _processes: ProcessGroups = PrivateAttr(default_factory=ProcessGroups)

    def __eq__(self, other: object) -> bool:
        # the live objects of this process, such as the meter, are no part of the conditions
        return isinstance(other, TrialContext) and self.__dict__ == other.__dict__

    __hash__ = None  # type: ignore[assignment]  # a configuration is a dictionary

    @property
    def meter(self) -> Meter:
        """Where the trial reports each model call; free of charge outside a run."""
        return self._meter

    def with_meter(self, meter: Meter) -> TrialContext:
        """Return a copy that reports its model calls to `meter`."""
        copy = self.model_copy()
        copy._meter = meter  # noqa: SLF001  # its own class, on a copy
        return copy

    @property
    def processes(self) -> ProcessGroups:
        """Where the trial tells which process groups it started: `context.processes.own(pgid)`.

        What still lives when the trial is over or was given up is killed.
        """
        return self._processes

    def with_processes(self, processes: ProcessGroups) -> TrialContext:
        """Return a copy that registers its process groups in `processes`."""
        copy = self.model_copy()
        copy._processes = processes  # noqa: SLF001  # its own class, on a copy
        return copy


class BrowserHandle(Record):
    """A running browser that survives pickling: a CDP URL and the tabs a trial starts with."""

    kind: Literal["browser"] = "browser"
    cdp_url: str
    start_urls: tuple[str, ...] = ()
    viewport: tuple[PositiveInt, PositiveInt] = (1280, 720)


class DesktopHandle(Record):
    """A desktop behind an HTTP API: where to observe and where to act.

    `timeout_s` is how long one observation or action may take.
    """

    kind: Literal["desktop"] = "desktop"
    url: str
    screen: tuple[PositiveInt, PositiveInt] | None = None
    headers: dict[str, str] = Field(default_factory=dict)
    timeout_s: Annotated[float, Field(gt=0)] = 60.0


EnvironmentHandle = Annotated[BrowserHandle | DesktopHandle, Field(discriminator="kind")]
"""What an agent acts on."""


@runtime_checkable
class Agent(Protocol):
    """Acts on an environment until it is done or out of limits."""

    name: str

    async def run(
        self, task: AgentTask, environment: BrowserHandle | DesktopHandle, context: TrialContext
    ) -> AgentOutcome:
        """Work on `task` and report how it went.

        Raises:
            EnvironmentFaultError: The environment or the model provider failed. Anything else
                that escapes counts as the agent's own failure.
        """
        ...


@runtime_checkable
class Benchmark(Protocol):
    """A set of tasks, how to run one, and how to score what is left of it."""

    name: str

    def tasks(self) -> Sequence[Task]:
        """Return all tasks in a stable order."""
        ...

    async def run_trial(self, task: Task, context: TrialContext) -> TrialResult:
        """Run one attempt at `task` and score it by the benchmark's own rules.

        Raises:
            EnvironmentFaultError: No score is possible; the scheduler may try again.
            EvaluationError: The evaluator could not decide.
        """
        ...

    async def rescore(self, task: Task, result: TrialResult, folder: Path) -> TrialResult:
        """Score a finished trial again from the artifacts in its `folder`, without its environment.

        Raises:
            EvaluationError: An artifact is missing or the evaluator could not decide.
        """
        ...


@runtime_checkable
class Judge(Protocol):
    """Decides whether an end state meets its criteria."""

    name: str

    async def judge(self, case: JudgeCase) -> Verdict:
        """Judge one case; provider faults are the outcome `error`, never a fail."""
        ...


@runtime_checkable
class Reporter(Protocol):
    """Turns run folders into files people read."""

    name: str

    def report(self, runs: Sequence[Path], out: Path) -> Sequence[Path]:
        """Write the report of `runs` into the folder `out` and return the files written."""
        ...


class WorldInfo(Record):
    """Where a started built-in world answers: names to URLs."""

    name: str
    urls: dict[str, str]
    startup_s: NonNegativeFloat = 0.0


@runtime_checkable
class World(Protocol):
    """A built-in stand-in for a benchmark's real systems that a demo can start."""

    name: str

    async def start(self) -> WorldInfo:
        """Start the world and return where it answers."""
        ...

    async def stop(self) -> None:
        """Stop everything `start` began; safe to call twice."""
        ...
