"""Agents that are a few lines over bench-core's: do nothing, a script, a replay, HTTP, computer use."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import TypeAdapter, ValidationError

from bench_core.agents.computer_use import DEFAULT_TOOL, computer_use_agent
from bench_core.agents.http import http_agent
from bench_core.agents.loop import LoopAgent
from bench_core.agents.naming import named_element
from bench_core.agents.records import (
    Action,
    Decision,
    Done,
    ElementRef,
    Fail,
    Point,
    RunCode,
    Wait,
)
from bench_core.agents.replay import read_actions, scripted_agent
from bench_core.artifacts import TRAJECTORY
from bench_core.errors import AgentError, InputError
from bench_core.files import folder_name
from waa_client.agents.loading import option
from waa_client.agents.models import model_of
from waa_client.desktop import View
from waa_client.worlds import built_in_world

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bench_core.agents.records import Observation, Target
    from bench_core.protocols import BrowserHandle, DesktopHandle, TrialContext
    from bench_core.records import AgentOutcome, AgentTask

    Handle = BrowserHandle | DesktopHandle

__all__ = [
    "ComputerUseAgent",
    "DoNothingAgent",
    "HttpAgent",
    "ReplayAgent",
    "ScriptedAgent",
    "named_agent",
    "read_script",
]

_STEP: TypeAdapter[Action] = TypeAdapter(Action)
_BESIDE = re.compile(r"(.+)@([+-]\d+),([+-]\d+)", re.DOTALL)
_WORDS: dict[str, type[Wait | Done | Fail]] = {"WAIT": Wait, "DONE": Done, "FAIL": Fail}


class DoNothingAgent:
    """`do-nothing`: says at once that it is done. What it scores is the floor."""

    name = "do-nothing"
    environments = ("desktop",)

    def view(self, _: TrialContext) -> View:
        """Look at the screenshot only."""
        return View()

    async def run(
        self, task: AgentTask, environment: Handle, context: TrialContext
    ) -> AgentOutcome:
        """End at once; see `bench_core.protocols.Agent`."""
        return await scripted_agent([[Done()]]).run(task, environment, context)


class ScriptedAgent:
    """`scripted`: does what the file of the option `script` says for the task.

    In the built-in world it needs no file: there it does what solves the task.
    """

    name = "scripted"
    environments = ("desktop",)

    def view(self, context: TrialContext) -> View:
        """Look at the tree only where the script aims at elements."""
        if _solves(context):
            return View(elements=True, marks=True, windows=True, backend="uia")  # as a model would
        script = Path(_needed(context, self.name, "script"))
        return View(elements='"element"' in _text(script))

    def check(self, tasks: Sequence[str], context: TrialContext) -> None:
        """Refuse a script that cannot be followed for every one of these tasks."""
        for task_id in tasks:
            self._steps(task_id, context)

    async def run(
        self, task: AgentTask, environment: Handle, context: TrialContext
    ) -> AgentOutcome:
        """Follow the script; see `bench_core.protocols.Agent`."""
        steps = self._steps(task.task_id, context)
        return await named_agent(steps).run(task, environment, context)

    def _steps(self, task_id: str, context: TrialContext) -> list[tuple[Action, ...]]:
        if _solves(context):
            return _solution(task_id)
        return read_script(Path(_needed(context, self.name, "script")), task_id)


class ReplayAgent:
    """`replay`: does again what the run folder of the option `run` recorded for the task."""

    name = "replay"
    environments = ("desktop",)

    def view(self, context: TrialContext) -> View:
        """Look at what the recorded agent looked at, as far as its actions need it."""
        return View(elements=bool(option(context, "elements", default=True)))

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
        """Let the endpoint decide; see `bench_core.protocols.Agent`."""
        url = str(_needed(context, self.name, "url"))
        return await http_agent(url).run(task, environment, context)


class ComputerUseAgent:
    """`computer-use`: Claude through its native tool, on the screen's own pixels.

    Options: `computer_tool` (its version), `images`, `base_url`.
    """

    name = "computer-use"
    environments = ("desktop",)

    def view(self, _: TrialContext) -> View:
        """Look at the screenshot only."""
        return View()

    async def run(
        self, task: AgentTask, environment: Handle, context: TrialContext
    ) -> AgentOutcome:
        """Let Claude use the computer; see `bench_core.protocols.Agent`."""
        screen = environment.screen if environment.kind == "desktop" else None
        async with model_of(self.name, context) as model:
            agent = computer_use_agent(
                model,
                screen=screen or (1280, 720),
                tool=str(option(context, "computer_tool", DEFAULT_TOOL)),
                images=int(option(context, "images", 3)),
                browser=False,
            )
            return await agent.run(task, environment, context)


def read_script(path: Path, task_id: str) -> list[tuple[Action, ...]]:
    """Return the steps of a script for a task.

    The file is JSON: `{"domain/stem": [step, ...], ...}`, or one list for every task. A step is a code
    block, one of WAIT, DONE and FAIL, an action like `{"kind": "keys", "keys": ["ctrl", "s"]}`, or a
    list of these. Elements are named by id, or by their name where there is no such id.

    Raises:
        InputError: The file is missing or malformed, or knows nothing of the task.
    """
    try:
        script = json.loads(_text(path))
    except (ValueError, RecursionError) as error:
        raise InputError(f"the script {path} cannot be read: {error}") from error
    steps = script.get(task_id) if isinstance(script, dict) else script
    if not isinstance(steps, list):
        raise InputError(f"the script {path} has no list of steps for {task_id}")
    return [_step(path, number, step) for number, step in enumerate(steps, 1)]


def named_agent(steps: Sequence[Sequence[Action]], *, name: str = ScriptedAgent.name) -> LoopAgent:
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
    places = {
        field: _by_name(place, observation)
        for field in ("target", "start", "end")
        if isinstance(place := getattr(action, field, None), ElementRef)
    }
    return action.model_copy(update=places)


def _by_name(target: ElementRef, observation: Observation) -> Target:
    """Return the element by its id or name; `name@+5,-3` is a point beside its middle."""
    if any(each.id == target.element for each in observation.elements):
        return target
    moved = _BESIDE.fullmatch(target.element)
    element = named_element(observation.elements, moved[1] if moved else target.element)
    if moved is None or element.rect is None:
        return ElementRef(element=element.id)
    x, y, width, height = element.rect
    return Point(x=x + width // 2 + int(moved[2]), y=y + height // 2 + int(moved[3]))


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        raise InputError(f"the script {path} cannot be read: {error}") from error


def _recorded(context: TrialContext, task_id: str) -> Path:
    run = Path(_needed(context, ReplayAgent.name, "run"))
    trial = str(option(context, "trial", 1))
    path = run if run.is_file() else run / "trials" / trial / folder_name(task_id) / TRAJECTORY
    if not path.is_file():
        raise InputError(f"{run} recorded no trial {trial} of {task_id}: {path} is missing")
    return path


def _step(path: Path, number: int, step: Any) -> tuple[Action, ...]:
    given = step if isinstance(step, list) else [step]
    try:
        return tuple(_action(each) for each in given)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        raise InputError(f"the script {path}, step {number}: {first['msg']}") from error


def _action(given: Any) -> Action:
    if isinstance(given, str):
        return _WORDS[given]() if given in _WORDS else RunCode(code=given)
    return _STEP.validate_python(given)


def _solves(context: TrialContext) -> bool:
    return context.world == "built-in" and not option(context, "script")


def _solution(task_id: str) -> list[tuple[Action, ...]]:
    solution = built_in_world().solutions().get(task_id)
    if solution is None:
        raise InputError(f"the simulated desktop has no solution of {task_id}")
    return [*((action,) for action in solution.elements), (Done(),)]


def _needed(context: TrialContext, agent: str, name: str) -> str:
    value = option(context, name)
    if not value:
        raise InputError(f"the agent {agent!r} needs --agent-option {name}=...")
    return str(value)
