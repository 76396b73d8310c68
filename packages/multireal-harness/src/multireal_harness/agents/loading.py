"""Find an agent by name and seat it: ours in this process, plugins at a Chromium of their own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from bench_core.discovery import load_agent
from bench_core.errors import InputError
from multireal_harness.agents.seating import Seat, connect_to

if TYPE_CHECKING:
    from collections.abc import Callable

    from bench_core.models import Model
    from bench_core.protocols import Agent, BrowserHandle, DesktopHandle, TrialContext
    from bench_core.records import AgentOutcome, AgentTask, Task
    from multireal_harness.browsers import Lease
    from multireal_harness.world.solutions_file import Solution

__all__ = ["OWN_AGENTS", "Settings", "seat_for", "solution_for"]

OWN_AGENTS = ("browser-use", "computer-use", "tool-calling", "scripted", "do-nothing")
"""The agents that need no plugin."""


@dataclass(frozen=True)
class Settings:
    """How agents of a run are made.

    Attributes:
        open_model: Opens the run's model for one trial; null where the agent needs none.
        chat: Makes browser-use's chat model for one trial.
        computer_tool: Version of Claude's native tool.
        solution: Which reference solution the scripted agent does.
    """

    viewport: tuple[int, int] = (1280, 720)
    open_model: Callable[[TrialContext], Model] | None = None
    chat: Callable[[TrialContext], Any] | None = None
    computer_tool: str | None = None
    images: int = 3
    use_vision: bool = True
    solution: str = "good"

    def seat_for(self, context: TrialContext, task: Task) -> Seat:
        """Seat the agent of a trial; see `seat_for`."""
        return seat_for(context, task, self)


def seat_for(context: TrialContext, task: Task, settings: Settings) -> Seat:
    """Seat the agent a trial's context names.

    Raises:
        UnknownPluginError: No installed distribution offers an agent of that name.
        InputError: It cannot be made.
    """
    maker = _IN_PROCESS.get(context.agent)
    if maker is not None:
        agent_of = maker(context, task, settings)
        return Seat(agent_of, alone=False, viewport=settings.viewport)
    agent = (
        _browser_use(context, settings)
        if context.agent == "browser-use"
        else load_agent(context.agent)
    )
    return Seat(lambda _: agent, alone=True, viewport=settings.viewport)


def solution_for(task: Task, name: str) -> Solution:
    """Return the reference solution `name` of a built-in task.

    Raises:
        InputError: The task has none of that name.
    """
    from multireal_harness.world.solutions_file import load_solutions  # noqa: PLC0415  # only for it

    found = load_solutions(task.task_id.removeprefix("multi."))
    chosen = next((each for each in found if each.name == name), None)
    if chosen is None:
        have = ", ".join(each.name for each in found) or "none"
        raise InputError(f"{task.task_id} has no reference solution {name!r}: it has {have}")
    return chosen


def _scripted(context: TrialContext, task: Task, settings: Settings) -> Callable[[Lease], Agent]:
    from multireal_harness.agents.scripted import ScriptedAgent  # noqa: PLC0415  # only where asked

    del context
    solution = solution_for(task, settings.solution)
    return lambda lease: ScriptedAgent(solution, lease)


def _do_nothing(context: TrialContext, task: Task, settings: Settings) -> Callable[[Lease], Agent]:
    from multireal_harness.agents.scripted import DoNothingAgent  # noqa: PLC0415  # same

    del context, task, settings
    return lambda _: DoNothingAgent()


def _tool_calling(
    context: TrialContext, task: Task, settings: Settings
) -> Callable[[Lease], Agent]:
    from bench_core.agents import tool_calling_agent  # noqa: PLC0415  # heavy

    del task
    model = _model(context, settings)
    return lambda lease: _Closing(
        tool_calling_agent(
            model, images=settings.images, connect=connect_to(lease, settings.viewport)
        ),
        model,
    )


def _computer_use(
    context: TrialContext, task: Task, settings: Settings
) -> Callable[[Lease], Agent]:
    from bench_core.agents import computer_use_agent  # noqa: PLC0415  # heavy
    from bench_core.agents.computer_use import DEFAULT_TOOL  # noqa: PLC0415

    del task
    model = _model(context, settings)
    return lambda lease: _Closing(
        computer_use_agent(
            model,
            name="computer-use",
            screen=settings.viewport,
            tool=settings.computer_tool or DEFAULT_TOOL,
            images=settings.images,
            connect=connect_to(lease, settings.viewport),
        ),
        model,
    )


class _Closing:
    """An agent that closes its model's connections when it is done."""

    def __init__(self, agent: Agent, model: Model) -> None:
        self.name = agent.name
        self._agent = agent
        self._model = model

    async def run(
        self, task: AgentTask, environment: BrowserHandle | DesktopHandle, context: TrialContext
    ) -> AgentOutcome:
        async with self._model:
            return await self._agent.run(task, environment, context)


def _model(context: TrialContext, settings: Settings) -> Model:
    if settings.open_model is not None:
        return settings.open_model(context)
    if context.model is None:
        raise InputError(f"the agent {context.agent!r} needs a model: pass --model")
    from bench_core.models import open_model  # noqa: PLC0415  # heavy

    return open_model(context.model, seed=context.seed)


def _browser_use(context: TrialContext, settings: Settings) -> Agent:
    from multireal_harness.agents.browser_use import BrowserUseAgent  # noqa: PLC0415  # an extra

    agent: Agent = BrowserUseAgent(_chat(context, settings), use_vision=settings.use_vision)
    return agent


def _chat(context: TrialContext, settings: Settings) -> Any:
    """Return what browser-use calls its model: over our adapters where they know the provider."""
    if settings.chat is not None:
        return settings.chat(context)
    from bench_core.browser_use import ModelChat, chat_for, is_known_model  # noqa: PLC0415  # heavy

    if context.model is not None and not is_known_model(context.model):
        return chat_for(context.model)
    return ModelChat(_model(context, settings), trial=context.trial)


_IN_PROCESS: dict[str, Callable[[TrialContext, Task, Settings], Callable[[Lease], Agent]]] = {
    "scripted": _scripted,
    "do-nothing": _do_nothing,
    "tool-calling": _tool_calling,
    "computer-use": _computer_use,
}
