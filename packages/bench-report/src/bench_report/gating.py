"""The gate between two runs, as a whole and by slice."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bench_core.errors import InputError
from bench_core.statistics import GateResult
from bench_core.statistics import gate as gate_scores
from bench_report.baselines import read_sides
from bench_report.comparable import check_comparable

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from bench_report.baselines import Side

__all__ = ["gate"]


def gate(  # noqa: PLR0913  # a gate is what its settings say
    new: Path,
    baseline: Path,
    *,
    tolerance: float = 0.05,
    alpha: float = 0.05,
    groups: Sequence[str] = (),
    count_errors_as_failures: bool = False,
    mix: bool = False,
) -> GateResult:
    """Decide whether the run `new` is worse than `baseline`.

    Args:
        new: A run folder.
        baseline: A run folder or a baseline file.
        tolerance: Smallest drop of the success rate that matters, as a fraction.
        alpha: Chance of a false alarm, over all slices together.
        groups: Test every slice of these groups as well.
        count_errors_as_failures: Let trials without a score enter as failures.
        mix: Compare runs that cannot be compared.

    Raises:
        IncomparableRunsError: The runs differ in what decides a score, and `mix` is off.
        NotEstimableError: Fewer than two clusters of tasks are shared.
        InputError: A group that no task has.
    """
    side, other = read_sides([new, baseline])
    check_comparable([side, other], mix=mix)
    return gate_scores(
        side.successes(strict=count_errors_as_failures),
        other.successes(strict=count_errors_as_failures),
        tolerance=tolerance,
        alpha=alpha,
        clusters=other.templates | side.templates,
        slices=_slices(side, groups),
        names=(side.label, other.label),
    )


def _slices(side: Side, groups: Sequence[str]) -> dict[str, list[str]]:
    known = {group for group, _ in side.slices}
    missing = sorted(set(groups) - known)
    if missing:
        raise InputError(
            f"no task has the group {missing[0]!r}: there are {', '.join(sorted(known)) or 'none'}"
        )
    return {
        f"{group} {value}": keys for (group, value), keys in side.slices.items() if group in groups
    }
