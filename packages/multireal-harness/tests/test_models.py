from __future__ import annotations

from datetime import date
from typing import TYPE_CHECKING

import pytest

from bench_core.errors import InputError
from bench_core.models import Message, ModelRequest
from bench_core.records import Usage
from multireal_harness.models import ModelConfig, ModelMismatchError, load_config, shipped_configs

if TYPE_CHECKING:
    from pathlib import Path

SECRET = "sk-ant-0123456789abcdef"


@pytest.mark.parametrize("name", shipped_configs())
def test_shipped_config_is_complete(name: str) -> None:
    config = load_config(name)
    assert config.agent in {"tool-calling", "computer-use"}
    assert config.api_key_env is not None
    assert config.prices or "published" in config.note
    assert (config.dialect is not None) == (config.agent == "computer-use")


def test_the_four_of_the_plan_are_there() -> None:
    assert {"gpt52", "claude_opus45", "claude_cua", "gemini25pro"} <= set(shipped_configs())


def test_bare_model_needs_no_file() -> None:
    assert load_config("openai:gpt-5.2").model == "openai:gpt-5.2"
    by_hand = load_config("by-hand")
    assert by_hand.open().name == "by-hand:human"
    assert by_hand.accepts_model("human Ann")


def test_own_folder_goes_before_the_shipped_configs(tmp_path: Path) -> None:
    (tmp_path / "gpt52.yaml").write_text("name: Mine\nmodel: openai:mine\n")
    assert load_config("gpt52", tmp_path).name == "Mine"
    assert load_config(str(tmp_path / "gpt52.yaml")).name == "Mine"


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("name: [", "not YAML"),
        ("name: x", "model"),
        ("name: x\nmodel: x", "model"),
        ("- 1", "it must be an object"),
    ],
)
def test_broken_config_is_refused_with_the_reason(text: str, reason: str, tmp_path: Path) -> None:
    (tmp_path / "x.yaml").write_text(text)
    with pytest.raises(InputError, match=reason):
        load_config(str(tmp_path / "x.yaml"))


def test_unknown_config_is_refused_with_those_there_are() -> None:
    with pytest.raises(InputError, match="gpt52"):
        load_config("gpt-52")


@pytest.mark.parametrize("key", ["api_key", "api_key_env"])
def test_inline_key_is_accepted_and_written_nowhere(key: str, tmp_path: Path) -> None:
    (tmp_path / "x.yaml").write_text(f"name: x\nmodel: anthropic:claude-x\n{key}: {SECRET}\n")
    config = load_config(str(tmp_path / "x.yaml"))
    assert config.key() == SECRET
    assert SECRET not in f"{config!r} {config.model_dump_json()} {config.public()}"


def test_key_in_a_config_with_a_fault_is_not_shown(tmp_path: Path) -> None:
    (tmp_path / "x.yaml").write_text(f"name: x\nmodel: anthropic:claude-x\napi_key: [{SECRET}]\n")
    with pytest.raises(InputError) as caught:
        load_config(str(tmp_path / "x.yaml"))
    assert SECRET not in str(caught.value)


@pytest.mark.parametrize(
    ("model", "reported", "accepted"),
    [
        ("openai:gpt-5.2", "gpt-5.2", True),
        ("openai:gpt-5.2", "gpt-5.2-2025-12-11", True),
        ("openai:gpt-5.2", "gpt-5.2-mini", False),
        ("openai:gpt-5.2", "gpt-5.20", False),
        ("openai:gpt-5.2", None, True),
        ("google:gemini-2.5-pro", "models/gemini-2.5-pro", True),
        ("google:gemini-2.5-pro", "gemini-3.8-flash", False),
        ("anthropic:claude-opus-4-5", "claude-opus-4-5-20251101", True),
    ],
)
def test_which_reported_models_are_the_one_asked_for(
    model: str, reported: str | None, accepted: object
) -> None:
    assert ModelConfig(name="x", model=model).accepts_model(reported) is accepted


@pytest.mark.parametrize("content", [b"\xff\xfe\x00", b"[" * 20_000], ids=["no-text", "deep"])
def test_a_config_that_cannot_be_read_is_named(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "x.yaml").write_bytes(content)
    with pytest.raises(InputError, match=r"x\.yaml is not YAML"):
        load_config(str(tmp_path / "x.yaml"))


async def test_silent_rerouting_is_an_error_unless_allowed(tmp_path: Path) -> None:
    script = tmp_path / "script.yaml"
    script.write_text("- {text: hi, model_reported: another-model}\n" * 2)
    config = ModelConfig(name="x", model=f"scripted:{script}")
    request = ModelRequest(messages=(Message.user("hi"),))
    with pytest.raises(ModelMismatchError, match="--allow-model-mismatch"):
        await config.open().complete(request)
    reply = await config.open(allow_mismatch=True).complete(request)
    assert reply.model_reported == "another-model"


def test_tier_is_chosen_by_the_calls_input() -> None:
    prices = load_config("gemini25pro").price_list
    small = prices.price("google", "gemini-2.5-pro", Usage(input_tokens=100_000))
    large = prices.price("google", "gemini-2.5-pro-001", Usage(input_tokens=300_000))
    assert (small, large) != (None, None)
    assert small is not None
    assert large is not None
    assert (small.usd, large.usd) == (pytest.approx(0.125), pytest.approx(0.75))
    assert small.as_of == date(2026, 11, 21).isoformat()
