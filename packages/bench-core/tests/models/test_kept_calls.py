"""What a trial keeps of its model's calls: each turn once, pictures by their digest, and no keys."""

from __future__ import annotations

import asyncio
import hashlib
from typing import TYPE_CHECKING, Any

import pytest

from bench_core.errors import BudgetExceededError
from bench_core.models import (
    ImagePart,
    Message,
    Model,
    ModelError,
    ModelRequest,
    OpaquePart,
    ScriptedAdapter,
    TextPart,
    Tool,
    ToolResult,
    check_model_of,
    model_of,
)
from bench_core.models.kept_calls import CONVERSATION, KeptCalls
from bench_core.protocols import TrialContext
from bench_core.records import ModelCall, Usage

if TYPE_CHECKING:
    from pathlib import Path

PNG = b"\x89PNG\r\n\x1a\n and more"
CLICK = Tool(name="click", description="Click a point", parameters={"type": "object"})


def kept(folder: Path) -> list[ModelCall]:
    lines = (folder / CONVERSATION).read_text(encoding="utf-8").splitlines()
    return [ModelCall.model_validate_json(line) for line in lines]


def model_in(folder: Path, script: list[Any], **limits: Any) -> Model:
    return Model(ScriptedAdapter(script), calls=KeptCalls(folder, **limits))


def asking(*turns: Message, **fields: Any) -> ModelRequest:
    return ModelRequest(messages=turns, **{"system": "Be good.", "tools": (CLICK,), **fields})


async def test_each_turn_is_kept_once_and_a_reply_is_the_turn_after_what_was_sent(
    tmp_path: Path,
) -> None:
    calls = {"tool_calls": [{"name": "click", "arguments": {"x": 7}}]}
    model = model_in(tmp_path, [calls, "done"])
    first = Message.user("Find the cheapest.")
    reply = await model.complete(asking(first))
    answer = ToolResult(
        call_id=reply.tool_calls[0].id,
        name="click",
        content=(TextPart(text="covered by a dialog"),),
        is_error=True,
    )
    await model.complete(asking(first, reply.message, Message.user(answer)))
    one, two = kept(tmp_path)
    assert (one.system.text, one.tools[0]["name"], one.length) == ("Be good.", "click", 1)
    assert [(t.at, t.role, t.parts[0].text) for t in one.turns] == [
        (0, "user", "Find the cheapest.")
    ]
    assert [(p.type, p.name, p.arguments) for p in one.reply] == [("call", "click", {"x": 7})]
    assert (two.system, two.tools, two.settings, two.length) == (None, None, None, 3)
    assert [turn.at for turn in two.turns] == [2]
    (result,) = two.turns[0].parts
    assert (result.type, result.failed, result.call_id) == ("result", True, one.reply[0].call_id)
    assert result.content[0].text == "covered by a dialog"
    assert (two.reply[0].text, two.stop, two.call) == ("done", "end", 2)


async def test_a_turn_that_was_changed_is_kept_again_at_its_place(tmp_path: Path) -> None:
    model = model_in(tmp_path, ["one", "two"])
    picture = Message.user("look", ImagePart.from_bytes(PNG))
    reply = await model.complete(asking(picture))
    thinned = Message.user("look", "(an earlier screenshot)")
    await model.complete(asking(thinned, reply.message, Message.user("again"), system="Be quick."))
    one, two = kept(tmp_path)
    assert one.turns[0].parts[1].sha256 == hashlib.sha256(PNG).hexdigest()
    assert [(turn.at, turn.parts[-1].text) for turn in two.turns] == [
        (0, "(an earlier screenshot)"),
        (2, "again"),
    ]
    assert two.system.text == "Be quick."
    assert ImagePart.from_bytes(PNG).data not in (tmp_path / CONVERSATION).read_text()


async def test_what_was_asked_is_kept_where_no_answer_came(tmp_path: Path) -> None:
    model = model_in(tmp_path, [ModelError("timeout", "nothing", provider="scripted")])
    with pytest.raises(ModelError):
        await model.complete(asking(Message.user("hello")))
    (call,) = kept(tmp_path)
    assert (call.turns[0].parts[0].text, call.reply) == ("hello", ())
    assert "nothing" in call.error


async def test_a_call_under_way_is_kept_when_the_trial_ends(tmp_path: Path) -> None:
    class Slow(ScriptedAdapter):
        async def send(self, request: ModelRequest, timeout_s: float) -> Any:
            await asyncio.sleep(60)

    model = Model(Slow([]), calls=KeptCalls(tmp_path))
    call = asyncio.create_task(model.complete(asking(Message.user("hello"))))
    await asyncio.sleep(0.05)
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    assert kept(tmp_path)[0].error == "the trial ended before there was an answer"


async def test_the_reply_that_spends_the_budget_is_kept(tmp_path: Path) -> None:
    class Spent:
        def spend(self, usage: Usage, cost_usd: float | None = None) -> None:
            raise BudgetExceededError("no more")

        def of(self, source: str) -> Spent:
            return self

    with pytest.raises(BudgetExceededError):
        await model_in(tmp_path, ["hi"]).complete(asking(Message.user("hello")), meter=Spent())
    (call,) = kept(tmp_path)
    assert (call.reply[0].text, call.error) == ("hi", None)


async def test_long_texts_are_cut_and_a_full_file_keeps_no_texts(tmp_path: Path) -> None:
    model = model_in(tmp_path, ["one", "two", "three"], most_bytes=30_000)
    for number in range(3):
        turn = Message.user(str(number) * 25_000)
        await model.complete(asking(turn), meter=None)
    one, two, three = kept(tmp_path)
    assert (len(one.turns[0].parts[0].text), one.turns[0].parts[0].omitted) == (20_000, 5_000)
    assert (one.cut, two.cut, three.cut) == (False, False, True)
    assert (three.turns, three.reply, three.stop, three.length) == ((), (), "end", 1)
    assert three.usage.requests == 1


async def test_keys_are_taken_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-planted-0123456789abcdef-planted")
    model = model_in(tmp_path, ["it is sk-planted-0123456789abcdef-planted"])
    await model.complete(asking(Message.user("say sk-planted-0123456789abcdef-planted")))
    assert "sk-planted" not in (tmp_path / CONVERSATION).read_text()


async def test_thinking_is_kept_as_words(tmp_path: Path) -> None:
    thought = OpaquePart(provider="anthropic", data={"type": "thinking", "thinking": "Hm."})
    turn = Message.assistant(thought, "yes")
    await model_in(tmp_path, ["ok"]).complete(asking(Message.user("hello"), turn))
    parts = kept(tmp_path)[0].turns[1].parts
    assert [(part.type, part.text) for part in parts] == [("thinking", "Hm."), ("text", "yes")]


@pytest.mark.parametrize("opened", ["by its name", "by the run"])
async def test_every_agent_that_opens_its_trial_s_model_keeps_its_calls(
    tmp_path: Path, opened: str
) -> None:
    script = tmp_path / "script.json"
    script.write_text('["hi"]')
    folder = tmp_path / "trial"
    context = TrialContext(run_id="r", folder=folder, model=f"scripted:{script}")
    if opened == "by the run":
        context = context.with_model_opener(lambda _: Model(ScriptedAdapter(["hi"])))
    model = model_of(context)
    assert not folder.exists()
    await model.complete(asking(Message.user("hello")))
    assert kept(folder)[0].reply[0].text == "hi"


@pytest.mark.parametrize("opened", ["by its name", "by the run"])
async def test_calls_of_any_agent_are_recorded_and_replayed_on_request(
    tmp_path: Path, opened: str
) -> None:
    script = tmp_path / "script.json"
    script.write_text('["hi"]')
    folders = [tmp_path / run / "trials" / "1" / "t1" for run in ("first", "second")]
    first = TrialContext(
        run_id="r",
        folder=folders[0],
        model=f"scripted:{script}",
        config={"agent_options": {"record_calls": True}},
    )
    if opened == "by the run":
        first = first.with_model_opener(lambda _: Model(ScriptedAdapter(["hi"])))
    second = first.model_copy(
        update={"folder": folders[1], "config": {"replay_calls": str(tmp_path / "first")}}
    )
    await asyncio.to_thread(check_model_of, first)
    assert not folders[0].exists()
    asked = asking(Message.user("hello"))
    recorded = await model_of(first).complete(asked)
    replayed = await model_of(second).complete(asked)
    assert (replayed.text, replayed.replayed, recorded.replayed) == ("hi", True, False)
