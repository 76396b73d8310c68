from __future__ import annotations

import math
from itertools import product
from typing import Any

import numpy as np
import pytest
from simulations.populations import Population, simulate_scores

from bench_core.errors import NotEstimableError
from bench_core.statistics import (
    compare,
    compare_models,
    compare_tasks,
    fisher_exact,
    mcnemar_mid_p,
    newcombe,
    paired_t,
    sign_flip,
    tango,
    within_task,
)

Scores = dict[int, list[float]]


@pytest.fixture
def new() -> Scores:
    return {n: [float(n % 3 > 0), float(n % 4 > 0), 1.0] for n in range(40)}


@pytest.fixture
def old() -> Scores:
    return {n: [float(n % 2), float(n % 5 > 2), 0.0] for n in range(40)}


@pytest.fixture(scope="module")
def scipy() -> Any:
    pytest.importorskip("scipy", reason="scipy is the oracle here")
    import scipy.optimize
    import scipy.stats

    return scipy


@pytest.mark.parametrize(("gained", "lost"), [(1, 8), (0, 5), (3, 3), (12, 2), (60, 40)])
def test_mcnemar_agrees_with_statsmodels(gained: int, lost: int) -> None:
    tables = pytest.importorskip("statsmodels.stats.contingency_tables", reason="the oracle here")
    exact = tables.mcnemar([[5, gained], [lost, 5]], exact=True).pvalue
    point = math.comb(gained + lost, gained) / 2 ** (gained + lost)
    assert mcnemar_mid_p(gained, lost) == pytest.approx(min(1.0, exact - point * (gained != lost)))


def test_no_change_at_all_is_no_evidence() -> None:
    assert mcnemar_mid_p(0, 0) == 1.0


@pytest.mark.parametrize(
    ("gained", "lost", "n"), [(12, 2, 50), (0, 0, 20), (3, 0, 10), (0, 7, 7), (40, 35, 154)]
)
def test_tango_inverts_the_score_test_with_a_numerically_fitted_nuisance(
    scipy: Any, gained: int, lost: int, n: int
) -> None:
    """At each end the score statistic, its nuisance fitted by a general optimiser, is 1.96."""

    def score(difference: float) -> float:
        low, high = max(0.0, -difference), (1.0 - difference) / 2

        def deviance(losing: float) -> float:
            cells = [(gained, losing + difference), (lost, losing)]
            cells.append((n - gained - lost, 1 - 2 * losing - difference))
            return -sum(count * math.log(max(chance, 1e-300)) for count, chance in cells if count)

        bounds = {"bounds": (low, high), "method": "bounded", "options": {"xatol": 1e-13}}
        losing = scipy.optimize.minimize_scalar(deviance, **bounds).x
        variance = n * (2 * losing + difference - difference**2)
        return (gained - lost - n * difference) / math.sqrt(variance)

    interval = tango(gained, lost, n)
    if interval.low > -1:
        assert score(interval.low) == pytest.approx(1.959964, abs=1e-3)
    if interval.high < 1:
        assert score(interval.high) == pytest.approx(-1.959964, abs=1e-3)


def test_tango_covers_by_enumeration() -> None:
    n, gain, loss = 20, 0.25, 0.1
    covered = 0.0
    for gained, lost in product(range(n + 1), repeat=2):
        same = n - gained - lost
        if same < 0:
            continue
        ways = math.comb(n, gained) * math.comb(n - gained, lost)
        chance = ways * gain**gained * loss**lost * (1 - gain - loss) ** same
        covered += chance * (gain - loss in tango(gained, lost, n))
    assert 0.93 < covered < 0.97


def test_tango_mirrors_when_the_two_change_places() -> None:
    there, back = tango(9, 4, 30), tango(4, 9, 30)
    assert there.low == pytest.approx(-back.high, abs=1e-9)
    assert there.high == pytest.approx(-back.low, abs=1e-9)


@pytest.mark.parametrize(
    ("first", "second"),
    [((56, 70), (48, 80)), ((9, 10), (3, 10)), ((0, 30), (4, 154)), ((7, 7), (0, 5))],
)
@pytest.mark.parametrize("level", [0.8, 0.95])
def test_newcombe_agrees_with_statsmodels(
    first: tuple[int, int], second: tuple[int, int], level: float
) -> None:
    oracle = pytest.importorskip("statsmodels.stats.proportion", reason="the oracle here")
    expected = oracle.confint_proportions_2indep(
        *first, *second, method="newcomb", compare="diff", alpha=1 - level
    )

    found = newcombe(*first, *second, level=level)

    assert (found.low, found.high) == pytest.approx(tuple(expected), abs=1e-9)


def test_newcombe_needs_tasks_on_both_sides() -> None:
    with pytest.raises(NotEstimableError):
        newcombe(1, 2, 0, 0)


@pytest.mark.parametrize(("gained", "lost", "n"), [(5, 6, 10), (-1, 0, 10)])
def test_impossible_counts_are_refused(gained: int, lost: int, n: int) -> None:
    with pytest.raises(ValueError, match="do not fit"):
        tango(gained, lost, n)
    with pytest.raises(NotEstimableError, match="no difference"):
        tango(0, 0, 0)


def test_paired_t_agrees_with_scipy(scipy: Any, new: Scores, old: Scores) -> None:
    differences = {n: (sum(new[n]) - sum(old[n])) / 3 for n in new}
    expected = scipy.stats.ttest_1samp(list(differences.values()), 0)
    found = paired_t(differences)
    assert found.p_value == pytest.approx(expected.pvalue, rel=1e-9)
    less = scipy.stats.ttest_1samp(list(differences.values()), 0, alternative="less")
    assert found.p_drop == pytest.approx(less.pvalue, rel=1e-9)
    ends = expected.confidence_interval(0.95)
    interval = compare(new, old).difference
    assert (interval.low, interval.high) == pytest.approx((ends.low, ends.high))


def test_clustered_paired_t_agrees_with_statsmodels_for_templates_of_one_size(
    new: Scores, old: Scores
) -> None:
    api = pytest.importorskip("statsmodels.api", reason="statsmodels is the oracle here")
    differences = {n: (sum(new[n]) - sum(old[n])) / 3 for n in new}
    groups = {n: n % 8 for n in new}
    fit = api.OLS(list(differences.values()), [1.0] * 40).fit(
        cov_type="cluster",
        cov_kwds={"groups": list(groups.values()), "df_correction": True},
        use_t=True,
    )
    # statsmodels also multiplies by (n - 1) / (n - k), which is 1 for a mean alone.
    found = paired_t(differences, clusters=groups)
    assert found.standard_error == pytest.approx(fit.bse[0], rel=1e-9)
    assert found.p_value == pytest.approx(fit.pvalues[0], rel=1e-9)


def test_templates_of_unequal_size_are_left_out_one_by_one(scipy: Any) -> None:
    differences = {n: (n * 7 % 11) / 10 - 0.4 for n in range(30)}
    groups = {n: min(n // 2, 10) for n in differences}  # the last one has ten of the tasks
    left = [
        [differences[n] for n in differences if groups[n] != each] for each in set(groups.values())
    ]
    means = [sum(rest) / len(rest) for rest in left]
    mean = sum(differences.values()) / 30
    found = paired_t(differences, clusters=groups)
    assert found.standard_error == pytest.approx(
        math.sqrt(10 / 11 * sum((each - mean) ** 2 for each in means))
    )
    assert (found.df, found.clusters) == (pytest.approx(900 / (10 * 4 + 100) - 1), 11)
    statistic = abs(mean) / found.standard_error
    assert found.p_value == pytest.approx(2 * scipy.stats.t.sf(statistic, found.df))


def test_one_large_template_and_singles_have_no_difference_but_a_reason() -> None:
    new = {n: [1.0] for n in range(20)} | {n: [float(n % 2)] for n in range(20, 30)}
    old = {n: [0.0] for n in range(20)} | {n: [float(n % 3 > 0)] for n in range(20, 30)}
    with pytest.raises(NotEstimableError, match=r"3 largest of 11 .* carry 73% of the weight"):
        compare(new, old, clusters=dict.fromkeys(range(20), "large"))


@pytest.mark.parametrize("trials", [1, 3])
@pytest.mark.parametrize("templates", [False, True])
def test_an_interval_leaves_out_zero_exactly_if_its_p_value_is_small(
    trials: int, *, templates: bool
) -> None:
    generator = np.random.default_rng(trials)
    outcomes = set()
    for _ in range(150):
        tasks = int(generator.integers(5, 40))
        chances = generator.beta(0.7, 0.7, (1, tasks)) * [[1.0], [generator.uniform(0.3, 1.0)]]
        won = generator.binomial(1, chances[..., None], (2, tasks, trials)).tolist()
        homes = dict(enumerate(generator.integers(0, tasks // 2, tasks).tolist()))
        together = int(generator.integers(1, 9))
        new, old = (dict(enumerate(side)) for side in won)
        try:
            found = compare(new, old, clusters=homes if templates else None, together=together)
        except NotEstimableError:
            continue
        assert (0.0 not in found.difference) == (found.p_value < 0.05)
        assert (0.0 not in found.joint) == (found.p_adjusted < 0.05)
        outcomes.add((found.p_value < 0.05, found.p_adjusted < 0.05))
    assert outcomes == {(True, True), (True, False), (False, False)}


def test_clusters_that_differ_alike_are_no_surer_than_their_limits() -> None:
    found = compare({n: [1, 1, 1] for n in range(10)}, {n: [1, 0, 1] for n in range(10)})
    assert found.p_sign_flip == 2**-10
    assert 0.0 in found.difference
    # by the limits' own chance: (1 / (1 + 1/3))^10 at either end
    assert found.p_value == pytest.approx(2 * 0.75**10)


@pytest.mark.parametrize(
    "differences", [[1.0, 1.0, 1.0, 1.0, 0.0], [1 / 3, -2 / 3, 1.0, 1 / 3, 1 / 3, 0.2, -0.4]]
)
def test_sign_flips_agree_with_scipy(scipy: Any, differences: list[float]) -> None:
    expected = scipy.stats.permutation_test(
        (differences,),
        lambda x, axis: x.mean(axis=axis),
        permutation_type="samples",
        n_resamples=2_000,
    )
    sums = abs(expected.null_distribution)
    ties = (abs(sums - abs(expected.statistic)) < 1e-9).mean()
    assert sign_flip(differences) == pytest.approx(expected.pvalue - 0.5 * ties, abs=1e-12)


@pytest.mark.parametrize(("gained", "lost"), [(5, 0), (1, 8), (4, 4), (30, 17)])
def test_sign_flips_of_outcomes_are_mcnemars_mid_p(gained: int, lost: int) -> None:
    flipped = sign_flip([1.0] * gained + [-1.0] * lost)
    assert flipped == pytest.approx(mcnemar_mid_p(gained, lost), abs=1e-12)


def test_sign_flips_of_many_tasks_are_exact() -> None:
    numpy = pytest.importorskip("numpy", reason="numpy is the oracle here")
    thirds = [1] * 60 + [-1] * 40 + [2] * 30 + [-3] * 20 + [0] * 662
    chances = numpy.ones(1)
    for third in thirds:
        if third:
            kernel = numpy.zeros(2 * abs(third) + 1)
            kernel[[0, -1]] = 0.5
            chances = numpy.convolve(chances, kernel)
    sums = numpy.arange(len(chances)) - len(chances) // 2
    seen = abs(sum(thirds))
    expected = chances[abs(sums) > seen].sum() + chances[sums == seen].sum()
    assert sign_flip([third / 3 for third in thirds]) == pytest.approx(expected, abs=1e-12)


def test_sign_flips_of_odd_scores_are_drawn_with_a_seed(scipy: Any) -> None:
    odd = [math.sin(n) + 0.25 for n in range(13)]
    expected = scipy.stats.permutation_test(
        (odd,), lambda x, axis: x.mean(axis=axis), permutation_type="samples", n_resamples=10_000
    ).pvalue
    assert sign_flip(odd, seed=3) == pytest.approx(expected, abs=0.01)
    assert sign_flip(odd, seed=3) == sign_flip(odd, seed=3)
    assert sign_flip(odd, seed=3) != sign_flip(odd, seed=4)


def test_flipping_nothing_is_no_evidence() -> None:
    assert sign_flip([0.0, 0.0]) == 1.0


def test_fisher_agrees_with_scipy(scipy: Any) -> None:
    for a, b in product(range(6), repeat=2):
        expected = scipy.stats.fisher_exact([[a, 5 - a], [b, 5 - b]]).pvalue
        assert fisher_exact(a, 5, b, 5) == pytest.approx(expected, abs=1e-12)


def test_one_trial_each_uses_mcnemar_and_tango() -> None:
    new = {n: [float(n < 12)] for n in range(20)}
    old = {n: [float(n >= 9)] for n in range(20)}
    found = compare(new, old)
    assert (found.better, found.worse, found.equal) == (9, 8, 3)
    assert found.test == "McNemar mid-p"
    assert found.p_value == mcnemar_mid_p(9, 8)
    assert found.difference.low == tango(9, 8, 20).low
    assert found.difference.estimand == "new_tasks"


@pytest.mark.parametrize("change", ["templates", "fractions", "trials"])
def test_anything_else_uses_the_paired_t_test(change: str) -> None:
    new = {n: [float(n < 12)] for n in range(20)}
    old = {n: [float(n >= 9)] for n in range(20)}
    clusters = {n: n // 2 for n in range(20)} if change == "templates" else None
    if change == "fractions":
        new[0] = [0.5]
    if change == "trials":
        new[0] = [1.0, 0.0]
    assert compare(new, old, clusters=clusters).test == "paired t, sign-flip"


def test_templates_of_one_task_each_are_no_clusters() -> None:
    scores = {n: [float(n % 2)] for n in range(6)}
    assert compare(scores, scores, clusters=dict(zip(scores, "abcdef", strict=True))).test == (
        "McNemar mid-p"
    )


def test_far_out_the_test_is_the_one_that_the_interval_inverts() -> None:
    """Mid-p alone rejects 19 against 5 of 57 for twelve comparisons, whose interval holds zero."""
    new = {n: [float(n < 19)] for n in range(57)}
    old = {n: [float(19 <= n < 24)] for n in range(57)}
    found = compare(new, old, together=12)
    assert (found.test, round(found.p_value, 5)) == ("McNemar score", 0.00427)
    assert found.p_adjusted is not None
    assert found.joint is not None
    assert found.p_adjusted > 0.05
    assert 0.0 in found.joint


def test_only_shared_tasks_are_compared_and_the_rest_is_counted() -> None:
    new = {"a": [1.0], "b": [0.0], "c": [1.0], "d": []}
    old = {"a": [0.0], "b": [0.0], "d": [1.0], "e": [1.0]}
    found = compare(new, old)
    assert found.difference.estimate == 0.5
    assert (found.difference.tasks, found.only_new, found.only_baseline) == (2, 1, 2)


def test_agents_that_never_differ_get_a_width_and_no_evidence() -> None:
    same = {n: [1.0, 1.0] for n in range(10)}
    found = compare(same, same)
    assert found.p_value == 1.0
    assert found.detectable is None
    assert found.difference.low < 0 < found.difference.high
    assert "all clusters agree" in found.difference.notes[0]


@pytest.mark.parametrize(
    ("clusters", "expected"), [(2, 0.5), (3, 0.25), (10, 2**-9)], ids=["two", "three", "ten"]
)
def test_clusters_that_differ_alike_are_tested_by_their_signs(
    clusters: int, expected: float
) -> None:
    found = paired_t(dict.fromkeys(range(clusters), -1 / 3))
    assert (found.p_value, found.p_drop) == (expected, expected / 2)
    risen = paired_t(dict.fromkeys(range(clusters), 1 / 3))
    assert (risen.p_value, risen.p_drop) == (expected, 1.0)


def test_ten_tasks_cannot_show_what_ten_signs_cannot() -> None:
    new = {n: [1.0, 1.0] for n in range(10)}
    old = {n: [0.0, float(n > 8)] for n in range(10)}
    found = compare(new, old)
    assert found.p_value == found.p_sign_flip == 2**-10


def test_the_interval_of_clusters_that_differ_alike_is_as_wide_as_their_number_demands() -> None:
    found = compare({n: [1.0, 1.0] for n in range(4)}, {n: [0.0, 0.0] for n in range(4)}).difference
    # the limit of 4 of 4 by Clopper and Pearson, 0.398, on the scale from -1 to 1
    assert (found.low, found.high) == pytest.approx((2 * 0.39763536 - 1, 1.0))


def test_a_comparison_says_whether_these_tasks_show_one_agent(new: Scores, old: Scores) -> None:
    assert compare(new, old).p_same_tasks == within_task(new, old).p_value


@pytest.mark.parametrize("wrong", [math.nan, math.inf, 1e308], ids=["nan", "infinite", "too large"])
def test_what_is_no_number_is_no_score(wrong: float) -> None:
    with pytest.raises(ValueError, match="leave trials without a score out"):
        compare({1: [1.0], 2: [wrong]}, {1: [1.0], 2: [0.0]})
    with pytest.raises(ValueError, match="leave trials without a score out"):
        compare_tasks({1: [wrong]}, {1: [0.0]})


def test_scores_beyond_one_keep_their_scale() -> None:
    new = {n: [10.0 + n, 12.0] for n in range(8)}
    old = {n: [3.0, 3.0 + n % 2] for n in range(8)}
    found = compare(new, old).difference
    assert found.estimate > 5
    assert found.low < found.estimate < found.high


def test_nothing_shared_is_refused() -> None:
    with pytest.raises(NotEstimableError, match="in common"):
        compare({"a": [1.0]}, {"b": [1.0]})
    with pytest.raises(NotEstimableError, match="two clusters"):
        compare({"a": [1.0]}, {"a": [1.0]})


def test_what_a_comparison_can_detect_follows_from_its_standard_error(
    new: Scores, old: Scores
) -> None:
    differences = {n: (sum(new[n]) - sum(old[n])) / 3 for n in new}
    # t quantiles on 39 degrees of freedom: 2.0227 at 0.975, 0.8512 at 0.8.
    expected = (2.0227 + 0.8512) * paired_t(differences).standard_error
    assert compare(new, old).detectable == pytest.approx(expected, rel=1e-3)


def test_two_tasks_detect_no_difference_of_rates() -> None:
    assert compare({"a": [1, 0], "b": [1]}, {"a": [1, 1], "b": [0]}).detectable is None
    beyond = compare({"a": [2.0], "b": [9.0]}, {"a": [1.0], "b": [3.0]})
    assert beyond.detectable is not None
    assert beyond.detectable > 1.0


def test_several_models_are_adjusted_together(new: Scores, old: Scores) -> None:
    models = {"new": new, "old": old, "third": {n: [0.0, 1.0, 1.0] for n in new}}
    found = compare_models(models)
    assert [(each.new, each.baseline) for each in found] == [
        ("new", "old"), ("new", "third"), ("old", "third"),
    ]  # fmt: skip
    assert min(each.p_adjusted for each in found) == pytest.approx(
        3 * min(each.p_value for each in found)
    )
    against = compare_models(models, baseline="old")
    assert [(each.new, each.baseline) for each in against] == [("new", "old"), ("third", "old")]


def test_tasks_are_compared_with_q_values_over_the_table() -> None:
    new = {n: [1.0] * 5 if n == 0 else [1.0, 0.0] for n in range(10)}
    old = {n: [0.0] * 5 if n == 0 else [1.0, 0.0] for n in range(12)}
    table = compare_tasks({**new, 12: []}, old)
    assert len(table) == 10
    assert (table[0].p_value, table[0].q_value) == pytest.approx((0.007937, 0.07937), abs=1e-5)
    assert (table[1].new, table[1].q_value) == (0.5, 1.0)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("trials", "effect", "least", "most"),
    [(1, 0.0, 0.01, 0.09), (3, 0.0755, 0.55, 0.77)],
)
def test_154_tasks_find_what_was_measured(
    trials: int, effect: float, least: float, most: float
) -> None:
    """Findings at the 5% level: false ones without an effect, true ones at 6.4 points.

    A few draws of `integration_tests/campaigns/campaign_statistics.py`, within two more standard errors. Clipping at 0 and 1 takes a shift of 7.55 points down to the 6.4 that are meant.
    """
    numpy = pytest.importorskip("numpy", reason="simulations need the extra 'statistics'")
    generator = numpy.random.default_rng(1)
    found = 0
    for _ in range(150):
        base, _ = simulate_scores(Population(0.42, 0.485), [1] * 154, 1, generator)
        noise = generator.normal(0.0, 0.148 / 2**0.5, (2, 154))
        chances = (base + noise + [[effect], [0.0]]).clip(0.0, 1.0)
        outcomes = (generator.random((2, 154, trials)) < chances[:, :, None]).astype(float)
        new, old = (dict(enumerate(table.tolist())) for table in outcomes)
        found += compare(new, old).p_value < 0.05
    assert least <= found / 150 <= most
