from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel
from test_support.model_server import Answer, ModelServer

from bench_core.errors import BudgetExceededError, InputError, UnknownPluginError
from bench_core.models import (
    ImagePart,
    Message,
    MissingKeyError,
    Model,
    ModelError,
    ModelRequest,
    PriceList,
    PublishedPrices,
    Reply,
    ReplyCache,
    RetryPolicy,
    ScriptedAdapter,
    SyncModel,
    load_prices,
    open_model,
    portable_schema,
    price_row,
)
from bench_core.models.adapter import tool_call
from bench_core.models.errors import classify
from bench_core.models.prices import PriceRow
from bench_core.models.schema import parse_json
from bench_core.models.scripted_model import load_script
from bench_core.records import Usage

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

KEY = "sk-planted-0123456789abcdef-planted"
ASK = ModelRequest(messages=(Message.user("hello"),))


class TimeoutException(Exception):  # noqa: N818  # the name that httpx gives it
    pass


class ConnectTimeout(TimeoutException):
    pass


class Inner(BaseModel):
    pointer: str
    quote: str = ""


class Outer(BaseModel):
    reason: str
    evidence: list[Inner]
    score: float | None = None


def test_schemas_are_inlined_closed_and_keep_their_order() -> None:
    schema = portable_schema(Outer)
    item = schema["properties"]["evidence"]["items"]
    assert list(schema["properties"]) == ["reason", "evidence", "score"]
    assert schema["required"] == ["reason", "evidence", "score"]
    assert item["additionalProperties"] is False
    assert item["required"] == ["pointer", "quote"]
    assert "$ref" not in str(schema)
    assert "title" not in schema


def test_a_property_named_title_is_kept() -> None:
    class Page(BaseModel):
        title: str

    assert portable_schema(Page)["properties"] == {"title": {"type": "string"}}


class Node(BaseModel):
    children: list[Node]


def test_a_recursive_schema_is_refused_by_name() -> None:
    with pytest.raises(ValueError, match="Node refers to itself"):
        portable_schema(Node)


@given(st.recursive(st.none() | st.booleans() | st.text(), st.lists))
def test_json_is_read_back_with_and_without_a_fence(value: object) -> None:
    text = json.dumps(value)
    assert parse_json(text) == parse_json(f"```json\n{text}\n```") == value


def test_a_text_nested_too_deeply_is_not_json() -> None:
    with pytest.raises(ValueError, match="nested too deeply"):
        parse_json("[" * 100_000)


@given(
    st.builds(
        Reply,
        provider=st.text(),
        model=st.text(),
        message=st.builds(Message.user, st.text()),
        stop=st.sampled_from(["end", "length", "refusal"]),
    )
)
def test_a_reply_survives_a_round_trip_through_json(reply: Reply) -> None:
    assert Reply.model_validate_json(reply.model_dump_json()) == reply


@pytest.mark.parametrize(
    ("name", "error", "match"),
    [
        ("gpt-5.2", InputError, "write `provider:model`"),
        ("openai:", InputError, "write `provider:model`"),
        ("wrong:gpt", UnknownPluginError, "installed are 'anthropic', 'google', 'openai'"),
        ("scripted:none.yaml", InputError, r"none\.yaml: cannot read the script"),
        ("replay:none.jsonl", InputError, r"none\.jsonl: there is no such cassette"),
    ],
)
def test_a_name_that_cannot_be_opened_says_what_to_write(
    name: str, error: type[Exception], match: str
) -> None:
    with pytest.raises(error, match=match):
        open_model(name)


def test_a_missing_key_names_its_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with pytest.raises(MissingKeyError, match="OPENAI_API_KEY"):
        open_model("openai:gpt-5.2")


def test_a_script_file_becomes_a_model(tmp_path: Path) -> None:
    script = tmp_path / "script.yaml"
    script.write_text("- hello\n- {tool_calls: [{name: click, arguments: {x: 1}}]}\n")
    with SyncModel(open_model(f"scripted:{script}")) as model:
        assert model.complete(ASK).text == "hello"
        assert model.complete(ASK).tool_calls[0].arguments == {"x": 1}
        with pytest.raises(InputError, match="has ended after 2 replies"):
            model.complete(ASK)


def test_a_script_that_is_no_list_is_refused(tmp_path: Path) -> None:
    script = tmp_path / "script.yaml"
    script.write_text("hello: there\n")
    with pytest.raises(InputError, match="the script is a list, not dict"):
        load_script(script)


def test_a_picture_of_an_unknown_kind_is_refused() -> None:
    with pytest.raises(ValueError, match="not a PNG"):
        ImagePart.from_bytes(b"<svg/>")


@given(inputs=st.integers(0, 10_000), cached=st.integers(0, 5_000), outputs=st.integers(0, 5_000))
def test_a_price_is_the_sum_of_its_parts(inputs: int, cached: int, outputs: int) -> None:
    row = PriceRow(model="m", input=2.0, cached_input=0.5, output=8.0)
    usage = Usage(input_tokens=inputs + cached, cached_input_tokens=cached, output_tokens=outputs)
    price = PriceList([row]).price("openai", "m", usage)
    assert price is not None
    assert price.usd == pytest.approx((inputs * 2 + cached * 0.5 + outputs * 8) / 1e6)


def test_the_highest_tier_below_the_input_holds() -> None:
    prices = PriceList(
        [
            PriceRow(model="m", input=1.0, output=1.0),
            PriceRow(model="m", input=2.0, output=2.0, above_input_tokens=200_000),
        ]
    )
    small = prices.price("google", "m", Usage(input_tokens=200_000))
    large = prices.price("google", "m", Usage(input_tokens=200_001))
    assert small is not None
    assert large is not None
    assert small.usd == pytest.approx(0.2)
    assert large.usd == pytest.approx(0.400002)


def test_published_prices_know_current_models_and_not_invented_ones() -> None:
    pytest.importorskip("genai_prices", reason="the price table is an extra")
    usage = Usage(input_tokens=10_000, cached_input_tokens=4_000, output_tokens=1_000)
    known = PublishedPrices().price("openai", "gpt-5.2", usage)
    assert known is not None
    assert known.usd == pytest.approx(0.0252)
    assert known.source.startswith("genai-prices ")
    assert PublishedPrices().price("openai", "no-such-model-9", usage) is None


def test_own_rows_come_before_the_published_table(tmp_path: Path) -> None:
    file = tmp_path / "prices.yaml"
    file.write_text("- {model: 'openai:gpt-5.2', input: 1, output: 0, as_of: 2026-11-01}\n")
    prices = load_prices(file, otherwise=PriceList([PriceRow(model="b", input=3, output=3)]))
    own = prices.price("openai", "gpt-5.2", Usage(input_tokens=1_000_000))
    other = prices.price("openai", "b", Usage(input_tokens=1_000_000))
    assert own is not None
    assert other is not None
    assert (own.usd, own.source, own.as_of) == (1.0, "prices.yaml", "2026-11-01")
    assert other.usd == 3.0


def test_the_row_of_a_price_says_where_it_is_from() -> None:
    prices = PriceList([PriceRow(model="m", input=1.0, output=2.0)], source="mine.yaml")
    row = price_row("openai:m", prices)
    assert row is not None
    assert (row["source"], row["input"], row["output"]) == ("mine.yaml", 1.0, 2.0)
    assert price_row("openai:other", prices) is None


@pytest.mark.parametrize("content", ["{", "- {model: m}", "7", "- 7"])
def test_a_price_file_that_does_not_fit_names_itself(tmp_path: Path, content: str) -> None:
    file = tmp_path / "prices.yaml"
    file.write_text(content)
    with pytest.raises(
        InputError, match=r"prices\.yaml: (not a list of|cannot read|a price list is a)"
    ) as raised:
        load_prices(file)
    assert "validation error" not in str(raised.value)


class CountingMeter:
    """Allows one call."""

    def __init__(self) -> None:
        self.calls: list[tuple[int, float | None]] = []

    def spend(self, usage: Usage, cost_usd: float | None = None) -> None:
        self.calls.append((usage.total_tokens, cost_usd))
        if len(self.calls) > 1:
            raise BudgetExceededError("spent")


async def test_each_call_is_charged_once_and_replays_are_free(tmp_path: Path) -> None:
    meter = CountingMeter()
    line: dict[str, Any] = {"text": "hi", "usage": {"input_tokens": 10, "output_tokens": 5}}
    prices = PriceList([PriceRow(model="script", input=1.0, output=1.0)])
    model = Model(ScriptedAdapter([line, line]), prices=prices, cache=ReplyCache(tmp_path))
    await model.complete(ASK, meter=meter)
    await model.complete(ASK, meter=meter)
    assert meter.calls == [(15, pytest.approx(15e-6))]
    with pytest.raises(BudgetExceededError):
        await model.complete(ASK.model_copy(update={"trial": 2}), meter=meter)


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (TimeoutError("slow"), "timeout"),
        (ConnectionResetError("gone"), "connection"),
        (ConnectTimeout("no one there"), "connection"),
        (TimeoutException("no answer"), "timeout"),
        (AttributeError("'str' object has no attribute 'content'"), "malformed"),
        (RuntimeError("?"), "unknown"),
    ],
)
def test_plain_errors_are_classified_by_their_kind(error: Exception, kind: str) -> None:
    assert classify(error, "openai").kind == kind


async def test_a_key_echoed_by_a_failing_server_is_in_no_error(
    provider: str, server: ModelServer, connect: Callable[..., Model]
) -> None:
    server.say(Answer(status=401, message=f"bad key {KEY}"))
    async with connect(provider) as model:
        with pytest.raises(ModelError) as caught:
            await model.complete(ASK)
    assert KEY not in str(caught.value)
    assert KEY not in repr(caught.value.__dict__)
    assert KEY in str(server.requests[0].headers)


@pytest.mark.parametrize(
    "statement",
    [
        "import bench_core.models; bench_core.models.open_model",
        "from bench_core.models import open_model; open_model('openai:m', api_key='k')",
    ],
)
def test_sdks_are_not_imported_before_the_first_call(statement: str) -> None:
    if "open_model(" in statement:
        pytest.importorskip("openai", reason="the SDK is an extra")
    heavy = "{'openai', 'anthropic', 'google.genai', 'httpx', 'httpx2', 'numpy', 'genai_prices'}"
    code = f"import sys; {statement}; print(sorted({heavy} & set(sys.modules)))"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "[]"


def test_a_policy_without_attempts_is_refused() -> None:
    with pytest.raises(ValueError, match="attempts"):
        RetryPolicy(attempts=0)


@pytest.mark.parametrize("depth", [300, 900, 100_000])
def test_arguments_nested_too_deeply_are_kept_as_text(depth: int) -> None:
    deep = '{"x":' * depth + "1" + "}" * depth
    assert tool_call("1", "click", deep).raw == deep


def test_a_servers_own_parser_may_allow_what_is_too_deep_for_a_record() -> None:
    deep: dict[str, Any] = {}
    for _ in range(500):
        deep = {"x": deep}
    call = tool_call("1", "click", deep)
    assert (call.arguments, call.raw) == (None, "nested too deeply")


@pytest.mark.parametrize("text", ["null", "[]", "7", "{", "click"])
def test_arguments_that_are_no_object_are_kept_as_text(text: str) -> None:
    assert tool_call("1", "click", text).raw == text


def test_a_picture_that_is_printed_does_not_fill_the_terminal() -> None:
    assert repr(ImagePart(data="AAAA" * 1000)) == "ImagePart(type='image', media_type='image/png')"
