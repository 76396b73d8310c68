"""Agents with a client of their own behind the run's model proxy, in whole runs."""

from __future__ import annotations

import importlib.util
import json
import sys
from typing import TYPE_CHECKING, Any

import pytest
from sums import Sums
from test_support.model_server import Answer, ModelServer

from bench_core.budgets import Budget
from bench_core.errors import InputError
from bench_core.records import Status
from bench_core.records.vocabulary import FLAGS
from bench_core.run_folder import read_run
from bench_core.run_spec import AgentProcessSpec, RunSpec
from bench_core.runs import RunEnvironment, run_benchmark_sync
from bench_core.scheduling import NoLocks

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from bench_core.run_folder.view import RunView

pytestmark = [
    pytest.mark.skipif(sys.platform != "linux", reason="supervisors are Linux's"),
    pytest.mark.skipif(importlib.util.find_spec("httpx") is None, reason="the proxy needs httpx"),
]

KEY = "sk-ant-planted-0123456789abcdef-planted"
FOUR = Answer(text="It is 4.", input_tokens=100, cached_tokens=40, output_tokens=20)


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[ModelServer]:
    with ModelServer() as running:
        monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
        monkeypatch.setenv("OPENAI_API_KEY", "sk-another-0123456789abcdef")
        monkeypatch.setenv("ANTHROPIC_BASE_URL", running.base_url("anthropic"))
        yield running


@pytest.fixture
def run(tmp_path: Path) -> Callable[..., RunView]:
    """Run the caller on tasks, behind the proxy."""

    def run(*tasks: str, **spec: Any) -> RunView:
        wanted = RunSpec(
            **{
                "agent": "callers:Caller",
                "model": "anthropic:claude-test",
                "agent_process": AgentProcessSpec(model_proxy=True),
                "attempts": 1,
                **spec,
            }
        )
        with_ = RunEnvironment(locks=NoLocks(), price_of=lambda _: {"model": "claude-test"})
        run_benchmark_sync(Sums(*tasks), wanted, tmp_path / "run", run_environment=with_)
        return read_run(tmp_path / "run")

    return run


def test_usage_is_in_the_result_and_the_key_nowhere(
    run: Callable[..., RunView], server: ModelServer
) -> None:
    server.say(FOUR)
    option = {"agent_options": {"base_url": server.base_url("anthropic")}}
    seen = run("looks", config=option)
    (result,) = seen.results.values()
    assert (result.status, result.score) == (Status.COMPLETED, 1.0)
    assert result.usage.model_dump(exclude_defaults=True) == {
        "requests": 1, "input_tokens": 100, "cached_input_tokens": 40, "output_tokens": 20
    }  # fmt: skip
    assert server.requests[0].headers["x-api-key"] == KEY
    files = [each for each in seen.path.rglob("*") if each.is_file()]
    assert "seen.json" in {each.name for each in files}
    assert [each for each in files if KEY.encode() in each.read_bytes()] == []
    (environment,) = seen.path.rglob("seen.json")
    text = environment.read_text(encoding="utf-8")
    assert "sk-another" not in text
    assert "REDACTED" not in text  # what is not there needs no removal
    assert server.base_url("anthropic") not in text


def test_an_agent_that_ignores_refusals_stops_within_one_call_of_its_budget(
    run: Callable[..., RunView], server: ModelServer
) -> None:
    server.say(*[FOUR] * 20)
    seen = run("stubborn", budget=Budget(max_tokens=300))
    (result,) = seen.results.values()
    assert (result.status, result.score) == (Status.BUDGET_EXCEEDED, None)
    assert (result.usage.total_tokens, len(server.requests)) == (360, 3)


def test_an_agent_that_is_killed_in_mid_stream_is_counted_from_above(
    run: Callable[..., RunView], server: ModelServer
) -> None:
    server.say(Answer(text="one two three", stalls_after=3))
    seen = run("killed")
    (result,) = seen.results.values()
    assert result.status is Status.AGENT_ERROR
    assert (result.usage.input_tokens, result.usage.output_tokens) == (100, 300)
    assert "usage_upper_bound" in result.flags
    assert set(result.flags) <= set(FLAGS)
    logs = [each.read_text(encoding="utf-8") for each in seen.path.rglob("log.txt")]
    assert any("the most it can be is counted" in each for each in logs)


def test_what_the_agent_reports_itself_is_not_counted_twice(
    run: Callable[..., RunView], server: ModelServer
) -> None:
    server.say(FOUR)
    (result,) = run("reports").results.values()
    assert (result.usage.requests, result.usage.total_tokens) == (2, 127)


def test_a_failing_provider_is_no_failure_of_the_agents(
    run: Callable[..., RunView], server: ModelServer
) -> None:
    server.say(Answer(status=529), FOUR)
    (result,) = run("once", attempts=2).results.values()
    assert [each.status for each in result.attempts] == [Status.ENVIRONMENT_ERROR, Status.COMPLETED]
    assert result.attempts[0].error is not None
    assert "HTTP 529" in result.attempts[0].error.message


@pytest.mark.parametrize(
    ("said", "status"),
    [
        ("prompt is too long: 208310 tokens > 200000 maximum", Status.AGENT_ERROR),
        ("no reason that is known", Status.ENVIRONMENT_ERROR),
    ],
)
def test_a_first_request_that_the_provider_refuses_is_the_agents_failure_where_it_asked_too_much(
    said: str, status: Status, run: Callable[..., RunView], server: ModelServer
) -> None:
    error = {"type": "error", "error": {"type": "invalid_request_error", "message": said}}
    refused = Answer(status=400, raw=json.dumps(error))
    server.say(refused, refused)
    (result,) = run("once", attempts=1).results.values()
    assert result.status is status


def test_an_agent_in_the_process_of_the_run_has_the_key_and_is_refused(
    run: Callable[..., RunView], server: ModelServer
) -> None:
    del server
    shared = AgentProcessSpec(model_proxy=True, process="shared")
    with pytest.raises(InputError, match="leave one out"):
        run("once", agent_process=shared)


def test_proctors_own_agents_are_counted_once_too(
    run: Callable[..., RunView], server: ModelServer
) -> None:
    if importlib.util.find_spec("anthropic") is None:
        pytest.skip("the SDK is not installed")
    server.say(Answer(tool_calls=(("done", {"answer": "4"}),), stop="tool_use"))
    (result,) = run("one", agent="asker:Asker").results.values()
    assert (result.error, result.usage.requests, result.usage.input_tokens) == (None, 1, 100)
    assert result.agent_code is not None
    assert result.agent_code.process == "own"
