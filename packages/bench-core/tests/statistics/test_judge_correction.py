from __future__ import annotations

from typing import Any

import pytest

from bench_core.errors import NotEstimableError
from bench_core.statistics import CorrectedRate, corrected_rate, ppi, rogan_gladen
from bench_core.statistics.judge_correction import latent_class

np = pytest.importorskip("numpy", reason="the oracles here need numpy")

Verdicts = dict[int, bool]


def cases(
    generator: Any, *, n: int, known: int, rate: float, sensitivity: float, specificity: float
) -> tuple[Verdicts, Verdicts, Any]:
    truth = generator.random(n) < rate
    passed = np.where(truth, generator.random(n) < sensitivity, generator.random(n) > specificity)
    judged = {case: bool(verdict) for case, verdict in enumerate(passed)}
    return judged, {case: bool(truth[case]) for case in range(known)}, truth


@pytest.fixture
def example() -> tuple[Verdicts, Verdicts]:
    generator = np.random.default_rng(8)
    judged, truth, _ = cases(
        generator, n=120, known=40, rate=0.3, sensitivity=0.9, specificity=0.85
    )
    return judged, truth


def gibbs(judged: Verdicts, truth: Verdicts) -> tuple[Any, Any]:
    """Rates and success counts drawn from the same model by the textbook sampler, 4,000 chains."""
    generator = np.random.default_rng(2)
    known = [(truth[case], judged[case]) for case in truth]
    hits, misses = known.count((True, True)), known.count((True, False))
    alarms, rejections = known.count((False, True)), known.count((False, False))
    unknown = [verdict for case, verdict in judged.items() if case not in truth]
    passed, failed = sum(unknown), len(unknown) - sum(unknown)
    rate = np.full(4_000, 0.5)
    sensitivity = specificity = np.full(4_000, 0.8)
    for _ in range(200):
        yes = rate * sensitivity
        first = generator.binomial(passed, yes / (yes + (1 - rate) * (1 - specificity)))
        no = rate * (1 - sensitivity)
        second = generator.binomial(failed, no / (no + (1 - rate) * specificity))
        successes = hits + misses + first + second
        rate = generator.beta(1 + successes, 1 + len(judged) - successes)
        sensitivity = generator.beta(1 + hits + first, 1 + misses + second)
        specificity = generator.beta(1 + rejections + failed - second, 1 + alarms + passed - first)
    return rate, successes


def test_the_exact_posterior_is_what_gibbs_sampling_approximates(
    example: tuple[Verdicts, Verdicts],
) -> None:
    rates, successes = gibbs(*example)
    new, these = latent_class(*example)
    assert new.estimate == pytest.approx(rates.mean(), abs=0.005)
    assert (new.low, new.high) == pytest.approx(tuple(np.quantile(rates, [0.025, 0.975])), abs=0.01)
    assert these.estimate == pytest.approx(successes.mean() / 120, abs=0.005)
    ends = tuple(np.quantile(successes, [0.025, 0.975]) / 120)
    assert (these.low, these.high) == pytest.approx(ends, abs=0.01)
    assert (new.estimand, these.estimand) == ("new_tasks", "these_results")


# The reference uses the normal quantile, this package Student's t on 49 degrees of freedom.
T_FOR_NORMAL = 2.0095752371292397 / 1.959963984540054
PPI_JUDGED = {n: n % 5 < 3 or n % 11 == 0 for n in range(150)}
PPI_TRUTH = {n: n % 5 < 2 or n % 7 == 0 for n in range(50)}


def test_ppi_gives_the_figures_of_the_reference_implementation() -> None:
    # ppi-python 0.2.3, ppi_mean_pointestimate and ppi_mean_ci, on this very example.
    found = ppi(PPI_JUDGED, PPI_TRUTH)
    assert found.estimate == pytest.approx(0.496577990430622, abs=1e-9)
    assert found.width == pytest.approx(0.25313153558930473 * T_FOR_NORMAL, abs=1e-9)


@pytest.mark.slow
def test_ppi_agrees_with_the_reference_implementation_that_is_installed() -> None:
    ppi_py = pytest.importorskip("ppi_py", reason="ppi-python is the oracle here")
    labels = np.array([float(PPI_TRUTH[case]) for case in PPI_TRUTH])
    verdicts = np.array([float(PPI_JUDGED[case]) for case in PPI_TRUTH])
    rest = np.array([float(PPI_JUDGED[case]) for case in PPI_JUDGED if case not in PPI_TRUTH])
    low, high = ppi_py.ppi_mean_ci(labels, verdicts, rest, alpha=0.05)
    found = ppi(PPI_JUDGED, PPI_TRUTH)
    assert (found.low + found.high) / 2 == pytest.approx(float(low[0] + high[0]) / 2, abs=1e-9)
    assert found.width == pytest.approx(float(high[0] - low[0]) * T_FOR_NORMAL, abs=1e-9)


def test_rogan_gladen_by_hand() -> None:
    judged = {n: n < 48 for n in range(100)}
    known = {0: True, 1: True, 2: True, 3: False, 96: False, 97: False, 98: True, 99: False}
    # Sensitivity 3/4, specificity 3/4, 48% passed: (0.48 - 0.25) / 0.5.
    found = rogan_gladen(judged, known)
    assert found.estimate == pytest.approx(0.46)
    variance = (0.48 * 0.52 / 100 + (0.46**2 + 0.54**2) * (3 / 16) / 4) / 0.25
    assert found.high == pytest.approx(min(1.0, 0.46 + 1.959964 * variance**0.5), abs=1e-6)


def test_a_lenient_judge_is_corrected_downwards() -> None:
    generator = np.random.default_rng(5)
    judged, truth, reality = cases(
        generator, n=400, known=100, rate=0.1, sensitivity=0.95, specificity=0.8
    )
    found = corrected_rate(judged, truth)
    assert reality.mean() not in found.judged
    assert reality.mean() in found.these_results
    assert found.these_results.width < found.new_tasks.width
    assert found.ppi.estimate == pytest.approx(found.new_tasks.estimate, abs=0.05)
    assert found.rogan_gladen.estimate == pytest.approx(found.new_tasks.estimate, abs=0.05)
    assert found.refused == {}


def test_without_known_failures_the_correction_is_refused() -> None:
    judged = {n: n < 40 for n in range(68)}
    with pytest.raises(NotEstimableError, match=r"no known case is a failure.*specificity"):
        corrected_rate(judged, dict.fromkeys(range(7), True))


def test_without_known_successes_the_reason_is_noted() -> None:
    judged = {n: n < 40 for n in range(68)}
    found = corrected_rate(judged, {0: False, 60: False, 61: False})
    assert "rests on the prior" in found.notes[0]
    assert found.rogan_gladen is None
    assert "sensitivity is unknown" in found.refused["rogan_gladen"]


def test_a_judge_no_better_than_chance_cannot_be_inverted() -> None:
    judged = {n: n % 2 == 0 for n in range(20)}
    with pytest.raises(NotEstimableError, match="no better than chance"):
        rogan_gladen(judged, {0: True, 1: True, 2: False, 3: False})


def test_ppi_needs_known_and_unknown_cases() -> None:
    with pytest.raises(NotEstimableError, match="some unknown cases, got 2 and 0"):
        ppi({0: True, 1: False}, {0: True, 1: False})
    assert ppi(dict.fromkeys(range(9), True), {0: True, 1: False}).method == "PPI++, weight 0.000"


def test_when_everything_is_known_nothing_is_imputed() -> None:
    judged = {n: n % 3 > 0 for n in range(30)}
    truth = {n: n % 2 == 0 for n in range(30)}
    these = corrected_rate(judged, truth).these_results
    assert (these.estimate, these.low, these.high) == (0.5, 0.5, 0.5)


def test_known_cases_without_a_verdict_are_left_out_and_noted() -> None:
    judged = {n: n % 3 > 0 for n in range(30)}
    truth = {n: n % 2 == 0 for n in range(10)}
    found = corrected_rate(judged, {**truth, 99: True})
    assert found.new_tasks == corrected_rate(judged, truth).new_tasks
    assert found.notes == ("known cases without a verdict, left out: 1",)


def test_a_correction_survives_json(example: tuple[Verdicts, Verdicts]) -> None:
    found = corrected_rate(*example)
    assert CorrectedRate.model_validate_json(found.model_dump_json()) == found


@pytest.mark.slow
@pytest.mark.parametrize(
    ("rate", "sensitivity", "specificity"), [(0.4, 0.85, 0.9), (0.1, 0.9, 0.95)]
)
def test_the_credible_intervals_cover_with_twenty_known_cases(
    rate: float, sensitivity: float, specificity: float
) -> None:
    """A few draws of `integration_tests/campaigns/campaign_statistics.py`."""
    generator = np.random.default_rng(6)
    new_tasks = these_results = tried = 0
    for _ in range(25):
        judged, truth, reality = cases(
            generator, n=68, known=20, rate=rate, sensitivity=sensitivity, specificity=specificity
        )
        new, these = latent_class(judged, truth)
        tried += 1
        new_tasks += rate in new
        these_results += float(reality.mean()) in these
    assert new_tasks / tried >= 0.92
    assert these_results / tried >= 0.94
