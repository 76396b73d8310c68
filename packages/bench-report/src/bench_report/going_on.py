"""Runs that are going on: their counts, without the intervals that only hold at the end.

An interval for a fixed number of trials, looked at whenever a trial ends, is wrong far more often than
it says: of unchanged agents, 19 to 35% look different at some time. So what is shown live are counts.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from bench_report.model import Comparison, Difference

if TYPE_CHECKING:
    from collections.abc import Set as AbstractSet

    from bench_core.statistics import Rate, Slice, Summary
    from bench_report.model import JudgeAudit, ReadRate, Report, RunReport

__all__ = ["REASON", "without_intervals"]

REASON = "the run is going on; an interval that is looked at all the time does not hold"


def without_intervals(report: Report) -> Report:
    """Return a report that shows rates of unfinished runs as they stand, and nothing to conclude from."""
    going_on = {
        run.label for run in report.runs if run.summary.coverage.missing and not run.stopped
    }
    runs = tuple(_bare_run(run) if run.label in going_on else run for run in report.runs)
    comparison = report.comparison and _bare_comparison(report.comparison, going_on)
    update = {"runs": runs, "comparison": comparison}
    if going_on:
        update["ranking"] = None
    return report.model_copy(update=update)


def _bare_run(run: RunReport) -> RunReport:
    update = {"summary": _bare_summary(run.summary), "audit": run.audit and _bare_audit(run.audit)}
    return run.model_copy(update=update)


def _bare_summary(summary: Summary) -> Summary:
    return summary.model_copy(
        update={
            "success": _bare(summary.success),
            "score": _bare(summary.score),
            "strict": _bare(summary.strict),
            "macro_average": _bare(summary.macro_average),
            "macro_score": _bare(summary.macro_score),
            "pass_rates": (),
            "groups": {
                group: tuple(map(_bare_slice, slices)) for group, slices in summary.groups.items()
            },
            "templates": tuple(map(_bare_slice, summary.templates)),
        }
    )


def _bare_slice(part: Slice) -> Slice:
    return part.model_copy(
        update={
            "success": _bare(part.success),
            "score": _bare(part.score),
            "macro_average": _bare(part.macro_average),
        }
    )


def _bare(rate: Rate | None) -> Rate | None:
    refused = {"new_tasks": REASON, "same_tasks": REASON}
    return rate and rate.model_copy(
        update={"new_tasks": None, "same_tasks": None, "refused": refused}
    )


def _bare_audit(audit: JudgeAudit) -> JudgeAudit:
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


def _bare_comparison(comparison: Comparison, going_on: AbstractSet[str]) -> Comparison:
    return Comparison(
        baseline=comparison.baseline,
        differences=tuple(
            Difference(
                run=each.run,
                baseline=each.baseline,
                shared_tasks=each.shared_tasks,
                value=each.value,
                note=REASON,
            )
            if going_on & {each.run, each.baseline}
            else each
            for each in comparison.differences
        ),
    )
