"""Records, run folders, scheduling and protocols that Proctor's packages share.

Names are re-exported lazily: `import bench_core` loads no heavy library.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from bench_core.__about__ import __version__
from bench_core.lazy_exports import lazy_exports
from bench_core.moved import moved_modules

if TYPE_CHECKING:
    from bench_core.errors import BenchError
    from bench_core.protocols import Agent, Judge, Reporter, TrialContext, World
    from bench_core.records import Check, Status, Step, Task, TrialKey, TrialResult, Usage
    from bench_core.trial import Benchmark, Evaluation, Evidence, TrialEnvironment

__all__ = [
    "Agent",
    "BenchError",
    "Benchmark",
    "Check",
    "Evaluation",
    "Evidence",
    "Judge",
    "Reporter",
    "Status",
    "Step",
    "Task",
    "TrialContext",
    "TrialEnvironment",
    "TrialKey",
    "TrialResult",
    "Usage",
    "World",
    "__version__",
]

__getattr__ = lazy_exports(
    __name__,
    {
        "errors": ("BenchError",),
        "protocols": ("Agent", "Judge", "Reporter", "TrialContext", "World"),
        "records": ("Check", "Status", "Step", "Task", "TrialKey", "TrialResult", "Usage"),
        "trial": ("Benchmark", "Evaluation", "Evidence", "TrialEnvironment"),
    },
)


moved_modules(
    {
        "bench_core.agents.naming": "bench_core.agents.element_finder",
        "bench_core.agents.remote": "bench_core.agents.remote_environment",
        "bench_core.append_log": "bench_core.files.append_log",
        "bench_core.artifacts": "bench_core.run_folder.artifacts",
        "bench_core.browser.finding": "bench_core.browser.executable",
        "bench_core.browser.keeper": "bench_core.browser.supervisor",
        "bench_core.browser_use.patching": "bench_core.browser_use.patch",
        "bench_core.browser_use.releasing": "bench_core.browser_use.release",
        "bench_core.browser_use.scripted": "bench_core.browser_use.scripted_chat",
        "bench_core.cli_main": "bench_core.cli.main",
        "bench_core.codec": "bench_core.records.codec",
        "bench_core.demos": "bench_core.runs.demo",
        "bench_core.fault_board": "bench_core.fault_switches",
        "bench_core.jsonl": "bench_core.run_folder.jsonl",
        "bench_core.judging": "bench_core.records.judge",
        "bench_core.locks": "bench_core.files.locks",
        "bench_core.maintenance": "bench_core.run_folder.maintenance",
        "bench_core.migrations": "bench_core.records.migrations",
        "bench_core.models.listfile": "bench_core.models.list_files",
        "bench_core.models.opening": "bench_core.models.factory",
        "bench_core.models.retrying": "bench_core.models.retries",
        "bench_core.models.scripted": "bench_core.models.scripted_model",
        "bench_core.planning": "bench_core.run_spec",
        "bench_core.progress.choice": "bench_core.progress.selection",
        "bench_core.provenance": "bench_core.run_folder.provenance",
        "bench_core.rescores": "bench_core.run_folder.rescore_folder",
        "bench_core.rescoring": "bench_core.runs.rescore",
        "bench_core.run_plan": "bench_core.runs.dry_run",
        "bench_core.run_view": "bench_core.run_folder.view",
        "bench_core.running": "bench_core.runs.execute",
        "bench_core.scheduling.stragglers": "bench_core.scheduling.abandoned",
        "bench_core.schemas": "bench_core.run_folder.schemas",
        "bench_core.spending": "bench_core.runs.spending",
        "bench_core.statistics.counting": "bench_core.statistics.counts",
        "bench_core.statistics.gating": "bench_core.statistics.regression_gate",
        "bench_core.statistics.passes": "bench_core.statistics.pass_rates",
    }
)
