"""The report as flat tables, one figure a row or one trial a row: the contents of CSV and Parquet.

Column names and units are those of `report.json`: rates are fractions of one, money is US dollars, times
are seconds, and unknown values are empty.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

from bench_core.statistics import Interval, Rate
from bench_report.analysis.integrity import integrity_counts
from bench_report.analysis.rate_variants import rate_variants
from bench_report.model import Report

Row = dict[str, Any]


class Table(NamedTuple):
    """A table: its name, its columns in order with their types, and its rows."""

    name: str
    columns: Mapping[str, type]
    rows: list[Row]


_RATES = {
    "run": str, "part": str, "value": str, "reading": str, "estimate": float, "low": float,
    "high": float, "level": float, "tasks": int, "trials": int, "clusters": int, "method": str,
    "refused": str,
}  # fmt: skip
_DIFFERENCES = {
    "run": str, "baseline": str, "part": str, "value": str, "difference": float, "low": float,
    "high": float, "level": float, "p_value": float, "joint_low": float, "joint_high": float,
    "adjusted_p_value": float, "p_sign_flip": float, "p_same_tasks": float, "same_tasks_low": float, "same_tasks_high": float,
    "detectable": float, "shared_tasks": int, "method": str, "note": str,
}  # fmt: skip
_PAIRS = {
    "run": str, "baseline": str, "difference": float, "low": float, "high": float, "level": float,
    "p_value": float, "joint_low": float, "joint_high": float, "adjusted_p_value": float, "p_sign_flip": float, "p_same_tasks": float,
    "detectable": float,
}  # fmt: skip
_EFFORT = {
    "run": str, "part": str, "value": str, "quantity": str, "known": int, "unknown": int,
    "total": float, "mean": float, "low": float, "high": float, "median": float, "p90": float,
    "largest": float,
}  # fmt: skip
_CHECKS = {
    "run": str, "criterion": str, "trials": int, "tasks": int, "example_task": str,
    "example_trial": int,
}  # fmt: skip
_KINDS = {
    "run": str, "kind": str, "passed": int, "failed": int, "undecided": int, "wrong_passed": int,
    "right_refused": int, "known": int,
}  # fmt: skip
_COUNTS = {"run": str, "kind": str, "name": str, "trials": int}
_TRIALS = {
    "run": str, "benchmark": str, "task_id": str, "trial": int, "template": str, "groups": str,
    "status": str, "score": float, "success": bool, "failure_mode": str, "method": str,
    "confidence": float, "flags": str, "suspect": str, "steps": int, "input_tokens": int, "output_tokens": int,
    "cost_usd": float, "time_s": float, "attempts": int, "folder": str, "integrity": str, "findings": str,
    "sealed": bool, "left_out": int,
}  # fmt: skip


_NOTES = {
    "run": str, "task_id": str, "trial": int, "by": str, "at": str, "step": int, "check": str, "label": str,
    "text": str, "seed": int, "earlier": bool,
}  # fmt: skip
_LABELS = {
    "run": str, "part": str, "value": str, "label": str, "trials": int, "failures": int, "estimate": float,
    "low": float, "high": float, "level": float, "method": str, "refused": str,
}  # fmt: skip
_AGREEMENT = {
    "run": str, "first": str, "second": str, "label": str, "trials": int, "alike": int, "estimate": float,
    "low": float, "high": float, "level": float, "method": str, "refused": str,
}  # fmt: skip


def tables_of(report: Report) -> list[Table]:
    """Return the tables of a report, from its rates to people's notes."""
    makers: tuple[tuple[str, Mapping[str, type], Callable[[Report], Iterator[Row]]], ...] = (
        ("rates", _RATES, _rates),
        ("differences", _DIFFERENCES, _differences),
        ("pairs", _PAIRS, _pairs),
        ("effort", _EFFORT, _effort),
        ("counts", _COUNTS, _counts),
        ("checks", _CHECKS, _checks),
        ("kinds", _KINDS, _kinds),
        ("trials", _TRIALS, _trials),
        ("notes", _NOTES, _notes),
        ("labels", _LABELS, _labels),
        ("agreement", _AGREEMENT, _agreement),
    )
    return [Table(name, columns, list(rows(report))) for name, columns, rows in makers]


def _rates(report: Report) -> Iterator[Row]:
    for run in report.runs:
        yield _rate(run.label, "all", "", "success rate", run.summary.success)
        for group, slices in run.summary.groups.items():
            for each in slices:
                yield _rate(run.label, group, each.name, "success rate", each.success)
                if each.macro_average:
                    yield _rate(run.label, group, each.name, "template average", each.macro_average)
        for each in run.summary.templates:
            yield _rate(run.label, "template", each.name, "success rate", each.success)
        audit = run.audit
        audited = (
            [
                ("query alone", audit.query_only),
                ("judge alone", audit.judge_only),
                ("combined", audit.combined),
            ]
            if audit
            else []
        )
        for reading, read in audited:
            estimate = read.interval.estimate if read.interval else None
            row = {"run": run.label, "part": "all", "value": "", "reading": reading}
            yield (
                row
                | {"estimate": estimate, **_ends(read.interval)}
                | {"tasks": read.tasks, "trials": read.trials, "refused": read.refused}
            )
        if audit and audit.corrected:
            found = audit.corrected.new_tasks
            row = {"run": run.label, "part": "all", "value": "", "reading": "corrected"}
            yield row | {"estimate": found.estimate, **_ends(found)}
    for variant in rate_variants(report):
        for value in variant.values:
            row = {"run": report.runs[value.run].label, "part": "all", "value": ""}
            yield row | {
                "reading": variant.name.lower(),
                "estimate": value.value,
                **_ends(value.interval),
                "refused": value.refused,
            }


def _rate(run: str, part: str, value: str, reading: str, rate: Rate) -> Row:
    return {
        "run": run,
        "part": part,
        "value": value,
        "reading": reading,
        "estimate": rate.estimate,
        **_ends(rate.new_tasks),
        "tasks": rate.tasks,
        "trials": rate.trials,
        "clusters": rate.clusters,
        "refused": rate.refused.get("new_tasks"),
    }


def _ends(found: Interval | None) -> Row:
    if found is None:
        return {}
    return {"low": found.low, "high": found.high, "level": found.level, "method": found.method}


def _differences(report: Report) -> Iterator[Row]:
    for each in report.comparison.differences if report.comparison else ():
        yield {
            "run": each.run,
            "baseline": each.baseline,
            "part": "all",
            "value": "",
            "difference": each.value,
            "low": each.low,
            "high": each.high,
            "level": None if each.low is None else each.level,
            "p_value": each.p_value,
            "joint_low": each.joint_low,
            "joint_high": each.joint_high,
            "adjusted_p_value": each.adjusted_p_value,
            "p_sign_flip": each.p_sign_flip,
            "p_same_tasks": each.p_same_tasks,
            "same_tasks_low": each.same_tasks and each.same_tasks.low,
            "same_tasks_high": each.same_tasks and each.same_tasks.high,
            "detectable": each.detectable,
            "shared_tasks": each.shared_tasks,
            "method": each.method,
            "note": each.note,
        }
        for part in each.slices:
            yield {
                "run": each.run,
                "baseline": each.baseline,
                "part": part.group,
                "value": part.value,
                "difference": part.difference,
                "low": part.low,
                "high": part.high,
                "level": None if part.low is None else each.level,
                "p_value": part.p_value,
                "joint_low": part.joint_low,
                "joint_high": part.joint_high,
                "adjusted_p_value": part.adjusted_p_value,
                "shared_tasks": part.shared_tasks,
                "note": part.note,
            }


def _pairs(report: Report) -> Iterator[Row]:
    for pair in report.ranking.leaderboard.pairs if report.ranking else ():
        yield {
            "run": pair.new,
            "baseline": pair.baseline,
            "difference": pair.difference.estimate,
            "low": pair.difference.low,
            "high": pair.difference.high,
            "level": pair.difference.level,
            "p_value": pair.p_value,
            "joint_low": pair.joint and pair.joint.low,
            "joint_high": pair.joint and pair.joint.high,
            "adjusted_p_value": pair.p_adjusted,
            "p_sign_flip": pair.p_sign_flip,
            "p_same_tasks": pair.p_same_tasks,
            "detectable": pair.detectable,
        }


def _effort(report: Report) -> Iterator[Row]:
    for run in report.runs:
        summary = run.summary
        parts: list[tuple[str, str, Any]] = [("all", "", summary)]
        parts += [(each.group, each.value, each.effort) for each in run.slice_efforts]
        for part, value, effort in parts:
            for quantity in ("steps", "tokens", "cost_usd", "time_s"):
                spread = getattr(effort, quantity).model_dump()
                yield {
                    "run": run.label,
                    "part": part,
                    "value": value,
                    "quantity": quantity,
                } | spread
        if run.cost:
            # In the mean over tasks, of scored trials: the quantity of its interval for new tasks.
            row: Row = {
                "run": run.label,
                "part": "all",
                "value": "",
                "quantity": "cost_usd of a scored trial",
            }
            found = run.cost
            figures = {"mean": found.mean, "low": found.low, "high": found.high}
            yield row | figures | {"known": found.known, "unknown": found.trials - found.known}


def _kinds(report: Report) -> Iterator[Row]:
    for run in report.runs:
        for each in run.audit.kinds if run.audit else ():
            yield {"run": run.label, **each.model_dump()}


def _counts(report: Report) -> Iterator[Row]:
    for run in report.runs:
        summary = run.summary
        for kind, counts in (
            ("status", {each.value: n for each, n in summary.statuses.items()}),
            ("failure mode", summary.failure_modes),
            ("method", summary.methods),
            ("flag", summary.flags),
            ("suspect", summary.suspects),
            ("integrity", dict(integrity_counts(run.integrity))),
            ("finding", run.integrity.codes if run.integrity else {}),
            ("agent's program", run.programs if len(run.programs) > 1 else {}),
            ("damage", dict.fromkeys(run.damage)),
        ):
            for name, number in counts.items():
                yield {"run": run.label, "kind": kind, "name": name, "trials": number}


def _checks(report: Report) -> Iterator[Row]:
    for run in report.runs:
        for each in run.failed_checks:
            yield {
                "run": run.label,
                "criterion": each.criterion,
                "trials": each.trials,
                "tasks": each.tasks,
                "example_task": each.example.task_id,
                "example_trial": each.example.trial,
            }


def _notes(report: Report) -> Iterator[Row]:
    for run in report.runs:
        for each in run.notes.notes if run.notes else ():
            yield {"run": run.label, **each.model_dump(), "at": each.at.isoformat()}


def _labels(report: Report) -> Iterator[Row]:
    for run in report.runs:
        for each in run.notes.labels if run.notes else ():
            found = each.failures.interval
            row: Row = {"run": run.label, "part": each.group or "all", "value": each.value}
            row |= {"label": each.label, "trials": each.trials, "failures": each.failures.trials}
            estimate = found and found.estimate
            yield row | {"estimate": estimate, **_ends(found), "refused": each.failures.refused}


def _agreement(report: Report) -> Iterator[Row]:
    for run in report.runs:
        for each in run.notes.agreement if run.notes else ():
            row = {"run": run.label, **each.model_dump(exclude={"kappa"})}
            yield row | {"estimate": each.kappa and each.kappa.estimate, **_ends(each.kappa)}


def _trials(report: Report) -> Iterator[Row]:
    tasks = {(task.benchmark, task.task_id): task for task in report.tasks}
    for run in report.runs:
        for row in run.trials:
            task = tasks[run.info.benchmark, row.task_id]
            groups = (f"{name}={value}" for name, vs in task.groups.items() for value in vs)
            found = {name: getattr(row, name, None) for name in _TRIALS}
            yield found | {
                "run": run.label,
                "benchmark": run.info.benchmark,
                "template": task.template,
                "groups": "; ".join(groups),
                "status": row.status.value,
                "flags": "; ".join(row.flags),
                "suspect": "; ".join(row.suspect),
                "findings": "; ".join(row.findings),
            }
