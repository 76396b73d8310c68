"""The tests of the gate over arrays: of many simulated runs at once. Needs numpy.

They are those of `within_task`, `one_trial_p_value` and `tarone`; the tests compare them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from bench_core.statistics.bootstrap import load_numpy
from bench_core.statistics.one_trial import critical_mid_p, mid_p
from bench_core.statistics.permutation import MISSED, TIE_STEPS, TIED_TASKS, hypergeometric

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Whole = npt.NDArray[np.int64]
    Floats = npt.NDArray[np.float64]

_PAIR = 2
_MOST_ROOTS = 2_000_000
"""Roots of unity of all replications computed at once; some 100 MB."""
_NEVER = 1e-200
"""Added where a transform vanishes, so that it has a logarithm."""


def drop_p_values(
    now: Whole, before: Whole, trials: int, before_trials: int
) -> tuple[Floats, Floats]:
    """Return `within_task`'s one-sided p-values and the smallest attainable ones.

    Args:
        now: Successes of each task's new trials, shape (replications, tasks).
        before: The same of the baseline.
        trials: New trials per task.
        before_trials: Baseline trials per task.
    """
    numpy = load_numpy("a simulation")
    both = trials + before_trials
    totals = now + before
    counts = numpy.stack([(totals == total).sum(axis=1) for total in range(1, both)], axis=1)
    tied = counts.sum(axis=1) > TIED_TASKS
    steps = TIE_STEPS + numpy.arange(1, both) if both > _PAIR else numpy.ones(1, int)
    found = numpy.ones((2, len(now)))
    for rows, weights in ((tied, numpy.ones_like(steps)), (~tied, steps)):
        of_kind = _successes_of_kinds(now[rows], totals[rows], both)
        size = max(1, _MOST_ROOTS // int(1 + (counts[rows] @ weights).max(initial=0)))
        parts = [
            _exact(of_kind[at : at + size], counts[rows][at : at + size], weights, trials)
            for at in range(0, len(of_kind), size)
        ]
        if parts:
            found[:, rows] = numpy.concatenate(parts, axis=1)
    return found[0], found[1]


def _successes_of_kinds(now: Whole, totals: Whole, both: int) -> Whole:
    """Return new successes of the tasks with 1, 2, ... successes in all, shape (replications, kinds)."""
    numpy = load_numpy("a simulation")
    stacked: Whole = numpy.stack(
        [numpy.where(totals == total, now, 0).sum(axis=1) for total in range(1, both)], axis=1
    )
    return stacked


def _exact(won: Whole, counts: Whole, weights: Whole, trials: int) -> Floats:
    """Return p-values and attainable ones, as `NullDistribution` computes them, shape (2, replications)."""
    numpy = load_numpy("a simulation")
    both = len(weights) + 1
    kinds = [hypergeometric(trials, both - trials, total) for total in range(1, both)]
    least = numpy.array([max(0, total - both + trials) for total in range(1, both)])
    widths = weights * numpy.array([len(each) - 1 for each in kinds])
    means = weights * (trials * numpy.arange(1, both) / both - least)
    middle, reach = counts @ means, numpy.sqrt(0.5 * MISSED * (counts @ widths**2))
    low = numpy.floor(middle - reach).clip(0).astype(int)
    size = int((numpy.minimum(counts @ widths, numpy.ceil(middle + reach)) - low).max()) + 1
    turns = 2.0 * numpy.pi * numpy.arange(1, size // 2 + 1) / size
    logs = numpy.stack(
        [
            numpy.log(_NEVER + numpy.polynomial.polynomial.polyval(numpy.exp(1j * w * turns), each))
            for w, each in zip(weights.tolist(), kinds, strict=True)
        ]
    )
    # not `@`: threads of BLAS wait long for each other where other processes work, too
    value = numpy.exp(numpy.einsum("rk,kt->rt", counts, logs) - 1j * numpy.outer(low, turns))
    if size % 2 == 0:
        value[:, -1] *= 0.5  # its own conjugate
    position = (won - counts * least) @ weights
    terms = (position - low + 1).clip(0, size)
    series = (1.0 - numpy.exp(-1j * numpy.outer(terms, turns))) / (1.0 - numpy.exp(-1j * turns))
    found = (2.0 * (value * series).real.sum(axis=1) + terms) / size
    attainable = numpy.exp(counts @ numpy.log([each[0] for each in kinds]))
    p_values = numpy.where(position == 0, attainable, found).clip(attainable, 1.0)
    stacked: Floats = numpy.stack([p_values, attainable])
    return stacked


def finds_in_one_trial(now: Whole, before: Whole, alpha: float) -> npt.NDArray[np.bool_]:
    """Return whether `one_trial_p_value` is at most `alpha`: it is monotone in the mid-p."""
    numpy = load_numpy("a simulation")
    limit = critical_mid_p(now.shape[1], alpha)
    worse, changed = (now < before).sum(axis=1), (now != before).sum(axis=1)
    found: npt.NDArray[np.bool_] = numpy.array(
        [mid_p(*each) <= limit for each in zip(worse.tolist(), changed.tolist(), strict=True)]
    )
    return found
