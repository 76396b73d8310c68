"""An agent for any model that can call tools."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bench_core.agents.conversation import Conversation
from bench_core.agents.loop import LoopAgent
from bench_core.agents.prompts import observation_parts, task_text
from bench_core.agents.records import Decision
from bench_core.agents.tools import TOOLS, InvalidCallError, action_of
from bench_core.errors import AgentError
from bench_core.models.records import OpaquePart, TextPart

if TYPE_CHECKING:
    from collections.abc import Callable

    from bench_core.agents.handles import Connect
    from bench_core.agents.records import Action, Observation
    from bench_core.models.client import Model
    from bench_core.models.records import Part, Reply, ToolCall
    from bench_core.protocols import TrialContext
    from bench_core.records import AgentTask

__all__ = ["CallingStepper", "add_reply", "tool_calling_agent"]

_MOST_BAD_REPLIES = 3
_NOT_DONE = "Not carried out, because another call of the same turn was wrong."
_NUDGE = "You called no tool. Act with a tool; call `done` or `fail` to end."


class CallingStepper:
    """Asks a model what to do and turns its tool calls into actions.

    A call that makes no sense is answered with an error; after three useless replies in a row the agent
    has failed.

    Args:
        conversation: With the model.
        task: What to do.
        read: Turns a tool call into actions.
        show: Turns an observation into what the model is shown.
    """

    def __init__(
        self,
        conversation: Conversation,
        task: AgentTask,
        read: Callable[[ToolCall], tuple[Action, ...]],
        show: Callable[[Observation], tuple[Part, ...]] = observation_parts,
    ) -> None:
        self._conversation = conversation
        self._intro: tuple[Part, ...] = (TextPart(text=task_text(task)),)
        self._read = read
        self._show = show

    async def act(self, observation: Observation) -> Decision:
        """Decide on one observation; see `StepAgent`."""
        parts = (*self._intro, *self._show(observation))
        self._intro = ()
        errors: dict[str, str] = {}
        spent = Decision()
        for _ in range(_MOST_BAD_REPLIES):
            reply = await self._conversation.say(parts, errors)
            actions, errors = self._actions(reply)
            spent = add_reply(spent, reply, actions)
            if actions:
                return spent
            parts = (TextPart(text=_NUDGE if not errors else "Try again."),)
        problem = "; ".join(errors.values()) or "no tool was called"
        raise AgentError(f"{_MOST_BAD_REPLIES} replies in a row made no action: {problem}")

    def _actions(self, reply: Reply) -> tuple[tuple[Action, ...], dict[str, str]]:
        actions: list[Action] = []
        errors: dict[str, str] = {}
        for call in reply.tool_calls:
            try:
                actions += self._read(call)
            except InvalidCallError as error:  # noqa: PERF203  # each call is judged by itself
                errors[call.id] = str(error)
        if errors:
            errors = {call.id: errors.get(call.id, _NOT_DONE) for call in reply.tool_calls}
            actions = []
        return tuple(actions), errors


def add_reply(
    spent: Decision, reply: Reply, actions: tuple[Action, ...], flags: tuple[str, ...] = ()
) -> Decision:
    """Return a decision with what one more reply says and has cost."""
    first = spent.usage.requests == 0
    before = 0.0 if first else spent.cost_usd
    cost = None if before is None or reply.cost_usd is None else before + reply.cost_usd
    truncated = ("truncated_reply",) if reply.stop == "length" else ()
    return Decision(
        actions=actions,
        thought=reply.text or thinking_of(reply),
        usage=spent.usage + reply.usage,
        cost_usd=cost,
        model_reported=reply.model_reported,
        flags=tuple(dict.fromkeys([*spent.flags, *truncated, *flags])),
    )


def thinking_of(reply: Reply) -> str | None:
    """Return what a model thought aloud, as far as its provider shows it."""
    message: list[str] = []
    for part in reply.message.parts:
        if isinstance(part, OpaquePart):
            summary = part.data.get("summary")
            pieces = summary if isinstance(summary, list) else []
            message += [str(each.get("text") or "") for each in pieces if isinstance(each, dict)]
            message += [str(part.data.get("thinking") or "")]
            message += [str(part.data.get("text") or "")] if part.data.get("thought") else []
    return "\n".join(filter(None, message)) or None


def tool_calling_agent(
    model: Model,
    *,
    name: str = "tool-calling",
    images: int | None = None,
    connect: Connect | None = None,
) -> LoopAgent:
    """Return an agent that acts through tools of `model`."""

    def begin(task: AgentTask, context: TrialContext) -> CallingStepper:
        conversation = Conversation(model, context, tools=TOOLS, images=images)
        return CallingStepper(conversation, task, lambda call: (action_of(call),))

    return LoopAgent(name, begin) if connect is None else LoopAgent(name, begin, connect=connect)
