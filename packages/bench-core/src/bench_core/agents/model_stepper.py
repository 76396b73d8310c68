"""Let a model decide: its observations, its calls as actions, and their results as it expects them."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from bench_core.agents.conversation import COMPACTED, Conversation
from bench_core.agents.dialects import Answered, Dialect, Screen, keeps_thinking
from bench_core.agents.dialects.coordinates import fitted, magnified
from bench_core.agents.environment import Environment, offered
from bench_core.agents.observation_text import UNCHANGED, changed_parts
from bench_core.agents.prompts import task_text
from bench_core.agents.records import (
    EARLIER_FAILED,
    Action,
    Decision,
    Done,
    Fail,
    Observation,
    Screenshot,
    Tab,
)
from bench_core.agents.tools import InvalidCallError
from bench_core.budgets import USAGE_UNKNOWN
from bench_core.errors import AgentError
from bench_core.models.records import ImagePart, OpaquePart, Part, Reply, TextPart, ToolCall
from bench_core.records import AgentTask, RefusedCall

if TYPE_CHECKING:
    from pydantic import JsonValue

    from bench_core.models.client import Model
    from bench_core.protocols import TrialContext

_MOST_BAD_REPLIES = 3
_MOST_SAID = 1000
"""An error about a call may quote it, and calls may be as long as a reply."""
_MOST_KEPT = 20_000
_MOST_CHANGES = 8
"""So often in a row only changes are shown; then all again, which is easier to read than the sum of them."""
_POSITION = re.compile(r"^X=([0-9]+),Y=([0-9]+)$")
"""The result of `PointerPosition`."""
_SAID_LEFT = {
    5: "(You have 5 turns left, this one included.)",
    1: "(This is your last turn: end the task.)",
}
_CUT_OFF = "the call was cut off before it was complete, and was not carried out: make it again"


@dataclass
class _Call:
    """A call that waits for its answer: its number of actions, or the reason for none."""

    call: ToolCall
    actions: int
    error: str | None


class ModelStepper:
    """Asks a model for the next actions, in a dialect.

    A call that makes no sense is answered with an error and recorded, and calls after it are left out. Each reply is
    a step; after three in a row that made no action the agent has failed.

    Args:
        model: The model.
        dialect: The dialect of its requests and calls.
        task: The task.
        context: The trial.
        size: Width and height of screenshots, until the first one says.
        browser: Whether the environment is a browser.
        images: How many of the latest screenshots are sent; None for all.
    """

    def __init__(
        self,
        model: Model,
        dialect: Dialect,
        task: AgentTask,
        context: TrialContext,
        *,
        size: tuple[int, int],
        browser: bool,
        images: int | None,
    ) -> None:
        self.details: dict[str, JsonValue] = {"dialect": dialect.name}
        self._model = model
        self._dialect = dialect
        self._task = task
        self._context = context
        self._browser = browser
        self._images = images
        self._conversation: Conversation | None = None
        self._screen = Screen(size, frozenset(), browser, task)
        self._by = (1.0, 1.0)
        self._pending: list[_Call] = []
        self._tabs: tuple[Tab, ...] = ()
        self._textual = False
        self._useless = 0
        self._problem = ""
        self._shown: Observation | None = None
        self._changes = 0
        self._turns = 0

    async def enter(self, environment: Environment) -> None:
        """Ask the environment for the actions it offers; see `StepAgent`."""
        self._screen = replace(self._screen, offers=await offered(environment))

    async def act(self, observation: Observation) -> Decision:
        """Decide on one observation; see `StepAgent`."""
        if observation.marked is not None:
            observation = observation.model_copy(update={"screenshot": observation.marked})
        observation = self._fitted(observation)
        if self._conversation is None:
            self._conversation = Conversation(
                self._model,
                self._context,
                self._dialect.declare(self._screen),
                images=self._images,
                exact=self._dialect.exact,
                fixed=self._dialect.append_only or keeps_thinking(self._model.name),
            )
            self._shown = observation
            shown = self._dialect.show(observation, results=False)
            parts: tuple[Part, ...] = (TextPart(text=task_text(self._task)), *shown)
        else:
            parts = self._answers(observation, again=self._useless > 0) or (
                (TextPart(text=self._dialect.nudge(self._task)),)
                if self._useless
                else self._dialect.show(observation, results=True)
            )
        if self._useless == _MOST_BAD_REPLIES:
            raise AgentError(f"{self._useless} replies in a row made no action: {self._problem}")
        self._tabs = observation.open_tabs
        self._turns += 1
        left = (self._task.limits.max_steps or 0) + 1 - self._turns
        if self._dialect.textual and self._turns > 1 and left in _SAID_LEFT:
            parts = (*parts, TextPart(text=_SAID_LEFT[left]))
        reply = await self._sent(self._conversation, parts)
        actions, problem = self._read(reply)
        flags = tuple(flag for call in reply.tool_calls for flag in self._dialect.flags(call))
        opaque = (each for each in reply.message.parts if isinstance(each, OpaquePart))
        aloud = [] if reply.text else [each.thought for each in opaque]
        intents = [self._dialect.thought(call) for call in reply.tool_calls]
        ended = reply.stop == "end" and reply.text.strip() and not self._dialect.calls(reply)
        if not actions and ended and self._dialect.text_ends:  # as the provider's own loop does
            actions, flags = (Done(answer=reply.text),), (*flags, "ended_by_text")
        self._useless = 0 if actions else self._useless + 1
        self._problem = problem or "no tool was called"
        refused = [
            RefusedCall(name=each.call.name, arguments=_kept(each.call), reason=each.error)
            for each in self._pending
            if each.error
        ]
        if not actions and not refused:
            refused = [RefusedCall(reason=self._problem)]
        return Decision(
            actions=actions,
            refused=tuple(refused),
            thought="\n".join(filter(None, (reply.text, *aloud, *intents))) or None,
            model_reported=reply.model_reported,
            flags=(
                *(("truncated_reply",) if reply.stop == "length" else ()),
                *(() if reply.usage_known else (USAGE_UNKNOWN,)),
                *((COMPACTED,) if any(self._conversation.left_out) else ()),
                *dict.fromkeys(flags),
            ),
        )

    async def _sent(self, conversation: Conversation, parts: tuple[Part, ...]) -> Reply:
        """Send a turn, and record pictures and turns left out for it."""
        try:
            return await conversation.send(parts)
        finally:
            pictures, turns = conversation.left_out
            if pictures or turns or conversation.overflows:
                self.details["context"] = {
                    "window": conversation.window, "overflows": conversation.overflows,
                    "pictures_left_out": pictures, "turns_left_out": turns,
                }  # fmt: skip

    def _fitted(self, observation: Observation) -> Observation:
        """Return an observation with pictures scaled to the model's size, and places in those pixels."""

        def fit(size: tuple[int, int]) -> tuple[int, int]:
            return self._dialect.picture_size(self._model.name.partition(":")[2], size)

        real = observation.size or self._screen.size
        size = fit(real)
        self._screen = replace(self._screen, size=size)
        self._by = (real[0] / size[0], real[1] / size[1])
        results = tuple(
            each.model_copy(
                update={
                    "image": each.image and fitted(each.image, fit),
                    "text": _POSITION.sub(self._position, each.text),
                }
            )
            for each in observation.results
        )
        if size == real:
            return observation.model_copy(update={"results": results})
        pictures = {
            name: picture and fitted(picture, fit)
            for name in ("screenshot", "marked")
            for picture in (getattr(observation, name),)
        }
        return observation.model_copy(update={"size": size, "results": results, **pictures})

    def _differing(self, observation: Observation) -> Observation:
        """Return an observation with the changes since the one that the model saw before."""
        before, self._shown = self._shown, observation
        if not self._dialect.textual or before is None:
            return observation
        differing = changed_parts(before, observation)
        if differing.text == UNCHANGED:
            return differing
        if self._changes == _MOST_CHANGES:
            differing = observation
        self._changes = 0 if differing is observation else self._changes + 1
        return differing

    def _position(self, found: re.Match[str]) -> str:
        x, y = (int(found[n]) / by for n, by in enumerate(self._by, 1))
        x, y = self._dialect.named_place(x, y, self._screen.size)
        return f"X={x},Y={y}"

    def _answers(self, observation: Observation, *, again: bool = False) -> tuple[Part, ...]:
        """Return the results of the calls that wait, each with its own; with `again` nothing was done since."""
        results = () if again else observation.results
        if not again:
            observation = self._differing(observation)
        answered: list[Answered] = []
        tabs = self._tabs
        for number, waiting in enumerate(self._pending, 1):
            own, results = results[: waiting.actions], results[waiting.actions :]
            failed = next((each.error or "it failed" for each in own if not each.ok), None)
            answered.append(
                Answered(
                    call=waiting.call,
                    results=own,
                    error=waiting.error or failed,
                    observation=observation,
                    last=number == len(self._pending),
                    again=again,
                    before=tabs,
                    earlier=tuple(answered),
                )
            )
            tabs = next((each.tabs for each in reversed(own) if each.tabs), tabs)
        self._pending = []
        parts = [part for each in answered for part in self._dialect.answer(each)]
        if self._textual:  # a call that was read out of text has no id on the other side
            contents = (part.content if part.type == "tool_result" else (part,) for part in parts)
            return tuple(each for content in contents for each in content)
        # results before anything else, as the APIs demand
        return tuple(sorted(parts, key=lambda each: isinstance(each, TextPart | ImagePart)))

    def _read(self, reply: Reply) -> tuple[tuple[Action, ...], str]:
        """Return the actions of a reply, up to a call that makes no sense, and the error of that call."""
        calls = self._dialect.calls(reply)
        self._textual = bool(calls) and not reply.tool_calls
        actions: list[Action] = []
        problem = ""
        for number, call in enumerate(calls, 1):
            wrong = EARLIER_FAILED if problem else _CUT_OFF if call.unfinished else ""
            if wrong:
                problem = problem or wrong
                self._pending.append(_Call(call, 0, wrong))
                continue
            try:
                read = self._dialect.read(call, self._screen)
                made = tuple(magnified(each, self._by) for each in read)
            except InvalidCallError as error:
                problem = str(error)[:_MOST_SAID]
                self._pending.append(_Call(call, 0, problem))
            else:
                if self._dialect.pictures and number < len(calls):
                    # before the actions of the next call
                    made = (
                        made
                        if isinstance(made[-1], Screenshot | Done | Fail)
                        else (*made, Screenshot())
                    )
                actions += made
                self._pending.append(_Call(call, len(made), None))
        return tuple(actions), problem


def _kept(call: ToolCall) -> JsonValue:
    """Return a call's arguments, as much of them as a line of the trajectory can hold."""
    if call.arguments is None:
        return (call.raw or "")[:_MOST_KEPT]
    whole = json.dumps(call.arguments)
    return call.arguments if len(whole) <= _MOST_KEPT else whole[:_MOST_KEPT]
