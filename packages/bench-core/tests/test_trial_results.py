from __future__ import annotations

from typing import TYPE_CHECKING

from bench_core.protocols import TrialContext
from bench_core.records import AgentOutcome, Status, Step, Task, TrialResult, Usage
from bench_core.trial_results import reported_fields, with_steps

if TYPE_CHECKING:
    from pathlib import Path


def test_conditions_and_report_make_a_result_but_for_its_score(tmp_path: Path) -> None:
    (tmp_path / "screenshots").mkdir()
    for name in ("trajectory.jsonl", "screenshots/step-001.png"):
        (tmp_path / name).write_bytes(b"")
    context = TrialContext(
        run_id="r", folder=tmp_path, trial=2, agent="idle", model="acme:m", world="built-in"
    )
    outcome = AgentOutcome(
        status=Status.STEP_LIMIT, steps=3, cost_usd=0.5, model_reported="m-1", flags=("odd",)
    )
    fields = reported_fields(Task(benchmark="b", task_id="7", goal="g"), context, outcome)
    result = TrialResult.model_validate({**fields, "score": 0.0})
    assert (result.benchmark, result.task_id, result.trial) == ("b", "7", 2)
    assert (result.agent, result.model, result.model_reported) == ("idle", "acme:m", "m-1")
    assert (result.world, result.profile) == ("built-in", "official")
    assert (result.status, result.steps, result.cost_usd) == (Status.STEP_LIMIT, 3, 0.5)
    assert result.flags == ("odd",)
    assert result.artifacts == ("screenshots/step-001.png", "trajectory.jsonl")


def test_steps_and_tokens_of_an_agent_cut_off_come_from_its_trajectory(tmp_path: Path) -> None:
    steps = [Step(step=n, usage=Usage(requests=1, input_tokens=5)) for n in (1, 2)]
    lines = "".join(step.model_dump_json() + "\n" for step in steps)
    (tmp_path / "trajectory.jsonl").write_text(lines)
    counted = with_steps(AgentOutcome(status=Status.TIME_LIMIT), tmp_path)
    assert (counted.steps, counted.usage.input_tokens) == (2, 10)


def test_steps_an_agent_reported_are_kept(tmp_path: Path) -> None:
    assert with_steps(AgentOutcome(steps=7), tmp_path).steps == 7


def test_agent_without_a_trajectory_made_no_steps(tmp_path: Path) -> None:
    assert with_steps(AgentOutcome(), tmp_path).steps == 0
