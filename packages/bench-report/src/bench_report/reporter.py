"""bench-report as a plugin: what a demo finds through the entry point `bench_core.reporters`."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

__all__ = ["FolderReporter"]


class FolderReporter:
    """Writes page, Markdown and JSON of run folders into one folder."""

    name = "bench-report"

    def report(self, runs: Sequence[Path], out: Path) -> Sequence[Path]:
        """Write the report of `runs` into `out` and return the files, the page first."""
        from bench_report.write import build_report  # noqa: PLC0415  # loads statistics

        return build_report(runs, out)[1]
