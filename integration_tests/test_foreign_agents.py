"""Agents in environments that uv makes do what they do in the process of the run; `nox -t foreign-agents`."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from test_support.model_server import Answer, ModelServer

from bench_core.records import Status
from bench_core.run_folder import read_run
from bench_core.run_spec import AgentProcessSpec, RunSpec, TaskFilter
from bench_core.runs import RunEnvironment, run_benchmark_sync
from bench_core.scheduling import NoLocks

if TYPE_CHECKING:
    from collections.abc import Callable

    from test_support.model_server import Seen

    from bench_core.records import TrialResult
    from bench_core.run_folder import RunView

pytestmark = pytest.mark.skipif(
    "FOREIGN_AGENTS" not in os.environ, reason="uv makes environments: nox -t foreign-agents"
)

BROWSER_USE = "0.13.14"


def run(out: Path, *options: str) -> RunView:
    """Run browser-use by script on two tasks of the stand-in sites."""
    command = Path(sys.executable).parent / "webarena-runner"
    asked = ["run", "--world", "built-in", "--agent", "scripted", "--task", "44,45"]
    subprocess.run([command, *asked, "--workers", "1", "--out", out, *options], check=True)
    return read_run(out)


def what_it_did(result: TrialResult) -> dict[str, Any]:
    assert result.ending is not None
    return {
        "status": result.status,
        "score": result.score,
        "answer": result.ending.answer,
        "steps": result.steps,
        "usage": result.usage,
        "cost": result.cost_usd,
        "flags": result.flags,
        "artifacts": sorted(each.path for each in result.artifacts),
    }


def test_browser_use_does_the_same_on_its_own_pins_as_in_the_process_of_the_run(
    tmp_path: Path,
) -> None:
    here = run(tmp_path / "here")
    elsewhere = run(tmp_path / "elsewhere", "--agent-env", f"uv:browser-use=={BROWSER_USE}")
    assert [each.score for each in elsewhere.results.values()] == [1.0, 1.0]
    for key, result in here.results.items():
        assert what_it_did(elsewhere.results[key]) == what_it_did(result)
    code = elsewhere.info.agent_code
    assert code is not None
    assert code.program is not None
    packages = dict(each.split("==") for each in code.program.packages)
    assert packages["browser-use"] == BROWSER_USE
    assert packages["pydantic"].startswith("2.13")
    assert version("pydantic").startswith("2.12")


def clicks_link(name: str) -> Callable[[Seen], Answer]:
    """Return a model that clicks the link of a name in browser-use's list of elements and is done."""
    turns = iter(("click", "done"))

    def say(seen: Seen) -> Answer:
        if next(turns) == "click":
            # the key of one element is written [12]<a ...>, its text below it
            shown = (
                json.dumps(seen.body, ensure_ascii=False).replace("\\n", "\n").replace("\\t", "\t")
            )
            index = re.findall(rf"\[(\d+)\]<a\b[^\n]*\s+{re.escape(name)}\s*\n", shown)[-1]
            return Answer(text=thought({"click": {"index": int(index)}}))
        answer = {"task_type": "NAVIGATE", "status": "SUCCESS"}
        empty = {"retrieved_data": None, "error_details": None}
        return Answer(text=thought({"done": {"success": True, "data": {**answer, **empty}}}))

    return say


def thought(action: dict[str, Any]) -> str:
    words = dict.fromkeys(("thinking", "evaluation_previous_goal", "memory", "next_goal"), "on it")
    return json.dumps({**words, "action": [action]})


def test_browser_use_over_a_model_does_the_same_on_its_own_pins_as_in_the_process_of_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from webarena_runner.benchmark import WebArenaBenchmark  # may not be installed
    from webarena_runner.world.launch import built_in_world, environment_of

    monkeypatch.setenv("OPENAI_API_KEY", "sk-proj-planted-0123456789abcdef")
    places = {
        "here": AgentProcessSpec(process="shared"),
        "own": AgentProcessSpec(process="own"),
        "elsewhere": AgentProcessSpec(environment=f"uv:browser-use=={BROWSER_USE}"),
    }
    did = {}
    with built_in_world() as world:
        for name, place in places.items():
            with ModelServer(clicks_link("To-Do List")) as server:
                spec = RunSpec(
                    tasks=TaskFilter(ids=("44",)), agent="browser-use", model="openai:gpt-5.2",
                    agent_process=place, attempts=1, world="built-in",
                    config={"base_url": server.base_url("openai")},
                )  # fmt: skip
                benchmark = WebArenaBenchmark(environment_of(world))
                environment = RunEnvironment(locks=NoLocks())
                run_benchmark_sync(benchmark, spec, tmp_path / name, run_environment=environment)
                asked = len(server.requests)
            (result,) = read_run(tmp_path / name).results.values()
            did[name] = {**what_it_did(result), "asked": asked}
    assert (did["here"]["status"], did["here"]["score"]) == (Status.COMPLETED, 1.0), did["here"]
    assert did["here"]["usage"].requests == did["here"]["asked"]
    assert did["own"] == did["here"]
    assert did["elsewhere"] == did["here"]
