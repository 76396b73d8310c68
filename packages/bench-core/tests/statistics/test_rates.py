from __future__ import annotations

import math
import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench_core.errors import NotEstimableError
from bench_core.statistics import (
    clopper_pearson,
    macro_average_interval,
    success_rate_interval,
    wilson,
)
from bench_core.statistics.dirichlet import dirichlet_low
from bench_core.statistics.distributions import normal_quantile, t_quantile
from bench_core.statistics.proportions import wilson_limits

Scores = dict[Any, list[float]]

score_tables = st.dictionaries(
    st.integers(0, 50), st.lists(st.sampled_from([0.0, 1.0]), max_size=6), min_size=2, max_size=30
).filter(lambda table: sum(map(bool, table.values())) >= 2)


def limits(rate: float, n: int, quantile: float) -> tuple[float, float]:
    """Wilson's limits as the roots of the quadratic that defines them."""
    a = 1 + quantile**2 / n
    b = -(2 * rate + quantile**2 / n)
    root = math.sqrt(b * b - 4 * a * rate**2)
    return (-b - root) / (2 * a), (-b + root) / (2 * a)


@pytest.fixture
def three_trials() -> Scores:
    rng = random.Random(4)  # noqa: S311 - a seeded example, not a secret
    difficulty = [rng.betavariate(0.6, 0.9) for _ in range(40)]
    return {
        str(task): [float(rng.random() < chance) for _ in range(3)]
        for task, chance in enumerate(difficulty)
    }


def test_new_tasks_use_the_design_effect_and_a_t_quantile(three_trials: Scores) -> None:
    means = [sum(trials) / 3 for trials in three_trials.values()]
    rate = sum(means) / 40
    variance = sum((mean - rate) ** 2 for mean in means) / 39 / 40
    effective = rate * (1 - rate) / variance
    interval = success_rate_interval(three_trials)
    assert 40 < effective < 120
    # one task always solved and one never are added to as many as lie between tasks and what they are worth
    number = math.sqrt(40 * effective)
    middle = (rate * number + 1) / (number + 2)
    scatter = variance * number**2 + middle**2 + (1 - middle) ** 2
    quantile = t_quantile(0.975, 39)
    worth = min(effective, middle * (1 - middle) * (number + 2) ** 2 / scatter)
    assert interval.effective_n == pytest.approx(worth)
    alone = limits(rate, worth, quantile)
    joined = limits(rate + (middle - rate) / 4, worth, quantile)
    assert interval.low == pytest.approx(min(alone[0], joined[0]))
    assert interval.high == pytest.approx(max(alone[1], joined[1]))
    assert (interval.n, interval.tasks, interval.clusters) == (120, 40, 40)
    assert interval.estimand == "new_tasks"


def test_same_tasks_use_the_noise_between_trials_only(three_trials: Scores) -> None:
    variances = []
    for trials in three_trials.values():
        mean = sum(trials) / 3
        variances.append(sum((each - mean) ** 2 for each in trials) / 2)
    rate = sum(map(sum, three_trials.values())) / 120
    coin = 0.25 / 2  # one more task, as noisy as a fair coin
    effective = rate * (1 - rate) / ((sum(variances) / 3 + coin) / 40**2)
    interval = success_rate_interval(three_trials, estimand="same_tasks")
    assert interval.effective_n == pytest.approx(effective)
    expected = limits(rate, effective, normal_quantile(0.975))
    assert (interval.low, interval.high) == pytest.approx(expected)
    assert interval.estimand == "same_tasks"


def test_one_trial_per_task_is_wilson_on_the_tasks_with_a_t_quantile() -> None:
    interval = success_rate_interval({task: [float(task < 5)] for task in range(20)})
    assert interval.effective_n == pytest.approx(20)
    assert (interval.low, interval.high) == pytest.approx(limits(0.25, 20, t_quantile(0.975, 19)))


def test_templates_are_the_clusters_when_given() -> None:
    scores = {task: [float(task % 10 < 4)] for task in range(100)}
    templates = {task: task % 10 for task in range(100)}
    alone = success_rate_interval(scores)
    grouped = success_rate_interval(scores, clusters=templates)
    assert grouped.estimate == alone.estimate
    assert grouped.clusters == 10
    # Tasks of one template always agree here, so a hundred tasks are worth ten.
    assert grouped.effective_n == pytest.approx(10)
    assert alone.effective_n == pytest.approx(100)


def test_macro_average_weighs_templates_alike() -> None:
    scores = {"a": [1, 1], "b": [1, 0], "c": [0, 0]}
    interval = macro_average_interval(scores, {"a": "t", "b": "t", "c": "u"})
    assert interval.estimate == pytest.approx((0.75 + 0.0) / 2)
    assert interval.clusters == 2
    assert interval.notes == ("insufficient clusters: 2, at least 5 are needed",)


def test_macro_average_of_templates_of_one_task_is_the_rate(three_trials: Scores) -> None:
    macro = macro_average_interval(three_trials, {})
    assert macro.model_dump() == success_rate_interval(three_trials).model_dump()


def test_unequal_trials_weigh_tasks_alike_and_unscored_tasks_not_at_all() -> None:
    scores = {"a": [1.0] * 9, "b": [0.0], "c": []}
    interval = success_rate_interval(scores)
    assert interval.estimate == 0.5
    assert (interval.n, interval.tasks) == (10, 2)


def test_tasks_with_one_trial_are_as_noisy_as_one_coin_of_their_rate_can_be() -> None:
    scores = {"a": [1, 0], "b": [1, 1], "c": [1], "d": [0], "e": [0]}
    interval = success_rate_interval(scores, estimand="same_tasks")
    low, high = wilson_limits(1 / 3, 3, 1.645)
    assert low < 0.5 < high
    chance = 0.5
    coin = 0.25  # one more task of two trials
    variance = (0.5 / 2 + 0.0 + coin + 3 * chance * (1 - chance)) / 25
    assert interval.effective_n == pytest.approx(0.5 * 0.5 / variance)
    assert interval.notes[0].startswith("tasks with one trial do not show their noise (3)")


def test_many_tasks_with_one_trial_that_mostly_agree_have_less_noise() -> None:
    scores = {n: [0.0] for n in range(100)} | {"a": [1, 0], "b": [1, 1]}
    interval = success_rate_interval(scores, estimand="same_tasks")
    chance = wilson_limits(0.0, 100, 1.645)[1]
    rate, variance = 1.5 / 102, (0.5 / 2 + 0.25 + 100 * chance * (1 - chance)) / 102**2
    assert interval.effective_n == pytest.approx(rate * (1 - rate) / variance)


@pytest.mark.parametrize("outcome", [0.0, 1.0])
def test_equal_outcomes_never_give_an_interval_of_no_width(outcome: float) -> None:
    scores = {task: [outcome] * 3 for task in range(7)}
    new = success_rate_interval(scores)
    same = success_rate_interval(scores, estimand="same_tasks")
    assert new.effective_n == pytest.approx(7)
    assert same.effective_n == pytest.approx(21)
    assert new.width > same.width > 0.1
    assert outcome in new
    assert outcome in same


def test_equal_task_means_count_every_trial() -> None:
    scores = {task: [1.0, 0.0] for task in range(10)}
    assert success_rate_interval(scores).effective_n == pytest.approx(20)


def test_one_cluster_cannot_speak_of_new_tasks() -> None:
    with pytest.raises(NotEstimableError, match="one cluster"):
        success_rate_interval({"a": [1, 0]})
    with pytest.raises(NotEstimableError, match="one cluster"):
        success_rate_interval({"a": [1], "b": [0]}, clusters={"a": "t", "b": "t"})
    assert success_rate_interval({"a": [1, 0]}, estimand="same_tasks").clusters == 1


def test_one_trial_per_task_cannot_speak_of_running_them_again() -> None:
    with pytest.raises(NotEstimableError, match="at least two trials per task"):
        success_rate_interval({"a": [1], "b": [0]}, estimand="same_tasks")


@pytest.mark.parametrize("scores", [{}, {"a": [], "b": []}])
def test_nothing_scored_has_no_rate(scores: Scores) -> None:
    with pytest.raises(NotEstimableError, match="no trial was scored"):
        success_rate_interval(scores)


def test_fractional_scores_are_at_most_as_uncertain_as_outcomes() -> None:
    fractional = success_rate_interval({task: [task / 10] for task in range(11)})
    assert fractional.estimate == pytest.approx(0.5)
    assert fractional.effective_n == pytest.approx(11)


def test_scores_beyond_one_fall_back_to_a_t_interval_and_say_so() -> None:
    scores = {task: [float(task), float(task + 1)] for task in range(6)}
    new = success_rate_interval(scores)
    assert new.method == "cluster-robust t"
    assert new.notes == ("scores outside 0 to 1: no Wilson interval",)
    half = t_quantile(0.975, 5) * math.sqrt(17.5 / 5 / 6)
    assert (new.low, new.high) == pytest.approx((3.0 - half, 3.0 + half))
    same = success_rate_interval(scores, estimand="same_tasks")
    assert same.width == pytest.approx(2 * normal_quantile(0.975) * math.sqrt(0.5 / 2 / 6))


@pytest.mark.parametrize("estimand", ["new_tasks", "same_tasks"])
def test_equal_scores_beyond_one_have_no_interval_rather_than_one_of_no_width(
    estimand: str,
) -> None:
    with pytest.raises(NotEstimableError, match="all alike"):
        success_rate_interval({task: [2.0, 2.0] for task in range(6)}, estimand=estimand)


@given(score_tables)
def test_the_effective_size_lies_between_tasks_and_trials(scores: Scores) -> None:
    interval = success_rate_interval(scores)
    sizes = [len(trials) for trials in scores.values() if trials]
    assert len(sizes) - 1e-9 <= interval.effective_n <= sum(sizes) + 1e-9
    assert 0.0 <= interval.low <= interval.estimate + 1e-12
    assert interval.estimate - 1e-12 <= interval.high <= 1.0


@given(score_tables, st.randoms())
def test_the_order_of_tasks_and_trials_does_not_matter(scores: Scores, rng: random.Random) -> None:
    shuffled = list(scores.items())
    rng.shuffle(shuffled)
    again = {task: rng.sample(trials, len(trials)) for task, trials in shuffled}
    interval, expected = success_rate_interval(again), success_rate_interval(scores)
    assert (interval.n, interval.tasks) == (expected.n, expected.tasks)
    for end in ("estimate", "low", "high"):
        assert getattr(interval, end) == pytest.approx(getattr(expected, end), abs=1e-12)


def test_a_plain_proportion_and_the_default_agree_for_many_tasks() -> None:
    scores = {task: [float(task % 4 == 0)] for task in range(20_000)}
    default, plain = success_rate_interval(scores), wilson(5_000, 20_000)
    assert default.low == pytest.approx(plain.low, abs=1e-5)
    assert default.high == pytest.approx(plain.high, abs=1e-5)


@pytest.mark.parametrize("wrong", [float("nan"), float("-inf")], ids=["nan", "infinite"])
def test_scores_that_are_no_numbers_are_refused(wrong: float) -> None:
    with pytest.raises(ValueError, match="leave trials without a score out"):
        success_rate_interval({"a": [1.0], "b": [wrong]})
    with pytest.raises(ValueError, match="leave trials without a score out"):
        macro_average_interval({"a": [1.0, wrong], "b": [1.0]}, {})


def test_templates_of_several_tasks_vary_at_least_as_with_one_more_success_and_failure() -> None:
    scores = {n: [float(n != 0)] for n in range(60)}
    templates = {n: n // 3 for n in scores}
    found = macro_average_interval(scores, templates)
    assert "stabilised by add-two" in found.method
    # 1 of 20 templates failed once in three: p = 59/60, worth its 60 outcomes
    assert found.low < wilson_limits(59 / 60, 60, t_quantile(0.975, 19))[0]


@pytest.mark.parametrize("won", [1, 2, 3, 12 - 3, 12 - 1])
def test_few_tasks_of_the_rarer_outcome_are_joined_with_exact_limits(won: int) -> None:
    found = success_rate_interval({n: [float(n < won)] for n in range(12)})
    exact = clopper_pearson(won, 12)
    assert found.method.endswith("joined with Dirichlet limits")
    if won <= 3:
        assert found.low <= exact.low + 1e-9
        assert found.high >= limits(won / 12, 12, t_quantile(0.975, 11))[1]
    else:
        assert found.low <= limits(won / 12, 12, t_quantile(0.975, 11))[0]
        assert found.high >= exact.high - 1e-9


def test_exact_limits_are_taken_over_templates_of_their_sizes() -> None:
    scores = {n: [float(n == 0)] for n in range(40)}
    templates = {n: 0 if n < 10 else n for n in scores}
    found = success_rate_interval(scores, clusters=templates)
    # one of 31 templates, which is a quarter of the tasks
    assert found.low == pytest.approx(
        dirichlet_low([1] + [0] * 30, [10] + [1] * 30, alpha=0.025, lowest=0.0)
    )


def test_one_trial_of_tasks_that_stand_alone_keeps_wilsons_interval() -> None:
    scores = {n: [float(n < 5)] for n in range(20)}
    assert success_rate_interval(scores).method.endswith("t quantile on effective clusters - 1")


def test_templates_of_unequal_weight_count_for_fewer() -> None:
    scores = {n: [float(n % 3 == 0)] for n in range(60)}
    templates = {n: 0 if n < 15 else n for n in scores}
    found = success_rate_interval(scores, clusters=templates)
    assert found.clusters == 46
    assert found.notes == ("clusters of unequal weight: 46 count for 13",)
    equal = success_rate_interval(scores, clusters={n: n // 4 for n in scores})
    assert equal.notes == ()


def test_three_templates_with_most_of_the_tasks_say_nothing_of_others() -> None:
    scores = {n: [float(n % 3 == 0)] for n in range(30)}
    large = dict.fromkeys(range(15), "large")
    with pytest.raises(NotEstimableError, match=r"3 largest of 16 .* carry 57% of the weight"):
        success_rate_interval(scores, clusters=large)
    assert macro_average_interval(scores, large).clusters == 16
    assert success_rate_interval(scores, clusters=dict.fromkeys(range(10), "large")).low > 0


@pytest.mark.parametrize("sizes", [[5, 5, 5, 3], [4, 3], [1, 1, 1]])
def test_few_templates_of_about_one_size_have_an_interval_and_a_note(sizes: list[int]) -> None:
    homes = [home for home, size in enumerate(sizes) for _ in range(size)]
    scores = {n: [float(n % 2)] for n in range(len(homes))}
    found = success_rate_interval(scores, clusters=dict(enumerate(homes)))
    assert found.notes[0].startswith("insufficient clusters")


def test_large_templates_near_the_mean_do_not_hide_that_tasks_of_templates_agree() -> None:
    # twenty templates whose two tasks agree, and two of twelve tasks that happen to have the mean
    homes = [*(n // 2 for n in range(40)), *["large"] * 12, *["larger"] * 12]
    won = [*(n // 2 % 2 for n in range(40)), *(n % 2 for n in range(24))]
    alike = success_rate_interval(
        {n: [float(each)] for n, each in enumerate(won)}, clusters=dict(enumerate(homes))
    )
    assert alike.effective_n is not None
    assert alike.effective_n < 30  # the jackknife says 50
    alone = success_rate_interval(
        {n: [float(n % 2)] for n in range(64)}, clusters=dict(enumerate(homes))
    )
    assert alone.effective_n is not None
    assert alone.effective_n == pytest.approx(64, rel=0.1)
