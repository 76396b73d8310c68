"""Whole runs: from typed options to a run folder, scored again, or shown beforehand."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bench_core.lazy_exports import lazy_exports

if TYPE_CHECKING:
    from bench_core.runs.capacity import Capacity, Machines
    from bench_core.runs.demo import DemoRun
    from bench_core.runs.dry_run import (
        PlannedResource,
        RunPlan,
        default_folder,
        makespan_s,
        plan_run,
    )
    from bench_core.runs.early_stopping import Decision, StoppingRule, batches_of, decide, with_rule
    from bench_core.runs.environment import Provenance, RunEnvironment
    from bench_core.runs.event_sources import EventSource, KeepEvent
    from bench_core.runs.execute import RunOutcome, run_benchmark, run_benchmark_sync
    from bench_core.runs.options import RunOptions, TaskOptions
    from bench_core.runs.prepare import (
        Prepare,
        PreparedRun,
        plan_prepared,
        prepare_installed,
        run_prepared,
    )
    from bench_core.runs.rescore import Change, RescoreOutcome, rescore_run, rescore_run_sync
    from bench_core.runs.spending import spent_before
    from bench_core.runs.unfinished import PROCESS_ENDED, Unfinished, given_up, unfinished_attempts

__all__ = [
    "PROCESS_ENDED",
    "Capacity",
    "Change",
    "Decision",
    "DemoRun",
    "EventSource",
    "KeepEvent",
    "Machines",
    "PlannedResource",
    "Prepare",
    "PreparedRun",
    "Provenance",
    "RescoreOutcome",
    "RunEnvironment",
    "RunOptions",
    "RunOutcome",
    "RunPlan",
    "StoppingRule",
    "TaskOptions",
    "Unfinished",
    "batches_of",
    "decide",
    "default_folder",
    "given_up",
    "makespan_s",
    "plan_prepared",
    "plan_run",
    "prepare_installed",
    "rescore_run",
    "rescore_run_sync",
    "run_benchmark",
    "run_benchmark_sync",
    "run_prepared",
    "spent_before",
    "unfinished_attempts",
    "with_rule",
]

__getattr__ = lazy_exports(
    __name__,
    {
        "capacity": ("Capacity", "Machines"),
        "demo": ("DemoRun",),
        "dry_run": ("PlannedResource", "RunPlan", "default_folder", "makespan_s", "plan_run"),
        "early_stopping": ("Decision", "StoppingRule", "batches_of", "decide", "with_rule"),
        "environment": ("Provenance", "RunEnvironment"),
        "event_sources": ("EventSource", "KeepEvent"),
        "execute": ("RunOutcome", "run_benchmark", "run_benchmark_sync"),
        "options": ("RunOptions", "TaskOptions"),
        "prepare": ("Prepare", "PreparedRun", "plan_prepared", "prepare_installed", "run_prepared"),
        "rescore": ("Change", "RescoreOutcome", "rescore_run", "rescore_run_sync"),
        "spending": ("spent_before",),
        "unfinished": ("PROCESS_ENDED", "Unfinished", "given_up", "unfinished_attempts"),
    },
)
