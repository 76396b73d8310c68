"""How narrow an interval can be on average that covers whatever the rate and the correlations are.

The mean width of an interval is the integral over all values of the chance that it holds them (Pratt 1961, JASA 56:549).
An interval that covers is a family of tests, and none rejects a value more often than the most powerful test of one
law with that value, or of a mixture of such laws, against the law that is true (Neyman and Pearson).
"""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy.special import betaln, gammaln, logsumexp
from scipy.stats import beta

if TYPE_CHECKING:
    from collections.abc import Collection

    import numpy.typing as npt

    from simulations.unequal import Design

    Floats = npt.NDArray[np.float64]
    Whole = npt.NDArray[np.int64]

__all__ = ["least_widths"]

ALIKE = (0.0, 0.05, 0.2, 0.5, 1.0)
"""How strongly trials of a task, and tasks of a template, may agree in laws that are tested."""
PARTS = (0.0, 0.5, 1.0)
"""The share of a difference by which the first agent's rate lies above the true one."""
NODES, STEPS, ROUNDS = 16, 32, 20
NONE = 1e-300
LARGEST = 100.0


class _Drawn(NamedTuple):
    """Benchmarks, as the different templates there are and where these stand, shape (draws, templates).

    `kinds` has a row for each: how many of its tasks succeeded in no trial, in one, ...
    """

    kinds: Whole
    places: Whole


def least_widths(
    design: Design,
    trials: int,
    *,
    of: Collection[str] = ("rate", "difference"),
    levels: tuple[float, ...],
    draws: int,
    seed: int,
) -> dict[str, list[float]]:
    """Return what the mean width of intervals is at least, for a `rate` and for a `difference`, by level.

    A rate is that of tasks or a macro average: both have one truth. A difference is of two agents of this law, each on
    its own.

    Args:
        design: Templates, and the law that is true.
        trials: Of each task.
        of: Which of the two.
        levels: Coverage that is kept to.
        draws: Benchmarks drawn.
        seed: Seed of numpy's PCG64.
    """
    rate, alike, together = design.population
    several = max(design.sizes) > 1
    drawn = _draw(design, trials, 2 * draws, np.random.default_rng(seed))
    true = _log_likelihood(drawn, trials, rate, alike, together)
    laws = [
        (one, other)
        for one, other in product(ALIKE if trials > 1 or several else (0.0,), ALIKE if several else (0.0,))
    ]  # fmt: skip
    known: dict[tuple[float, tuple[float, float]], Floats] = {}

    def beside(value: float, law: tuple[float, float]) -> Floats:
        """Return the logarithm of how likely each benchmark is under a law, beside the true one."""
        if (value, law) not in known:
            known[value, law] = _log_likelihood(drawn, trials, value, *law) - true
        return known[value, law]

    found: dict[str, list[float]] = {}
    if "rate" in of:
        ends = np.concatenate([_towards(rate, 0.0)[::-1], [rate], _towards(rate, 1.0)])
        held = [_held([beside(value, law)[:draws] for law in laws], levels) for value in ends]
        found["rate"] = np.trapezoid(np.array(held), ends, axis=0).tolist()
    if "difference" not in of:
        return found
    gaps = np.concatenate([[0.0], _towards(0.0, 1.0)])
    held = []
    for gap in gaps:
        rates = [(rate + part * gap, rate - (1.0 - part) * gap) for part in PARTS]
        inside = [each for each in rates if each[1] >= 0.0 and each[0] <= 1.0]
        if not inside:  # beyond the rates looked at nothing is held
            held.append([0.0] * len(levels))
            continue
        likely = [
            beside(first, law)[:draws] + beside(second, law)[draws:]
            for (first, second), law in product(inside, laws)
        ]
        held.append(_held(likely, levels))
    found["difference"] = (2.0 * np.trapezoid(np.array(held), gaps, axis=0)).tolist()
    return found


def _towards(start: float, end: float) -> Floats:
    """Return values from next to the start to the end, denser near the start."""
    shares: Floats = np.linspace(0.0, 1.0, STEPS)[1:] ** 2
    values: Floats = start + (end - start) * shares
    return values


def _held(likely: list[Floats], levels: tuple[float, ...]) -> list[float]:
    """Return how often, at most levels being kept to, the hardest law to tell from the true one is not rejected."""
    table = np.exp(np.minimum(np.array(likely), LARGEST))
    # of mixtures the one that looks most like the true law, by expectation-maximisation
    shares = np.full(len(table), 1.0 / len(table))
    for _ in range(ROUNDS if len(table) > 1 else 0):
        shares *= (table / np.maximum(shares @ table, NONE)).mean(axis=1)
        shares /= max(float(shares.sum()), NONE)
    found = []
    for level in levels:
        # chosen by half of the draws and counted in the other: the largest of many shares is too large
        chosen = max([*table, shares @ table], key=lambda each: _left(each[::2], level))
        found.append(_left(chosen[1::2], level))
    return found


def _left(weights: Floats, level: float) -> float:
    """Return the share of true draws that the most powerful test of a law with such weights does not reject."""
    mass = np.cumsum(np.sort(weights)) / len(weights)
    return 1.0 - float(np.searchsorted(mass, 1.0 - level, side="right")) / len(weights)


def _spread(rate: float, alike: float) -> Floats:
    """Return chances around a rate, as many of each as of another, with just that mean."""
    if alike <= 0.0 or rate <= 0.0 or rate >= 1.0:
        return np.array([rate])
    concentration = 1.0 / alike - 1.0
    one, other = rate * concentration, (1.0 - rate) * concentration
    edges = beta.ppf(np.linspace(0.0, 1.0, NODES + 1), one, other)
    chances: Floats = NODES * rate * np.diff(beta.cdf(edges, one + 1.0, other))
    return chances.clip(0.0, 1.0)


def _log_chances(trials: int, centres: Floats, alike: float) -> Floats:
    """Return log chances of 0, 1, ... successes of a task around each centre, shape (centres, trials + 1)."""
    counts = np.arange(trials + 1)
    ways = gammaln(trials + 1) - gammaln(counts + 1) - gammaln(trials - counts + 1)
    inside = centres.clip(1e-9, 1.0 - 1e-9)[:, None]
    if alike <= 0.0:
        plain: Floats = ways + counts * np.log(inside) + (trials - counts) * np.log1p(-inside)
        return plain
    if alike >= 1.0:
        ends: Floats = np.full((len(centres), trials + 1), np.log(NONE))
        ends[:, [0]], ends[:, [-1]] = np.log1p(-inside), np.log(inside)
        return ends
    one = inside * (1.0 / alike - 1.0)
    other = (1.0 - inside) * (1.0 / alike - 1.0)
    found: Floats = ways + betaln(counts + one, trials - counts + other) - betaln(one, other)
    return found


def _centres(rate: float, together: float) -> tuple[Floats, Floats]:
    """Return the chances that templates have, and the share of each."""
    if together >= 1.0:
        return np.array([0.0, 1.0]), np.array([1.0 - rate, rate])
    centres = _spread(rate, together)
    return centres, np.full(len(centres), 1.0 / len(centres))


def _draw(design: Design, trials: int, draws: int, generator: np.random.Generator) -> _Drawn:
    rate, alike, together = design.population
    centres, shares = _centres(rate, together if max(design.sizes) > 1 else 0.0)
    chances = np.exp(_log_chances(trials, centres, alike))
    chances /= chances.sum(axis=1, keepdims=True)
    own = generator.choice(len(centres), size=(draws, len(design.sizes)), p=shares)
    counts = generator.multinomial(np.array(design.sizes), chances[own])
    kinds, places = np.unique(counts.reshape(-1, trials + 1), axis=0, return_inverse=True)
    return _Drawn(kinds, places.reshape(draws, -1))


def _log_likelihood(
    drawn: _Drawn, trials: int, rate: float, alike: float, together: float
) -> Floats:
    centres, shares = _centres(rate, together if drawn.kinds.sum(axis=1).max() > 1 else 0.0)
    each = drawn.kinds @ _log_chances(trials, centres, alike).T + np.log(np.maximum(shares, NONE))
    found: Floats = logsumexp(each, axis=1)[drawn.places].sum(axis=1)
    return found
