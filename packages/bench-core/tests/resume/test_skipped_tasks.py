"""Tasks that a session leaves out: `--skip-task`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from toy_tasks import IDS, Toys

from bench_core.errors import UnknownTaskError
from bench_core.run_folder import check_run, read_run
from bench_core.run_spec import RunSpec, TaskFilter
from bench_core.runs import RunOutcome, plan_run

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


def test_a_skipped_task_of_the_plan_is_left_to_a_later_session(
    run: Callable[..., RunOutcome], toys: Toys, out: Path
) -> None:
    first = run(tasks=TaskFilter(ids=("quick-1", "quick-2"), limit=2), trials=1)
    assert first.remaining == 0
    ids = ("quick-1", "quick-2")
    outcome = run(tasks=TaskFilter(ids=ids, skip_ids=("quick-2",), limit=2), trials=2)
    assert toys.ran == ["quick-1"]
    assert (outcome.outcome, outcome.remaining) == ("finished", 1)
    assert read_run(out).info.finished is None, "a planned trial has no result"
    assert check_run(out).problems == ()
    assert run(tasks=TaskFilter(ids=ids, limit=2), trials=2).remaining == 0
    assert toys.ran == ["quick-2"]
    assert read_run(out).info.finished is not None


def test_a_task_that_a_run_was_begun_without_stays_out(
    run: Callable[..., RunOutcome], toys: Toys
) -> None:
    without = TaskFilter(ids=IDS[:3], skip_ids=("odd-1",))
    run(tasks=without)
    assert run(tasks=without, trials=2).planned == 4
    both = without.model_copy(update={"skip_ids": ("odd-1", "wrong-1")})
    assert run(tasks=both, trials=3).remaining == 1
    assert toys.ran == ["quick-1"]


def test_a_skipped_task_that_the_benchmark_lacks_is_refused(run: Callable[..., RunOutcome]) -> None:
    run()
    with pytest.raises(UnknownTaskError):
        run(tasks=TaskFilter(ids=IDS, skip_ids=("quick-9",)))


def test_a_dry_run_tells_what_a_session_leaves_out_and_runs_again(
    run: Callable[..., RunOutcome], toys: Toys, out: Path
) -> None:
    run()
    spec = RunSpec(agent="a", tasks=TaskFilter(ids=IDS))
    assert plan_run(toys, spec, out).to_run == 1
    skipping = spec.model_copy(update={"tasks": TaskFilter(ids=IDS, skip_ids=("down-1",))})
    assert plan_run(toys, skipping, out).to_run == 0
    again = plan_run(toys, spec.model_copy(update={"rerun": ("failed",)}), out)
    assert (again.to_run, again.done) == (2, 3)
