"""What the command lines of all runners share.

Importing it loads click and nothing else of weight, so that `--help` stays cheap; what runs a
command is imported when it runs.
"""

from __future__ import annotations

from bench_core.cli.amounts import FiniteRange
from bench_core.cli.audit import audit_options, execute_audit
from bench_core.cli.commands import (
    execute_prepared,
    execute_rescore,
    execute_run,
    list_tasks,
    run_folder,
    run_spec,
)
from bench_core.cli.coroutines import run_coroutine
from bench_core.cli.demo import DEMO_COLUMNS, execute_demo
from bench_core.cli.doctor import Check, CheckResult, execute_doctor
from bench_core.cli.groups import BenchGroup, CommandFailed, CommandUndecided, runner_group
from bench_core.cli.machines import machine_commands
from bench_core.cli.options import (
    demo_out_option,
    demo_workers_option,
    import_options,
    json_option,
    out_option,
    paid_options,
    planned_agent_option,
    rescore_options,
    run_options,
    task_options,
)
from bench_core.cli.tables import render_table

__all__ = [
    "DEMO_COLUMNS",
    "BenchGroup",
    "Check",
    "CheckResult",
    "CommandFailed",
    "CommandUndecided",
    "FiniteRange",
    "audit_options",
    "demo_out_option",
    "demo_workers_option",
    "execute_audit",
    "execute_demo",
    "execute_doctor",
    "execute_prepared",
    "execute_rescore",
    "execute_run",
    "import_options",
    "json_option",
    "list_tasks",
    "machine_commands",
    "out_option",
    "paid_options",
    "planned_agent_option",
    "render_table",
    "rescore_options",
    "run_coroutine",
    "run_folder",
    "run_options",
    "run_spec",
    "runner_group",
    "task_options",
]
