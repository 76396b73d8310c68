"""A conversation with a model that acts: what was sent stays as it was, one reply at a time."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bench_core.errors import AgentError
from bench_core.models.records import (
    ImagePart,
    Message,
    ModelRequest,
    OpaquePart,
    TextPart,
    ToolResult,
)

if TYPE_CHECKING:
    from pydantic import JsonValue

    from bench_core.models.client import Model
    from bench_core.models.records import Part, Reply, Tool
    from bench_core.protocols import TrialContext

__all__ = ["Conversation"]

_MOST_OUTPUT = 16_000
"""Thinking counts as output, and the SDKs refuse more than about 21,000 tokens without streaming."""
_GONE = TextPart(text="(an earlier screenshot, no longer shown: only the latest are kept)")


class Conversation:
    """Keeps the turns of one trial and sends them all.

    Earlier turns are sent unchanged, which lets providers read them from their caches at a tenth of the
    price and less, and which models demand that keep their thinking from turn to turn.

    Args:
        images: At least how many of the latest screenshots are kept; None for all. Leaving out earlier ones
            changes earlier turns, so as many at once are left out, as soon as there are twice as many.
        exact: Whether never more than `images` are kept.
        system: The system prompt.
    """

    def __init__(
        self,
        model: Model,
        context: TrialContext,
        *,
        tools: tuple[Tool, ...],
        native_tools: tuple[dict[str, JsonValue], ...] = (),
        headers: dict[str, str] | None = None,
        system: str | None,
        images: int | None = None,
        exact: bool = False,
        max_output_tokens: int = _MOST_OUTPUT,
        body: dict[str, JsonValue] | None = None,
    ) -> None:  # fmt: skip
        self._model = model
        self._context = context
        self._tools = tools
        self._native_tools = native_tools
        self._headers = headers or {}
        self._system = system
        self._images = images
        self._exact = exact
        self._max_output_tokens = max_output_tokens
        self._body = dict(body or {})
        if images is None and model.name.startswith("anthropic:"):
            # the other providers cache by themselves
            self._body.setdefault("cache_control", {"type": "ephemeral"})
        self._turns: list[Message] = []

    async def send(self, parts: tuple[Part, ...]) -> Reply:
        """Send the model a turn as it is, results of its calls included, and get its reply.

        Raises:
            ModelError: The provider failed.
            AgentError: The model declined, which is the agent's own end.
        """
        self._turns.append(Message(role="user", parts=parts))
        reply = await self._model.complete(
            ModelRequest(
                messages=self._messages(),
                system=self._system,
                tools=self._tools,
                native_tools=self._native_tools,
                headers=self._headers,
                body=self._body,
                max_output_tokens=self._max_output_tokens,
                trial=self._context.trial,
            ),
            meter=self._context.meter,
        )
        if reply.stop == "refusal":
            raise AgentError(f"the model declined: {reply.refusal or 'no reason given'}")
        # The APIs refuse an assistant's turn without content.
        if reply.message.parts:
            self._turns.append(reply.message)
        return reply

    def _messages(self) -> tuple[Message, ...]:
        if self._images is None:
            return tuple(self._turns)
        left = self._images
        if left and not self._exact:
            left += sum(map(_pictures, self._turns)) % left
        return _thinned(self._turns, left)


def _pictures(turn: Message) -> int:
    """Count the pictures of a turn, those in results of calls included."""
    inner = (part.content if isinstance(part, ToolResult) else (part,) for part in turn.parts)
    return sum(isinstance(each, ImagePart) for parts in inner for each in parts)


def _thinned(turns: list[Message], left: int) -> tuple[Message, ...]:
    """Replace all but the latest screenshots by a short text."""
    thinned: list[Message] = []
    for turn in reversed(turns):
        parts: list[Part] = []
        for part in reversed(turn.parts):
            kept, left = _thin(part, left)
            parts.append(kept)
        same = tuple(reversed(parts)) == turn.parts
        thinned.append(turn if same else turn.model_copy(update={"parts": tuple(reversed(parts))}))
    return tuple(reversed(thinned))


def _thin(part: Part, left: int) -> tuple[Part, int]:
    if isinstance(part, ImagePart):
        return (part, left - 1) if left > 0 else (_GONE, left)
    if isinstance(part, OpaquePart) or not isinstance(part, ToolResult):
        return part, left
    content: list[TextPart | ImagePart | OpaquePart] = []
    # from the end, as a result may hold several pictures
    for each in reversed(part.content):
        kept, left = _thin(each, left)
        if isinstance(kept, TextPart | ImagePart | OpaquePart):
            content.insert(0, kept)
    return part.model_copy(update={"content": tuple(content)}), left
