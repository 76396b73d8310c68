"""Export runs to, and import runs from, the files of other tools, documents and baselines."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from bench_core.errors import InputError
from bench_core.files import write_atomic
from bench_report.comparison.baselines import baseline_of
from bench_report.formats.documents import DOCUMENTS, comparison_json, render_document
from bench_report.formats.figures import figures_of
from bench_report.formats.pdf import print_figures
from bench_report.formats.results_parquet import write_results
from bench_report.interchange.atif import export_atif, import_atif
from bench_report.interchange.every_eval_ever import export_every_eval_ever
from bench_report.interchange.hugging_face import export_eval_results
from bench_report.interchange.imported_run import write_run
from bench_report.interchange.inspect_export import export_inspect
from bench_report.interchange.inspect_import import import_inspect
from bench_report.model import Report
from bench_report.report_data import report_of
from bench_report.report_files import write_report
from bench_report.run_data.sources import Source, read_runs

ForeignFormat = Literal["inspect", "atif"]
"""Formats of other tools that can be read as well as written."""


_OF_ONE_RUN = frozenset({"inspect", "atif", "baseline", "every-eval-ever", "eval-results"})


def export(
    what: str,
    folders: Sequence[Path],
    out: Path,
    *,
    template: Path | None = None,
    pdf: bool = False,
    title: str | None = None,
    count_errors_as_failures: bool = False,
    mix: bool = False,
    dataset: str | None = None,
) -> list[Path]:
    """Write run folders in another form and return the files.

    Args:
        what: `inspect`, `atif`, `every-eval-ever`, `eval-results`, `baseline` (one run each); `results`, `comparison`,
            `waa-baseline`, `webarena`, `template` (a document); `figures` (SVG files); or `latex`, `csv`,
            `parquet`, `junit`, `md`, `json`, `html`.
        folders: Run folders.
        out: A file for `baseline`, `eval-results`, `results` and documents, for `inspect` a `.json` file or
            a folder, else a folder.
        template: The user's own template, for `template`.
        pdf: Also print `figures` as PDF, by the Chromium of this machine.
        title: Of the document.
        count_errors_as_failures: Count trials without a score as failures in all rates.
        mix: Allow runs that cannot be compared, and label the document as mixed.
        dataset: The data set of the Hugging Face Hub that `eval-results` are of.

    Raises:
        InputError: A form needs one run and several were given, or the template is missing.
        RunFolderError: A folder is missing or damaged.
        BrowserError: PDF is asked for and Chromium is missing.
    """
    if pdf and what != "figures":
        raise InputError("--pdf is for `figures`; `html` prints from a browser")
    if template is not None and (what == "figures" or what in {*_OF_ONE_RUN, "results"}):
        raise InputError(f"--template is for `template`; {what!r} has none")
    if dataset is not None and what != "eval-results":
        raise InputError(f"--dataset is for `eval-results`; {what!r} has none")
    runs = read_runs(folders, tell=True, statistics=what != "results")
    if what == "results":
        return [write_results(runs, out)]
    if what in _OF_ONE_RUN:
        return _export_single_run(what, runs, out, dataset)
    report = report_of(
        runs,
        # links to evidence are relative to the folder of the file that has them
        out=out.parent if what in DOCUMENTS or what == "template" else out,
        title=title,
        count_errors_as_failures=count_errors_as_failures,
        mix=mix,
    )
    if what == "figures":
        return _write_figures(report, out, pdf=pdf)
    if what == "template" and template is None:
        raise InputError("give the template with --template FILE")
    if what in DOCUMENTS or template is not None:
        files = [_write(out, render_document(report, template or what))]
        if what == "comparison":
            files.append(_write(out.with_suffix(".json"), comparison_json(report)))
        return files
    return write_report(report, runs, out, formats=[what])


def _write_figures(report: Report, out: Path, *, pdf: bool) -> list[Path]:
    figures = list(figures_of(report))
    files = [_write(out / f"{each.name}.svg", each.svg) for each in figures]
    for name, document in print_figures(figures) if pdf else ():
        files.append(out / f"{name}.pdf")
        write_atomic(files[-1], document)
    return files


def _export_single_run(
    what: str, runs: Sequence[Source], out: Path, dataset: str | None
) -> list[Path]:
    if len(runs) > 1:
        raise InputError(
            f"{what} holds one run, and {len(runs)} were given: export them one by one"
        )
    (run,) = runs
    if what == "inspect":
        return [export_inspect(run, out)]
    if what == "atif":
        return export_atif(run, out)
    if what == "every-eval-ever":
        return export_every_eval_ever(run, out)
    if what == "eval-results":
        return [export_eval_results(run, out, dataset)]
    return [_write(out, baseline_of(run).model_dump_json(indent=1) + "\n")]


def _write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomic(path, text.encode())
    return path


def import_run(
    what: ForeignFormat,
    path: Path,
    out: Path,
    *,
    scorer: str | None = None,
    benchmark: str = "atif",
) -> Path:
    """Write a run folder from another tool's files and return it.

    Args:
        what: The format.
        path: The file, or for ATIF also a folder of them.
        out: The run folder to make.
        scorer: The scorer whose score counts in an Inspect log with several.
        benchmark: Name of the benchmark of ATIF files that do not state it.

    Raises:
        InputError: The files are not of that format, or cannot be read.
        RunFolderError: `out` is a run folder already.
    """
    if what == "inspect":
        return write_run(import_inspect(path, scorer=scorer), out)
    return write_run(import_atif(path, benchmark=benchmark), out)
