"""Agents over models do the same in the run's process, in one of their own, and in another interpreter."""

from __future__ import annotations

import importlib.util
import sys
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from test_support.model_server import Answer, ModelServer

from bench_core.agents import serve_environment
from bench_core.records import Limits, Status, Task
from bench_core.run_folder import TrialArtifacts, read_json, read_run
from bench_core.run_spec import AgentProcessSpec, RunSpec
from bench_core.runs import RunEnvironment, run_benchmark_sync
from bench_core.scheduling import NoLocks
from bench_core.trial import Evaluation, TrialEnvironment

sys.path.insert(0, str(Path(__file__).parents[1] / "agents"))

from drawn import SIZE, DrawnDesktop

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence

    from bench_core.protocols import Agent, DesktopHandle, TrialContext
    from bench_core.records import AgentEnding, TrialResult
    from bench_core.trial import Evidence

pytestmark = [
    pytest.mark.skipif(sys.platform != "linux", reason="supervisors are Linux's"),
    pytest.mark.skipif(importlib.util.find_spec("anthropic") is None, reason="the SDK is an extra"),
]


class Screen(TrialEnvironment):
    """Keeps what was saved."""

    def __init__(self, handle: DesktopHandle, desktop: DrawnDesktop, folder: Path) -> None:
        super().__init__(handle=handle)
        self._desktop = desktop
        self._artifacts = TrialArtifacts(folder)

    async def capture(self, ending: AgentEnding) -> None:
        del ending
        self._artifacts.write_json("saved.json", self._desktop.saved)


class Notes:
    """One task on a drawn desktop."""

    name = "notes"
    environment = "desktop"

    def tasks(self) -> Sequence[Task]:
        limits = Limits(max_steps=8, time_limit_s=300)
        goal = "Write hello and save it."
        return [Task(benchmark=self.name, task_id="hello", goal=goal, limits=limits)]

    @asynccontextmanager
    async def open(
        self, task: Task, context: TrialContext, agent: Agent
    ) -> AsyncIterator[TrialEnvironment]:
        del task, agent
        desktop = DrawnDesktop()
        async with serve_environment(desktop) as handle:
            sized = handle.model_copy(update={"screen": SIZE})
            yield Screen(sized, desktop, context.folder)

    async def evaluate(self, evidence: Evidence) -> Evaluation:
        return Evaluation(score=float(read_json(evidence.folder / "saved.json") == "hello"))


def calls(*made: tuple[str, dict[str, Any]]) -> Answer:
    return Answer(tool_calls=made, stop="tool_use")


def old(action: str, **arguments: Any) -> tuple[str, dict[str, Any]]:
    return "computer", {"action": action, **arguments}


EPISODES = {
    "tool-calling": [
        calls(("type_text", {"text": "hello", "element": "note"})),
        calls(("click", {"element": "save"})),
        calls(("done", {"answer": "saved"})),
    ],
    "computer-use": [
        calls(old("screenshot")),
        calls(old("left_click", coordinate=[160, 70]), old("type", text="hello")),
        calls(old("left_click", coordinate=[60, 155])),
        calls(("done", {"answer": "saved"})),
    ],
}


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
        # what an HTTP library logs is in the log of a process that only the trial has
        "artifacts": sorted(each.path for each in result.artifacts if each.path != "log.txt"),
        "error": result.error,
    }


@pytest.mark.parametrize("agent", EPISODES)
def test_an_agent_over_a_model_does_the_same_wherever_it_works(
    agent: str, interpreter: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-planted-0123456789abcdef")
    places = {
        "here": AgentProcessSpec(process="shared"),
        "own": AgentProcessSpec(process="own"),
        "elsewhere": AgentProcessSpec(python=str(interpreter)),
    }
    did = {}
    for name, place in places.items():
        with ModelServer(EPISODES[agent]) as server:
            spec = RunSpec(
                agent=agent, model="anthropic:claude-opus-4-6", agent_process=place, attempts=1,
                config={"base_url": server.base_url("anthropic")},
            )  # fmt: skip
            out = tmp_path / name
            run_benchmark_sync(Notes(), spec, out, run_environment=RunEnvironment(locks=NoLocks()))
            asked = len(server.requests)
        (result,) = read_run(out).results.values()
        assert result.agent_code is not None
        assert result.agent_code.process == ("shared" if name == "here" else "own")
        did[name] = {**what_it_did(result), "asked": asked}
    assert (did["here"]["status"], did["here"]["score"]) == (Status.COMPLETED, 1.0), did["here"]
    assert did["here"]["usage"].requests == did["here"]["asked"] == len(EPISODES[agent])
    assert "trajectory.jsonl" in did["here"]["artifacts"]
    assert did["own"] == did["here"]
    assert did["elsewhere"] == did["here"]
