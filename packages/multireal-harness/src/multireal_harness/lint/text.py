"""The text that `lint` prints."""

from __future__ import annotations

from collections.abc import Iterator

from bench_core.cli import render_table
from multireal_harness.eval_rules.queries import shown
from multireal_harness.lint.findings import CODES, EvalReport
from multireal_harness.lint.report import LintReport


def lint_text(report: LintReport, *, fixes: bool = False) -> str:
    """Return the findings as text, task by task, and then the counts."""
    lines = [line for each in report.reports if each.fatal for line in _eval_lines(each, fixes)]
    lines += [f"{task}: has no evals, so that it cannot be scored" for task in report.without_evals]
    rows = [(CODES[code][0], code, count) for code, count in report.by_code.items()]
    order = list(dict.fromkeys(severity for severity, _ in CODES.values()))
    rows.sort(key=lambda row: order.index(row[0]))
    summary = (
        f"{report.fatal_evals} of {report.evals} evals in {report.fatal_tasks} of {report.tasks} "
        f"tasks are fatally defective; {report.mended} of them have a sound rewrite, {report.weakened} one "
        f"that asks for less, and {report.unmended} one that does not mend them and is not written"
    )
    return "\n".join(
        [*lines, "", render_table(("severity", "finding", "evals"), rows), "", summary]
    )


def _eval_lines(report: EvalReport, fixes: bool) -> Iterator[str]:
    yield f"{report.task_id} eval {report.index}: {report.criterion}"
    for each in report.findings:
        if each.severity == "fatal":
            where = f"  in  {shown(each.where)}" if each.where else ""
            yield f"  {each.code}: {each.message}{where}"
    if fixes and report.fix is not None:
        weaker = "  (asks for less than the criterion)" if report.fix.weaker else ""
        if report.fix.left:
            weaker = f"  (not written: {', '.join(report.fix.left)} is left)"
        yield f"  before: {report.query}  ->  {report.expected_value!r}"
        yield f"  after:  {report.fix.query}  ->  {report.fix.expected_value!r}{weaker}"
