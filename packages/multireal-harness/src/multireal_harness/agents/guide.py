"""Instructions for Proctor's own agents on Multi-REAL tasks."""

from __future__ import annotations

from bench_core.browser_use import TaskInstructions
from bench_core.errors import InputError
from bench_core.guides import AgentGuide
from bench_core.protocols import Agent, EnvironmentHandle, TrialContext
from bench_core.records import AgentTask
from multireal_harness.world.solutions_file import Solution

FIRST_WRONG = "wrong"
"""The name that means a task's first solution that must not pass."""
# A script in the page could write the state that is scored; searches and files are part of no app.
_EXCLUDED = ("search", "evaluate", "write_file", "read_file", "replace_file", "upload_file")


def solution_for(task_id: str, name: str) -> Solution:
    """Return the reference solution `name` of a built-in task.

    Raises:
        InputError: The task has none of that name.
    """
    from multireal_harness.world.solutions_file import load_solutions

    found = load_solutions(task_id.removeprefix("multi."))
    fitting = (each for each in found if each.name == name)
    wrong = (each for each in found if name == FIRST_WRONG and not each.passes)
    chosen = next(fitting, None) or next(wrong, None)
    if chosen is None:
        have = ", ".join(each.name for each in found) or "none"
        raise InputError(f"{task_id} has no reference solution {name!r}: it has {have}")
    return chosen


def _solver(task: AgentTask, context: TrialContext) -> Agent:
    """Return the agent that carries out the solution named in the run's configuration (`good`)."""
    from multireal_harness.agents.scripted_agent import ScriptedAgent  # only where asked

    return ScriptedAgent(solution_for(task.task_id, str(context.config.get("solution") or "good")))


def _instructions(task: AgentTask, environment: EnvironmentHandle) -> TaskInstructions:
    """Return browser-use's instructions: the task, and the benchmark's statements as system prompt."""
    from bench_core.browser_use import TaskInstructions

    del environment
    return TaskInstructions(
        task.goal,
        exclude_actions=_EXCLUDED,
        options={"extend_system_message": task.instructions},
    )


GUIDE = AgentGuide(solver=_solver, browser_use=_instructions)
"""Found through the entry point `multireal` of `bench_core.guides`."""
