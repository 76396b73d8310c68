"""Instructions and answer formats for Proctor's own agents on WebArena-Verified."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pydantic import ValidationError

from bench_core.guides import AgentGuide

if TYPE_CHECKING:
    from pydantic import JsonValue

    from bench_core.browser_use import TaskInstructions
    from bench_core.protocols import Agent, EnvironmentHandle, TrialContext
    from bench_core.records import AgentTask


def _solver(task: AgentTask, context: TrialContext) -> Agent:
    """Return browser-use with a scripted model: the built-in world's script for the task's id.

    Raises:
        UnknownTaskError: The built-in world has no script for it.
    """
    from bench_core.browser_use import BrowserUseAgent, ScriptedChat
    from webarena_runner.world.scripts import script_for  # only for the built-in world

    del context
    agent: Agent = BrowserUseAgent(chat=ScriptedChat(script_for(task.task_id)))
    return agent


def _instructions(task: AgentTask, browser: EnvironmentHandle) -> TaskInstructions:
    """Return browser-use's instructions, with the form of the answer as its strict output format."""
    from bench_core.browser_use import TaskInstructions
    from webarena_runner.agents.declaration import Declaration

    del browser
    return TaskInstructions(
        task.goal,
        exclude_actions=("search",),  # it would ask a search engine outside
        options={
            "output_model_schema": Declaration,
            "extend_system_message": task.instructions,
        },
        read_answer=_declared,
    )


def _declared(final_result: JsonValue) -> JsonValue:
    """Return the declared answer, or the bare text when it does not fit the declaration."""
    from webarena_runner.agents.declaration import Declaration

    if not isinstance(final_result, str):
        return None
    try:
        return Declaration.model_validate_json(final_result).as_response()
    except ValidationError:
        return final_result


# NAVIGATE is the claim with which doing nothing could score: a RETRIEVE claim is checked against the data,
# a MUTATE claim against requests that must have been sent. Measured
# against webarena-verified 1.2.3 it scores 0.0 on every task of the built-in world and 1.0 only where
# the start page is already the page asked for.
GUIDE = AgentGuide(
    idle_answer={
        "task_type": "NAVIGATE",
        "status": "SUCCESS",
        "retrieved_data": None,
        "error_details": None,
    },
    solver=_solver,
    browser_use=_instructions,
)
"""Found through the entry point `webarena` of `bench_core.guides`."""
