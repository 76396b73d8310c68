"""A conversation with a model that acts: what was sent stays as it was, one reply at a time."""

from __future__ import annotations

from dataclasses import dataclass, field
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
    from bench_core.agents.dialects import Declaration
    from bench_core.models.client import Model
    from bench_core.models.records import Part, Reply
    from bench_core.protocols import TrialContext

_MOST_OUTPUT = 16_000
"""Thinking counts as output, and the SDKs refuse more than about 21,000 tokens without streaming."""
_GONE = TextPart(text="(an earlier screenshot, no longer shown: only the latest are kept)")


@dataclass
class Conversation:
    """Keeps the turns of one trial and sends them all.

    Earlier turns are sent unchanged, which lets providers read them from their caches at a tenth of the
    price and less, and which models demand that keep their thinking from turn to turn.

    Attributes:
        declared: What each request says of the tools.
        images: At least how many of the latest screenshots are kept; None for all. Leaving out earlier ones
            changes earlier turns, so as many at once are left out, as soon as there are twice as many.
        exact: Whether never more than `images` are kept.
    """

    model: Model
    context: TrialContext
    declared: Declaration
    images: int | None = None
    exact: bool = False
    _turns: list[Message] = field(default_factory=list)

    async def send(self, parts: tuple[Part, ...]) -> Reply:
        """Send the model a turn as it is, results of its calls included, and get its reply.

        Raises:
            ModelError: The provider failed.
            AgentError: The model declined, which is the agent's own end.
        """
        self._turns.append(Message(role="user", parts=parts))
        messages = tuple(self._turns)
        if self.images is not None:
            left = self.images
            if left and not self.exact:
                inner = (
                    part.content if isinstance(part, ToolResult) else (part,)
                    for turn in messages
                    for part in turn.parts
                )  # fmt: skip
                left += sum(isinstance(each, ImagePart) for part in inner for each in part) % left
            messages = _thinned(messages, left)
        body = dict(self.declared.body)
        if self.images is None and self.model.name.startswith("anthropic:"):
            # the other providers cache by themselves
            body.setdefault("cache_control", {"type": "ephemeral"})
        reply = await self.model.complete(
            ModelRequest(
                messages=messages,
                system=self.declared.system,
                tools=self.declared.tools,
                native_tools=self.declared.native_tools,
                headers=self.declared.headers,
                body=body,
                max_output_tokens=_MOST_OUTPUT,
                trial=self.context.trial,
            ),
            meter=self.context.meter,
        )
        if reply.stop == "refusal":
            raise AgentError(
                f"the model declined: {reply.refusal or 'no reason given'}", fault="model_refusal"
            )
        # The APIs refuse an assistant's turn without content.
        if reply.message.parts:
            self._turns.append(reply.message)
        return reply


def _thinned(turns: tuple[Message, ...], left: int) -> tuple[Message, ...]:
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
