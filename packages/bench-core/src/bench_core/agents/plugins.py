"""The agents of this package as plugins: run by `--agent tool-calling --model provider:name`."""

from __future__ import annotations

from typing import Literal

from bench_core.agents.computer_use import computer_use_agent, dialect_of
from bench_core.agents.dialects import dialect_named
from bench_core.agents.tool_calling import images_kept, tool_calling_agent
from bench_core.errors import InputError
from bench_core.guides import guide_of
from bench_core.models.checking import check_model_of
from bench_core.models.factory import model_of
from bench_core.protocols import BrowserHandle, DesktopHandle, EnvironmentHandle, TrialContext
from bench_core.records import AgentOutcome, AgentTask

__all__ = [
    "ComputerUsePlugin",
    "DoNothingPlugin",
    "ScriptedPlugin",
    "ToolCallingPlugin",
    "images_shown",
]


class DoNothingPlugin:
    """`do-nothing`: the lower bound. It observes nothing, does nothing and claims to be done."""

    name = "do-nothing"
    # It observes nothing: an accessibility tree alone may take seconds.
    observes = ()
    in_process = True
    any_process = True

    async def run(
        self, task: AgentTask, environment: EnvironmentHandle, context: TrialContext
    ) -> AgentOutcome:
        """End at once with the claim under which the benchmark could pay for it."""
        del environment, context
        return AgentOutcome(answer=guide_of(task.benchmark).idle_answer)


class ScriptedPlugin:
    """`scripted`: carries out the benchmark's own reference solution of each task."""

    name = "scripted"
    in_process = True
    any_process = True

    async def run(
        self, task: AgentTask, environment: EnvironmentHandle, context: TrialContext
    ) -> AgentOutcome:
        """Work on `task`; see `bench_core.protocols.Agent`.

        Raises:
            InputError: The benchmark brings no solutions, or none of this task.
        """
        solver = guide_of(task.benchmark).solver
        if solver is None:
            raise InputError(
                f"the benchmark {task.benchmark!r} brings no reference solutions for 'scripted': "
                "use another agent"
            )
        return await solver(task, context).run(task, environment, context)


class ToolCallingPlugin:
    """`tool-calling`: any model with tools, in a browser or on a desktop.

    Options: `images` (five, of Claude all: how many of the latest screenshots it is sent, or "all"), `pictures` (true;
    false for a model that only reads), `marks` (false: the pictures have numbered frames around the elements),
    `context_window` (as the provider says: how many tokens the model's context has).
    """

    name = "tool-calling"
    options = ("images", "pictures", "marks", "context_window", "base_url")
    environments = ("browser", "desktop")
    in_process = True
    any_process = True

    def check_model(self, context: TrialContext) -> None:
        """Refuse a run whose model cannot be used.

        Raises:
            InputError: It cannot be opened, or its provider refuses it.
        """
        images_kept(context.model or "", images_shown(context))
        _refuse_window(context)
        context.agent_flag("pictures", default=True)
        context.agent_flag("marks", default=False)
        check_model_of(context)

    async def run(
        self, task: AgentTask, environment: EnvironmentHandle, context: TrialContext
    ) -> AgentOutcome:
        """Work on `task` with the run's model; see `bench_core.protocols.Agent`."""
        async with model_of(context) as model:
            agent = tool_calling_agent(
                model,
                images=images_shown(context),
                pictures=context.agent_flag("pictures", default=True),
                marks=context.agent_flag("marks", default=False),
            )
            return await agent.run(task, environment, context)


class ComputerUsePlugin:
    """`computer-use`: a model through its provider's own tool, in the dialect documented for it.

    The run's configuration may name another, `{"dialect": "computer_..."}`, say how many of the latest screenshots
    the model is shown, `{"images": 3}`, and ask for numbered frames around the elements, `{"marks": true}`.
    """

    name = "computer-use"
    options = ("dialect", "images", "marks", "context_window", "base_url")
    environments = ("browser", "desktop")
    observes = ("screenshot", "windows")
    in_process = True
    any_process = True

    def check_model(self, context: TrialContext) -> None:
        """Refuse a run if its model cannot be used or its tool is unknown for the model.

        Raises:
            InputError: It cannot be opened, its provider refuses it, or no dialect fits.
        """
        images_shown(context)
        _refuse_window(context)
        context.agent_flag("marks", default=False)
        _refuse_dialect(context.model, _tool(context), "browser", "desktop")
        check_model_of(context)

    def check_environment(self, environment: str, context: TrialContext) -> None:
        """Refuse a run whose model has no tool for the benchmark's environment, a `browser` or a `desktop`.

        Raises:
            InputError: No dialect fits.
        """
        _refuse_dialect(context.model, _tool(context), environment)

    async def run(
        self, task: AgentTask, environment: EnvironmentHandle, context: TrialContext
    ) -> AgentOutcome:
        """Work on `task` with the run's model; see `bench_core.protocols.Agent`."""
        screen = environment.screen if isinstance(environment, DesktopHandle) else None
        if isinstance(environment, BrowserHandle):
            screen = environment.viewport
        async with model_of(context) as model:
            agent = computer_use_agent(
                model,
                screen=screen or (1280, 720),
                tool=_tool(context),
                browser=isinstance(environment, BrowserHandle),
                images=images_shown(context),
                marks=context.agent_flag("marks", default=False),
            )
            return await agent.run(task, environment, context)


def _refuse_window(context: TrialContext) -> None:
    given = context.agent_option("context_window")
    if given is not None and not (str(given).isdecimal() and int(given) > 0):
        raise InputError(f"the option context_window is a number of tokens, not {given!r}")


def _tool(context: TrialContext) -> str | None:
    value = context.agent_option("dialect")
    return str(value) if value else None


def _refuse_dialect(model: str | None, tool: str | None, first: str, *others: str) -> None:
    """Refuse a tool that is unknown or fits no environment."""
    if model is None and tool is not None:
        dialect_named(tool)
    if model is None or model.partition(":")[0] == "replay":
        return
    try:
        dialect_of(model, tool, browser=first == "browser")
    except InputError:
        if not others:
            raise
        _refuse_dialect(model, tool, *others)


def images_shown(context: TrialContext) -> int | Literal["all"] | None:
    """Return how many of the latest screenshots an agent's model is shown, by its option `images`.

    None if it is not given.

    Raises:
        InputError: It is neither a number nor "all".
    """
    images = context.agent_option("images")
    try:
        return images if images in {None, "all"} else int(images)
    except (TypeError, ValueError):
        raise InputError(f"the option images is a number or 'all', not {images!r}") from None
