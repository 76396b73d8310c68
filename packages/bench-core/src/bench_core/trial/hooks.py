"""The hooks of a benchmark for a trial; `run_trial` does everything that all benchmarks share.

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
    """The opened environment of one trial; the methods do nothing unless a benchmark overrides them.

    Attributes:
        handle: The object the agent acts on.
        inputs: Added to the agent's inputs from the task, such as start URLs.
        instructions: The benchmark's statement to every agent; this and the next two are fields of `AgentTask`.
        answer_schema: JSON Schema of the answer that ends the task; None if any answer will do.
        can_fail: Whether "this cannot be done" is an ending that the benchmark knows.
        steps: Actions done so far, for agents that report none.
        flags: Remarks on the trial whatever its score.
        timings: Seconds by phase of its own, in addition to the core's.
        machine: Which VM or copy of a site this is.
        browser_sealed: How the context's `hidden` files are hidden from the browser; None if they
            are not.
        details: The benchmark's own record of it.
        integrity: Collects acts of the agent that its task does not need.
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
        """Wait until the environment has ended while the agent works; forever if it lasts."""
        # Cancelled when the agent's part is over.
        await asyncio.Event().wait()

    async def why_gone(self, *, reported: bool) -> str | None:
        """Return the agent's act that ended the environment and makes it a failure, else None.

        Called in every trial, once the agent's part is over and the environment was released: None if it is still there.
        `reported` says whether the agent ended with a report, after which it may end the environment.

        Raises:
            EnvironmentFaultError: It is gone, and no act of the agent's shows.
        """
        del reported
        return None

    async def check(self) -> None:
        """Check that the environment works.

        Called after the capture, before `open` is left and the score is known; its error counts if that is below 1.

        Raises:
            EnvironmentFaultError: It does not; a trial that did not succeed has no score.
        """

    async def release(self) -> None:
        """Take the environment away from the agent: its later acts do not count.

        Called once, before an agent that still works is cancelled.
        """

    async def capture(self, ending: AgentEnding) -> None:
        """Keep the agent's files in the trial's folder, however its part ended.

        Raises:
            EnvironmentFaultError: Evidence that a score needs could not be had.
        """


@dataclass(frozen=True)
class Evidence:
    """The evidence from which a trial is scored, at its capture and each time it is scored again.

    Attributes:
        task: With the benchmark's own config.
        folder: The artifacts.
        ending: How the agent's part ended.
        details: The environment's record of itself.
        context: Trial, seed, profile and meter; the meter of a judge is `meter("judge")`.
        flags: Remarks on the trial whatever its score.
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
        """Writes the evaluation's own files, next to its evidence."""
        return TrialArtifacts(self.folder)

    @property
    def files(self) -> tuple[str, ...]:
        """The names of all captured files."""
        return list_artifacts(self.folder)


@dataclass(frozen=True)
class Evaluation:
    """The outcome of a benchmark's own rules on the evidence.

    Attributes:
        score: None if the rules could not decide; `error` then says why.
        failure_mode: Why it did not succeed; the core finds one if this is None.
        suspect: Why the score may not be the agent's own doing.
        status: Instead of how the agent's part ended: `agent_error` for an answer that cannot be
            read, `environment_error` if the evidence shows such a fault.
        findings: Signs in the evidence of attempts to score without doing the task.
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
    """A set of tasks, how to open the environment of one, and how to score its end state.

    A benchmark names the kind of its environment in an attribute `environment`: `browser`, `desktop` or `text`.
    An agent that does not work there is then refused before a run begins. The preparation of its runs
    may be a `bench_core.runs.Prepare` in an attribute `prepare`. Resources that it keeps between
    trials, such as a browser, it ends in a coroutine `close`; a trial after that starts it anew.
    A method `unscored` gets the tasks of a run, and says as the beginning of a sentence why some could get
    no score, and what gives them one; None if all can. A run of such tasks is refused.
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
        """Score the evidence, without its environment, by the benchmark's own rules.

        Raises:
            EvaluationError: An artifact is missing or the evaluator could not decide.
        """
        ...


async def close_benchmark(benchmark: Benchmark) -> None:
    """End the resources of `benchmark` between trials in the running event loop, if it keeps any.

    An error, or a wait of over 10 s, is logged: the results are written, and nothing takes their place.
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
