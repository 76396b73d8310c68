"""Evaluation of the VM as it is now, for the `evaluate` command."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from bench_core.records import Task
from waa_client.evaluation import EvaluationClient, Verdict
from waa_client.tasks import resolve_task_id


def evaluate_now(
    tasks: Sequence[Task], task_id: str, url: str, history: Sequence[str] = ()
) -> Verdict:
    """Evaluate a task on the evaluator's VM.

    Raises:
        UnknownTaskError: The task does not exist.
        EvaluationError: The evaluator refuses it.
        EnvironmentFaultError: The evaluator does not answer.
    """
    found = resolve_task_id(task_id, tasks)
    task = next(each for each in tasks if each.task_id == found)

    async def ask() -> Verdict:
        async with EvaluationClient(url, tries=4) as evaluator:  # a user waits for the answer
            return await evaluator.evaluate(task.config, history)

    return asyncio.run(ask())


def verdict_text(verdict: Verdict) -> str:
    """Return a verdict as text."""
    if verdict.score is None:
        fault = verdict.evaluation_error
        head = f"not scored: {fault.type}: {fault.message}" if fault else "not scored"
    else:
        head = f"score {verdict.score:g}"
    lines = [f"{head}  ({verdict.method})", verdict.reason, *verdict.notes]
    lines += [
        f"  {each.metric}: {each.score}  expected {each.expected}, found {each.actual}"
        for each in verdict.metrics
    ]
    return "\n".join(line for line in lines if line)
