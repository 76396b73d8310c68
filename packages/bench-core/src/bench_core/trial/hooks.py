"""What a benchmark gives for a trial; everything that all benchmarks share is done by `run_trial`.

::

    open      ->  agent works  ->  capture    ->  evaluate  ->  TrialResult
    (hook)        (core)           (hook)         (hook; scoring again calls it, too)
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from pydantic import JsonValue

from bench_core.errors import EvaluationError
from bench_core.protocols import Agent, EnvironmentHandle, TextHandle, TrialContext
from bench_core.records import (
    LARGEST_SCORE,
    AgentEnding,
    Check,
    ErrorInfo,
    IntegrityFinding,
    Status,
    Task,
    TrialResult,
)
from bench_core.records.vocabulary import FailureMode, SuspectCause
from bench_core.run_folder.artifacts import TrialArtifacts, list_artifacts
from bench_core.trial.integrity import IntegrityWatch

_CLOSE_S = 10.0
_log = logging.getLogger(__name__)


@dataclass
class TrialEnvironment:
    """The opened environment of one trial; the methods do nothing unless a benchmark says more.

    Attributes:
        handle: What the agent acts on.
        inputs: Added to what the agent gets of the task, such as start URLs.
        instructions: What the benchmark states to every agent beside the goal; this and the next two are fields of `AgentTask`.
        answer_schema: JSON Schema of the answer that ends the task; None where any answer will do.
        can_fail: Whether "this cannot be done" is an ending that the benchmark knows.
        steps: Actions done so far, for agents that report none.
        flags: What is to be known of the trial whatever its score.
        timings: Seconds by phase of its own, beside those the core takes.
        machine: Which VM or copy of a site this is.
        browser_sealed: How the context's `hidden` files are hidden from the browser; None where they
            are not.
        details: The benchmark's own record of it.
        integrity: Collects what the agent did that its task does not need.
    """

    handle: EnvironmentHandle = TextHandle()  # immutable
    inputs: dict[str, JsonValue] = field(default_factory=dict)
    instructions: str = ""
    answer_schema: dict[str, JsonValue] | None = None
    can_fail: bool = True
    steps: int = 0
    flags: dict[str, None] = field(default_factory=dict)
    timings: dict[str, float] = field(default_factory=dict)
    machine: str | None = None
    browser_sealed: str | None = None
    details: dict[str, Any] = field(default_factory=dict)
    integrity: IntegrityWatch = field(default_factory=IntegrityWatch)

    async def gone(self) -> None:
        """Wait until the environment has ended while the agent works; for ever where it lasts."""
        # Cancelled when the agent's part is over.
        await asyncio.Event().wait()

    async def why_gone(self, *, reported: bool) -> str | None:
        """Return the agent's act that ended the environment and makes it a failure, else None.

        Called in every trial, once the agent's part is over and the environment was released: None where it is still there.
        `reported` says whether the agent ended with a report, after which it may end the environment.

        Raises:
            EnvironmentFaultError: It is gone, and no act of the agent's shows.
        """
        del reported
        return None

    async def check(self) -> None:
        """Check that the environment works.

        Called after the capture, before `open` is left and the score is known; what it raises counts if that is below 1.

        Raises:
            EnvironmentFaultError: It does not; a trial that did not succeed has no score.
        """

    async def release(self) -> None:
        """Take the environment away from the agent: nothing it does from now on counts.

        Called once, before an agent that still works is cancelled.
        """

    async def capture(self, ending: AgentEnding) -> None:
        """Keep what the agent left in the trial's folder, however its part ended.

        Raises:
            EnvironmentFaultError: What is needed for a score could not be had.
        """


@dataclass(frozen=True)
class Evidence:
    """What a trial is scored from, when it was captured and each time it is scored again.

    Attributes:
        task: With the benchmark's own config.
        folder: The artifacts.
        ending: How the agent's part ended.
        details: What the environment recorded of itself.
        context: Trial, seed, profile and meter; the meter of a judge is `meter("judge")`.
        flags: What is to be known of the trial whatever its score.
        steps: How many the agent took.
        first: The earlier result when a trial is scored again, else None.
    """

    task: Task
    folder: Path
    ending: AgentEnding
    details: Mapping[str, Any]
    context: TrialContext
    flags: tuple[str, ...] = ()
    steps: int = 0
    first: TrialResult | None = None

    @property
    def artifacts(self) -> TrialArtifacts:
        """Writes what the evaluation itself leaves, beside what it is made from."""
        return TrialArtifacts(self.folder)

    @property
    def files(self) -> tuple[str, ...]:
        """The names of all captured files."""
        return list_artifacts(self.folder)


@dataclass(frozen=True)
class Evaluation:
    """What a benchmark's own rules say of what was captured.

    Attributes:
        score: None where the rules could not decide; `error` then says why.
        failure_mode: Why it is no success; the core finds one where this is None.
        suspect: Why the score may not be the agent's own doing.
        status: Instead of how the agent's part ended: `agent_error` for an answer that cannot be
            read, `environment_error` where what was captured shows such a fault.
        findings: What the evidence shows of attempts to score without doing the task.
        details: The benchmark's own record.

    Raises:
        EvaluationError: The score is not finite, or so large that it cannot be averaged.
    """

    score: float | None
    method: str | None = None
    checks: tuple[Check, ...] = ()
    confidence: float | None = None
    flags: tuple[str, ...] = ()
    failure_mode: FailureMode | None = None
    suspect: tuple[SuspectCause, ...] = ()
    status: Status | None = None
    error: ErrorInfo | None = None
    profile: str | None = None
    findings: tuple[IntegrityFinding, ...] = ()
    details: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.score is not None and not abs(self.score) <= LARGEST_SCORE:
            raise EvaluationError(f"the evaluator gave {self.score!r}, which is no score")


@runtime_checkable
class Benchmark(Protocol):
    """A set of tasks, how to open the environment of one, and how to score what is left of it.

    A benchmark says what it opens in an attribute `environment`: `browser`, `desktop` or `text`. An
    agent that does not work there is then refused before a run begins. What its runs need before they
    begin may be a `bench_core.runs.Prepare` in an attribute `prepare`. What it keeps between
    trials, such as a browser, it ends in a coroutine `close`; a trial after that starts it anew.
    A method `unscored` gets the tasks of a run, and says as the beginning of a sentence why some could get
    no score, and what gives them one; None where all can. A run of such tasks is refused.
    """

    name: str

    def tasks(self) -> Sequence[Task]:
        """Return all tasks in a stable order."""
        ...

    def open(
        self, task: Task, context: TrialContext, agent: Agent
    ) -> AbstractAsyncContextManager[TrialEnvironment]:
        """Open the environment of one attempt of `agent` at `task`; leaving the block closes it.

        Raises:
            EnvironmentFaultError: It cannot be opened; the scheduler may try again.
        """
        ...

    async def evaluate(self, evidence: Evidence) -> Evaluation:
        """Score what was captured, without its environment, by the benchmark's own rules.

        Raises:
            EvaluationError: An artifact is missing or the evaluator could not decide.
        """
        ...


async def close_benchmark(benchmark: Benchmark) -> None:
    """End what `benchmark` keeps between trials in the running event loop, where it keeps something.

    What raises, or does not end in 10 s, is logged: the results are written, and nothing takes their place.
    """
    close = getattr(benchmark, "close", None)
    if close is None:
        return

    async def closed() -> None:
        try:
            await close()
        except Exception as error:  # noqa: BLE001  # a plugin's
            _log.warning("what the benchmark keeps could not be closed", exc_info=error)

    closing = asyncio.create_task(closed())
    # `wait_for` would wait for one that does not let itself be cancelled
    await asyncio.wait({closing}, timeout=_CLOSE_S)
    if not closing.done():
        closing.cancel()
        _log.warning("what the benchmark keeps was not closed within %g s", _CLOSE_S)
