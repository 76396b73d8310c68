"""What the command lines of all runners share.

Importing it loads click and nothing else of weight, so that `--help` stays cheap; what runs a
command is imported when it runs.
"""

from __future__ import annotations

from bench_core.cli.commands import (
    execute_rescore,
    execute_run,
    list_tasks,
    run_folder,
    run_spec,
)
from bench_core.cli.doctor import Check, CheckResult, execute_doctor
from bench_core.cli.groups import BenchGroup, CommandFailed, runner_group
from bench_core.cli.options import (
    json_option,
    out_option,
    rescore_options,
    run_options,
    task_options,
)
from bench_core.cli.tables import render_table

__all__ = [
    "BenchGroup",
    "Check",
    "CheckResult",
    "CommandFailed",
    "execute_doctor",
    "execute_rescore",
    "execute_run",
    "json_option",
    "list_tasks",
    "out_option",
    "render_table",
    "rescore_options",
    "run_folder",
    "run_options",
    "run_spec",
    "runner_group",
    "task_options",
]
