"""The interfaces between Proctor's parts, of two or three methods each.

Implementations are found through the entry-point groups `bench_core.benchmarks`, `.agents`,
`.judges`, `.reporters` and `.worlds`. Conformance test classes are in `bench_core.testing`.
Arguments survive pickling, so that a trial can run in another process.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, Protocol, runtime_checkable

from pydantic import Field, JsonValue, NonNegativeFloat, PositiveInt, PrivateAttr

from bench_core.errors import AgentError, EnvironmentFaultError, InputError
from bench_core.processes import ProcessGroups
from bench_core.records import LeftOut, Limits, Record, Usage
from bench_core.records import World as WorldKind

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from typing_extensions import Self

    from bench_core.records import AgentOutcome, AgentTask, ErrorInfo
    from bench_core.records.judge import JudgeCase, Verdict

__all__ = [
    "Agent",
    "AgentProcessError",
    "BrowserHandle",
    "DesktopHandle",
    "EnvironmentHandle",
    "Judge",
    "Meter",
    "Reporter",
    "TextHandle",
    "TrialContext",
    "World",
    "WorldInfo",
]


@runtime_checkable
class Meter(Protocol):
    """Counts the spending of a trial while it runs and stops it when the run's budget is gone."""

    def spend(self, usage: Usage, cost_usd: float | None = None) -> None:
        """Add one model call.

        Raises:
            BudgetExceededError: The run's budget is spent; stop the trial.
        """
        ...

    def of(self, source: str) -> Meter:
        """Return the meter of another source of calls, such as `judge`, on the same budget."""
        ...


@dataclass
class LatestCall:
    """How the latest model call of an attempt's agent went; the attempt's meter keeps it.

    Attributes:
        unserved: How it failed, if the provider has served none since; None if it served the latest.
        answered: Whether the provider has served one.
        first: The model whose first answer is waited for.
    """

    unserved: EnvironmentFaultError | None = None
    answered: bool = False
    first: str | None = None

    @property
    def waited_for(self) -> EnvironmentFaultError | None:
        """Why the agent has to wait for its provider: its last call failed, or none was answered yet."""
        if self.unserved is not None or self.first is None:
            return self.unserved
        return EnvironmentFaultError(f"{self.first} did not answer once", fault="deadline")

    def began(self, model: str) -> None:
        """Note that a call of a model is under way; one that is cancelled has not ended."""
        self.first = None if self.answered else model

    def failed(self, error: EnvironmentFaultError) -> None:
        """Note that the provider did not serve the call."""
        self.unserved, self.first = error, None

    def served(self) -> None:
        """Note that the provider served the call."""
        self.unserved, self.answered, self.first = None, True, None


class _FreeMeter:
    """Counts no calls: the meter of a trial without a budget."""

    def __init__(self) -> None:
        self.latest = LatestCall()

    def spend(self, usage: Usage, cost_usd: float | None = None) -> None:
        """Do nothing."""

    def of(self, source: str) -> _FreeMeter:
        """Return itself."""
        del source
        return self

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _FreeMeter)

    def __hash__(self) -> int:
        return hash(_FreeMeter)


class TrialContext(Record):
    """The folder and conditions of one attempt at a trial.

    Attributes:
        folder: The trial's own folder; everything the trial leaves goes there.
        seed: Derived from the run's seed, the task and the trial; the same on every attempt.
        config: The run's configuration for the benchmark and agent.
        hidden: Files with answers, which a browser that an agent acts on is not to see.
        unsealed: Why no files are hidden from agents; None if they are.
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
    timing: str | None = None
    limits: Limits = Limits()
    config: dict[str, JsonValue] = Field(default_factory=dict)
    hidden: tuple[Path, ...] = ()
    unsealed: str | None = None

    _meter: Meter = PrivateAttr(default_factory=_FreeMeter)
    _processes: ProcessGroups = PrivateAttr(default_factory=ProcessGroups)
    _model_opener: Callable[[TrialContext], Any] | None = PrivateAttr(default=None)
    _token: str = PrivateAttr(default="")
    _left_out: list[LeftOut] = PrivateAttr(default_factory=list)
    _afterwards: list[Callable[[], Awaitable[None]]] = PrivateAttr(default_factory=list)

    def __eq__(self, other: object) -> bool:
        # the live objects of this process, such as the meter, are not among the conditions
        return isinstance(other, TrialContext) and self.__dict__ == other.__dict__

    __hash__ = None  # type: ignore[assignment]  # a configuration is a dictionary

    def agent_option(self, name: str, default: Any = None) -> Any:
        """Return a setting of the agent: from `agent_options` of the configuration, or from itself."""
        own = self.config.get("agent_options")
        given = own if isinstance(own, dict) else {}
        return given.get(name, self.config.get(name, default))

    def agent_flag(self, name: str, *, default: bool) -> bool:
        """Return a setting of the agent that is true or false, as `agent_option`; also "yes", "no", "1" and "0".

        Raises:
            InputError: It is something else.
        """
        value = self.agent_option(name, default)
        found = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}.get(
            str(value).lower()
        )
        if found is None:
            raise InputError(f"the option {name} is true or false, not {value!r}")
        return found

    @property
    def meter(self) -> Meter:
        """Receives the trial's report of each model call; counts none outside a run."""
        return self._meter

    def with_meter(self, meter: Meter) -> TrialContext:
        """Return a copy that reports its model calls to `meter`."""
        copy = self.model_copy()
        copy._meter = meter  # its own class, on a copy
        return copy

    @property
    def processes(self) -> ProcessGroups:
        """Receives the process groups that the trial started, by `context.processes.own(pgid)`.

        Processes that live when the trial is over or was given up are killed.
        """
        return self._processes

    def with_processes(self, processes: ProcessGroups) -> TrialContext:
        """Return a copy that registers its process groups in `processes`."""
        copy = self.model_copy()
        copy._processes = processes  # its own class, on a copy
        return copy

    @property
    def token(self) -> str:
        """Distinguishes this attempt from every other, whose results are refused; empty outside a run."""
        return self._token

    def for_attempt(
        self,
        meter: Meter,
        processes: ProcessGroups,
        update: Mapping[str, object],
        *,
        token: str = "",
    ) -> TrialContext:
        """Return one copy with another meter and other processes, and with the fields in `update`."""
        copy = self.model_copy(update=update)
        copy._meter, copy._processes = meter, processes  # its own class, on a copy
        copy._token, copy._left_out, copy._afterwards = token, [], []
        return copy

    @property
    def left_out(self) -> list[LeftOut]:
        """Receives the agent's files that are not kept; copies of a context share it."""
        return self._left_out

    @property
    def afterwards(self) -> list[Callable[[], Awaitable[None]]]:
        """Calls made once the agent's part is over, however it ended; they do not use its time."""
        return self._afterwards

    @property
    def model_opener(self) -> Callable[[TrialContext], Any] | None:
        """Opens the run's model if its name is not enough; see `bench_core.models.model_of`."""
        return self._model_opener

    def with_model_opener(self, opener: Callable[[TrialContext], Any] | None) -> TrialContext:
        """Return a copy whose model `opener` opens."""
        copy = self.model_copy()
        copy._model_opener = opener  # its own class, on a copy
        return copy


class Handle(Record):
    """Base of an agent's handles: an address that survives pickling.

    Agents that work in the process of the run may find the opened environment itself in `live`;
    elsewhere it is None.
    """

    _live: Callable[[], Any] | None = PrivateAttr(default=None)

    @property
    def live(self) -> Any:
        """The opened environment, None in any process except its opener."""
        return None if self._live is None else self._live()

    def with_live(self, opened: Callable[[], object]) -> Self:
        """Return a copy that carries the opened environment, which `opened` makes when it is first asked for."""
        copy = self.model_copy()
        copy._live = cache(opened)  # its own class, on a copy
        return copy

    def __eq__(self, other: object) -> bool:
        # the live environment does not belong to the address
        return isinstance(other, type(self)) and self.__dict__ == other.__dict__

    __hash__ = None  # type: ignore[assignment]  # headers are a dictionary

    def __reduce__(self) -> tuple[Callable[[dict[str, Any]], Self], tuple[dict[str, Any]]]:
        return type(self).model_validate, (dict(self.__dict__),)


class TextHandle(Handle):
    """Nothing to look at or to act on: the task's text is all there is."""

    kind: Literal["text"] = "text"


class BrowserHandle(Handle):
    """A running browser that survives pickling: a CDP URL and the tabs a trial starts with."""

    kind: Literal["browser"] = "browser"
    cdp_url: str
    start_urls: tuple[str, ...] = ()
    viewport: tuple[PositiveInt, PositiveInt] = (1280, 720)


class DesktopHandle(Handle):
    """A desktop behind an HTTP API: the addresses to observe and to act at.

    `timeout_s` is how long one observation or action may take.
    """

    kind: Literal["desktop"] = "desktop"
    url: str
    screen: tuple[PositiveInt, PositiveInt] | None = None
    headers: dict[str, str] = Field(default_factory=dict)
    timeout_s: Annotated[float, Field(gt=0)] = 60.0


EnvironmentHandle = Annotated[
    BrowserHandle | DesktopHandle | TextHandle, Field(discriminator="kind")
]
"""The handle an agent acts on."""


@runtime_checkable
class Agent(Protocol):
    """Acts on an environment until it is done or out of limits.

    An agent that cannot work everywhere lists its kinds in an attribute `environments`, some of
    `browser`, `desktop` and `text`; a run on another environment is refused before it begins. One
    that looks at less than there is may name its parts in `observes`, some of `screenshot`, `elements`,
    `marks`, `tree` and `windows`; an environment in which the rest takes time then leaves it out.
    """

    name: str

    async def run(
        self, task: AgentTask, environment: EnvironmentHandle, context: TrialContext
    ) -> AgentOutcome:
        """Work on `task` and report how it went.

        Raises:
            EnvironmentFaultError: The environment or the model provider failed.
            BudgetExceededError: The run's budget is spent. Anything else that escapes counts as
                the agent's own failure.
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
    """The addresses of a started built-in world: names to URLs."""

    name: str
    urls: dict[str, str]
    startup_s: NonNegativeFloat = 0.0


@runtime_checkable
class World(Protocol):
    """A built-in stand-in for a benchmark's real systems that a demo can start."""

    name: str

    async def start(self) -> WorldInfo:
        """Start the world and return its addresses."""
        ...

    async def stop(self) -> None:
        """Stop everything `start` began; safe to call twice."""
        ...


class AgentProcessError(AgentError):
    """An agent in a process of its own raised something, or its process died or had to be ended.

    Attributes:
        info: The record of it: the agent's own exception, or how its process ended.
        flags: Set on the trial's result.
    """

    def __init__(self, info: ErrorInfo, flags: tuple[str, ...] = ()) -> None:
        self.info = info
        self.flags = flags
        super().__init__(info.message)
