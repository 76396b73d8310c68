"""Intervals hold what they are about as often as they say; the full tables are in docs/coverage-tables.md."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from simulations.populations import (
    Population,
    interval_ends,
    simulate_coverage,
    simulate_scores,
    simulate_uneven_trials,
)
from simulations.unequal import Design, simulate_cells

from bench_core.statistics import macro_average_interval, success_rate_interval

np = pytest.importorskip("numpy", reason="simulations need the extra 'statistics'")

TEMPLATE_SIZES = json.loads(
    (Path(__file__).parent / "data" / "webarena_template_sizes.json").read_text("utf-8")
)
POPULATIONS = [Population(0.2, 0.62), Population(0.45, 0.25)]
TEMPLATED = [Population(0.03, 0.25, 0.5), Population(0.45, 0.3, 0.2)]
REPLICATIONS = 300


def template_sizes(site: str) -> list[int]:
    return [int(size) for size, count in TEMPLATE_SIZES[site].items() for _ in range(count)]


def test_the_same_seed_simulates_the_same() -> None:
    settings = {"sizes": [2, 1, 3], "trials": 2, "replications": 20}
    first = simulate_coverage(POPULATIONS[0], seed=1, **settings)
    assert first == simulate_coverage(POPULATIONS[0], seed=1, **settings)
    assert first != simulate_coverage(POPULATIONS[0], seed=2, **settings)


@pytest.mark.parametrize("estimand", ["new_tasks", "same_tasks"])
@pytest.mark.parametrize("average", ["tasks", "templates"])
def test_arrays_give_the_intervals_of_single_benchmarks(average: str, estimand: str) -> None:
    sizes, trials = [1, 3, 2, 4, 2, 3, 1, 2], 3
    generator = np.random.default_rng(1)
    rates = generator.choice([0.0, 0.02, 0.5, 1.0], (40, 1))
    won = generator.binomial(trials, rates, (40, sum(sizes)))
    tasks = np.repeat(sizes, sizes) * len(sizes) if average == "templates" else sum(sizes)
    weights = np.ones(sum(sizes)) / tasks
    low, high = interval_ends(won / trials, weights, sizes, trials, estimand=estimand, level=0.95)
    homes = dict(enumerate(np.repeat(np.arange(len(sizes)), sizes).tolist()))
    for row in range(40):
        table = {t: [1.0] * w + [0.0] * (trials - w) for t, w in enumerate(won[row].tolist())}
        if average == "templates":
            expected = macro_average_interval(table, homes, estimand=estimand)
        else:
            expected = success_rate_interval(table, clusters=homes, estimand=estimand)
        assert (low[row], high[row]) == pytest.approx((expected.low, expected.high), abs=1e-9)
        assert (low[row] == 0.0, high[row] == 1.0) == (expected.low == 0.0, expected.high == 1.0)


def test_simulated_trials_agree_as_strongly_as_asked() -> None:
    generator = np.random.default_rng(1)
    chances, scores = simulate_scores(Population(0.4, 0.5), [1] * 20_000, 2, generator)
    assert chances.mean() == pytest.approx(0.4, abs=0.01)
    assert np.corrcoef(scores.T)[0, 1] == pytest.approx(0.5, abs=0.02)


def test_simulated_tasks_of_a_template_agree_as_strongly_as_asked() -> None:
    population = Population(0.4, 0.0, templates_alike=0.3)
    _, scores = simulate_scores(population, [2] * 20_000, 1, np.random.default_rng(1))
    assert np.corrcoef(scores.reshape(-1, 2).T)[0, 1] == pytest.approx(0.3, abs=0.02)


@pytest.mark.slow
@pytest.mark.parametrize("trials", [1, 3])
@pytest.mark.parametrize("tasks", [7, 30, 154])
def test_the_default_interval_covers_new_tasks(tasks: int, trials: int) -> None:
    covered = [
        simulate_coverage(
            each, sizes=[1] * tasks, trials=trials, replications=REPLICATIONS, seed=11
        ).covered
        for each in POPULATIONS
    ]
    assert sum(covered) / len(covered) >= 0.93
    assert min(covered) >= 0.88


@pytest.mark.slow
@pytest.mark.parametrize(("tasks", "trials"), [(30, 5), (154, 3)])
def test_the_default_interval_covers_the_same_tasks_run_again(tasks: int, trials: int) -> None:
    covered = [
        simulate_coverage(
            each,
            sizes=[1] * tasks,
            trials=trials,
            estimand="same_tasks",
            replications=4 * REPLICATIONS,
            seed=12,
        ).covered
        for each in POPULATIONS
    ]
    assert 0.93 <= sum(covered) / len(covered) <= 0.97


@pytest.mark.slow
@pytest.mark.parametrize(
    ("site", "trials", "average"),
    [("all", 1, "templates"), ("map", 3, "templates"), ("reddit", 3, "tasks")],
)
def test_averages_cover_over_real_template_sizes(site: str, trials: int, average: str) -> None:
    covered = [
        simulate_coverage(
            each,
            sizes=template_sizes(site),
            trials=trials,
            average=average,
            replications=REPLICATIONS,
            seed=13,
        ).covered
        for each in TEMPLATED
    ]
    assert min(covered) >= 0.92


@pytest.mark.parametrize(
    ("tasks_of", "templates", "tasks"), [("all", 190, 812), ("hard", 114, 258)]
)
def test_the_template_sizes_are_those_of_all_tasks_and_of_the_hard_ones(
    tasks_of: str, templates: int, tasks: int
) -> None:
    assert (len(template_sizes(tasks_of)), sum(template_sizes(tasks_of))) == (templates, tasks)


@pytest.mark.parametrize(
    ("sizes", "rate", "alike"),
    [
        ([24, 19, 19, 5, 4, 3, 3, 21, 24, 17, 13, 2], 0.1, 0.6),
        ([13, 13, *[1] * 37], 0.5, 0.3),
        ([30 // n for n in range(1, 31)], 0.8, 1.0),
        ([131 // n or 1 for n in range(1, 271)], 0.1, 1.0),
        ([6, *[1] * 24], 0.2, 0.3),
    ],
    ids=["WAA's domains", "two large templates", "Zipf", "Zipf, 270", "one large template"],
)
def test_statements_about_templates_of_unequal_size_hold_and_are_not_wide(
    sizes: list[int], rate: float, alike: float
) -> None:
    design = Design(sizes, Population(rate, alike, alike))
    cells = [
        cell for _, cell in simulate_cells(design, trials=(1, 3), replications=300, seed=3)
        if cell.covered is not None and cell.effective_clusters >= 8
    ]  # fmt: skip
    assert cells
    for cell in cells:
        assert cell.covered > 0.9, cell
        assert cell.width < 1.4 * cell.ideal, cell


def test_two_of_three_templates_of_most_tasks_are_refused() -> None:
    design = Design([40, 40, *[1] * 20], Population(0.5, 0.3, 0.3))
    cells = [cell for _, cell in simulate_cells(design, trials=(1,), replications=10, seed=3)]
    refused = {cell.statement: cell.covered is None for cell in cells}
    assert refused == {"rate": True, "difference": True, "joint": True, "macro average": False}


@pytest.mark.parametrize("single", ["drawn", "noisiest", "alone"])
def test_tasks_with_one_trial_leave_the_interval_for_the_same_tasks_right(single: str) -> None:
    covered = simulate_uneven_trials(
        Population(0.1, 0.5), tasks=30, trials=3, single=single, replications=400, seed=3
    )
    assert covered > 0.91


@pytest.mark.parametrize("tasks", [12, 30])
def test_two_trials_of_the_same_tasks_are_enough(tasks: int) -> None:
    found = simulate_coverage(
        Population(0.2, 0.9), sizes=[1] * tasks, trials=2, estimand="same_tasks",
        replications=2_000, seed=3,
    )  # fmt: skip
    assert found.covered > 0.93


def test_differences_of_few_tasks_that_hardly_succeed_cannot_have_narrow_intervals() -> None:
    pytest.importorskip("scipy")
    from simulations.widths import least_widths  # which loads it

    design = Design([1] * 12, Population(0.02, 0.0))
    known = {"levels": (0.95, 0.5), "draws": 200, "seed": 3}
    found = least_widths(design, 1, **known)
    _, (_, cell), *_ = simulate_cells(design, trials=(1,), replications=10, seed=3)
    assert cell.statement == "difference"
    assert cell.ideal * 1.3 < found["difference"][0] < cell.width * 1.3
    assert found["difference"][1] < found["difference"][0]
    assert least_widths(design, 1, of=["rate"], **known) == {"rate": found["rate"]}
