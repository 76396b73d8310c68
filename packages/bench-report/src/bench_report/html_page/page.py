"""The single HTML file: shell from templates, rows and evidence as packed data, a strict CSP."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Callable, Sequence
from functools import cache, partial
from importlib.resources import files
from itertools import groupby
from operator import attrgetter
from typing import Any, NamedTuple
from urllib.parse import quote

import jinja2
from markupsafe import Markup

from bench_core.statistics import Distribution
from bench_report.analysis import failures
from bench_report.analysis.caveats import grouped
from bench_report.analysis.checkers import doubt_words
from bench_report.analysis.integrity import reasons
from bench_report.analysis.rate_variants import rate_variants
from bench_report.html_page import run_charts, svg_plots
from bench_report.html_page.evidence_chunks import PackedEvidence
from bench_report.html_page.table_data import (
    WORD_LENGTH,
    as_json,
    embeddable,
    pack,
    pair_address,
    run_names,
    table_of,
    trial_address,
)
from bench_report.model import Difference, Report, RunReport, SliceDifference
from bench_report.text import note_phrases, numbers, phrases, plain_words
from bench_report.text.untrusted import clip, inline, visible

# In this order: they share one scope, and a script uses the constants of those before it.
_STYLES = ("report", "notes", "print")
_SCRIPTS = (
    "dom", "store", "state", "columns", "chooser", "grid", "textdiff", "viewer", "sidebyside", "notes", "detail", "copy", "main", "live",
)  # fmt: skip
_kind = attrgetter("kind")
_MAX_SLICE_ROWS = 60
_MAX_TEMPLATES = 250
_LONGEST_TEXT = 10_000
_MOST_PLAIN_JSON = 400_000
"""Up to this length the summary stands in the page as it is, for programs that read pages."""


class EffortView(NamedTuple):
    """One quantity of a run as the page shows it."""

    name: str
    spread: Distribution
    write: Callable[[float | None], str]
    plot: Markup


class SliceTable(NamedTuple):
    """A group's values, each with one row per run that has it."""

    name: str
    rows: list[tuple[str, list[tuple[int, Any, Any]]]]
    hidden: int
    overlapping: bool
    refused: list[str]


class Share(NamedTuple):
    """One part of the outcome bar."""

    kind: str
    name: str
    trials: int
    share: float
    href: str


def render_page(
    report: Report,
    evidence: PackedEvidence,
    *,
    live: str | None = None,
    notes: dict[str, Any] | None = None,
) -> str:
    """Return the page of a report.

    Args:
        report: The report.
        evidence: The evidence of its trials.
        live: For a page that is served: the state it shows; it then asks for a newer one.
        notes: For a page that notes can be written to: the labels with their keys, and who writes.
    """
    folder = files(__package__).joinpath("static")
    css = page_styles()
    # One inline script in a scope of its own: browsers load no modules from a page opened from disk.
    scripts = [folder.joinpath(f"{name}.js").read_text("utf-8") for name in _SCRIPTS]
    script = '"use strict";\n(() => {\n' + "\n".join(scripts) + "})();"
    # Without tasks and trials, which the table has; endless texts are clipped if it is long.
    parts: Any = {"tasks": True, "runs": {"__all__": {"trials": True, "notes": {"notes"}}}}
    summary = report.model_dump_json(exclude=parts)
    if len(summary) > _MOST_PLAIN_JSON:
        summary = as_json(
            _with_clipped_texts(report.model_dump(mode="json", exclude=parts))
        ).decode()
    names = run_names(report)
    return page_template("report.html.j2").render(
        report=report,
        several=len(report.runs) > 1,
        strict=report.count_errors_as_failures,
        built_in_runs=[run.label for run in report.runs if run.built_in],
        slice_tables=[_slice_table(report, name) for name in phrases.slice_groups(report)],
        template_table=_template_table(report),
        has_confidence=any(
            set(row.confidence) - {"unstated"} for run in report.runs for row in run.methods
        ),
        run_index={run.label: n for n, run in enumerate(report.runs)}.__getitem__,
        most_steps=run_charts.most_steps(report),
        run_names=names,
        trial_address=partial(trial_address, names),
        pair_address=lambda run, row, other, its: pair_address(names, (run, row), (other, its)),
        has_macro=any(run.summary.macro_average for run in report.runs),
        live=live,
        notes=notes and json.dumps(notes),
        csp=page_policy(css, script, side_files=bool(evidence.side_files), live=live is not None),
        css=trusted_markup(css),
        js=trusted_markup(script),
        report_json=trusted_markup(embeddable(summary))
        if len(summary) <= _MOST_PLAIN_JSON
        else None,
        report_packed=pack(summary.encode()) if len(summary) > _MOST_PLAIN_JSON else None,
        table_data=pack(as_json(table_of(report, evidence.starts))),
        chunks=evidence.inline,
        side_files=bool(evidence.side_files),
        images=evidence.images,
    )


def page_styles() -> str:
    """Return the style sheet of all pages."""
    folder = files(__package__).joinpath("static")
    return "\n".join(folder.joinpath(f"{name}.css").read_text("utf-8") for name in _STYLES)


def _with_clipped_texts(value: Any) -> Any:
    """Return JSON with endless texts clipped: a goal of 10 MB would make a page of 10 MB."""
    if isinstance(value, str):
        return value if len(value) <= _LONGEST_TEXT else clip(value, _LONGEST_TEXT)
    if isinstance(value, dict):
        return {
            _with_clipped_texts(name): _with_clipped_texts(each) for name, each in value.items()
        }
    return (
        [_with_clipped_texts(each) for each in value] if isinstance(value, list | tuple) else value
    )


def trusted_markup(text: str) -> Markup:
    """Exempt our own style and script, and escaped JSON, from being escaped once more."""
    return Markup(text)  # noqa: S704  # see above


@cache
def page_template(name: str) -> jinja2.Template:
    """Return a template with the words, figures and plots that all pages share."""
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("bench_report.html_page"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "visible": visible,
        "clip": clip,
        "day": lambda moment: f"{moment:%Y-%m-%d}",
        "moment": lambda at: f"{at:%Y-%m-%d %H:%M:%S} {at.tzname() or ''}".rstrip(),
        "groupby_kind": lambda found: [(k, list(each)) for k, each in groupby(found, _kind)],
        "pretty": lambda value: clip(json.dumps(value, indent=2, ensure_ascii=False), 20_000),
        **{name: getattr(numbers, name) for name in numbers.__all__},
    }
    environment.globals |= {
        name: each
        for module in (phrases, note_phrases, plain_words, failures, run_charts, svg_plots)
        for name, each in vars(module).items()
        if not name.startswith("_")
    }
    environment.globals |= {
        "reach_of": _axis_reach,
        "rate_variants": rate_variants,
        "points_interval": numbers.points_interval,
        "reasons": reasons,
        "doubt_words": doubt_words,
        # the shade of a rate: eleven of them, each lighter or darker than the one before
        "heat_class": lambda rate: "heat-none" if rate is None else f"heat-{round(10 * rate)}",
        "share_bar": lambda parts: svg_plots.share_bar(
            [(part.kind, part.trials) for part in parts if part.trials],
            label=", ".join(
                f"{part.name} {numbers.percent(part.share)}" for part in parts if part.trials
            ),
        ),
        "shares": _shares,
        "efforts": _efforts,
        "address": _address,
        "grouped": grouped,
        "wins": lambda run: sum(row.success is True for row in run.trials),
    }
    return environment.get_template(name)


def page_policy(css: str, script: str, *, side_files: bool = False, live: bool = False) -> str:
    """Allow this very script and style, pictures next to the page or in it, nothing else."""
    beside = "'self' file:"  # opened from disk, a page has no origin that 'self' matches in every browser
    connect = "connect-src 'self'; " if live else ""
    # By digest: a script that got into the page with a run's text would not run.
    scripts = f"'{_digest(script)}' {beside}" if side_files else f"'{_digest(script)}'"
    return (
        f"default-src 'none'; script-src {scripts}; style-src '{_digest(css)}'; "
        f"img-src {beside} data:; {connect}base-uri 'none'; form-action 'none'"
    )


def _digest(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode("ascii")


def _address(**values: str) -> str:
    """Return the address of the table with these filters, words as the table has them."""
    words = {
        inline(name, WORD_LENGTH): inline(value, WORD_LENGTH) for name, value in values.items()
    }
    return "#" + "&".join(f"{quote(n, safe='')}={quote(v, safe='')}" for n, v in words.items())


def _axis_reach(found: Sequence[Difference | SliceDifference]) -> float:
    """Return how far the axis of differences must reach."""
    values = [each.value if isinstance(each, Difference) else each.difference for each in found]
    return svg_plots.difference_reach(
        [*values, *(end for each in found for end in (each.low, each.high))]
    )


def _shares(run: RunReport) -> list[Share]:
    """Divide a run's trials into passed, failed and not scored."""
    wins = sum(row.success is True for row in run.trials)
    losses = sum(row.success is False for row in run.trials)
    total = len(run.trials)
    parts = (
        ("pass", "Passed", wins),
        ("fail", "Failed", losses),
        ("void", "Not scored", total - wins - losses),
    )
    return [
        Share(kind, name, n, n / total, _address(view="trials", outcome=kind))
        for kind, name, n in parts
        if total
    ]


def _efforts(run: RunReport) -> list[EffortView]:
    """Return the effort of trials, with a picture of its spread."""
    summary, rows = run.summary, run.trials
    tokens = [row.input_tokens + row.output_tokens for row in rows]
    known: tuple[tuple[str, Distribution, Callable[[float | None], str], list[float]], ...] = (
        ("Steps", summary.steps, numbers.plain, [row.steps for row in rows]),
        ("Tokens", summary.tokens, numbers.short, [n for n in tokens if n]),
        (
            "Cost",
            summary.cost_usd,
            numbers.dollars,
            [r.cost_usd for r in rows if r.cost_usd is not None],
        ),
        (
            "Time",
            summary.time_s,
            numbers.duration,
            [r.time_s for r in rows if r.time_s is not None],
        ),
    )
    return [
        EffortView(
            name,
            spread,
            write,
            svg_plots.histogram(values, label=f"Distribution of {name.lower()}"),
        )
        for name, spread, write, values in known
    ]


def _slice_table(report: Report, name: str) -> SliceTable:
    """Line up the runs' rows of one group, values in alphabetical order."""
    found: dict[str, list[tuple[int, Any, Any]]] = {}
    for index, run in enumerate(report.runs):
        efforts = {(each.group, each.value): each.effort for each in run.slice_efforts}
        for row in run.summary.groups.get(name, ()):
            found.setdefault(row.name, []).append((index, row, efforts.get((name, row.name))))
    rows = sorted(found.items())
    overlapping = any(len(set(task.groups.get(name, ()))) > 1 for task in report.tasks)
    shown, hidden = rows[:_MAX_SLICE_ROWS], max(0, len(rows) - _MAX_SLICE_ROWS)
    refused = {
        row.success.refused.get("new_tasks", "") for _, by_run in shown for _, row, _ in by_run
    }
    return SliceTable(name, shown, hidden, overlapping, sorted(refused - {""}))


def _template_table(report: Report) -> SliceTable | None:
    """Line up the runs' rates by template, the lowest first."""
    found: dict[str, list[tuple[int, Any, Any]]] = {}
    for index, run in enumerate(report.runs):
        for row in run.summary.templates:
            found.setdefault(inline(row.name, WORD_LENGTH), []).append((index, row, None))
    if not found:
        return None
    rows = sorted(found.items(), key=lambda item: (_mean_rate(item[1]), item[0]))
    hidden = max(0, len(rows) - _MAX_TEMPLATES)
    return SliceTable("template", rows[:_MAX_TEMPLATES], hidden, overlapping=False, refused=[])


def _mean_rate(rows: Sequence[tuple[int, Any, Any]]) -> float:
    known = [row.success.estimate for _, row, _ in rows if row.success.estimate is not None]
    # above every rate: templates without one come last
    return sum(known) / len(known) if known else 2.0
