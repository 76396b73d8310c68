"""Writing reports: one call from run folders to files."""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path, PurePosixPath

from bench_core.errors import InputError
from bench_core.files import write_atomic
from bench_core.run_folder import collector_paused
from bench_report.html_page.evidence_chunks import Screenshots
from bench_report.model import Report
from bench_report.report_data import report_of
from bench_report.run_data.sources import Source, read_runs

FORMATS = ("html", "md", "json", "latex", "csv", "parquet", "junit")
DEFAULT_FORMATS = ("html", "md", "json")
_NAMES = {
    "html": "index.html",
    "md": "report.md",
    "json": "report.json",
    "latex": "report.tex",
    "junit": "junit.xml",
}
_FOLDERS = ("evidence", "csv", "parquet")
_RENDERERS = {"md": "markdown", "latex": "latex", "junit": "junit"}
_AUTO_EMBED_BYTES = 8 * 2**20
EVIDENCE_LIMIT = 3 * 2**20
"""How many characters of packed evidence a page contains itself."""


def build_report(
    folders: Sequence[Path],
    out: Path,
    *,
    formats: Iterable[str] = DEFAULT_FORMATS,
    title: str | None = None,
    count_errors_as_failures: bool = False,
    mix: bool = False,
    screenshots: Screenshots = "auto",
    one_file: bool = False,
) -> tuple[Report, list[Path]]:
    """Read run folders and write their report into `out`.

    Args:
        folders: Run folders, also ones that are still being written.
        out: Made when missing; files of an earlier report are replaced.
        formats: Any of `html`, `md`, `json`, `latex`, `csv`, `parquet`, `junit`.
        title: By default made from the benchmark and the runs.
        count_errors_as_failures: Count trials without a score as failures in all rates.
        mix: Allow runs that cannot be compared, and label the report as mixed.
        screenshots: Whether the page contains screenshots or links to them.
        one_file: Whether the page contains all evidence, however much that is.

    Returns:
        The report and the files written.

    Raises:
        RunFolderError: A folder is missing or damaged.
        IncomparableRunsError: The runs cannot be compared and `mix` is off.
        InputError: An unknown format, or `out` cannot be written.
    """
    # Reading 100,000 results makes millions of objects and hardly any garbage; the collector would scan
    # them again and again as their number grows.
    with collector_paused():
        runs = read_runs(folders)
        report = report_of(
            runs, out=out, title=title, count_errors_as_failures=count_errors_as_failures, mix=mix
        )
        limit = sys.maxsize if one_file else EVIDENCE_LIMIT
        written = write_report(
            report, runs, out, formats=formats, screenshots=screenshots, evidence_limit=limit
        )
        del runs  # freed by reference count, before the collector runs again
        return report, written


def write_report(
    report: Report,
    runs: Sequence[Source],
    out: Path,
    *,
    formats: Iterable[str] = DEFAULT_FORMATS,
    screenshots: Screenshots = "auto",
    evidence_limit: int = EVIDENCE_LIMIT,
) -> list[Path]:
    """Write a report in each of `formats` and return the files, the page first.

    Evidence of more than `evidence_limit` packed characters goes to files next to the page, which
    then need to stay with it.
    """
    from bench_report.formats.csv_parquet import write_csv, write_parquet

    wanted = set(formats)
    unknown = sorted(wanted - set(FORMATS))
    if unknown:
        raise InputError(f"unknown format {unknown[0]!r}: use {', '.join(FORMATS)}")
    try:
        out.mkdir(parents=True, exist_ok=True)
        for name in (*_NAMES.values(), *_FOLDERS):
            path = out / name
            # Writing would follow a link or wait for a pipe: `out` may be in a received run folder.
            if path.is_symlink() or path.is_fifo():
                raise InputError(
                    f"{path} is not a plain file or folder: remove it, or use another --out"
                )
        written = []
        if "html" in wanted:
            written += _write_page(report, runs, out, screenshots, evidence_limit)
        for name in ("md", "json", "latex", "junit"):
            if name in wanted:
                written.append(_write(out / _NAMES[name], _text(report, name)))
        if "csv" in wanted:
            written += write_csv(report, out / "csv")
        if "parquet" in wanted:
            written += write_parquet(report, out / "parquet")
    except OSError as error:
        raise InputError(f"cannot write the report to {out}: {error.strerror or error}") from error
    return written


def _text(report: Report, name: str) -> str:
    """Return the report in a format of one text file; its module is loaded when asked for."""
    if name == "json":
        return report.model_dump_json(indent=1) + "\n"
    module = importlib.import_module(f"bench_report.formats.{_RENDERERS[name]}")
    render: Callable[[Report], str] = getattr(module, f"render_{_RENDERERS[name]}")
    return render(report)


def _write_page(
    report: Report,
    runs: Sequence[Source],
    out: Path,
    screenshots: Screenshots,
    evidence_limit: int,
) -> list[Path]:
    from bench_report.html_page.evidence_chunks import Pictures, collect_evidence
    from bench_report.html_page.page import render_page  # jinja2 is only needed here

    pictures = Pictures(_choose(screenshots, runs))
    evidence = collect_evidence(runs, out, pictures=pictures, limit=evidence_limit)
    written = [_write(out / _NAMES["html"], render_page(report, evidence))]
    folder = out / "evidence"
    # An earlier report may have had more side files, which would remain next to the page.
    for old in folder.glob("[0-9]*.js"):
        old.unlink()
    if evidence.side_files:
        folder.mkdir(exist_ok=True)
    for chunk in evidence.side_files:
        text = f'proctorEvidence({chunk.number},"{chunk.text}");\n'
        written.append(_write(folder / f"{chunk.number}.js", text))
    return written


def _choose(screenshots: Screenshots, runs: Sequence[Source]) -> Screenshots:
    """Embed few screenshots, link to many."""
    if screenshots != "auto":
        return screenshots
    left = _AUTO_EMBED_BYTES
    for run in runs:
        left -= sum(
            file.size or 0
            for result in run.results
            if result.stored is not None
            for file in result.artifacts
            if PurePosixPath(file.path).parent.name == "screenshots"
        )
        if left < 0:
            return "link"
        for folder, _, names in os.walk(run.view.path / "trials"):
            if os.path.basename(folder) != "screenshots":  # noqa: PTH119  # of a string
                continue
            left -= sum(
                entry.stat(follow_symlinks=False).st_size
                for entry in os.scandir(folder)
                if entry.name in names
            )
            if left < 0:
                return "link"
    return "embed"


def _write(path: Path, text: str) -> Path:
    write_atomic(path, text.encode())
    return path
