"""Trials whose conversations grow beyond their model's context, over the real SDKs: what is left out, and how they end."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from test_computer_use_episodes import GOOGLE, connect, qwen
from test_support.model_requests import ReadRequest
from test_support.model_rules import Rules
from test_support.model_server import Answer, ModelServer, Seen

from bench_core.agents import tool_calling_agent
from bench_core.agents.computer_use import computer_use_agent
from bench_core.errors import AgentError
from bench_core.records import Limits, Status

if TYPE_CHECKING:
    from bench_core.protocols import DesktopHandle, TrialContext
    from bench_core.records import AgentOutcome, AgentTask

PICTURE, WINDOW, STEPS = 4_000, 100_000, 30
TOOLS = {
    "anthropic": "anthropic:claude-opus-4-6",
    "openai": "openai:gpt-5.5",
    "openai-chat": "openai-chat:some-open-model",
    "google": "google:gemini-3.7-flash",
}
REFUSALS = {
    "anthropic": "prompt is too long: {sent} tokens > {window} maximum",
    "openai": "Your input exceeds the context window of this model. Please adjust your input and try again.",
    "openai-chat": "This model's maximum context length is {window} tokens. However, you requested {sent} tokens.",
    "google": "The input token count ({sent}) exceeds the maximum number of tokens allowed ({window}).",
}


class Small:
    """A server whose model's context is small: pictures are counted as a real one counts them, and text."""

    def __init__(self, provider: str, call: tuple[str, dict[str, Any]], **more: Any) -> None:
        self.provider, self.call, self.more = provider, call, more
        self.refused = 0
        self.sent: list[int] = []

    def __call__(self, seen: Seen) -> Answer:
        read = ReadRequest.of(seen)
        pictures = sum(part.kind == "picture" for part in read.parts())
        words = sum(len(part.text) for part in read.parts())
        sent = pictures * PICTURE + words // 4 + 500
        self.sent.append(sent)
        if sent > WINDOW - 16_000:
            self.refused += 1
            message = REFUSALS[self.provider].format(sent=sent, window=WINDOW)
            return Answer(status=400, message=message)
        text = self.more.get("text", "I go on. " + "so it is. " * 40)
        done = len(self.sent) - self.refused == STEPS
        name, arguments = ("done", {"answer": "saved"}) if done else self.call
        calls = () if "text" in self.more and not done else ((name, arguments),)
        return Answer(
            text=text, tool_calls=calls, stop="tool_use", input_tokens=sent, cached_tokens=0,
            thinking="I think." if self.more.get("thinking") else None,
            toolset=self.more.get("toolset"),
        )  # fmt: skip


async def played(
    model: str,
    small: Small,
    task: AgentTask,
    handle: DesktopHandle,
    context: TrialContext,
    **more: Any,
) -> tuple[AgentOutcome, ModelServer]:
    limits = Limits(max_steps=STEPS, time_limit_s=600)
    context = context.model_copy(update={"limits": limits, "config": more.pop("config", {})})
    with ModelServer(small, rules=Rules(), look_up=more.pop("look_up", None)) as server:
        async with connect(model, server) as opened:
            if more.pop("native", False):
                agent = computer_use_agent(opened, browser=False, **more)
            else:
                agent = tool_calling_agent(opened, images="all")
            return await agent.run(task, handle, context), server


CLICK = ("click", {"x": 160, "y": 70})


@pytest.mark.parametrize("provider", TOOLS)
async def test_thirty_steps_with_pictures_end_well_in_a_window_of_100k_tokens(
    provider: str, task: AgentTask, handle: DesktopHandle, context: TrialContext
) -> None:
    small = Small(provider, CLICK)
    config = {"agent_options": {"context_window": WINDOW}}
    if provider == "openai":  # keeps the rest of its models' reasoning, and is not told the window
        config = {}
    outcome, server = await played(TOOLS[provider], small, task, handle, context, config=config)
    assert (outcome.status, outcome.steps, outcome.answer) == (Status.COMPLETED, STEPS, "saved"), (
        outcome.error
    )
    assert "context_compacted" in outcome.flags
    kept = outcome.details["context"]
    assert kept["pictures_left_out"] > 0
    assert small.refused <= 2
    last = ReadRequest.of(server.requests[-1])
    assert task.goal in last.turns[0][1][0].text
    assert any(part.kind == "picture" for part in last.turns[-1][1][-1].flat()) or any(
        part.kind == "picture" for part in last.parts()
    )


@pytest.mark.parametrize("provider", TOOLS)
async def test_old_turns_go_once_no_picture_is_left_to_go_and_calls_keep_their_results(
    provider: str, task: AgentTask, handle: DesktopHandle, context: TrialContext
) -> None:
    words = {"x": 160, "y": 70, "note": "word " * 5_000}
    small = Small(provider, ("click", words))
    outcome, _ = await played(
        TOOLS[provider], small, task, handle, context,
        config={"agent_options": {"context_window": WINDOW}},
    )  # fmt: skip
    # the rules of the server refuse calls without results and results without calls
    assert (outcome.status, outcome.answer) == (Status.COMPLETED, "saved") or (
        outcome.error is not None and "replies in a row" in outcome.error.message
    ), outcome.error


async def test_long_replies_leave_out_old_turns_and_the_model_is_told_what_it_did(
    task: AgentTask, handle: DesktopHandle, context: TrialContext
) -> None:
    small = Small(
        "openai-chat", CLICK, text=qwen("left_click", coordinate=[500, 350]) + "word " * 4_000
    )
    outcome, server = await played(
        "openai-chat:Qwen/Qwen3-VL-8B-Instruct", small, task, handle, context, native=True,
        config={"agent_options": {"context_window": WINDOW}},
    )  # fmt: skip
    assert outcome.status in {Status.COMPLETED, Status.STEP_LIMIT}, outcome.error
    assert outcome.details["context"]["turns_left_out"] > 0
    turns = server.requests[-1].body["messages"]
    roles = [each["role"] for each in turns if each["role"] != "system"]
    assert roles == ["user", "assistant"] * (len(roles) // 2) + ["user"]
    assert "Your earlier turns, no longer shown" in json.dumps(turns)


@pytest.mark.parametrize(
    ("model", "toolset", "provider", "call"),
    [
        ("anthropic:claude-opus-5-5", "computer", "anthropic", ("screenshot", {})),
        ("openai:gpt-5.5", "computer", "openai", ("screenshot", {})),
    ],
)
async def test_a_model_whose_thinking_is_bound_to_earlier_turns_ends_scored_when_its_context_is_full(
    model: str,
    toolset: str,
    provider: str,
    call: Any,
    task: AgentTask,
    handle: DesktopHandle,
    context: TrialContext,
) -> None:
    small = Small(provider, call, toolset=toolset, thinking=True)
    outcome, server = await played(
        model, small, task, handle, context, native=True,
        config={"agent_options": {"context_window": WINDOW}},
    )  # fmt: skip
    assert outcome.status is Status.AGENT_ERROR
    assert outcome.error is not None
    assert (outcome.error.kind, outcome.error.fault) == (AgentError.__name__, "context_window")
    assert "earlier turns must stay as they were" in outcome.error.message
    assert (small.refused, server.rules.changed_prefixes) == (1, 0)
    assert outcome.details["context"]["overflows"] == 1


async def test_googles_own_tool_goes_on_with_fewer_pictures(
    task: AgentTask, handle: DesktopHandle, context: TrialContext
) -> None:
    small = Small("google", GOOGLE[0].tool_calls[0], thinking=True)
    outcome, _ = await played(
        "google:gemini-3.7-flash", small, task, handle, context, native=True, images="all"
    )
    assert (outcome.status, outcome.steps) == (Status.COMPLETED, STEPS), outcome.error
    assert outcome.details["context"]["pictures_left_out"] > 0


async def test_the_window_is_asked_of_the_server(
    task: AgentTask, handle: DesktopHandle, context: TrialContext
) -> None:
    small = Small("openai-chat", CLICK)
    described = Answer(raw=json.dumps({"id": "m", "object": "model", "max_model_len": WINDOW}))
    outcome, _ = await played(TOOLS["openai-chat"], small, task, handle, context, look_up=described)
    assert (outcome.status, small.refused) == (Status.COMPLETED, 0), outcome.error
    assert outcome.details["context"]["window"] == WINDOW
