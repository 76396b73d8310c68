"""Turn Proctor run folders into reports with honest intervals.

Names are re-exported lazily: `import bench_report` loads neither numpy nor jinja2.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from bench_core.lazy_exports import lazy_exports
from bench_report.__about__ import __version__

if TYPE_CHECKING:
    from bench_report.comparison.comparability import IncomparableRunsError
    from bench_report.model import Report
    from bench_report.report_data import report_of
    from bench_report.report_files import build_report, write_report
    from bench_report.reporter import FolderReporter
    from bench_report.run_data.sources import read_runs

__all__ = [
    "FolderReporter",
    "IncomparableRunsError",
    "Report",
    "__version__",
    "build_report",
    "read_runs",
    "report_of",
    "write_report",
]

__getattr__ = lazy_exports(
    __name__,
    {
        "comparison.comparability": ("IncomparableRunsError",),
        "model": ("Report",),
        "report_data": ("report_of",),
        "report_files": ("build_report", "write_report"),
        "reporter": ("FolderReporter",),
        "run_data.sources": ("read_runs",),
    },
)
