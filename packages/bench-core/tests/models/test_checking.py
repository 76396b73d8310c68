"""Whether a model can be used, before a run pays for it."""

from __future__ import annotations

import asyncio
import json
import re
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import pytest
from test_support.model_server import Answer, ModelServer

from bench_core.agents.plugins import ComputerUsePlugin, ToolCallingPlugin
from bench_core.errors import InputError
from bench_core.models import (
    MissingKeyError,
    Model,
    UnusableModelError,
    check_model,
    open_model,
    paid_checks,
)
from bench_core.models.checking import pay_for_one_token
from bench_core.protocols import TrialContext
from bench_core.run_spec import AgentProcessSpec, RunSpec
from bench_core.runs import run_benchmark_sync

if TYPE_CHECKING:
    from pathlib import Path

# found, not imported: every process that collects tests would load them
if not all(map(find_spec, ("anthropic", "openai", "google"))) or not find_spec("google.genai"):
    pytest.skip("the SDKs are extras", allow_module_level=True)

MODELS = ("anthropic:claude-opus-5-5", "openai:gpt-5.4", "openai-chat:qwen", "google:gemini-3-pro")
UNKNOWN = {
    "anthropic": "model: {}",
    "openai": "The model '{}' does not exist",
    "openai-chat": "The model '{}' does not exist",
    "google": "models/{} is not found for API version v1beta",
}


def opened(name: str, server: ModelServer) -> Model:
    url = server.base_url(name.partition(":")[0])
    return open_model(name, api_key="a-secret-key", base_url=url)


def ask(name: str, look_up: Answer) -> None:
    async def check(server: ModelServer) -> None:
        async with opened(name, server) as model:
            await check_model(model)

    with ModelServer(look_up=look_up) as server:
        asyncio.run(check(server))
        assert server.requests == []  # nothing is paid for


@pytest.mark.parametrize("name", MODELS)
def test_a_key_and_a_model_that_are_good_are_taken(name: str) -> None:
    ask(name, Answer())


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize(
    ("status", "message"),
    [
        (401, "no such\nkey"),
        (401, "who are you?"),
        (400, "API key not valid. Please pass a valid\nAPI key."),
        (400, "API key expired. Please renew\nthe API key."),
        (403, "Your API key was reported\nas leaked. Please use another API key."),
        (403, "this key\nwas revoked"),
    ],
)
def test_a_key_that_is_refused_is_said_in_one_sentence(
    name: str, status: int, message: str
) -> None:
    said = re.escape(" ".join(message.split()))
    with pytest.raises(
        UnusableModelError, match=rf"refuses the key in \w+.*\(HTTP {status}: {said}"
    ) as e:
        ask(name, Answer(status=status, message=message))
    assert "\n" not in str(e.value)
    assert "a-secret-key" not in str(e.value)


@pytest.mark.parametrize("name", MODELS)
def test_a_model_that_the_provider_does_not_know_is_refused(name: str) -> None:
    provider, _, model = name.partition(":")
    message = UNKNOWN[provider].format(model)
    with pytest.raises(UnusableModelError, match=f"{provider} has no model '{model}'"):
        ask(name, Answer(status=404, message=message))


@pytest.mark.parametrize("name", MODELS)
def test_a_key_that_may_not_list_models_is_no_refusal_where_the_model_is_named(name: str) -> None:
    model = name.partition(":")[2]
    ask(name, Answer(status=403, message=f"this key may not read model {model}: no such scope"))
    ask(name, Answer(status=404, message=f"{model}: this key may not retrieve models"))


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("status", [403, 404])
def test_a_model_that_the_key_has_no_access_to_is_refused(name: str, status: int) -> None:
    model = name.partition(":")[2]
    message = f"Project `p` does not have access to model `{model}`"
    with pytest.raises(
        UnusableModelError, match=rf"no model '{model}' for this key \(HTTP {status}"
    ):
        ask(name, Answer(status=status, message=message))


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize(
    "look_up",
    [
        pytest.param(Answer(status=404, message="Not Found"), id="no such page"),
        pytest.param(Answer(status=404, message="Cannot GET /v1/models/x"), id="names the page"),
        pytest.param(Answer(status=403, message="Missing scopes: api.model.read"), id="scopes"),
        pytest.param(
            Answer(status=401, message="Missing scopes: api.model.read"), id="scopes, 401"
        ),
        pytest.param(Answer(status=403, message="no"), id="forbidden"),
        pytest.param(
            Answer(status=403, message="Requests to ModelService.GetModel are blocked."),
            id="blocked",
        ),
        pytest.param(
            Answer(status=403, message="API key lacks permission for this page"), id="permission"
        ),
        pytest.param(
            Answer(status=404, message="this API key may not list models"), id="may not list"
        ),
        pytest.param(Answer(status=400, message="no such parameter"), id="bad request"),
        pytest.param(Answer(status=500), id="fault"),
        pytest.param(Answer(status=429), id="too many"),
        pytest.param(Answer(raw="<html>a proxy</html>", content_type="text/html"), id="a page"),
    ],
)
def test_what_is_no_clear_refusal_is_left_to_the_run(name: str, look_up: Answer) -> None:
    ask(name, look_up)


@pytest.mark.parametrize("name", MODELS)
def test_one_token_is_bought_and_its_price_is_said(name: str) -> None:
    with ModelServer(
        [Answer(text="1", input_tokens=9, cached_tokens=0, output_tokens=1)]
    ) as server:

        async def pay() -> Any:
            async with opened(name, server) as model:
                return await pay_for_one_token(model)

        found = asyncio.run(pay())
        assert (found.usage.requests, found.usage.input_tokens, found.usage.output_tokens) == (
            1,
            9,
            1,
        )
        assert len(server.requests) == 1
        asked = json.dumps(server.requests[0].body)
        fewest = 16 if name.startswith("openai:") else 1
        assert any(f'{key}": {fewest}' in asked for key in ("tokens", "Tokens")), asked
        (check,) = paid_checks(name, paid=True, open_model=lambda: opened(name, server))
        server.say(Answer(text="1", input_tokens=9, cached_tokens=0, output_tokens=1))
        shown = check.run()
    assert shown.status == "ok"
    assert "9 tokens in, 1 out, price unknown" in shown.detail


@pytest.mark.parametrize("status", [401, 403, 404])
def test_a_paid_check_fails_in_one_sentence(status: int) -> None:
    with ModelServer([Answer(status=status, message="no")]) as server:
        (check,) = paid_checks("", paid=True, open_model=lambda: opened(MODELS[0], server))
        shown = check.run()
    assert (shown.status, "\n" in shown.detail) == ("fail", False)
    assert f"HTTP {status}" in shown.detail


def test_a_paid_check_says_that_the_account_has_no_money() -> None:
    with ModelServer([Answer(status=402, message="no")]) as server:
        (check,) = paid_checks("", paid=True, open_model=lambda: opened(MODELS[0], server))
        shown = check.run()
    assert shown.status == "fail"
    assert "has no money left" in shown.detail
    assert "later" not in shown.fix


def test_nothing_is_paid_unless_it_is_asked_for() -> None:
    assert paid_checks("openai:gpt-5.4", paid=False) == []
    with pytest.raises(InputError, match="add --model"):
        paid_checks(None, paid=True)


def trial(model: str, tmp_path: Path, **config: Any) -> TrialContext:
    return TrialContext(run_id="r", folder=tmp_path, agent="x", model=model, config=config)


def test_agents_over_models_refuse_a_missing_key_and_an_unknown_dialect(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with pytest.raises(MissingKeyError, match="OPENAI_API_KEY"):
        ToolCallingPlugin().check_model(trial("openai:gpt-5.4", tmp_path))
    with pytest.raises(InputError, match="there is no dialect 'computer_19990101'"):
        ComputerUsePlugin().check_model(
            trial("openai:gpt-5.4", tmp_path, dialect="computer_19990101")
        )
    with pytest.raises(InputError, match="no computer-use tool is known for openai:davinci"):
        ComputerUsePlugin().check_model(trial("openai:davinci", tmp_path))


@pytest.mark.parametrize(
    ("agent", "config", "message"),
    [
        ("tool-calling", {}, "anthropic refuses the key"),
        ("computer-use", {"dialect": "no_such"}, "there is no dialect 'no_such'"),
    ],
)
def test_a_run_stops_before_its_first_trial_and_writes_nothing(
    tmp_path: Path, agent: str, config: dict[str, Any], message: str, pages: Any
) -> None:
    with ModelServer(look_up=Answer(status=401, message="invalid x-api-key")) as server:
        spec = RunSpec(
            agent=agent,
            model="anthropic:claude-opus-5-5",
            config={**config, "base_url": server.base_url("anthropic")},
        )
        with pytest.raises(InputError, match=message):
            run_benchmark_sync(pages, spec, tmp_path / "run")
    assert not (tmp_path / "run").exists()
    assert server.requests == []


@pytest.mark.parametrize("process", ["own", "shared"])
@pytest.mark.parametrize(
    ("asked", "message"),
    [
        (
            {"model": "scripted:x", "config": {"dialect": "browser_toolset_20260801"}},
            "is for a browser, not for a desktop",
        ),
        ({"model": "google:gemini-2.5-computer-use-preview-10-2025"}, "known for .* on a desktop"),
    ],
)
def test_a_tool_for_browsers_alone_is_refused_on_a_desktop_before_the_first_trial(
    tmp_path: Path, asked: dict[str, Any], message: str, process: Any, pages: Any
) -> None:
    pages.environment = "desktop"
    own = AgentProcessSpec(process=process)
    spec = RunSpec(agent="computer-use", agent_process=own, **asked)
    with pytest.raises(InputError, match=message):
        run_benchmark_sync(pages, spec, tmp_path / "run")
    assert not (tmp_path / "run").exists()


@pytest.fixture
def pages() -> Any:
    class Pages:
        name = "pages"
        environment = "browser"

        def tasks(self) -> list[Any]:
            raise AssertionError("the run has begun")

        open = evaluate = None

    return Pages()
