"""One trial from its environment to its result, the same way for every benchmark."""

from __future__ import annotations

import asyncio
import logging
import os
import time
from collections.abc import Coroutine
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from bench_core.errors import BudgetExceededError, EvaluationError, InputError, SuspendedError
from bench_core.faults.table import Origin
from bench_core.protocols import Agent, TrialContext
from bench_core.records import (
    AgentCode,
    AgentEnding,
    AgentOutcome,
    AgentTask,
    Integrity,
    IntegrityFinding,
    Status,
    Task,
    TrialResult,
)
from bench_core.redaction import Redactor
from bench_core.run_folder.left_files import TRIAL_LIMITS, keep_files
from bench_core.running_time import RUNNING_TIME, SuspensionWatch
from bench_core.trial.agent_work import AgentLimits, AgentWork, run_agent
from bench_core.trial.hooks import Benchmark, Evidence, TrialEnvironment
from bench_core.trial.integrity import integrity_of, is_contained, void_of
from bench_core.trial.log import trial_log
from bench_core.trial.own_accord import Bordered, OwnAccordError, bordered
from bench_core.trial.results import (
    NOT_CLOSED,
    USAGE_REPORTED,
    conditions,
    ending_of,
    evaluated_fields,
    fault_fields,
    files_of,
    reported_fields,
    with_steps,
)
from bench_core.trial.sealing import sealing_of


def run_trial(
    benchmark: Benchmark,
    task: Task,
    context: TrialContext,
    agent: Agent,
    *,
    limits: AgentLimits | None = None,
    redactor: Redactor | None = None,
    code: AgentCode | None = None,
) -> Coroutine[Any, Any, TrialResult]:
    """Run one attempt of `agent` at `task` and score its end state.

    Whatever the agent did, its end state is captured; whatever failed after that, its acts and
    spending are in the result, and `code`, which identifies the agent's program.

    Raises:
        InputError: The agent does not work in the benchmark's environment.
        EnvironmentFaultError: The environment could not be opened.
    """
    return _Trial(benchmark, task, context, agent, limits or AgentLimits(), code).run(redactor)


def refuse_misfit(benchmark: Benchmark, agent: Agent) -> None:
    """Refuse an agent that says it does not work in the environment the benchmark says it opens.

    Raises:
        InputError: It names both, and the way out.
    """
    environment = getattr(benchmark, "environment", None)
    taken = tuple(getattr(agent, "environments", ()))
    if environment is None or not taken or environment in taken:
        return
    raise InputError(
        f"the agent {agent.name!r} works in {_or(taken)} environments, and the benchmark "
        f"{benchmark.name!r} opens a {environment}: choose an agent for a {environment}, or a "
        f"benchmark that opens a {_or(taken)}"
    )


def _or(words: tuple[str, ...]) -> str:
    return " or ".join(words)


async def rescore_trial(
    benchmark: Benchmark, task: Task, result: TrialResult, folder: Path, *, seed: int = 0
) -> TrialResult:
    """Score a finished trial again from its files, by the same rules or by newer ones.

    Args:
        benchmark: Its `evaluate` is asked.
        task: With the benchmark's own config.
        result: The recorded result of the trial.
        folder: Its artifacts.
        seed: The trial's own.

    Raises:
        EvaluationError: An artifact is missing, the agent's part never ended, or the evaluator
            could not decide.
    """
    ending = _ending_in(result)
    context = TrialContext(
        run_id="rescore",
        folder=folder,
        trial=result.trial,
        seed=seed,
        agent=result.agent,
        model=result.model,
        world=result.world,
        profile=result.profile,
        timing=result.timing,
    )
    evidence = Evidence(
        task, folder, ending, result.details, context, ending.flags, result.steps, first=result
    )
    evaluation = await benchmark.evaluate(evidence)
    fields = {**dict(result), **evaluated_fields(ending, evaluation, result.details, result.steps)}
    # It follows from the new score, and a record whose two disagree is refused.
    del fields["success"]
    if USAGE_REPORTED in result.flags:  # whatever the rules, its calls were not metered
        fields["flags"] = tuple(dict.fromkeys([*fields["flags"], USAGE_REPORTED]))
    return TrialResult.model_validate({**fields, "ending": _without_error_of(fields, ending)})


def _without_error_of(fields: dict[str, Any], ending: AgentEnding) -> AgentEnding:
    """Return the ending as it is stored: its error is recorded once, as the result's own if it is."""
    if ending.error is None or fields["error"] is not ending.error:
        return ending
    return ending.model_copy(update={"error": None})


def _ending_in(result: TrialResult) -> AgentEnding:
    """Return the ending of a stored result, with its error.

    Raises:
        EvaluationError: The agent's part never ended.
    """
    ending, error = result.ending, result.error
    if ending is None:
        raise EvaluationError(
            f"{result.task_id} trial {result.trial} got no further than its start: it left no end "
            f"state to score"
        )
    if error is None or error.phase != "agent":
        return ending
    return ending.model_copy(update={"error": error})


async def _files_of(context: TrialContext) -> dict[str, Any]:
    """Describe a trial's files; a thread is worth it only if there are files to digest."""
    if not os.listdir(context.folder):  # noqa: PTH208  # a fifth of the cost of looking by `Path`
        return {"left_out": tuple(context.left_out)}
    return await asyncio.to_thread(files_of, context)


@dataclass
class _Trial:
    """One attempt under way; `fields` are those of its result as far as they are known."""

    benchmark: Benchmark
    task: Task
    context: TrialContext
    agent: Agent
    limits: AgentLimits
    code: AgentCode | None = None
    timings: dict[str, float] = field(default_factory=dict)
    work: AgentWork = AgentWork(AgentOutcome())  # immutable
    captured: bool = False
    capture_fault: Exception | None = None
    check_fault: Exception | None = None
    found: tuple[IntegrityFinding, ...] = ()
    suspended: SuspensionWatch | None = None

    async def run(self, redactor: Redactor | None) -> TrialResult:
        refuse_misfit(self.benchmark, self.agent)
        with (
            trial_log(self.context.folder, [self.benchmark, self.agent], redactor) as log,
            RUNNING_TIME.watched(self.context.processes) as self.suspended,
        ):
            started, began = datetime.now(timezone.utc), time.monotonic()
            environment: TrialEnvironment | None = None
            try:
                async with Bordered(self._open, "the benchmark's `open`") as environment:
                    self.timings["environment"] = time.monotonic() - began
                    with self._timed("agent"):
                        self.work = await run_agent(
                            self.agent,
                            self._for_agent(environment),
                            environment,
                            self.context,
                            self.limits,
                            self.suspended,
                        )
                    ending = await self._captured(environment, log, redactor)
                    await self._check(environment)
            except Exception as error:
                if environment is None:
                    log.warning("the environment could not be opened", exc_info=error)
                # Before the capture, a fault of the environment leaves nothing that could be scored.
                if environment is None or not self.captured:
                    raise
                # the evidence for the score was captured before
                log.warning("the environment could not be closed", exc_info=error)
                environment.flags[NOT_CLOSED] = None
                ending = ending_of(self.work.outcome, environment)
            fields = await self._score(environment, ending)
            result = {
                **conditions(self.task, self.context),
                **reported_fields(self.work.outcome),
                "agent_code": self.code,
                "machine": environment.machine,
                "started": started,
                "details": dict(environment.details),
                **fields,
                "integrity": self._integrity(environment, fields),
                "sealing": sealing_of(environment, self.context, self.agent, self.code),
                "timings_s": {
                    **environment.timings, **self.timings, "total": time.monotonic() - began
                },
                **await _files_of(self.context),
            }  # fmt: skip
            return TrialResult.model_validate(result)

    def _open(self) -> AbstractAsyncContextManager[TrialEnvironment]:
        return self.benchmark.open(self.task, self.context, self.agent)

    async def _captured(
        self, environment: TrialEnvironment, log: logging.Logger, redactor: Redactor | None
    ) -> AgentEnding:
        """Keep the agent's files, however its part ended."""
        outcome, fault = self.work.outcome, self.work.fault
        if fault is not None or outcome.status is not Status.COMPLETED:
            log.warning("the agent ended: %s", fault or outcome.status.value)
        ending, flags = ending_of(outcome, environment), tuple(environment.flags)
        # before the evidence is written among it, and evaluations look at it
        folder = self.context.folder
        if os.listdir(folder):  # noqa: PTH208  # as above
            left_out = await asyncio.to_thread(keep_files, folder, folder, TRIAL_LIMITS, redactor)
            self.context.left_out.extend(left_out)
        with self._timed("capture"):
            try:
                await bordered(lambda: environment.capture(ending), "the benchmark's `capture`")
            except Exception as error:  # a plugin's; the agent's work is recorded all the same
                log.warning("what the agent left could not be captured", exc_info=error)
                self.capture_fault = error
        # only now: the capture may have written the trajectory
        outcome = with_steps(outcome, self.context.folder, environment.steps)
        self.work = AgentWork(outcome, fault, self.work.claimed)
        self.captured = True
        # The capture may change only its flags.
        same = tuple(environment.flags) == flags
        return ending if same else ending_of(outcome, environment)

    async def _check(self, environment: TrialEnvironment) -> None:
        """Look whether the environment works, while it is open and before the score is known."""
        if self.work.fault is not None or self.capture_fault is not None:
            return
        try:
            await bordered(environment.check, "the benchmark's `check`")
        except Exception as error:  # noqa: BLE001  # a plugin's; failing there is not the agent's failure
            self.check_fault = error

    def _for_agent(self, environment: TrialEnvironment) -> AgentTask:
        return self.task.for_agent(
            inputs=environment.inputs,
            limits=self.context.limits,
            instructions=environment.instructions,
            answer_schema=environment.answer_schema,
            can_fail=environment.can_fail,
        )

    async def _score(self, environment: TrialEnvironment, ending: AgentEnding) -> dict[str, Any]:
        """Return the fields that faults and the evaluation decide."""
        unscored = self._unscored(ending)
        if unscored is not None:
            return unscored
        try:
            with self._timed("evaluation"):
                evidence = Evidence(
                    self.task,
                    self.context.folder,
                    ending,
                    environment.details,
                    self.context,
                    ending.flags,
                    self.work.outcome.steps,
                )
                evaluation = await bordered(
                    lambda: self.benchmark.evaluate(evidence), "the benchmark's `evaluate`"
                )
                if evaluation.score is None or evaluation.score < 1.0:
                    self._refuse_suspended()
        except Exception as error:  # noqa: BLE001  # foreign evaluators run here; recorded, never a score
            phase = "harness" if isinstance(error, OwnAccordError) else "evaluation"
            return self._with_ending(fault_fields(error, phase, after_work=True), ending)
        self.found = evaluation.findings
        # Only a failure can be the environment's doing; a success proves that it worked.
        if self.check_fault is not None and evaluation.score is not None and evaluation.score < 1.0:
            fields = fault_fields(self.check_fault, "check", after_work=False)
            return self._with_ending(fields, ending)
        steps = self.work.outcome.steps
        fields = evaluated_fields(ending, evaluation, environment.details, steps)
        return {**fields, "ending": _without_error_of(fields, ending)}

    def _integrity(self, environment: TrialEnvironment, fields: dict[str, Any]) -> Integrity:
        """Return the known facts about the agent's ways; they never change the score."""
        watch, contained = environment.integrity, is_contained(self.agent, self.code)
        error = fields.get("error")
        void = void_of(
            fields["status"],
            error.message if error is not None else "",
            found=bool(watch.findings or self.found),
            claimed=self.work.claimed and not contained,
        )
        return integrity_of(watch, (*self.found, *void), contained=contained)

    def _refuse_suspended(self) -> None:
        """Refuse to score a trial during which this process, or one of the trial's, was suspended.

        Raises:
            SuspendedError: For longer than it can make good.
        """
        RUNNING_TIME.beat()  # it may have ended just now
        if self.suspended is not None and self.suspended.problem is not None:
            raise SuspendedError(self.suspended.problem)

    def _unscored(self, ending: AgentEnding) -> dict[str, Any] | None:
        try:
            self._refuse_suspended()  # whatever came of it: a choice by outcome would favour one
        except SuspendedError as suspended:
            return self._with_flags(fault_fields(suspended, "agent", after_work=False), ending)
        if self.work.fault is not None:
            origin: Origin = "agent" if self.work.claimed else "benchmark"
            fields = fault_fields(self.work.fault, "agent", after_work=False, origin=origin)
            return self._with_flags(fields, ending)
        if ending.status is Status.BUDGET_EXCEEDED:
            error = BudgetExceededError("the run's budget is spent")
            return self._with_flags(fault_fields(error, "agent", after_work=False), ending)
        if self.capture_fault is not None:
            fault = fault_fields(self.capture_fault, "capture", after_work=True)
            return self._with_ending(fault, ending)
        return None

    @staticmethod
    def _with_flags(fields: dict[str, Any], ending: AgentEnding) -> dict[str, Any]:
        return {**fields, "flags": tuple(dict.fromkeys([*ending.flags, *fields["flags"]]))}

    def _with_ending(self, fields: dict[str, Any], ending: AgentEnding) -> dict[str, Any]:
        return {**self._with_flags(fields, ending), "ending": ending}

    def _timed(self, phase: str) -> _Timed:
        return _Timed(self.timings, phase)


class _Timed:
    """Takes the duration of its block, at half the cost of a generator that does so."""

    def __init__(self, timings: dict[str, float], phase: str) -> None:
        self._timings, self._phase = timings, phase
        self._began = time.monotonic()

    def __enter__(self) -> None:
        pass

    def __exit__(self, *_: object) -> None:
        self._timings[self._phase] = time.monotonic() - self._began
