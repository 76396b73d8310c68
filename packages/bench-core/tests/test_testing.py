from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from bench_core.records import Status, TrialResult
from bench_core.run_folder import read_run
from bench_core.testing import make_results, make_run, make_tasks

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    AsGiven = Callable[[TrialResult], TrialResult]


def test_a_made_run_is_a_whole_finished_run(tmp_path: Path) -> None:
    view = read_run(make_run(tmp_path / "run", tasks=10, trials=2, seed=1))
    assert len(view.results) == 20
    assert len(view.events) == 20
    assert view.problems == ()
    assert view.info.sessions[-1].outcome == "finished"
    assert all((view.trial_folder(key) / "log.txt").is_file() for key in view.results)


def test_the_same_seed_makes_the_same_results(tmp_path: Path) -> None:
    first = make_run(tmp_path / "a", seed=3) / "results.jsonl"
    second = make_run(tmp_path / "b", seed=3) / "results.jsonl"
    other = make_run(tmp_path / "c", seed=4) / "results.jsonl"
    assert first.read_bytes() == second.read_bytes()
    assert first.read_bytes() != other.read_bytes()


@pytest.mark.parametrize("rate", [0.0, 1.0])
def test_extreme_rates_are_kept_exactly(rate: float) -> None:
    results = make_results(make_tasks(20), success_rate=rate, statuses={Status.COMPLETED: 1.0})
    assert {result.score for result in results} == {rate}


def test_made_results_are_valid_records() -> None:
    for result in make_results(make_tasks(40), trials=2, agent="other", model=None):
        assert TrialResult.model_validate(result.model_dump()) == result
        assert (result.agent, result.model) == ("other", None)


def test_given_results_are_written_as_they_are(tmp_path: Path, as_given: AsGiven) -> None:
    tasks = make_tasks(2)
    results = list(make_results(tasks, seed=9))
    view = read_run(make_run(tmp_path, tasks=tasks, results=results))
    assert [as_given(each) for each in view.results.values()] == results
