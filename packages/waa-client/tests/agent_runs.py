"""Runs of agents that ask a model, and what the model answers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sample_tasks import make_task, only, run
from test_support.model_server import Answer, ModelServer

if TYPE_CHECKING:
    from pathlib import Path

    from fake_evaluator import FakeEvaluator
    from fake_vm import FakeVm

    from bench_core.records import Task, TrialResult


def call(name: str, **arguments: Any) -> Answer:
    return Answer(text="I see.", tool_calls=((name, arguments),), stop="tool_use")


def vision(
    out: Path, vm: FakeVm, evaluator: FakeEvaluator, server: ModelServer, options: dict[str, Any],
    task: Task | None = None, **more: Any,
) -> TrialResult:  # fmt: skip
    given = {"base_url": server.base_url("anthropic"), **options}
    run(out, [task or make_task()], [vm.url], [evaluator.url], agent="vision", model="anthropic:m",
        config={"agent_options": given}, **more)  # fmt: skip
    return only(out)
