"""The command line of bench-report; a command imports what it needs when it runs."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import click

from bench_core import exit_codes
from bench_core.cli import (
    FiniteRange,
    echo_wrapped,
    json_option,
    json_text,
    runner_group,
    share_of,
    terminal_width,
)
from bench_report.__about__ import __version__
from bench_report.cli_examples import EXAMPLES

_FORMATS = ("html", "md", "json", "latex", "csv", "parquet", "junit")
_DEFAULT_FORMATS = "html,md,json"
_EXPORTS = (
    "inspect", "atif", "every-eval-ever", "eval-results", "baseline", "results", "comparison", "waa-baseline",
    "webarena", "template", "figures",
    "md", "json", "html", "latex", "csv", "parquet", "junit",
)  # fmt: skip
_SHOWN_FILES = 20
_SCREENSHOTS = ("auto", "embed", "link", "none")
_PATH = click.Path(path_type=Path)
_FOLDER = click.Path(file_okay=False, path_type=Path)
_STRICT = click.option(
    "--count-errors-as-failures",
    "strict",
    is_flag=True,
    help="Count trials without a score as failures in all rates.",
)
_MIX = click.option(
    "--mix",
    is_flag=True,
    help="Allow runs that cannot be compared; the output is labelled as mixed.",
)


def _parse_formats(_ctx: click.Context, _parameter: click.Parameter, value: str) -> tuple[str, ...]:
    """Split at commas and refuse unknown names."""
    names = tuple(name.strip().lower() for name in value.split(",") if name.strip())
    if not names or any(name not in _FORMATS for name in names):
        raise click.BadParameter(f"{value!r}: give one or more of {', '.join(_FORMATS)}")
    return names


def _labels(
    _ctx: click.Context, _parameter: click.Parameter, value: tuple[str, ...]
) -> dict[str, str]:
    """Read `KEY=LABEL`, and refuse keys that the page uses."""
    from bench_report.live.note_writer import DEFAULT_LABELS, PAGE_KEYS

    found: dict[str, str] = {}
    for each in value:
        key, _, label = each.partition("=")
        if len(key) != 1 or key.isspace() or key in PAGE_KEYS or key in found or not label.strip():
            raise click.BadParameter(
                f"{each!r}: write KEY=LABEL with a key that is one character, is given once and is none of "
                f"{' '.join(sorted(PAGE_KEYS))}, which the page uses"
            )
        found[key] = label.strip()
    return found or dict(DEFAULT_LABELS)


@runner_group("bench-report", __version__, examples=EXAMPLES)
def main() -> None:
    """Turn Proctor run folders into reports with honest intervals."""


@main.command()
@click.argument("runs", nargs=-1, required=True, type=click.Path(path_type=Path), metavar="RUN...")
@click.option(
    "--out",
    "-o",
    type=_FOLDER,
    metavar="DIR",
    help="Folder for the report.  [default: <first RUN>/report]",
)
@click.option(
    "--format",
    "formats",
    callback=_parse_formats,
    default=_DEFAULT_FORMATS,
    show_default=True,
    metavar="FORMAT[,FORMAT...]",
    help=f"What to write: {', '.join(_FORMATS)}.",
)
@click.option("--title", metavar="TEXT", help="Title of the report.")
@_STRICT
@_MIX
@click.option(
    "--screenshots",
    type=click.Choice(_SCREENSHOTS),
    default="auto",
    show_default=True,
    help="Embed screenshots in the page, link to them or leave them out; auto embeds up to 8 MB.",
)
@click.option(
    "--one-file",
    is_flag=True,
    help="Keep all evidence in the page. [default: beyond 3 MB it goes to separate files]",
)
@json_option
def build(runs: tuple[Path, ...], out: Path | None, **options: Any) -> None:
    """Write a report of one or more run folders, also while they are being written.

    Several runs are shown side by side and compared with the first.
    """
    from bench_report.report_files import build_report
    from bench_report.terminal import report_lines

    as_json, strict = options.pop("as_json"), options.pop("strict")
    out = out or runs[0] / "report"
    report, files = build_report(runs, out, count_errors_as_failures=strict, **options)
    if as_json:
        click.echo(json.dumps({"files": [str(file) for file in files], "title": report.title}))
        return
    for line in report_lines(report):
        echo_wrapped(line)
    for file in files:
        click.echo(f"  {file}")


@main.command()
@click.option("--out", "-o", type=_FOLDER, default=Path("runs/report-demo"), show_default=True,
              metavar="DIR", help="Folder for the three run folders and the report.")  # fmt: skip
@json_option
def demo(out: Path, *, as_json: bool) -> None:
    """Report on three made-up runs: no agent, no key, no browser."""
    from bench_report.demo import run_demo
    from bench_report.terminal import report_lines

    report, runs, files = run_demo(out)
    if as_json:
        written = {"runs": [str(run) for run in runs], "files": [str(file) for file in files]}
        click.echo(json.dumps(written))
        return
    for line in report_lines(report):
        echo_wrapped(line)
    first, second, _ = runs
    click.echo(f"\nThe page: {files[0]}\nNext: bench-report gate {second} --against {first}")


@main.command()
@click.argument("what", type=click.Choice(("report", "study")), default="report")
def schema(what: str) -> None:
    """Print the JSON Schema of report.json, or of a study's study.json."""
    from bench_core.run_folder import schema_text  # pydantic, as above
    from bench_report.model import Report
    from bench_report.study_model import StudyReport

    click.echo(schema_text(Report if what == "report" else StudyReport), nl=False)


@main.command()
@click.argument("runs", nargs=-1, required=True, type=_PATH, metavar="RUN...")
@click.option(
    "--against",
    type=_PATH,
    metavar="RUN|FILE",
    help="Run folder or baseline file to compare with.  [default: the first of several runs; for one, baseline.json "
    "next to it, or here]",
)
@_STRICT
@_MIX
@json_option
def compare(
    runs: tuple[Path, ...], against: Path | None, *, strict: bool, mix: bool, as_json: bool
) -> None:
    """Compare runs with a baseline, paired by task: overall, by slice, by task."""
    from bench_core.run_folder import stored_baseline
    from bench_report.comparison.baselines import read_sides
    from bench_report.comparison.comparability import check_comparable, repeated
    from bench_report.comparison.differences import compare as compare_sides
    from bench_report.terminal import comparison_lines

    if against is None and len(runs) == 1:
        against = stored_baseline(runs[0])
        click.echo(f"compared with {against}", err=True)
    sides = read_sides(runs if against is None else (against, *runs))
    check_comparable(sides, mix=mix)
    found = compare_sides(sides, strict=strict)
    if found is None:
        raise click.UsageError("one run is nothing to compare: add runs, or --against BASELINE")
    if as_json:
        click.echo(json_text(found, None))
    else:
        same = repeated({side.label: side.info for side in sides})
        echo_wrapped("\n".join([*comparison_lines(found, terminal_width()), *filter(None, [same])]))


@main.command()
@click.argument("new", type=_PATH)
@click.option(
    "--against",
    type=_PATH,
    metavar="RUN|FILE",
    help="Run folder or baseline file to compare with.  [default: baseline.json next to the run, or here]",
)
@click.option(
    "--tolerance",
    metavar="SHARE",
    callback=share_of,
    default="5pp",
    show_default=True,
    help="Smallest drop of the success rate that matters.",
)
@click.option(
    "--alpha",
    metavar="SHARE",
    callback=share_of,
    default="5%",
    show_default=True,
    help="Chance of calling an unchanged agent a regression, over all slices.",
)
@click.option(
    "--slices", "groups", multiple=True, metavar="GROUP", help="Test each slice of this group, too."
)
@click.option(
    "--fine-for",
    "estimand",
    type=click.Choice(("same-tasks", "new-tasks")),
    callback=lambda _ctx, _parameter, value: value.replace("-", "_"),
    default="same-tasks",
    show_default=True,
    help="Whether `fine` is about these tasks, or about new tasks of this kind.",
)
@click.option(
    "--looks", is_flag=True, help="Decide by the looks stored in a run that may stop early."
)
@click.option(
    "--fail-broken",
    is_flag=True,
    help="Also exit with 1 if a task solved in every trial before is solved in none now (false alarms are then not "
    "bounded).",
)
@click.option(
    "--require-clean",
    is_flag=True,
    help="Also exit with 1 if a trial of the run is flagged, and with 3 if one was not watched.",
)
@click.option(
    "--even-damaged",
    is_flag=True,
    help="Also decide on a run that changed since it was written, and say so.  [default: refuse it]",
)
@_STRICT
@_MIX
@json_option
@click.pass_context
def gate(ctx: click.Context, /, new: Path, against: Path | None, **options: Any) -> None:
    """Decide whether a run is worse than a baseline.

    Exits with 0 if a drop beyond the tolerance is ruled out, 1 for a regression, 3 if there is not enough evidence
    for either. A run that is damaged or lost results is refused with 2.
    """
    from bench_core.run_folder import stored_baseline
    from bench_core.terminal import plain_text
    from bench_report.analysis.integrity import not_clean, read_integrity
    from bench_report.comparison.regression_gate import gate as gate_runs
    from bench_report.terminal import gate_lines

    as_json, fail_broken = options.pop("as_json"), options.pop("fail_broken")
    strict, require_clean = options.pop("strict"), options.pop("require_clean")
    if against is None:
        against = stored_baseline(new)
        click.echo(f"compared with {against}", err=True)
    found = gate_runs(new, against, count_errors_as_failures=strict, **options)
    integrity = read_integrity(new) if require_clean else None
    if as_json:
        shown = found.model_dump(mode="json")
        if require_clean:
            shown["integrity"] = integrity and integrity.model_dump(mode="json")
        click.echo(json.dumps(shown))
    else:
        echo_wrapped("\n".join(gate_lines(found)))
    codes = [exit_codes.FELL_SHORT if fail_broken and found.broken else found.exit_code]
    if require_clean and (why := not_clean(integrity)):
        click.echo(f"NOT CLEAN: {plain_text(why)}", err=as_json)
        is_flagged = integrity is not None and integrity.flagged
        codes.append(exit_codes.FELL_SHORT if is_flagged else exit_codes.UNDECIDED)
    # a regression or a flag outweighs an unknown
    ctx.exit(exit_codes.FELL_SHORT if exit_codes.FELL_SHORT in codes else max(codes))


@main.command()
@click.option("--tasks", type=click.IntRange(min=2), metavar="N", help="Number of tasks.")
@click.option(
    "--templates",
    type=click.IntRange(min=2),
    metavar="N",
    help="Number of templates these tasks are made from.  [default: the pilot's, else none]",
)
@click.option(
    "--trials",
    type=click.IntRange(min=1),
    metavar="N",
    multiple=True,
    help="Trials per task; repeat it for several designs.  [default: 1, 3, 5, 10]",
)
@click.option(
    "--difference",
    metavar="SHARE",
    callback=share_of,
    help="Difference to detect, e.g. 5pp.",
)
@click.option(
    "--design",
    type=click.Choice(("paired", "unpaired")),
    default="paired",
    show_default=True,
    help="Whether both agents do the same tasks.",
)
@click.option(
    "--rate", metavar="SHARE", callback=share_of, help="Expected success rate.  [default: 42%]"
)
@click.option(
    "--pilot",
    type=_PATH,
    metavar="RUN|FILE",
    help="Take rate, variability and templates from this run or baseline file.",
)
@click.option(
    "--power",
    metavar="SHARE",
    callback=share_of,
    default="80%",
    show_default=True,
    help="Chance of detecting the difference.",
)
@click.option(
    "--level",
    metavar="SHARE",
    callback=share_of,
    default="95%",
    show_default=True,
    help="Nominal confidence.",
)
@json_option
def plan(*, as_json: bool, **options: Any) -> None:
    """Show what difference a run can detect, or how large it must be to detect one.

    With --tasks: the smallest difference it can detect. With --difference: the tasks needed. With both: the chance of
    detecting it. With --pilot alone: the difference that a run like it can detect.
    """
    from bench_report.comparison.designs import designs
    from bench_report.terminal import plans_text

    found = designs(**options)
    if as_json:
        click.echo(json.dumps([each.model_dump() for each in found]))
        return
    echo_wrapped(plans_text(found))


@main.command()
@click.argument("what", type=click.Choice(_EXPORTS), metavar="WHAT")
@click.argument("runs", nargs=-1, required=True, type=_PATH, metavar="RUN...")
@click.option(
    "--out", "-o", type=_PATH, required=True, metavar="FILE|DIR", help="File or folder to write."
)
@click.option(
    "--template",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Your own Jinja template, for `template`.",
)
@click.option("--pdf", is_flag=True, help="Also print `figures` as PDF, with Chromium.")
@click.option("--title", metavar="TEXT", help="Title of the document.")
@click.option(
    "--dataset",
    metavar="OWNER/NAME",
    help="Data set of the Hugging Face Hub that registers the benchmark, for `eval-results`.",
)
@_STRICT
@_MIX
@json_option
def export(what: str, runs: tuple[Path, ...], out: Path, **options: Any) -> None:
    """Write runs in another format.

    WHAT is one of:

    \b
    inspect       an EvalLog of Inspect (a .json file, or a folder for a name that `inspect view` lists)
    atif          ATIF trajectories, one file per trial (a folder)
    every-eval-ever  records of Every Eval Ever: an aggregate, and a line for each trial (a folder)
    eval-results  an entry for `.eval_results` of a model page on the Hugging Face Hub (a .yaml file)
    baseline      numbers that later runs are compared with (a file)
    results       a row for each result, for DuckDB, Polars and others (a .parquet file)
    comparison    models side by side (a .md and a .json file)
    waa-baseline  two harnesses on the same tasks (a .md file)
    webarena      sites and template average (a .md file)
    template      your own document
    figures       SVG files for papers and slides, with --pdf also PDF (a folder)
    md, json, html, latex, csv, parquet, junit   as `build` writes them (a folder)
    """  # noqa: D301  # click wants the character itself
    from bench_report.exports import export as export_runs

    as_json, strict = options.pop("as_json"), options.pop("strict")
    files = export_runs(what, runs, out, count_errors_as_failures=strict, **options)
    if as_json:
        click.echo(json.dumps({"files": [str(file) for file in files]}))
        return
    for file in files[:_SHOWN_FILES]:
        click.echo(f"  {file}")
    if len(files) > _SHOWN_FILES:
        click.echo(f"  ... and {len(files) - _SHOWN_FILES:,} more")


@main.command("import")
@click.argument("what", type=click.Choice(("inspect", "atif")))
@click.argument("path", type=_PATH)
@click.option("--out", "-o", type=_FOLDER, required=True, metavar="DIR", help="Run folder to make.")
@click.option(
    "--scorer", metavar="NAME", help="The scorer whose score counts, if an Inspect log has several."
)
@click.option(
    "--benchmark",
    default="atif",
    metavar="NAME",
    show_default=True,
    help="Name of the benchmark, if ATIF files do not state it.",
)
def import_(what: str, path: Path, out: Path, **options: Any) -> None:
    """Make a run folder from another tool's log: an Inspect EvalLog or ATIF trajectories."""
    from bench_report.exports import import_run

    click.echo(f"  {import_run(what, path, out, **options)}")  # type: ignore[arg-type]  # click has checked it


@main.command()
@click.argument("run", type=_PATH)
@click.option(
    "--every",
    "every_s",
    type=FiniteRange(min=0.1),
    metavar="SECONDS",
    default=1.0,
    show_default=True,
    help="Seconds between two readings of the folder.",
)
@click.option("--once", is_flag=True, help="Show the state once and exit.")
@json_option
def watch(run: Path, *, every_s: float, once: bool, as_json: bool) -> None:
    """Follow a run that is being written, until no process works on it any more."""
    from bench_report.live.progress import ProgressReader, changes, snapshots
    from bench_report.live.terminal_view import show_lines, show_live

    found = snapshots(ProgressReader(run), every_s=every_s, once=once)
    if as_json:
        for each in changes(found):
            click.echo(json.dumps(each))
        return
    if sys.stdout.isatty() and not once:  # a log or a pipe gets lines instead
        show_live(found, sys.stdout)
    else:
        show_lines(found, click.echo)


@main.group()
def notes() -> None:
    """Export, import and merge people's notes on the trials of a run."""


@notes.command("export")
@click.argument("run", type=_PATH)
@click.option(
    "--out",
    "-o",
    type=click.Path(dir_okay=False, path_type=Path),
    required=True,
    metavar="FILE",
    help="File to write: a .csv for spreadsheets, else JSON lines.",
)
@click.option(
    "--outcomes",
    is_flag=True,
    help="Write people's verdicts on whether trials passed, for `llm-judge calibrate`.",
)
@json_option
def export_notes(run: Path, out: Path, *, outcomes: bool, as_json: bool) -> None:
    """Write the notes of a run to a file."""
    from bench_report.note_files import export_notes as export_to

    number = export_to(run, out, outcomes=outcomes)
    click.echo(json.dumps({"written": number}) if as_json else f"{number} written to {out}")


@notes.command("import")
@click.argument("run", type=_PATH)
@click.argument("files", nargs=-1, required=True, type=_PATH, metavar="FILE...")
@json_option
def import_notes(run: Path, files: tuple[Path, ...], *, as_json: bool) -> None:
    """Add notes that `notes export` wrote to RUN; notes already there are left out."""
    from bench_report.note_files import import_notes as import_from

    number = import_from(run, files)
    click.echo(json.dumps({"added": number}) if as_json else f"{number} added to {run}")


@notes.command("merge")
@click.argument("run", type=_PATH)
@click.argument("others", nargs=-1, required=True, type=_FOLDER, metavar="OTHER...")
@json_option
def merge_notes(run: Path, others: tuple[Path, ...], *, as_json: bool) -> None:
    """Add notes to RUN from copies of it that other people labelled."""
    from bench_report.note_files import import_notes as import_from

    number = import_from(run, others)
    click.echo(json.dumps({"added": number}) if as_json else f"{number} added to {run}")


@main.command()
@click.argument("runs", nargs=-1, required=True, type=_PATH, metavar="RUN...")
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    metavar="N",
    default=0,
    help="Port on 127.0.0.1.  [default: any free one]",
)
@click.option("--title", metavar="TEXT", help="Title of the report.")
@_STRICT
@_MIX
@click.option("--open/--no-open", "open_", default=False, help="Open it in the browser.")
@click.option(
    "--no-token", is_flag=True, help="Need no token from local programs, and refuse notes."
)
@click.option("--as", "by", metavar="NAME", help="Author of the notes.  [default: this user]")
@click.option(
    "--label",
    "labels",
    multiple=True,
    callback=_labels,
    metavar="KEY=LABEL",
    help="A label for trials and its key; repeat it.  [default: seven, from `1=harness fault` on]",
)
def serve(
    runs: tuple[Path, ...], *, port: int, strict: bool, open_: bool, no_token: bool, **options: Any
) -> None:
    """Show the report live in a browser on this machine, until Ctrl-C; label trials and add notes there.

    Its address has a token ($BENCH_REPORT_TOKEN, or a new one): open the HTML file whose path is printed.
    """
    from bench_core.serving import ServerToken, token_file
    from bench_report.live.server import serve as serve_runs

    token = ServerToken.choose("BENCH_REPORT_TOKEN", without=no_token)
    with (
        serve_runs(
            runs, port=port, token=token.value, count_errors_as_failures=strict, **options
        ) as server,
        token.handed(server.url, page=True) as how_to_open,
    ):
        where = f"http://127.0.0.1:{server.server_address[1]}/"
        click.echo(f"the report is at {where}; Ctrl-C stops")
        click.echo(how_to_open)
        if open_:  # not its address, which other users see in the browser's command line
            click.launch(where if no_token else str(token_file(where, page=True)))
        server.serve_forever()
