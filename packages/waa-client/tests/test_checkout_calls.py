"""Usage of an agent of a checkout, and the attribution of failures to it or its provider."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import pytest
from fake_evaluator import FakeEvaluator, verdict
from sample_tasks import make_task, run
from test_support.model_server import Answer, ModelServer

from bench_core.budgets import Budget
from bench_core.records import Limits, Status, TrialResult
from bench_core.run_folder import read_run

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from fake_vm import FakeVm

CALLER = '''
import time
import httpx
from PIL import Image
from bench_core.errors import EnvironmentFaultError

class Caller:
    """An agent that calls a model by its own code; `how` is the library, or what it does wrong."""

    def __init__(self, url, how="httpx", steps=1):
        self.url, self.how, self.left = url + "/chat/completions", how, steps

    def ask(self):
        body = {"model": "gpt-4o", "messages": [{"role": "user", "content": "?"}]}
        if self.how == "openai":
            import openai
            base_url = self.url.removesuffix("/chat/completions")
            with openai.OpenAI(api_key="k", base_url=base_url) as client:
                return client.chat.completions.create(**body)
        if self.how == "silent":
            return None
        if self.how == "unrecorded":  # with a library whose calls are not recorded
            raise type("APIConnectionError", (Exception,), {"__module__": "openai"})("down")
        if self.how == "of-ours":
            raise EnvironmentFaultError("its Proctor model is down")
        if self.how == "stream":
            with httpx.stream("POST", self.url, json=body) as answer:
                return answer.read()
        if self.how == "requests":
            import requests
            return requests.post(self.url, json=body).raise_for_status()
        return httpx.post(self.url, json=body).raise_for_status()

    def predict(self, instruction, obs):
        try:
            self.ask()
            if self.how == "asks-twice":
                self.ask()
        except Exception:
            if self.how == "wraps":
                raise RuntimeError("no plan")
            if self.how not in {"swallows", "asks-twice"}:
                raise
        if self.how == "crashes":
            raise KeyError("plan")
        if self.how == "hangs":
            time.sleep(6)
        if self.how == "garbage":
            return None
        self.left -= 1
        update = None
        picture = Image.new("RGB", (4, 4))
        if self.how.startswith("update:"):
            update = {
                "rects": [[0, 0, 2, 2]], "window_rect": [0, 0, 4, 4], "screenshot": picture
            } | {
                "no-picture": {"screenshot": None}, "no-window": {"window_rect": None},
                "short-rect": {"rects": [[0, 0]]}, "no-number": {"rects": [[0, 0, 1, "x"]]},
                "nan": {"scale": (float("nan"), 1.0)}, "clipboard": {"clipboard_content": 7},
            }.get(self.how.removeprefix("update:"), {})
        if self.how == "update:list":
            update = ["rects"]
        if self.how == "surrogate":
            return "", ["x = '\\ud800'", "DONE"], {}, None
        return "", ["DONE" if not self.left else "x = 1"], {}, update
'''


@pytest.fixture
def caller(tmp_path: Path) -> Iterator[Path]:
    (tmp_path / "checkout").mkdir()
    (tmp_path / "checkout" / "calling_agent.py").write_text(CALLER, encoding="utf-8")
    yield tmp_path / "checkout"
    sys.path[:] = [each for each in sys.path if each != str(tmp_path / "checkout")]
    sys.modules.pop("calling_agent", None)


@pytest.fixture
def evaluator() -> Iterator[FakeEvaluator]:
    """An evaluator that finds the task not done."""
    with FakeEvaluator(lambda _: verdict(0.0)) as running:
        yield running


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with ModelServer() as running:
        yield running


class Trials:
    """Runs the calling agent."""

    def __init__(self, out: Path, vm: FakeVm, evaluator: FakeEvaluator, caller: Path) -> None:
        self.out, self.vm, self.evaluator, self.caller = out, vm, evaluator, caller

    def run(self, url: str, how: str = "httpx", steps: int = 1, **more: Any) -> TrialResult:
        if how in {"openai", "requests"}:
            pytest.importorskip(how)
        options = {
            "checkout": str(self.caller), "class": "calling_agent:Caller", "tree": False,
            "arguments": {"url": url, "how": how, "steps": steps},
        }  # fmt: skip
        run(self.out, [make_task()], [self.vm.url], [self.evaluator.url], agent="checkout",
            config={"agent_options": options}, **more)  # fmt: skip
        (result,) = read_run(self.out).results.values()
        return result


@pytest.fixture
def trials(tmp_path: Path, vm: FakeVm, evaluator: FakeEvaluator, caller: Path) -> Trials:
    return Trials(tmp_path / "run", vm, evaluator, caller)


def base(server: ModelServer) -> str:
    return server.base_url("openai-chat")


@pytest.mark.parametrize("how", ["httpx", "requests", "openai"])
def test_the_calls_of_an_agents_own_code_are_metered(
    trials: Trials, server: ModelServer, how: str
) -> None:
    server.say(Answer(text="a"), Answer(text="b"))
    result = trials.run(base(server), how, steps=2)
    assert (result.status, result.steps, "usage_unknown" in result.flags) == (
        Status.COMPLETED,
        2,
        False,
    )
    (spent,) = result.spent
    assert (spent.source, spent.reported, spent.usage.requests) == ("agent", False, 2)
    one = Answer(text="a")
    assert spent.usage.total_tokens == 2 * (one.input_tokens + one.output_tokens) > 0
    assert result.usage == spent.usage


def test_a_call_that_was_made_again_is_a_retry(trials: Trials, server: ModelServer) -> None:
    server.say(Answer(status=500, message="no"), Answer(text="a"))
    result = trials.run(base(server), "openai")
    assert (result.status, result.usage.requests, result.usage.retries) == (Status.COMPLETED, 2, 1)


@pytest.mark.parametrize("how", ["silent", "stream"])
def test_calls_that_nobody_can_count_are_unknown(
    trials: Trials, server: ModelServer, how: str
) -> None:
    server.say(Answer(text="a"))
    result = trials.run(base(server), how)
    assert result.status is Status.COMPLETED
    assert ("usage_unknown" in result.flags, result.cost_usd) == (True, None)


@pytest.mark.parametrize("how", ["httpx", "requests", "swallows", "wraps"])
@pytest.mark.parametrize("answer", ["status", "connection"])
def test_a_provider_that_fails_is_no_zero_whatever_the_agent_makes_of_it(
    trials: Trials, server: ModelServer, how: str, answer: str
) -> None:
    server.say(*[Answer(status=503, message="overloaded")] * 2)
    url = base(server) if answer == "status" else "http://127.0.0.1:9/v1"
    result = trials.run(url, how)
    assert (result.status, result.score) == (Status.ENVIRONMENT_ERROR, None)
    assert result.error is not None
    assert "the agent's model provider failed" in result.error.message
    assert result.usage.requests == 1
    assert trials.evaluator.bodies("/evaluate") == []


@pytest.mark.parametrize("how", ["unrecorded", "of-ours"])
def test_an_outage_that_only_the_error_tells_of_is_no_zero(
    trials: Trials, server: ModelServer, how: str
) -> None:
    result = trials.run(base(server), how)
    assert (result.status, result.score, result.spent) == (Status.ENVIRONMENT_ERROR, None, ())
    assert server.requests == []


def test_an_agent_whose_second_call_was_answered_has_no_excuse(
    trials: Trials, server: ModelServer
) -> None:
    server.say(Answer(text="a"), Answer(text="b"))
    assert trials.run(base(server), "asks-twice").score == 0.0


@pytest.mark.parametrize(
    ("how", "answer"),
    [
        ("crashes", Answer(text="a")),
        ("garbage", Answer(text="a")),
        ("httpx", Answer(status=400, message="the prompt is too long")),
    ],
    ids=["crash", "garbage", "bad-request"],
)
def test_what_the_agent_itself_does_wrong_is_its_failure_and_is_paid(
    trials: Trials, server: ModelServer, how: str, answer: Answer
) -> None:
    server.say(answer)
    result = trials.run(base(server), how)
    assert (result.status, result.score, result.usage.requests) == (Status.AGENT_ERROR, 0.0, 1)


@pytest.mark.parametrize(
    "what", ["no-picture", "no-window", "short-rect", "no-number", "nan", "clipboard", "list"]
)
def test_an_update_that_makes_no_sense_is_the_agents_failure(
    trials: Trials, server: ModelServer, what: str
) -> None:
    server.say(Answer(text="a"))
    result = trials.run(base(server), f"update:{what}")
    assert (result.status, result.score, result.usage.requests) == (Status.AGENT_ERROR, 0.0, 1)
    assert result.error is not None
    assert "computer_update_args are malformed" in result.error.message
    assert "/update_computer" not in trials.vm.paths()


def test_an_action_that_is_no_text_is_the_agents_own(trials: Trials, server: ModelServer) -> None:
    server.say(Answer(text="a"))
    result = trials.run(base(server), "surrogate")
    assert (result.status, result.score) == (Status.AGENT_ERROR, 0.0)


def test_an_update_that_makes_sense_is_sent(trials: Trials, server: ModelServer) -> None:
    server.say(Answer(text="a"))
    assert trials.run(base(server), "update:fine").status is Status.COMPLETED
    assert "/update_computer" in trials.vm.paths()


def test_a_budget_ends_an_agent_that_has_no_meter(trials: Trials, server: ModelServer) -> None:
    server.say(*[Answer(text="a")] * 5)
    result = trials.run(base(server), steps=5, budget=Budget(max_tokens=1))
    assert (result.status, result.usage.requests) == (Status.BUDGET_EXCEEDED, 1)
    assert len(server.requests) == 1


def test_what_an_agent_spent_before_it_was_cut_off_is_kept(
    trials: Trials, server: ModelServer
) -> None:
    server.say(Answer(text="a"))
    result = trials.run(base(server), "hangs", limits=Limits(time_limit_s=3.0))
    assert (result.status, result.usage.requests) == (Status.TIME_LIMIT, 1)
    assert "usage_unknown" in result.flags


def test_nothing_is_wrapped_when_no_such_agent_works(trials: Trials, server: ModelServer) -> None:
    import httpx

    before = (httpx.Client.send, httpx.AsyncClient.send)
    server.say(Answer(text="a"))
    trials.run(base(server))
    assert (httpx.Client.send, httpx.AsyncClient.send) == before
