"""Decides by one provider's own way to use a computer: its calls in, actions out, results back."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import TYPE_CHECKING

from bench_core.agents.conversation import Conversation
from bench_core.agents.dialects import Answered, Screen
from bench_core.agents.environment import offered
from bench_core.agents.prompts import observation_parts, task_text
from bench_core.agents.records import ActionResult, Decision, Done, Observation
from bench_core.agents.tool_calling import add_reply
from bench_core.agents.tools import InvalidCallError
from bench_core.errors import AgentError
from bench_core.models.records import ImagePart, TextPart

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bench_core.agents.dialects import Dialect
    from bench_core.agents.environment import Environment
    from bench_core.agents.records import Action
    from bench_core.models.client import Model
    from bench_core.models.records import Part, Reply, ToolCall
    from bench_core.protocols import TrialContext
    from bench_core.records import AgentTask

__all__ = ["DialectStepper"]

_LOG = logging.getLogger(__name__)
_MOST_BAD_REPLIES = 3
_NOT_DONE = "Not carried out, because an earlier call of the same turn failed."
_NUDGE = "You called no tool. Act with a tool; call `done` or `fail` to end."


@dataclass
class _Call:
    """A call that waits for its answer: how many actions it became, and why it became none."""

    call: ToolCall
    actions: int
    error: str | None


class DialectStepper:
    """Asks a model what to do, in a dialect.

    Args:
        model: The model.
        dialect: What it is spoken to in.
        task: What to do.
        context: The trial.
        size: Width and height of screenshots, until the first one says.
        browser: Whether the environment is a browser.
        images: How many of the latest screenshots are sent; None for all.
    """

    def __init__(  # noqa: PLR0913  # settings, all named
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
        self.details = {"dialect": dialect.name}
        self._model = model
        self._dialect = dialect
        self._task = task
        self._context = context
        self._size = size
        self._browser = browser
        self._images = images
        self._offers: frozenset[str] = frozenset()
        self._conversation: Conversation | None = None
        self._screen = Screen(size, frozenset(), browser)
        self._pending: list[_Call] = []
        self._textual = False

    async def enter(self, environment: Environment) -> None:
        """Ask what the environment offers; see `StepAgent`."""
        self._offers = await offered(environment)

    async def act(self, observation: Observation) -> Decision:
        """Decide on one observation; see `StepAgent`."""
        conversation = self._begun(observation)
        parts = self._answers(observation)
        spent = Decision()
        problem = ""
        for _ in range(_MOST_BAD_REPLIES):
            reply = await conversation.send(parts)
            actions, problem = self._read(reply)
            spent = add_reply(spent, reply, actions, self._flags(reply))
            if actions:
                stop = self._dialect.stop_on_failure
                return spent.model_copy(update={"stop_on_failure": stop})
            if self._ends(reply):
                flags = (*spent.flags, "ended_by_text")
                return spent.model_copy(
                    update={"actions": (Done(answer=reply.text),), "flags": flags}
                )
            parts = self._answers(observation, again=True) or (TextPart(text=_NUDGE),)
        raise AgentError(
            f"{_MOST_BAD_REPLIES} replies in a row made no action: {problem or 'no tool was called'}"
        )

    def _begun(self, observation: Observation) -> Conversation:
        if self._conversation is None:
            size = observation.size or self._size
            self._screen = Screen(size, self._offers, self._browser)
            _LOG.info("%s uses the computer by %s", self._model.name, self._dialect.name)
            declared = self._dialect.declare(self._screen)
            self._conversation = Conversation(
                self._model,
                self._context,
                tools=declared.tools,
                native_tools=declared.native_tools,
                headers=declared.headers,
                body=declared.body,
                system=declared.system,
                images=self._images,
            )
        return self._conversation

    def _answers(self, observation: Observation, *, again: bool = False) -> tuple[Part, ...]:
        """Return the next turn: the task, or the results of the calls that wait."""
        if self._conversation is not None and not self._pending and not again:
            return observation_parts(observation)
        if not self._pending:
            return () if again else self._first(observation)
        results = () if again else observation.results
        parts: list[Part] = []
        failed = False
        for number, waiting in enumerate(self._pending, 1):
            own, results = results[: waiting.actions], results[waiting.actions :]
            error = waiting.error or _failure(own, waiting.actions)
            if failed and self._dialect.stop_on_failure and not own:
                error = waiting.error or _NOT_DONE
            failed = failed or error is not None
            parts += self._dialect.answer(
                Answered(
                    call=waiting.call,
                    results=own,
                    error=error,
                    observation=observation,
                    last=number == len(self._pending),
                    again=again,
                )
            )
        self._pending = []
        return _in_order(parts) if not self._textual else _as_text(parts)

    def _first(self, observation: Observation) -> tuple[Part, ...]:
        shown = observation_parts(observation)
        return (TextPart(text=task_text(self._task)), *shown)

    def _read(self, reply: Reply) -> tuple[tuple[Action, ...], str]:
        """Return the actions of a reply, up to a call that makes no sense, and what is wrong with that."""
        calls = self._dialect.calls(reply)
        self._textual = bool(calls) and not reply.tool_calls
        actions: list[Action] = []
        problem = ""
        for call in calls:
            if problem:
                self._pending.append(_Call(call, 0, _NOT_DONE))
                continue
            try:
                made = self._dialect.read(call, self._screen)
            except InvalidCallError as error:
                problem = str(error)
                self._pending.append(_Call(call, 0, problem))
            else:
                actions += made
                self._pending.append(_Call(call, len(made), None))
        return tuple(actions), problem

    def _flags(self, reply: Reply) -> tuple[str, ...]:
        return tuple(flag for call in reply.tool_calls for flag in self._dialect.flags(call))

    def _ends(self, reply: Reply) -> bool:
        """Whether the provider's own loop ends with this reply, which has text and calls nothing."""
        text = bool(reply.text.strip()) and reply.stop == "end"
        return self._dialect.text_ends and text and not self._dialect.calls(reply)


def _failure(results: Sequence[ActionResult], expected: int) -> str | None:
    """Return why a call failed; a call whose actions were cut off by an earlier one was not carried out."""
    wrong = next((each.error or "it failed" for each in results if not each.ok), None)
    return wrong or (_NOT_DONE if len(results) < expected else None)


def _in_order(parts: Sequence[Part]) -> tuple[Part, ...]:
    """Put results before anything else, as the APIs demand."""
    loose = [each for each in parts if isinstance(each, TextPart | ImagePart)]
    return (*(each for each in parts if not isinstance(each, TextPart | ImagePart)), *loose)


def _as_text(parts: Sequence[Part]) -> tuple[Part, ...]:
    """Return the content of results: a call that was read out of text has no id on the other side."""
    content: list[Part] = []
    for part in parts:
        content += part.content if part.type == "tool_result" else [part]
    return tuple(content)
