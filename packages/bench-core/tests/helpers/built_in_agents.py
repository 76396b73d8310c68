"""The built-in agents on pages, each with a model that says what a script of actions is in its own words."""

from __future__ import annotations

import importlib.util
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest
from test_support.model_server import Answer, ModelServer

from bench_core.agents import LoopAgent, computer_use_agent, tool_calling_agent
from bench_core.agents.browser import BrowserEnvironment
from bench_core.agents.dialects.coordinates import smart_resize
from bench_core.models import RetryPolicy, open_model

SIZE = (800, 600)
Place = tuple[int, int]


def made(toolset: str | None, *calls: tuple[str, dict[str, Any]]) -> Answer:
    return Answer(tool_calls=calls, toolset=toolset, stop="tool_use", thinking="I think.")


def grid(at: Place) -> dict[str, int]:
    return {"x": round(at[0] * 1000 / SIZE[0]), "y": round(at[1] * 1000 / SIZE[1])}


def tars(at: Place) -> Answer:
    width, height = smart_resize(SIZE)
    x, y = round(at[0] * width / SIZE[0]), round(at[1] * height / SIZE[1])
    return Answer(text=f"Thought: t\nAction: click(start_box='({x},{y})')")


def old(at: Place) -> Answer:
    return made(None, ("computer", {"action": "left_click", "coordinate": [*at]}))


def qwen(at: Place) -> Answer:
    return made(
        None, ("computer_use", {"action": "left_click", "coordinate": [*grid(at).values()]})
    )


def openai(tool: str) -> Callable[[Place], Answer]:
    return lambda at: made(tool, ("click", {"x": at[0], "y": at[1], "button": "left"}))


SAID = Answer(text="It is done.")
OWN = made(None, ("done", {"answer": "done"}))
QWEN_ENDS = made(None, ("computer_use", {"action": "terminate", "status": "success"}))
TARS_ENDS = Answer(text="Thought: t\nAction: finished(content='done')")
CLAUDE, QWEN = "anthropic:claude-opus-5-5", "openai-chat:Qwen/Qwen3-VL-8B-Instruct"
AGENTS: dict[str, tuple[str, Callable[[Place], Answer], Answer]] = {
    "tool-calling": (CLAUDE, lambda at: made(None, ("click", {"x": at[0], "y": at[1]})), OWN),
    "computer_20250124": ("anthropic:claude-haiku-4-5", old, OWN),
    "computer_20251124": ("anthropic:claude-opus-4-6", old, OWN),
    "computer_toolset_20260801": (
        CLAUDE, lambda at: made("computer", ("left_click", {"coordinate": [*at]})), SAID,
    ),
    "browser_toolset_20260801": (
        CLAUDE,
        lambda at: made("browser", ("left_click", {"target": {"type": "coordinate", "x": at[0], "y": at[1]}})),
        SAID,
    ),
    "computer": ("openai:gpt-5.5", openai("computer"), SAID),
    "computer_use_preview": ("openai:computer-use-preview", openai("computer_use_preview"), SAID),
    "google_computer_use_2025": (
        "google:gemini-2.5-computer-use-preview-10-2025", lambda at: made(None, ("click_at", grid(at))), SAID,
    ),
    "google_computer_use_2026": (
        "google:gemini-3.7-flash", lambda at: made(None, ("click", grid(at))), SAID,
    ),
    "qwen3_vl": (QWEN, qwen, QWEN_ENDS),
    "qwen3_5": ("openai-chat:Qwen/Qwen3.5-35B-A3B", qwen, QWEN_ENDS),
    "ui_tars_1_5": ("openai-chat:ByteDance-Seed/UI-TARS-1.5-7B", tars, TARS_ENDS),
}  # fmt: skip
"""The model of each built-in agent, how it clicks, and how it ends."""


def needs_sdk(agent: str) -> None:
    """Skip a test whose agent's provider is an extra that is not installed."""
    provider = AGENTS[agent][0].partition(":")[0]
    sdk = {"openai-chat": "openai", "google": "google.genai"}.get(provider, provider)
    if importlib.util.find_spec(sdk.partition(".")[0]) is None:
        pytest.skip(f"the SDK of {provider} is not installed")


@asynccontextmanager
async def built_in(agent: str, server: ModelServer, context: Any) -> AsyncIterator[LoopAgent]:
    """Open a built-in agent on the pages of Playwright's `context`, whose model is a server of ours."""

    @asynccontextmanager
    async def connect(_: Any) -> AsyncIterator[BrowserEnvironment]:
        yield BrowserEnvironment(context, SIZE)

    name = AGENTS[agent][0]
    async with open_model(
        name,
        api_key="a key of some length",
        base_url=server.base_url(name.partition(":")[0]),
        policy=RetryPolicy(attempts=1, deadline_s=600, timeout_s=600),
    ) as model:
        if agent == "tool-calling":
            yield tool_calling_agent(model, connect=connect)
        else:
            yield computer_use_agent(model, tool=agent, screen=SIZE, connect=connect)
