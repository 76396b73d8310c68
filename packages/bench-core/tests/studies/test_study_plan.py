"""Before a study's first trial: `new study`, `study check` and `study plan`."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench_core.errors import InputError
from bench_core.records import Task
from bench_core.studies import (
    DeclaredComparison,
    check_study,
    load_study,
    plan_comparison,
    plan_study,
    run_study,
    write_study,
)

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


_TWO_WORLDS = """\
name: coins
benchmarks:
  one: {benchmark: "toy_study:Coins"}
  again: {benchmark: "toy_study:Coins"}
  other: {benchmark: "toy_study:Coins", world: built-in}
arms:
  a: {agent: scripted, model: "MODEL", options: {rate: 0.9}}
  b: {agent: scripted, model: "openai:gpt-4o", options: {rate: 0.9}}
"""


@pytest.fixture
def coins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.syspath_prepend(str(Path(__file__).parents[1] / "helpers"))
    path = tmp_path / "coins.yaml"
    path.write_text(_TWO_WORLDS.replace("MODEL", "toy:cheap"), encoding="utf-8")
    return path


@pytest.mark.parametrize("status", ["ok", "warn", "fail"])
def test_doctor_of_each_world_is_asked_once(
    coins: Path, monkeypatch: pytest.MonkeyPatch, status: str
) -> None:
    monkeypatch.setenv("TOY_WORLD", status)
    found = check_study(load_study(coins))

    says = ["one: world: of None; mend it", "other: world: of built-in; mend it"]
    assert (found.runs, found.checks) == (6, 2)
    assert list(found.warnings) == (says if status == "warn" else [])
    lines = [f"{coins}, line {line}: {text}" for line, text in zip((3, 5), says, strict=True)]
    assert list(found.problems) == (lines if status == "fail" else [])


def test_dollars_are_those_of_earlier_runs_else_their_tokens_by_the_price_table(
    coins: Path, tmp_path: Path
) -> None:
    study = load_study(coins)
    unknown = {each.arm: each for each in plan_study(study, tmp_path / "new").runs}
    assert [unknown[arm].dollars for arm in "ab"] == [None, None]
    assert unknown["b"].price is not None
    assert unknown["a"].price is None  # the table does not know it
    done = tmp_path / "before.yaml"
    done.write_text(
        'name: before\nbenchmarks: {one: {benchmark: "toy_study:Coins"}}\narms:\n'
        '  a: {agent: scripted, model: "toy:cheap", options: {rate: 0.9}}\n'
    )
    run_study(load_study(done), tmp_path / "before")

    plan = plan_study(study, tmp_path / "new", [tmp_path / "before/runs/one/a"])
    own, priced = plan.runs[0], plan.runs[1]
    assert (own.dollars, own.priced) == (6.0, False)  # six trials of a dollar
    assert priced.priced
    assert priced.dollars == pytest.approx(6 * 100 * unknown["b"].price[0] / 1e6)
