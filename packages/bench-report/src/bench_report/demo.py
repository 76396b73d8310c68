"""The demo: three runs that are invented from a seed, and a report that compares them."""

from __future__ import annotations

from pathlib import Path

from bench_core.errors import InputError
from bench_core.testing import make_run, make_tasks
from bench_report.model import Report
from bench_report.report_files import build_report

_RUNS = {"before": 0.45, "changed": 0.65, "same": 0.45}
"""The invented agents and how often they succeed: one that is better than the first, one that is as good."""

_TASKS, _TRIALS = 60, 3
TITLE = "Three invented runs"


def run_demo(out: Path) -> tuple[Report, list[Path], list[Path]]:
    """Make three run folders and a report in `out`; return the report, the runs and the report's files.

    The results are drawn from a seed and marked `built-in`: no agent made them.

    Raises:
        InputError: `out` holds something already.
    """
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise InputError(f"{out} is there already: name another folder with --out, or move it away")
    tasks = make_tasks(_TASKS)
    runs = [
        make_run(
            out / name, tasks=tasks, trials=_TRIALS, seed=seed, agent=f"invented-{name}",
            model=None, success_rate=rate, world="built-in",
        )
        for seed, (name, rate) in enumerate(_RUNS.items())
    ]  # fmt: skip
    report, files = build_report(runs, out / "report", title=TITLE)
    return report, runs, list(files)
