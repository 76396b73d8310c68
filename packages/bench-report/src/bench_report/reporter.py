"""bench-report as plugins of the entry-point group `bench_core.reporters`: the report, and its documents."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path


class FolderReporter:
    """Writes page, Markdown and JSON of run folders into one folder."""

    name = "bench-report"

    def report(self, runs: Sequence[Path], out: Path) -> Sequence[Path]:
        """Write the report of `runs` into `out` and return the files, the page first."""
        from bench_report.report_files import build_report

        return build_report(runs, out)[1]


class _DocumentReporter:
    """Writes one document about run folders, `<name>.md`, into a folder."""

    name: str
    mix = False
    """Whether it is for runs made under different conditions."""

    def report(self, runs: Sequence[Path], out: Path) -> Sequence[Path]:
        """Write the document into `out` and return the files."""
        from bench_report.exports import export

        return export(self.name, runs, out / f"{self.name}.md", mix=self.mix)


class BaselineReporter(_DocumentReporter):
    """Two harnesses on the same Windows Agent Arena tasks, and whether their rates match."""

    name = "waa-baseline"
    mix = True  # it compares with another harness, evaluator or world


class ComparisonReporter(_DocumentReporter):
    """Models side by side, as Markdown and JSON."""

    name = "comparison"


class WebArenaReporter(_DocumentReporter):
    """Sites, template average and failure modes."""

    name = "webarena"


class StudyReporter:
    """Page, Markdown, LaTeX and JSON of a study, which `bench-core study report` writes."""

    name = "study"

    def report(self, runs: Sequence[Path], out: Path) -> Sequence[Path]:
        """Write the report of a study's folder, the only one in `runs`, into `out` and return the files."""
        from bench_report.study_report import write_study_report

        (study,) = runs
        return write_study_report(study, out)
