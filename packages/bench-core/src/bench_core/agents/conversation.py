"""A conversation with a model that acts: sent turns stay unchanged, one reply at a time."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from bench_core.errors import AgentError
from bench_core.faults import FaultEvidence, fault_of
from bench_core.models.errors import ModelError
from bench_core.models.records import (
    ImagePart,
    Message,
    ModelRequest,
    OpaquePart,
    Part,
    Reply,
    TextPart,
    ToolCall,
    ToolResult,
)
from bench_core.models.windows import estimated_tokens, window_in_refusal

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bench_core.agents.dialects import Declaration
    from bench_core.models.client import Model
    from bench_core.protocols import TrialContext

_MOST_OUTPUT, _LEAST_OUTPUT = 16_000, 1_024
"""Thinking counts as output, and the SDKs refuse more than about 21,000 tokens without streaming."""
_GONE = TextPart(text="(an earlier screenshot, no longer shown: only the latest are kept)")
_ASK_FROM = 4_000
"""No acting model has a smaller window, so it need not be known below this size."""
_LEFT = 0.6
"""So much of the room is filled after something was left out, so that it is not left out again at every turn."""
_MARGIN = 0.95
_MOST_OVERFLOWS = 6
_MOST_SAID = 200
COMPACTED = "context_compacted"
"""Flags results of trials in which old pictures or turns were left out of the model's requests."""


@dataclass
class Conversation:
    """Keeps the turns of one trial and sends them all, as long as the model's context has room.

    Earlier turns are sent unchanged, which lets providers read them from their caches at a tenth of the
    price and less, and which models demand that keep their thinking from turn to turn.

    Before a request would fill the context, or after one was refused for that, the oldest pictures are left out, except
    for those of the latest turn, and then the oldest turns, a reply always with the results of its calls, except the
    task and the latest reply. A line each sums up these turns. This goes on until three fifths of the room are left.

    Attributes:
        declared: The tools that each request declares.
        images: At least how many of the latest screenshots are kept; None for all. Leaving out earlier ones
            changes earlier turns, so as many at once are left out, as soon as there are twice as many.
        exact: Whether never more than `images` are kept.
        fixed: Whether earlier turns must stay as they were: then nothing is left out when the context is full.
        window: How many tokens the context has, input and output; None if it is not known, or not yet.
        overflows: How many requests were refused, or replies cut off, because it was full.
    """

    model: Model
    context: TrialContext
    declared: Declaration
    images: int | None = None
    exact: bool = False
    fixed: bool = False
    window: int | None = None
    overflows: int = 0
    _turns: list[Message] = field(default_factory=list)
    _pictures_out: int = 0
    _begin: int = 1
    _asked: bool = False
    _by: float = 1.0
    _read: int = 0

    @property
    def left_out(self) -> tuple[int, int]:
        """Numbers of the oldest pictures and replies left out because the context was full."""
        return self._pictures_out, sum(
            each.role == "assistant" for each in self._turns[: self._begin]
        )

    async def send(self, parts: tuple[Part, ...]) -> Reply:
        """Send the model a turn as it is, results of its calls included, and get its reply.

        Raises:
            ModelError: The provider failed.
            AgentError: The model declined, or its context is full, which is the agent's own end.
        """
        self._turns.append(Message(role="user", parts=parts))
        for _ in range(_MOST_OVERFLOWS):
            await self._make_room()
            request = self._request()
            try:
                reply = await self.model.complete(request)
            except ModelError as error:
                if fault_of(FaultEvidence(error)).name not in {"context_window", "picture_limit"}:
                    raise
                self._after_overflow(window_in_refusal(error.message), error)
                continue
            if reply.usage_known and reply.usage.input_tokens:
                self._read = reply.usage.input_tokens
                self._by = min(5.0, max(0.2, self._read / estimated_tokens(request)))
            if reply.stop != "context_window":
                break
            self._after_overflow(reply.usage.total_tokens or None, None)
        else:
            raise AgentError(
                "the model's context is full, whatever is left out", fault="context_window"
            )
        if reply.stop == "refusal":
            raise AgentError(
                f"the model declined: {reply.refusal or 'no reason given'}", fault="model_refusal"
            )
        # The APIs refuse an assistant's turn without content.
        if reply.message.parts:
            self._turns.append(reply.message)
        return reply

    def _request(self) -> ModelRequest:
        messages = self._kept()
        if self.images is not None:
            left = self.images
            if left and not self.exact:
                left += _pictures(messages) % left
            messages = _thinned(messages, left)
        body = dict(self.declared.body)
        if self.images is None and self.model.name.startswith("anthropic:"):
            # the other providers cache by themselves
            body.setdefault("cache_control", {"type": "ephemeral"})
        return ModelRequest(
            messages=messages,
            system=self.declared.system,
            tools=self.declared.tools,
            native_tools=self.declared.native_tools,
            headers=self.declared.headers,
            body=body,
            max_output_tokens=self._output,
            trial=self.context.trial,
        )

    @property
    def _output(self) -> int:
        """The most tokens a reply may have: a quarter of the window, within fixed bounds."""
        return min(_MOST_OUTPUT, max(_LEAST_OUTPUT, (self.window or 4 * _MOST_OUTPUT) // 4))

    def _kept(self) -> tuple[Message, ...]:
        """Return the turns that are sent, without those that had to be left out."""
        turns = tuple(self._turns)
        if self._pictures_out:
            turns = _thinned(turns, _pictures(turns) - self._pictures_out)
        if self._begin == 1:
            return turns
        said = [_told(each) for each in turns[1 : self._begin] if each.role == "assistant"]
        note = TextPart(text="\n".join(["(Your earlier turns, no longer shown:", *said]) + ")")
        first = turns[0].model_copy(update={"parts": (*turns[0].parts, note)})
        return (first, *turns[self._begin :])

    async def _make_room(self) -> None:
        """Leave out old pictures and turns before a request is too long, if the window is known."""
        tokens = self._tokens()
        if tokens > _ASK_FROM and not self._asked:
            self._asked = True
            given = self.context.agent_option("context_window")
            ask = getattr(self.model, "window", None)  # programs bring models of their own
            said = int(given) if given else await ask() if ask is not None else None
            self.window = min(filter(None, (self.window, said)), default=None)
        if self.window is not None and not self.fixed:
            room = self.window * _MARGIN - self._output
            if tokens > room:
                self._leave_out(room * _LEFT)

    def _after_overflow(self, said: int | None, error: ModelError | None) -> None:
        """Learn from a request that was too long, and leave out old pictures and turns.

        Raises:
            AgentError: Nothing more can be left out.
            ModelError: The provider refused that many pictures, and nothing more can be left out.
        """
        self.overflows += 1
        output, tokens = self._output, self._tokens()
        if said is not None and said > self._read:
            self.window = min(filter(None, (self.window, said)))
        self._asked = self._asked or self.window is not None
        room = tokens if self.window is None else min(tokens, self.window * _MARGIN - self._output)
        less = not self.fixed and self._leave_out(room * _LEFT)
        if less or (self._output < output and error is not None):
            return
        if error is not None and error.fault == "picture_limit":
            raise error
        name = (
            "its context window" if self.window is None else f"its window of {self.window:,} tokens"
        )
        kept = (
            "earlier turns must stay as they were" if self.fixed else "nothing more can be left out"
        )
        said_so = "the reply was cut off" if error is None else str(error)
        raise AgentError(
            f"{self.model.name} has no room left in {name}, and {kept}: {said_so}",
            fault="context_window",
        ) from error

    def _tokens(self) -> int:
        return round(estimated_tokens(self._request()) * self._by)

    def _leave_out(self, most: float) -> bool:
        """Leave out old pictures, then old turns, until so many tokens are left; return whether any were."""
        before = self.left_out
        spare = _pictures(self._turns) - max(1, _pictures(self._turns[-1:]))
        while self._pictures_out < spare and self._tokens() > most:
            self._pictures_out += 1
        replies = [n for n, each in enumerate(self._turns) if each.role == "assistant"]
        for place in replies:
            if self._tokens() <= most:
                break
            # the one at `place` is then the first that is sent after the task
            self._begin = max(self._begin, place)
        return self.left_out != before


def _told(turn: Message) -> str:
    """Sum up a reply's text and calls in a line."""
    calls = [
        f"{part.name}({json.dumps(part.arguments, ensure_ascii=False)[:_MOST_SAID]})"
        for part in turn.parts
        if isinstance(part, ToolCall)
    ]
    return "- " + "; ".join(filter(None, (" ".join(turn.text.split())[:_MOST_SAID], *calls)))


def _pictures(turns: Sequence[Message]) -> int:
    inner = (
        part.content if isinstance(part, ToolResult) else (part,)
        for turn in turns
        for part in turn.parts
    )  # fmt: skip
    return sum(isinstance(each, ImagePart) for part in inner for each in part)


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
