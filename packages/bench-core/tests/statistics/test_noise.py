from __future__ import annotations

import pytest
from simulations.populations import Population, simulate_scores

from bench_core.errors import NotEstimableError
from bench_core.statistics import Templates, Variability, items_of, noise_of, plan, tasks_needed

np = pytest.importorskip("numpy", reason="runs are drawn here")

WEBARENA = [1] * 24 + [2] * 10 + [3] * 10 + [4] * 13 + [5] * 119 + [6] * 10 + [7] * 3 + [10]


def drawn(population: Population, sizes: list[int], trials: int) -> dict[int, list[float]]:
    _, scores = simulate_scores(population, sizes, trials, np.random.default_rng(3))
    return dict(enumerate(scores.tolist()))


def test_components_are_those_of_the_population() -> None:
    """Of .24 in all: half between trials; of the rest 3 parts in 10 between templates."""
    sizes = [4] * 2_000
    scores = drawn(Population(0.4, 0.5, 0.3), sizes, 3)
    found = noise_of(scores, {n: n // 4 for n in scores})
    # chances spread by .3 of .24 around templates, and by half of what is left around those
    assert found.template == pytest.approx(0.3 * 0.24, abs=0.006)
    assert found.task == pytest.approx(0.5 * 0.7 * 0.24, abs=0.006)
    assert found.trial == pytest.approx(0.5 * 0.7 * 0.24, abs=0.006)
    assert found.template_icc == pytest.approx(found.template / (found.template + found.task))
    assert sum(found.shares.values()) == pytest.approx(1.0)


def test_without_templates_the_noise_is_that_of_one_way_analysis() -> None:
    found = noise_of({"a": [1, 1], "b": [0, 1], "c": [0, 0]})
    assert (found.template, found.template_icc) == (0.0, None)
    assert found.trial == pytest.approx(1 / 6)
    assert found.task == pytest.approx(1 / 4 - 1 / 12)
    assert found.shares == pytest.approx({"template": 0.0, "task": 2 / 3, "trial": 1 / 3})


def test_twice_the_tasks_bring_more_than_twice_the_trials() -> None:
    found = noise_of(drawn(Population(0.42, 0.5), [1] * 400, 1 + 2))
    # of the variance at ICC .5 and three trials, 1/4 is trial noise: halving it leaves 7/8
    assert found.width_twice_trials == pytest.approx((7 / 8) ** 0.5, abs=0.02)
    assert found.width_twice_tasks == pytest.approx(0.7071, abs=1e-4)


@pytest.mark.parametrize("alike", [0.3, 0.8], ids=["alike a little", "alike much"])
def test_the_interval_of_an_icc_holds_it(alike: float) -> None:
    generator = np.random.default_rng(5)
    held = 0
    for _ in range(100):
        _, scores = simulate_scores(Population(0.42, alike), [1] * 68, 3, generator)
        found = noise_of(dict(enumerate(scores.tolist())))
        held += found.icc_low <= alike <= found.icc_high
    assert held >= 87


@pytest.mark.parametrize(
    "scores", [{}, {"a": [1, 0]}, {"a": [1], "b": [0]}], ids=["none", "one task", "one trial"]
)
def test_what_shows_no_noise_is_refused(scores: dict[str, list[float]]) -> None:
    with pytest.raises(NotEstimableError, match="at least two tasks, some with two trials"):
        noise_of(scores)


def test_equal_outcomes_have_no_noise() -> None:
    found = noise_of({n: [1.0, 1.0] for n in range(5)})
    assert (found.icc, found.task, found.trial) == (0.0, 0.0, 0.0)
    assert (found.icc_low, found.icc_high) == (None, None)
    assert set(found.shares.values()) == {0.0}


def test_items_that_all_solve_or_none_tell_no_models_apart() -> None:
    found = items_of(
        {"a": {1: [1, 1], 2: [0, 0], 3: [1, 0], 4: [1]}, "b": {1: [1, 1], 2: [0, 0], 3: [0, 0]}}
    )
    assert (found.models, found.always, found.never) == (2, 1, 1)
    assert [each.same for each in found.tasks] == ["always", "never", None]
    assert [each.rest_correlation for each in found.tasks] == [None] * 3
    assert found.reason == "item-rest correlations need 8 models, there are 2"


def test_eight_models_show_which_item_goes_against_the_rest() -> None:
    models = {
        str(m): {
            1: [float(m >= 2)],
            2: [float(m >= 4)],
            3: [float(m >= 6)],
            4: [float(m < 2)],
            5: [1.0],
        }
        for m in range(8)
    }
    found = {each.task: each.rest_correlation for each in items_of(models).tasks}
    assert found["2"] > 0
    assert found["4"] < 0
    assert found["5"] is None
    assert items_of(models).reason is None


@pytest.mark.parametrize("wrong", [float("nan"), float("inf")], ids=str)
def test_items_are_not_made_of_what_is_no_number(wrong: float) -> None:
    with pytest.raises(ValueError, match="a score is"):
        items_of({"a": {1: [1]}, "b": {1: [wrong]}})


def test_models_without_a_common_task_have_no_items() -> None:
    with pytest.raises(NotEstimableError, match="every model"):
        items_of({"a": {1: [1]}, "b": {2: [1]}})


@pytest.mark.parametrize(
    ("trials", "alone", "grouped"), [(1, 5.1, 5.6), (3, 3.2, 3.9)], ids=["one trial", "three"]
)
def test_plans_count_templates(trials: int, alone: float, grouped: float) -> None:
    assert 100 * plan(812, trials).detectable == pytest.approx(alone, abs=0.06)
    found = plan(812, trials, templates=Templates.of(WEBARENA))
    assert found.templates == 190
    assert 100 * found.detectable == pytest.approx(grouped, abs=0.06)


def test_templates_of_one_task_change_nothing() -> None:
    assert plan(68, 3, templates=Templates.of([1] * 68)) == plan(68, 3)


@pytest.mark.parametrize("design", ["paired", "unpaired"])
def test_the_fewest_tasks_of_templates_are_enough(design: str) -> None:
    templates = Templates.of(WEBARENA)
    how = {"design": design, "templates": templates}
    tasks = tasks_needed(0.08, 3, **how)
    assert plan(tasks, 3, **how).detectable <= 0.08
    assert plan(tasks - 5, 3, **how).detectable > 0.08
    assert tasks > tasks_needed(0.08, 3, design=design)


def test_two_tasks_of_one_template_are_no_design() -> None:
    with pytest.raises(NotEstimableError, match="at least 2 tasks or templates"):
        plan(4, 3, templates=Templates(size=4, weighted_size=4))


def test_a_pilot_tells_how_alike_tasks_of_a_template_are() -> None:
    sizes = [4] * 1_000
    scores = drawn(Population(0.4, 0.5, 0.3), sizes, 3)
    found = Variability.of(scores, clusters={n: n // 4 for n in scores})
    # between tasks .072 + .084, of which .072 between templates
    assert found.templates_alike == pytest.approx(0.072 / 0.156, abs=0.05)
    assert Variability.of(scores).templates_alike == 0.3
