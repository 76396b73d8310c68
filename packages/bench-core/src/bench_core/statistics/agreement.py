"""How well two raters agree (a judge and a human, two judges), and whether confidence is calibrated."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from typing import TypeVar

from bench_core.errors import NotEstimableError
from bench_core.records import Record
from bench_core.statistics.distributions import normal_quantile
from bench_core.statistics.intervals import Interval, require_level
from bench_core.statistics.proportions import wilson
from bench_core.statistics.rates import success_rate_interval

Label = TypeVar("Label", bound="Hashable")


class Accuracy(Record):
    """A yes/no rater compared with the truth: the confusion table and the rates derived from it.

    Attributes:
        true_positive: Rated yes, is yes.
        false_positive: Rated yes, truly no: a pass that should not be.
        false_negative: Rated no, truly yes.
        true_negative: Rated no, truly no.
        agreement: Share of cases in which the rater is right.
        sensitivity: Share of true yes found; `None` without any.
        specificity: Share of truly negative cases found; `None` without any.
        kappa: Agreement beyond chance; `None` if undefined.
        disagreements: Cases in which the rater is wrong, in order.
    """

    true_positive: int
    false_positive: int
    false_negative: int
    true_negative: int
    agreement: Interval
    sensitivity: Interval | None = None
    specificity: Interval | None = None
    kappa: Interval | None = None
    disagreements: tuple[str, ...] = ()


class CalibrationBin(Record):
    """Cases whose confidence lies between `low` and `high`."""

    low: float
    high: float
    n: int
    confidence: float
    accuracy: Interval


class Calibration(Record):
    """Whether a confidence of 0.8 is right in 80% of cases.

    Attributes:
        n: Cases.
        brier: Mean squared error of the confidence (Brier 1950); 0 is perfect, 0.25 is a coin.
        expected_error: Mean distance of confidence and accuracy over bins, by cases (ECE).
        largest_error: The largest of these distances.
        bins: The bins with cases.
    """

    n: int
    brier: Interval
    expected_error: float
    largest_error: float
    bins: tuple[CalibrationBin, ...]


def accuracy(
    rated: Mapping[Label, bool], truth: Mapping[Label, bool], *, level: float = 0.95
) -> Accuracy:
    """Compare a yes/no rater with the truth, on the cases known to both.

    Args:
        rated: Case to the rater's answer.
        truth: Case to its true answer.
        level: Nominal confidence; rates get Wilson intervals.

    Raises:
        NotEstimableError: No case is in both.

    >>> found = accuracy({"a": True, "b": True, "c": False}, {"a": True, "b": False, "c": False})
    >>> found.false_positive, found.disagreements
    (1, ('b',))
    """
    cases = [case for case in rated if case in truth]
    if not cases:
        raise NotEstimableError("no case is both rated and known, so agreement cannot be measured")
    counts = Counter((bool(rated[case]), bool(truth[case])) for case in cases)
    hits, misses = counts[True, True], counts[False, True]
    rejections, alarms = counts[False, False], counts[True, False]
    try:
        kappa = cohen_kappa([rated[c] for c in cases], [truth[c] for c in cases], level=level)
    except NotEstimableError:
        kappa = None
    return Accuracy(
        true_positive=hits,
        false_positive=alarms,
        false_negative=misses,
        true_negative=rejections,
        agreement=wilson(hits + rejections, len(cases), level=level),
        sensitivity=wilson(hits, hits + misses, level=level) if hits + misses else None,
        specificity=wilson(rejections, rejections + alarms, level=level)
        if rejections + alarms
        else None,
        kappa=kappa,
        disagreements=tuple(str(c) for c in cases if bool(rated[c]) != bool(truth[c])),
    )


def cohen_kappa(
    first: Sequence[Hashable], second: Sequence[Hashable], *, level: float = 0.95
) -> Interval:
    """Return Cohen's kappa of two raters with its large-sample interval.

    Cohen (1960); variance of Fleiss, Cohen and Everitt (1969), Psychological Bulletin 72:323. The
    interval is rough below about 50 cases; at perfect agreement its width would be zero, so the
    lower end is then taken from Wilson's limit on the agreement, and a note states that.

    Args:
        first: One rater's label of each case.
        second: The other's, in the same order.
        level: Nominal confidence.

    Raises:
        NotEstimableError: No case was given, or both raters gave one label only.

    >>> print(cohen_kappa("aabbabab" * 10, "aabbabba" * 10))
    0.500 [0.310, 0.690]
    """
    n = len(first)
    if n != len(second):
        raise ValueError(f"the raters labelled {n} and {len(second)} cases")
    if not n:
        raise NotEstimableError("no case was rated by both, so agreement cannot be measured")
    cells = Counter(zip(first, second, strict=True))
    rows, columns = Counter(first), Counter(second)
    labels = [*rows, *(label for label in columns if label not in rows)]
    observed = sum(cells[label, label] for label in labels) / n
    expected = sum(rows[label] * columns[label] for label in labels) / n**2
    if expected >= 1.0:
        raise NotEstimableError("both raters gave one label only: kappa is undefined")
    kappa = (observed - expected) / (1.0 - expected)
    # its large-sample variance
    total = 0.0
    for (row, column), count in cells.items():
        if row == column:
            total += count / n * (1.0 - (rows[row] + columns[row]) / n * (1.0 - kappa)) ** 2
        else:
            total += count / n * ((columns[row] + rows[column]) / n) ** 2 * (1.0 - kappa) ** 2
    correction = (kappa - expected * (1.0 - kappa)) ** 2
    variance = (total - correction) / (n * (1.0 - expected) ** 2)
    half = normal_quantile(0.5 + require_level(level) / 2.0) * math.sqrt(max(0.0, variance))
    low = kappa - half
    notes: tuple[str, ...] = ()
    if observed >= 1.0:
        low = (wilson(n, n, level=level).low - expected) / (1.0 - expected)
        notes = ("perfect agreement: low end by Wilson",)
    return Interval(
        estimate=kappa,
        low=max(-1.0, low),
        high=min(1.0, kappa + half),
        level=level,
        method="Cohen's kappa, large-sample",
        n=n,
        notes=notes,
    )


def calibration(
    confidences: Sequence[float],
    correct: Sequence[bool],
    *,
    bins: int = 10,
    level: float = 0.95,
) -> Calibration:
    """Compare stated confidence with how often it was right.

    Equal-width bins, as in Guo et al. (2017), ICML. With few cases the expected error is biased
    upwards; the bins' intervals show how uncertain each is.

    Args:
        confidences: From 0 to 1, one per case.
        correct: Whether the case was right, in the same order.
        bins: Number of equal-width bins.
        level: Nominal confidence of the intervals.

    Raises:
        NotEstimableError: There are fewer than two cases.

    >>> calibration([0.9, 0.9, 0.1, 0.1], [True, True, False, True]).expected_error
    0.25
    """
    if len(confidences) != len(correct):
        raise ValueError(f"{len(confidences)} confidences for {len(correct)} cases")
    if not all(0.0 <= each <= 1.0 for each in confidences):
        raise ValueError("confidences lie between 0 and 1")
    errors = {
        n: [(confidence - right) ** 2]
        for n, (confidence, right) in enumerate(zip(confidences, correct, strict=True))
    }
    brier = success_rate_interval(errors, level=level)
    members: list[list[tuple[float, bool]]] = [[] for _ in range(bins)]
    for confidence, right in zip(confidences, correct, strict=True):
        members[min(bins - 1, int(confidence * bins))].append((confidence, right))
    found = [
        CalibrationBin(
            low=number / bins,
            high=(number + 1) / bins,
            n=len(cases),
            confidence=math.fsum(confidence for confidence, _ in cases) / len(cases),
            accuracy=wilson(sum(right for _, right in cases), len(cases), level=level),
        )
        for number, cases in enumerate(members)
        if cases
    ]
    gaps = [abs(each.confidence - each.accuracy.estimate) for each in found]
    weighted = math.fsum(gap * each.n for gap, each in zip(gaps, found, strict=True))
    return Calibration(
        n=len(errors),
        brier=brier,
        expected_error=weighted / len(errors),
        largest_error=max(gaps),
        bins=tuple(found),
    )
