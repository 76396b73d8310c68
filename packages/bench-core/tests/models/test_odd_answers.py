"""What compatible servers answer that the API's own does not: parts, no usage, calls cut off, another form."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from test_support.model_server import Answer, ModelServer

from bench_core.budgets import Budget, RunBudget
from bench_core.errors import BudgetExceededError
from bench_core.models import Message, ModelError, ModelRequest

if TYPE_CHECKING:
    from collections.abc import Callable

    from bench_core.models import Model

ASKED = ModelRequest(messages=(Message.user("hi"),))
USAGE = {"prompt_tokens": 5, "completion_tokens": 2, "total_tokens": 7}


def chat(message: dict[str, Any], finish: str = "stop", **more: Any) -> Answer:
    choice = {"index": 0, "finish_reason": finish, "message": {"role": "assistant", **message}}
    body = {"id": "c", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice]}
    return Answer(raw=json.dumps({**body, "usage": USAGE, **more}))


def call(arguments: str, number: int = 0) -> dict[str, Any]:
    return {"id": f"c{number}", "type": "function", "function": {"name": "f", "arguments": arguments}}  # fmt: skip


@pytest.fixture
def model(connect: Callable[..., Model]) -> Model:
    pytest.importorskip("openai")
    return connect("openai-chat")


async def test_content_in_parts_is_read_without_its_thoughts(
    model: Model, server: ModelServer
) -> None:
    thought = {"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]}
    server.say(chat({"content": [thought, {"type": "text", "text": "Paris"}]}))
    async with model:
        assert (await model.complete(ASKED)).text == "Paris"


async def test_an_answer_of_another_form_is_told_in_a_sentence_and_asked_for_once(
    model: Model, server: ModelServer
) -> None:
    server.say(chat({"content": 7}), chat({"content": "late"}))
    async with model:
        with pytest.raises(ModelError, match="what is no answer of this API") as told:
            await model.complete(ASKED)
    assert (told.value.kind, len(server.requests)) == ("unreadable", 1)
    assert server.base_url("openai") in str(told.value)
    assert "input_value" not in str(told.value)


async def test_a_call_without_usage_is_counted_and_ends_a_budget_that_needs_it(
    model: Model, server: ModelServer
) -> None:
    server.say(*(chat({"content": "x"}, usage=None) for _ in range(2)))
    free, bound = RunBudget().meter(), RunBudget(Budget(max_tokens=1000)).meter()
    async with model:
        await model.complete(ASKED, meter=free)
        with pytest.raises(BudgetExceededError, match="does not say how many tokens"):
            await model.complete(ASKED, meter=bound)
    for meter in (free, bound):
        assert (meter.spent.usage.requests, [*meter.flags]) == (1, ["usage_unknown"])
    assert (free.stopped, bound.stopped) == (False, True)


async def test_the_last_call_of_a_reply_that_was_cut_off_is_unfinished(
    model: Model, server: ModelServer
) -> None:
    server.say(chat({"content": None, "tool_calls": [call("{}"), call("", 1)]}, "length"))
    async with model:
        reply = await model.complete(ASKED)
    assert [each.unfinished for each in reply.tool_calls] == [False, True]


async def test_half_arguments_are_not_sent_back_as_they_are(
    model: Model, server: ModelServer
) -> None:
    server.say(
        chat({"content": None, "tool_calls": [call('{"x')]}, "length"), chat({"content": "ok"})
    )
    async with model:
        reply = await model.complete(ASKED)
        turns = (*ASKED.messages, reply.message, Message.user("again"))
        await model.complete(ModelRequest(messages=turns))
    assert server.requests[-1].body["messages"][1]["tool_calls"] == [call("{}")]
