"""Solutions of the simulated desktop's tasks, for Proctor's own agents."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from bench_core.agents import Action, Done
from bench_core.errors import InputError
from bench_core.guides import AgentGuide
from bench_core.protocols import Agent, EnvironmentHandle, TrialContext
from bench_core.records import AgentOutcome, AgentTask
from waa_client.agents.simple import named_agent, read_script
from waa_client.desktop import View, WaaDesktop
from waa_client.world.launch import built_in_world


def solution(task_id: str) -> list[tuple[Action, ...]]:
    """Return the steps that solve a task of the simulated desktop.

    Raises:
        UnknownPluginError: No simulated desktop is installed.
        InputError: It does not have a solution for the task.
    """
    found = built_in_world().solutions().get(task_id)
    if found is None:
        raise InputError(f"the simulated desktop has no solution for {task_id}")
    return [*((action,) for action in found.elements), (Done(),)]


class _Solver:
    """Agent that follows steps, with the view that they need."""

    name = "scripted"

    def __init__(self, steps: Sequence[Sequence[Action]], view: View) -> None:
        self._steps = steps
        self._view = view

    async def run(
        self, task: AgentTask, environment: EnvironmentHandle, context: TrialContext
    ) -> AgentOutcome:
        desktop = environment.live
        if isinstance(desktop, WaaDesktop) and "view" not in context.config:
            desktop.view = self._view
        return await named_agent(self._steps).run(task, environment, context)


def _solver(task: AgentTask, context: TrialContext) -> Agent:
    """Return the agent that follows the script of the run, or the solution of a built-in task.

    Raises:
        InputError: The script is missing, or has nothing for the task.
    """
    script = context.agent_option("script")
    if script:
        steps = read_script(Path(str(script)), task.task_id)
        aims = any('"element"' in step.model_dump_json() for each in steps for step in each)
        return _Solver(steps, View(elements=aims))
    if context.world == "built-in":
        return _Solver(solution(task.task_id), View(elements=True, windows=True))
    raise InputError("the agent 'scripted' needs --agent-option script=...")


GUIDE = AgentGuide(solver=_solver)
"""Found through the entry point `waa` of `bench_core.guides`."""
