"""Turn Proctor run folders into reports with honest intervals.

Names are re-exported lazily: `import bench_report` loads neither numpy nor jinja2.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from bench_report.__about__ import __version__

if TYPE_CHECKING:
    from bench_report.build import report_of
    from bench_report.comparable import IncomparableRunsError
    from bench_report.model import Report
    from bench_report.reporter import FolderReporter
    from bench_report.sources import read_runs
    from bench_report.write import build_report, write_report

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

_HOME_OF = {
    "FolderReporter": "reporter",
    "IncomparableRunsError": "comparable",
    "Report": "model",
    "build_report": "write",
    "read_runs": "sources",
    "report_of": "build",
    "write_report": "write",
}


def __getattr__(name: str) -> Any:
    if name in _HOME_OF:
        return getattr(importlib.import_module(f"{__name__}.{_HOME_OF[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
