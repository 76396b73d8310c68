"""`vision`: any model with images and tools, which gets the screen with marks on its elements."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from bench_core.agents import (
    Action,
    Decision,
    Declaration,
    InvalidCallError,
    LoopAgent,
    ModelStepper,
    Observation,
    Screen,
    ToolCalling,
    images_kept,
    images_shown,
)
from bench_core.errors import AgentError, InputError
from bench_core.models import ImagePart, TextPart, Tool, ToolCall, check_model_of, model_of
from bench_core.protocols import EnvironmentHandle, TrialContext
from bench_core.records import AgentOutcome, AgentTask
from waa_client.desktop import View

__all__ = ["VisionAgent"]

_MARKED = (
    "Coloured frames with numbers mark elements; the same numbers are in the list of elements. "
)
_SYSTEM = """

{marked}Act on an element by its number in the list where one fits, else on a point in pixels of the picture.
Write what you must not forget into your notes with `remember`."""
_UNKNOWN_SIZE = (1280, 720)
_REMEMBER = Tool(
    name="remember",
    description="Replace your notes, which you are shown at every step. Call it beside an action.",
    parameters={
        "type": "object", "properties": {"notes": {"type": "string"}}, "required": ["notes"],
    },
)  # fmt: skip
_MOST_NOTES = 4000


class VisionAgent:
    """Agent that sends a model the screen with marks and carries out its tool calls.

    Options: `marks` (true), `tree` (false: also the raw accessibility tree), `images` (five, of Claude all: how many
    of the latest screenshots are sent, or "all"), `max_cost_usd` (none: of one trial), `base_url`.
    """

    name = "vision"
    options = ("marks", "tree", "images", "max_cost_usd", "base_url")
    environments = ("desktop",)

    def view(self, context: TrialContext) -> View:
        """Return elements and windows, and marks unless the option `marks` is false."""
        marks = context.agent_flag("marks", default=True)
        tree = context.agent_flag("tree", default=False)
        return View(elements=True, marks=marks, tree=tree, windows=True)

    def check_model(self, context: TrialContext) -> None:
        """Refuse a run whose model cannot be used.

        Raises:
            InputError: It cannot be opened, or its provider refuses it.
        """
        check_model_of(context)

    async def run(
        self, task: AgentTask, environment: EnvironmentHandle, context: TrialContext
    ) -> AgentOutcome:
        """Work on `task` with the run's model; see `bench_core.protocols.Agent`."""
        async with model_of(context) as model:

            def begin(task: AgentTask, context: TrialContext) -> _Limited:
                stepper = ModelStepper(
                    model, _Vision(marks=context.agent_flag("marks", default=True)), task, context, size=_UNKNOWN_SIZE, browser=False,
                    images=images_kept(model.name, images_shown(context)),
                )  # fmt: skip
                return _Limited(stepper, _dollars(context.agent_option("max_cost_usd")))

            return await LoopAgent(self.name, begin).run(task, environment, context)


class _Vision(ToolCalling):
    """The tools of `tool-calling`, those for a desktop, and notes that the model keeps for itself."""

    name = "vision"

    def __init__(self, *, marks: bool) -> None:
        self._notes = ""
        self._system = _SYSTEM.format(marked=_MARKED if marks else "")

    def declare(self, screen: Screen) -> Declaration:
        """Declare the tools; see `Dialect`."""
        declared = super().declare(screen)
        return replace(
            declared, tools=(*declared.tools, _REMEMBER), system=f"{declared.system}{self._system}"
        )

    def read(self, call: ToolCall, screen: Screen) -> tuple[Action, ...]:
        """Return the action of a call, none if it only changes the notes; see `Dialect`."""
        if call.name != _REMEMBER.name:
            return super().read(call, screen)
        notes = (call.arguments or {}).get("notes")
        if not isinstance(notes, str):
            raise InvalidCallError("remember needs `notes`, a text")
        self._notes = notes[:_MOST_NOTES]
        return ()

    def show(self, observation: Observation, *, results: bool) -> tuple[TextPart | ImagePart, ...]:
        """Return the notes and the screen; see `Dialect`."""
        parts = super().show(observation, results=results)
        return (TextPart(text=f"Your notes:\n{self._notes}"), *parts) if self._notes else parts


class _Limited:
    """Decides as `stepper` does until the trial has cost `most_usd`."""

    def __init__(self, stepper: ModelStepper, most_usd: float | None) -> None:
        self.enter = stepper.enter
        self.details = stepper.details
        self._stepper = stepper
        self._spent_usd = 0.0
        self._most_usd = most_usd

    async def act(self, observation: Observation) -> Decision:
        """Decide on one observation; see `bench_core.agents.StepAgent`."""
        if self._most_usd is not None and self._spent_usd >= self._most_usd:
            raise AgentError(
                f"the trial has cost ${self._spent_usd:.4f}, its limit is ${self._most_usd}"
            )
        decision = await self._stepper.act(observation)
        if self._most_usd is not None and decision.cost_usd is None:
            raise InputError("max_cost_usd needs a model whose price is known")
        self._spent_usd += decision.cost_usd or 0.0
        return decision


def _dollars(value: Any) -> float | None:
    if value is None:
        return None
    try:
        return float(value)
    except (TypeError, ValueError):
        raise InputError(f"the option max_cost_usd is a number, not {value!r}") from None
