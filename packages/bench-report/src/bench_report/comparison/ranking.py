"""Several runs together: ranks, runs dominated in cost, tasks that distinguish runs; and the noise of each."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from statistics import fmean

from bench_core.errors import NotEstimableError
from bench_core.statistics import (
    Noise,
    cost_interval,
    dominance,
    items_of,
    leaderboard,
    noise_of,
)
from bench_report.comparison.baselines import ComparedRun
from bench_report.model import CostInterval, Ranking, RunReport

_LEAST_RUNS = 3
"""Two runs are a comparison, not a leaderboard."""


def ranking_of(
    sides: Sequence[ComparedRun], runs: Sequence[RunReport], *, strict: bool = False
) -> Ranking | None:
    """Rank three runs or more of one benchmark; `None` for fewer or for several benchmarks."""
    if len(sides) < _LEAST_RUNS or len({side.info.benchmark for side in sides}) > 1:
        return None
    scores = {side.label: side.successes(strict=strict) for side in sides}
    clusters = {key: template for side in sides for key, template in side.templates.items()}
    costs = {run.label: _costs(run) for run in runs if run.summary.cost_usd.known}
    try:
        items = items_of(scores)
    except NotEstimableError:
        items = None
    return Ranking(
        leaderboard=leaderboard(scores, clusters=clusters),
        dominance=dominance(scores, costs, clusters=clusters),
        items=items,
    )


def cost_of_run(run: RunReport, side: ComparedRun) -> CostInterval | None:
    """Return the mean cost of a run's scored trials, with an interval; `None` if no cost is known."""
    costs = _costs(run)
    if not costs:
        return None
    found = CostInterval(
        mean=fmean(fmean(each) for each in costs.values()),
        known=sum(map(len, costs.values())),
        trials=run.summary.coverage.scored,
    )
    try:
        interval = cost_interval(costs, clusters=side.templates)
    except NotEstimableError as error:
        return found.model_copy(update={"refused": str(error)})
    return found.model_copy(update={"low": interval.low, "high": interval.high})


def noise_of_run(side: ComparedRun, *, strict: bool = False) -> Noise | None:
    """Return the sources of a run's noise; `None` if one trial per task does not show them."""
    try:
        return noise_of(side.successes(strict=strict), side.templates)
    except NotEstimableError:
        return None


def _costs(run: RunReport) -> dict[str, list[float]]:
    found: defaultdict[str, list[float]] = defaultdict(list)
    for row in run.trials:
        # of scored trials only, so that cost and success are about the same ones
        if row.cost_usd is not None and row.score is not None:
            found[row.task_id].append(row.cost_usd)
    return found
