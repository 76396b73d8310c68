"""Small agents based on bench-core's: a script, a replay, HTTP."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError

from bench_core.agents import (
    Action,
    Decision,
    Done,
    ElementRef,
    Fail,
    LoopAgent,
    Observation,
    RunCode,
    Wait,
    http_agent,
    named_element,
    named_targets,
    read_actions,
    scripted_agent,
)
from bench_core.errors import AgentError, InputError
from bench_core.files import folder_name
from bench_core.protocols import BrowserHandle, DesktopHandle, TrialContext
from bench_core.records import AgentOutcome, AgentTask
from bench_core.records.problems import problems_of
from bench_core.run_folder import TRAJECTORY
from waa_client.desktop import View

Handle = BrowserHandle | DesktopHandle

__all__ = [
    "HttpAgent",
    "ReplayAgent",
    "named_agent",
    "read_script",
]

_STEP: TypeAdapter[Action] = TypeAdapter(Action)
_WORDS: dict[str, type[Wait | Done | Fail]] = {"WAIT": Wait, "DONE": Done, "FAIL": Fail}


class ReplayAgent:
    """`replay`: repeats the actions recorded for the task in the run folder of the option `run`."""

    name = "replay"
    environments = ("desktop",)

    def view(self, context: TrialContext) -> View:
        """Return elements, which the recorded actions may need."""
        return View(elements=bool(context.agent_option("elements", default=True)))

    def check(self, tasks: Sequence[str], context: TrialContext) -> None:
        """Refuse a run folder that did not record every one of these tasks."""
        for task_id in tasks:
            _recorded(context, task_id)

    async def run(
        self, task: AgentTask, environment: Handle, context: TrialContext
    ) -> AgentOutcome:
        """Repeat the trial; see `bench_core.protocols.Agent`."""
        path = _recorded(context, task.task_id)
        return await scripted_agent(read_actions(path)).run(task, environment, context)


class HttpAgent:
    """`http`: asks the endpoint of the option `url` for each step; see `bench_core.agents`."""

    name = "http"
    environments = ("desktop",)

    def check(self, tasks: Sequence[str], context: TrialContext) -> None:
        """Refuse to run without a URL."""
        del tasks
        _needed(context, self.name, "url")

    async def run(
        self, task: AgentTask, environment: Handle, context: TrialContext
    ) -> AgentOutcome:
        """Work on `task` by the endpoint's decisions; see `bench_core.protocols.Agent`."""
        url = str(_needed(context, self.name, "url"))
        return await http_agent(url).run(task, environment, context)


def read_script(path: Path, task_id: str) -> list[tuple[Action, ...]]:
    """Return the steps of a script for a task.

    The file is JSON: `{"domain/stem": [step, ...], ...}`, or one list for every task. A step is a code
    block, one of WAIT, DONE and FAIL, an action like `{"kind": "keys", "keys": ["ctrl", "s"]}`, or a
    list of these. Elements are given by id, or by name if no element has such an id.

    Raises:
        InputError: The file is missing or malformed, or has nothing for the task.
    """
    try:
        script = json.loads(_text(path))
    except (ValueError, RecursionError) as error:
        raise InputError(f"the script {path} cannot be read: {error}") from error
    steps = script.get(task_id) if isinstance(script, dict) else script
    if not isinstance(steps, list):
        raise InputError(f"the script {path} has no list of steps for {task_id}")
    return [_step(path, number, step) for number, step in enumerate(steps, 1)]


def named_agent(steps: Sequence[Sequence[Action]], *, name: str = "scripted") -> LoopAgent:
    """Return an agent that follows `steps`; targets may be elements' names instead of their ids."""
    return LoopAgent(name, lambda *_: _Named(steps))


class _Named:
    def __init__(self, steps: Sequence[Sequence[Action]]) -> None:
        self._left = list(steps)

    async def act(self, observation: Observation) -> Decision:
        """Return the next step with names replaced by ids; see `bench_core.agents.StepAgent`."""
        if not self._left:
            raise AgentError("the script has ended and the task is not done")
        return Decision(actions=tuple(_aimed(each, observation) for each in self._left.pop(0)))


def _aimed(action: Action, observation: Observation) -> Action:
    aimed = named_targets(action, observation.elements)
    for field in ("target", "start", "end"):
        place = getattr(aimed, field, None)
        if isinstance(place, ElementRef):
            # a script that names a missing element has failed
            _require(place.element, observation)
    return aimed


def _require(name: str, observation: Observation) -> None:
    if not any(each.id == name for each in observation.elements):
        named_element(observation.elements, name)


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        raise InputError(f"the script {path} cannot be read: {error}") from error


def _recorded(context: TrialContext, task_id: str) -> Path:
    run = Path(_needed(context, ReplayAgent.name, "run"))
    trial = str(context.agent_option("trial", 1))
    path = run if run.is_file() else run / "trials" / trial / folder_name(task_id) / TRAJECTORY
    if not path.is_file():
        raise InputError(f"{run} recorded no trial {trial} of {task_id}: {path} is missing")
    return path


def _step(path: Path, number: int, step: Any) -> tuple[Action, ...]:
    given = step if isinstance(step, list) else [step]
    try:
        return tuple(_action(each) for each in given)
    except ValidationError as error:
        raise InputError(f"the script {path}, step {number}: {problems_of(error)}") from error


def _action(given: Any) -> Action:
    if isinstance(given, str):
        return _WORDS[given]() if given in _WORDS else RunCode(code=given)
    return _STEP.validate_python(given)


def _needed(context: TrialContext, agent: str, name: str) -> str:
    value = context.agent_option(name)
    if not value:
        raise InputError(f"the agent {agent!r} needs --agent-option {name}=...")
    return str(value)
