"""Scoring the trials of a run again."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from toy_benchmark import Toy, run

from bench_core.errors import EvaluationError, InputError
from bench_core.runs import rescore_run

if TYPE_CHECKING:
    from pathlib import Path


async def test_a_rescore_tells_what_changed_and_leaves_the_first_results_alone(
    toy: Toy, out: Path
) -> None:
    await run(toy, out)
    before = (out / "results.jsonl").read_bytes()
    toy.scores = {"1": 0.0, "2": EvaluationError("no HAR"), "3": KeyError("evaluator bug")}
    outcome = await rescore_run(toy, out, name="stricter", reason="new rules")
    assert [(c.task_id, c.status.value, c.score_before, c.score) for c in outcome.changes] == [
        ("1", "completed", 1.0, 0.0),
        ("2", "evaluation_error", 1.0, None),
        ("3", "evaluation_error", 1.0, None),
    ]
    assert (outcome.rescored, outcome.left_out) == (4, 0)
    folder = out / "rescores" / "stricter"
    assert len((folder / "results.jsonl").read_text().splitlines()) == 4
    assert len(json.loads((folder / "changes.json").read_text())) == 3
    assert (out / "results.jsonl").read_bytes() == before


async def test_trials_that_were_never_evaluated_are_left_out_of_a_rescore(out: Path) -> None:
    await run(Toy("1"), out)
    outcome = await rescore_run(Toy(), out)
    assert (outcome.rescored, outcome.left_out) == (3, 1)


async def test_a_run_of_another_benchmark_cannot_be_rescored(toy: Toy, out: Path) -> None:
    await run(toy, out)
    toy.name = "other"
    with pytest.raises(InputError, match="is a run of 'toy', not 'other'"):
        await rescore_run(toy, out)
