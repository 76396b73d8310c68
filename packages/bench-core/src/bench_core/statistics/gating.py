"""A gate for regressions that rarely cries wolf and says when it cannot tell."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Literal

from bench_core.errors import NotEstimableError
from bench_core.records import Record
from bench_core.statistics.comparison import Comparison, compare, task_differences
from bench_core.statistics.distributions import t_cdf, t_quantile
from bench_core.statistics.multiplicity import holm
from bench_core.statistics.paired_tests import paired_t

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from bench_core.statistics.clustering import Clusters, Key, Scores
    from bench_core.statistics.paired_tests import PairedT

__all__ = ["GateCheck", "GateResult", "GateVerdict", "gate"]

GateVerdict = Literal["fine", "regression", "not_enough_evidence"]
"""What a gate decides; commands exit with 0, 1 and 3 for these."""

_EXIT_CODES: dict[GateVerdict, int] = {"fine": 0, "regression": 1, "not_enough_evidence": 3}


class GateCheck(Record):
    """One part of the tasks, tested for a drop.

    Attributes:
        name: `all`, or the slice.
        tasks: Tasks both runs have scores for.
        difference: New minus baseline; null when it cannot be tested, for `reason`.
        worst: The drop is smaller than this with confidence 1 - alpha: the one-sided lower limit.
        p_value: One-sided, small for a drop.
        p_adjusted: After Holm over all parts tested.
        power: Probability with which a drop of the tolerance would be found here.
        reason: Why it could not be tested.
    """

    name: str
    tasks: int
    difference: float | None = None
    worst: float | None = None
    p_value: float | None = None
    p_adjusted: float | None = None
    power: float | None = None
    reason: str | None = None


class GateResult(Record):
    """A verdict with everything it stands on; the text and the exit code come from it alone.

    Attributes:
        verdict: `regression`: a drop beyond chance; `fine`: a drop beyond the tolerance is ruled
            out; `not_enough_evidence`: neither.
        alpha: Chance of a false alarm over all parts together, and of a false `fine`.
        tolerance: Smallest drop that matters.
        checks: All tasks first, then the slices.
        broken: Tasks that succeeded in every trial before and in none now.
        comparison: The two-sided comparison over all tasks.
    """

    schema_version: Literal[1] = 1
    verdict: GateVerdict
    reason: str
    alpha: float
    tolerance: float
    checks: tuple[GateCheck, ...]
    broken: tuple[str, ...] = ()
    comparison: Comparison

    @property
    def exit_code(self) -> int:
        """0 fine, 1 regression, 3 not enough evidence."""
        return _EXIT_CODES[self.verdict]


def gate(  # noqa: PLR0913 - a gate is what its settings say
    new: Scores[Key],
    baseline: Scores[Key],
    *,
    tolerance: float = 0.05,
    alpha: float = 0.05,
    clusters: Clusters[Key] | None = None,
    slices: Mapping[str, Collection[Key]] | None = None,
    names: tuple[str, str] = ("new", "baseline"),
) -> GateResult:
    """Decide whether `new` is worse than `baseline`, by a one-sided paired t test.

    A rule like "fail when the score dropped" fires on 34-49% of re-runs of an unchanged agent;
    this one on at most `alpha`. `fine` is a finding too (the drop is smaller than the tolerance
    with confidence 1 - alpha), so a benchmark too small to show that gives `not_enough_evidence`.

    Args:
        new: Task id to the scores of its trials.
        baseline: The same for the run to compare with.
        tolerance: Smallest drop that matters, in the unit of the scores. A significant drop shown
            to be smaller is `fine`.
        alpha: Chance of a false alarm, over all slices together (Holm).
        clusters: Task id to template; tasks of one template are one cluster.
        slices: Slice name to its tasks, tested as well; one regressing slice is a regression.
        names: What to call the two.

    Raises:
        NotEstimableError: Fewer than two clusters of tasks are shared.

    >>> before = {n: [1, 1, 1, 0] for n in range(60)}
    >>> gate({n: [1, 0, n % 2, 0] for n in before}, before).verdict
    'regression'
    """
    if tolerance < 0.0 or not 0.0 < alpha < 1.0:
        raise ValueError(f"tolerance {tolerance!r} or alpha {alpha!r} is out of range")
    comparison = compare(new, baseline, clusters=clusters, names=names, level=1.0 - alpha)
    differences = task_differences(new, baseline)
    parts: dict[str, Collection[Key]] = {"all": differences.keys(), **(slices or {})}
    checks = _adjusted(
        [
            _check(
                name,
                {key: differences[key] for key in keys if key in differences},
                clusters,
                tolerance,
                alpha,
            )
            for name, keys in parts.items()
        ]
    )
    verdict, reason = _verdict(checks, tolerance, alpha)
    return GateResult(
        verdict=verdict,
        reason=reason,
        alpha=alpha,
        tolerance=tolerance,
        checks=checks,
        broken=tuple(str(key) for key, each in differences.items() if each <= -1.0),
        comparison=comparison,
    )


def _check(
    name: str,
    differences: Mapping[Key, float],
    clusters: Clusters[Key] | None,
    tolerance: float,
    alpha: float,
) -> GateCheck:
    try:
        test = paired_t(differences, clusters=clusters)
    except NotEstimableError as error:
        return GateCheck(name=name, tasks=len(differences), reason=str(error))
    return GateCheck(
        name=name,
        tasks=len(differences),
        difference=test.mean,
        worst=_lower_limit(test, alpha),
        p_value=test.p_drop,
        power=_power(test, tolerance, alpha),
    )


def _lower_limit(test: PairedT, alpha: float) -> float:
    quantile = t_quantile(1.0 - alpha, test.df)
    if test.standard_error > 0.0:
        return test.mean - quantile * test.standard_error
    # No cluster differs from another: Wilson's limit for none bounds how many might.
    return test.mean - quantile**2 / (test.df + 1 + quantile**2)


def _power(test: PairedT, tolerance: float, alpha: float) -> float | None:
    if test.standard_error == 0.0:
        return None
    return t_cdf(tolerance / test.standard_error - t_quantile(1.0 - alpha, test.df), test.df)


def _adjusted(checks: list[GateCheck]) -> tuple[GateCheck, ...]:
    adjusted = iter(holm([each.p_value for each in checks if each.p_value is not None]))
    return tuple(
        each if each.p_value is None else each.model_copy(update={"p_adjusted": next(adjusted)})
        for each in checks
    )


def _verdict(
    checks: tuple[GateCheck, ...], tolerance: float, alpha: float
) -> tuple[GateVerdict, str]:
    dropped = [each for each in checks if _regressed(each, tolerance, alpha)]
    if dropped:
        found = ", ".join(f"{each.name} {_points(each.difference)}" for each in dropped)
        return "regression", f"dropped beyond chance: {found}"
    whole = checks[0]
    worst = -math.inf if whole.worst is None else whole.worst
    if worst > -tolerance:
        return "fine", f"at worst {_points(worst)}, within the tolerance of {_points(-tolerance)}"
    reason = f"no drop beyond chance, but at worst {_points(worst)}"
    if whole.power is not None:
        reason += f"; a true {_points(-tolerance)} would be found in {whole.power:.0%} of runs"
    return "not_enough_evidence", reason


def _regressed(check: GateCheck, tolerance: float, alpha: float) -> bool:
    if check.p_adjusted is None or check.worst is None:
        return False
    return check.p_adjusted <= alpha and check.worst <= -tolerance


def _points(difference: float | None) -> str:
    return "?" if difference is None else f"{100.0 * difference:+.1f} points"
