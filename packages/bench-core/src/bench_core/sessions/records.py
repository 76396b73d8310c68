"""Records that cross the border of a session: settings, steps, states and reasons for missing scores."""

from __future__ import annotations

from functools import partial
from pathlib import Path  # pydantic reads the annotation
from typing import Any, Literal

from pydantic import Field, JsonValue, NonNegativeFloat, NonNegativeInt, PositiveFloat, PositiveInt

from bench_core.agents import Observation
from bench_core.errors import BenchError
from bench_core.records import AgentTask, Record, Status, TrialResult, World

_ENVIRONMENT = Status.ENVIRONMENT_ERROR.value


class SessionSettings(Record):
    """Settings for opening the sessions of a benchmark.

    Attributes:
        world: `built-in` stand-ins, or the `real` systems that `options` or environment variables name.
        max_steps: Longest episode in steps; None leaves it to the benchmark, which has 30 at least.
        time_limit_s: Longest episode in seconds, the client's thinking included; its end state is scored.
        reset_s: Longest wait for an environment to open.
        idle_s: An episode without a call for so long is given up without a score.
        keep: Folder that keeps the artifacts and the result of each episode; None keeps nothing.
        sealing: Whether browsers are kept from files with answers, if the machine can do so.
        options: The benchmark's own options of a run, such as `vms` or `config_file`.
    """

    world: World = "built-in"
    max_steps: PositiveInt | None = None
    time_limit_s: PositiveFloat | None = None
    reset_s: PositiveFloat = 900.0
    idle_s: PositiveFloat = 1800.0
    keep: Path | None = None
    sealing: Literal["auto", "require", "off"] = "auto"
    options: dict[str, JsonValue] = Field(default_factory=dict)


class TaskNote(Record):
    """A task's description before it is tried, without its answer."""

    task_id: str
    goal: str
    groups: dict[str, tuple[str, ...]] = Field(default_factory=dict)


class SessionStep(Record):
    """The result of a reset or a step.

    Attributes:
        observation: The observation; only the actions' results when the episode is over.
        reward: 0.0 while the episode goes on, the score when it is over.
        done: Whether the episode is over.
        info: When the episode is over: status, score and notes on them.
        task: After a reset: the agent's view of the task, including the form of the answer.
    """

    observation: Observation
    reward: NonNegativeFloat = 0.0
    done: bool = False
    info: dict[str, JsonValue] = Field(default_factory=dict)
    task: AgentTask | None = None


class SessionState(Record):
    """The state of a session.

    Attributes:
        episode_id: Of the latest reset; None before the first.
        step_count: Steps of that episode.
        phase: `new`, an episode `open`, or `over`.
    """

    benchmark: str
    world: World
    phase: Literal["new", "open", "over"] = "new"
    episode_id: str | None = None
    task_id: str | None = None
    goal: str | None = None
    seed: int | None = None
    step_count: NonNegativeInt = 0
    score: float | None = None


class SessionBusyError(BenchError):
    """A call came while another of the same session is under way."""


class EpisodeError(BenchError):
    """The episode has no score, and no reward: the agent is not at fault.

    Attributes:
        kind: `environment_error`, `evaluation_error`, `budget_exceeded` or `cancelled`.
        reason: The cause of the failure.
        result: The trial's record, if it got so far.
    """

    def __init__(
        self, reason: str, *, kind: str = _ENVIRONMENT, result: TrialResult | None = None
    ) -> None:
        self.kind = kind
        self.reason = reason
        self.result = result
        super().__init__(f"no score ({kind}): {reason}")

    def __reduce__(self) -> tuple[Any, ...]:
        return partial(EpisodeError, kind=self.kind, result=self.result), (self.reason,)
