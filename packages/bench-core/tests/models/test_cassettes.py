from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING

import pytest

from bench_core.errors import InputError, RecordError
from bench_core.models import (
    Cassette,
    CassetteMissError,
    ImagePart,
    Message,
    Model,
    ModelRequest,
    ReplyCache,
    ScriptedAdapter,
    open_model,
)
from bench_core.redaction import Redactor

if TYPE_CHECKING:
    from pathlib import Path

KEY = "sk-planted-0123456789abcdef-planted"


def ask(*parts: str | ImagePart, trial: int = 1) -> ModelRequest:
    return ModelRequest(messages=(Message.user(*parts),), trial=trial)


@pytest.fixture
def tape(tmp_path: Path) -> Path:
    return tmp_path / "calls.jsonl"


async def record(tape: Path, **calls: str) -> None:
    model = Model(ScriptedAdapter(list(calls.values())), cassette=Cassette(tape, "record"))
    for question in calls:
        await model.complete(ask(question))


async def test_what_was_recorded_is_replayed_without_a_model(tape: Path) -> None:
    await record(tape, sky="blue", grass="green")
    model = Model(ScriptedAdapter([]), cassette=Cassette(tape, "replay"))
    replies = [await model.complete(ask(word)) for word in ("grass", "sky")]
    assert [reply.text for reply in replies] == ["green", "blue"]
    assert all(reply.replayed for reply in replies)


async def test_a_cassette_opens_as_a_model_by_name(tape: Path) -> None:
    await record(tape, sky="blue")
    by_hash = open_model(f"replay:{tape}")
    by_sequence = open_model(f"replay:{tape}", cassette=Cassette(tape, "replay", "sequence"))
    assert by_hash.name == "scripted:script"
    assert (await by_hash.complete(ask("sky"))).text == "blue"
    assert (await by_sequence.complete(ask("whatever"))).text == "blue"


async def test_a_cassette_of_two_models_does_not_open_by_name(tape: Path) -> None:
    await record(tape, sky="blue")
    other = Model(ScriptedAdapter(["red"], model="other"), cassette=Cassette(tape, "auto"))
    await other.complete(ask("rose"))
    with pytest.raises(InputError, match=r"one model, found scripted:script, scripted:other"):
        open_model(f"replay:{tape}")


async def test_a_miss_shows_the_difference_to_the_nearest_request(tape: Path) -> None:
    await record(tape, **{"what colour is the sky": "blue", "unrelated": "yes"})
    model = Model(ScriptedAdapter([]), cassette=Cassette(tape, "replay"))
    with pytest.raises(CassetteMissError) as caught:
        await model.complete(ask("what colour is the sea"))
    shown = [line.replace(" ", "") for line in str(caught.value).splitlines()]
    assert '-"text":"whatcolouristhesky",' in shown
    assert '+"text":"whatcolouristhesea",' in shown
    assert "record it again" in str(caught.value)


async def test_auto_mode_asks_for_what_is_missing_and_keeps_it(tape: Path) -> None:
    await record(tape, sky="blue")
    model = Model(ScriptedAdapter(["green"]), cassette=Cassette(tape, "auto"))
    assert (await model.complete(ask("sky"))).text == "blue"
    assert (await model.complete(ask("grass"))).text == "green"
    again = Model(ScriptedAdapter([]), cassette=Cassette(tape, "replay"))
    assert (await again.complete(ask("grass"))).text == "green"


async def test_agents_whose_pixels_vary_are_matched_by_sequence(tape: Path) -> None:
    pixels = [ImagePart.from_bytes(b"\x89PNG\r\n\x1a\n" + bytes([n])) for n in range(4)]
    recording = Model(
        ScriptedAdapter(["click", "done"]), cassette=Cassette(tape, "record", "sequence")
    )
    for picture in pixels[:2]:
        await recording.complete(ask(picture))
    replaying = Model(ScriptedAdapter([]), cassette=Cassette(tape, "replay", "sequence"))
    assert [(await replaying.complete(ask(p))).text for p in pixels[2:]] == ["click", "done"]
    with pytest.raises(CassetteMissError, match="all 2 recorded calls are used up"):
        await replaying.complete(ask("one more"))


async def test_pictures_headers_and_keys_stay_out_of_the_file(tape: Path) -> None:
    picture = ImagePart.from_bytes(b"\x89PNG\r\n\x1a\n" + b"pixels" * 100)
    redact = Redactor([KEY]).redact
    cassette = Cassette(tape, "record", redact=redact)
    model = Model(ScriptedAdapter([f"your key is {KEY}"]), cassette=cassette)
    request = ask(f"my key is {KEY}", picture).model_copy(update={"headers": {"x-beta": "secret"}})
    await model.complete(request)
    text = await asyncio.to_thread(tape.read_text, "utf-8")
    assert KEY not in text
    assert picture.data not in text
    assert picture.sha256 in text
    assert "x-beta" not in text


@pytest.mark.parametrize(
    ("content", "error"),
    [("{", RecordError), ('{"key": 1}\n', RecordError), ("[]\n", RecordError)],
    ids=["torn", "wrong-fields", "not-an-object"],
)
def test_a_damaged_cassette_names_file_and_line(
    tape: Path, content: str, error: type[InputError]
) -> None:
    tape.write_text(content, encoding="utf-8")
    with pytest.raises(error, match=r"calls\.jsonl, line 1: not a cassette entry"):
        Cassette(tape, "replay")


def test_a_missing_cassette_is_an_input_error(tape: Path) -> None:
    with pytest.raises(InputError, match="no such cassette"):
        Cassette(tape, "replay")


async def test_the_cache_answers_the_same_trial_and_no_other(tmp_path: Path) -> None:
    model = Model(ScriptedAdapter(["one", "two"]), cache=ReplyCache(tmp_path))
    first = await model.complete(ask("sky"))
    cached = await model.complete(ask("sky"))
    other_trial = await model.complete(ask("sky", trial=2))
    assert [first.text, cached.text, other_trial.text] == ["one", "one", "two"]
    assert [first.replayed, cached.replayed, other_trial.replayed] == [False, True, False]


@pytest.mark.parametrize("stop", ["refusal", "length"])
async def test_refusals_and_truncated_answers_are_not_cached(tmp_path: Path, stop: str) -> None:
    script = [{"text": "no", "stop": stop}, {"text": "yes"}]
    model = Model(ScriptedAdapter(script), cache=ReplyCache(tmp_path))
    await model.complete(ask("sky"))
    assert (await model.complete(ask("sky"))).text == "yes"


async def test_a_damaged_cache_file_counts_as_absent(tmp_path: Path) -> None:
    model = Model(ScriptedAdapter(["one", "two"]), cache=ReplyCache(tmp_path))
    await model.complete(ask("sky"))
    (kept,) = await asyncio.to_thread(lambda: list(tmp_path.rglob("*.json")))
    kept.write_text("{", encoding="utf-8")
    assert (await model.complete(ask("sky"))).text == "two"
    assert json.loads(kept.read_text(encoding="utf-8"))["message"]["parts"][0]["text"] == "two"
