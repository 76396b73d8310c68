"""Before a study's first trial: `new study`, `study check` and `study plan`."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench_core.errors import InputError
from bench_core.records import Task
from bench_core.studies import DeclaredComparison, load_study, plan_comparison, write_study

_TASKS = [Task(benchmark="toy", task_id=str(n), goal="go") for n in range(30)]
_PAIR = DeclaredComparison(baseline="a", arms=("b",), benchmarks=("toy",), drop=0.25)


def test_new_study_is_one_that_can_be_read(tmp_path: Path) -> None:
    study = load_study(write_study(tmp_path / "first.yaml"))

    assert [each.name for each in study.arms] == ["solver", "idler"]
    assert study.comparisons[0].arms == ("idler",)


def test_new_study_replaces_no_file(tmp_path: Path) -> None:
    write_study(tmp_path / "first.yaml")

    with pytest.raises(InputError, match="exists: choose another name"):
        write_study(tmp_path / "first.yaml")


def test_missing_trials_are_those_with_which_the_drop_is_found_in_four_of_five() -> None:
    found = plan_comparison(_PAIR, "toy", _TASKS, 1)
    assert found.missing

    enough = plan_comparison(_PAIR, "toy", _TASKS, 1 + found.missing)
    assert enough.missing == 0
    assert enough.power is not None
    assert enough.power >= 0.8
    assert plan_comparison(_PAIR, "toy", _TASKS, found.missing).missing == 1


def test_no_number_of_trials_makes_up_for_too_few_tasks() -> None:
    pair = _PAIR.model_copy(update={"drop": 0.02})
    found = plan_comparison(pair, "toy", _TASKS, 1)

    assert found.missing is None
    assert found.tasks_needed is not None
    assert found.tasks_needed > len(_TASKS)


def test_error_is_shared_out_among_the_pairs_of_a_comparison() -> None:
    several = _PAIR.model_copy(update={"arms": ("b", "c", "d")})

    alone, shared = (plan_comparison(each, "toy", _TASKS, 2) for each in (_PAIR, several))
    assert shared.detectable > alone.detectable


def test_drop_alone_needs_less_than_a_difference_to_either_side() -> None:
    one_sided = _PAIR.model_copy(update={"sides": "drop"})

    one, two = (plan_comparison(each, "toy", _TASKS, 2) for each in (one_sided, _PAIR))
    assert one.detectable < two.detectable
