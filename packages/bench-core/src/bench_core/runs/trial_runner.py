"""Runs single attempts in this process: the agent of a run, and the trial around it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from bench_core.trial import run_trial

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine
    from typing import Any

    from bench_core.protocols import Agent, TrialContext
    from bench_core.records import AgentCode, Task, TrialResult
    from bench_core.run_spec import Timeouts
    from bench_core.runs.environment import RunEnvironment
    from bench_core.trial import Benchmark


def trial_runner(
    benchmark: Benchmark,
    with_: RunEnvironment,
    agent_for: Callable[[Task, TrialContext], Agent],
    code: AgentCode,
    timeouts: Timeouts,
) -> Callable[[Task, TrialContext], Coroutine[Any, Any, TrialResult]]:
    """Return the function that runs one attempt of a run in this process."""
    code = code.without_lists()
    limits = with_.agent_limits
    if limits.fallback_s is None:
        limits = replace(limits, fallback_s=timeouts.fallback_deadline_s)

    def run(task: Task, context: TrialContext) -> Coroutine[Any, Any, TrialResult]:
        return run_trial(
            benchmark,
            task,
            context,
            agent_for(task, context),
            limits=limits,
            redactor=with_.redactor,
            code=code,
        )

    return run
