"""Models that use a computer through their provider's own tool, each version of it a dialect."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from bench_core.agents.dialects import Dialect, dialect_for, dialect_named
from bench_core.agents.handles import Connect, connect
from bench_core.agents.loop import LoopAgent
from bench_core.agents.marks import with_marks
from bench_core.agents.model_stepper import ModelStepper
from bench_core.errors import InputError

if TYPE_CHECKING:
    from bench_core.models.client import Model
    from bench_core.protocols import TrialContext
    from bench_core.records import AgentTask

DEFAULT_TOOL = "computer_20251124"
"""The dialect of scripted models and people."""
_ANY_TOOL = ("scripted", "by-hand")
_UNBOUNDED = (1_000_000, 1_000_000)


def computer_use_agent(
    model: Model,
    *,
    name: str = "claude-computer-use",
    screen: tuple[int, int] = (1280, 720),
    tool: str | None = None,
    browser: bool = True,
    images: int | Literal["all"] | None = None,
    marks: bool = False,
    connect: Connect = connect,
) -> LoopAgent:
    """Return an agent that acts through the computer-use tool of its model's provider.

    Args:
        model: A model that knows the tool.
        name: The agent's name in results.
        screen: Width and height in pixels of screenshots, if observations do not say.
        tool: The dialect, instead of the one documented for the model.
        images: How many of the latest screenshots the model is shown; all, unless the dialect says otherwise.
        marks: Whether the screenshots have numbered frames around the elements.
        connect: Turns the handle into an environment.
        browser: Whether the environment is a browser; a page shows no address bar.

    Raises:
        UnknownDialectError: No dialect is known for the model, or none has that name.
        InputError: The dialect does not fit, or demands that all screenshots are sent.
    """
    dialect = dialect_of(model.name, tool, browser=browser)
    if isinstance(images, int) and dialect.append_only:
        raise InputError(
            f"{dialect.name} demands that earlier turns stay as they were: leave out the option images"
        )
    shown = None if images == "all" else dialect.images if images is None else images

    def begin(task: AgentTask, context: TrialContext) -> ModelStepper:
        return ModelStepper(
            model, dialect, task, context, size=screen, browser=browser, images=shown
        )

    return LoopAgent(name, begin, connect=with_marks(connect) if marks else connect)


def dialect_of(model: str, tool: str | None, *, browser: bool) -> Dialect:
    """Return the dialect for `provider:model`, or the one called `tool`.

    Raises:
        UnknownDialectError: No dialect is known for the model, or none has that name.
        InputError: The dialect is another provider's, or is not for such an environment.
    """
    place, provider = "browser" if browser else "desktop", model.partition(":")[0]
    if tool is None:
        return dialect_named(DEFAULT_TOOL) if provider in _ANY_TOOL else dialect_for(model, place)
    dialect = dialect_named(tool)
    if place not in dialect.environments:
        raise InputError(f"{tool} is for a {' or '.join(dialect.environments)}, not for a {place}")
    if provider not in {dialect.provider, *_ANY_TOOL}:
        raise InputError(f"{tool} is spoken over {dialect.provider!r}, not over {provider!r}")
    return dialect
