"""A run's success rate as an entry of `.eval_results/*.yaml`, which model pages of the Hugging Face Hub show.

The format has no interval and no agent: both, and the world, are in the notes. A model page shows an entry only of a data
set of the Hub that registers the benchmark, which the caller names.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

from bench_core.errors import InputError
from bench_core.files import write_atomic
from bench_core.statistics import summarise
from bench_report.run_data.sources import Source

_DATASET = re.compile(r"[\w.-]+/[\w.-]+", re.ASCII)


def export_eval_results(run: Source, out: Path, dataset: str | None) -> Path:
    """Write a run as the file of one entry about `dataset`, a data set's id on the Hub.

    Raises:
        InputError: No trial of the run has a score, or the data set is missing or not an id.
    """
    info = run.info
    if dataset is None or not _DATASET.fullmatch(dataset):
        given = "is missing" if dataset is None else f"{dataset!r} is not an id"
        raise InputError(
            f"the data set of the Hub that registers {info.benchmark!r} {given}: give it with --dataset OWNER/NAME"
        )
    rate = summarise(run.tasks, run.ended, trials=info.trials).success
    if rate.estimate is None:
        raise InputError(f"no trial of {run.view.path} has a score, and an entry needs one")
    interval = rate.new_tasks or rate.same_tasks
    shown = "" if interval is None else (
        f", {interval.level:.0%} interval {interval.low:.4f} to {interval.high:.4f} ({interval.method})"
    )  # fmt: skip
    unscored = sum(each.score is None for each in run.results)
    damaged = "".join(f"; DAMAGED: {each}" for each in run.view.damage)
    notes = (
        f"agent {info.agent}, {info.world} world, {len(run.results)} trials of {len(run.tasks)} tasks, "
        f"{unscored} without a score{shown}; Proctor run {info.run_id}{damaged}"
    )
    # a text of JSON in ASCII is one of YAML
    lines = [
        "- dataset:",
        f"    id: {json.dumps(dataset)}",
        f"    task_id: {json.dumps(info.profile)}",
        f"  value: {rate.estimate:.6f}",
        f"  date: {json.dumps(info.started.date().isoformat())}",
        f"  notes: {json.dumps(notes)}",
    ]
    out.parent.mkdir(parents=True, exist_ok=True)
    write_atomic(out, ("\n".join(lines) + "\n").encode())
    return out
