from __future__ import annotations

import hashlib
import random
import subprocess
import sys
from collections import defaultdict
from typing import Any

import pytest

from bench_core.__about__ import __version__
from bench_core.errors import NotEstimableError
from bench_core.statistics import (
    Interval,
    bootstrap_macro_average,
    macro_average_interval,
)

np = pytest.importorskip("numpy", reason="the bootstrap needs the extra 'statistics'")

Scores = dict[str, list[float]]


@pytest.fixture
def scores() -> Scores:
    rng = random.Random(7)  # noqa: S311 - a seeded example, not a secret
    return {str(task): [float(rng.random() < 0.35) for _ in range(4)] for task in range(60)}


@pytest.fixture
def templates(scores: Scores) -> dict[str, int]:
    sizes = [5, 1, 3, 2, 4] * 4
    home = [template for template, size in enumerate(sizes) for _ in range(size)]
    return dict(zip(scores, home, strict=True))


@pytest.fixture(scope="module")
def scipy_bootstrap() -> Any:
    return pytest.importorskip("scipy.stats", reason="scipy is the oracle here").bootstrap


def of_values(values: Any, **how: Any) -> Interval:
    """The interval for the mean of values that stand alone."""
    return bootstrap_macro_average({n: [each] for n, each in enumerate(values)}, {}, **how)


def resamples(units: int, draws: int = 2_000, seed: int = 5) -> Any:
    """The index table that scipy's own bootstrap draws from a generator of this seed."""
    return np.random.default_rng(seed).integers(0, units, (draws, units))


@pytest.mark.parametrize("method", ["percentile", "BCa"])
@pytest.mark.parametrize("level", [0.8, 0.95])
def test_mean_of_tasks_that_stand_alone_agrees_with_scipy_on_identical_resamples(
    scipy_bootstrap: Any, scores: Scores, method: str, level: float
) -> None:
    means = np.array([np.mean(trials) for trials in scores.values()])
    expected = scipy_bootstrap(
        (means,), np.mean, n_resamples=2_000, method=method, confidence_level=level, rng=5
    ).confidence_interval
    found = bootstrap_macro_average(
        scores, {}, method=method.lower(), level=level, indices=resamples(60)
    )
    assert (found.low, found.high) == pytest.approx((expected.low, expected.high), abs=1e-12)
    assert (found.draws, found.seed) == (2_000, None)


@pytest.mark.parametrize("method", ["percentile", "BCa"])
def test_macro_average_agrees_with_scipy_on_identical_resamples(
    scipy_bootstrap: Any, scores: Scores, templates: dict[str, int], method: str
) -> None:
    means = defaultdict(list)
    for task, trials in scores.items():
        means[templates[task]].append(np.mean(trials))
    values = np.array([np.mean(each) for each in means.values()])
    expected = scipy_bootstrap(
        (values,), np.mean, n_resamples=2_000, method=method, rng=5
    ).confidence_interval
    found = bootstrap_macro_average(scores, templates, method=method.lower(), indices=resamples(20))
    assert (found.low, found.high) == pytest.approx((expected.low, expected.high), abs=1e-12)
    assert found.estimate == pytest.approx(values.mean())


def test_percentile_agrees_with_arch_on_identical_resamples() -> None:
    arch = pytest.importorskip("arch.bootstrap", reason="arch is the oracle here")
    values = np.random.default_rng(3).normal(size=25)
    indices = np.random.default_rng(11).integers(25, size=(1_000, 25))
    bootstrap = arch.IIDBootstrap(values, seed=np.random.default_rng(11))
    expected = bootstrap.conf_int(lambda x: x.mean(), reps=1_000, method="percentile")
    found = of_values(values, method="percentile", indices=indices)
    assert (found.low, found.high) == pytest.approx(tuple(expected.ravel()), abs=1e-12)


def fingerprint() -> str:
    """A digest of the exact bits of every way to draw."""
    few_levels = {n: [float(n % 3 == 0)] for n in range(200)}
    many_levels = {n: [(n * 37 % 101) / 101] for n in range(90)}
    intervals = [
        bootstrap_macro_average(few_levels, {}, method="bca", seed=3),
        bootstrap_macro_average(many_levels, {}, method="bca", seed=3),
        bootstrap_macro_average(many_levels, {n: n * n % 11 for n in range(90)}, seed=3),
    ]
    bits = " ".join(f"{each.low.hex()} {each.high.hex()}" for each in intervals)
    return hashlib.sha256(bits.encode()).hexdigest()


def test_the_same_seed_gives_the_same_bits_in_another_process() -> None:
    code = (
        "import importlib.util, sys\n"
        f"spec = importlib.util.spec_from_file_location('bits', {__file__!r})\n"
        "module = importlib.util.module_from_spec(spec)\n"
        "spec.loader.exec_module(module)\n"
        "print(module.fingerprint())\n"
    )
    other = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert other.stdout.strip() == fingerprint()


def test_another_seed_gives_another_interval() -> None:
    values = [float(n * 37 % 101) for n in range(90)]
    assert of_values(values, seed=1) == of_values(values, seed=1)
    assert of_values(values, seed=1).low != of_values(values, seed=2).low


@pytest.mark.parametrize("distinct", [2, 900])
def test_every_way_of_drawing_has_the_spread_of_a_mean(distinct: int) -> None:
    values = np.random.default_rng(0).permutation(np.arange(900) % distinct / (distinct - 1))
    interval = of_values(values, method="percentile", draws=40_000, seed=2)
    expected = 2 * 1.959964 * values.std() / np.sqrt(900)
    assert interval.width == pytest.approx(expected, rel=0.03)


@pytest.mark.parametrize("clusters", [2, 3, 5, 7, 41, 300])
def test_drawing_several_clusters_at_once_leaves_none_out(clusters: int) -> None:
    # One value stands out; it is drawn binomial(n, 1/n) times, whose deciles are 0 and 2.
    values = [1e-9 * n for n in range(clusters - 1)] + [1.0]
    interval = of_values(values, method="percentile", level=0.8, draws=20_000, seed=4)
    assert interval.low == pytest.approx(0.0, abs=1e-6)
    assert interval.high == pytest.approx(2 / clusters, abs=1e-6)


def test_equal_outcomes_have_no_bootstrap_width_and_a_note() -> None:
    interval = of_values([1.0] * 7)
    assert (interval.low, interval.high) == (1.0, 1.0)
    assert "use the Wilson one" in interval.notes[0]


def test_bootstrap_and_default_agree_for_many_tasks() -> None:
    scores = {n: [float(n % 4 == 0), float(n % 7 == 0)] for n in range(3_000)}
    bootstrap = bootstrap_macro_average(scores, {}, method="bca")
    default = macro_average_interval(scores, {})
    assert bootstrap.estimate == default.estimate
    assert bootstrap.low == pytest.approx(default.low, abs=0.002)
    assert bootstrap.high == pytest.approx(default.high, abs=0.002)


def test_nothing_to_resample_is_refused() -> None:
    with pytest.raises(NotEstimableError, match="one cluster"):
        bootstrap_macro_average({"a": [1.0, 0.0]}, {})


def test_without_numpy_the_error_names_the_extra() -> None:
    code = (
        "import sys; sys.modules['numpy'] = None\n"
        "from bench_core.errors import MissingExtraError\n"
        "from bench_core.statistics import bootstrap_macro_average, success_rate_interval\n"
        "print(success_rate_interval({1: [1], 2: [0]}).estimate)\n"
        "try:\n    bootstrap_macro_average({1: [1.0], 2: [0.0]}, {})\n"
        "except MissingExtraError as error:\n    print(error)\n"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    estimate, message = run.stdout.splitlines()
    assert estimate == "0.5"
    assert message == (
        "a bootstrap interval needs numpy, which is not installed: "
        f"`pip install 'bench-core[statistics]=={__version__}'` adds it"
    )


def test_importing_and_summarising_load_no_numpy() -> None:
    code = (
        "import sys, bench_core.statistics as s\n"
        "s.summarise([], []); s.wilson(1, 2); s.bootstrap_macro_average\n"
        "print('numpy' in sys.modules)\n"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "False"
