"""Success rates judged by a fallible judge, corrected by the cases whose truth is known.

A judge that passes 10% of failures turns a true rate of 10% into 18%. The known cases show how
often it errs, if they were chosen without looking at its verdicts and include failures as well as
successes.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import Literal

from pydantic import Field

from bench_core.errors import NotEstimableError
from bench_core.records import Record
from bench_core.statistics.agreement import Accuracy, accuracy
from bench_core.statistics.clustering import Key
from bench_core.statistics.distributions import t_quantile
from bench_core.statistics.intervals import Interval, or_reason, require_level
from bench_core.statistics.posterior import (
    PRIOR,
    discrete_quantile,
    posterior_of_successes,
    rate_quantile,
)
from bench_core.statistics.proportions import t_or_normal_quantile, wilson

_LEAST_LABELLED = 2


class CorrectedRate(Record):
    """A judged success rate, its correction and the cross-checks.

    Attributes:
        judged: Share of cases the judge passed: the success rate if the judge never erred.
        accuracy: The judge against the known cases.
        new_tasks: Corrected rate on new tasks of this kind (Bayesian latent class).
        these_results: Corrected rate of exactly these cases: known ones as they are, the others'
            outcomes imputed.
        ppi: The same by prediction-powered inference, as a cross-check; `None` for `refused`.
        rogan_gladen: The same by Rogan and Gladen; `None` for `refused`.
        refused: Why a cross-check is `None`, by name.
        notes: Warnings to the reader.
    """

    schema_version: Literal[1] = 1
    judged: Interval
    accuracy: Accuracy
    new_tasks: Interval
    these_results: Interval
    ppi: Interval | None = None
    rogan_gladen: Interval | None = None
    refused: dict[str, str] = Field(default_factory=dict)
    notes: tuple[str, ...] = ()


def corrected_rate(
    judged: Mapping[Key, bool], truth: Mapping[Key, bool], *, level: float = 0.95
) -> CorrectedRate:
    """Correct a judged success rate by the cases whose truth is known.

    The default is the Bayesian latent-class model of `latent_class`; PPI++ and Rogan-Gladen
    serve as cross-checks. Known cases must be a random choice: if only cases that the judge passed,
    or only successes, are chosen, every method is wrong and more data make it worse.

    Args:
        judged: Case (one per independent task) to the judge's verdict.
        truth: The known cases, a subset of these, to their true outcomes.
        level: Nominal confidence.

    Raises:
        NotEstimableError: No known case is a failure: nothing then shows how often the judge passes
            failures. Or no case is known.

    >>> judged = {n: n % 5 < 3 for n in range(100)}
    >>> truth = {n: n % 5 < 2 for n in range(30)}
    >>> found = corrected_rate(judged, truth)
    >>> print(found.judged, "->", found.these_results)
    0.600 [0.502, 0.691] -> 0.410 [0.290, 0.520]
    """
    found = accuracy(judged, truth, level=level)
    unknown = [case for case in truth if case not in judged]
    new_tasks, these_results = latent_class(judged, truth, level=level)
    refused: dict[str, str] = {}
    notes = []
    if not found.true_positive + found.false_negative:
        notes.append("no known success: how often the judge fails successes rests on the prior")
    if unknown:
        notes.append(f"known cases without a verdict, left out: {len(unknown)}")
    return CorrectedRate(
        judged=wilson(sum(map(bool, judged.values())), len(judged), level=level),
        accuracy=found,
        new_tasks=new_tasks,
        these_results=these_results,
        ppi=or_reason(lambda: ppi(judged, truth, level=level), "ppi", refused),
        rogan_gladen=or_reason(
            lambda: rogan_gladen(judged, truth, level=level), "rogan_gladen", refused
        ),
        refused=refused,
        notes=tuple(notes),
    )


def latent_class(
    judged: Mapping[Key, bool], truth: Mapping[Key, bool], *, level: float = 0.95
) -> tuple[Interval, Interval]:
    """Return the corrected rate for new tasks and for exactly these cases.

    The model: a case succeeds with an unknown rate; the judge passes successes with its
    sensitivity and failures with 1 - specificity, all three uniform a priori. The posterior is
    summed exactly over how many of the unknown passed and failed cases are successes, so nothing is
    sampled and no seed is needed (Joseph, Gyorkos and Coupal 1995 sample it).

    Args:
        judged: Case to the judge's verdict.
        truth: The known cases to their true outcomes.
        level: Nominal confidence of the credible intervals (equal tails).

    Raises:
        NotEstimableError: As `corrected_rate`.

    >>> judged = {n: n % 5 < 3 for n in range(100)}
    >>> new, these = latent_class(judged, {n: n % 5 < 2 for n in range(30)})
    >>> print(new, these.estimate < 0.45)
    0.412 [0.266, 0.559] True
    """
    require_level(level)
    known = accuracy(judged, truth)
    _require_failures(known)
    unknown = Counter(bool(verdict) for case, verdict in judged.items() if case not in truth)
    chances = posterior_of_successes(known, unknown[True], unknown[False])
    n = known.agreement.n + unknown.total()
    tails = ((1.0 - level) / 2.0, (1.0 + level) / 2.0)
    successes = known.true_positive + known.false_negative
    counts = [(successes + extra, chance) for extra, chance in enumerate(chances)]
    mean = math.fsum(chance * (PRIOR + k) / (2 * PRIOR + n) for k, chance in counts)
    low, high = (rate_quantile(tail, counts, n) for tail in tails)
    new = Interval(
        estimate=mean,
        low=low,
        high=high,
        level=level,
        method="Bayesian latent class, uniform priors, exact",
        estimand="new_tasks",
        n=n,
    )
    first, last = (discrete_quantile(tail, counts) for tail in tails)
    centre = math.fsum(chance * k for k, chance in counts) / n
    these = new.model_copy(
        update={
            "estimate": centre,
            "low": first / n,
            "high": last / n,
            "estimand": "these_results",
            "method": "Bayesian latent class, unknown outcomes imputed, exact",
        }
    )
    return new, these


def ppi(judged: Mapping[Key, bool], truth: Mapping[Key, bool], *, level: float = 0.95) -> Interval:
    """Return the rate by prediction-powered inference with a tuned weight (PPI++).

    Angelopoulos, Duchi and Zrnic (2023), arXiv 2311.01453, with Student's t on known - 1 for the
    normal quantile. Needs about 50 known cases; below, its interval is too short for rare events.

    Raises:
        NotEstimableError: Fewer than two known, or no unknown, cases.

    >>> judged = {n: n % 5 < 3 for n in range(100)}
    >>> print(ppi(judged, {n: n % 5 < 2 for n in range(30)}))
    0.400 [0.248, 0.552]
    """
    labelled = [(float(truth[case]), float(judged[case])) for case in truth if case in judged]
    unlabelled = [float(verdict) for case, verdict in judged.items() if case not in truth]
    n, rest = len(labelled), len(unlabelled)
    if n < _LEAST_LABELLED or not rest:
        raise NotEstimableError(
            f"prediction-powered inference needs two known and some unknown cases, got {n} "
            f"and {rest}"
        )
    verdicts = [f for _, f in labelled]
    mean_truth, mean_verdict = fmean(y for y, _ in labelled), fmean(verdicts)
    covariance = math.fsum((y - mean_truth) * (f - mean_verdict) for y, f in labelled) / n
    spread = _variance([*verdicts, *unlabelled], ddof=1)
    # of the judge's verdicts, so that the variance is smallest
    weight = min(1.0, max(0.0, covariance / ((1.0 + n / rest) * spread))) if spread else 0.0
    rectified = [y - weight * f for y, f in labelled]
    estimate = weight * math.fsum(unlabelled) / rest + math.fsum(rectified) / n
    variance = weight**2 * _variance(unlabelled) / rest + _variance(rectified) / n
    half = t_quantile(0.5 + require_level(level) / 2.0, n - 1) * math.sqrt(variance)
    return Interval(
        estimate=estimate,
        low=max(0.0, estimate - half),
        high=min(1.0, estimate + half),
        level=level,
        method=f"PPI++, weight {weight:.3f}",
        estimand="new_tasks",
        n=n + rest,
    )


def rogan_gladen(
    judged: Mapping[Key, bool], truth: Mapping[Key, bool], *, level: float = 0.95
) -> Interval:
    """Return the rate by Rogan and Gladen's correction with a delta-method interval.

    Rogan and Gladen (1978), American Journal of Epidemiology 107:71:
    (passed - (1 - specificity)) / (sensitivity + specificity - 1).

    Raises:
        NotEstimableError: The known cases lack failures or successes, or the judge does no better
            than chance on them.

    >>> judged = {n: n % 5 < 3 for n in range(100)}
    >>> print(rogan_gladen(judged, {n: n % 5 < 2 for n in range(30)}))
    0.400 [0.157, 0.643]
    """
    known = accuracy(judged, truth)
    specific = _require_failures(known)
    if known.sensitivity is None:
        raise NotEstimableError("no known case is a success: the judge's sensitivity is unknown")
    sensitivity, specificity = known.sensitivity.estimate, specific.estimate
    gain = sensitivity + specificity - 1.0
    if gain <= 0.0:
        raise NotEstimableError("the judge does no better than chance on the known cases")
    n = len(judged)
    passed = sum(map(bool, judged.values())) / n
    estimate = min(1.0, max(0.0, (passed + specificity - 1.0) / gain))
    variance = (
        passed * (1.0 - passed) / n
        + estimate**2 * sensitivity * (1.0 - sensitivity) / known.sensitivity.n
        + (1.0 - estimate) ** 2 * specificity * (1.0 - specificity) / specific.n
    ) / gain**2
    half = t_or_normal_quantile(level, None) * math.sqrt(variance)
    return Interval(
        estimate=estimate,
        low=max(0.0, estimate - half),
        high=min(1.0, estimate + half),
        level=level,
        method="Rogan-Gladen, delta method",
        estimand="new_tasks",
        n=n,
    )


def _require_failures(known: Accuracy) -> Interval:
    """Return the judge's specificity, which takes a known failure."""
    if known.specificity is None:
        raise NotEstimableError(
            "no known case is a failure, so nothing shows how often the judge passes failures "
            "(its specificity): add known failures, e.g. end states changed to be wrong"
        )
    return known.specificity


def _variance(values: Sequence[float], *, ddof: int = 0) -> float:
    mean = fmean(values)
    return math.fsum((value - mean) ** 2 for value in values) / (len(values) - ddof)
