"""A run's success rate as an entry of `.eval_results/*.yaml`, which model pages of the Hugging Face Hub show.

The format has no interval and no agent: both, and the world, are in the notes.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from bench_core.errors import InputError
from bench_core.files import write_atomic
from bench_core.statistics import summarise
from bench_report.run_data.sources import Source


def export_eval_results(run: Source, out: Path) -> Path:
    """Write a run as the file of one entry.

    Raises:
        InputError: No trial of it has a score.
    """
    info = run.info
    rate = summarise(run.tasks, run.ended, trials=info.trials).success
    if rate.estimate is None:
        raise InputError(f"no trial of {run.view.path} has a score, and an entry needs one")
    interval = rate.new_tasks or rate.same_tasks
    shown = "" if interval is None else (
        f", {interval.level:.0%} interval {interval.low:.4f} to {interval.high:.4f} ({interval.method})"
    )  # fmt: skip
    unscored = sum(each.score is None for each in run.results)
    notes = (
        f"agent {info.agent}, {info.world} world, {len(run.results)} trials of {len(run.tasks)} tasks, "
        f"{unscored} without a score{shown}; Proctor run {info.run_id}"
    )
    entry: dict[str, Any] = {
        "dataset": {"id": info.benchmark, "task_id": info.profile},
        "value": round(rate.estimate, 6),
        "date": info.started.date().isoformat(),
        "notes": notes,
    }
    out.parent.mkdir(parents=True, exist_ok=True)
    # JSON is YAML, and needs no library that writes it.
    write_atomic(out, (json.dumps([entry], indent=2) + "\n").encode())
    return out
