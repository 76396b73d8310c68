"""Unfinished runs: their counts, without the intervals that are only valid at the end.

An interval for a fixed number of trials, read whenever a trial ends, is wrong far more often than its
level: of unchanged agents, 19 to 35% look different at some time. So counts are shown live.
"""

from __future__ import annotations

from collections.abc import Set as AbstractSet

from bench_core.statistics import Rate, Slice, Summary
from bench_report.model import Difference, JudgeAudit, ReadRate, Report, RunComparison

REASON = "the run is going on; an interval that is looked at all the time does not hold"


def without_intervals(report: Report) -> Report:
    """Return a report that shows rates of unfinished runs as they stand, and nothing to conclude from."""
    # A run that its rule stopped has fewer trials than planned, and its looks were planned for that.
    unfinished = {
        run.label for run in report.runs if run.summary.coverage.missing and not run.stopped
    }
    runs = tuple(
        run.model_copy(
            update={
                "summary": _summary_without_intervals(run.summary),
                "audit": run.audit and _audit_without_intervals(run.audit),
                "cost": None,
                "drift": None,
            }
        )
        if run.label in unfinished
        else run
        for run in report.runs
    )
    comparison = report.comparison and _comparison_without_tests(report.comparison, unfinished)
    update = {"runs": runs, "comparison": comparison}
    if unfinished:
        update["ranking"] = None  # ranks depend on all pairs of runs
    return report.model_copy(update=update)


def _summary_without_intervals(summary: Summary) -> Summary:
    return summary.model_copy(
        update={
            "success": _rate_without_interval(summary.success),
            "score": _rate_without_interval(summary.score),
            "strict": _rate_without_interval(summary.strict),
            "macro_average": _rate_without_interval(summary.macro_average),
            "macro_score": _rate_without_interval(summary.macro_score),
            "pass_rates": (),
            "groups": {
                group: tuple(map(_slice_without_intervals, slices))
                for group, slices in summary.groups.items()
            },
            "templates": tuple(map(_slice_without_intervals, summary.templates)),
        }
    )


def _slice_without_intervals(part: Slice) -> Slice:
    return part.model_copy(
        update={
            "success": _rate_without_interval(part.success),
            "score": _rate_without_interval(part.score),
            "macro_average": _rate_without_interval(part.macro_average),
        }
    )


def _rate_without_interval(rate: Rate | None) -> Rate | None:
    refused = {"new_tasks": REASON, "same_tasks": REASON}
    return rate and rate.model_copy(
        update={"new_tasks": None, "same_tasks": None, "refused": refused}
    )


def _audit_without_intervals(audit: JudgeAudit) -> JudgeAudit:
    def bare(rate: ReadRate) -> ReadRate:
        return rate.model_copy(update={"interval": None, "refused": REASON})

    return audit.model_copy(
        update={
            "query_only": bare(audit.query_only),
            "judge_only": bare(audit.judge_only),
            "combined": bare(audit.combined),
            "query_accuracy": None,
            "judge_accuracy": None,
            "calibration": None,
            "corrected": None,
            "refused": REASON,
        }
    )


def _comparison_without_tests(
    comparison: RunComparison, unfinished: AbstractSet[str]
) -> RunComparison:
    return RunComparison(
        baseline=comparison.baseline,
        differences=tuple(
            Difference(
                run=each.run,
                baseline=each.baseline,
                shared_tasks=each.shared_tasks,
                value=each.value,
                note=REASON,
            )
            if unfinished & {each.run, each.baseline}
            else each
            for each in comparison.differences
        ),
    )
