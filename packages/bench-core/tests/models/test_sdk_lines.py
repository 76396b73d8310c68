"""The same calls come out as the same records on every line of each SDK.

The cassettes beside this file were recorded on the oldest line, against replies written by hand;
`PROCTOR_RECORD=1 pytest test_sdk_lines.py` writes them anew.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from test_support.model_server import Answer, ModelServer

from bench_core.models import (
    Cassette,
    Message,
    Model,
    ModelRequest,
    Reply,
    Tool,
    open_model,
)

if TYPE_CHECKING:
    from collections.abc import Callable

CASSETTES = Path(__file__).parent / "cassettes"
CLICK = Tool(name="click", parameters={"type": "object", "properties": {"x": {"type": "integer"}}})
SCHEMA = {"type": "object", "properties": {"passed": {"type": "boolean"}}}
CALLS: dict[str, tuple[dict[str, Any], Answer]] = {
    "a word": ({"system": "Be brief."}, Answer(text="blue", model="m-2026-01-01")),
    "json": ({"output_schema": SCHEMA}, Answer(text='{"passed": true}')),
    "a tool": ({"tools": (CLICK,)}, Answer(tool_calls=(("click", {"x": 7}),), stop="tool_use")),
    "thought": ({}, Answer(text="so", thinking="hm", reasoning_tokens=9)),
    "too long": ({"max_output_tokens": 1}, Answer(text="bl", stop="length")),
    "no": ({}, Answer(stop="refusal")),
}


def request(word: str) -> ModelRequest:
    return ModelRequest(messages=(Message.user(word),), **CALLS[word][0])


async def record(model: Model, server: ModelServer) -> None:
    server.say(*(answer for _, answer in CALLS.values()))
    async with model:
        for word in CALLS:
            await model.complete(request(word))


def lines(path: Path) -> list[dict[str, Any]]:
    entries = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    for entry in entries:
        entry["reply"]["latency_s"] = 0.0
    return entries


async def test_calls_are_recorded_alike_on_every_line(
    provider: str, server: ModelServer, connect: Callable[..., Model], tmp_path: Path
) -> None:
    kept = CASSETTES / f"{provider}.jsonl"
    fresh = kept if os.environ.get("PROCTOR_RECORD") else tmp_path / "fresh.jsonl"
    tape = Cassette(fresh, "record", written_by="hand")
    await record(connect(provider, cassette=tape), server)
    assert lines(fresh) == lines(kept)


@pytest.mark.parametrize("name", ["anthropic", "openai", "openai-chat", "google"])
async def test_a_cassette_of_another_line_replays(name: str) -> None:
    model = open_model(f"replay:{CASSETTES / name}.jsonl")
    assert model.name == f"{name}:test-model"
    replies: dict[str, Reply] = {word: await model.complete(request(word)) for word in CALLS}
    assert replies["a word"].text == "blue"
    assert replies["a word"].model_reported == "m-2026-01-01"
    assert replies["json"].data == {"passed": True}
    assert replies["a tool"].tool_calls[0].arguments == {"x": 7}
    assert replies["thought"].usage.reasoning_tokens == 9
    assert [replies[word].stop for word in ("too long", "no")] == ["length", "refusal"]


@pytest.mark.parametrize("name", ["anthropic", "openai", "openai-chat", "google"])
def test_hand_written_replies_are_labelled_so(name: str) -> None:
    assert {entry["written_by"] for entry in lines(CASSETTES / f"{name}.jsonl")} == {"hand"}
