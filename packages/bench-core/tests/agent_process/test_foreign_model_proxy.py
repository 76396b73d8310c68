"""The model proxy beside agents in an interpreter, an environment or a language of their own."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from sums import Sums
from test_support.model_server import Answer, ModelServer

from bench_core.agent_process import foreign
from bench_core.budgets import Budget
from bench_core.records import Status
from bench_core.run_folder import read_run
from bench_core.run_spec import AgentProcessSpec, RunSpec
from bench_core.runs import RunEnvironment, run_benchmark_sync
from bench_core.scheduling import NoLocks

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from bench_core.run_folder.view import RunView

pytestmark = [
    pytest.mark.skipif(sys.platform != "linux", reason="supervisors are Linux's"),
    pytest.mark.skipif(importlib.util.find_spec("httpx") is None, reason="the proxy needs httpx"),
]

HERE = Path(__file__).parent
KEY = "sk-ant-planted-0123456789abcdef-planted"
OTHER = "sk-another-0123456789abcdef"
FOUR = Answer(text="It is 4.", input_tokens=100, cached_tokens=40, output_tokens=20)


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[ModelServer]:
    with ModelServer() as running:
        monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
        monkeypatch.setenv("OPENAI_API_KEY", OTHER)
        monkeypatch.setenv("ANTHROPIC_BASE_URL", running.base_url("anthropic"))
        yield running


@pytest.fixture(params=["python", "environment", "command"])
def run(
    request: pytest.FixtureRequest,
    interpreter: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> Callable[..., RunView]:
    """Run the same agent in each way on one task, behind the proxy."""
    # what uv makes is tried where uv may
    monkeypatch.setattr(foreign, "environment_of", lambda *_: interpreter)
    agent, where = {
        "python": ("callers:Caller", {"python": str(interpreter)}),
        "environment": ("callers:Caller", {"environment": "uv:callers"}),
        "command": ("raw", {"command": f"{sys.executable} {HERE / 'raw_caller.py'}"}),
    }[request.param]

    def run(task: str, **spec: Any) -> RunView:
        wanted = RunSpec(
            agent=agent,
            model="anthropic:claude-test",
            agent_process=AgentProcessSpec(model_proxy=True, **where),
            attempts=1,
            **spec,
        )
        with_ = RunEnvironment(locks=NoLocks(), price_of=lambda _: {"model": "claude-test"})
        run_benchmark_sync(Sums(task), wanted, tmp_path / "run", run_environment=with_)
        return read_run(tmp_path / "run")

    return run


def test_a_call_is_counted_once_and_the_key_is_nowhere(
    run: Callable[..., RunView], server: ModelServer
) -> None:
    server.say(FOUR)
    seen = run("looks", config={"agent_options": {"base_url": server.base_url("anthropic")}})
    (result,) = seen.results.values()
    assert (result.status, result.score, result.error) == (Status.COMPLETED, 1.0, None)
    assert result.usage.model_dump(exclude_defaults=True) == {
        "requests": 1, "input_tokens": 100, "cached_input_tokens": 40, "output_tokens": 20
    }  # fmt: skip
    assert [each.headers["x-api-key"] for each in server.requests] == [KEY]
    files = [each for each in seen.path.rglob("*") if each.is_file()]
    assert [each for each in files if KEY.encode() in each.read_bytes()] == []
    (environment,) = seen.path.rglob("seen.json")
    text = environment.read_text(encoding="utf-8")
    assert OTHER not in text
    assert "REDACTED" not in text  # what is not there needs no removal
    assert server.base_url("anthropic") not in text


def test_what_the_agent_reports_itself_is_not_counted_twice(
    run: Callable[..., RunView], server: ModelServer
) -> None:
    server.say(FOUR)
    (result,) = run("reports").results.values()
    own = 7 if result.agent == "caller" else 0  # of a call that did not come by the proxy
    assert result.usage.total_tokens == 120 + own
    assert len(server.requests) == 1


def test_an_agent_that_ignores_refusals_stops_within_one_call_of_its_budget(
    run: Callable[..., RunView], server: ModelServer
) -> None:
    server.say(*[FOUR] * 20)
    (result,) = run("stubborn", budget=Budget(max_tokens=300)).results.values()
    assert (result.status, result.score) == (Status.BUDGET_EXCEEDED, None)
    assert (result.usage.total_tokens, len(server.requests)) == (360, 3)
