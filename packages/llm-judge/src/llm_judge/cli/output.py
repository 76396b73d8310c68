"""The output of the commands: tables for people, records for programs."""

from __future__ import annotations

import json
import os
from collections import Counter
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING

import click

from bench_core import exit_codes
from bench_core.cli import echo_wrapped, render_table
from bench_core.errors import InputError, pip_install
from bench_core.files import write_atomic
from bench_core.models import PROVIDERS, published_prices
from bench_core.records.codec import encode
from bench_core.records.judge import Verdict
from bench_core.redaction import Redactor
from bench_core.terminal import counted, plain_text
from llm_judge.records import NOT_CHECKED
from llm_judge.states.effects import compact
from llm_judge.verdicts.rates_by_kind import KindRow
from llm_judge.verdicts.success_bounds import bounds

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from bench_core.records import Record
    from bench_core.records.judge import Finding, Outcome
    from bench_core.statistics import Interval
    from llm_judge.batch import BatchResult
    from llm_judge.calibration.report import CalibrationReport
    from llm_judge.meta_evaluation.stress import StressReport
    from llm_judge.meta_evaluation.visibility import VisibilityReport
    from llm_judge.policy import JudgePolicy
    from llm_judge.prepared_case import PreparedCase
    from llm_judge.prompts.evidence_pack import EvidencePack
    from llm_judge.verdicts.evidence_check import Verification

_SHOWN_ERROR = 300
EXIT_CODES: dict[Outcome, int] = {
    "pass": exit_codes.OK,
    "fail": exit_codes.FELL_SHORT,
    "error": exit_codes.USAGE,
    "abstain": exit_codes.UNDECIDED,
    "void": exit_codes.UNDECIDED,
}
_VERDICT_LABELS = {"pass": "PASS", "fail": "FAIL", "unknown": "  ? "}
_WIDTH = 100


def show_findings(found: Sequence[tuple[str, Sequence[Finding]]], *, as_json: bool) -> None:
    """Print the findings of each case."""
    if as_json:
        data = {case: [each.model_dump(mode="json") for each in each_] for case, each_ in found}
        click.echo(json.dumps(data, indent=2))
        return
    rows = [
        (each.severity, each.code, case, each.message) for case, each_ in found for each in each_
    ]
    if rows:
        click.echo(render_table(("severity", "finding", "case", "message"), rows))
    clean = sum(not each_ for _, each_ in found)
    if clean:
        click.echo(f"{clean} of {counted(len(found), 'case')} without a finding")


def show_pack(evidence: EvidencePack, *, as_json: bool) -> None:
    """Print the evidence and, on standard error, the extent of its omissions."""
    if as_json:
        _echo(evidence)
        return
    click.echo(evidence.text)
    left_out = sum(evidence.omitted.values())
    note = (
        f"{len(evidence.text):,} of {evidence.chars:,} characters; {evidence.records:,} changed "
        f"records, {left_out:,} of them left out"
    )
    click.echo(note, err=True)


def show_prompt(
    prepared: PreparedCase, policy: JudgePolicy, model: str | None, *, as_json: bool
) -> None:
    """Print the request that would be sent, or its text with tokens and cost."""
    from llm_judge.model_calls.cost_estimate import estimate  # its name is also a local one below
    from llm_judge.prompts.prompt import output_schema

    prompt = prepared.prompt
    cost = estimate(prompt, model or "", policy, published_prices() if model else None)
    if as_json:
        request = prompt.request(policy.max_output_tokens).canonical()
        click.echo(json.dumps({"request": request, "estimate": cost.model_dump()}, indent=2))
        return
    click.echo(_heading("system"))
    click.echo(prompt.system)
    click.echo(_heading("user"))
    click.echo(prompt.text)
    for each in prompt.pictures:
        click.echo(f"Picture {compact(each.name)}: {each.width} x {each.height}")
    click.echo(_heading("schema of the reply"))
    click.echo(compact(output_schema()))
    click.echo(_heading("about"))
    rows: list[tuple[str, object]] = [
        ("input tokens, about", cost.input_tokens),
        ("output tokens, about", cost.output_tokens),
        ("evidence", prompt.evidence_hash),
        ("records left out", sum(prepared.evidence.omitted.values())),
    ]
    if model is not None:
        known = cost.likely_usd is not None and cost.most_usd is not None
        price = (
            f"${cost.likely_usd:.4f}, at most ${cost.most_usd:.4f}" if known else "price unknown"
        )
        rows.append((f"cost with {model}, about", price))
    for name, value in rows:
        click.echo(f"{name:<40} {value}")


def show_verdict(verdict: Verdict, *, as_json: bool) -> None:
    """Print one verdict."""
    if as_json:
        _echo(verdict)
        return
    kind = f" ({verdict.kind})" if verdict.passed is not None else ""
    click.secho(f"{verdict.outcome.upper()}{kind}  {plain_text(verdict.case_id)}", bold=True)
    for criterion in verdict.criteria:
        name = plain_text(criterion.criterion_id)
        echo_wrapped(
            f"  {_VERDICT_LABELS[criterion.verdict]}  {criterion.kind:<9}  {name}: {plain_text(criterion.reason)}"
        )
        if criterion.doubt is not None:
            echo_wrapped(f"        {criterion.kind}: {plain_text(criterion.doubt)}")
        for flag in criterion.flags:
            echo_wrapped(f"        flag: {flag.code}: {plain_text(flag.message)}")
        for each in criterion.evidence:
            where = each.pointer if each.pointer is not None else each.screenshot
            held = {True: "+", False: "-", None: "?"}[each.verified]
            quote = "" if each.quote is None else f" {json.dumps(each.quote)}"
            absent = " absent" if each.kind == "absent" else ""
            echo_wrapped(plain_text(f"        {held} {where}{absent}{quote} ({each.status})"))
    for kind in sorted({each.kind for each in verdict.criteria if each.kind != "unknown"}):
        echo_wrapped(f"  {kind}: not checked is {NOT_CHECKED[kind]}")
    if verdict.outcome in {"error", "void"} or not verdict.criteria:
        echo_wrapped(f"  {plain_text(verdict.reasoning)}")
    for finding in verdict.findings:
        echo_wrapped(f"  {finding.severity}: {finding.code}: {plain_text(finding.message)}")
    cost = "unknown cost" if verdict.cost_usd is None else f"${verdict.cost_usd:.4f}"
    spent = f"{verdict.usage.total_tokens:,} tokens, {cost}"
    if verdict.fingerprint.get("replayed") == "true":
        spent = "replayed"
    echo_wrapped(f"  {_confidence(verdict)}; {verdict.model}, {spent}")


def show_verification(found: Verification, *, as_json: bool) -> None:
    """Print the status of each quotation."""
    if as_json:
        _echo(found)
        return
    rows = [
        (
            {True: "holds", False: "BROKEN", None: "-"}[each.holds],
            each.criterion_id,
            each.evidence.pointer or each.evidence.screenshot,
            each.evidence.quote,
            each.evidence.status,
        )
        for each in found.checks
    ]
    if rows:
        click.echo(render_table(("", "criterion", "where", "quote", "found"), rows))
    echo_wrapped(f"{found.case_id}: {found.outcome}")


def show_kinds(rows: Sequence[KindRow]) -> None:
    """Print the outcomes of the verdicts of each kind, and the checks that kind lacks."""
    headers = (
        "kind",
        "wrong, passed",
        "right, refused",
        "right, passed",
        "wrong, refused",
        "not checked",
    )
    shown = [
        (each.kind, each.wrong_passed, each.right_refused, each.right_passed, each.wrong_refused, each.not_checked)
        for each in rows
    ]  # fmt: skip
    click.echo("\n" + render_table(headers, shown) + "\n")


def show_calibration(report: CalibrationReport, *, as_json: bool) -> None:
    """Print how a judge does on labelled cases."""
    if as_json:
        _echo(report)
        return
    outcomes = ", ".join(f"{n} {name}" for name, n in sorted(report.outcomes.items()))
    echo_wrapped(f"{report.labelled} labelled cases: {outcomes}")
    table = report.accuracy
    if table is not None:
        rows = [
            ("truly a success", table.true_positive, table.false_negative),
            ("truly a failure", table.false_positive, table.true_negative),
        ]
        click.echo("\n" + render_table(("", "passed", "failed"), rows))
    show_kinds(report.by_kind)
    rates: list[tuple[str, Interval | None]] = [
        ("decided", report.decided),
        ("precision of a pass", report.precision),
        ("recall (sensitivity)", table.sensitivity if table else None),
        ("specificity", table.specificity if table else None),
        ("failures it passes", report.false_pass),
        ("kappa", table.kappa if table else None),
        ("Brier, as stated", report.reliability.brier if report.reliability else None),
    ]
    if report.corrected is not None:
        rates += [
            ("success rate as judged", report.corrected.judged),
            ("corrected: these cases", report.corrected.these_results),
            ("corrected: new cases of this kind", report.corrected.new_tasks),
            ("  by Rogan-Gladen", report.corrected.rogan_gladen),
        ]
    rows_of_rates = [(name, estimate_words(each), each.n if each else None) for name, each in rates]
    click.echo(render_table(("", "estimate [interval]", "n"), rows_of_rates))
    for name, each in (("as stated", report.reliability), ("calibrated", report.reliability_after)):
        if each is not None:
            echo_wrapped(f"expected calibration error, {name}: {each.expected_error:.3f}")
    if report.roc is not None:
        echo_wrapped(f"area under the ROC curve: {report.roc.area:.3f}")
    for note in report.corrected.notes if report.corrected else ():
        echo_wrapped(f"note: {note}")
    for name, reason in report.refused.items():
        echo_wrapped(f"not estimated: {name}: {reason}")


def show_stress(seen: VisibilityReport, report: StressReport | None, *, as_json: bool) -> None:
    """Print visibility and rates by operator."""
    if as_json:
        judged = None if report is None else report.model_dump(mode="json")
        echo_wrapped(
            json.dumps({"visibility": seen.model_dump(mode="json"), "judged": judged}, indent=2)
        )
        return
    rows = [
        (each.operator, each.mutants, each.visible, estimate_words(each.rate)) for each in seen.rows
    ]
    rows.append(
        ("all", seen.overall.mutants, seen.overall.visible, estimate_words(seen.overall.rate))
    )
    echo_wrapped(f"What is shown of wrong states, at {seen.chars:,} characters")
    click.echo(render_table(("operator", "mutants", "visible", "rate"), rows))
    if report is None:
        return
    echo_wrapped(f"\nVerdicts of {report.model}")
    headers = ("states", "operator", "n", "pass", "fail", "undecided", "errors", "wrong")
    judged_rows = [
        (
            each.family, each.operator, each.n, each.passed, each.failed, each.undecided, each.errors,
            estimate_words(each.wrong),
        )
        for each in (*report.rows, *report.families)
    ]  # fmt: skip
    click.echo(render_table(headers, judged_rows))
    errors = [each.error for each in report.trials if each.outcome == "error"]
    if errors:
        first = (errors[0] or "").partition("\n")[0][:_SHOWN_ERROR]
        echo_wrapped(f"\n{len(errors)} of {len(report.trials)} calls failed, the first: {first}")


def show_batch(result: BatchResult, out: Path, *, as_json: bool) -> None:
    """Print the outcomes of a batch."""
    counts = dict(Counter(each.outcome for each in result.verdicts))
    if as_json:
        data = {
            "outcomes": counts, "left": list(result.left), "resumed": result.resumed,
            "spent": result.spent.model_dump(mode="json"), "stopped_by": result.stopped_by,
            "bounds": bounds(result.verdicts).model_dump(mode="json"),
            "out": str(out),
        }  # fmt: skip
        click.echo(json.dumps(data, indent=2))
        return
    summary = ", ".join(f"{n} {name}" for name, n in sorted(counts.items())) or "nothing judged"
    echo_wrapped(f"{summary}; {result.resumed} of them earlier; {out}")
    if result.verdicts:
        rate = bounds(result.verdicts)
        echo_wrapped(f"success rate, [passed, not failed]: {rate}")
        kinds = ", ".join(f"{count} {kind}" for kind, count in sorted(rate.kinds.items()))
        echo_wrapped(f"criteria by what their verdicts rest on: {kinds or 'none'}")
    if result.left:
        echo_wrapped(
            f"{len(result.left)} left: {result.stopped_by}; run the same again for the rest"
        )


def show_models(*, as_json: bool) -> None:
    """Print which providers can be used here."""
    rows = []
    for name, provider in PROVIDERS.items():
        distribution = {"google.genai": "google-genai"}.get(provider.sdk, provider.sdk)
        found = _version(distribution)
        key = next((each for each in provider.keys if os.environ.get(each)), None)
        rows.append(
            {
                "provider": name,
                "key": key or f"set {provider.keys[0]}",
                "sdk": distribution if found else "not installed",
                "version": found,
                "add it with": None if found else pip_install(f"llm-judge[{provider.extra}]"),
            }
        )
    if as_json:
        click.echo(json.dumps(rows, indent=2))
        return
    headers = ("provider", "key", "sdk", "version", "add it with")
    click.echo(render_table(headers, [[row[each] for each in headers] for row in rows]))
    known = _version("genai-prices")
    prices = f"genai-prices {known}" if known else f"unknown: `{pip_install('llm-judge[prices]')}`"
    echo_wrapped(f"\nprices: {prices}")
    echo_wrapped(
        "all take text, pictures and JSON schemas; replay:CASSETTE and scripted:FILE need no key"
    )


def read_verdict(path: Path, case_id: str | None) -> Verdict:
    """Read one verdict, or the one of `case_id` from JSON lines.

    Raises:
        InputError: There is none.
    """
    from llm_judge.batch import read_verdicts

    try:
        return Verdict.model_validate_json(path.read_bytes())
    except (ValueError, OSError):
        found = read_verdicts(path)
    wanted = [each for each in found if case_id in (None, each.case_id)]
    if len(wanted) != 1:
        raise InputError(
            f"{path}: holds {len(wanted)} verdicts on {case_id or 'no case in particular'}; name the "
            f"case with --case"
        )
    return wanted[0]


def write_verdict(verdict: Verdict, path: Path) -> None:
    """Write a verdict to a file, without secrets."""
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomic(path, encode(verdict, Redactor.from_environment()) + b"\n")


def _confidence(verdict: Verdict) -> str:
    if verdict.confidence is not None:
        return f"confidence {verdict.confidence:.2f} (calibrated)"
    if verdict.raw_confidence is not None:
        return f"the model says {verdict.raw_confidence:.2f} (not calibrated)"
    return "no confidence"


def estimate_words(interval: Interval | None) -> str | None:
    """Write an estimate with its interval; `None`, which tables show as a dash, if there is none."""
    if interval is None:
        return None
    return f"{interval.estimate:.3f} [{interval.low:.3f}, {interval.high:.3f}]"


def _version(distribution: str) -> str | None:
    try:
        return version(distribution)
    except PackageNotFoundError:
        return None


def _heading(text: str) -> str:
    return click.style(f"--- {text} ", bold=True) + "-" * (_WIDTH - len(text) - 5)


def _echo(record: Record) -> None:
    text = encode(record, Redactor.from_environment()).decode()
    click.echo(json.dumps(json.loads(text), indent=2))
